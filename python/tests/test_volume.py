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
    assert (found["table"].schema, found["table"].size) == (b"a: int8", 5)
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
    with pytest.raises(UsageError, match=r"drive.group\('g'\) has its vectors"):
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


def test_plain_writes_leave_the_catalogue_alone(drive: Drive) -> None:
    [vector] = drive.group("g").write([bytes(drive.block_bytes)])
    drive.volume["file"] = b"abc"
    block = b"x" * drive.block_bytes
    [(first, _)] = vector.extents
    catalogue, free = drive.blocks - drive.volume.blocks, drive.blocks - 4
    pending = drive.submit_write(catalogue, block)
    refused = (
        lambda: drive.write(catalogue, block),
        lambda: drive.write_zeroes(catalogue, 1),
        lambda: drive.deallocate(catalogue, 1),
        lambda: drive.copy([(0, 1)], catalogue),
        lambda: drive.write_uncorrectable(catalogue, 1),
        pending.result,
    )
    for call in refused:
        with pytest.raises(UsageError, match="catalogue of the drive's volume.*before block"):
            call()
    with pytest.raises(UsageError, match="free blocks of the drive's volume"):
        drive.write(free, block)
    drive.deallocate(free, 4)
    drive.write(first, block)
    assert (vector.count(), drive.volume["file"]) == (4 * len(block), b"abc")


def test_a_format_leaves_no_names(drive: Drive) -> None:
    drive.volume["file"] = b"abc"
    drive.admin.format(4096)
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


def test_what_is_submitted_is_in_flight_together(drive: Drive) -> None:
    rows = np.random.default_rng(1).random((3, 100_000)) < 0.5
    a, b, c = drive.group("g").write(rows)
    drive.write(0, b"x" * drive.block_bytes)
    begin = drive.now
    one_by_one = ((a & b).count(), (a | c).read(), drive.read(0, 1))
    alone = drive.now - begin
    begin = drive.now
    counted, either, block = (a & b).submit(count=True), (a | c).submit(), drive.submit_read(0, 1)
    assert not counted.done
    assert drive.now == begin
    assert (counted.result(), block.result()) == (one_by_one[0], one_by_one[2])
    np.testing.assert_array_equal(either.result(), one_by_one[1])
    assert drive.now - begin < alone
    assert max(counted.took, either.took, block.took) == drive.now - begin
    written = drive.submit_write(1, b"y" * drive.block_bytes)
    assert written.result() is None
    assert counted.done
    assert counted.result() == one_by_one[0], "it can be asked again"
    assert drive.read(1, 1) == b"y" * drive.block_bytes
    missing, late = (a & c).submit(), (a & b).submit(count=True)
    outside = drive.submit_read(drive.blocks, 1)
    c.delete()
    with pytest.raises(UsageError, match="outside"):
        outside.result()
    with pytest.raises(UsageError, match="outside"):
        _ = outside.took
    np.testing.assert_array_equal(missing.result(), rows[0] & rows[2])
    cut = (a & b).submit()
    drive.power_cut()
    with pytest.raises(UsageError, match="the power was cut before this had ended"):
        cut.result()
    drive.power_up()
    assert late.result() == one_by_one[0], "it had ended before the cut"
