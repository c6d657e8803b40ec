"""The figures as pictures, with published numbers beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitline.extras import needed_for
from bitline.figures import BLACK, COLUMN, WIDTH, drawing, dress, legend, log_ticks, look, percent_ticks
from bitline.repro.marks import PUBLISHED_MARK
from bitline.repro.txisc.applications import COMPARED, Run
from bitline.repro.txisc.bandwidth import ARCHITECTURES, Point, own_work, ratios
from bitline.repro.txisc.insertions import PERCENTILES, Filled

with needed_for("figures"):
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: Published values by key.
Known = Mapping[str, float]

#: Lines that lie on one another stay told apart: one within the other.
_SIZES = {"TxISC": 2.5, "FileISC": 5.5, "BlockISC": 8.5}
#: Keys of published shares, by architecture.
_PUBLISHED_SHARES = {"TxISC": "figure05.io_{}", "Host-only": "figure05.io_{}_host"}
_EMULATED = {True: "with flash emulation", False: "without flash times"}


def bandwidths(path: Path, points: Sequence[Point], *, quick: bool) -> None:
    """Figure 3: bandwidth by requests in flight, a panel for each share of reads.

    Raises:
        OSError: The file cannot be written.
    """
    percents = sorted({one.read_percent for one in points})
    title = "Random requests of 16 KiB within a file, by a task in the drive"
    with drawing(path, title, (WIDTH, 3.9), _note(quick)) as figure:
        panels = figure.subplots(2, len(percents), sharex=True, sharey="row", squeeze=False)
        for row, emulated in zip(panels, (True, False), strict=True):
            for axes, percent in zip(row, percents, strict=True):
                _bandwidth(
                    axes, [one for one in points if (one.emulated, one.read_percent) == (emulated, percent)]
                )
            most = max(one.bandwidth for one in points if one.emulated == emulated)
            row[0].set(ylabel=f"Bandwidth (GB/s),\n{_EMULATED[emulated]}", ylim=(0, 1.15 * most / 1e3))
        for axes, percent in zip(panels[0], percents, strict=True):
            axes.set_title(f"{percent} % reads")
        for axes in panels[1]:
            axes.set_xlabel("In flight")
        legend(figure, [Line2D([], [], **_style(name), label=name) for name in ARCHITECTURES])


def overheads(path: Path, points: Sequence[Point], known: Known, *, quick: bool) -> None:
    """Figure 3 once more: bandwidth of TxISC over that of FileISC.

    Raises:
        OSError: The file cannot be written.
    """
    percents = sorted({one.read_percent for one in points})
    found = ratios(points, "FileISC")
    with drawing(path, "Bandwidth of TxISC over FileISC's", (WIDTH, 3.2), _note(quick)) as figure:
        panels = figure.subplots(1, 2, squeeze=False)[0]
        for axes, emulated in zip(panels, (True, False), strict=True):
            for place, percent in enumerate(percents):
                of = {
                    depth: one
                    for (is_so, share, depth), one in found.items()
                    if (is_so, share) == (emulated, percent)
                }
                axes.plot(of.keys(), of.values(), **look(place).curve(), label=f"{percent} % reads")
            axes.axhline(1, color=BLACK, linewidth=0.8)
            _depths(axes, sorted({one.depth for one in points}))
            axes.set(title=_EMULATED[emulated].capitalize(), xlabel="Requests in flight")
            percent_ticks(axes.yaxis)
            dress(axes)
        panels[0].yaxis.set_major_formatter("{x:.2%}")
        panels[0].set_ylabel("Of FileISC's bandwidth")
        said = [known[key] for key in ("figure03.direct_file_100", "figure03.direct_file_50") if key in known]
        panels[1].plot([1] * len(said), said, **PUBLISHED_MARK, zorder=4)
        if "figure03.emulated_file" in known:
            panels[0].axhline(known["figure03.emulated_file"], color=BLACK, linestyle=":", linewidth=1)
        handles = list(panels[0].get_legend_handles_labels()[0])
        handles.append(Line2D([], [], color=BLACK, linestyle=":", label="published: at least"))
        handles.append(Line2D([], [], **PUBLISHED_MARK, label="published: 0 and 50 % reads"))
        legend(figure, handles, columns=4)


def times(path: Path, runs: Sequence[Run], known: Known, *, quick: bool) -> None:
    """Figure 4: throughput of applications over the host's.

    Raises:
        OSError: The file cannot be written.
    """
    title = "Applications: throughput over the host's"
    with drawing(path, title, (WIDTH, 3.0), _note(quick)) as figure:
        axes = figure.subplots()
        names = list(dict.fromkeys(one.name for one in runs))
        base = {one.example: one.ns for one in runs if one.architecture == "Host-only"}
        most = max(base[one.example] / one.ns for one in runs)
        for place, architecture in enumerate(COMPARED):
            heights = [base[one.example] / one.ns for one in runs if one.architecture == architecture]
            at = [group + 0.28 * (place - 1) for group in range(len(names))]
            bars = axes.bar(at, heights, 0.28, **look(place).area(), label=architecture)
            axes.bar_label(bars, [f"{height:.3f}" for height in heights], padding=2, fontsize=7)
        said = {
            group: known[f"figure04.{example}_host"]
            for group, example in enumerate(base)
            if f"figure04.{example}_host" in known
        }
        axes.plot([group - 0.28 for group in said], list(said.values()), **PUBLISHED_MARK, zorder=4)
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="Over host-only's", ylim=(0, 1.2 * max(most, *said.values())))
        dress(axes, grid="y")
        published = Line2D([], [], **PUBLISHED_MARK, label="published (TxISC)")
        legend(figure, [*axes.get_legend_handles_labels()[0], published])


def shares(path: Path, runs: Sequence[Run], known: Known, *, quick: bool) -> None:
    """Figure 5: what of an application's time it computes, and what it waits for reads and writes.

    Raises:
        OSError: The file cannot be written.
    """
    with drawing(path, "Applications: what their time is", (WIDTH, 3.0), _quick(quick)) as figure:
        axes = figure.subplots()
        labels = [f"{one.name}\n{one.architecture}" for one in runs]
        waiting = [one.io_share for one in runs]
        axes.bar(range(len(runs)), waiting, 0.6, **look(0).area(), label="reads and writes (I/O)")
        for place, one in enumerate(waiting):
            # Below all published numbers.
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.text(place, 0.03, f"{one:.0%}", ha="center", fontsize=7, bbox=box)
        computing = [1 - one for one in waiting]
        axes.bar(range(len(runs)), computing, 0.6, bottom=waiting, **look(1).area(), label="computing")
        for place, run in enumerate(runs):
            key = _PUBLISHED_SHARES.get(run.architecture, "").format(run.example)
            if key in known:
                axes.plot([place], [known[key] / 100], **PUBLISHED_MARK, zorder=4)
        axes.set_xticks(range(len(runs)), labels, fontsize=6)
        axes.set(ylabel="Of the time", ylim=(0, 1))
        percent_ticks(axes.yaxis)
        dress(axes, grid="y")
        said = Line2D([], [], **PUBLISHED_MARK, label="published (I/O)")
        legend(figure, [*axes.get_legend_handles_labels()[0], said])


def insertions(path: Path, found: Sequence[Filled], known: Known, *, quick: bool) -> None:
    """Latencies of insertions into LevelDB while tables are compacted.

    Raises:
        OSError: The file cannot be written.
    """
    title = "Insertions into LevelDB, by who compacts its tables"
    with drawing(path, title, (1.4 * COLUMN, 3.0), _quick(quick)) as figure:
        axes = figure.subplots()
        at = range(len(PERCENTILES))
        for place, one in enumerate(found):
            latencies = [one.percentile(percent) / 1e3 for percent in PERCENTILES]
            axes.plot(at, latencies, **look(place).curve(), label=one.compacted)
        axes.set_xticks(at, [f"{percent:g}" for percent in PERCENTILES])
        axes.set(xlabel="Percentile", ylabel="Latency (µs)", yscale="log")
        host = {one.compacted: one for one in found}["Host-only"]
        if "figure04.insertions_p99" in known:
            said = known["figure04.insertions_p99"] * host.percentile(99) / 1e3
            axes.plot([PERCENTILES.index(99)], [said], **PUBLISHED_MARK, label="published (of host-only's)")
        log_ticks(axes.yaxis)
        dress(axes)
        legend(figure, axes.get_legend_handles_labels()[0])


def memory(path: Path, shares: Mapping[str, float], known: Known) -> None:
    """Section V-B: memory of entries over the data that is written.

    Raises:
        OSError: The file cannot be written.
    """
    with drawing(path, "Memory of delta mappings", (1.2 * COLUMN, 2.8)) as figure:
        axes = figure.subplots()
        bars = axes.bar(range(len(shares)), list(shares.values()), 0.5, **look(0).area(), label="measured")
        axes.bar_label(bars, [f"{one:.3f} %" for one in shares.values()], padding=2)
        said = [known[f"section52.{name}"] for name in shares if f"section52.{name}" in known]
        axes.plot(range(len(said)), said, **PUBLISHED_MARK, label="published", zorder=4)
        axes.set_xticks(range(len(shares)), [f"{name} writes" for name in shares])
        axes.set(ylabel="Of the data written (%)", yscale="log", ylim=(5e-4, 1))
        log_ticks(axes.yaxis)
        dress(axes, grid="y")
        legend(figure, axes.get_legend_handles_labels()[0])


def _bandwidth(axes: Axes, points: Sequence[Point]) -> None:
    for name in reversed(list(ARCHITECTURES)):
        of = [one for one in points if one.architecture == name]
        axes.plot([one.depth for one in of], [one.bandwidth / 1e3 for one in of], **_style(name))
    _depths(axes, sorted({one.depth for one in points}))
    dress(axes)


def _depths(axes: Axes, depths: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(depths[0] / 1.5, depths[-1] * 1.5)
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()


def _style(name: str) -> dict[str, Any]:
    hollow = {"markerfacecolor": "none"} if name != "TxISC" else {}
    style = look(list(ARCHITECTURES).index(name)).curve()
    return {**style, **hollow, "markersize": _SIZES[name], "clip_on": False}


def _note(quick: bool) -> str:
    return "\n".join(filter(None, (own_work(), _quick(quick))))


def _quick(quick: bool) -> str:
    return "quick: fewer requests, smaller files" if quick else ""
