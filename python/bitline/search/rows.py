"""Rows of a table as values of equal size, and parts of them as Arrow tables again.

A row is a bit for each column that may be null, in whole bytes, then each column: numbers as Arrow has them,
little-endian, a bool as a byte, the place in its dictionary of a value that has one, a text as its length in
two bytes and room for the longest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline.columns.kinds import is_text
from bitline.errors import UsageError
from bitline.search.fields import Categories, text_bytes
from bitline.search.store import PARTS_MAX, Parts

#: The longest text, in bytes, whose length is told in two of them.
TEXT_BYTES_MAX = 65_535
_LENGTH_BYTES = 2


@dataclass(frozen=True)
class _Slot:
    """Where a column lies in rows."""

    field: pa.Field
    first: int
    size: int
    valid: int | None
    """Which bit of a row says that there is a value; None if there always is."""


class Rows:
    """How rows of a schema are bytes."""

    def __init__(
        self, schema: pa.Schema, text_sizes: Mapping[str, int], categories: Mapping[str, Categories]
    ) -> None:
        self._schema, self._categories = schema, categories
        nullable = [field.name for field in schema if field.nullable]
        at = self._valid_bytes = -(-len(nullable) // 8)
        self._slots = dict[str, _Slot]()
        for field in schema:
            size = _LENGTH_BYTES + text_sizes[field.name] if is_text(field.type) else self._width(field)
            bit = nullable.index(field.name) if field.nullable else None
            self._slots[field.name] = _Slot(field, at, size, bit)
            at += size
        self.bytes = at
        """Bytes of a row."""

    def _width(self, field: pa.Field) -> int:
        if field.name in self._categories:
            return max(-(-self._categories[field.name].bits // 8), 1)
        return fixed_bytes(field)

    def encode(self, table: pa.Table) -> NDArray[np.uint8]:
        """Rows of bytes.

        Raises:
            UsageError: A text that is longer than there is room for, a null where none can be, a value that
                is not in its dictionary.
        """
        rows = np.zeros((table.num_rows, self.bytes), np.uint8)
        valid = np.zeros((table.num_rows, 8 * self._valid_bytes), bool)
        for name, slot in self._slots.items():
            values = combined(table[name])
            if slot.valid is not None:
                valid[:, slot.valid] = values.is_valid().to_numpy(zero_copy_only=False)
            elif values.null_count:
                raise UsageError(f"column {name!r} has nulls, and was said to have none")
            rows[:, slot.first : slot.first + slot.size] = self._encoded(slot, values)
        rows[:, : self._valid_bytes] = np.packbits(valid, axis=1, bitorder="little")
        return rows

    def _encoded(self, slot: _Slot, values: pa.Array) -> NDArray[np.uint8]:
        name, kind = slot.field.name, slot.field.type
        if name in self._categories:
            where = self._categories[name].indices(values).fill_null(0).to_numpy(zero_copy_only=False)
            return np.asarray(where, "<u8").view(np.uint8).reshape(-1, 8)[:, : slot.size]
        if is_text(kind):
            return _texts(name, values, slot.size - _LENGTH_BYTES)
        if pa.types.is_boolean(kind):
            return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), np.uint8)[:, None]
        if not len(values):
            return np.zeros((0, slot.size), np.uint8)
        begin = values.offset * slot.size
        data = np.frombuffer(values.buffers()[1], np.uint8)[begin : begin + len(values) * slot.size]
        found = data.reshape(-1, slot.size)
        if values.null_count:
            # What lies under a null may be anything, and is the same row whatever it is.
            found = found * values.is_valid().to_numpy(zero_copy_only=False)[:, None]
        return found

    def parts(self, columns: Sequence[str]) -> Parts:
        """The parts of rows that some columns lie in; of no column the smallest there is."""
        slots = [self._slots[name] for name in columns]
        wanted = [(slot.first, slot.size) for slot in slots if slot.size]
        if any(slot.valid is not None for slot in slots) or not wanted:
            wanted.append((0, max(self._valid_bytes, 1)))
        parts = Parts()
        for first, size in sorted(wanted):
            if parts and parts[-1][0] + parts[-1][1] >= first:
                parts[-1] = (parts[-1][0], max(first + size - parts[-1][0], parts[-1][1]))
            else:
                parts.append((first, size))
        return parts if len(parts) <= PARTS_MAX else [(0, self.bytes)]

    def decode(self, records: bytes, parts: Parts, columns: Sequence[str]) -> pa.Table:
        """The columns of rows of which these parts were read."""
        size = sum(size for _, size in parts)
        rows = np.frombuffer(records, np.uint8).reshape(-1, size)
        begins = np.cumsum([0, *(size for _, size in parts)])

        def read(first: int, size: int) -> NDArray[np.uint8]:
            [(part, begin)] = [
                (part, int(begin))
                for part, begin in zip(parts, begins[:-1], strict=True)
                if part[0] <= first and first + size <= part[0] + part[1]
            ]
            at = begin + first - part[0]
            return rows[:, at : at + size]

        arrays = []
        for name in columns:
            slot = self._slots[name]
            valid = np.ones(len(rows), bool)
            if slot.valid is not None:
                valid = (read(slot.valid // 8, 1)[:, 0] >> (slot.valid % 8) & 1).astype(bool)
            arrays.append(self._decoded(slot, read(slot.first, slot.size), valid))
        return pa.table(arrays, schema=pa.schema([self._schema.field(name) for name in columns]))

    def _decoded(self, slot: _Slot, data: NDArray[np.uint8], valid: NDArray[np.bool_]) -> pa.Array:
        name, kind = slot.field.name, slot.field.type
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
        if name in self._categories:
            wide = np.zeros((len(data), 8), np.uint8)
            wide[:, : slot.size] = data
            indices = pa.array(wide.view("<i8")[:, 0], kind.index_type, mask=~valid)
            values = pa.array(self._categories[name].values, kind.value_type)
            return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)
        if is_text(kind):
            return _as_texts(data, kind, mask)
        if pa.types.is_boolean(kind):
            bits = pa.py_buffer(np.packbits(data[:, 0].astype(bool), bitorder="little").tobytes())
            return pa.Array.from_buffers(kind, len(data), [mask, bits])
        return pa.Array.from_buffers(kind, len(data), [mask, pa.py_buffer(data.tobytes())])


def fixed_bytes(field: pa.Field) -> int:
    """Bytes of a column's values, which are equally long.

    Raises:
        UsageError: They are not, and no texts either.
    """
    kind, types = field.type, pa.types
    if types.is_boolean(kind):
        return 1
    fixed = types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind)
    if not fixed:
        raise UsageError(
            f"column {field.name!r} is of {kind}: rows are of bools, numbers, decimals, dates, times, "
            "strings, bytes, and dictionaries of strings or bytes"
        )
    if not kind.bit_width:
        raise UsageError(
            f"column {field.name!r} is of {kind}, whose values have no bytes: leave it out, or "
            "cast it to binary"
        )
    return int(kind.bit_width // 8)


def combined(column: "pa.ChunkedArray | pa.Array") -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    found = column.combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def _texts(name: str, values: pa.Array, room: int) -> NDArray[np.uint8]:
    lengths, data = text_bytes(values)
    if len(lengths) and lengths.max() > room:
        raise UsageError(
            f"column {name!r}: a text of {lengths.max():,} bytes, and there is room for {room:,}; "
            "text_bytes says how much when the table is made"
        )
    rows = np.zeros((len(lengths), _LENGTH_BYTES + room), np.uint8)
    rows[:, :_LENGTH_BYTES] = lengths.astype("<u2").view(np.uint8).reshape(-1, _LENGTH_BYTES)
    rows[:, _LENGTH_BYTES:][np.arange(room) < lengths[:, None]] = data
    return rows


def _as_texts(rows: NDArray[np.uint8], kind: pa.DataType, mask: Any) -> pa.Array:  # noqa: ANN401
    lengths = np.ascontiguousarray(rows[:, :_LENGTH_BYTES]).view("<u2")[:, 0].astype(np.int64)
    texts = rows[:, _LENGTH_BYTES:]
    data = texts[np.arange(texts.shape[1]) < lengths[:, None]]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    wide = (
        pa.large_binary() if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else pa.large_string()
    )
    buffers = [mask, pa.py_buffer(ends.tobytes()), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(wide, len(rows), buffers).cast(kind)
