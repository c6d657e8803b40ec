"""Figures of a sweep: metrics over one axis as lines, or over two as heat maps; a panel for each metric."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bitline.errors import UsageError
from bitline.extras import needed_for
from bitline.figures import (
    WIDTH,
    drawing,
    dress,
    legend,
    legend_height,
    look,
    number,
    on_axis,
    plain_ticks,
    unit_axis,
)
from bitline.metrics import axis, special
from bitline.metrics import metric as figure_of
from bitline.platforms import PLATFORM_NAMES
from bitline.quantities import BYTES, TIME
from bitline.workload import FLOW_KINDS

with needed_for("figures"):
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What columns begin with that only some points have: a run without writes has no latencies of writes.
_OCCASIONAL = (*FLOW_KINDS, "latency", "trace", "energy", "write_amplification")
#: Lines that one figure can tell apart, and panels that it has room for.
_LINES_MAX, _PANELS_MAX = 20, 6
#: Axes whose values say by themselves what they are.
_SPEAKING = ("workload", "flow", "preset", "queries.platform", "ftl.mode")

Rows = list[dict[str, Any]]


def plot(
    rows: pa.Table,
    axes: Sequence[str],
    path: Path,
    *,
    metric: str | Sequence[str],
    over: str | None = None,
    by: str | None = None,
    title: str = "",
) -> None:
    """Save a figure of metrics, a panel for each; the file's suffix names its format.

    Args:
        rows: The table of a sweep.
        axes: The axes of its grid.
        path: The file.
        metric: The column that is shown, or several.
        over: The axis that runs to the right; by default the first one.
        by: The axis that runs upwards, for heat maps; without it there is a line for each combination of the
            others. Seeds, and in a heat map whatever else varies, are averaged; lines show their spread.
        title: Above the figure.

    Raises:
        UsageError: There is no such column, no point has it, or there are too many lines or metrics.
    """
    choices = check_axes(axes, over=over, by=by)
    wanted = check_metrics(metric)
    for name in wanted:
        check_metric(rows, name)
    over = over or (axes[0] if axes else "workload")
    table: Rows = rows.select([*dict.fromkeys([*choices, *wanted])]).to_pylist()
    for name in wanted:
        if all(row[name] is None for row in table):
            raise UsageError(f"metric: no point has {name}")
    others = [choice for choice in choices if choice not in (over, "seed")]
    across = min(len(wanted), 2)
    down = -(-len(wanted) // across)
    width = WIDTH if across == 2 or by is not None else 0.75 * WIDTH
    note = _note(table, others if by is None else [], over, by)
    below = legend_height(_labels(table, others), width) if by is None else 0.0
    with drawing(path, title, (width, 2.5 * down + 0.5 + below), note) as figure:
        panels = list(figure.subplots(down, across, squeeze=False).flat)
        handles: list[Artist] = []
        for panel, name in zip(panels, wanted, strict=False):
            found = [row for row in table if row[name] is not None]
            if by is None:
                handles = _lines(panel, found, others, over, name)
            else:
                _heat(figure, panel, found, over, by, name)
            panel.set_xlabel(_named(over))
        for panel in panels[len(wanted) :]:
            panel.remove()
        if len(handles) > 1:
            legend(figure, handles)


def check_metrics(metric: str | Sequence[str]) -> list[str]:
    """The metrics of a figure, each once.

    Raises:
        UsageError: There is none, or there are more than a figure has room for.
    """
    wanted = [metric] if isinstance(metric, str) else list(dict.fromkeys(metric))
    if not 1 <= len(wanted) <= _PANELS_MAX:
        raise UsageError(f"metric: a figure has from 1 to {_PANELS_MAX} metrics, not {len(wanted)}")
    return wanted


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


def _named(name: str) -> str:
    """What an axis of the sweep is called; values carry their units."""
    found = axis(name)
    unit = found.quantity.unit
    return found.label if not unit or found.quantity in (BYTES, TIME) else f"{found.label} ({unit})"


def _varied(rows: Rows, names: Sequence[str]) -> list[str]:
    return [name for name in names if len({row[name] for row in rows}) > 1]


def _note(rows: Rows, others: Sequence[str], over: str, by: str | None) -> str:
    """What is averaged."""
    seeds = len({row["seed"] for row in rows})
    averaged = [] if seeds == 1 else [f"{seeds} seeds"]
    if by is not None:
        hidden = [name for name in rows[0] if name in ("workload", "flow") and name not in (over, by)]
        averaged += [f"{_named(name).lower()}s" for name in _varied(rows, hidden)]
    if not averaged:
        return ""
    return f"Means of {' and '.join(averaged)}" + ("; bands: from least to most" if by is None else "")


def _labels(rows: Rows, others: Sequence[str]) -> list[str]:
    """The lines of the legend."""
    varied = _varied(rows, others)
    groups = dict.fromkeys(tuple(row[key] for key in varied) for row in rows)
    return [_label(varied, values) for values in groups]


def _label(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(_valued(name, value) for name, value in zip(names, values, strict=True))


def _lines(panel: Axes, rows: Rows, others: Sequence[str], over: str, name: str) -> list[Artist]:
    varied = _varied(rows, others)
    places = _places(rows, over)
    groups: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in rows:
        group = groups.setdefault(tuple(row[key] for key in varied), {})
        group.setdefault(row[over], []).append(row[name])
    if len(groups) > _LINES_MAX:
        raise UsageError(f"this makes {len(groups)} lines; at most {_LINES_MAX} can be told apart, use by")
    factor = unit_axis(panel.yaxis, figure_of(name), [row[name] for row in rows])
    handles: list[Artist] = []
    for place, (values, points) in enumerate(groups.items()):
        order = sorted(points, key=lambda value: places[value])
        x = [places[value] for value in order]
        label = _label(varied, values)
        looks = look(place)
        means = [np.mean(points[value]) / factor for value in order]
        handles += panel.plot(x, means, **looks.curve(), label=label)
        least, most = ([end(points[value]) / factor for value in order] for end in (min, max))
        panel.fill_between(x, least, most, color=looks.colour, alpha=0.18, linewidth=0)
    _name_places(panel, places, over)
    panel.set_ylim(0, panel.get_ylim()[1] * 1.02)
    dress(panel)
    return handles


def _valued(name: str, value: object) -> str:
    """A line of the legend: a text says what it is, a number needs the name of its axis."""
    shown = _value(name, value)
    return shown if name in _SPEAKING else f"{_named(name)} {shown}"


def _value(name: str, value: object) -> str:
    """A value of an axis."""
    shown = special(name, value) or on_axis(value, axis(name).quantity)
    if name == "queries.platform":
        return PLATFORM_NAMES.get(shown, shown)
    return shown.upper() if name == "ftl.mode" else shown


def _heat(figure: Figure, panel: Axes, rows: Rows, over: str, by: str, name: str) -> None:
    columns, lines = (_sorted(list(dict.fromkeys(row[key] for row in rows))) for key in (over, by))
    values = np.full((len(lines), len(columns)), np.nan)
    for y, line in enumerate(lines):
        for x, column in enumerate(columns):
            cell = [row[name] for row in rows if row[over] == column and row[by] == line]
            values[y, x] = np.mean(cell) if cell else np.nan
    found = figure_of(name)
    factor, unit = found.quantity.scale(values[~np.isnan(values)])
    values = values / factor
    image = panel.imshow(values, origin="lower", aspect="auto", cmap="cividis")
    middle = np.nanmean([np.nanmin(values), np.nanmax(values)])
    for y, x in np.ndindex(values.shape):
        if not np.isnan(values[y, x]):
            ink = "white" if values[y, x] < middle else "black"
            panel.text(x, y, _short(float(values[y, x])), ha="center", va="center", color=ink)
    for ticks, named, key in ((panel.set_xticks, columns, over), (panel.set_yticks, lines, by)):
        ticks(range(len(named)), [_value(key, value) for value in named])
    panel.set_ylabel(_named(by))
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.set_title(f"{found.label} ({unit})" if unit else found.label)
    bar = figure.colorbar(image, pad=0.02)
    bar.outline.set_visible(False)
    plain_ticks(bar.ax.yaxis)


def _short(value: float) -> str:
    return number(value) if abs(value) >= 1000 else f"{value:.3g}"


def _sorted(values: list[Any]) -> list[Any]:
    """Numbers by size; texts as the sweep has them."""
    return sorted(values) if all(_is_number(value) for value in values) else values


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _places(rows: Rows, over: str) -> dict[Any, float]:
    """Where each value stands on the axis: numbers at their value, all else in order."""
    values = list(dict.fromkeys(row[over] for row in rows))
    if all(_is_number(value) for value in values):
        return {value: float(value) for value in values}
    return {value: float(place) for place, value in enumerate(values)}


def _name_places(panel: Axes, places: dict[Any, float], over: str) -> None:
    if all(_is_number(value) for value in places):
        ascending = sorted(places.values())
        if ascending[0] > 0 and ascending[-1] / ascending[0] > 16:
            panel.set_xscale("log", base=2)
            panel.minorticks_off()
        places = {value: float(value) for value in sorted(places)}
    panel.set_xticks(list(places.values()), [_value(over, value) for value in places])
