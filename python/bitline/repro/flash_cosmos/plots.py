"""The figures as pictures, drawn like the paper's, with published numbers beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitline.extras import needed_for
from bitline.figures import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    INK,
    PLATFORM_LOOKS,
    RED,
    WIDTH,
    Look,
    drawing,
    dress,
    legend,
    log_ticks,
    look,
    number,
    plain_ticks,
)
from bitline.platforms import PLATFORM_NAMES, Platform
from bitline.repro.flash_cosmos.chips import Chart
from bitline.repro.flash_cosmos.ratios import METRICS, NAMES, by_input, ratios
from bitline.repro.flash_cosmos.runs import Point
from bitline.repro.flash_cosmos.timelines import SHOWN, Traced
from bitline.repro.marks import PUBLISHED_MARK
from bitline.timeline import Lane

with needed_for("figures"):
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

_TITLES = {"BMI": "(a) Bitmap index", "IMS": "(b) Image segmentation", "KCS": "(c) k-clique stars"}
_DATA, _SENSE = Look(GREEN, hatch="\\\\\\\\"), Look(BLUE)
#: Above figures that are of shorter vectors than the paper's.
QUICK = "quick: vectors are shorter than the paper's, so that ratios deviate more"
#: What means are called below their bars.
_MEAN = "mean"

#: The instant at which the host has a result.
_RESULT: dict[str, Any] = {"color": RED, "linewidth": 1.2, "linestyle": (0, (4, 1.5))}

#: Published values by key.
Known = Mapping[str, float]


def bars(
    path: Path, points: Sequence[Point], metric: str, title: str, known: Known, *, quick: bool = False
) -> None:
    """Figures 17 and 18: each platform's ratio over OSP, by workload and input, beside the published ones.

    Args:
        path: The file; its suffix names the format.
        points: What was measured.
        metric: `"time"` or `"energy"`.
        title: What is shown.
        known: Published values.
        quick: Whether vectors are shorter than the paper's, which the figure then says.

    Raises:
        OSError: The file cannot be written.
    """
    inputs, of, means = by_input(points), METRICS[metric], ratios(points)

    def mean(scope: str) -> dict[Platform, float]:
        return {other: means[_key(metric, scope, other)].value for other in _others()}

    def said(scope: str) -> dict[Platform, float | None]:
        return {other: known.get(_key(metric, scope, other)) for other in _others()}

    with drawing(path, title, (WIDTH, 4.8), QUICK if quick else "") as figure:
        grid = figure.add_gridspec(2, 24)
        places = (grid[0, :14], grid[0, 14:], grid[1, :14], grid[1, 14:19])
        panels: list[Axes] = []
        for place in places:
            panels.append(figure.add_subplot(place, sharey=panels[0] if panels else None))
        for axes, (short, name) in zip(panels, _TITLES.items(), strict=False):
            heights = {
                label: {other: of(by["host"]) / of(by[other]) for other in _others()}
                for (of_workload, label), by in inputs.items()
                if of_workload == short
            }
            heights[_MEAN] = mean(short.lower())
            marks = {_MEAN: said(short.lower())}
            if short == "BMI":
                marks["m=36"] = said("max")
            _groups(axes, heights, marks, name)
        _groups(panels[-1], {_MEAN: mean("all")}, {_MEAN: said("all")}, "(d) All inputs")
        panels[0].set_yscale("log")
        panels[0].set_ylim(0.8, 300_000 if metric == "energy" else 8000)
        log_ticks(panels[0].yaxis)
        for axes in (panels[0], panels[2]):
            axes.set_ylabel(f"{'Speedup' if metric == 'time' else 'Energy efficiency'} over OSP")
        for axes in (panels[1], panels[3]):
            axes.tick_params(labelleft=False)
        patches: list[Artist] = [
            Patch(**PLATFORM_LOOKS[other].area(), label=f"{NAMES[other]}: {PLATFORM_NAMES[other]}")
            for other in _others()
        ]
        legend(figure, [*patches, _published("published (in parentheses)")], columns=4)


def _key(metric: str, scope: str, other: Platform) -> str:
    """The key of a platform's ratio over OSP."""
    return f"{metric}.{scope}.{NAMES[other].lower()}_over_osp"


def _published(label: str = "published") -> Line2D:
    """The mark of published numbers, for a legend."""
    return Line2D([], [], **PUBLISHED_MARK, label=label)


def _others() -> list[Platform]:
    return [platform for platform in NAMES if platform != "host"]


def _groups(
    axes: Axes,
    heights: Mapping[str, Mapping[Platform, float]],
    said: Mapping[str, Mapping[Platform, float | None]],
    title: str,
) -> None:
    """A group of bars for each label, and what is published of it."""
    width = 0.28
    for place, other in enumerate(_others()):
        shift = (place - 1) * width
        at = [group + shift for group in range(len(heights))]
        values = [row[other] for row in heights.values()]
        shown = axes.bar(at, values, width=width, **PLATFORM_LOOKS[other].area())
        marks = [said.get(label, {}).get(other) for label in heights]
        # Of a bar that a mark is on, the label stands above both.
        tops = [max(value, mark or 0) for value, mark in zip(values, marks, strict=True)]
        for bar, top, value, mark in zip(shown, tops, values, marks, strict=True):
            middle = bar.get_x() + bar.get_width() / 2
            lift = 7 if mark is not None and mark >= value * 0.8 else 2.5
            words = _short(value) + ("" if mark is None else f" ({_short(mark)})")
            axes.annotate(
                words,
                (middle, top),
                xytext=(0, lift),
                textcoords="offset points",
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=6,
                color=INK,
            )
            if mark is not None:
                axes.plot([middle], [mark], **PUBLISHED_MARK, zorder=4)
    axes.set_xticks(range(len(heights)), list(heights))
    axes.set_xlim(-0.7, len(heights) - 0.3)
    axes.set_title(title)
    dress(axes, grid="y")


