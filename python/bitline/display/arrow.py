"""Plain values as Arrow tables: a column for each number, under its path with dots."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa


def table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A table of rows that may have different columns, in the order in which these first appear."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def numbers(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int | float]]:
    """Every number of nested values, under its path; lists are left out."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + key, value


def energies(entries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What was spent, by component and cause."""
    return {f"energy.{entry['component']}.{entry['cause']}_pj": entry["energy_pj"] for entry in entries}


def report_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each flow or stream of queries of a report: its own numbers, and those of the whole."""
    parts = ("flows", "queries", "energy")
    whole = dict(numbers({key: value for key, value in report.items() if key not in parts}))
    whole |= energies(report["energy"])
    return [
        {
            "flow": flow["name"],
            **dict(numbers({key: value for key, value in flow.items() if key != "name"})),
            **whole,
        }
        for flow in (*report["flows"], *report["queries"])
    ]


def plain(value: object) -> object:
    """A value that a column can hold; lists and tables as JSON."""
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)


def _column(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    return pa.array(values)
