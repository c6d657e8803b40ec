"""The lifetime figure: wrong results over cycles and over years, measured and expected."""

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bitline.figures import COLOURS, INK, dress
from bitline.lifetime.measure import CYCLES, YEARS, Point

#: What is held fixed in the other panel.
_YEARS_SHOWN = 1.0
_CYCLES_SHOWN = 10_000
#: Shares below are not shown.
_LEAST = 1e-12


def plot(path: Path, points: Sequence[Point], title: str) -> None:
    """Save the figure; the file's suffix names its format.

    Raises:
        OSError: The file cannot be written.
    """
    figure = Figure(figsize=(12, 5), layout="constrained", facecolor="white")
    figure.suptitle(title, color=INK, fontsize=13, fontweight="bold")
    left, right = figure.subplots(1, 2, sharey=True)
    at_years = [point for point in points if point.years == _YEARS_SHOWN]
    at_cycles = [point for point in points if point.pe_cycles == _CYCLES_SHOWN]
    _panel(
        left,
        at_years,
        lambda point: point.pe_cycles / 1000,
        "thousand P/E cycles, then a year",
        CYCLES[-1] / 1000,
    )
    _panel(
        right, at_cycles, lambda point: point.years, f"years after {_CYCLES_SHOWN:,} P/E cycles", YEARS[-1]
    )
    left.set_ylabel(f"wrong bits of an AND of {points[0].operands}, share", color=INK)
    for style, label in (
        ("-", "at most, by the model:\nmean over all blocks"),
        ("o", "counted in 16 blocks;\nno dot: none wrong"),
    ):
        right.plot([], [], style, color="#8c96a3", markersize=5, label=label)
    right.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=150)


def _panel(
    axes: Axes, points: Sequence[Point], across: Callable[[Point], float], along: str, most: float
) -> None:
    """Lines are what the model expects at most, dots what was counted."""
    names = list(dict.fromkeys((point.mode, point.effort) for point in points))
    for colour, (mode, effort) in zip(COLOURS, names, strict=False):
        line = [point for point in points if (point.mode, point.effort) == (mode, effort)]
        shown = [point for point in line if point.expected >= _LEAST]
        expected = [point.expected for point in shown]
        label = f"ESP x{effort:g}" if mode == "esp" else mode.upper()
        label = label if shown else f"{label}: below {_LEAST:g}"
        axes.plot([across(point) for point in shown], expected, color=colour, label=label)
        found = [point for point in line if point.wrong_bits]
        shares = [point.wrong_bits / point.result_bits for point in found]
        dots = [across(point) for point in found]
        # Lines of no points, unclipped, would be everywhere for the layout.
        if dots:
            axes.plot(dots, shares, "o", color=colour, markersize=5, clip_on=False)
    axes.set_yscale("log")
    axes.set_xlim(0, most)
    axes.set_xlabel(along, color=INK)
    dress(axes)
