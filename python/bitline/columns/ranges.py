"""Sets of codes as ranges. What a comparison asks for is one or two of them, what `isin` asks for a few."""

from collections.abc import Iterable
from typing import TypeAlias

#: First and last code of each range, ascending, with a gap between any two.
Ranges: TypeAlias = tuple[tuple[int, int], ...]


def union(parts: Iterable[tuple[int, int]]) -> Ranges:
    """The codes of any of the parts, of which a part whose last code lies before its first has none."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(part for part in parts if part[0] <= part[1]):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges, last: int) -> Ranges:
    """The codes from 0 to `last` that are in none of the ranges."""
    begins = [0, *(end + 1 for _, end in ranges)]
    ends = [*(begin - 1 for begin, _ in ranges), last]
    return union(zip(begins, ends, strict=True))


def within(ranges: Ranges, first: int, last: int) -> Ranges:
    """The codes from `first` to `last` that are in the ranges, counted from `first` on."""
    return union((max(begin, first) - first, min(end, last) - first) for begin, end in ranges)


def holds(ranges: Ranges, code: int) -> bool:
    """Whether a code is in the ranges."""
    return any(begin <= code <= end for begin, end in ranges)
