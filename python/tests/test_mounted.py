"""Files of a mounted file system, for tasks, streams and collectors.

The drive is in this process, so nothing is mounted from it: what is mounted is a copy of what it holds, and
what the drive changes is copied back. Drives that are served are in crates/attach/tests/mounted.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from letters import SWAP, module

import bitline
from bitline import UsageError

_BYTES = 16 << 20
_NEEDED = ("losetup", "mkfs.ext4", "mount", "umount", "e2fsck")
_MISSING = [tool for tool in _NEEDED if shutil.which(tool) is None]


def _tool(*arguments: str) -> str:
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OSError(f"{arguments}: {ran.stderr}")
    return ran.stdout.strip()


#: A module that does so with what streams through it.
_STREAM = """(module
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (memory (export "memory") 4)
  (func (export "isc_main") (result i32) (local $bytes i32)
    (loop $pieces
      (local.set $bytes (i32.wrap_i64 (call $next (i32.const 1024) (i32.const 131072) (i32.const 0))))
      (if (i32.eqz (local.get $bytes)) (then (return (i32.const 0))))
      (drop (call $emit (i32.const 1024) (local.get $bytes)))
      (br $pieces))
    (i32.const 0)))"""


class Copy:
    """A mounted ext4, and a drive that holds the same."""

    def __init__(self, folder: Path, drive: bitline.Drive) -> None:
        self.drive, self.image, self.folder = drive, folder / "image", folder / "mount"
        self.folder.mkdir()
        with self.image.open("wb") as image:
            image.truncate(_BYTES)
        self.device = _tool("losetup", "--find", "--show", "--sector-size", "4096", str(self.image))
        _tool("mkfs.ext4", "-q", "-b", "4096", self.device)
        _tool("mount", self.device, str(self.folder))

    def to_drive(self) -> None:
        """Has the drive hold what the host has written."""
        _tool("sync", "-f", str(self.folder))
        self.drive.write(0, self.image.read_bytes())

    def to_host(self, file: bitline.MountedFile) -> None:
        """Has the host see what the drive has written to a file."""
        with self.image.open("r+b") as image:
            for first, blocks in file.extents:
                image.seek(first * 4096)
                image.write(self.drive.read(first, blocks))

    def end(self) -> None:
        """Unmounts it."""
        _tool("umount", str(self.folder))
        _tool("losetup", "--detach", self.device)


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    if _MISSING or os.geteuid() != 0:
        pytest.skip(f"SKIPPED: this takes root, loop devices and {', '.join(_MISSING or _NEEDED)}")
    with bitline.open(set={"ftl.mapping_unit_bytes": 4096}) as drive:
        try:
            made = Copy(tmp_path, drive)
        except OSError as error:
            pytest.skip(f"SKIPPED: no file system can be mounted here: {error}")
        yield made
        made.end()


def test_a_task_writes_a_file_where_it_lies(copy: Copy) -> None:
    words = b"Files Of A Mounted File System" * 300
    (copy.folder / "words").write_bytes(words)
    copy.to_drive()
    mount = bitline.mounted(copy.folder, copy.drive)
    assert (mount.kind, mount.offset) == ("ext4", 0)
    with mount.write("words") as file:
        assert file.size == len(words)
        read = b"".join(copy.drive.read(*extent) for extent in file.extents)
        assert read[: len(words)] == words
        result = copy.drive.tasks.run(module(SWAP), {file: "rw"})
        assert result, result.reason
        copy.to_host(file)
    assert (copy.folder / "words").read_bytes() == bytes(byte ^ 32 for byte in words)


def test_outputs_are_there_if_the_run_commits(copy: Copy) -> None:
    (copy.folder / "words").write_bytes(b"abc" * 1000)
    copy.to_drive()
    mount = bitline.mounted(copy.folder, copy.drive)
    result = mount.run(module(SWAP), inputs=["words"], outputs={"swapped": 3000})
    assert result, result.reason
    assert (copy.folder / "swapped").stat().st_size == 3000
    stopped = mount.run(module(SWAP), inputs=["words"], outputs={"other": 3000}, cycles=10)
    assert not stopped
    assert not (copy.folder / "other").exists()
    with pytest.raises(UsageError, match="of that name"):
        mount.run(module(SWAP), inputs=["words"], outputs={"swapped": 3000})


def test_all_outputs_are_settled(copy: Copy) -> None:
    copy.to_drive()

    class Taken:
        """Tasks of a drive during which somebody else makes a file of the first output's name."""

        @staticmethod
        def run(*_: object) -> bool:
            (copy.folder / "first").write_bytes(b"of another")
            return True

    mount = bitline.mounted(copy.folder, copy.drive)
    mount.drive = SimpleNamespace(tasks=Taken)  # type: ignore[assignment]
    with pytest.raises(FileExistsError, match="first"):
        mount.run(b"", outputs={"first": 3000, "second": 3000})
    assert (copy.folder / "first").read_bytes() == b"of another"
    assert (copy.folder / "second").stat().st_size == 3000


def test_streams_and_collectors_take_them(copy: Copy) -> None:
    words = b"0123456789" * 5000
    (copy.folder / "words").write_bytes(words)
    copy.to_drive()
    mount = bitline.mounted(copy.folder, copy.drive)
    with mount.stream("words", task=module(_STREAM)) as stream:
        assert stream.read() == words
    with mount.collect(0, "frames", size=10_000, source=[b"x" * 1000] * 7) as camera:
        camera.run()
    assert (copy.folder / "frames").stat().st_size == 10_000
    with mount.read("frames") as file:
        filled = b"".join(copy.drive.read(*extent) for extent in file.extents)
    assert filled[:7000] == b"x" * 7000


def test_what_is_not_of_the_drive_is_refused(copy: Copy) -> None:
    with pytest.raises(UsageError, match="not on this drive"):
        bitline.mounted(copy.folder, copy.drive)
    copy.to_drive()
    mount = bitline.mounted(copy.folder, copy.drive)
    with (copy.folder / "hole").open("wb") as hole:
        hole.truncate(100_000)
    with pytest.raises(UsageError, match="are a hole"):
        mount.read("hole")
    with pytest.raises(OSError, match="No such file"):
        mount.read("nothing")
    (copy.folder / "words").write_bytes(b"abc" * 3000)
    copy.to_drive()
    with mount.read("words") as file:
        with pytest.raises(UsageError, match="read only"):
            copy.drive.tasks.run(b"", {file: "rw"})
        with pytest.raises(UsageError, match="read only"):
            copy.drive.collectors.attach(0, file)
    with pytest.raises(UsageError, match="not registered any more"):
        copy.drive.tasks.run(b"", {file: "r"})
    with (copy.folder / "words").open("rb"), pytest.raises(UsageError, match="somebody else has it open"):
        mount.write("words")


def test_other_file_systems_are_refused() -> None:
    with bitline.open() as drive, pytest.raises(UsageError, match="ext4 and xfs"):
        bitline.mounted("/proc", drive)
