"""What a sweep measured, as one Arrow table: a row for each point and flow, or stream of queries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from bitline.display import arrow
from bitline.sweep.cluster import results
from bitline.sweep.point import Point, PointResult


def table(folder: Path, points: tuple[Point, ...]) -> pa.Table:
    """All figures of a sweep's folder, in the order of its points.

    Columns are `point`, `workload`, `seed`, one for each axis of the grid, `flow`, `error`, and then every
    number of the reports with its unit in its name. A point that ended with an error has one row without
    numbers.
    """
    return arrow.table([row for point, result in results(folder, points) for row in _rows(point, result)])


def _rows(point: Point, result: PointResult) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {"point": point.number, "workload": point.workload, "seed": point.seed}
    head |= {axis: arrow.plain(value) for axis, value in point.axes.items()}
    if result.report is None:
        yield {**head, "flow": None, "error": result.error}
        return
    for row in arrow.report_rows(result.report):
        yield {**head, "flow": row.pop("flow"), "error": None, **row}
