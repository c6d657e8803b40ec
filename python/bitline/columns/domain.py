"""From values to codes, which are small whole numbers from 0 on, in the order of values.

A *span* counts from the least value on, so that codes add up as values do. A *list* has every value that
occurs, and its codes are ranks. Either turns a comparison with any constant, one that no row has included,
into ranges of codes.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from bitline.columns.kinds import Kind, python_value
from bitline.columns.ranges import Ranges, complement, union
from bitline.errors import UsageError


class Domain(Protocol):
    """The values that a column has."""

    kind: Kind
    last: int
    """The last code; -1 if all rows are null."""

    def rank(self, position: Any, *, inclusive: bool) -> int:  # noqa: ANN401 (a number or a text)
        """How many codes have values below a position, or at it."""

    def number(self, code: int) -> int:
        """The number that a code stands for; of texts, its rank."""

    def value(self, code: int) -> Any:  # noqa: ANN401 (of the column's type)
        """The Python value that a code stands for."""


class Span:
    """All numbers from the least to the largest."""

    def __init__(self, kind: Kind, least: int, largest: int) -> None:
        self.kind = kind
        self.least = least
        self.last = largest - least

    def rank(self, position: Any, *, inclusive: bool) -> int:  # noqa: ANN401 (a number)
        """How many codes have values below a position, or at it."""
        if isinstance(position, float) and math.isinf(position):
            return self.last + 1 if position > 0 else 0
        below: int = math.floor(position) + 1 if inclusive else math.ceil(position)
        return min(max(below - self.least, 0), self.last + 1)

    def number(self, code: int) -> int:
        """The number that a code stands for."""
        return self.least + code

    def value(self, code: int) -> Any:  # noqa: ANN401 (of the column's type)
        """The Python value that a code stands for."""
        return self.kind.value(self.number(code))


class Listed:
    """The values that occur, ascending: numbers or texts."""

    def __init__(self, kind: Kind, values: Sequence[Any]) -> None:
        self.kind = kind
        self.values = values
        self.last = len(values) - 1

    def rank(self, position: Any, *, inclusive: bool) -> int:  # noqa: ANN401 (a number or a text)
        """How many codes have values below a position, or at it."""
        return (bisect_right if inclusive else bisect_left)(self.values, position)

    def number(self, code: int) -> int:
        """The number that a code stands for; of texts, its rank."""
        return code if self.kind.is_text else self.values[code]

    def value(self, code: int) -> Any:  # noqa: ANN401 (of the column's type)
        """The Python value that a code stands for."""
        value = self.values[code]
        return value if self.kind.is_text else self.kind.value(value)


def codes_between(
    column: str, domain: Domain, low: object, high: object, *, inclusive: tuple[bool, bool] = (True, True)
) -> Ranges:
    """The codes of values from `low` to `high`, `inclusive` of each or not; None is no bound.

    Raises:
        TypeError: A bound that values of the column are not compared with.
    """
    first = 0 if low is None else domain.rank(_position(column, domain, low), inclusive=not inclusive[0])
    end = (
        domain.last + 1
        if high is None
        else domain.rank(_position(column, domain, high), inclusive=inclusive[1])
    )
    return union([(first, end - 1)])


def codes_of(column: str, domain: Domain, values: Iterable[object]) -> Ranges:
    """The codes of the values, as far as any row has them.

    Raises:
        TypeError: As `codes_between`.
    """
    positions = [_position(column, domain, value) for value in values]
    return union((domain.rank(at, inclusive=False), domain.rank(at, inclusive=True) - 1) for at in positions)


def codes_but(domain: Domain, ranges: Ranges) -> Ranges:
    """The other codes."""
    return complement(ranges, domain.last)


def _position(column: str, domain: Domain, value: object) -> Any:  # noqa: ANN401 (a number or a text)
    value = python_value(value)
    if value is None:
        raise UsageError(f"column {column!r} is compared with None, which is true of no row: ask is_null()")
    try:
        return domain.kind.position(value)
    except TypeError as wanted:
        raise TypeError(
            f"column {column!r} of {domain.kind.type} is compared with {value!r}, a {type(value).__name__}; "
            f"give {wanted}"
        ) from None
