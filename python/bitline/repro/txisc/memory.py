"""Section V-B: the memory of delta mappings, found by giving the drive less and less of it."""

from collections.abc import Mapping

import bitline
from bitline.errors import WrongResultError
from bitline.repro.txisc.bandwidth import BLOCK_BYTES, PRESET, run

#: By how many blocks each write is further than the last: the next one, or one that is nowhere near.
STRIDES: Mapping[str, int] = {"sequential": 1, "scattered": 389}

#: What the file has more of than is written, so that no block is written twice.
_ROOM = 2


def entry_bytes(stride: int, writes: int) -> int:
    """The least memory for entries (`tx.delta_bytes`) with which a run of so many writes commits.

    Args:
        stride: By how many blocks of 16 KiB each is further than the last.
        writes: How many, of 16 KiB, each to another block.

    Raises:
        WrongResultError: Even much memory is not enough.
    """
    step = 24  # the least that a drive takes
    low, high = 0, 8 * writes
    if not _commits(high * step, stride, writes):
        raise WrongResultError(f"{writes} writes do not fit {high * step} bytes of entries")
    while high - low > 1:
        middle = (low + high) // 2
        if _commits(middle * step, stride, writes):
            high = middle
        else:
            low = middle
    return high * step


def share(stride: int, writes: int) -> float:
    """That memory, in percent of the data that is written."""
    return 100 * entry_bytes(stride, writes) / (writes * BLOCK_BYTES)


def _commits(delta_bytes: int, stride: int, writes: int) -> bool:
    with bitline.open(PRESET, data="none", set={"tx.delta_bytes": delta_bytes}) as drive:
        drive.volume["file"] = bytes(_ROOM * writes * BLOCK_BYTES)
        return bool(run(drive, "snapshot", writes, depth=32, stride=stride))
