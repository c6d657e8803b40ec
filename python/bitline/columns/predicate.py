"""Predicates over columns: what rows they are true of, by the three values of SQL.

A predicate is true, false or, where a null is compared, unknown of a row; only rows that it is true of are
counted, and the inverse of unknown is unknown. So NOT is carried down to the comparisons, by De Morgan, and
these are told which rows they are to find: those that they are true of, or those that they are false of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline.columns.logic import Bits, both, either, inverse
from bitline.columns.ranges import Ranges
from bitline.platforms import Platform

if TYPE_CHECKING:
    from bitline.columns.column import Column
    from bitline.columns.index import BitmapIndex

#: Who evaluates predicates and sums unless something else is asked for, as of expressions.
PLATFORM: Platform = "fastest"


class Condition(Protocol):
    """What a predicate asks of a row."""

    def rows(self, *, true: bool) -> Bits:
        """The rows that it is true of, or those that it is false of."""

    def words(self) -> str:
        """What it asks, as it would be written."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The value of a column is one of some."""

    column: "Column"
    codes: Ranges
    text: str

    def rows(self, *, true: bool) -> Bits:
        """The rows that have such a value, or another."""
        return self.column.rows_within(self.codes if true else self.column.other_codes(self.codes))

    def words(self) -> str:
        """As it was written."""
        return self.text


@dataclass(frozen=True, eq=False)
class IsNull:
    """A column has no value, which is never unknown."""

    column: "Column"

    def rows(self, *, true: bool) -> Bits:
        """The rows that have none, or one."""
        return inverse(self.column.valid) if true else self.column.valid

    def words(self) -> str:
        """As SQL has it."""
        return f"{self.column.name} is null"


@dataclass(frozen=True, eq=False)
class Not:
    """True where the other is false."""

    condition: Condition

    def rows(self, *, true: bool) -> Bits:
        """The rows of the other that are false, or true."""
        return self.condition.rows(true=not true)

    def words(self) -> str:
        """With `~`."""
        return f"~({self.condition.words()})"


@dataclass(frozen=True, eq=False)
class Joined:
    """True where both are (`&`), or where one is (`|`)."""

    sign: str
    left: Condition
    right: Condition

    def rows(self, *, true: bool) -> Bits:
        """An AND is true where both are, and false where one is; an OR the other way round."""
        join: Callable[[Bits, Bits], Bits] = both if (self.sign == "&") == true else either
        return join(self.left.rows(true=true), self.right.rows(true=true))

    def words(self) -> str:
        """In parentheses."""
        return f"({self.left.words()}) {self.sign} ({self.right.words()})"


class Predicate:
    """A condition on rows of an index; `&`, `|` and `~` combine them. Nothing happens before it is asked.

    Only rows that it is true of are counted and read: of a null that is compared neither `p` nor `~p` is
    true.
    """

    #: NumPy shall not take a predicate for one item of an array.
    __array_ufunc__ = None

    def __init__(self, index: "BitmapIndex", condition: Condition) -> None:
        self.index = index
        """The index."""
        self._condition = condition

    def __repr__(self) -> str:
        return f"<Predicate {self._condition.words()}>"

    def __and__(self, other: "Predicate | Column") -> "Predicate":
        return self._joined("&", other)

    def __or__(self, other: "Predicate | Column") -> "Predicate":
        return self._joined("|", other)

    def __invert__(self) -> "Predicate":
        return Predicate(self.index, Not(self._condition))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a predicate is no single truth value: combine predicates with & | ~, "
            "each comparison in parentheses, and ask between(a, b) instead of a <= x <= b"
        )

    def _joined(self, sign: str, other: "Predicate | Column") -> "Predicate":
        # A column of bools is one.
        other = getattr(other, "predicate", other)
        if not isinstance(other, Predicate):
            raise TypeError(
                f"a predicate is combined with another, not with a {type(other).__name__}; "
                "put comparisons in parentheses: (a < 1) & (b == 2)"
            )
        if other.index is not self.index:
            raise TypeError("these predicates are of different indexes; one is asked of one")
        return Predicate(self.index, Joined(sign, self._condition, other._condition))

    def bits(self) -> Bits:
        """The expression over vectors that finds its rows; True or False if that is all of them or none."""
        return self._condition.rows(true=True)

    def count(self, platform: Platform = PLATFORM) -> int:
        """How many rows it is true of.

        Args:
            platform: Who evaluates it.

        Raises:
            UsageError: No such platform; more operands than an expression has.
            NvmeError: What the drive reports.
        """
        [count] = self.index._counts([self.bits()], platform)
        return count

    def read(self, platform: Platform = PLATFORM) -> NDArray[np.bool_]:
        """The rows it is true of: a bool a row.

        Raises:
            UsageError: As `count`.
            NvmeError: As `count`.
        """
        bits = self.bits()
        return np.full(self.index.rows, bits) if isinstance(bits, bool) else bits.read(platform)

    def mask(self, platform: Platform = PLATFORM) -> pa.BooleanArray:
        """The rows it is true of as Arrow has them: a bit a row, in the bytes that the drive gave.

        Raises:
            UsageError: As `count`.
            NvmeError: As `count`.
        """
        bits = self.bits()
        if isinstance(bits, bool):
            return pa.repeat(pa.scalar(bits), self.index.rows)
        packed = pa.py_buffer(bits.read_packed(platform))
        return pa.BooleanArray.from_buffers(pa.bool_(), self.index.rows, [None, packed])

    def take(self, table: pa.Table, platform: Platform = PLATFORM) -> pa.Table:
        """The rows of the table it is true of; the table is the one that was indexed, or another as long.

        Raises:
            ValueError: It has another number of rows.
            UsageError: As `count`.
            NvmeError: As `count`.
        """
        if table.num_rows != self.index.rows:
            raise ValueError(f"the table has {table.num_rows:,} rows, the index {self.index.rows:,}")
        return table.filter(self.mask(platform))

    def explain(self, platform: Platform = PLATFORM) -> str:
        """How its rows would be found, in words: what becomes of the comparisons, and how that is evaluated.

        Nothing is carried out.
        """
        bits = self.bits()
        if isinstance(bits, bool):
            known = "all rows" if bits else "no row"
            return f"{self._condition.words()}: {known}, which the drive is not asked for"
        return f"{self._condition.words()}\n{bits._node.words()}\n{bits.explain(platform)}"
