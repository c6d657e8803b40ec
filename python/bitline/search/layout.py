"""How a table is kept: its rows, what of its columns is in names, and what its schema on the drive says."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline.columns.kinds import is_text
from bitline.columns.ranges import Ranges
from bitline.errors import UsageError
from bitline.search.boxes import UNKNOWN, Cover
from bitline.search.fields import Categories, Field, Floats, Texts, bounds, numbers_field, text_bytes
from bitline.search.rows import TEXT_BYTES_MAX, Rows, combined
from bitline.search.store import PARTS_MAX

#: Bytes of a text that are in names, if nothing else is said.
PREFIX_BYTES = 16
#: The most bits of a name.
_NAME_BITS_MAX = 8192
#: The most digits of a decimal of 64 bits.
_DIGITS_MAX = 18


@dataclass(frozen=True)
class Options:
    """What is chosen when a table is made, and kept in its schema."""

    indexes: tuple[tuple[str, ...], ...]
    """The columns of each search region."""
    text_bytes: Mapping[str, int]
    """Room for texts, by column."""
    prefix_bytes: Mapping[str, int]
    """How much of texts is in names, by column."""
    ranges: Mapping[str, tuple[int, int]]
    """The least and largest number of columns that do not use all of their type."""
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The values of dictionaries, by column."""


class Layout:
    """A table's rows and names."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        self.schema, self.options = schema, options
        self.categories = {name: Categories(name, values) for name, values in options.categories.items()}
        self.rows = Rows(schema, options.text_bytes, self.categories)
        self._fields = {name: self._field(name) for index in options.indexes for name in index}
        self.regions: list[dict[str, int]] = []
        """Of each search region where its columns begin, each with the bit that says it is given."""
        self.bits: list[int] = []
        """Bits of its names."""
        for index in options.indexes:
            if len(set(index)) < len(index):
                raise UsageError(f"index {', '.join(index)}: each column once")
            at, begins = 0, dict[str, int]()
            for name in index:
                begins[name] = at
                at += self.code_bits(name)
            if at > _NAME_BITS_MAX:
                raise UsageError(
                    f"index {', '.join(index)}: names of {at} bits, at most {_NAME_BITS_MAX} can be"
                )
            self.regions.append(begins)
            self.bits.append(at)

    def _field(self, name: str) -> Field:
        if self.schema.get_field_index(name) < 0:
            raise UsageError(f"an index is of column {name!r}; there are {', '.join(self.schema.names)}")
        kind = self.schema.field(name).type
        if name in self.categories:
            return self.categories[name]
        if pa.types.is_floating(kind):
            return Floats(name, kind)
        if is_text(kind):
            room, size = self.options.text_bytes[name], self.options.prefix_bytes.get(name, PREFIX_BYTES)
            return Texts(name, min(size, room) or 1, whole=room <= size)
        if pa.types.is_decimal(kind) and (kind.precision > _DIGITS_MAX or not pa.types.is_decimal128(kind)):
            raise UsageError(
                f"column {name!r} is of {kind}: names hold decimals of 128 bits with up to {_DIGITS_MAX} "
                "digits; cast it, or leave it out of indexes"
            )
        return numbers_field(name, kind, self.options.ranges.get(name))

    def has(self, option: str, column: str) -> Any:  # noqa: ANN401 (a size, or two ends)
        """What of an option of `Searches.table` a column has; None if nothing."""
        options = self.options
        if option == "ranges":
            return options.ranges.get(column)
        if column not in options.text_bytes:
            return None
        return (
            options.text_bytes[column]
            if option == "text_bytes"
            else options.prefix_bytes.get(column, PREFIX_BYTES)
        )

    def ends(self, column: str, ends: tuple[Any, Any]) -> tuple[int, int]:
        """The least and the largest value of a column as `ranges` are kept.

        Raises:
            UsageError: There is no such column, or these are none of its type.
        """
        if self.schema.get_field_index(column) < 0:
            raise UsageError(f"ranges: there is no column {column!r}")
        return _ends(column, self.schema.field(column).type, ends)

    # What names have of columns

    def field(self, column: str) -> Field | None:
        """How a column is in names; None if it is in none."""
        return self._fields.get(column)

    def is_nullable(self, column: str) -> bool:
        """Whether a column may be null."""
        return bool(self.schema.field(column).nullable)

    def code_bits(self, column: str) -> int:
        """Bits of a column in names, the one that says whether it is given included."""
        return self._fields[column].bits + self.is_nullable(column)

    def valid(self, column: str, codes: Ranges, exact: bool) -> Cover:
        """The names of rows in which the column has a value with such a code."""
        first = (1 << self._fields[column].bits) if self.is_nullable(column) else 0
        box = {column: tuple((begin + first, end + first) for begin, end in codes)}
        return Cover((box,) if codes else (), exact or not codes)

    def null(self, column: str) -> Cover:
        """The names of rows in which the column is null."""
        if not self.is_nullable(column):
            return Cover((), True)
        return Cover(({column: ((0, 0),)},), True) if column in self._fields else UNKNOWN

    # Records

    def records(self, table: pa.Table) -> bytes:
        """Rows as records: of each search region the name, then the value.

        Raises:
            UsageError: What columns cannot have.
        """
        names = [self._names(table, region) for region in self.regions]
        return np.ascontiguousarray(np.hstack([*names, self.rows.encode(table)])).tobytes()

    def _names(self, table: pa.Table, region: Mapping[str, int]) -> NDArray[np.uint8]:
        bits = []
        for name in region:
            values = combined(table[name])
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            codes = np.unpackbits(self._fields[name].codes(values), axis=1)[:, -self._fields[name].bits :]
            if self.is_nullable(name):
                bits.append(valid[:, None])
            bits.append(codes * valid[:, None])
        return np.packbits(np.hstack(bits), axis=1, bitorder="little")

    # On the drive

    def header(self) -> dict[str, Any]:
        """What the schema on the drive says of it."""
        options = self.options
        return {
            "arrow": base64.b64encode(self.schema.serialize()).decode(),
            "indexes": options.indexes,
            "text_bytes": dict(options.text_bytes),
            "prefix_bytes": dict(options.prefix_bytes),
            "ranges": {name: list(ends) for name, ends in options.ranges.items()},
            "categories": {name: _listed(values) for name, values in options.categories.items()},
        }

    @classmethod
    def of_header(cls, header: Mapping[str, Any]) -> "Layout":
        """What a header tells of."""
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(header["arrow"])))
        listed = {name: _unlisted(values) for name, values in header["categories"].items()}
        options = Options(
            tuple(tuple(index) for index in header["indexes"]),
            header["text_bytes"],
            header["prefix_bytes"],
            {name: (least, largest) for name, (least, largest) in header["ranges"].items()},
            listed,
        )
        return cls(schema, options)


def options_for(
    table: pa.Table,
    indexes: Sequence[str | Sequence[str]],
    text_sizes: Mapping[str, int],
    prefix_bytes: Mapping[str, int],
    ranges: Mapping[str, tuple[Any, Any]],
) -> Options:
    """The options of a table that is to be made: as they are given, the rest as its columns need it.

    Raises:
        UsageError: Options of columns that there are not, or that make no sense for their types.
    """
    asked = listed(indexes)
    if not asked or not all(asked):
        raise UsageError("indexes: at least one column is searched; name it, or several that share a name")
    if len(asked) > PARTS_MAX:
        raise UsageError(f"indexes: {len(asked)} of them, at most {PARTS_MAX} can be")
    for what, given in (("text_bytes", text_sizes), ("prefix_bytes", prefix_bytes), ("ranges", ranges)):
        for name in given:
            if name not in table.column_names:
                raise UsageError(f"{what}: there is no column {name!r}")
    for what, sizes in (("text_bytes", text_sizes), ("prefix_bytes", prefix_bytes)):
        for name, size in sizes.items():
            whole = isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= TEXT_BYTES_MAX
            if not (whole and is_text(table.schema.field(name).type)):
                raise UsageError(
                    f"{what} of column {name!r} is {size!r}: a whole number from 1 to {TEXT_BYTES_MAX:,}, "
                    "of a column of texts"
                )
    for name in ranges:
        if not any(name in index for index in asked):
            raise UsageError(
                f"ranges: column {name!r} is in no index, so no name has it: add it to indexes, or "
                "leave it out"
            )
    found, categories = dict[str, int](), dict[str, Sequence[Any]]()
    for column in table.schema:
        if is_text(column.type):
            found[column.name] = text_sizes.get(column.name) or longest(table[column.name])
        elif pa.types.is_dictionary(column.type):
            categories[column.name] = _dictionary(column.name, table[column.name])
    numbers = {name: _ends(name, table.schema.field(name).type, ends) for name, ends in ranges.items()}
    return Options(asked, found, dict(prefix_bytes), numbers, categories)


def listed(indexes: Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The columns of each index."""
    return tuple((index,) if isinstance(index, str) else tuple(index) for index in indexes)


