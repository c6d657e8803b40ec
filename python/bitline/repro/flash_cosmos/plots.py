"""The figures as pictures, drawn like the paper's; the file's suffix names the format."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from bitline.figures import COLOURS as FIGURE_COLOURS
from bitline.figures import INK, dress
from bitline.platforms import Platform
from bitline.repro.flash_cosmos.chips import Chart
from bitline.repro.flash_cosmos.ratios import METRICS, NAMES, by_input, ratios
from bitline.repro.flash_cosmos.runs import Point
from bitline.repro.flash_cosmos.timelines import SHOWN, Traced
from bitline.timeline import Lane

COLOURS: Mapping[Platform, str] = {
    "host": "#8c96a3",
    "in-storage": "#5b8db8",
    "parabit": "#e0a458",
    "flash-cosmos": "#c8553d",
}

_TITLES = {"BMI": "(a) Bitmap index", "IMS": "(b) Image segmentation", "KCS": "(c) k-clique stars"}
_DATA, _SENSE = "#4f9d69", "#3d6fb6"


def bars(path: Path, points: Sequence[Point], metric: str, title: str) -> None:
    """Figures 17 and 18: each platform's ratio over OSP, by workload and input.

    Args:
        path: The file.
        points: What was measured.
        metric: `"time"` or `"energy"`.
        title: What is shown.

    Raises:
        OSError: The file cannot be written.
    """
    inputs = by_input(points)
    of = METRICS[metric]
    figure = Figure(figsize=(13, 3.8), layout="constrained", facecolor="white")
    figure.suptitle(title, color=INK, fontsize=13, fontweight="bold")
    panels = figure.subplots(1, 4, width_ratios=[6.6, 4.6, 4.6, 1.6], sharey=True)
    for axes, (short, name) in zip(panels, _TITLES.items(), strict=False):
        groups = {label: by for (of_workload, label), by in inputs.items() if of_workload == short}
        heights = {}
        for label, by in groups.items():
            heights[label] = [of(by["host"]) / of(by[other]) for other in _others()]
        _groups(axes, heights, name)
    means = ratios(points)
    mean = [means[f"{metric}.all.{NAMES[other].lower()}_over_osp"].value for other in _others()]
    _groups(panels[-1], {"geometric mean": mean}, "(d) All")
    panels[0].set_yscale("log")
    panels[0].set_ylim(bottom=0.8)
    panels[0].set_ylabel(f"{'speedup' if metric == 'time' else 'energy efficiency'} over OSP", color=INK)
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    patches = [Patch(color=COLOURS[other], label=NAMES[other]) for other in _others()]
    panels[-1].legend(handles=patches, fontsize=8, frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)


def _others() -> list[Platform]:
    return [platform for platform in NAMES if platform != "host"]


def _groups(axes: Axes, heights: Mapping[str, Sequence[float]], title: str) -> None:
    """A group of bars for each label."""
    width = 0.27
    for number, other in enumerate(_others()):
        at = [place + (number - 1) * width for place in range(len(heights))]
        values = [row[number] for row in heights.values()]
        shown = axes.bar(at, values, width=width * 0.92, color=COLOURS[other])
        labels = [f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in values]
        axes.bar_label(shown, labels, fontsize=6, color=INK, padding=1)
    axes.set_xticks(range(len(heights)), list(heights))
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    dress(axes)
    axes.grid(axis="x", visible=False)


def timelines(path: Path, traced: Mapping[Platform, Traced]) -> None:
    """Figure 7: the parts of one channel over time, a panel for each platform.

    Raises:
        OSError: The file cannot be written.
    """
    figure = Figure(figsize=(11, 6.4), layout="constrained", facecolor="white")
    figure.suptitle("A OR B OR C of 1 MiB: one of eight channels", color=INK, fontsize=13, fontweight="bold")
    panels = figure.subplots(len(SHOWN), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (platform, name), letter in zip(panels, SHOWN.items(), "bcd", strict=True):
        one = traced[platform]
        for row, lane in enumerate(one.lanes):
            _lane(axes, row, lane)
        names = [lane.name if lane.group != "link" else "link to host" for lane in one.lanes]
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.axvline(one.elapsed_ns / 1e3, color="#c8553d", linewidth=1)
        shares = ", ".join(f"{part} {share:.0%}" for part, share in one.shares.items())
        title = f"({letter}) {name}: {one.elapsed_ns / 1e3:.0f} us; busiest: {shares}"
        axes.set_title(title, fontsize=10, color=INK, loc="left")
        dress(axes)
        axes.grid(axis="y", visible=False)
    panels[-1].set_xlabel("µs; the red line: the host has the result", color=INK, fontsize=9)
    kinds = [Patch(color=_SENSE, label="sensing"), Patch(color=_DATA, label="data")]
    panels[0].legend(handles=kinds, fontsize=8, frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)


def _lane(axes: Axes, row: int, lane: Lane) -> None:
    """What one part did; of the link, data alone."""
    for piece in lane.slices:
        is_data = "data" in piece.name
        if lane.group == "link" and not is_data:
            continue
        begin, width = piece.begin_ns / 1e3, (piece.end_ns - piece.begin_ns) / 1e3
        colour = _DATA if is_data else _SENSE
        axes.barh(row, width, left=begin, height=0.8, color=colour, edgecolor="white", linewidth=0.3)


def curves(path: Path, chart: Chart) -> None:
    """Figures 8 and 11 to 14: lines over one quantity.

    Raises:
        OSError: The file cannot be written.
    """
    figure = Figure(figsize=(8, 4), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.set_title(chart.title, fontsize=11, color=INK, loc="left", fontweight="bold")
    # Lines that differ in their last words alone, such as days, share a colour; the first of them is dashed.
    families = list(dict.fromkeys(name.rpartition(", ")[0] or name for name in chart.lines))
    shown: set[str] = set()
    for name, (x, y) in chart.lines.items():
        family = name.rpartition(", ")[0] or name
        first_of_several = family != name and family not in shown
        shown.add(family)
        colour = FIGURE_COLOURS[families.index(family)]
        line = "--" if first_of_several else "-"
        axes.plot(x, y, line, marker="o", markersize=3, linewidth=1.5, label=name, color=colour)
    if chart.log:
        axes.set_yscale("log")
    axes.set_xlabel(chart.x_label, color=INK, fontsize=9)
    axes.set_ylabel(chart.y_label, color=INK, fontsize=9)
    if len(chart.lines) > 1:
        figure.legend(fontsize=8, frameon=False, loc="outside right upper")
    dress(axes)
    figure.savefig(path, dpi=150)


def columns(path: Path, heights: Mapping[str, float], *, title: str, y_label: str) -> None:
    """Section 8.3: one bar for each mode.

    Raises:
        OSError: The file cannot be written.
    """
    figure = Figure(figsize=(5, 3.4), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.set_title(title, fontsize=11, color=INK, loc="left", fontweight="bold")
    shown = axes.bar(list(heights), list(heights.values()), color="#3d6fb6", width=0.6)
    axes.bar_label(shown, [f"{value:.2f}" for value in heights.values()], fontsize=8, color=INK, padding=2)
    axes.set_ylabel(y_label, color=INK, fontsize=9)
    dress(axes)
    axes.grid(axis="x", visible=False)
    figure.savefig(path, dpi=150)
