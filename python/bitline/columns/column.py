"""A column of an index: comparisons of it are predicates, and it is added up where one holds."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from bitline.bits import BitExpression
from bitline.columns import bitmaps, planes
from bitline.columns.domain import Domain, Listed, Span, codes_between, codes_but, codes_of
from bitline.columns.kinds import is_text, kind_of, numbers_of
from bitline.columns.logic import Bits, both
from bitline.columns.predicate import PLATFORM, Comparison, IsNull, Predicate
from bitline.columns.ranges import Ranges, holds
from bitline.columns.stored import StoredColumn
from bitline.errors import UsageError
from bitline.platforms import Platform

if TYPE_CHECKING:
    import pyarrow as pa

    from bitline.columns.encode import Encoding
    from bitline.columns.index import BitmapIndex


class Column:
    """A column of an index: comparing it, `between`, `isin` and `is_null` give predicates.

    A column of bools is one by itself: `~index["vip"]`, `index["vip"] & (index["age"] < 30)`.
    As in SQL a comparison with a null is not true, and its inverse is not either. A constant may be any that
    values of the column are compared with exactly: one that no row has, one out of range, a float for
    integers.
    """

    def __init__(
        self, index: "BitmapIndex", stored: StoredColumn, vectors: Sequence[BitExpression], valid: Bits
    ) -> None:
        self.index = index
        """The index."""
        self.name = stored.name
        """Its name."""
        self._stored = stored
        self._vectors = vectors
        self._valid = valid
        self._domain = _domain(stored)

    def __repr__(self) -> str:
        return f"<Column {self.name!r} of {self.type}, {self.encoding}>"

    @property
    def type(self) -> "pa.DataType":
        """The Arrow type of its values; of a dictionary that of its entries."""
        return self._stored.values.type

    @property
    def encoding(self) -> "Encoding":
        """How it is kept: `"bitmap"`, a vector a value, or `"planes"`, a vector a bit."""
        return self._stored.encoding

    @property
    def vectors(self) -> list[BitExpression]:
        """Its bitmaps in the order of values, or its planes from the least significant one on."""
        return list(self._vectors)

    # Predicates

    def __lt__(self, value: object) -> Predicate:
        return self._compared("<", self._between(None, value, (True, False)), value)

    def __le__(self, value: object) -> Predicate:
        return self._compared("<=", self._between(None, value), value)

    def __gt__(self, value: object) -> Predicate:
        return self._compared(">", self._between(value, None, (False, True)), value)

    def __ge__(self, value: object) -> Predicate:
        return self._compared(">=", self._between(value, None), value)

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared("==", self._between(value, value), value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared("!=", codes_but(self._domain, self._between(value, value)), value)

    # What compares to a predicate is no key of anything.
    __hash__ = None  # type: ignore[assignment]

    def between(self, low: object, high: object) -> Predicate:
        """Rows with a value from `low` to `high`, both included."""
        codes = self._between(low, high) if low is not None and high is not None else self._none()
        return Predicate(self.index, Comparison(self, codes, f"{self.name} between {low!r} and {high!r}"))

    def isin(self, values: Iterable[object]) -> Predicate:
        """Rows with one of these values."""
        if isinstance(values, str | bytes):
            raise TypeError("isin takes a collection of values; for a single one use ==")
        given = list(values)
        words = ", ".join(repr(value) for value in given[:5]) + (", ..." if len(given) > 5 else "")
        return Predicate(
            self.index,
            Comparison(self, codes_of(self.name, self._domain, given), f"{self.name} in ({words})"),
        )

    @property
    def predicate(self) -> Predicate:
        """Rows where it is true, of a column of bools; `&`, `|` and `~` take the column itself for it.

        Raises:
            TypeError: Its values are no bools.
        """
        if str(self.type) != "bool":
            raise TypeError(f"column {self.name!r} of {self.type} is no predicate: compare it with something")
        return Predicate(self.index, Comparison(self, self._between(True, True), self.name))

    def __and__(self, other: "Predicate | Column") -> Predicate:
        return self.predicate & other

    def __or__(self, other: "Predicate | Column") -> Predicate:
        return self.predicate | other

    def __invert__(self) -> Predicate:
        return ~self.predicate

    def is_null(self) -> Predicate:
        """Rows without a value; its inverse are those that have one."""
        return Predicate(self.index, IsNull(self))

    def __bool__(self) -> NoReturn:
        raise TypeError("a column is no single truth value: compare it, and combine predicates with & | ~")

    def _compared(self, sign: str, codes: Ranges, value: object) -> Predicate:
        return Predicate(self.index, Comparison(self, codes, f"{self.name} {sign} {value!r}"))

    def _between(self, low: object, high: object, inclusive: tuple[bool, bool] = (True, True)) -> Ranges:
        if isinstance(low, Column) or isinstance(high, Column):
            raise TypeError("columns are compared with constants, not with each other")
        if low is None and high is None:
            self._none()
        return codes_between(self.name, self._domain, low, high, inclusive=inclusive)

    def _none(self) -> NoReturn:
        raise UsageError(
            f"column {self.name!r} is compared with None, which is true of no row: ask is_null()"
        )

    # Rows, for predicates

    @property
    def valid(self) -> Bits:
        """The rows that have a value."""
        return self._valid

    def rows_within(self, codes: Ranges) -> Bits:
        """The rows whose value has a code in the ranges."""
        if codes == ((0, self._domain.last),):
            return self._valid
        if self.encoding == "bitmap":
            return bitmaps.rows_within(self._vectors, codes, self._valid)
        rows = planes.rows_within(self._vectors, codes, self._domain.last)
        # Planes of a null are those of code 0.
        return both(rows, self._valid) if holds(codes, 0) else rows

    def other_codes(self, codes: Ranges) -> Ranges:
        """The codes outside of the ranges."""
        return codes_but(self._domain, codes)

    # Aggregates

    def count(self, where: "Predicate | Column | None" = None, platform: Platform = PLATFORM) -> int:
        """How many rows have a value, of those where the predicate is true."""
        [count] = self.index._counts([self._rows(where)], platform)
        return count

    def sum(self, where: "Predicate | Column | None" = None, platform: Platform = PLATFORM) -> Any:  # noqa: ANN401 (an int, a Decimal or a timedelta)
        """The sum of values, exactly; None if there is none, as in SQL.

        A plane adds its weight for each one in it where the predicate holds (O'Neil and Quass 1997, section
        3.1), a bitmap its value. All these counts are in flight together.

        Raises:
            TypeError: Values of the column do not add up, as dates and texts.
        """
        found = self._totalled("sum", where, platform)
        total = self._domain.kind.total
        return None if found is None or total is None else total(found[0])

    def mean(self, where: "Predicate | Column | None" = None, platform: Platform = PLATFORM) -> Any:  # noqa: ANN401 (a float, a Decimal or a timedelta)
        """The mean of values: a float of whole numbers, else of the type of values; None if there is none.

        Raises:
            TypeError: As `sum`.
        """
        found = self._totalled("mean", where, platform)
        total = self._domain.kind.total
        if found is None or total is None:
            return None
        added = total(found[0])
        return float(Fraction(added, found[1])) if isinstance(added, int) else added / found[1]

    def min(self, where: "Predicate | Column | None" = None, platform: Platform = PLATFORM) -> Any:  # noqa: ANN401
        """The least value; None if there is none. Planes are asked one after the other, bitmaps together."""
        return self._extreme(where, platform, largest=False)

    def max(self, where: "Predicate | Column | None" = None, platform: Platform = PLATFORM) -> Any:  # noqa: ANN401
        """The largest value; as `min`."""
        return self._extreme(where, platform, largest=True)

    def _rows(self, where: "Predicate | Column | None") -> Bits:
        """The rows that have a value where the predicate is true."""
        if where is None:
            return self._valid
        if isinstance(where, Column):
            where = where.predicate
        if not isinstance(where, Predicate):
            raise TypeError(f"where is a predicate over columns of the index, not a {type(where).__name__}")
        if where.index is not self.index:
            raise UsageError("where is a predicate of another index")
        return both(where.bits(), self._valid)

    def _totalled(
        self, what: str, where: "Predicate | Column | None", platform: Platform
    ) -> tuple[int, int] | None:
        """The sum of numbers, and how many there are."""
        if self._domain.kind.total is None:
            raise TypeError(f"column {self.name!r} is of {self.type}, whose values have no {what}")
        rows = self._rows(where)
        count, *ones = self.index._counts([rows, *(both(vector, rows) for vector in self._vectors)], platform)
        if count == 0:
            return None
        if self.encoding == "bitmap":
            return sum(self._domain.number(code) * found for code, found in enumerate(ones)), count
        weighted = sum(found << plane for plane, found in enumerate(ones))
        return self._domain.number(0) * count + weighted, count

    def _extreme(self, where: "Predicate | Column | None", platform: Platform, *, largest: bool) -> Any:  # noqa: ANN401
        rows = self._rows(where)

        def any_row(bits: Bits) -> bool:
            return self.index._counts([bits], platform) != [0]

        if self.encoding == "bitmap":
            counts = self.index._counts([both(bitmap, rows) for bitmap in self._vectors], platform)
            codes = [code for code, count in enumerate(counts) if count]
            return self._domain.value((max if largest else min)(codes)) if codes else None
        if self._domain.last < 0 or not any_row(rows):
            return None
        code = planes.extreme_code(self._vectors, rows, largest=largest, any_row=any_row)
        return self._domain.value(code)


def _domain(stored: StoredColumn) -> Domain:
    kind = kind_of(stored.name, stored.values.type)
    if is_text(kind.type):
        return Listed(kind, stored.values.to_pylist())
    numbers = [int(number) for number in numbers_of(stored.name, stored.values)]
    return Span(kind, numbers[0], numbers[1]) if stored.is_span else Listed(kind, numbers)
