"""Bit planes: plane i has bit i of every row's code.

Comparisons are those of bit-sliced indexes (O'Neil and Quass, Improved query performance with variant
indexes, SIGMOD 1997, algorithm 4.2), from the most significant plane on: where the constant has a one, a row
with a zero there is below it; where both have the same, the planes beneath decide. Here they are one case of
a set of ranges, which is followed down both values of a plane; planes that do not matter fall out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bitline.bits import BitExpression
from bitline.columns.logic import Bits, any_of, both, either, inverse
from bitline.columns.ranges import Ranges, union, within

#: More planes than this are taken in two halves: each plane may nest operators two levels deeper, and an
#: expression has 64 levels (`expression.DEPTH_MAX`).
_PLANES_AT_ONCE = 20


def plane_count(last: int) -> int:
    """Planes for codes from 0 to `last`."""
    return max(last, 0).bit_length()


def plane_vectors(codes: NDArray[np.unsignedinteger], last: int) -> Iterator[bytes]:
    """The packed planes of codes from 0 to `last`, least significant first."""
    one = codes.dtype.type(1)
    for plane in range(plane_count(last)):
        mask = np.left_shift(one, codes.dtype.type(plane))
        yield np.packbits((codes & mask) != 0, bitorder="little").tobytes()


def rows_within(planes: Sequence[BitExpression], ranges: Ranges, last: int) -> Bits:
    """The rows whose code, from 0 to `last`, is in the ranges; planes are given least significant first."""
    if ranges and ranges[-1][1] == last:
        # No row has a code beyond it, so it does not matter what becomes of these.
        ranges = (*ranges[:-1], (ranges[-1][0], (1 << len(planes)) - 1))
    return _rows(tuple(planes), ranges)


def _rows(planes: tuple[BitExpression, ...], ranges: Ranges) -> Bits:
    if not ranges:
        return False
    if ranges == ((0, (1 << len(planes)) - 1),):
        return True
    if len(planes) > _PLANES_AT_ONCE:
        return _rows_by_halves(planes, ranges)
    *rest, top = planes
    half = 1 << len(rest)
    below, above = within(ranges, 0, half - 1), within(ranges, half, 2 * half - 1)
    zero = _rows(tuple(rest), below)
    if above == below:
        return zero
    one = _rows(tuple(rest), above)
    # With constants these fold to one operator: `~top | one` needs no `top &`, as the left side covers it.
    if zero is True:
        return either(~top, one)
    if one is True:
        return either(top, zero)
    return either(both(top, one), both(~top, zero))


def _rows_by_halves(planes: tuple[BitExpression, ...], ranges: Ranges) -> Bits:
    """Rows where the upper half of planes decides, or where both are as they should be."""
    middle = len(planes) // 2
    lower, upper = planes[:middle], planes[middle:]
    whole = (1 << middle) - 1
    decided: list[tuple[int, int]] = []
    open_codes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for first, last in ranges:
        (first_upper, first_lower), (last_upper, last_lower) = (
            divmod(code, whole + 1) for code in (first, last)
        )
        if first_upper == last_upper:
            open_codes[first_upper].append((first_lower, last_lower))
            continue
        open_codes[first_upper].append((first_lower, whole))
        open_codes[last_upper].append((0, last_lower))
        decided.append((first_upper + 1, last_upper - 1))
    by_rest: dict[Ranges, list[tuple[int, int]]] = defaultdict(list)
    for code, rest in open_codes.items():
        by_rest[union(rest)].append((code, code))
    decided += by_rest.pop(((0, whole),), [])
    parts = [both(_rows(upper, union(codes)), _rows(lower, rest)) for rest, codes in by_rest.items()]
    return any_of([_rows(upper, union(decided)), *parts])


def extreme_code(
    planes: Sequence[BitExpression], rows: Bits, *, largest: bool, any_row: Callable[[Bits], bool]
) -> int:
    """The least or the largest code of `rows`, of which there are some: decided plane by plane."""
    code = 0
    for plane in reversed(range(len(planes))):
        wanted: Bits = planes[plane] if largest else inverse(planes[plane])
        narrowed = both(rows, wanted)
        found = any_row(narrowed)
        rows = narrowed if found else both(rows, inverse(wanted))
        code |= (found == largest) << plane
    return code
