"""Conditions on the rows of a table: what PyArrow says of them, and which names may fulfil them.

A condition is true, false or unknown of a row, as in SQL: a comparison with a null is unknown, and rows are
meant of which it is true. `cover` is about names: those of rows of which it may be true (or false), as boxes
(`bitline.search.boxes`). What names do not tell, the host finds out with `mask`.
"""
# ruff: noqa: D102 (what its methods do is said of `Condition`)

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from bitline.columns.ranges import Ranges, complement, union
from bitline.search.boxes import EVERYTHING, NOTHING, UNKNOWN, Cover, both, either
from bitline.search.fields import NEGATED, Categories, Comparison, Field, Floats, Numbers, Texts
from bitline.search.like import Like

_KERNELS = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


#: Values of a list that are told, at most; of a longer one the first are.
_SHOWN_MAX = 10


class Names(Protocol):
    """What names have of columns."""

    def field(self, column: str) -> Field | None:
        """How a column is in names; None if it is in none."""

    def valid(self, column: str, codes: Ranges, exact: bool) -> Cover:
        """The names of rows in which the column has a value with such a code."""

    def null(self, column: str) -> Cover:
        """The names of rows in which the column is null."""


class Condition(Protocol):
    """A condition on rows."""

    def columns(self) -> set[str]:
        """The columns that it is about."""

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401 (an array, or a scalar where it is known)
        """Whether it is true of each row, with nulls where that is unknown; dictionaries are decoded."""

    def cover(self, names: Names, true: bool = True) -> Cover:
        """Names of all rows of which it is true, or of which it is false."""

    def words(self) -> str:
        """It, as one would write it."""


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as PyArrow compares it: it does not compare floating-point numbers of 16 bits."""
    return column.cast(pa.float64()) if pa.types.is_float16(column.type) else column


def _alike(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Columns as PyArrow compares them: it has no type for all numbers of 64 bits with and without sign."""
    both = left.type, right.type
    if all(map(pa.types.is_integer, both)) and pa.uint64() in both and left.type != right.type:
        wide = pa.decimal128(20)
        return left.cast(wide), right.cast(wide)
    return left, right


def _leaf(
    names: Names, column: str, true: bool, codes: Callable[[Field], tuple[Ranges, bool] | None]
) -> Cover:
    """The names whose codes, which a field tells, make it true; if they do so exactly, the others do not."""
    field = names.field(column)
    told = None if field is None else codes(field)
    if field is None or told is None:
        return UNKNOWN
    found, exact = told
    if true:
        return names.valid(column, found, exact)
    last = (1 << field.bits) - 1
    return names.valid(column, complement(found, last) if exact else ((0, last),), exact)


@dataclass(frozen=True)
class Compare:
    """A column compared with a constant of its type."""

    column: str
    comparison: Comparison
    value: pa.Scalar

    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return _KERNELS[self.comparison](_numbers(table[self.column]), self.value)

    def cover(self, names: Names, true: bool = True) -> Cover:
        if isinstance(names.field(self.column), Texts) and not true:
            # Of texts that are cut, what is not found says nothing.
            return Compare(self.column, NEGATED[self.comparison], self.value).cover(names)
        return _leaf(names, self.column, true, lambda field: field.ranges(self.comparison, self.value))

    def words(self) -> str:
        sign = {"==": "=", "!=": "<>"}.get(self.comparison, self.comparison)
        return f"{self.column} {sign} {shown(self.value)}"


@dataclass(frozen=True)
class OneOf:
    """A column is one of some values of its type."""

    column: str
    values: pa.Array

    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        column = _numbers(table[self.column])
        unknown = pa.scalar(None, pa.bool_())
        if pa.types.is_floating(column.type):
            # As `=` has it: zeroes are one, and numbers are compared as numbers, whatever their widths.
            wide = column.cast(pa.float64())
            equal = [pc.equal(wide, value) for value in self.values]
            return reduce(pc.or_kleene, equal, pc.if_else(pc.is_valid(wide), pa.scalar(False), unknown))
        return pc.if_else(pc.is_valid(column), pc.is_in(column, value_set=self.values), unknown)

    def cover(self, names: Names, true: bool = True) -> Cover:
        def codes(field: Field) -> tuple[Ranges, bool]:
            if isinstance(field, Numbers):
                return field.listed(self.values), True
            found = [field.ranges("==", value) for value in self.values]
            return union(each for ranges, _ in found for each in ranges), all(exact for _, exact in found)

        return _leaf(names, self.column, true, codes)

    def words(self) -> str:
        if len(self.values) <= _SHOWN_MAX:
            return f"{self.column} in ({', '.join(map(shown, self.values))})"
        first = ", ".join(map(shown, self.values[:3]))
        return f"{self.column} in ({first}, … {len(self.values):,} values)"


@dataclass(frozen=True)
class Matches:
    """A text has a form: `abc%`, with % for any characters and _ for one."""

    column: str
    like: Like

    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return pc.match_substring_regex(table[self.column], self.like.regex)

    def cover(self, names: Names, true: bool = True) -> Cover:
        def codes(field: Field) -> tuple[Ranges, bool] | None:
            if isinstance(field, Categories):
                return field.where(self.like.matches), True
            if not isinstance(field, Texts):
                return None
            found, exact = field.beginning(self.like.beginning)
            return found, exact and self.like.is_beginning

        return _leaf(names, self.column, true, codes)

    def words(self) -> str:
        return f"{self.column} like {shown(pa.scalar(self.like.pattern))}"


