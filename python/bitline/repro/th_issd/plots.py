"""The figures as pictures, with published numbers beside ours."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitline.extras import needed_for
from bitline.figures import BLACK, WIDTH, drawing, dress, legend, log_ticks, look
from bitline.repro.marks import PUBLISHED_MARK
from bitline.repro.th_issd import edge
from bitline.repro.th_issd.edge import Recording
from bitline.repro.th_issd.intensity import Point
from bitline.repro.th_issd.queries import Query
from bitline.repro.th_issd.systems import BASELINE, SERIAL, SYSTEMS
from bitline.repro.th_issd.workloads import WORKLOADS

with needed_for("figures"):
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator

#: Published values by key.
Known = Mapping[str, float]
#: What of each number a figure shows, by workload, system and batch.
Values = Mapping[tuple[str, str, int], float]


def throughputs(path: Path, points: Sequence[Query], known: Known, *, quick: bool) -> None:
    """Figure 9: queries a second by batch, and what is gained on the baseline.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.throughput for one in points}
    said = {name: known[key] for name in WORKLOADS if (key := f"figure09.{name}") in known}
    title = "Information retrieval: throughput"
    _by_batch(path, title, values, list(SYSTEMS), ("Queries/s", said), at_batch=1, quick=quick)


def latencies(path: Path, points: Sequence[Query], known: Known, *, quick: bool) -> None:
    """Figure 10: latency of a batch, of the baseline's.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.latency_ns / 1e6 for one in points}
    said = {name: known[key] for name in WORKLOADS if (key := f"figure10.{name}") in known}
    title = "Information retrieval: latency of a batch of queries"
    _by_batch(path, title, values, list(SYSTEMS), ("Latency (ms)", said), at_batch=None, quick=quick)


def recordings(path: Path, points: Sequence[Recording], known: Known, *, quick: bool) -> None:
    """Figure 14: frames a second by batch.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.throughput for one in points}
    said = {name: known["figure14.average"] for name in WORKLOADS if "figure14.average" in known}
    title = "Zero-streaming at the edge: frames recorded and labelled"
    _by_batch(path, title, values, list(edge.SYSTEMS), ("Frames/s", said), at_batch=None, quick=quick)


def recording_latencies(path: Path, points: Sequence[Recording], known: Known, *, quick: bool) -> None:
    """Figure 15: from a batch of frames to its labels.

    Raises:
        OSError: The file cannot be written.
    """
    values = {(one.workload, one.system, one.batch): one.latency_ns / 1e6 for one in points}
    said = {name: known["figure15.least"] for name in WORKLOADS if "figure15.least" in known}
    title = "Zero-streaming at the edge: latency of a batch of frames"
    _by_batch(path, title, values, list(edge.SYSTEMS), ("Latency (ms)", said), at_batch=None, quick=quick)


def _by_batch(
    path: Path,
    title: str,
    values: Values,
    systems: Sequence[str],
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
    baseline = edge.BASELINE if edge.BASELINE in systems else BASELINE
    with drawing(path, title, (WIDTH, 4.4), _note(quick)) as figure:
        panels = figure.subplots(2, len(names), sharex=True, sharey="row", squeeze=False)
        for column, name in enumerate(names):
            above, below = panels[0][column], panels[1][column]
            ours = [values[name, systems[0], batch] for batch in batches]
            for place, system in enumerate(systems):
                theirs = [values[name, system, batch] for batch in batches]
                above.plot(batches, theirs, **look(place).curve())
                if system != systems[0]:
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
        panels[1][0].set_ylabel(f"{systems[0]} over others")
        handles = [Line2D([], [], **look(place).curve(), label=name) for place, name in enumerate(systems)]
        mark: dict[str, Any] = PUBLISHED_MARK if at_batch else {"color": BLACK, "linestyle": ":"}
        if said:
            handles.append(Line2D([], [], **mark, label=f"published, over {baseline}"))
        legend(figure, handles)


def intensities(path: Path, points: Sequence[Point], said: Mapping[str, Known], *, quick: bool) -> None:
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
            Line2D([], [], **look(place).curve(), label=name) for place, name in enumerate((BASELINE, SERIAL))
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


def _curve(axes: Axes, points: Iterable[Point], place: int) -> None:
    of = sorted(points, key=lambda one: one.macs_per_byte)
    axes.plot([one.macs_per_byte for one in of], [one.ratio for one in of], **look(place).curve())


def _note(quick: bool) -> str:
    said = "TH-iSSD's drives (4.1.1, 4.2.1); the baseline's accelerator is the same, on a card."
    return said + (" Quick: less data." if quick else "")
