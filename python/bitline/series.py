"""A run over time as a file: rows (`.parquet`, `.csv`), or a figure of rates, latencies and wear."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitline.errors import UsageError
from bitline.report import Interval, Report, Series, WorkloadInterval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = (".parquet", ".csv")
#: Quantiles that a figure shows, by their field.
_QUANTILES = {"p50": "median", "p99": "99th percentile", "p999": "99.9th percentile"}


def check_suffix(option: str, suffix: str) -> None:
    """Refuse a suffix that names neither rows nor a figure.

    Raises:
        UsageError: It names none.
    """
    if suffix in _ROWS:
        return
    from bitline.figures import FORMATS

    if suffix.removeprefix(".").lower() not in FORMATS:
        raise UsageError(
            f"{option}: the suffix must be a format of rows ({' or '.join(_ROWS)}) or of figures "
            f"({', '.join(FORMATS)})"
        )


def save(path: Path, report: Report, title: str) -> None:
    """Save a run over time.

    Args:
        path: The file. Its suffix names the format: `.parquet` and `.csv` have a row for each workload in
            each interval, others are figures.
        report: What was measured.
        title: Above a figure.

    Raises:
        UsageError: Another suffix.
        OSError: The file cannot be written.
    """
    check_suffix(str(path), path.suffix)
    if path.suffix not in _ROWS:
        return plot(path, report, title)
    rows = report.series.to_arrow()
    if path.suffix == ".csv":
        import pyarrow.csv as csv

        csv.write_csv(rows, path)
    else:
        import pyarrow.parquet as pq

        pq.write_table(rows, path, compression="zstd")
    return None


def plot(path: Path, report: Report, title: str) -> None:
    """Save a figure of a run over time.

    Rates and latencies of each workload, what was outstanding, and write amplification and wear where
    something was written.

    Args:
        path: The file; its suffix names the format.
        report: What was measured.
        title: Above the figure.

    Raises:
        OSError: The file cannot be written.
    """
    from bitline.figures import WIDTH, drawing, legend

    wrote = report.written_bytes > 0
    note = "\n".join(str(warning) + "." for warning in report.warnings)
    height = 2.0 * (3 if wrote else 2) + 0.9 + 0.13 * len(report.warnings)
    with drawing(path, title, (WIDTH, height), note) as figure:
        panels = list(figure.subplots(3 if wrote else 2, 2, sharex=True).flat)
        series = report.series
        handles = _workloads(panels[0], series, "requests_per_second", _a_second)
        handles = [*(handles if len(handles) > 1 else ()), *_latencies(panels[1], series)]
        _workloads(panels[2], series, "outstanding", lambda workload: workload.outstanding)
        _workloads(panels[3], series, "megabytes_per_second", lambda workload: workload.megabytes_per_second)
        if wrote:
            _whole(panels[4], series, {"write_amplification": lambda each: each.write_amplification})
            erases = {
                "wear.erase_count_mean": lambda each: each.erase_count_mean,
                "wear.erase_count_max": lambda each: each.erase_count_max,
            }
            handles += _whole(panels[5], series, erases, "Erases of a block")
        _time_axes(panels, series)
        # Below all panels: within one it would lie on the curves.
        legend(figure, handles)


def _a_second(workload: WorkloadInterval) -> float:
    return workload.requests_per_second


def _whole_intervals(series: Series) -> list[Interval]:
    """Intervals for which a rate says something: the last one may be a fragment."""
    whole = [each for each in series.intervals if (each.end - each.begin).ns > 0.5 * series.interval.ns]
    return whole or list(series.intervals)


def _names(series: Series) -> list[str]:
    return [workload.name for workload in series.intervals[0].workloads] if series.intervals else []


def _workloads(
    panel: "Axes", series: Series, key: str, of: Callable[[WorkloadInterval], float]
) -> Sequence[Any]:
    """A line for each workload."""
    from bitline.figures import dress, look, unit_axis
    from bitline.metrics import metric

    intervals = _whole_intervals(series)
    every = [of(workload) for each in intervals for workload in each.workloads]
    factor = unit_axis(panel.yaxis, metric(key), every)
    handles: list[Any] = []
    for number, name in enumerate(_names(series)):
        values = [of(each.workloads[number]) / factor for each in intervals]
        handles += _line(panel, intervals, values, {**look(number).curve(), "label": name})
    panel.set_ylim(0, max(panel.get_ylim()[1], 1e-9) * 1.02)
    dress(panel)
    return handles


def _latencies(panel: "Axes", series: Series) -> list[Any]:
    """Quantiles of all workloads: colour and marker are the workload's, the line is the quantile's."""
    from matplotlib.lines import Line2D

    from bitline.figures import INK, dress, look, time_axis

    intervals = _whole_intervals(series)
    lines: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)))
    panel.set_yscale("log")
    for number, _ in enumerate(_names(series)):
        for quantile, line in zip(_QUANTILES, lines, strict=True):
            found = [each for each in intervals if each.workloads[number].latency is not None]
            values = [getattr(each.workloads[number].latency, quantile).ns for each in found]
            _line(panel, found, values, {**look(number).curve(), "linestyle": line})
    if panel.lines:
        time_axis(panel.yaxis)
    panel.set_ylabel("Latency")
    dress(panel)
    # In no workload's colour: they are the quantiles of all.
    return [
        Line2D([], [], color=INK, linestyle=line, label=word)
        for word, line in zip(_QUANTILES.values(), lines, strict=True)
    ]


def _whole(
    panel: "Axes", series: Series, of: Mapping[str, Callable[[Interval], float | None]], label: str = ""
) -> list[Any]:
    """Lines of what the whole drive did."""
    from bitline.figures import dress, look, plain_ticks
    from bitline.metrics import metric

    intervals = _whole_intervals(series)
    handles: list[Any] = []
    for number, (key, value) in enumerate(of.items()):
        found = [(each, value(each)) for each in intervals]
        known = [(each, amount) for each, amount in found if amount is not None]
        word = metric(key).label.rpartition(", ")[2]
        curve = {**look(number + 4).curve(), "label": f"erases, {word}"}
        handles += _line(panel, [each for each, _ in known], [amount for _, amount in known], curve)
    panel.set_ylabel(label or metric(next(iter(of))).label)
    plain_ticks(panel.yaxis)
    # Where nothing was erased, the line lies at the bottom of an axis that means something.
    panel.set_ylim(0, max(panel.get_ylim()[1], 1.0) * 1.02)
    dress(panel)
    return handles


def _line(
    panel: "Axes", intervals: Sequence[Interval], values: Sequence[float], curve: dict[str, Any]
) -> list[Any]:
    """A line through the middles of intervals."""
    middles = [(each.begin.ns + each.end.ns) / 2 for each in intervals]
    drawn: list[Any] = panel.plot(middles, values, markevery=max(1, len(middles) // 8), **curve)
    return drawn


def _time_axes(panels: "Sequence[Axes]", series: Series) -> None:
    """The run's time, in one unit, below the lowest panels."""
    from matplotlib.ticker import FuncFormatter

    from bitline.figures import number
    from bitline.quantities import TIME

    end = series.intervals[-1].end.ns if series.intervals else 1.0
    factor, unit = TIME.scale([end])
    for panel in panels:
        panel.set_xlim(0, end)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value / factor)))
    for panel in panels[-2:]:
        panel.set_xlabel(f"Simulated time ({unit})")
