"""Figures of a sweep: a metric over one axis as lines, or over two as a heat map."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bitline.errors import UsageError
from bitline.figures import COLOURS, INK, dress
from bitline.workload import FLOW_KINDS

#: What columns begin with that only some points have: a run without writes has no latencies of writes.
_OCCASIONAL = (*FLOW_KINDS, "latency", "trace", "energy", "write_amplification")
#: Lines that one figure can tell apart.
_LINES_MAX = 20


def plot(
    rows: pa.Table,
    axes: Sequence[str],
    path: Path,
    *,
    metric: str,
    over: str | None = None,
    by: str | None = None,
) -> None:
    """Save a figure of one metric; the file's suffix names its format.

    Args:
        rows: The table of a sweep.
        axes: The axes of its grid.
        path: The file.
        metric: The column that is shown.
        over: The axis that runs to the right; by default the first one.
        by: The axis that runs upwards, for a heat map; without it there is a line for each combination of the
            others. Seeds, and in a heat map whatever else varies, are averaged; lines show their spread.

    Raises:
        UsageError: There is no such column, or too many lines.
    """
    choices = check_axes(axes, over=over, by=by)
    check_metric(rows, metric)
    over = over or (axes[0] if axes else "workload")
    found = [
        row
        for row in rows.select([*dict.fromkeys([*choices, metric])]).to_pylist()
        if row[metric] is not None
    ]
    if not found:
        raise UsageError(f"metric: no point has {metric}")
    figure = Figure(figsize=(8, 4.6), layout="constrained", facecolor="white")
    panel = figure.subplots()
    if by is None:
        _lines(panel, found, [choice for choice in choices if choice not in (over, "seed")], over, metric)
    else:
        _heat(figure, panel, found, over, by, metric)
    panel.set_xlabel(over, color=INK)
    figure.savefig(path, dpi=160)


def check_axes(axes: Sequence[str], *, over: str | None, by: str | None) -> list[str]:
    """All that a figure can run over, if `over` and `by` are among it.

    Raises:
        UsageError: One is not.
    """
    choices = [*axes, "workload", "flow", "seed"]
    for name, option in ((over, "over"), (by, "by")):
        if name is not None and name not in choices:
            raise UsageError(f"{option}: there is no axis {name}; there are {', '.join(choices)}")
    return choices


def check_metric(rows: pa.Table, metric: str, *, complete: bool = True) -> None:
    """Refuse a metric that a table has no column of.

    Args:
        rows: The table of a sweep.
        metric: The column.
        complete: Whether all points are in it; if not, a column that others may bring is not refused.

    Raises:
        UsageError: It has none.
    """
    may_come = not complete and metric.partition(".")[0] in _OCCASIONAL
    if metric not in rows.column_names and not may_come:
        numbers = [name for name in rows.column_names if pa.types.is_floating(rows[name].type)]
        raise UsageError(
            f"metric: there is no column {metric}; among others there are {', '.join(numbers[:12])}"
        )


def _lines(panel: Axes, rows: list[dict[str, Any]], others: list[str], over: str, metric: str) -> None:
    varied = [name for name in others if len({row[name] for row in rows}) > 1]
    places = _places(rows, over)
    groups: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in rows:
        group = groups.setdefault(tuple(row[name] for name in varied), {})
        group.setdefault(row[over], []).append(row[metric])
    if len(groups) > _LINES_MAX:
        raise UsageError(f"this makes {len(groups)} lines; at most {_LINES_MAX} can be told apart, use by")
    for number, (names, points) in enumerate(groups.items()):
        order = sorted(points, key=lambda value: places[value])
        x = [places[value] for value in order]
        colour = COLOURS[number % len(COLOURS)]
        label = ", ".join(
            f"{name.rpartition('.')[2]} {value}" for name, value in zip(varied, names, strict=True)
        )
        style = "-" if number < len(COLOURS) else "--"
        panel.plot(
            x,
            [np.mean(points[value]) for value in order],
            style,
            color=colour,
            marker="o",
            markersize=4,
            label=label,
        )
        spread = [(min(points[value]), max(points[value])) for value in order]
        least, most = [low for low, _ in spread], [high for _, high in spread]
        panel.fill_between(x, least, most, color=colour, alpha=0.15, linewidth=0)
    _name_places(panel, places)
    panel.set_ylim(bottom=0)
    panel.set_ylabel(metric, color=INK)
    dress(panel)
    if varied:
        panel.figure.legend(loc="outside right upper", fontsize=8, frameon=False)


def _heat(figure: Figure, panel: Axes, rows: list[dict[str, Any]], over: str, by: str, metric: str) -> None:
    columns, lines = sorted({row[over] for row in rows}), sorted({row[by] for row in rows})
    values = np.full((len(lines), len(columns)), np.nan)
    for y, line in enumerate(lines):
        for x, column in enumerate(columns):
            cell = [row[metric] for row in rows if row[over] == column and row[by] == line]
            values[y, x] = np.mean(cell) if cell else np.nan
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    middle = np.nanmean([np.nanmin(values), np.nanmax(values)])
    for y, x in np.ndindex(values.shape):
        if not np.isnan(values[y, x]):
            ink = "white" if values[y, x] < middle else "black"
            panel.text(x, y, _short(float(values[y, x])), ha="center", va="center", color=ink, fontsize=8)
    panel.set_xticks(range(len(columns)), [str(value) for value in columns])
    panel.set_yticks(range(len(lines)), [str(value) for value in lines])
    panel.set_ylabel(by, color=INK)
    figure.colorbar(image, label=metric)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _places(rows: list[dict[str, Any]], over: str) -> dict[Any, float]:
    """Where each value stands on the axis: numbers at their value, all else in order."""
    values = list(dict.fromkeys(row[over] for row in rows))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return {value: float(value) for value in values}
    return {value: float(place) for place, value in enumerate(values)}


def _name_places(panel: Axes, places: dict[Any, float]) -> None:
    ascending = sorted(places.values())
    if any(not isinstance(value, int | float) or isinstance(value, bool) for value in places):
        panel.set_xticks(list(places.values()), [str(value) for value in places])
    elif ascending[0] > 0 and ascending[-1] / ascending[0] > 16:
        panel.set_xscale("log", base=2)
        panel.set_xticks(ascending, [f"{value:g}" for value in ascending])
        panel.minorticks_off()
