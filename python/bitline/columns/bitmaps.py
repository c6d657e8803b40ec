"""Equality bitmaps: for every value a vector of the rows that have it; a row without a value is in none."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bitline.bits import BitExpression
from bitline.columns.logic import Bits, any_of, both, inverse
from bitline.columns.ranges import Ranges


def bitmap_vectors(
    codes: NDArray[np.unsignedinteger], last: int, valid: NDArray[np.bool_] | None
) -> Iterator[bytes]:
    """The packed bitmaps of the codes from 0 to `last`; `valid` tells rows that have one (None: all)."""
    for code in range(last + 1):
        rows = codes == codes.dtype.type(code)
        if valid is not None and code == 0:
            rows &= valid
        yield np.packbits(rows, bitorder="little").tobytes()


def rows_within(bitmaps: Sequence[BitExpression], ranges: Ranges, valid: Bits) -> Bits:
    """The rows with a value in the ranges: an OR of these bitmaps, or what that of the others leaves."""
    chosen = [bitmap for first, last in ranges for bitmap in bitmaps[first : last + 1]]
    if 2 * len(chosen) <= len(bitmaps):
        return any_of(chosen)
    kept = {id(bitmap) for bitmap in chosen}
    return both(valid, inverse(any_of(bitmap for bitmap in bitmaps if id(bitmap) not in kept)))
