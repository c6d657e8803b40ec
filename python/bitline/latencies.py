"""Latencies of single requests: a file of them all, and their distribution, in bounded memory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bitline.errors import UsageError
from bitline.workload import REQUEST_KINDS, LatencyChunk

_NAME = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("flow", _NAME, False),
        pa.field("kind", _NAME, False),
        pa.field("namespace", pa.uint32(), False),
        pa.field("lba", pa.uint64(), False),
        pa.field("blocks", pa.uint32(), False),
        pa.field("bytes", pa.uint64(), False),
        pa.field("arrival_ns", pa.float64(), False),
        pa.field("completion_ns", pa.float64(), False),
        pa.field("latency_ns", pa.float64(), False),
        pa.field("status", pa.uint16(), False),
    ]
)
"""Columns of the file. `status` is NVMe's status field: 0 is success."""

#: Rows of a row group: some megabytes.
_GROUP_ROWS = 1 << 18


class _Writer(Protocol):
    def write_table(self, table: pa.Table, /) -> object: ...

    def close(self) -> object: ...


def _parquet(path: Path) -> _Writer:
    writer: _Writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
    return writer


def _csv(path: Path) -> _Writer:
    writer: _Writer = csv.CSVWriter(path, pa.schema([_without_dictionary(field) for field in SCHEMA]))
    return writer


#: What writes a file, by its suffix.
_WRITERS: Mapping[str, Callable[[Path], _Writer]] = {".parquet": _parquet, ".csv": _csv}


def check_suffix(option: str, suffix: str) -> None:
    """Refuse a suffix that names no format.

    Raises:
        UsageError: It names none.
    """
    if suffix not in _WRITERS:
        raise UsageError(f"{option}: the suffix must be a format of rows: {' or '.join(_WRITERS)}")


class LatencyFile:
    """A file with one row a request or query, in the order of completion; written while they come in."""

    def __init__(self, path: Path, flows: Sequence[str]) -> None:
        """Begin the file.

        Args:
            path: Where it goes; its suffix, `.parquet` or `.csv`, names the format.
            flows: The names of the flows, by their number.

        Raises:
            UsageError: Another suffix.
            OSError: It cannot be written.
        """
        check_suffix(str(path), path.suffix)
        self._kinds, self._flows = pa.array(REQUEST_KINDS), pa.array(flows, pa.string())
        self._plain = path.suffix == ".csv"
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._file = _WRITERS[path.suffix](path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, columns: LatencyChunk) -> None:
        """Append requests."""
        arrays = []
        ends = {"completion_ns": columns["arrival_ns"] + columns["latency_ns"]}
        for field in SCHEMA:
            values = ends[field.name] if field.name in ends else columns[field.name]
            if field.type == _NAME:
                names = self._kinds if field.name == "kind" else self._flows
                arrays.append(pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), names))
            else:
                arrays.append(pa.array(values, field.type))
        batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        if self._rows:
            rows = pa.Table.from_batches(self._waiting, SCHEMA)
            if self._plain:
                rows = rows.cast(pa.schema([_without_dictionary(field) for field in SCHEMA]))
            self._file.write_table(rows)
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        """Write what is left and end the file."""
        self._write()
        self._file.close()


def _without_dictionary(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if field.type == _NAME else field


#: Distributions count in steps of 10^(1/_STEPS), 0.6 % wide, from 1 ns to 10^6 s.
_STEPS = 400
_DECADES = 15


class Distribution:
    """How latencies are distributed, by flow and kind, in a fixed amount of memory."""

    def __init__(self, flows: Sequence[str]) -> None:
        """Nothing counted yet; `flows` names the flows by their number."""
        self._flows = tuple(flows)
        self._counts = np.zeros((len(flows), len(REQUEST_KINDS), _STEPS * _DECADES), np.int64)

    def add(self, columns: LatencyChunk) -> None:
        """Count requests that succeeded."""
        fine = columns["status"] == 0
        latencies = np.maximum(columns["latency_ns"][fine], 1)
        step = np.minimum((np.log10(latencies) * _STEPS).astype(np.int64), _STEPS * _DECADES - 1)
        np.add.at(self._counts, (columns["flow"][fine], columns["kind"][fine], step), 1)

    def curves(self) -> list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
        """For each flow and kind: its name, latencies in ns, and the share of requests beyond each."""
        found = []
        for flow, kinds in zip(self._flows, self._counts, strict=True):
            for kind, counts in zip(REQUEST_KINDS, kinds, strict=True):
                if not counts.any():
                    continue
                name = kind if len(self._flows) == 1 else f"{flow}: {kind}"
                used = np.flatnonzero(counts)
                steps = np.arange(used[0], used[-1] + 2)
                beyond = 1 - np.cumsum(np.concatenate([[0], counts[steps[:-1]]])) / counts.sum()
                found.append((name, 10 ** (steps / _STEPS), beyond))
        return found
