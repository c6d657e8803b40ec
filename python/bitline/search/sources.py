"""What tables are made of: tables of Arrow, record batches, Parquet files."""

from typing import TypeAlias

import pyarrow as pa

from bitline.arguments import PathLike

#: What a table is made of.
Source: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | PathLike


def read(source: Source) -> pa.Table:
    """A table of Arrow, from whatever it is.

    Raises:
        TypeError: It is none, and no path of a Parquet file.
        OSError: The file cannot be read.
    """
    if isinstance(source, pa.Table):
        return source.unify_dictionaries()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all().unify_dictionaries()
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        import pyarrow.parquet as pq

        return pq.read_table(source).unify_dictionaries()
    hints = {
        "pandas": "; give pyarrow.Table.from_pandas(frame, preserve_index=False)",
        "polars": "; give frame.to_arrow()",
    }
    hint = hints.get(type(source).__module__.partition(".")[0], "")
    raise TypeError(f"a table of Arrow, or the path of a Parquet file, not a {type(source).__name__}{hint}")
