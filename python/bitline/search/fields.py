"""How values of a column are in names: as *codes*, whole numbers of some bits, in the order of values.

A field tells the code of each value, and which codes may compare so with a constant. Of most types that is
exact. Only of texts that are longer than what of them is in names, codes say less than values.
"""

# ruff: noqa: D102 (what its methods do is said of `Field`)

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitline.columns.domain import Span
from bitline.columns.kinds import Kind, kind_of, numbers_of, python_value
from bitline.columns.ranges import Ranges, complement, union
from bitline.errors import UsageError

#: Comparisons of a value with a constant.
Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
#: Rows of bytes, the most significant one of a code first.
Codes: TypeAlias = NDArray[np.uint8]

NEGATED: dict[Comparison, Comparison] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Field(Protocol):
    """A column's values in names."""

    bits: int
    """Bits of a code."""

    def codes(self, values: pa.Array) -> Codes:
        """The code of each value, of a null anything.

        Raises:
            UsageError: Values that the column cannot have.
        """

    def ranges(self, comparison: Comparison, value: Any) -> tuple[Ranges, bool]:  # noqa: ANN401
        """The codes of values that compare so with a constant; whether other values have none of them."""


class Numbers:
    """Whole numbers, and what is as good: bools, decimals, dates and times, from a least to a largest."""

    def __init__(self, column: str, kind: Kind, least: int, largest: int) -> None:
        self._column, self._span = column, Span(kind, least, largest)
        self.bits = max((largest - least).bit_length(), 1)

    def codes(self, values: pa.Array) -> Codes:
        numbers = numbers_of(self._column, values)
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        least, largest = self._span.least, self._span.least + self._span.last
        beyond = valid & ((numbers < least) | (numbers > largest))
        if beyond.any():
            value = values[int(np.argmax(beyond))].as_py()
            raise UsageError(f"column {self._column!r}: {value!r} is beyond what was said to be its range")
        codes = numbers.astype(np.uint64) - np.uint64(least % (1 << 64))
        return _bytes(np.where(valid, codes, np.uint64(0)))

    def ranges(self, comparison: Comparison, value: Any) -> tuple[Ranges, bool]:  # noqa: ANN401
        position = self.position(value)
        below = self._span.rank(position, inclusive=False)
        through = self._span.rank(position, inclusive=True)
        return _compared(comparison, below, through, self._span.last), True

    def listed(self, values: pa.Array) -> Ranges:
        """The codes of values of the column's type, none of which is null."""
        numbers = np.unique(numbers_of(self._column, values))
        least, largest = self._span.least, self._span.least + self._span.last
        inside = numbers[(numbers >= least) & (numbers <= largest)]
        if not len(inside):
            return ()
        codes = inside.astype(np.uint64) - np.uint64(least % (1 << 64))
        ends = np.flatnonzero(np.diff(codes) != 1)
        firsts, lasts = codes[np.r_[0, ends + 1]], codes[np.r_[ends, len(codes) - 1]]
        return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))

    def position(self, value: Any) -> Any:  # noqa: ANN401 (a number, exactly)
        """Where a constant lies on the axis of numbers."""
        return self._span.kind.position(python_value(value))

    def value(self, code: int) -> pa.Scalar:
        """The value that a code stands for."""
        return pa.scalar(self._span.value(code), self._span.kind.type)


class Floats:
    """Floating-point numbers in their order; zeroes are one, and what is no number is behind infinity."""

    def __init__(self, column: str, kind: pa.DataType) -> None:
        self._column = column
        self.bits: int = kind.bit_width
        self._float: np.dtype[Any] = np.dtype(f"f{self.bits // 8}")
        self._word: np.dtype[Any] = np.dtype(f"u{self.bits // 8}")
        self._infinity, self._nan = (self._code(value) for value in (np.inf, np.nan))

    def codes(self, values: pa.Array) -> Codes:
        numbers = np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), self._float)
        return _bytes(self._codes(numbers).astype(np.uint64))

    def _codes(self, numbers: NDArray[Any]) -> NDArray[Any]:
        numbers = np.where(np.isnan(numbers), self._float.type(np.nan), numbers + self._float.type(0))
        words = numbers.view(self._word)
        top = self._word.type(1 << (self.bits - 1))
        # That of NumPy's NaN is positive.
        return np.where(words & top != 0, ~words, words | top)

    def _code(self, number: float) -> int:
        return int(self._codes(np.array([number], self._float))[0])

    def ranges(self, comparison: Comparison, value: Any) -> tuple[Ranges, bool]:  # noqa: ANN401
        constant = float(python_value(value))
        last = (1 << self.bits) - 1
        if constant != constant:
            return (((0, last),) if comparison == "!=" else ()), True
        with np.errstate(over="ignore"):
            nearest = float(self._float.type(constant))
        code = self._code(nearest)
        below, through = code + (nearest < constant), code + (nearest <= constant)
        if comparison in ("==", "!="):
            return _compared(comparison, below, through, last), True
        # Nothing that is no number is more, or less, than one.
        return _compared(comparison, below, through, self._infinity), True

    def not_numbers(self) -> Ranges:
        """The codes of what is no number."""
        return ((self._nan, self._nan),)


