"""An index over a table: its columns as vectors of bits on a drive, which is asked for rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, get_args

import numpy as np
import pyarrow as pa

from bitline.bits import BitExpression
from bitline.columns import stored
from bitline.columns.bitmaps import bitmap_vectors
from bitline.columns.column import Column
from bitline.columns.encode import Coded, Encoding, coded
from bitline.columns.logic import Bits
from bitline.columns.planes import plane_vectors
from bitline.columns.stored import StoredColumn, StoredIndex
from bitline.errors import NvmeError, UsageError
from bitline.platforms import Platform

if TYPE_CHECKING:
    from bitline.drive import Drive


class BitmapIndex(Mapping[str, Column]):
    """Columns of a table as vectors of bits on a drive, made or opened by `drive.bitmap_index`.

    It is a mapping from names to columns. Comparing a column gives a predicate; counting one has the drive
    evaluate it.
    """

    def __init__(self, drive: "Drive", name: str, index: StoredIndex) -> None:
        self.drive = drive
        """The drive."""
        self.name = name
        """Its name on the drive."""
        self.rows = index.rows
        """Rows of the table."""
        self._stored = index
        self._columns = {column.name: self._column(column) for column in index.columns}

    def __repr__(self) -> str:
        return f"<BitmapIndex {self.name!r} of {self.rows:,} rows: {', '.join(self._columns)}>"

    def __getitem__(self, name: str) -> Column:
        """A column.

        Raises:
            KeyError: There is none of this name.
        """
        if name not in self._columns:
            raise KeyError(f"the index has no column {name!r}; it has {', '.join(self._columns)}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    # A mapping compares by content, which columns do not.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an index lives on a drive in this process and cannot be pickled; open it by its name"
        )

    def delete(self) -> None:
        """Delete it from the drive: the groups that it has written, with whatever was added to them since.

        Raises:
            UsageError: It is not there any more.
        """
        found = stored.read(self.drive, self.name)
        if found is None:
            raise UsageError(f"the drive has no index {self.name!r} any more")
        _delete(self.drive, self.name, found)

    def _column(self, column: StoredColumn) -> Column:
        groups = self._stored.groups(self.name)
        vectors, valid = (
            self.drive.groups[group].vectors()[: len(groups[group])] if group in groups else []
            for group in (
                stored.group_name(self.name, column.name),
                stored.null_group_name(self.name, column.name),
            )
        )
        everywhere: Bits = valid[0] if valid else column.has_values
        return Column(self, column, vectors, everywhere)

    def _counts(self, asked: Sequence[Bits], platform: Platform) -> list[int]:
        """The rows of each, all in flight together."""
        if platform not in (known := get_args(Platform)):
            raise UsageError(f"platform {platform!r}: it must be one of {', '.join(known)}")
        pending = [
            bits.submit(platform, count=True) if isinstance(bits, BitExpression) else self.rows * bits
            for bits in asked
        ]
        return [each if isinstance(each, int) else each.result() for each in pending]


def build(drive: "Drive", table: pa.Table, name: str, encoding: Mapping[str, Encoding] | None) -> BitmapIndex:
    """Slice the columns of a table and write them.

    Raises:
        UsageError: As `Drive.bitmap_index`.
    """
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise TypeError(f"an index is of an Arrow table, not of a {type(table).__name__}")
    asked = _checked(table, encoding or {})
    before = stored.read(drive, name)
    if before is not None and before.finished and _missing(drive, name, before) is None:
        raise UsageError(
            f"the drive has an index {name!r}: open it by its name, delete() it, or take another name"
        )
    columns = {column: coded(column, table[column], asked.get(column)) for column in table.column_names}
    told = StoredIndex(table.num_rows, tuple(_told(*column) for column in columns.items()), finished=False)
    if before is not None:
        _delete(drive, name, before)
    _check_groups(drive, name, told)
    # What it is going to be is there first, so that what a power cut leaves of it is known.
    stored.write(drive, name, told)
    try:
        for column in told.columns:
            _write(drive, name, column, columns[column.name])
    except (NvmeError, UsageError):
        # As of a drive that is full, to which a part of the columns is of no use.
        _delete(drive, name, told)
        raise
    finished = StoredIndex(told.rows, told.columns)
    stored.write(drive, name, finished)
    return BitmapIndex(drive, name, finished)


def opened(drive: "Drive", name: str) -> BitmapIndex:
    """The index of a name on the drive.

    Raises:
        UsageError: As `Drive.bitmap_index`.
    """
    found = stored.read(drive, name)
    if found is None:
        raise UsageError(f"the drive has no index {name!r}: give the table that it is to be made of")
    if not found.finished:
        raise UsageError(f"index {name!r} was not finished: make it again, with the table")
    if (missing := _missing(drive, name, found)) is not None:
        raise UsageError(
            f"group {missing!r} is not as index {name!r} has written it: make it again, with the table"
        )
    return BitmapIndex(drive, name, found)


def _checked(table: pa.Table, encoding: Mapping[str, Encoding]) -> Mapping[str, Encoding]:
    names = table.column_names
    if table.num_rows == 0 or not names:
        raise UsageError(
            f"the table has {table.num_rows} rows and {len(names)} columns; an index has at least one of each"
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"the table has several columns {twice[0]!r}; names tell columns apart")
    for column, kind in encoding.items():
        if column not in names:
            raise UsageError(f"encoding names column {column!r}; the table has {', '.join(names)}")
        if kind not in ("bitmap", "planes"):
            raise UsageError(f"encoding of column {column!r} is {kind!r}; it must be 'bitmap' or 'planes'")
    return encoding


def _check_groups(drive: "Drive", name: str, index: StoredIndex) -> None:
    claimed = {}
    for other in stored.names(drive):
        if other != name and (found := stored.read(drive, other)) is not None:
            claimed.update(dict.fromkeys(found.groups(other), other))
    for group in index.groups(name):
        drive.group(group)  # refuses a name that cannot be
        if group in drive.groups:
            raise UsageError(
                f"the drive has a group {group!r}, which the index would write; take another name"
            )
        if group in claimed:
            raise UsageError(
                f"group {group!r}, which the index would write, is of index {claimed[group]!r}; "
                "take another name"
            )


def _missing(drive: "Drive", name: str, index: StoredIndex) -> str | None:
    """The first group that is not as the index wrote it; None if all are."""
    groups = index.groups(name).items()
    return next((group for group, names in groups if _found(drive, index, group, names) != names), None)


def _found(drive: "Drive", index: StoredIndex, group: str, names: list[str]) -> list[str]:
    """The names of the vectors that the index wrote to a group; none if somebody else wrote it."""
    if group not in drive.groups or drive.groups[group].bits != index.rows:
        return []
    found = drive.groups[group].vectors()[: len(names)]
    is_own = (
        all(vector.inverse for vector in found) and [vector.name for vector in found] == names[: len(found)]
    )
    return names[: len(found)] if is_own else []


def _told(name: str, column: Coded) -> StoredColumn:
    has_values = column.last >= 0
    return StoredColumn(
        name, column.values, column.encoding, column.is_span, has_values, column.valid is not None
    )


def _write(drive: "Drive", index: str, told: StoredColumn, column: Coded) -> None:
    """Write the vectors of a column, inverted.

    What is asked of them are ORs: of the bitmaps of several values, of planes in a comparison. An OR of
    inverted vectors of a group is one sense, and so is an AND of up to four such ORs of different groups
    (Flash-Cosmos 6.2), to which the vector of rows with a value belongs, and a plane in a sum.
    """
    rows, names = len(column.codes), told.vector_names
    if column.encoding == "bitmap":
        vectors = bitmap_vectors(column.codes, column.last, column.valid)
    else:
        vectors = plane_vectors(column.codes, column.last)
    if names:
        group = drive.group(stored.group_name(index, told.name))
        group.write(vectors, bits=rows, inverse=True, names=names)
    if column.valid is not None and column.last >= 0:
        packed = np.packbits(column.valid, bitorder="little").tobytes()
        group = drive.group(stored.null_group_name(index, told.name))
        group.write([packed], bits=rows, inverse=True, names=[stored.VALID])


def _delete(drive: "Drive", name: str, index: StoredIndex) -> None:
    """Delete the vectors that it wrote, then what tells of them."""
    unfinished = StoredIndex(index.rows, index.columns, finished=False)
    if index.finished:
        stored.write(drive, name, unfinished)
    for group, names in index.groups(name).items():
        if _found(drive, index, group, names):
            drive.groups[group].delete()
    del drive.volume[name]
