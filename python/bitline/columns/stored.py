"""What an index is on its drive: a table of the volume that describes it, and groups of vectors.

The table is an Arrow stream of one row. A column of it has the name and type of the one indexed, as a list:
of the values that occur, or of the least and the largest, if codes count from the least one on. Metadata of
the columns tells how each is kept. An index that was not finished says so: its groups are what is left of it.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bitline.columns.encode import Encoding
from bitline.columns.kinds import numbers_of
from bitline.errors import UsageError

if TYPE_CHECKING:
    from bitline.drive import Drive

#: The schema of the table's object, which tells an index from other tables.
_MARK = b"bitline bitmap index 1"
_KEY = b"bitline"
#: The vector of a column that tells which rows have a value.
VALID = "not null"


@dataclass(frozen=True)
class StoredColumn:
    """What is kept of a column beside its vectors."""

    name: str
    """Its name."""
    values: pa.Array
    """Its values, ascending: all that occur, or the least and the largest."""
    encoding: Encoding
    """A vector a value, or a vector a bit of the code."""
    is_span: bool
    """Whether the values are the least and the largest."""
    has_values: bool
    """Whether any row is not null."""
    has_nulls: bool
    """Whether any row is null; if only some are, a vector tells which are not."""

    @property
    def last(self) -> int:
        """The last code; -1 if all rows are null."""
        if not self.is_span:
            return len(self.values) - 1
        least, largest = (int(number) for number in numbers_of(self.name, self.values))
        return largest - least

    @property
    def vector_names(self) -> list[str]:
        """The names of its bitmaps or planes, in order; none where one value says it all."""
        if self.encoding == "bitmap":
            return [f"value {code}" for code in range(self.last + 1)]
        return [f"plane {plane}" for plane in range(max(self.last, 0).bit_length())]


@dataclass(frozen=True)
class StoredIndex:
    """What is kept of an index beside its vectors."""

    rows: int
    """Rows of the table."""
    columns: tuple[StoredColumn, ...]
    """Its columns, in order."""
    finished: bool = True
    """Whether all vectors are there."""

    def groups(self, name: str) -> dict[str, list[str]]:
        """The groups that the index of this name writes, and no others, with the names of their vectors."""
        groups = {}
        for column in self.columns:
            if names := column.vector_names:
                groups[group_name(name, column.name)] = names
            if column.has_nulls and column.has_values:
                groups[null_group_name(name, column.name)] = [VALID]
        return groups


def write(drive: "Drive", name: str, index: StoredIndex) -> None:
    """Write what describes an index, or replace it.

    Raises:
        UsageError: The name is none, or of an object of another kind; a full volume.
    """
    lists = [
        pa.ListArray.from_arrays(pa.array([0, len(column.values)], pa.int32()), column.values)
        for column in index.columns
    ]
    fields = [
        pa.field(column.name, array.type, metadata={_KEY: json.dumps(_told(column)).encode()})
        for column, array in zip(index.columns, lists, strict=True)
    ]
    told = {"rows": index.rows, "finished": index.finished}
    schema = pa.schema(fields, metadata={_KEY: json.dumps(told).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.record_batch(lists, schema=schema))
    drive.volume.write_table(name, sink.getvalue().to_pybytes(), _MARK)


def _told(column: StoredColumn) -> dict[str, object]:
    return {"encoding": column.encoding, "span": column.is_span, "nulls": column.has_nulls}


def read(drive: "Drive", name: str) -> StoredIndex | None:
    """What describes an index; None if there is no object of this name.

    Raises:
        UsageError: The object is something else.
    """
    found = next((each for each in drive.volume.objects() if each.name == name), None)
    if found is None:
        return None
    if found.schema != _MARK:
        raise UsageError(
            f"{name!r} on this drive is {'an' if found.kind == 'array' else 'a'} {found.kind}, no index"
        )
    table = pa.ipc.open_stream(drive.volume[name]).read_all()
    told = json.loads(table.schema.metadata[_KEY])
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        how = json.loads(field.metadata[_KEY])
        values = column.combine_chunks().flatten()
        columns.append(
            StoredColumn(field.name, values, how["encoding"], how["span"], len(values) > 0, how["nulls"])
        )
    return StoredIndex(told["rows"], tuple(columns), told["finished"])


def names(drive: "Drive") -> list[str]:
    """The names of all indexes on a drive, those that were not finished included."""
    return [each.name for each in drive.volume.objects() if each.schema == _MARK]


def group_name(index: str, column: str) -> str:
    """The group of a column's vectors."""
    return f"{index}/{column}"


def null_group_name(index: str, column: str) -> str:
    """The group of the vector that tells which rows have a value."""
    return f"{index}?{column}"