class Texts:
    """Texts or bytes: the first ones, filled up with zeroes, then, if these are all, how many they are."""

    def __init__(self, column: str, size: int, *, whole: bool) -> None:
        self._column, self._size = column, size
        self._length_bytes = (size.bit_length() + 7) // 8 if whole else 0
        self.bits = 8 * (size + self._length_bytes)

    def codes(self, values: pa.Array) -> Codes:
        lengths, data = text_bytes(values)
        ends = np.cumsum(lengths)
        where = (ends - lengths)[:, None] + np.arange(self._size)
        inside = where < ends[:, None]
        found = np.zeros(where.shape, np.uint8)
        found[inside] = data[where[inside]]
        if not self._length_bytes:
            return found
        counts = lengths.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 4 - self._length_bytes :]
        return np.hstack([found, counts])

    def _code(self, value: bytes) -> int:
        """The least code of a text from this one on, which is its own if it has one."""
        begin = value[: self._size].ljust(self._size, b"\0")
        most = b"\xff" * self._length_bytes
        length = most if len(value) > self._size else len(value).to_bytes(self._length_bytes or 8, "big")
        return int.from_bytes(begin + (length if self._length_bytes else b""), "big")

    def ranges(self, comparison: Comparison, value: Any) -> tuple[Ranges, bool]:  # noqa: ANN401
        constant, last = as_bytes(value), (1 << self.bits) - 1
        code = self._code(constant)
        if self._length_bytes:
            return _compared(comparison, code, code + (len(constant) <= self._size), last), True
        if comparison == "!=":
            return ((0, last),), False
        return {"==": ((code, code),), "<": ((0, code),), "<=": ((0, code),)}.get(
            comparison, ((code, last),)
        ), False

    def beginning(self, prefix: bytes) -> tuple[Ranges, bool]:
        """The codes of texts that begin so; whether others have none of them."""
        known = prefix[: self._size]
        last = int.from_bytes(known.ljust(self.bits // 8, b"\xff"), "big")
        whole = bool(self._length_bytes) and len(prefix) <= self._size
        first = self._code(prefix) if self._length_bytes else self._code(known)
        return union([(first, last)]), whole


class Categories:
    """The values of a dictionary, by their rank."""

    def __init__(self, column: str, values: Sequence[Any]) -> None:
        self._column = column
        self.values = list(values)
        """The values as the dictionary has them."""
        self._sorted = sorted(self.values, key=as_bytes)
        self.bits = max((len(values) - 1).bit_length(), 1)
        ranks = {value: rank for rank, value in enumerate(self._sorted)}
        self._ranks = np.array([ranks[value] for value in self.values], np.uint64)

    def codes(self, values: pa.Array) -> Codes:
        where = np.asarray(self.indices(values).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        # A column of nulls alone may have a dictionary without values.
        return _bytes(self._ranks[where] if self.values else np.zeros(len(where), np.uint64))

    def indices(self, values: pa.Array) -> pa.Array:
        """Where in the dictionary each value is.

        Raises:
            UsageError: A value that is not in it.
        """
        plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        found = pc.index_in(plain, value_set=pa.array(self.values, plain.type))
        if found.null_count > plain.null_count:
            missing = plain.filter(pc.and_(found.is_null(), plain.is_valid()))[0].as_py()
            raise UsageError(
                f"column {self._column!r}: {missing!r} is not in its dictionary, which was closed when the "
                "table was made"
            )
        return found

    def ranges(self, comparison: Comparison, value: Any) -> tuple[Ranges, bool]:  # noqa: ANN401
        constant = as_bytes(value)
        ranks = [
            rank
            for rank, each in enumerate(map(as_bytes, self._sorted))
            if _holds(each, comparison, constant)
        ]
        return union((rank, rank) for rank in ranks), True

    def where(self, test: Callable[[bytes], bool]) -> Ranges:
        """The codes of values that pass a test."""
        return union((rank, rank) for rank, each in enumerate(self._sorted) if test(as_bytes(each)))


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """The least and the largest number that values of a type are."""
    types = pa.types
    if types.is_boolean(kind):
        return 0, 1
    if types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    if types.is_time(kind):
        return 0, 86_400 * _PER_SECOND[kind.unit] - 1
    if types.is_decimal(kind):
        return 1 - 10**kind.precision, 10**kind.precision - 1
    return -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1


def numbers_field(column: str, kind: pa.DataType, ends: tuple[int, int] | None = None) -> Numbers:
    """The field of a type that is whole numbers, from a least to a largest, by default all of the type."""
    return Numbers(column, kind_of(column, kind), *(ends or bounds(kind)))


def text_bytes(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The lengths of texts in bytes, 0 of a null, and their bytes one after another."""
    wide = values.cast(pa.large_binary()).fill_null(b"")
    if not len(wide):
        return np.empty(0, np.int64), np.empty(0, np.uint8)
    _, ends, data = wide.buffers()
    offsets = np.frombuffer(ends, np.int64)[wide.offset : wide.offset + len(wide) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return np.diff(offsets), content[offsets[0] : offsets[-1]]


def as_bytes(value: Any) -> bytes:  # noqa: ANN401 (a constant somebody wrote)
    """A text as its bytes.

    Raises:
        TypeError: It is none.
    """
    value = python_value(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError("a text")


def _bytes(codes: NDArray[Any]) -> Codes:
    return codes.astype(">u8").view(np.uint8).reshape(-1, 8)


def _compared(comparison: Comparison, below: int, through: int, last: int) -> Ranges:
    """Codes from 0 to `last`, of which so many are below a constant, or below and at it."""
    if comparison == "!=":
        return complement(union([(below, through - 1)]), last)
    first, end = {
        "==": (below, through - 1),
        "<": (0, below - 1),
        "<=": (0, through - 1),
        ">": (through, last),
        ">=": (below, last),
    }[comparison]
    return union([(first, min(end, last))])


def _holds(value: bytes, comparison: Comparison, constant: bytes) -> bool:
    order = (value > constant) - (value < constant)
    return {
        "==": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[comparison]
