"""The figure of a run: what every part did in the busiest two milliseconds, and how latencies spread."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitline.extras import needed_for
from bitline.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    Look,
    drawing,
    dress,
    legend,
    legend_height,
    look,
    plain_ticks,
    time_axis,
)
from bitline.timeline import Curve, Lane, Timeline
from bitline.units import Duration, scaled

with needed_for("figures"):
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator, NullLocator

#: A name, latencies in ns, and the share of requests beyond each.
LatencyCurve: TypeAlias = tuple[str, NDArray[np.float64], NDArray[np.float64]]

#: How long `Tracing.busiest` looks, in nanoseconds.
_WINDOW_NS = 2e6
#: Lanes of one group that a figure has room for; of more, the busiest are shown.
_LANES_MAX = 32
#: Names of lanes that have room beside those of one group.
_NAMES_MAX = 8

#: What slices are shown as: the first word that their name holds decides.
_KINDS = (
    ("erase", Look(BLACK, hatch="xxxx"), "erase"),
    ("program", Look(ORANGE, hatch="////"), "program"),
    ("suspend", Look(PURPLE, hatch="oooo"), "suspension"),
    ("resume", Look(PURPLE, hatch="oooo"), "suspension"),
    ("read", Look(BLUE), "page read"),
    ("sense", Look(SKY, hatch="...."), "computation"),
    ("xor", Look(SKY, hatch="...."), "computation"),
    ("data", Look(GREEN, hatch="\\\\\\\\"), "data"),
)
_OTHER = (Look(GREY), "command, control")
#: Shares of requests beyond, which the axis of the distribution names.
_TAIL = {1: "0", 0.5: "50", 0.1: "90", 0.01: "99", 0.001: "99.9", 1e-4: "99.99", 1e-5: "99.999"}
#: Of these, where a curve has its markers.
_MARKED = (0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5)


def plot(
    path: Path,
    timeline: Timeline | None,
    curves: Sequence[LatencyCurve],
    title: str,
    elapsed: Duration | None = None,
) -> None:
    """Save the figure of a run; the file's suffix names its format.

    Args:
        path: The file.
        timeline: What the drive's parts did (`Tracing.busiest`); None leaves that part out.
        curves: Distributions (`Distribution.curves`); none leaves that part out.
        title: What was run.
        elapsed: How long the run took, which tells whether the timeline shows all of it.

    Raises:
        OSError: The file cannot be written.
    """
    shown = None if timeline is None else timeline.trimmed()
    groups = [] if shown is None else _groups(shown)
    rows = sum(len(lanes) * _pitch(lanes) + 1 for _, lanes in groups)
    heights = [0.085 * rows, 0.8] if groups else []
    heights += [2.0] if curves or not groups else []
    names = [name for name, _, _ in curves] + [label for _, _, label in _KINDS]
    with drawing(path, title, (WIDTH, sum(heights) + 0.9 + legend_height(names, WIDTH))) as figure:
        panels = list(figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        handles: list[Artist] = []
        if shown is not None and groups:
            handles += _gantt(panels[0], shown, groups, elapsed)
            panels[1].sharex(panels[0])
            handles += _queues(panels[1], shown)
        if curves or not groups:
            handles += _distribution(panels[-1], curves)
        legend(figure, handles)


def _groups(timeline: Timeline) -> list[tuple[str, list[Lane]]]:
    found = []
    for group in ("link", "dram", "channels", "dies"):
        # The DRAM of a drive without a data cache does nothing.
        lanes = [lane for lane in timeline.of(group) if group != "dram" or lane.slices]
        if len(lanes) > _LANES_MAX:
            busiest = sorted(lanes, key=_busy, reverse=True)[:_LANES_MAX]
            lanes = [lane for lane in lanes if lane in busiest]
        if lanes:
            found.append((group, lanes))
    return found


def _busy(lane: Lane) -> float:
    return sum(piece.end_ns - piece.begin_ns for piece in lane.slices)


def _pitch(lanes: Sequence[Lane]) -> float:
    """Rows from one lane to the next: where there are few, each has room for its name."""
    return 1.7 if len(lanes) <= _NAMES_MAX else 1.0


def _gantt(
    panel: Axes, timeline: Timeline, groups: list[tuple[str, list[Lane]]], elapsed: Duration | None
) -> list[Artist]:
    boxes: dict[str, tuple[Look, list[NDArray[np.float64]]]] = {}
    names: list[tuple[float, str]] = []
    row = 0.0
    for group, lanes in groups:
        every, pitch = -(-len(lanes) // _NAMES_MAX), _pitch(lanes)
        for place, lane in enumerate(lanes):
            if place % every == 0:
                names.append((row, lane.name))
            for piece in lane.slices:
                begin, end = (_us(timeline, at) for at in (piece.begin_ns, piece.end_ns))
                low, high = row - 0.42 * pitch, row + 0.42 * pitch
                box = np.array([(begin, low), (end, low), (end, high), (begin, high)])
                looks, kind = _look(group, piece.name)
                boxes.setdefault(kind, (looks, []))[1].append(box)
            row += pitch
        total = len(timeline.of(group))
        note = f"{group}" if total == len(lanes) else f"{group}: the busiest {len(lanes)} of {total}"
        place_of_note = (1.008, row - (len(lanes) * pitch + pitch) / 2)
        across = ("axes fraction", "data")
        panel.annotate(note, place_of_note, xycoords=across, rotation=90, va="center", color=INK)
        row += 1 - pitch / 2
        panel.axhline(row - 0.5, color="#c3c9d1", linewidth=0.5)
        row += 0.5
    for looks, corners in boxes.values():
        panel.add_collection(PolyCollection(corners, **{**looks.area(), "linewidth": 0}))
    panel.set_ylim(row - 1, -1.2)
    panel.set_xlim(0, (timeline.end_ns - timeline.begin_ns) / 1e3)
    panel.set_yticks([place for place, _ in names], [name for _, name in names])
    length = scaled(timeline.end_ns - timeline.begin_ns, 1000, ("ns", "µs", "ms"))
    begin_at = scaled(timeline.begin_ns, 1000, ("ns", "µs", "ms", "s"))
    is_all = elapsed is not None and elapsed.ns <= _WINDOW_NS
    what = f"all of the run, {length}" if is_all else f"the busiest {length} of the run"
    panel.set_title(f"What the parts did: {what}, from {begin_at} on")
    dress(panel, grid="x")
    panel.tick_params(labelbottom=False)
    return [Patch(**looks.area(), label=kind) for kind, (looks, _) in sorted(boxes.items())]


def _look(group: str, name: str) -> tuple[Look, str]:
    """Look and label of a slice; what is not data on a channel or the link is a command on its way."""
    # All that crosses the bus of the DRAM is data.
    lower = "data" if group == "dram" else name.lower()
    if group != "dies" and "data" not in lower:
        return _OTHER
    return next(((looks, label) for word, looks, label in _KINDS if word in lower), _OTHER)


def _us(timeline: Timeline, at_ns: float) -> float:
    """An instant as microseconds into the window, cut at its ends."""
    return (min(max(at_ns, timeline.begin_ns), timeline.end_ns) - timeline.begin_ns) / 1e3


def _queues(panel: Axes, timeline: Timeline) -> list[Artist]:
    waiting = [curve for curve in timeline.curves if curve.name.endswith("waiting")]
    outstanding = [curve for curve in timeline.curves if curve.name.endswith("outstanding")]
    lines: list[Artist] = []
    for label, colour, style, curves in (
        ("commands outstanding", BLUE, "-", outstanding),
        ("waiting for dies", RED, (0, (4, 1)), waiting),
    ):
        at, value = _sum(timeline, curves)
        lines += panel.step(
            at, value, where="post", color=colour, linestyle=style, linewidth=0.9, label=label
        )
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    panel.set_ylabel("Number")
    panel.set_xlabel("Simulated time (µs)")
    plain_ticks(panel.xaxis)
    dress(panel)
    return lines


def _sum(timeline: Timeline, curves: Sequence[Curve]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of step curves, in microseconds into the window."""
    changes: list[tuple[float, int]] = []
    for curve in curves:
        before = 0
        for at, value in curve.points:
            changes.append((_us(timeline, at), value - before))
            before = value
    changes.sort(key=lambda change: change[0])
    end = (timeline.end_ns - timeline.begin_ns) / 1e3
    instants = np.array([0.0, *(at for at, _ in changes), end])
    sums = np.cumsum([0, *(change for _, change in changes), 0]).astype(np.float64)
    return instants, sums


def _distribution(panel: Axes, curves: Sequence[LatencyCurve]) -> list[Artist]:
    panel.set_title("Latencies of single requests")
    panel.set_ylabel("Requests within")
    panel.set_xlabel("Latency")
    least = min((float(beyond[beyond > 0].min()) for _, _, beyond in curves), default=0.1)
    lines: list[Artist] = []
    for place, (name, latency, beyond) in enumerate(curves):
        shown = np.maximum(beyond, least / 2)
        marks = sorted({int(np.argmax(shown <= share)) for share in _MARKED if share >= least})
        lines += panel.plot(latency, shown, **look(place).curve(), markevery=marks, label=name)
    panel.set_xscale("log")
    panel.set_yscale("log")
    ticks = {place: name for place, name in _TAIL.items() if place >= least / 2}
    panel.set_yticks(list(ticks), [f"{name} %" for name in ticks.values()])
    panel.yaxis.set_minor_locator(NullLocator())
    panel.set_ylim(1.2, min(least / 2, 0.05))
    if curves:
        time_axis(panel.xaxis)
    dress(panel)
    return lines
