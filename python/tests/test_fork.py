"""Processes that a program forks: what becomes of drives and of the locks on their images."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bitline
from bitline.errors import UsageError


def _in_fork(work: Callable[[], object]) -> int:
    """Does work in a forked process, which then ends as programs do; its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _is_refused(image: Path) -> bool:
    """Whether a third process cannot open the image, because it is in use."""
    program = f"import bitline; bitline.open(path={str(image)!r})"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return found.returncode != 0 and "in use" in found.stderr


def _gone(drive: bitline.Drive) -> None:
    """Lets go of a drive without closing it, as a process that ends does."""
    drive._native = None  # type: ignore[assignment]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "end", [bitline.Drive.close, _gone, lambda drive: None], ids=["close", "drop", "exit"]
)
def test_a_fork_cannot_release_the_lock(tmp_path: Path, end: Callable[[bitline.Drive], object]) -> None:
    image = tmp_path / "drive.img"
    with bitline.open(path=image) as drive:
        drive.write(0, b"p" * 4096)
        # What was not synced yet, and a program under way, are the parent's to keep.
        assert _in_fork(lambda: end(drive)) == 0
        assert _is_refused(image)
        drive.write(1, b"q" * 4096)
        assert drive.read(0, 2) == b"p" * 4096 + b"q" * 4096
    assert not _is_refused(image)
    with bitline.open(path=image) as drive:
        assert drive.read(0, 2) == b"p" * 4096 + b"q" * 4096


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_ends_as_python_does_without_touching_the_image(tmp_path: Path) -> None:
    """Not by `os._exit`: what Python and Rust tear down at the end must spare the image, too."""
    image = tmp_path / "drive.img"
    program = f"""
import os, sys, bitline
drive = bitline.open(path={str(image)!r}, set={{"cache.mode": "write", "cache.capacitor": True}})
drive.write(0, b"p" * 4096)
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
import subprocess
third = subprocess.run(
    [sys.executable, "-c", "import bitline; bitline.open(path={str(image)!r})"],
    capture_output=True, text=True,
)
assert "in use" in third.stderr, third.stderr
drive.write(1, b"q" * 4096)
drive.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with bitline.open(path=image) as drive:
        assert drive.read(0, 2) == b"p" * 4096 + b"q" * 4096


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_is_told_that_the_image_is_not_its_own(tmp_path: Path) -> None:
    with bitline.open(path=tmp_path / "drive.img") as drive, bitline.open() as memory:
        memory.write(0, b"m" * 4096)

        def use() -> None:
            with pytest.raises(UsageError, match="forked"):
                drive.write(0, b"c" * 4096)
            # A copy of what is in memory is the fork's own.
            assert memory.read(0) == b"m" * 4096
            memory.write(0, b"c" * 4096)

        assert _in_fork(use) == 0
        assert drive.read(0) == bytes(4096)
        assert memory.read(0) == b"m" * 4096
