"""What values of an Arrow type are as whole numbers, in which they are sliced and compared, exactly.

A kind tells three things: the numbers of a column, where on their axis a constant lies (between two of them,
too: no age is 29.5, and yet `age < 29.5` has a meaning), and which value a number is.
"""

import datetime
import decimal
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline.errors import UsageError

#: Where a constant lies on the axis of numbers, exactly.
Position: TypeAlias = Fraction | int | float

#: More digits than a number of 64 bits has, before the point or, with the scale of a decimal, behind it.
_DIGITS = 100

_EPOCH = datetime.datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3_600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}

_TAKEN = (
    "bit-sliced columns are of bools, integers, decimals of 64 bits, dates, times, timestamps, "
    "durations, strings or bytes, or dictionaries of these"
)


@dataclass(frozen=True)
class Kind:
    """How values of a column are numbers. Texts have none of their own: their rank is taken."""

    type: pa.DataType
    """The Arrow type."""
    position: Callable[[Any], Position | str | bytes]
    """Where a Python value lies among numbers, or texts; raises TypeError where it cannot be compared."""
    value: Callable[[int], Any]
    """The Python value that a number is."""
    total: Callable[[int], Any] | None = None
    """What a sum of numbers is; None if values do not add up."""
    is_text: bool = False
    """Whether its values are compared as texts."""


def kind_of(column: str, kind: pa.DataType) -> Kind:
    """The kind of a column's values.

    Raises:
        UsageError: Columns of such a type are not sliced.
    """
    types = pa.types
    if types.is_boolean(kind):
        return Kind(kind, _bool, bool, int)
    if types.is_integer(kind):
        return Kind(kind, _number, int, int)
    if types.is_decimal128(kind) and kind.scale >= 0:
        unit = decimal.Decimal(1).scaleb(-kind.scale)
        scale = 10**kind.scale
        return Kind(
            kind,
            lambda value: _number(value) * scale,
            lambda at: _scaled(at, unit),
            lambda at: _scaled(at, unit),
        )
    if types.is_date(kind):
        days = 1 if types.is_date32(kind) else 86_400_000
        return Kind(
            kind,
            lambda value: _days(value) * days,
            lambda at: _date(column, at // days),
        )
    if types.is_timestamp(kind):
        per_second = _PER_SECOND[kind.unit]
        aware = kind.tz is not None
        return Kind(
            kind,
            lambda value: _instant(value, aware) * per_second,
            lambda at: _of_arrow(column, at, kind),
        )
    if types.is_time(kind):
        return Kind(
            kind,
            lambda value: _clock(value) * _PER_SECOND[kind.unit],
            lambda at: _of_arrow(column, at, kind),
        )
    if types.is_duration(kind):
        per_second = _PER_SECOND[kind.unit]
        told = lambda at: _of_arrow(column, at, kind)  # noqa: E731 (as the others)
        return Kind(kind, lambda value: _span(value) * per_second, told, told)
    if is_text(kind):
        return Kind(
            kind, _text if types.is_string(kind) or types.is_large_string(kind) else _bytes, int, is_text=True
        )
    raise UsageError(f"column {column!r} is of {kind}: {_TAKEN}{_advice(kind)}")


def is_text(kind: pa.DataType) -> bool:
    """Whether values are strings or bytes."""
    types = pa.types
    return any(
        test(kind)
        for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _advice(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "; multiply and round to an integer, or cast to a decimal"
    return ""


def numbers_of(column: str, values: pa.Array) -> NDArray[np.integer[Any]]:
    """The numbers of a column that is no text, in 64 bits; of a null anything.

    Raises:
        UsageError: Decimals beyond 64 bits.
    """
    kind, types = values.type, pa.types
    if len(values) == 0:
        return np.empty(0, np.int64)
    if types.is_decimal128(kind):
        return _unscaled(column, values)
    if types.is_boolean(kind):
        return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), np.int64)
    if types.is_uint64(kind):
        return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), np.uint64)
    if not types.is_integer(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _unscaled(column: str, values: pa.Array) -> NDArray[np.int64]:
    words = np.frombuffer(values.buffers()[1], "<i8")[2 * values.offset : 2 * (values.offset + len(values))]
    low, high = words[0::2], words[1::2]
    fits = high == low >> 63
    if values.null_count:
        fits |= ~values.is_valid().to_numpy(zero_copy_only=False)
    if not fits.all():
        where = int(np.argmin(fits))
        raise UsageError(
            f"column {column!r}, row {where}: {values[where].as_py()} has more digits than 64 bits hold; "
            f"{_TAKEN}"
        )
    return low


def python_value(value: Any) -> Any:  # noqa: ANN401 (whatever Arrow's scalar holds)
    """What an Arrow scalar holds, unless it counts nanoseconds, which Python does not; else the value."""
    if isinstance(value, pa.Scalar) and not (value.is_valid and getattr(value.type, "unit", None) == "ns"):
        return value.as_py()
    return value


def _nanoseconds(value: object, test: Callable[[pa.DataType], bool]) -> Fraction | None:
    """The seconds of an Arrow scalar that counts nanoseconds."""
    return Fraction(value.value, 10**9) if isinstance(value, pa.Scalar) and test(value.type) else None


def _bool(value: object) -> int:
    if isinstance(value, bool | np.bool_):
        return int(value)
    raise TypeError("a bool")


def _number(value: object) -> Position:
    if isinstance(value, bool | np.bool_):
        raise TypeError("a number")
    if isinstance(value, decimal.Decimal):
        value = _exact(value)
    if isinstance(value, float | np.floating):
        value = Fraction(float(value)) if math.isfinite(value) else float(value)
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, numbers.Rational | float) and value == value:
        return Fraction(value) if not isinstance(value, float) else value
    raise TypeError("a number")


