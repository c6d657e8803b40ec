"""Vectors of bits as packed bytes."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bitline.errors import UsageError
from bitline.units import quoted

#: A one-dimensional array (or list) of bools; or packed bytes.
Vector: TypeAlias = ArrayLike | bytes | bytearray | memoryview


def packed_bits(vector: Vector, bits: int | None) -> tuple[bytes, int]:
    """A vector as packed bytes, and its length in bits."""
    if bits is not None and bits < 1:
        raise UsageError(f"bits = {quoted(bits)}: a vector has at least one bit")
    if isinstance(vector, bytes | bytearray | memoryview):
        packed = bytes(vector)
        if not packed:
            raise UsageError("the vector is empty; a vector has at least one bit")
        length = 8 * len(packed) if bits is None else bits
        if -(-length // 8) != len(packed):
            raise UsageError(
                f"{len(packed)} bytes hold no vector of {quoted(length)} bits, which takes "
                f"{quoted(-(-length // 8))}"
            )
        return packed, length
    array = np.asarray(vector)
    if array.size == 0:
        raise UsageError("the vector is empty; a vector has at least one bit")
    if array.dtype != np.bool_:
        raise TypeError(
            f"a vector is an array of bools, not of {array.dtype}: compare (x != 0), or give packed bytes"
        )
    if array.ndim != 1:
        raise TypeError(
            f"a vector has one dimension, not {array.ndim}; write takes a collection of vectors: "
            "for a single one, give a list of it"
        )
    if bits is not None and bits != len(array):
        raise UsageError(f"an array of {len(array)} bools is no vector of {quoted(bits)} bits")
    return np.packbits(array, bitorder="little").tobytes(), len(array)
