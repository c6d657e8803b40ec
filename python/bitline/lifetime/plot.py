"""The lifetime figure: wrong results over cycles and over years, measured and expected."""

from collections.abc import Callable, Sequence
from pathlib import Path

from bitline.extras import needed_for
from bitline.figures import GREY, WIDTH, drawing, dress, legend, look, plain_ticks, power
from bitline.lifetime.measure import CYCLES, YEARS, Point

with needed_for("figures"):
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

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
    note = "lines: at most, by the model, mean over all blocks; markers: counted in 16 blocks, unless none"
    with drawing(path, title, (WIDTH, 3.6), note) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        at_years = [point for point in points if point.years == _YEARS_SHOWN]
        at_cycles = [point for point in points if point.pe_cycles == _CYCLES_SHOWN]
        cycles = "P/E cycles, then a year"
        handles = _panel(left, at_years, lambda point: point.pe_cycles, cycles, CYCLES[-1])
        years = f"Years after {_CYCLES_SHOWN:,} P/E cycles"
        _panel(right, at_cycles, lambda point: point.years, years, YEARS[-1])
        left.set_ylabel(f"Share of wrong bits, AND of {points[0].operands}")
        handles.append(Line2D([], [], color=GREY, label="model"))
        handles.append(Line2D([], [], color=GREY, marker="o", linestyle="none", label="counted"))
        legend(figure, handles, columns=5)


def _panel(
    axes: Axes, points: Sequence[Point], across: Callable[[Point], float], along: str, most: float
) -> list[Artist]:
    """Lines are what the model expects at most, markers what was counted."""
    handles: list[Artist] = []
    for place, (mode, effort) in enumerate(dict.fromkeys((point.mode, point.effort) for point in points)):
        line = [point for point in points if (point.mode, point.effort) == (mode, effort)]
        shown = [point for point in line if point.expected >= _LEAST]
        expected = [point.expected for point in shown]
        label = f"ESP x{effort:g}" if mode == "esp" else mode.upper()
        # A single point makes no line.
        label = label if len(shown) > 1 else f"{label} (below {power(_LEAST)})"
        curve = look(place).curve()
        axes.plot([across(point) for point in shown], expected, **{**curve, "marker": ""})
        handles += [Line2D([], [], **curve, label=label)]
        found = [point for point in line if point.wrong_bits]
        shares = [point.wrong_bits / point.result_bits for point in found]
        dots = [across(point) for point in found]
        # Lines of no points, unclipped, would be everywhere for the layout.
        if dots:
            axes.plot(dots, shares, **{**curve, "linestyle": "none"}, clip_on=False)
    axes.set_yscale("log")
    axes.set_xlim(0, most)
    axes.set_xlabel(along)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    plain_ticks(axes.xaxis)
    dress(axes)
    return handles
