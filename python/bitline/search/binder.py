"""Conditions on columns of known types: constants become values of the type, or what they say is known."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from bitline.columns.kinds import is_text, python_value
from bitline.errors import UsageError
from bitline.search.condition import AnyOf, Columns, Compare, Condition, IsNan, IsNull, Known, Matches, OneOf
from bitline.search.fields import Comparison, as_bytes, bounds, numbers_field
from bitline.search.like import Like


class Binder:
    """Makes conditions on columns of these types; dictionaries are what their values are."""

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self.types = {
            name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in types.items()
        }
        """The type of each column."""

    def kind(self, column: str) -> pa.DataType:
        """The type of a column.

        Raises:
            UsageError: There is none of this name.
        """
        if column not in self.types:
            raise UsageError(f"there is no column {column!r}; there are {', '.join(self.types)}")
        return self.types[column]

    def compare(self, column: str, comparison: Comparison, value: Any) -> Condition:  # noqa: ANN401
        """A column compared with a constant.

        Raises:
            UsageError: There is no such column, or it does not compare with that.
        """
        kind = self.kind(column)
        if value is None or (isinstance(value, pa.Scalar) and not value.is_valid):
            return Known(None, column)
        try:
            if pa.types.is_floating(kind):
                return Compare(column, comparison, pa.scalar(_float(value), pa.float64()))
            if is_text(kind):
                as_bytes(value)
                return Compare(column, comparison, pa.scalar(python_value(value), kind))
            return _settled(column, kind, comparison, value)
        except (TypeError, pa.ArrowInvalid):
            raise UsageError(
                f"column {column!r} is of {kind}, which does not compare with {value!r}"
            ) from None

    def one_of(self, column: str, values: Iterable[Any]) -> Condition:
        """A column is one of some constants, of which one may be null: then it is unknown of the others.

        Raises:
            UsageError: As `compare`.
        """
        values = list(values)
        if pa.types.is_integer(self.kind(column)):
            # Long lists are of these: others of no such value are no other than none.
            numbers = [python_value(value) for value in values]
            if all(type(number) is int for number in numbers):
                least, largest = bounds(self.kind(column))
                known = [number for number in numbers if least <= number <= largest]
                return OneOf(column, pa.array(known, self.kind(column)))
        equal = [self.compare(column, "==", value) for value in values]
        found = [each.value for each in equal if isinstance(each, Compare)]
        kind = pa.float64() if pa.types.is_floating(self.kind(column)) else self.kind(column)
        listed: Condition = OneOf(column, pa.array([each.as_py() for each in found], kind))
        if any(getattr(each.type, "unit", None) == "ns" for each in found):
            listed = OneOf(column, pa.concat_arrays([pa.array([each], kind) for each in found]))
        unknown = any(isinstance(each, Known) and each.value is None for each in equal)
        return AnyOf((listed, Known(None))) if unknown else listed

    def like(self, column: str, pattern: str) -> Condition:
        """A column of strings has a form.

        Raises:
            UsageError: There is no such column, or it is not of strings.
        """
        kind = self.kind(column)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise UsageError(f"column {column!r} is of {kind}: LIKE is asked of strings")
        return Matches(column, Like(pattern))

    def is_null(self, column: str) -> Condition:
        """A column is null.

        Raises:
            UsageError: There is no such column.
        """
        self.kind(column)
        return IsNull(column)

    def is_nan(self, column: str) -> Condition:
        """A column of floating-point numbers is none.

        Raises:
            UsageError: There is no such column.
        """
        return IsNan(column) if pa.types.is_floating(self.kind(column)) else Known(False, column)

    def columns(self, left: str, comparison: Comparison, right: str) -> Condition:
        """Two columns compared.

        Raises:
            UsageError: There is no such column, or they do not compare.
        """
        kinds = {column: self.kind(column) for column in (left, right)}
        compared = Columns(left, comparison, right)
        try:
            compared.mask(pa.table({column: pa.array([], kind) for column, kind in kinds.items()}))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise UsageError(
                f"columns {left!r} of {kinds[left]} and {right!r} of {kinds[right]} do not compare"
            ) from None
        return compared


def _float(value: Any) -> float:  # noqa: ANN401
    value = python_value(value)
    if isinstance(value, str | bytes | bool):
        raise TypeError("a number")
    return float(value)


def _settled(column: str, kind: pa.DataType, comparison: Comparison, value: Any) -> Condition:  # noqa: ANN401
    """A comparison with a number that need not be of the type, as one with a value of the type."""
    ends = bounds(kind)
    field = numbers_field(column, kind, ends)
    position = field.position(value)
    if isinstance(position, Fraction | int) and position == int(position) and ends[0] <= position <= ends[1]:
        return Compare(column, comparison, field.value(int(position) - ends[0]))
    (ranges, _), whole = field.ranges(comparison, value), ((0, ends[1] - ends[0]),)
    if not ranges or ranges == whole:
        return Known(bool(ranges), column)
    # It lies between two values.
    [(first, last)] = ranges
    if first == 0:
        return Compare(column, "<=", field.value(last))
    return Compare(column, ">=", field.value(first))
