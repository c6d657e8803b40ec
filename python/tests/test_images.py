"""Image files: what was acknowledged and flushed is there again, in another process and after a kill."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

import bitline
from bitline import ConfigError, ImageError, MediaError, UsageError, _bitline


def test_a_closed_drive_opens_again_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    array = np.random.default_rng(1).random((50, 70))
    bits = np.random.default_rng(2).random((3, 999)) < 0.5
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(11, array)
        drive.group("kept").write(bits, inverse=True)
        config = drive.config
    with bitline.open(path=path) as drive:
        assert drive.config == config
        np.testing.assert_array_equal(drive.read_array(11, array.shape, array.dtype), array)
        a, b, c = drive.group("kept").vectors()
        np.testing.assert_array_equal((a | (b & c)).read(), bits[0] | (bits[1] & bits[2]))
        drive.group("kept").write(~bits[:1])
        drive.write(0, b"n" * 4096)
    with bitline.open(path=path) as drive:
        assert len(drive.group("kept").vectors()) == 4
        assert drive.read(0) == b"n" * 4096


CHILD = """
import sys, bitline
drive = bitline.open(path=sys.argv[1])
group = drive.group("g")
for number in range(1000):
    drive.write(number, bytes([number % 251]) * 4096)
    group.write([bytes([number % 251]) * 100])
    drive.flush()
    print(number, flush=True)
"""


@pytest.mark.parametrize("kill_after", [1, 7, 20])
def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path, kill_after: int) -> None:
    path = tmp_path / "an.img"
    bitline.open(path=path, set={**SMALL, "nand.geometry.blocks_per_plane": 64}).close()
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) == kill_after:
            child.send_signal(signal.SIGKILL)
            break
    acknowledged = max([kill_after, *(int(line) for line in child.stdout)])
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    with bitline.open(path=path) as drive:
        vectors = {vector.number: vector for vector in drive.group("g").vectors()}
        for number in range(acknowledged + 1):
            assert drive.read(number) == bytes([number % 251]) * 4096
            assert vectors[number].read_packed() == bytes([number % 251]) * 100


def test_an_image_is_open_in_one_place_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL), pytest.raises(ImageError, match="in use by another drive"):
        bitline.open(path=path)
    bitline.open(path=path).close()


def test_dropping_a_drive_lets_go_of_its_image(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    drive = bitline.open(path=path, set=SMALL)
    drive.write(0, b"x" * 4096)
    del drive
    with bitline.open(path=path) as again:
        assert again.read(0) == b"x" * 4096


def test_what_is_no_image_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\n" * 1000)
    with pytest.raises(ImageError, match=r"letter.txt: not a Bitline image"):
        bitline.open(path=path)
    assert path.read_text() == "Dear reader,\n" * 1000
    with pytest.raises(OSError, match="directory"):
        bitline.open(path=tmp_path)


def test_a_damaged_image_is_told(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    bitline.open(path=path, set=SMALL).close()
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    # The other header, at the end, will do.
    bitline.open(path=path).close()
    content[60 - 69632] ^= 1
    path.write_bytes(content)
    with pytest.raises(ImageError, match=r"an\.img: damaged: the header"):
        bitline.open(path=path)


def test_an_image_of_another_format_names_what_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "old.img"
    path.write_bytes(b"BITLINE\0" + (1).to_bytes(4, "little") + bytes(200_000))
    told = "image format version 1, written by Bitline 0.1.0; .* copy what the drive holds"
    with pytest.raises(ImageError, match=told):
        bitline.open(path=path)


def test_damaged_data_is_a_media_error_and_a_check_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(0, b"\xab" * 16384)
        drive.write(4, b"\xcd" * 16384)
    content = bytearray(path.read_bytes())
    content[content.index(b"\xab" * 4096) + 100] ^= 1
    path.write_bytes(content)
    pages, damaged, copies, rolled_back = _bitline.check_image(path, data=True)
    assert (len(damaged), copies, rolled_back) == (1, 0, False)
    assert pages >= 2
    with bitline.open(path=path, read_only=True) as drive:
        with pytest.raises(MediaError):
            drive.read(0)
        assert drive.read(4, 4) == b"\xcd" * 16384


def test_an_image_opened_read_only_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    drive = bitline.open(path=path, set=SMALL)
    drive.write(0, b"x" * 4096)
    del drive
    path.chmod(0o444)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with bitline.open(path=path, read_only=True) as drive:
        drive.write(1, b"y" * 4096)
        assert drive.read(0, 2) == b"x" * 4096 + b"y" * 4096
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    with pytest.raises(UsageError, match="the drive it was made for"):
        bitline.open("flash-cosmos", path, read_only=True)


def test_a_full_disk_loses_nothing_and_is_told(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        drive = bitline.open(path=disk / "an.img", set=SMALL)
        for lba in range(0, 800, 4):
            drive.write(lba, bytes([lba % 251]) * 16384)
        for call in (drive.flush, drive.close, drive.flush):
            with pytest.raises(OSError, match=r"disk of this image is full.*an\.img") as caught:
                call()
            assert caught.value.errno == errno.ENOSPC
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        drive.close()
        with bitline.open(path=disk / "an.img", read_only=True) as drive:
            for lba in range(0, 800, 4):
                assert drive.read(lba, 4) == bytes([lba % 251]) * 16384
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_image_keeps_its_layout_but_takes_other_timings(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(0, b"x" * 4096)
    with bitline.open(path=path, set={"nand.latency.read_tlc_ns": [100_000] * 3}) as drive:
        before = drive.now
        assert drive.read(0) == b"x" * 4096
        assert (drive.now - before).us > 100
    with pytest.raises(ConfigError, match="page_bytes = 8192 does not fit the image"):
        bitline.open(path=path, set={"nand.geometry.page_bytes": 8192})
    with pytest.raises((ConfigError, ImageError)):
        bitline.open("conduit", path)
    with bitline.open(path=path) as drive:
        assert drive.read(0) == b"x" * 4096


def test_the_inventory_counts_what_was_written(tmp_path: Path) -> None:
    with bitline.open(path=tmp_path / "an.img", set=SMALL) as drive:
        assert drive.media.inventory().mapped_pages == 0
        drive.write(0, bytes(8 * 4096))
        drive.group("1").write([b"a", b"b"])
        found = drive.media.inventory()
        assert (found.mapped_pages, found.vectors) == (8, 2)
        assert found.logical_pages * found.page_bytes == drive.capacity_bytes
        assert 0 < found.flash_blocks_used < found.flash_blocks == 2 * 2 * 2 * 32


def test_info_and_health_agree_and_do_not_count_their_look(tmp_path: Path) -> None:
    import json

    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(0, b"a" * 4096)
        drive.volume["file"] = b"b" * 5000
        drive.group("g").write([b"abc"])

    def told(*command: str) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-m", "bitline", *command, str(path), "--json"], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        found: dict[str, object] = json.loads(done.stdout)
        return found

    info, health = told("image", "info"), told("health")
    shared = info.keys() & health.keys()
    assert "host_reads" in shared
    assert {key: info[key] for key in shared} == {key: health[key] for key in shared}
