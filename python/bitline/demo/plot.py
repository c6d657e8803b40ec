"""The main job's figure: time, energy and data movement of each platform."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bitline.demo.race import Race
from bitline.figures import INK
from bitline.units import Energy, Size

#: As the platforms are written for people.
NAMES = {
    "host": "Host",
    "in-storage": "In-storage accelerator",
    "parabit": "ParaBit",
    "flash-cosmos": "Flash-Cosmos",
}

_COLOURS = {"host": "#8c96a3", "in-storage": "#5b8db8", "parabit": "#e0a458", "flash-cosmos": "#c8553d"}


def plot(race: Race, rows: int, path: Path) -> None:
    """Save the figure of a race over `rows` rows; the file's suffix names its format.

    Raises:
        OSError: The file cannot be written.
        ValueError: No such format.
    """
    platforms = [entrant.platform for entrant in race.entrants]
    works = [entrant.work for entrant in race.entrants]
    moved = [int(work.channel_bytes) + int(work.link_up_bytes) + int(work.link_down_bytes) for work in works]
    panels = [
        ("Simulated time", "µs", [work.elapsed.us for work in works], [str(work.elapsed) for work in works]),
        ("Energy", "µJ", [work.energy.uj for work in works], [str(Energy(work.energy.pj)) for work in works]),
        (
            "Channel and PCIe bytes",
            "KiB",
            [size / 1024 for size in moved],
            [str(Size(s)) for s in moved],
        ),
    ]
    figure = Figure(figsize=(11, 3.6), layout="constrained", facecolor="white")
    figure.suptitle(
        f"TPC-H Q6's predicate over {rows:,} rows: one drive, four ways",
        color=INK,
        fontsize=13,
        fontweight="bold",
    )
    for axes, (title, unit, values, labels) in zip(figure.subplots(1, 3, sharey=True), panels, strict=True):
        bars = axes.barh(
            [NAMES[platform] for platform in platforms],
            values,
            color=[_COLOURS[platform] for platform in platforms],
            height=0.62,
        )
        background = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        labels = _with_ratios(values, labels)
        axes.bar_label(bars, labels, padding=4, fontsize=9, color=INK, bbox=background)
        _dress(axes, f"{title} ({unit}, log scale)", values)
    figure.savefig(path, dpi=160)


def _with_ratios(values: list[float], labels: list[str]) -> list[str]:
    """Each value, and how many times less than the first it is."""
    first = values[0]
    return [labels[0]] + [
        f"{label}  ({first / value:.3g}x less)" if value < first else label
        for value, label in zip(values[1:], labels[1:], strict=True)
    ]


def _dress(axes: Axes, title: str, values: list[float]) -> None:
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_xscale("log")
    # A decade of room on the left gives the least bar a length, two on the right the labels room.
    axes.set_xlim(min(values) / 10, max(values) * 30)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.grid(axis="x", which="major", color="#d9dee4", linewidth=0.6)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    axes.set_axisbelow(True)
    axes.invert_yaxis()
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color("#9aa3ad")
