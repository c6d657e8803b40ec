"""The figures of ANVIL, regenerated: files, measured numbers, and the table of deviations."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any

from bitline.repro.anvil import olap, plots, system, vertical
from bitline.repro.anvil.drives import PAGE_BYTES
from bitline.repro.anvil.lab import CYCLES, Lab
from bitline.repro.comparison import Comparison, Measured, Settings, held, keep, wanted_of

Numbers = dict[str, float]
Make = Callable[[Lab, Settings], Numbers]

#: Tuples of Figure 3, from a row's to many rows'.
_TUPLES = tuple(1 << power for power in range(10, 31))
#: Bytes of values of Figure 4.
_VALUES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: Shares of updates of Figure 20.
_UPDATES = tuple(step / 100 for step in range(0, 101, 5))
#: The time that the paper compares a scan with (3).
_IMS_NS = 2.88e6


def figure_3(lab: Lab, settings: Settings) -> Numbers:
    """Time of a lookup by the number of tuples."""
    parts = lab.parts[0]
    rows = []
    for name_bytes, value_bytes in vertical.SIZES:
        for tuples in _TUPLES:
            conventional = parts.conventional(tuples, name_bytes + value_bytes)
            rows += [
                {"value_bytes": value_bytes, "tuples": tuples, "system": name, "time_ns": time}
                for name, time in (
                    ("Conv", conventional),
                    ("IMS", parts.vertical(tuples, value_bytes)),
                    ("Dual", parts.dual(tuples)),
                )
            ]
    keep(settings.out / "figure-03.parquet", rows)
    plots.lookups(settings.out / "figure-03.png", rows)
    return {
        "figure03.ims_ms": 128 * parts.bit.ns / 1e6,
        "figure03.tuples_meanwhile": _IMS_NS / parts.units.scan.ns * PAGE_BYTES / 20,
    }


def figure_4(lab: Lab, settings: Settings) -> Numbers:
    """Speedup over a scan by the size of values."""
    parts = lab.parts[0]
    rows: list[dict[str, Any]] = []
    for name_bytes in vertical.NAMES:
        for value_bytes in _VALUES:
            scan = parts.conventional(vertical.TUPLES, name_bytes + value_bytes)
            rows += [
                {"name_bytes": name_bytes, "value_bytes": value_bytes, "system": name, "speedup": scan / time}
                for name, time in (
                    ("IMS", parts.vertical(vertical.TUPLES, value_bytes)),
                    ("Dual", parts.dual(vertical.TUPLES)),
                )
            ]
    keep(settings.out / "figure-04.parquet", rows)
    plots.value_sizes(settings.out / "figure-04.png", rows)

    def rises(name: str) -> Iterator[float]:
        for size in vertical.NAMES:
            of: list[float] = [
                row["speedup"] for row in rows if (row["system"], row["name_bytes"]) == (name, size)
            ]
            yield of[-1] / of[_VALUES.index(64)]

    return {
        "figure04.ims_worsens": float(all(ratio < 1 for ratio in rises("IMS"))),
        "figure04.dual_stays": float(all(ratio >= 1 for ratio in rises("Dual"))),
    }


def figure_9(lab: Lab, settings: Settings) -> Numbers:
    """Errors of lookups by cycles and mode."""
    found = lab.errors
    rows = [
        {
            "mode": mode,
            "pe_cycles": cycles,
            "names": one.names,
            "raise_steps": one.raise_steps,
            "misses": one.misses,
            "false_matches": one.false_matches,
            "expected_misses": one.expected_misses,
            "expected_false_matches": one.expected_false_matches,
        }
        for (mode, cycles), one in found.items()
    ]
    keep(settings.out / "figure-09.parquet", rows)
    plots.errors(settings.out / "figure-09.png", rows, settings.values())
    few, many = CYCLES[0], CYCLES[-1]

    def none_missed(mode: str) -> float:
        return float(all(found[mode, cycles].misses == 0 for cycles in CYCLES))

    slc, esp = found["S", few], found["S+E", many]
    return {
        "figure09.slc_misses": slc.misses / slc.names,
        "figure09.slc_false": slc.false_matches / slc.names,
        "figure09.esp_none": float(found["S+E", few].misses == found["S+E", few].false_matches == 0),
        "figure09.esp_misses": esp.expected_misses,
        "figure09.esp_false": esp.expected_false_matches,
        "figure09.tuned_none": none_missed("S+F"),
        "figure09.tuned_false": found["S+F", few].false_matches / found["S+F", few].names,
        "figure09.both_none": none_missed("S+E+F"),
        "figure09.both_false": found["S+E+F", many].expected_false_matches,
    }


def figure_13(lab: Lab, settings: Settings) -> Numbers:
    """TPC-C: speedups, and pages of chains."""
    found = lab.transactions
    pages = lab.customers.pages
    rows = [
        {
            "drive": one.drive,
            "read_ns": one.read.ns,
            "lookup_of_one_ns": one.one.ns,
            "lookup_ns": one.lookup.ns,
            "baseline_ns": one.baseline.ns,
            "speedup": one.speedup,
            "crossover_pages": one.crossover,
            "beyond_crossover": one.beyond,
        }
        for one in found
    ]
    keep(settings.out / "figure-13.parquet", rows)
    shares = [float((pages <= count).mean()) for count in range(1, int(pages.max()) + 1)]
    keep(
        settings.out / "figure-13-pages.parquet",
        [{"pages": count, "share_of_queries": share} for count, share in enumerate(shares, 1)],
    )
    plots.transactions(settings.out / "figure-13.png", found, shares, settings.values(), quick=lab.quick)
    measured = {"figure13.lookup_over_read": found[0].one.ns / found[0].read.ns}
    for one in found:
        drive = one.drive[-1].lower()
        measured[f"figure13.speedup_{drive}"] = one.speedup
        measured[f"figure13.crossover_{drive}"] = float(one.crossover)
        measured[f"figure13.beyond_{drive}"] = one.beyond
    measured["figure13.six_pages"] = float((pages >= 6).mean())
    return measured


def figure_14(lab: Lab, settings: Settings) -> Numbers:
    """TPC-H: speedups over a scan."""
    points = [point for units in lab.units for point in units.points()]
    keep(
        settings.out / "figure-14.parquet",
        [
            {
                "drive": point.drive,
                "query": point.query,
                "patterns": olap.patterns(point.query),
                "selectivity": point.selectivity,
                "locality": point.locality,
                "lookup_ns": point.lookup.ns,
                "scan_ns": point.scan.ns,
                "speedup": point.speedup,
            }
            for point in points
        ],
    )
    of_a = [point for point in points if point.drive == "SSD-A"]
    plots.sweep(settings.out / "figure-14.png", of_a, settings.values())
    by_query = {query: [point.speedup for point in of_a if point.query == query] for query in (1, 2)}
    return {
        "figure14.query_1": fmean(by_query[1]),
        "figure14.query_2": fmean(by_query[2]),
        "figure14.mean": fmean(by_query[1] + by_query[2]),
        "figure14.least": min(by_query[1] + by_query[2]),
        "figure14.largest": max(by_query[1] + by_query[2]),
    }


def figures_15_to_17(lab: Lab, settings: Settings) -> Numbers:
    """Graphs: host memory, and times of visits."""
    found = lab.traversals
    keep(
        settings.out / "figure-15.parquet",
        [
            {
                "graph": one.graph,
                "vertices": one.vertices,
                "edges": one.edges,
                "search_regions": one.regions,
                "heavy_vertices": one.heavy,
                "index_bytes": one.index_bytes,
                "adjacency_list_bytes": one.adjacency_bytes,
            }
            for one in found
            if one.drive == "SSD-A"
        ],
    )
    for name, drives in (("figure-16", ("SSD-A",)), ("figure-17", ("SSD-B", "SSD-C"))):
        shown = [one for one in found if one.drive in drives]
        keep(
            settings.out / f"{name}.parquet",
            [
                {
                    "graph": one.graph,
                    "drive": one.drive,
                    "index": index,
                    "visited": one.visited,
                    "time_ns": cost.ns,
                    "over_oom": cost.ns / one.costs["OOM"].ns,
                    "busiest_part_ns": one.busiest(index),
                }
                for one in shown
                for index, cost in one.costs.items()
            ],
        )
        plots.traversals(settings.out / f"{name}.png", shown, settings.values(), quick=lab.quick)
    of_a = [one for one in found if one.drive == "SSD-A"]
    plots.memory(settings.out / "figure-15.png", of_a, settings.values(), quick=lab.quick)

    def speed(drive: str, index: str, over: str = "OOM") -> float:
        return fmean(one.costs[over].ns / one.costs[index].ns for one in found if one.drive == drive)

    return {
        "figure15.saved": fmean(1 - one.index_bytes / one.adjacency_bytes for one in of_a),
        "figure16.oom_over_im": speed("SSD-A", "IM"),
        "figure16.u": speed("SSD-A", "ANVIL-U"),
        "figure16.o": speed("SSD-A", "ANVIL-O"),
        "figure16.o_over_u": speed("SSD-A", "ANVIL-O", "ANVIL-U"),
        "figure17.b": speed("SSD-B", "ANVIL-O"),
        "figure17.c": speed("SSD-C", "ANVIL-O"),
    }


def figures_18_and_19(lab: Lab, settings: Settings) -> Numbers:
    """Blocks activated, and data moved."""
    found = system.moved(lab.transactions, lab.units, lab.traversals)
    keep(
        settings.out / "figure-18.parquet",
        [{"workload": one.workload, "drive": one.drive, "activations": one.activations} for one in found],
    )
    keep(
        settings.out / "figure-19.parquet",
        [
            {
                "workload": one.workload,
                "drive": one.drive,
                "flash_to_firmware": one.flash,
                "all_on_channels": one.channels,
                "link": one.link,
            }
            for one in found
        ],
    )
    plots.shares(settings.out / "figure-18.png", found, ("activations",), "Blocks activated", quick=lab.quick)
    plots.shares(
        settings.out / "figure-19.png", found, ("flash", "channels", "link"), "Data moved", quick=lab.quick
    )
    scans = [one for one in found if one.workload.startswith("TPC-H")]
    databases = [one for one in found if system.is_database(one)]
    visits = [one for one in found if not system.is_database(one) and one.drive == "SSD-A"]
    return {
        "figure18.databases": 1 - fmean(one.activations for one in scans),
        "figure18.graphs": fmean(one.activations for one in visits),
        "figure19.all": 1 - fmean(share for one in found for share in (one.flash, one.link)),
        "figure19.database_flash": 1 - fmean(one.flash for one in databases),
        "figure19.database_link": 1 - fmean(one.link for one in databases),
    }


def figure_20(lab: Lab, settings: Settings) -> Numbers:
    """Speedups with updates."""
    found = lab.transactions
    rows = [
        {"drive": one.drive, "updates": share, "speedup": one.with_updates(share)}
        for one in found
        for share in _UPDATES
    ]
    keep(settings.out / "figure-20.parquet", rows)
    plots.updates(settings.out / "figure-20.png", rows, settings.values())
    return {"figure20.crossover_a": found[0].update_crossover}


def section_84(lab: Lab, settings: Settings) -> Numbers:
    """Blocks of names, and link tables."""
    largest = max((one for one in lab.traversals if one.drive == "SSD-A"), key=lambda one: one.edges)
    graph = (largest.graph, largest.edges, largest.regions, largest.regions)
    found = list(system.capacities(graph))
    keep(
        settings.out / "section-8.4.parquet",
        [
            {
                "workload": one.workload,
                "drive": one.drive,
                "blocks": one.blocks,
                "share_of_blocks": one.share,
                "unused_cells": one.unused,
                "link_table_bytes": one.link_table_bytes,
            }
            for one in found
        ],
    )
    measured: Numbers = {}
    names = {"TPC-C": "tpcc", "TPC-H": "tpch", "Kron25": "kron"}
    for one in found:
        # A smaller graph is not the paper's.
        if one.workload not in names:
            continue
        workload, drive = names[one.workload], one.drive[-1].lower()
        measured[f"section84.blocks.{workload}.{drive}"] = float(one.blocks)
        if one.drive == "SSD-A":
            measured[f"section84.unused.{workload}"] = one.unused
            measured[f"section84.link.{workload}"] = one.link_table_bytes / 1e3
    return measured


#: What makes each figure or section, by the name people call it.
FIGURES: Mapping[str, Make] = {
    "3": figure_3,
    "4": figure_4,
    "9": figure_9,
    "13": figure_13,
    "14": figure_14,
    "15": figures_15_to_17,
    "16": figures_15_to_17,
    "17": figures_15_to_17,
    "18": figures_18_and_19,
    "19": figures_18_and_19,
    "20": figure_20,
    "8.4": section_84,
}


def reproduce(figures: Iterable[str], settings: Settings) -> list[Comparison]:
    """Make figures and compare what they measure with what is published.

    Args:
        figures: Names of `FIGURES`.
        settings: How, where, and what is published.

    Returns:
        The comparisons, in the order of the published numbers. They are in `table.parquet`, too.

    Raises:
        UsageError: There is no such figure.
        OSError: A file cannot be written.
    """
    wanted = wanted_of(figures, FIGURES)
    settings.out.mkdir(parents=True, exist_ok=True)
    lab = Lab(settings.progress, quick=settings.quick)
    measured: Numbers = {}
    for make in dict.fromkeys(FIGURES[name] for name in wanted):
        measured |= make(lab, settings)
    return held(wanted, settings, {key: Measured(value) for key, value in measured.items()})
