"""The figure of a run: what every part did in the busiest two milliseconds, and how latencies spread."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from bitline.figures import COLOURS, INK, dress
from bitline.timeline import Curve, Lane, Timeline
from bitline.units import scaled

#: A name, latencies in ns, and the share of requests beyond each.
LatencyCurve: TypeAlias = tuple[str, NDArray[np.float64], NDArray[np.float64]]

#: Lanes of one group that a figure has room for; of more, the busiest are shown.
_LANES_MAX = 32

#: What slices are shown as: the first word that their name holds decides.
_KINDS = (
    ("erase", "#7d5ba6", "erase"),
    ("program", "#e0a458", "program"),
    ("suspend", "#b5507a", "suspension"),
    ("resume", "#b5507a", "suspension"),
    ("read", "#3d6fb6", "read, sense"),
    ("mws", "#3d6fb6", "read, sense"),
    ("data", "#4f9d69", "data"),
)
_OTHER = ("#8c96a3", "command, control")
#: Shares of requests beyond, which the axis of the distribution names.
_TAIL = {1: "0", 0.5: "50", 0.1: "90", 0.01: "99", 0.001: "99.9", 1e-4: "99.99", 1e-5: "99.999"}


def plot(path: Path, timeline: Timeline | None, curves: Sequence[LatencyCurve], title: str) -> None:
    """Save the figure of a run; the file's suffix names its format.

    Args:
        path: The file.
        timeline: What the drive's parts did (`Tracing.busiest`); None leaves that part out.
        curves: Distributions (`Distribution.curves`); none leaves that part out.
        title: What was run.

    Raises:
        OSError: The file cannot be written.
    """
    groups = [] if timeline is None else _groups(timeline)
    lanes = sum(len(shown) + 1 for _, shown in groups)
    heights = [max(1.5, 0.13 * lanes), 1.3] if groups else []
    heights += [2.8] if curves or not groups else []
    figure = Figure(figsize=(12, sum(heights) + 0.6), layout="constrained", facecolor="white")
    figure.suptitle(title, color=INK, fontsize=13, fontweight="bold")
    panels = list(figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    if timeline is not None and groups:
        _gantt(panels[0], timeline, groups)
        _queues(panels[1], timeline)
        panels[1].sharex(panels[0])
    if curves or not groups:
        _distribution(panels[-1], curves)
    figure.savefig(path, dpi=150)


def _groups(timeline: Timeline) -> list[tuple[str, list[Lane]]]:
    found = []
    for group in ("link", "channels", "dies"):
        lanes = list(timeline.of(group))
        if len(lanes) > _LANES_MAX:
            busiest = sorted(lanes, key=_busy, reverse=True)[:_LANES_MAX]
            lanes = [lane for lane in lanes if lane in busiest]
        if lanes:
            found.append((group, lanes))
    return found


def _busy(lane: Lane) -> float:
    return sum(piece.end_ns - piece.begin_ns for piece in lane.slices)


def _gantt(panel: Axes, timeline: Timeline, groups: list[tuple[str, list[Lane]]]) -> None:
    boxes: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    names: list[tuple[float, str]] = []
    row = 0.0
    for group, lanes in groups:
        every = max(1, len(lanes) // 8)
        for number, lane in enumerate(lanes):
            if number % every == 0:
                names.append((row, lane.name))
            for piece in lane.slices:
                begin, end = (_us(timeline, at) for at in (piece.begin_ns, piece.end_ns))
                low, high = row - 0.42, row + 0.42
                box = np.array([(begin, low), (end, low), (end, high), (begin, high)])
                boxes.setdefault(_look(piece.name), []).append(box)
            row += 1
        total = len(timeline.of(group))
        note = f"{group}" if total == len(lanes) else f"{group} (the busiest {len(lanes)} of {total})"
        panel.annotate(
            note,
            (1.006, row - len(lanes) / 2 - 0.5),
            xycoords=("axes fraction", "data"),
            rotation=90,
            va="center",
            fontsize=9,
            color=INK,
        )
        panel.axhline(row, color="#c3c9d1", linewidth=0.6)
        row += 1
    for (colour, _), corners in boxes.items():
        panel.add_collection(PolyCollection(corners, facecolor=colour, edgecolor="none"))
    panel.set_ylim(row - 1, -1)
    panel.set_xlim(0, (timeline.end_ns - timeline.begin_ns) / 1e3)
    panel.set_yticks([place for place, _ in names], [name for _, name in names])
    panel.set_title(
        f"The busiest {scaled(timeline.end_ns - timeline.begin_ns, 1000, ('ns', 'µs', 'ms'))}, "
        f"from {scaled(timeline.begin_ns, 1000, ('ns', 'µs', 'ms', 's'))} on",
        fontsize=10,
        color=INK,
        loc="left",
    )
    patches = [Patch(color=colour, label=label) for colour, label in sorted(boxes, key=lambda look: look[1])]
    panel.legend(
        handles=patches,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(patches),
        fontsize=8,
        frameon=False,
    )
    dress(panel)
    panel.grid(axis="y", visible=False)
    panel.tick_params(labelbottom=False, labelsize=8)


def _look(name: str) -> tuple[str, str]:
    """Colour and label of a slice."""
    lower = name.lower()
    return next(((colour, label) for word, colour, label in _KINDS if word in lower), _OTHER)


def _us(timeline: Timeline, at_ns: float) -> float:
    """An instant as microseconds into the window, cut at its ends."""
    return (min(max(at_ns, timeline.begin_ns), timeline.end_ns) - timeline.begin_ns) / 1e3


def _queues(panel: Axes, timeline: Timeline) -> None:
    waiting = [curve for curve in timeline.curves if curve.name.endswith("waiting")]
    outstanding = [curve for curve in timeline.curves if curve.name.endswith("outstanding")]
    for label, colour, curves in (
        ("waiting for dies", COLOURS[1], waiting),
        ("commands outstanding", COLOURS[0], outstanding),
    ):
        at, value = _sum(timeline, curves)
        panel.step(at, value, where="post", color=colour, linewidth=0.9, label=label)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("queued", color=INK, fontsize=9)
    panel.set_xlabel("µs", color=INK, fontsize=9)
    panel.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, fontsize=8, frameon=False)
    dress(panel)


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


def _distribution(panel: Axes, curves: Sequence[LatencyCurve]) -> None:
    panel.set_title("Latencies: requests that take no longer", fontsize=10, color=INK, loc="left")
    least = min((float(beyond[beyond > 0].min()) for _, _, beyond in curves), default=0.1)
    for number, (name, latency, beyond) in enumerate(curves):
        shown = np.maximum(beyond, least / 2)
        panel.plot(latency, shown, color=COLOURS[number % len(COLOURS)], linewidth=1.6, label=name)
    panel.set_xscale("log")
    panel.set_yscale("log")
    ticks = {place: name for place, name in _TAIL.items() if place >= least / 2}
    panel.set_yticks(list(ticks), [f"{name} %" for name in ticks.values()])
    panel.yaxis.set_minor_locator(NullLocator())
    panel.set_ylim(1.2, min(least / 2, 0.05))
    panel.xaxis.set_major_formatter(
        FuncFormatter(
            lambda value, _: (
                scaled(value, 1000, ("ns", "µs", "ms", "s")).replace(".00", "").replace(".0 ", " ")
            )
        )
    )
    dress(panel)
    panel.grid(which="minor", axis="x", color="#eef0f3", linewidth=0.5)
    if len(curves) > 0:
        panel.legend(loc="lower right", fontsize=8, frameon=False)