def _short(value: float) -> str:
    return number(float(f"{value:.3g}" if value < 1000 else f"{value:.4g}"))


def timelines(path: Path, traced: Mapping[Platform, Traced], note: str = "") -> None:
    """Figure 7: the parts of one channel over time, a panel for each platform.

    Raises:
        OSError: The file cannot be written.
    """
    with drawing(path, "A OR B OR C of 1 MiB: one of eight channels", (WIDTH, 4.6), note) as figure:
        panels = figure.subplots(len(SHOWN), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (platform, name), letter in zip(panels, SHOWN.items(), "bcd", strict=True):
            one = traced[platform]
            for row, lane in enumerate(one.lanes):
                _lane(axes, row, lane)
            names = [lane.name if lane.group != "link" else "link to host" for lane in one.lanes]
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.axvline(one.elapsed_ns / 1e3, **_RESULT)
            shares = ", ".join(f"{part} {share:.0%}" for part, share in one.shares.items())
            axes.set_title(f"({letter}) {name}: {one.elapsed_ns / 1e3:.0f} µs; busy: {shares}")
            dress(axes, grid="x")
        panels[-1].set_xlabel("Time since the query (µs)")
        kinds: list[Artist] = [
            Patch(**_SENSE.area(), label="sensing"),
            Patch(**_DATA.area(), label="data"),
            Line2D(
                [], [], color=RED, linewidth=1.2, linestyle=(0, (4, 1.5)), label="the host has the result"
            ),
        ]
        legend(figure, kinds)


def _lane(axes: Axes, row: int, lane: Lane) -> None:
    """What one part did; of the link, data alone."""
    for piece in lane.slices:
        is_data = "data" in piece.name
        if lane.group == "link" and not is_data:
            continue
        begin, width = piece.begin_ns / 1e3, (piece.end_ns - piece.begin_ns) / 1e3
        looks = _DATA if is_data else _SENSE
        axes.barh(row, width, left=begin, height=0.8, **looks.area())


def curves(path: Path, chart: Chart, known: Known) -> None:
    """Figures 8 and 11 to 14: lines over one quantity, and what is published of it.

    Raises:
        OSError: The file cannot be written.
    """
    marks = [mark for mark in chart.marks if mark.key in known]
    legends = len(chart.lines) > 1 or marks
    with drawing(path, chart.title, (1.4 * COLUMN, 3.2 + 0.1 * len(chart.lines)), chart.note) as figure:
        axes = figure.subplots()
        # Lines that differ in their last words alone, such as days, share a colour; the first is dashed.
        families = list(dict.fromkeys(name.rpartition(", ")[0] or name for name in chart.lines))
        seen: set[str] = set()
        handles: list[Artist] = []
        for name, (x, y) in chart.lines.items():
            family = name.rpartition(", ")[0] or name
            first_of_several = family != name and family not in seen
            seen.add(family)
            looks = look(families.index(family))
            line = (0, (4, 1.5)) if first_of_several else "-"
            style = {**looks.curve(), "linestyle": line}
            hollow: dict[str, Any] = {"markerfacecolor": "white"} if first_of_several else {}
            handles += axes.plot(x, y, **style, **hollow, label=name)
        for mark in marks:
            across, up = mark.at(known[mark.key])
            shape: dict[str, Any] = {"marker": "v"} if mark.bound else {}
            axes.plot([across], [up], **{**PUBLISHED_MARK, **shape}, zorder=4)
        handles += [_published()] if any(not mark.bound for mark in marks) else []
        bounds = [mark for mark in marks if mark.bound]
        handles += [
            Line2D([], [], **{**PUBLISHED_MARK, "marker": "v"}, label=f"published: {mark.words}")
            for mark in bounds
        ]
        if chart.log:
            axes.set_yscale("log")
        plain_ticks(axes.xaxis)
        if all(isinstance(at, int) for x, _ in chart.lines.values() for at in x):
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        axes.set_xlabel(chart.x_label)
        axes.set_ylabel(chart.y_label)
        if legends:
            legend(figure, handles, columns=2 if len(handles) > 2 else None)
        dress(axes)


def columns(
    path: Path,
    heights: Mapping[str, float],
    said: Mapping[str, float],
    *,
    title: str,
    y_label: str,
    quick: bool = False,
) -> None:
    """Section 8.3: two bars for each mode, ours and what is published.

    Raises:
        OSError: The file cannot be written.
    """
    with drawing(path, title, (1.3 * COLUMN, 3.0), QUICK if quick else "") as figure:
        axes = figure.subplots()
        ours = axes.bar(
            [at - 0.2 for at in range(len(heights))], list(heights.values()), 0.38, **_SENSE.area()
        )
        values = [said.get(name, 0.0) for name in heights]
        theirs = Look("white", hatch="////")
        style = {**theirs.area(), "edgecolor": BLACK, "linewidth": 0.8}
        published = axes.bar([at + 0.2 for at in range(len(heights))], values, 0.38, **style)
        for shown, each in ((ours, heights.values()), (published, values)):
            axes.bar_label(shown, [f"{value:.2f}" for value in each], fontsize=7, color=INK, padding=2)
        axes.set_xticks(range(len(heights)), list(heights))
        axes.set_ylabel(y_label)
        dress(axes, grid="y")
        legend(figure, [Patch(**_SENSE.area(), label="ours"), Patch(**style, label="published")])
