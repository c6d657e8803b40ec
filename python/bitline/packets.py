"""What collectors send: packets of files.

```python
from bitline.collectors import frames

camera = drive.collectors.attach(0, "video", source=frames("video.raw", 640 * 480))
```
"""

from collections.abc import Iterator
from pathlib import Path

from bitline.arguments import NUMBER_MAX, PathLike, whole_number


def frames(path: PathLike, size: int) -> Iterator[bytes]:
    """Raw frames of `size` bytes each, read from a file; the last may be shorter."""
    whole_number("size", size, 1, NUMBER_MAX)
    with Path(path).open("rb") as file:
        while frame := file.read(size):
            yield frame


def rows(path: PathLike) -> Iterator[bytes]:
    """Readings of a sensor: rows of a CSV file, or of an Arrow or Parquet file as batches of one row."""
    name = str(path)
    if name.endswith((".arrow", ".feather", ".parquet")):
        yield from _batches(path)
        return
    with Path(path).open("rb") as file:
        yield from file


def _batches(path: PathLike) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.dataset as dataset

    form = "parquet" if str(path).endswith(".parquet") else "feather"
    for batch in dataset.dataset(str(path), format=form).to_batches():
        for row in range(batch.num_rows):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(row, 1))
            yield sink.getvalue().to_pybytes()