def _exact(value: decimal.Decimal) -> Fraction | float:
    """A decimal; of one far beyond all numbers of 64 bits, or between 0 and the first of them, that much."""
    if value.is_nan():
        raise TypeError("a number")
    if not value:
        return Fraction(0)
    sign = -1 if value.is_signed() else 1
    if value.is_infinite() or value.adjusted() > _DIGITS:
        return sign * math.inf
    return Fraction(sign, 10**_DIGITS) if value.adjusted() < -_DIGITS else Fraction(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    raise TypeError("a str")


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError("bytes")


def _days(value: object) -> Fraction:
    if isinstance(value, np.datetime64) and not np.isnat(value):
        return _seconds(value.astype("datetime64[D]") if _is_calendar(value) else value) / 86_400
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return Fraction((value - _EPOCH.date()).days)
    raise TypeError("a datetime.date")


def _instant(value: object, aware: bool) -> Fraction:
    counted = _nanoseconds(value, lambda kind: pa.types.is_timestamp(kind) and (kind.tz is not None) == aware)
    if counted is not None:
        return counted
    if isinstance(value, np.datetime64) and not np.isnat(value) and not aware:
        return _seconds(value.astype("datetime64[D]") if _is_calendar(value) else value)
    if isinstance(value, datetime.datetime) and (value.tzinfo is not None) == aware:
        if aware:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return _span(value - _EPOCH)
    raise TypeError(f"a datetime.datetime {'with' if aware else 'without'} a time zone")


def _clock(value: object) -> Fraction:
    counted = _nanoseconds(value, pa.types.is_time)
    if counted is not None:
        return counted
    if isinstance(value, datetime.time) and value.tzinfo is None:
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        return Fraction(micros, 10**6)
    raise TypeError("a datetime.time")


def _span(value: object) -> Fraction:
    counted = _nanoseconds(value, pa.types.is_duration)
    if counted is not None:
        return counted
    if isinstance(value, np.timedelta64) and not np.isnat(value) and not _is_calendar(value):
        return _seconds(value)
    if isinstance(value, datetime.timedelta):
        return Fraction(value // datetime.timedelta(microseconds=1), 10**6)
    raise TypeError("a datetime.timedelta")


def _is_calendar(value: np.datetime64 | np.timedelta64) -> bool:
    """Whether its unit is one of months or years, or none."""
    return np.datetime_data(value.dtype)[0] in ("Y", "M", "generic")


def _seconds(value: np.datetime64 | np.timedelta64) -> Fraction:
    unit, count = np.datetime_data(value.dtype)
    return int(value.astype(np.int64)) * count * _SECONDS[unit]


def _scaled(number: int, unit: decimal.Decimal) -> decimal.Decimal:
    """So many units, whatever the precision of the context."""
    return decimal.Decimal(number).scaleb(unit.adjusted(), decimal.Context(prec=100))


def _date(column: str, days: int) -> Any:  # noqa: ANN401 (a date, or NumPy's)
    """A date; beyond the years 1 to 9999 NumPy's."""
    try:
        return datetime.date(1970, 1, 1) + datetime.timedelta(days)
    except OverflowError:
        return _of_numpy(column, days, "D", np.datetime64)


def _of_arrow(column: str, number: int, kind: pa.DataType) -> Any:  # noqa: ANN401 (a date, a time and so on)
    """A value of a type that counts a unit, as Python has it.

    It is NumPy's where Python has none, of a timestamp with a time zone that in UTC: of nanoseconds, as
    Python stops at microseconds, beyond the years 1 to 9999, and of a time that is not of a day.
    """
    numpys = np.datetime64 if pa.types.is_timestamp(kind) else np.timedelta64
    is_of_day = not pa.types.is_time(kind) or 0 <= number < 86_400 * _PER_SECOND[kind.unit]
    if is_of_day and not (kind.unit == "ns" and number % 1000):
        try:
            return _of_python(column, number * 10**6 // _PER_SECOND[kind.unit], kind)
        except OverflowError:
            pass
    return _of_numpy(column, number, kind.unit, numpys)


def _of_python(column: str, micros: int, kind: pa.DataType) -> Any:  # noqa: ANN401 (a date, a time and so on)
    span = datetime.timedelta(microseconds=micros)
    if pa.types.is_duration(kind):
        return span
    if pa.types.is_time(kind):
        return (_EPOCH + span).time()
    if kind.tz is None:
        return _EPOCH + span
    # What Python's years do not reach is told before its time zone is looked for.
    told = pa.scalar((_EPOCH + span - _EPOCH) // datetime.timedelta(microseconds=1), pa.int64())
    try:
        return told.cast(pa.timestamp("us", kind.tz)).as_py()
    except (pa.ArrowInvalid, KeyError):
        raise UsageError(
            f"column {column!r} is of {kind}, a time zone that is not known here: no value of it can be given"
        ) from None


def _of_numpy(
    column: str, number: int, unit: str, kind: type[np.datetime64] | type[np.timedelta64]
) -> np.datetime64 | np.timedelta64:
    # The least number of 64 bits is none, to NumPy.
    if -(1 << 63) < number < 1 << 63:
        return kind(number, unit)  # type: ignore[call-overload,no-any-return]
    raise UsageError(
        f"column {column!r}: {number} {unit} are more than 64 bits hold, or no value to NumPy; cast the "
        "column to integers to have it"
    )
