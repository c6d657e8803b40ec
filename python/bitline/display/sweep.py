"""How a sweep is shown: its axes beside what was measured, seeds averaged."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bitline.display.formats import Format, Value, plain
from bitline.display.report import platform
from bitline.display.result import Column, Fact, Result, Table
from bitline.metrics import axis, metric, special

if TYPE_CHECKING:
    from bitline.sweep.cluster import Outcome

#: Rows of a page.
_ROWS_MAX = 40
#: What is shown of each point, as far as it was measured; what is asked for goes first.
METRICS = (
    "requests_per_second",
    "queries_per_second",
    "read.p99_ns",
    "write.p99_ns",
    "latency.p99_ns",
    "write_amplification",
    "energy_pj",
)


def summary(outcome: "Outcome", metrics: Sequence[str] = METRICS) -> Result:
    """How many points there are, and the first of them with what they measured."""
    facts = {
        "points": Fact("Points", len(outcome.points)),
        "resumed": Fact("  done by an earlier run", outcome.resumed),
        "failed": Fact("  failed", len(outcome.failed)),
    }
    rows = [row for row in outcome.to_arrow().to_pylist() if row["error"] is None]
    tables = {"measured": measured(rows, list(outcome.points[0].axes), metrics)} if rows else {}
    hidden = len(tables["measured"].rows) - _ROWS_MAX if tables else 0
    verdict = ""
    if hidden > 0:
        tables = {"measured": Table(tables["measured"].columns, tables["measured"].rows[:_ROWS_MAX])}
        verdict = f"The first {_ROWS_MAX} of {hidden + _ROWS_MAX:,} rows; to_arrow() has all."
    return Result(f"A sweep in {outcome.folder}", facts, tables, verdict)


def measured(rows: Sequence[Mapping[str, Any]], axes: Sequence[str], metrics: Sequence[str]) -> Table:
    """A row for each combination of the axes, workload and flow; seeds are averaged."""
    names = [*axes, *(name for name in ("workload", "flow") if len({row[name] for row in rows}) > 1)]
    known = [name for name in metrics if any(row.get(name) is not None for row in rows)]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    columns = [Column(name, axis(name).label, _axis_format(name)) for name in names]
    columns += [
        Column(name, _short(metric(name).label), metric(name).quantity.show, rank=place)
        for place, name in enumerate(known)
    ]
    told: list[dict[str, Value]] = []
    for values, members in groups.items():
        found: dict[str, Value] = dict(zip(names, values, strict=True))
        for name in known:
            numbers = [row[name] for row in members if row.get(name) is not None]
            found[name] = sum(numbers) / len(numbers) if numbers else None
        told.append(found)
    return Table(columns, told)


def _axis_format(name: str) -> Format:
    if name == "queries.platform":
        return platform
    # Whole numbers that are no quantity stay as they were written.
    quantity = axis(name).quantity
    show = quantity.show if quantity.unit in ("B", "ns") else plain
    return lambda value: special(name, value) or show(value)


def _short(label: str) -> str:
    """A label as a heading: quantiles as they are written in tables."""
    for words, short in (
        (", 99th percentile", " p99"),
        (" latency", ""),
        ("Requests per second", "IOPS"),
        ("Write amplification", "WAF"),
    ):
        label = label.replace(words, short)
    return label