def longest(column: pa.ChunkedArray) -> int:
    """Bytes of the longest text, at least 1.

    Raises:
        UsageError: More than can be kept.
    """
    lengths, _ = text_bytes(combined(column))
    most = max(int(lengths.max(initial=0)), 1)
    if most > TEXT_BYTES_MAX:
        raise UsageError(f"a text of {most:,} bytes: rows have room for up to {TEXT_BYTES_MAX:,}")
    return most


def _dictionary(name: str, column: pa.ChunkedArray) -> list[Any]:
    """The values of a dictionary, in its order, each once."""
    kind = column.type.value_type
    if not is_text(kind):
        raise UsageError(f"column {name!r}: a dictionary of {kind}; of strings or bytes there can be some")
    values = combined(column).dictionary
    return list(dict.fromkeys(value for value in values.to_pylist() if value is not None))


def _ends(name: str, kind: pa.DataType, ends: tuple[Any, Any]) -> tuple[int, int]:
    if pa.types.is_floating(kind) or is_text(kind) or pa.types.is_dictionary(kind):
        raise UsageError(
            f"ranges of column {name!r}, which is of {kind}: whole numbers, decimals, dates and times"
        )
    try:
        least, largest = (Fraction(numbers_field(name, kind).position(end)) for end in ends)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            f"ranges of column {name!r} are {ends}: two ends, the least and the largest value of {kind}"
        ) from None
    first, last = bounds(kind)
    whole = least.denominator == largest.denominator == 1
    if not whole or not first <= least <= largest <= last:
        raise UsageError(f"ranges of column {name!r} are {ends}: least and largest value of {kind}")
    return int(least), int(largest)


def _listed(values: Sequence[Any]) -> dict[str, list[str]]:
    """Strings, or bytes as hexadecimal digits, for JSON."""
    if any(isinstance(value, bytes) for value in values):
        return {"bytes": [value.hex() for value in values]}
    return {"strings": list(values)}


def _unlisted(listed: Mapping[str, list[str]]) -> list[Any]:
    return [bytes.fromhex(each) for each in listed["bytes"]] if "bytes" in listed else listed["strings"]
