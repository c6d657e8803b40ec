"""What a sweep measured, as one Arrow table: a row for each point and flow, or stream of queries."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from bitline.sweep.cluster import results
from bitline.sweep.point import Point, PointResult

#: What of a report has rows or columns of its own.
_PARTS = ("flows", "queries", "energy")


def table(folder: Path, points: tuple[Point, ...]) -> pa.Table:
    """All figures of a sweep's folder, in the order of its points.

    Columns are `point`, `workload`, `seed`, one for each axis of the grid, `flow`, `error`, and then every
    number of the reports with its unit in its name. A point that ended with an error has one row without
    numbers.
    """
    rows = [row for point, result in results(folder, points) for row in _rows(point, result)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    return pa.table(columns)


def _rows(point: Point, result: PointResult) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {"point": point.number, "workload": point.workload, "seed": point.seed}
    head |= {axis: _plain(value) for axis, value in point.axes.items()}
    report = result.report
    if report is None:
        yield {**head, "flow": None, "error": result.error}
        return
    whole = dict(_numbers({key: value for key, value in report.items() if key not in _PARTS}))
    whole |= {
        f"energy.{entry['component']}.{entry['cause']}_pj": entry["energy_pj"] for entry in report["energy"]
    }
    for flow in (*report["flows"], *report["queries"]):
        figures = dict(_numbers({key: value for key, value in flow.items() if key != "name"}))
        yield {**head, "flow": flow["name"], "error": None, **figures, **whole}


def _numbers(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int | float]]:
    """Every number of nested tables, under its path; lists are left out."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + key, value


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)


def _column(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    return pa.array(values)
