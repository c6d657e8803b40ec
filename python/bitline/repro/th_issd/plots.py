"""The figures as pictures, with published numbers beside ours."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitline.extras import needed_for
from bitline.figures import BLACK, WIDTH, drawing, dress, legend, log_ticks, look
from bitline.repro.marks import PUBLISHED_MARK
from bitline.repro.th_issd import policies
from bitline.repro.th_issd.edge import Recording
from bitline.repro.th_issd.intensity import Gain
from bitline.repro.th_issd.policies import HostReads
from bitline.repro.th_issd.queries import Query
from bitline.repro.th_issd.systems import BASELINE, OURS, RETRIEVING, SERIAL, SYSTEMS, System
from bitline.repro.th_issd.workloads import WORKLOADS

with needed_for("figures"):
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator

#: Published values by key.
Known = Mapping[str, float]
#: What of each number a figure shows, by workload, system and batch.
Values = Mapping[tuple[str, System, int], float]
#: Systems, ours first, and what a figure calls them.
Names = Mapping[System, str]

_AT_REST: Names = {system: system.name for system in RETRIEVING}
_AT_THE_EDGE: Names = {system: system.edge_name for system in SYSTEMS}


def throughputs(path: Path, points: Sequence[Query], known: Known, *, quick: bool) -> None:
    """Figure 9: queries a second by batch, and what is gained on the baseline.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.throughput for one in points}
    said = {name: known[key] for name in WORKLOADS if (key := f"figure09.{name}") in known}
    title = "Information retrieval: throughput"
    _by_batch(path, title, values, _AT_REST, ("Queries/s", said), at_batch=1, quick=quick)


def latencies(path: Path, points: Sequence[Query], known: Known, *, quick: bool) -> None:
    """Figure 10: latency of a batch, of the baseline's.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.latency_ns / 1e6 for one in points}
    said = {name: known[key] for name in WORKLOADS if (key := f"figure10.{name}") in known}
    title = "Information retrieval: latency of a batch of queries"
    _by_batch(path, title, values, _AT_REST, ("Latency (ms)", said), at_batch=None, quick=quick)


def recordings(path: Path, points: Sequence[Recording], known: Known, *, quick: bool) -> None:
    """Figure 14: frames a second by batch.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.throughput for one in points}
    said = {name: known["figure14.average"] for name in WORKLOADS if "figure14.average" in known}
    title = "Zero-streaming at the edge: frames recorded and labelled"
    _by_batch(path, title, values, _AT_THE_EDGE, ("Frames/s", said), at_batch=None, quick=quick)


def recording_latencies(path: Path, points: Sequence[Recording], known: Known, *, quick: bool) -> None:
    """Figure 15: from a batch of frames to its labels.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.latency_ns / 1e6 for one in points}
    said = {name: known["figure15.least"] for name in WORKLOADS if "figure15.least" in known}
    title = "Zero-streaming at the edge: latency of a batch of frames"
    _by_batch(path, title, values, _AT_THE_EDGE, ("Latency (ms)", said), at_batch=None, quick=quick)


def _by_batch(
    path: Path,
    title: str,
    values: Values,
    systems: Names,
    shown: tuple[str, Known],
    *,
    at_batch: int | None,
    quick: bool,
) -> None:
    """What is measured above, and ours over the baseline's below, a panel for each workload.

    Published ratios are marked at the batch that they are of, or drawn across where they are of all.
    """
    label, said = shown
    names = [name for name in WORKLOADS if any(key[0] == name for key in values)]
    batches = sorted({batch for _, _, batch in values})
    with drawing(path, title, (WIDTH, 4.4), _note(quick)) as figure:
        panels = figure.subplots(2, len(names), sharex=True, sharey="row", squeeze=False)
        for column, name in enumerate(names):
            above, below = panels[0][column], panels[1][column]
            ours = [values[name, OURS, batch] for batch in batches]
            for place, system in enumerate(systems):
                theirs = [values[name, system, batch] for batch in batches]
                above.plot(batches, theirs, **look(place).curve())
                if system != OURS:
                    gains = [mine / other for mine, other in zip(ours, theirs, strict=True)]
                    below.plot(batches, gains, **look(place).curve())
            below.axhline(1, color=BLACK, linewidth=0.8)
            if name in said and at_batch is None:
                below.axhline(said[name], color=BLACK, linestyle=":", linewidth=1)
            elif name in said:
                below.plot([at_batch], [said[name]], **PUBLISHED_MARK, zorder=4)
            above.set(title=WORKLOADS[name].name, yscale="log")
            below.set(xlabel="Batch", xscale="log")
            for axes in (above, below):
                axes.set_xticks(batches, [str(batch) for batch in batches])
                axes.xaxis.set_minor_locator(NullLocator())
                dress(axes)
            log_ticks(above.yaxis)
        panels[0][0].set_ylabel(label)
        panels[1][0].set_ylabel(f"{systems[OURS]} over others")
        handles = [
            Line2D([], [], **look(place).curve(), label=name) for place, name in enumerate(systems.values())
        ]
        mark: dict[str, Any] = PUBLISHED_MARK if at_batch else {"color": BLACK, "linestyle": ":"}
        if said:
            handles.append(Line2D([], [], **mark, label=f"published, over {systems[BASELINE]}"))
        legend(figure, handles)


def intensities(path: Path, points: Sequence[Gain], said: Mapping[str, Known], *, quick: bool) -> None:
    """What is gained by how much is computed for each byte, and where published numbers lie on that.

    Args:
        path: The file.
        points: Of one or both experiments.
        said: Published ratios by name, by experiment.
        quick: Whether the data are shorter.

    Raises:
        OSError: The file cannot be written.
    """
    experiments = list(dict.fromkeys(one.experiment for one in points))
    titles = {"scan": "Scanning an index", "frames": "Recording frames"}
    title = "Throughput over the baseline's, by what is computed for each byte"
    with drawing(path, title, (WIDTH, 3.4), _note(quick)) as figure:
        panels = figure.subplots(1, len(experiments), sharey=True, squeeze=False)[0]
        for axes, experiment in zip(panels, experiments, strict=True):
            for place, system in enumerate((BASELINE, SERIAL)):
                of = [one for one in points if (one.experiment, one.system) == (experiment, system)]
                _curve(axes, of, place)
            left = min(one.macs_per_byte for one in points if one.experiment == experiment)
            for ratio, names in _close_together(said.get(experiment, {})).items():
                axes.axhline(ratio, color=BLACK, linestyle=":", linewidth=1)
                axes.annotate(names, (left, ratio), (0, 2), textcoords="offset points", fontsize=6)
            axes.axhline(1, color=BLACK, linewidth=0.8)
            axes.set(title=titles[experiment], xlabel="Multiply-adds a byte", xscale="log")
            dress(axes)
        panels[0].set_ylabel("TH-iSSD over the baseline")
        handles = [
            Line2D([], [], **look(place).curve(), label=system.name)
            for place, system in enumerate((BASELINE, SERIAL))
        ]
        handles.append(Line2D([], [], color=BLACK, linestyle=":", label="published"))
        legend(figure, handles)


def _close_together(said: Known) -> dict[float, str]:
    """Published ratios with the names of those that are no more than a line's width apart."""
    found: dict[float, str] = {}
    for name, ratio in sorted(said.items(), key=lambda item: item[1]):
        near = next((other for other in found if ratio - other < 0.05), None)
        if near is None:
            found[ratio] = name
        else:
            found[near] += f", {name.lower()}"
    return found