@dataclass(frozen=True)
class IsNull:
    """A column is null; never unknown."""

    column: str

    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return pc.is_null(table[self.column])

    def cover(self, names: Names, true: bool = True) -> Cover:
        if true:
            return names.null(self.column)
        return _leaf(names, self.column, True, lambda field: (((0, (1 << field.bits) - 1),), True))

    def words(self) -> str:
        return f"{self.column} is null"


@dataclass(frozen=True)
class IsNan:
    """A floating-point number is none."""

    column: str

    def columns(self) -> set[str]:
        return {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return pc.is_nan(_numbers(table[self.column]))

    def cover(self, names: Names, true: bool = True) -> Cover:
        def codes(field: Field) -> tuple[Ranges, bool] | None:
            return (field.not_numbers(), True) if isinstance(field, Floats) else None

        return _leaf(names, self.column, true, codes)

    def words(self) -> str:
        return f"isnan({self.column})"


@dataclass(frozen=True)
class Known:
    """True or false of every row in which some column has a value, or of all rows; None is unknown."""

    value: bool | None
    column: str | None = None

    def columns(self) -> set[str]:
        return set() if self.column is None else {self.column}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        known = pa.scalar(self.value, pa.bool_())
        if self.column is None:
            return known
        return pc.if_else(pc.is_valid(table[self.column]), known, pa.scalar(None, pa.bool_()))

    def cover(self, names: Names, true: bool = True) -> Cover:
        if self.value is not true:
            return NOTHING
        return EVERYTHING if self.column is None else Not(IsNull(self.column)).cover(names)

    def words(self) -> str:
        known = "unknown" if self.value is None else str(self.value).lower()
        return known if self.column is None or self.value is None else f"({known}, {self.column} is given)"


@dataclass(frozen=True)
class Columns:
    """Two columns compared, which no name tells."""

    left: str
    comparison: Comparison
    right: str

    def columns(self) -> set[str]:
        return {self.left, self.right}

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return _KERNELS[self.comparison](*_alike(_numbers(table[self.left]), _numbers(table[self.right])))

    def cover(self, names: Names, true: bool = True) -> Cover:
        return UNKNOWN

    def words(self) -> str:
        sign = {"==": "=", "!=": "<>"}.get(self.comparison, self.comparison)
        return f"{self.left} {sign} {self.right}"


@dataclass(frozen=True)
class Other:
    """What is only understood by whoever asks; the columns that it is about are known."""

    text: str
    about: frozenset[str]

    def columns(self) -> set[str]:
        return set(self.about)

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        raise AssertionError("whoever asks finishes what only they understand")

    def cover(self, names: Names, true: bool = True) -> Cover:
        return UNKNOWN

    def words(self) -> str:
        return self.text


@dataclass(frozen=True)
class Not:
    """True where another is false."""

    inner: Condition

    def columns(self) -> set[str]:
        return self.inner.columns()

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return pc.invert(self.inner.mask(table))

    def cover(self, names: Names, true: bool = True) -> Cover:
        return self.inner.cover(names, not true)

    def words(self) -> str:
        return f"not ({self.inner.words()})"


@dataclass(frozen=True)
class AllOf:
    """True where all are."""

    inner: tuple[Condition, ...]

    def columns(self) -> set[str]:
        return set().union(*(each.columns() for each in self.inner))

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return reduce(pc.and_kleene, (each.mask(table) for each in self.inner))

    def cover(self, names: Names, true: bool = True) -> Cover:
        covers = [each.cover(names, true) for each in self.inner]
        return reduce(both, covers) if true else either(*covers)

    def words(self) -> str:
        return " and ".join(f"({each.words()})" for each in self.inner)


@dataclass(frozen=True)
class AnyOf:
    """True where any is."""

    inner: tuple[Condition, ...]

    def columns(self) -> set[str]:
        return set().union(*(each.columns() for each in self.inner))

    def mask(self, table: pa.Table) -> Any:  # noqa: ANN401
        return reduce(pc.or_kleene, (each.mask(table) for each in self.inner))

    def cover(self, names: Names, true: bool = True) -> Cover:
        covers = [each.cover(names, true) for each in self.inner]
        return either(*covers) if true else reduce(both, covers)

    def words(self) -> str:
        return " or ".join(f"({each.words()})" for each in self.inner)


def shown(value: pa.Scalar) -> str:
    """A constant, as SQL writes it."""
    if not value.is_valid:
        return "null"
    if pa.types.is_floating(value.type):
        return repr(value.as_py())
    try:
        found = value.as_py()
    except ValueError:
        return str(value)
    if isinstance(found, bool | int | bytes):
        return str(found).lower() if isinstance(found, bool) else repr(found)
    return str(found) if pa.types.is_decimal(value.type) else "'" + str(found).replace("'", "''") + "'"
