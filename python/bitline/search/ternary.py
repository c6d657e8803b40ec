"""Ranges of whole numbers as ternary prefixes, which one search each finds.

A *prefix* says what the first bits of a number are, most significant first; the others are don't cares. A
range of n-bit numbers is at most 2n - 2 of them. Where that is more than a query should have, neighbours are
merged: fewer prefixes find more than was asked for, and the host looks again.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, cast

from bitline.columns.ranges import Ranges, union


class Prefix(NamedTuple):
    """The first bits of a number."""

    value: int
    """What they are."""
    length: int
    """How many; 0 is any number."""


def prefixes(ranges: Ranges, bits: int) -> list[Prefix]:
    """The fewest prefixes that are the numbers of `bits` bits in these ranges, ascending."""
    return [each for first, last in ranges for each in _of_range(first, last, bits)]


def _of_range(first: int, last: int, bits: int) -> Iterator[Prefix]:
    """The largest aligned block that begins at the first number left, again and again."""
    while first <= last:
        free = (first & -first).bit_length() - 1 if first else bits
        free = min(free, (last - first + 1).bit_length() - 1)
        yield Prefix(first >> free, bits - free)
        first += 1 << free


def cover(ranges: Ranges, bits: int, most: int) -> tuple[list[Prefix], bool]:
    """At most so many prefixes (1 or more) that have all these numbers, and whether they have no others.

    Where there would be more, neighbours become one, those first that so get the fewest other numbers.
    """
    found = prefixes(ranges, bits)
    return (found, True) if len(found) <= most else (_merged(found, bits, most), False)


def _merged(found: list[Prefix], bits: int, most: int) -> list[Prefix]:
    """So many prefixes that have all numbers of more, which ascend and do not overlap."""
    left: list[Prefix | None] = list(found)
    before, behind = list(range(-1, len(found) - 1)), list(range(1, len(found) + 1))

    def merger(one: int, other: int) -> tuple[int, int, int, Prefix, Prefix]:
        """How many other numbers two neighbours get as one."""
        first, second = cast(Prefix, left[one]), cast(Prefix, left[other])
        length = min(first.length, second.length)
        ends = first.value >> first.length - length, second.value >> second.length - length
        length -= (ends[0] ^ ends[1]).bit_length()
        others = (1 << bits - length) - (1 << bits - first.length) - (1 << bits - second.length)
        return others, one, other, first, second

    # What lies below the same prefix as two neighbours is nearer to one of them than these are to each other:
    # the cheapest pair has nothing else below its own.
    heap = [merger(at, at + 1) for at in range(len(found) - 1)]
    heapify(heap)
    count = len(found)
    while count > most:
        others, one, other, first, second = heappop(heap)
        if left[one] is not first or left[other] is not second:
            continue
        size = others + (1 << bits - first.length) + (1 << bits - second.length)
        length = bits - size.bit_length() + 1
        left[one], left[other] = Prefix(first.value >> first.length - length, length), None
        behind[one] = behind[other]
        if behind[one] < len(left):
            before[behind[one]] = one
            heappush(heap, merger(one, behind[one]))
        if before[one] >= 0:
            heappush(heap, merger(before[one], one))
        count -= 1
    return [each for each in left if each is not None]


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """The numbers that are in both."""
    found = []
    left, right = list(one), list(other)
    while left and right:
        found.append((max(left[0][0], right[0][0]), min(left[0][1], right[0][1])))
        # The one that ends first has nothing to do with what follows.
        (left if left[0][1] <= right[0][1] else right).pop(0)
    return union(found)


def big_endian(prefix: Prefix, size: int) -> tuple[bytes, bytes]:
    """Name and mask of a prefix of a number in so many bytes, the most significant first."""
    free = 8 * size - prefix.length
    mask = ((1 << prefix.length) - 1) << free
    return (prefix.value << free).to_bytes(size, "big"), mask.to_bytes(size, "big")


def packed(parts: Sequence[tuple[int, Prefix]], bits: int) -> tuple[bytes, bytes]:
    """Name and mask of a name of so many bits, with a prefix from each of these bits on.

    Bit i of a name is bit i % 8, least significant first, of byte i // 8; a number begins with its most
    significant bit.
    """
    name = mask = 0
    for begin, prefix in parts:
        if prefix.length:
            name |= int(f"{prefix.value:0{prefix.length}b}"[::-1], 2) << begin
            mask |= ((1 << prefix.length) - 1) << begin
    size = -(-bits // 8)
    return name.to_bytes(size, "little"), mask.to_bytes(size, "little")
