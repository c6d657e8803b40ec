"""Named arrays, files and tables: kept on the drive, found again by name, in another process too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import bitline
from bitline import Drive, UsageError


def test_arrays_files_and_tables(drive: Drive) -> None:
    volume = drive.volume
    assert (len(volume), volume.blocks, list(volume)) == (0, 0, [])
    array = np.arange(24.0).reshape(2, 3, 4)
    volume["array"] = array
    volume["file"] = b"abc"
    volume.write_table("table", b"12345", b"a: int8")
    np.testing.assert_array_equal(volume["array"], array)
    assert (volume["file"], volume["table"]) == (b"abc", b"12345")
    volume["file"] = b"abcd"
    drive.power_cut()
    drive.power_up()
    assert volume["file"] == b"abcd"
    assert list(volume) == ["array", "file", "table"]
    found = {each.name: each for each in volume.objects()}
    assert (found["array"].kind, found["array"].dtype, found["array"].shape) == ("array", "<f8", (2, 3, 4))
    assert (found["table"].schema, found["table"].bytes) == (b"a: int8", 5)
    [(first, blocks)] = found["file"].extents
    assert drive.read(first, blocks)[:4] == b"abcd"
    free = volume.free_blocks
    del volume["file"]
    assert volume.free_blocks == free + blocks
    assert "file" not in volume
    volume.rename("table", "file")
    assert volume["file"] == b"12345"


def test_what_a_volume_refuses(drive: Drive) -> None:
    drive.group("g").write([b"a"])
    drive.volume["file"] = b"abc"
    with pytest.raises(UsageError, match="drive.group\\('g'\\) has its vectors"):
        drive.volume["g"]
    for missing in (lambda: drive.volume["no"], lambda: drive.volume.__delitem__("no")):
        with pytest.raises(KeyError, match="no"):
            missing()
    with pytest.raises(TypeError, match="not a str"):
        drive.volume["text"] = "abc"
    with pytest.raises(UsageError, match='"file" is a file, not an array'):
        drive.volume["file"] = np.zeros(3)
    with pytest.raises(UsageError, match='"file" is a file, not a group'):
        drive.group("file").write([b"a"])
    with pytest.raises(UsageError, match="blocks are needed"):
        drive.volume["large"] = bytes(drive.volume.free_blocks * drive.block_bytes + 1)
    with pytest.raises(UsageError, match="is no name of an object"):
        drive.volume[""] = b"abc"
    assert drive.volume["file"] == b"abc"


def test_a_format_leaves_no_names(drive: Drive) -> None:
    drive.volume["file"] = b"abc"
    drive.format(4096)
    assert list(drive.volume) == list(drive.groups) == []
    drive.volume["file"] = b"abcd"
    assert drive.volume["file"] == b"abcd"


CHILD = """
import sys, bitline
with bitline.open(path=sys.argv[1]) as drive:
    red, green = drive.groups["colours"]
    print(red.name, green.name, (red & green).count(), drive.volume["notes"].decode())
    drive.group("more").write([b"x"])
"""


def test_another_process_finds_everything_by_name(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.group("colours").write([b"\x0f", b"\x3c"], names=["red", "green"])
        drive.volume["notes"] = b"of this run"
    command = [sys.executable, "-c", CHILD, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == "red green 2 of this run\n"
    with bitline.open(path=path) as drive:
        assert [group.name for group in drive.groups] == ["colours", "more"]
        assert [vector.name for vector in drive.groups["colours"]] == ["red", "green"]
