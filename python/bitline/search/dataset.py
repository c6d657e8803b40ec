"""A table as a dataset of PyArrow, which DuckDB scans: it hands over columns and a filter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

if TYPE_CHECKING:
    from bitline.search.table import Table


class SearchedDataset(ds.Dataset):  # type: ignore[misc]
    """A table of a drive, to be scanned: `to_table`, `to_batches` and `count_rows` ask the drive, too.

    What a dataset of files has beside that, such as fragments, there is none of.
    """

    # What PyArrow keeps of a dataset in memory of its own is never made; nothing that needs it is left.
    def __init__(self, table: "Table") -> None:
        from bitline.search.finish import decoded

        self._table, self._schema = table, decoded(table.schema)

    def __repr__(self) -> str:
        return f"<SearchedDataset of {self._table!r}>"

    @property
    def schema(self) -> pa.Schema:
        """Its columns, dictionaries as their values."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 (as PyArrow calls it)
        **options: Any,  # noqa: ANN401 (how files are read, which there are none of)
    ) -> ds.Scanner:
        """The rows that a filter finds, with these columns."""
        if isinstance(columns, str | dict) or not all(isinstance(each, str) for each in columns or ()):
            raise TypeError("columns are a list of names")
        found = self._table.rows(self._table.asked(filter), columns)
        return ds.Scanner.from_batches(found.to_batches(), schema=found.schema)

    def _nothing(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a table of a drive has no such thing: scan it, or ask Table.where")

    filter = join = join_asof = sort_by = replace_schema = get_fragments = _nothing
    partition_expression = property(_nothing)
    __reduce__ = _nothing
