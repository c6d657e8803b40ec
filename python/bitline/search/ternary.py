"""Ranges of whole numbers as ternary prefixes, which one search each finds.

A *prefix* says what the first bits of a number are, most significant first; the others are don't cares. A
range of n-bit numbers is at most 2n - 2 of them. Where that is more than a query should have, fewer prefixes
find more than was asked for, and the host looks again.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    """At most so many prefixes (1 or more) that have all these numbers, and whether they have no others."""
    found = prefixes(ranges, bits)
    length = max((each.length for each in found), default=0)
    exact = len(found) <= most
    while len(found) > most:
        # What is longer is cut; two of a longer one's neighbours become one.
        length -= 1
        wide = [_widened(each, length, bits) for each in found]
        found = prefixes(union(wide), bits)
    return found, exact


def _widened(prefix: Prefix, length: int, bits: int) -> tuple[int, int]:
    """First and last number of a prefix cut to a length."""
    kept = min(prefix.length, length)
    first = prefix.value >> (prefix.length - kept)
    return first << (bits - kept), ((first + 1) << (bits - kept)) - 1


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
