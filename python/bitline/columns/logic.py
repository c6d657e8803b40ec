"""Bits that may be known beforehand: of all or no rows operators are folded on the host."""

from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

from bitline.bits import BitExpression

#: Rows that the drive finds, or all rows (True), or none (False).
Bits: TypeAlias = BitExpression | bool


def both(first: Bits, second: Bits) -> Bits:
    """The rows of both."""
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    return first & second


def either(first: Bits, second: Bits) -> Bits:
    """The rows of one or both."""
    if isinstance(first, bool):
        return True if first else second
    if isinstance(second, bool):
        return True if second else first
    return first | second


def inverse(bits: Bits) -> Bits:
    """The other rows."""
    return not bits if isinstance(bits, bool) else ~bits


def any_of(parts: Iterable[Bits]) -> Bits:
    """The rows of any part; none if there is no part."""
    nothing: Bits = False
    return reduce(either, parts, nothing)
