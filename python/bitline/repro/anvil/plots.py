"""The figures as pictures, with published numbers beside ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitline.extras import needed_for
from bitline.figures import (
    BLACK,
    COLUMN,
    WIDTH,
    drawing,
    dress,
    legend,
    log_ticks,
    look,
    number,
    percent_ticks,
    plain_ticks,
)
from bitline.repro.anvil.graphs import INDEXES, Traversal
from bitline.repro.anvil.olap import LOCALITIES, Point
from bitline.repro.anvil.oltp import Transactions
from bitline.repro.anvil.system import Moved
from bitline.repro.marks import PUBLISHED_MARK

with needed_for("figures"):
    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D

Rows = Sequence[Mapping[str, Any]]
#: Published values by key.
Known = Mapping[str, float]

#: Above figures of a quick run: of queries, of graphs, of both.
FEWER, SMALLER = "quick: fewer queries", "quick: graphs that are smaller than the paper's"
QUICK = "quick: fewer queries, and graphs that are smaller than the paper's"

#: The least share in Figure 9.
LEAST = 1e-10
_SYSTEMS = ("Conv", "IMS", "Dual")
#: What shares of movement are of.
_PARTS = {
    "flash": "flash to firmware",
    "channels": "all on the channels",
    "link": "link",
    "activations": "blocks",
}


def _published() -> Line2D:
    return Line2D([], [], **PUBLISHED_MARK, label="published")


def _hollow(place: int) -> dict[str, Any]:
    """How a number is drawn that is published of a series: in its colour and form, and hollow."""
    colour, marker = look(place).colour, look(place).marker
    return {**PUBLISHED_MARK, "color": colour, "marker": marker, "markersize": 7.5, "markerfacecolor": "none"}


def lookups(path: Path, rows: Rows) -> None:
    """Figure 3: time of a lookup over the number of tuples, a panel for each size.

    Raises:
        OSError: The file cannot be written.
    """
    sizes = list(dict.fromkeys(row["value_bytes"] for row in rows))
    with drawing(path, "One match among names of 4 B, SSD-A", (WIDTH, 2.7)) as figure:
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for axes, size in zip(panels, sizes, strict=True):
            for place, name in enumerate(_SYSTEMS):
                of = [row for row in rows if (row["value_bytes"], row["system"]) == (size, name)]
                style = {**look(place).curve(), "marker": ""}
                axes.plot([row["tuples"] for row in of], [row["time_ns"] / 1e6 for row in of], **style)
            axes.set(xscale="log", yscale="log", title=f"Values of {size} B", xlabel="Tuples")
            log_ticks(axes.yaxis)
            dress(axes)
        panels[0].set_ylabel("Time (ms)")
        legend(figure, _lines(_SYSTEMS))


def value_sizes(path: Path, rows: Rows) -> None:
    """Figure 4: speedup over a scan by the size of values.

    Raises:
        OSError: The file cannot be written.
    """
    sizes = list(dict.fromkeys(row["name_bytes"] for row in rows))
    with drawing(path, "8.4 M tuples: speedup over a scan, SSD-A", (1.5 * COLUMN, 3.0)) as figure:
        axes = figure.subplots()
        handles: list[Artist] = []
        for place, (name, size) in enumerate((name, size) for name in _SYSTEMS[1:] for size in sizes):
            of = [row for row in rows if (row["system"], row["name_bytes"]) == (name, size)]
            label = f"{name}, names of {size} B"
            xs, ys = [row["value_bytes"] for row in of], [row["speedup"] for row in of]
            handles += axes.plot(xs, ys, **look(place).curve(), label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        plain_ticks(axes.xaxis)
        log_ticks(axes.yaxis)
        axes.set(xlabel="Value (B)", ylabel="Speedup")
        axes.axhline(1, color=BLACK, linewidth=0.8)
        dress(axes)
        legend(figure, handles, columns=2)


def errors(path: Path, rows: Rows, known: Known) -> None:
    """Figure 9: what is expected to be missed and found falsely, by cycles and mode.

    Raises:
        OSError: The file cannot be written.
    """
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    cycles = sorted({row["pe_cycles"] for row in rows})
    note = f"shares below {number(LEAST)}, and published ones of none, are drawn there"
    titles = {"misses": "(a) Missed", "false_matches": "(b) Found falsely"}
    with drawing(path, "Names looked up by themselves", (WIDTH, 3.0), note) as figure:
        panels = figure.subplots(1, 2, sharey=True, squeeze=False)[0]
        for axes, (what, title) in zip(panels, titles.items(), strict=True):
            for place, mode in enumerate(modes):
                of = [row for row in rows if row["mode"] == mode]
                shares = [max(row[f"expected_{what}"], LEAST) for row in of]
                axes.plot([row["pe_cycles"] for row in of], shares, **look(place).curve())
                said = published_errors(what, mode, cycles, known)
                axes.plot(said.keys(), said.values(), **_hollow(place), zorder=4)
            axes.set(yscale="log", title=title, xlabel="P/E cycles")
            log_ticks(axes.yaxis)
            axes.set_xticks(cycles)
            plain_ticks(axes.xaxis)
            dress(axes)
        panels[0].set_ylabel("For each name")
        said_of = [
            Line2D([], [], **_hollow(place), label=f"{mode}, published") for place, mode in enumerate(modes)
        ]
        both = zip(_lines(modes, markers=True), said_of, strict=True)
        legend(figure, [handle for pair in both for handle in pair], columns=4)


def published_errors(what: str, mode: str, cycles: Sequence[int], known: Known) -> dict[int, float]:
    """What is published of Figure 9 for a mode, by cycles: shares; where there were none, the least drawn."""
    few, many = cycles[0], cycles[-1]
    shares = {
        ("misses", "S"): ("figure09.slc_misses", few),
        ("misses", "S+E"): ("figure09.esp_misses", many),
        ("false_matches", "S"): ("figure09.slc_false", few),
        ("false_matches", "S+E"): ("figure09.esp_false", many),
        ("false_matches", "S+F"): ("figure09.tuned_false", few),
        ("false_matches", "S+E+F"): ("figure09.both_false", many),
    }
    none = {
        ("misses", "S+E"): ("figure09.esp_none", [few]),
        ("false_matches", "S+E"): ("figure09.esp_none", [few]),
        ("misses", "S+F"): ("figure09.tuned_none", cycles),
        ("misses", "S+E+F"): ("figure09.both_none", cycles),
    }
    said: dict[int, float] = {}
    key, at = none.get((what, mode), ("", []))
    if known.get(key) == 1:
        said |= dict.fromkeys(at, LEAST)
    key, where = shares.get((what, mode), ("", few))
    if key in known:
        said[where] = known[key]
    return said


def transactions(
    path: Path, found: Sequence[Transactions], shares: Sequence[float], known: Known, *, quick: bool
) -> None:
    """Figure 13: speedups over the host's index on SSD-B, and how many pages queries fetch.

    Raises:
        OSError: The file cannot be written.
    """
    slow = next(one for one in found if one.drive == "SSD-B").baseline.ns
    with drawing(path, "TPC-C: customers by last name", (WIDTH, 2.9), FEWER if quick else "") as figure:
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        labels, heights, marks = [], [], []
        for one in found:
            labels += [f"{one.drive}\nhost", f"{one.drive}\nANVIL"]
            heights += [slow / one.baseline.ns, slow / one.lookup.ns]
            said = known.get(f"figure13.speedup_{one.drive[-1].lower()}")
            # The paper tells speedups over the host's index on the same drive: SSD-B's are on this axis.
            marks += [None, said if one.drive == "SSD-B" else None]
        bars = left.bar(range(len(labels)), heights, 0.6, **look(0).area())
        left.bar_label(bars, [f"{height:.3g}" for height in heights], padding=8, fontsize=7)
        for at, mark in enumerate(marks):
            if mark is not None:
                left.plot([at], [mark], **PUBLISHED_MARK, zorder=4)
        left.set_xticks(range(len(labels)), labels)
        left.set(ylabel="Speedup over SSD-B, host", title="(a) Time", ylim=(0, 1.25 * max(heights)))
        dress(left, grid="y")
        right.step(range(1, len(shares) + 1), shares, where="post", color=look(0).colour)
        for place, one in enumerate(found, 1):
            style: dict[str, Any] = {"color": look(place).colour, "linestyle": look(place).line}
            right.axvline(one.crossover, **style, label=f"{one.drive}: faster from here on")
        right.set(title="(b) Pages that the host fetches", xlabel="Pages", ylabel="Share of queries")
        right.set_ylim(0, 1)
        percent_ticks(right.yaxis)
        dress(right)
        legend(figure, [*right.get_legend_handles_labels()[0], _published()])


def sweep(path: Path, points: Sequence[Point], known: Known) -> None:
    """Figure 14: speedups over a scan by selectivity and locality, a panel for each query.

    Raises:
        OSError: The file cannot be written.
    """
    with drawing(path, "TPC-H, scale factor 100, SSD-A: speedup over a scan", (WIDTH, 2.9)) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for query, axes in enumerate(panels, 1):
            for place, locality in enumerate(LOCALITIES):
                of = [one for one in points if (one.query, one.locality) == (query, locality)]
                axes.plot(
                    [100 * one.selectivity for one in of],
                    [one.speedup for one in of],
                    **look(place).curve(),
                    label=f"locality {locality:.0%}",
                )
            # They are of both queries, and drawn beside the points that they are compared with.
            least, largest = min(points, key=_speedup), max(points, key=_speedup)
            for key, at, end in (("figure14.least", 1.0, least), ("figure14.largest", 0.01, largest)):
                if key in known and end.query == query:
                    axes.plot([at], [known[key]], **PUBLISHED_MARK, zorder=4)
            mean = sum(one.speedup for one in points if one.query == query) / (len(points) / 2)
            said = known.get(f"figure14.query_{query}")
            words = "" if said is None else f" (published {number(said)})"
            axes.set_title(f"Query {query}: {mean:.0f} on average{words}")
            axes.axhline(1, color=BLACK, linewidth=0.8)
            axes.set(xscale="log", yscale="log", xlabel="Selectivity (%)")
            log_ticks(axes.xaxis)
            log_ticks(axes.yaxis)
            dress(axes)
        panels[0].set_ylabel("Speedup")
        legend(figure, [*panels[0].get_legend_handles_labels()[0], _published()], columns=6)


def _speedup(point: Point) -> float:
    return point.speedup


def memory(path: Path, found: Sequence[Traversal], known: Known, *, quick: bool) -> None:
    """Figure 15: host memory of the compressed index over an adjacency list's.

    Raises:
        OSError: The file cannot be written.
    """
    shares = {one.graph: one.index_bytes / one.adjacency_bytes for one in found}
    title = "Host memory of the index over an adjacency list's"
    shares["mean"] = sum(shares.values()) / len(shares)
    with drawing(path, title, (1.3 * COLUMN, 2.7), SMALLER if quick else "") as figure:
        axes = figure.subplots()
        bars = axes.bar(range(len(shares)), list(shares.values()), 0.6, **look(0).area())
        axes.bar_label(bars, [f"{share:.1%}" for share in shares.values()], padding=6, fontsize=7)
        if "figure15.saved" in known:
            axes.plot([len(shares) - 1], [1 - known["figure15.saved"]], **PUBLISHED_MARK, zorder=4)
        axes.set_xticks(range(len(shares)), list(shares))
        axes.set_ylim(0, 1)
        percent_ticks(axes.yaxis)
        dress(axes, grid="y")
        legend(figure, [_published()])


def traversals(path: Path, found: Sequence[Traversal], known: Known, *, quick: bool) -> None:
    """Figures 16 and 17: times of all visits over OOM's, a panel for each drive.

    Raises:
        OSError: The file cannot be written.
    """
    drives = list(dict.fromkeys(one.drive for one in found))
    title = "Visits of all vertices: time over OOM's"
    with drawing(path, title, (WIDTH, 2.9), SMALLER if quick else "") as figure:
        panels = figure.subplots(1, len(drives), sharey=True, squeeze=False)[0]
        for axes, drive in zip(panels, drives, strict=True):
            of = [one for one in found if one.drive == drive]
            for place, index in enumerate(INDEXES):
                heights = [one.costs[index].ns / one.costs["OOM"].ns for one in of]
                at = [group + 0.2 * (place - 1.5) for group in range(len(of))]
                bars = axes.bar(at, heights, 0.2, **look(place).area(), label=index)
                texts = [f"{height:.2f}" for height in heights]
                axes.bar_label(bars, texts, padding=2, fontsize=5.5, rotation=90)
            axes.set_xticks(range(len(of)), [one.graph for one in of])
            axes.set_title(f"{drive}" + (": SSD-B with 20 channels" if drive == "SSD-C" else ""))
            axes.set_ylim(0, 1.65)
            if drive == "SSD-C" and "figure17.c" in known:
                # The paper tells a mean speed, of which this is the time.
                said = 1 / known["figure17.c"]
                axes.axhline(said, color=BLACK, linestyle=":", label="published mean of ANVIL-O")
            dress(axes, grid="y")
        panels[0].set_ylabel("Time over OOM's")
        legend(figure, panels[-1].get_legend_handles_labels()[0], columns=5)


def shares(path: Path, found: Sequence[Moved], parts: Sequence[str], title: str, *, quick: bool) -> None:
    """Figures 18 and 19: shares of the baseline's, a panel for each drive.

    Raises:
        OSError: The file cannot be written.
    """
    drives = list(dict.fromkeys(one.drive for one in found))
    width = 0.8 / len(parts)
    with drawing(path, f"{title}, over the baseline's", (WIDTH, 3.0), QUICK if quick else "") as figure:
        panels = figure.subplots(1, len(drives), sharey=True, squeeze=False)[0]
        for axes, drive in zip(panels, drives, strict=True):
            of = [one for one in found if one.drive == drive]
            for place, part in enumerate(parts):
                heights = [getattr(one, part) for one in of]
                at = [group + width * (place - (len(parts) - 1) / 2) for group in range(len(of))]
                bars = axes.bar(at, heights, width, **look(place).area(), label=_PARTS[part])
                texts = [_share(height) for height in heights]
                axes.bar_label(bars, texts, padding=2, fontsize=5.5, rotation=90)
            axes.axhline(1, color=BLACK, linewidth=0.8)
            axes.set_xticks(range(len(of)), [one.workload for one in of], rotation=30)
            axes.set_title(drive)
            axes.set_ylim(0, 1.3 * max(getattr(one, part) for one in found for part in parts))
            percent_ticks(axes.yaxis)
            dress(axes, grid="y")
        legend(figure, panels[0].get_legend_handles_labels()[0] if len(parts) > 1 else [])


def updates(path: Path, rows: Rows, known: Known) -> None:
    """Figure 20: speedups over the host's index by the share of updates.

    Raises:
        OSError: The file cannot be written.
    """
    drives = list(dict.fromkeys(row["drive"] for row in rows))
    with drawing(path, "TPC-C's customers: speedup by the share of updates", (1.4 * COLUMN, 2.8)) as figure:
        axes = figure.subplots()
        handles: list[Artist] = []
        for place, drive in enumerate(drives):
            of = [row for row in rows if row["drive"] == drive]
            style = {**look(place).curve(), "marker": ""}
            xs, ys = [row["updates"] for row in of], [row["speedup"] for row in of]
            handles += axes.plot(xs, ys, **style, label=drive)
        axes.axhline(1, color=BLACK, linewidth=0.8)
        if "figure20.crossover_a" in known:
            axes.plot([known["figure20.crossover_a"]], [1], **PUBLISHED_MARK, zorder=4)
        axes.set(xlabel="Share of updates", ylabel="Speedup over the host's index", ylim=(0, None))
        percent_ticks(axes.xaxis)
        dress(axes)
        legend(figure, [*handles, _published()])


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.0095 else f"{value:.2%}"


def _lines(names: Sequence[str], *, markers: bool = False) -> list[Artist]:
    def style(place: int) -> dict[str, Any]:
        return look(place).curve() if markers else {**look(place).curve(), "marker": ""}

    return [Line2D([], [], **style(place), label=name) for place, name in enumerate(names)]