def _curve(axes: Axes, points: Iterable[Gain], place: int) -> None:
    of = sorted(points, key=lambda one: one.macs_per_byte)
    axes.plot([one.macs_per_byte for one in of], [one.ratio for one in of], **look(place).curve())


def side_by_side(path: Path, points: Sequence[HostReads], *, quick: bool) -> None:
    """Latencies of host reads by the throughput of the stream beside them: a panel for each quantile.

    Raises:
        OSError: The file cannot be written.
    """
    title = "4-KiB reads of the host beside a stream, by the rate at which they arrive"
    note = (
        "TH-iSSD's drive (4.1.1); the task reads a file and writes a quarter of it. Rates, in thousands of "
        f"reads a second, beside the points of {policies.OURS}; a ring: not on the Pareto front of its rate."
    )
    with drawing(path, title, (WIDTH, 3.2), note + (" Quick." if quick else "")) as figure:
        panels = figure.subplots(1, len(policies.QUANTILES), squeeze=False)[0]
        for axes, quantile in zip(panels, policies.QUANTILES, strict=True):
            _latencies_beside(axes, points, quantile)
        panels[0].set_ylabel("Latency of host reads (µs)")
        handles = [
            Line2D([], [], **look(place).curve(), label=name) for place, name in enumerate(policies.POLICIES)
        ]
        legend(figure, handles)


def _latencies_beside(axes: Axes, points: Sequence[HostReads], quantile: str) -> None:
    front = policies.on_front(points, quantile)
    for place, policy in enumerate(policies.POLICIES):
        of_policy = [point for point in points if point.policy == policy and point.rate > 0]
        across = [point.stream_mbps / 1e3 for point in of_policy]
        up = [point.latency_us(quantile) for point in of_policy]
        axes.plot(across, up, **look(place).curve())
        for point, x, y in zip(of_policy, across, up, strict=True):
            if not front[policy, point.rate]:
                axes.plot([x], [y], marker="o", markersize=8, fillstyle="none", color=BLACK, linewidth=0)
            if policy == policies.OURS:
                axes.annotate(
                    f"{point.rate // 1000}", (x, y), (-3, -8), textcoords="offset points", fontsize=6
                )
    name = {"p50": "Median", "p99": "99th percentile", "p999": "99.9th percentile"}[quantile]
    axes.set(yscale="log", title=name, xlabel="Stream (GB/s)")
    log_ticks(axes.yaxis)
    dress(axes)


def _note(quick: bool) -> str:
    said = "TH-iSSD's drives (4.1.1, 4.2.1); the baseline's accelerator is the same, on a card."
    return said + (" Quick: less data." if quick else "")
