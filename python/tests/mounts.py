"""What a machine lacks for what the tests do: file systems that are mounted from a drive, tasks in C."""

import os
import shutil
from pathlib import Path

import pytest

#: Tools that tests of mounts call, besides Bitline itself.
_TOOLS = ("losetup", "mkfs.ext4", "mkfs.xfs", "blkid", "fstrim")
_DEVICES = ("/dev/fuse", "/dev/loop-control")


def lacking(*tools: str) -> list[str]:
    """Which of these tools are missing."""
    return [tool for tool in tools if shutil.which(tool) is None]


#: A compiler for tasks, if there is none.
NO_COMPILER = ["clang"] if len(lacking("clang-19", "clang")) == 2 else []
#: All that is missing for mounts.
LACKS = [
    *lacking(*_TOOLS),
    *(device for device in _DEVICES if not Path(device).exists()),
    *(["root"] if os.geteuid() != 0 else []),
]
mounting = pytest.mark.skipif(bool(LACKS), reason=f"SKIPPED: nothing can be mounted without {LACKS}")
