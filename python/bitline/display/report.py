"""How a report of workloads is shown: by `run`, `replay`, `print(report)` and in notebooks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitline.display.formats import Value, duration, energy, joined, of, percent, plain, rate, size
from bitline.display.result import Column, Fact, Result, Table
from bitline.metrics import QUANTILES, metric
from bitline.platforms import PLATFORM_NAMES
from bitline.units import counted

if TYPE_CHECKING:
    from bitline.statistics import EnergyEntry
    from bitline.units import Energy
    from bitline.workload import (
        CacheReport,
        FlowReport,
        Latency,
        MappingReport,
        QueriesReport,
        Report,
        Utilization,
    )

#: Keys and labels of files, by the option that asks for them.
_FILES = {
    "--trace": ("trace", "Trace"),
    "--latencies": ("latencies_file", "Every request"),
    "--plot": ("plot", "Figure"),
}
#: How soon quantiles give way in a narrow table.
_RANKS = {"min": 9, "p9999": 8, "p999": 7, "mean": 6}
#: The kinds of requests that a flow has latencies of.
_KINDS = ("read", "write", "deallocate", "flush")


def summary(title: str, report: "Report", files: Sequence[tuple[str, Path]] = ()) -> Result:
    """A report as facts and tables; `files` are those that the run leaves, by their option."""
    tables = {}
    if len(report.flows) > 1 or any(flow.trace for flow in report.flows):
        tables["flows"] = _flows(report.flows)
    if report.queries:
        tables["queries"] = _queries(report.queries)
    bad = _bad_lines(report.flows)
    if bad.rows:
        tables["bad_lines"] = bad
    tables |= {
        "latencies": _latencies(report),
        "utilization": _utilization(report.utilization),
        "energy": energies(report.energy, report.energy_by),
    }
    facts = {
        **_work(report),
        **_flash(report),
        **_cache(report.cache),
        **_mapping(report.mapping),
        **_energy(report),
        **{key: Fact(label, str(path)) for option, path in files for key, label in [_FILES[option]]},
    }
    return Result(title, facts, tables)


def title(report: "Report") -> str:
    """What a report is of, in a line."""
    requests = sum(flow.requests for flow in report.flows)
    queries = sum(each.queries for each in report.queries)
    done = [counted(requests, "request")] if report.flows else []
    done += [f"{queries:,} quer{'y' if queries == 1 else 'ies'}"] if report.queries else []
    return f"{' and '.join(done) or 'nothing'} in {report.elapsed}, {report.energy}"


def _named(key: str, value: Value, *, on: object = True, sub: str = "") -> Fact:
    """A fact under its name in `bitline.metrics`, or under a shorter one below the fact before it."""
    known = metric(key)
    return Fact((f"  {sub}" if sub else known.label) if on else None, value, known.quantity.show)


def _work(report: "Report") -> dict[str, Fact]:
    flows, seconds = report.flows, report.elapsed.s
    requests = sum(flow.requests for flow in flows)
    failed = sum(flow.failed for flow in flows)
    moved = report.read_bytes + report.written_bytes
    io = bool(flows) or not report.queries
    a_second = requests / seconds if seconds else 0.0
    bandwidth = moved / seconds / 1e6 if seconds else 0.0
    return {
        "requests": _named("requests", requests, on=io),
        "failed": _named("failed", failed, on=failed, sub="failed"),
        **_queried(report.queries, seconds),
        "elapsed_ns": _named("elapsed_ns", report.elapsed.ns),
        "requests_per_second": _named("requests_per_second", a_second, on=io),
        "megabytes_per_second": Fact(
            "Bandwidth of the host" if io else None, bandwidth, lambda value: f"{rate(value)} MB/s"
        ),
        "read_bytes": _named("read_bytes", int(report.read_bytes), on=io),
        "written_bytes": _named("written_bytes", int(report.written_bytes), on=io, sub="written"),
    }


def _queried(queries: "Sequence[QueriesReport]", seconds: float) -> dict[str, Fact]:
    if not queries:
        return {}
    answered = sum(each.queries for each in queries)
    failed = sum(each.failed for each in queries)
    a_second = answered / seconds if seconds else 0.0
    return {
        "queries_answered": Fact("Queries", answered),
        "queries_failed": Fact("  failed" if failed else None, failed),
        "queries_per_second": _named("queries_per_second", a_second),
        "operand_bits": _named("operand_bits", sum(each.operand_bits for each in queries)),
    }


def _flash(report: "Report") -> dict[str, Fact]:
    levelled, suspended = report.wear_levelling_blocks, report.program_suspensions + report.erase_suspensions
    cached, wear, collected = report.slc_cache_page_writes, report.wear, report.gc_blocks
    unmapped, erased = report.unmapped_page_reads, report.wear.erase_count_max
    return {
        "unmapped_page_reads": _named("unmapped_page_reads", unmapped, on=unmapped),
        "flash_page_reads": _named("flash_page_reads", report.flash_page_reads),
        "flash_page_programs": _named("flash_page_programs", report.flash_page_programs, sub="programmed"),
        "flash_block_erases": _named("flash_block_erases", report.flash_block_erases),
        "write_amplification": _named("write_amplification", report.write_amplification),
        "gc_blocks": _named("gc_blocks", collected),
        "gc_page_copies": _named("gc_page_copies", report.gc_page_copies, on=collected, sub="pages copied"),
        "wear_levelling_blocks": _named("wear_levelling_blocks", levelled, on=levelled),
        "wear_levelling_page_copies": _named(
            "wear_levelling_page_copies", report.wear_levelling_page_copies, on=levelled, sub="pages copied"
        ),
        "slc_cache_page_writes": _named("slc_cache_page_writes", cached, on=cached),
        "slc_cache_blocks_folded": _named(
            "slc_cache_blocks_folded", report.slc_cache_blocks_folded, on=cached, sub="blocks folded"
        ),
        "slc_cache_page_folds": _named(
            "slc_cache_page_folds", report.slc_cache_page_folds, on=cached, sub="pages copied"
        ),
        "copybacks": _named("copybacks", report.copybacks, on=report.copybacks),
        "program_suspensions": _named("program_suspensions", report.program_suspensions, on=suspended),
        "erase_suspensions": _named(
            "erase_suspensions", report.erase_suspensions, on=suspended, sub="erases"
        ),
        "erase_count_mean": _named("wear.erase_count_mean", wear.erase_count_mean, on=erased),
        "erase_count_min": _named("wear.erase_count_min", wear.erase_count_min, on=erased, sub="least"),
        "erase_count_max": _named("wear.erase_count_max", erased, on=erased, sub="most"),
    }


def _cache(cache: "CacheReport") -> dict[str, Fact]:
    reads = cache.read_hits + cache.read_partial_hits + cache.read_misses
    writes = cache.write_hits + cache.write_misses
    on = reads + writes > 0
    found = {
        "cache_read_hits": Fact("Data cache: reads that hit" if on else None, cache.read_hits, of(reads)),
        "cache_write_hits": Fact("  writes that hit" if on else None, cache.write_hits, of(writes)),
        "cache_write_backs": Fact("  pages written back" if on else None, cache.write_backs),
    }
    rest = ("read_partial_hits", "read_misses", "write_misses", "evictions")
    return found | {f"cache_{name}": Fact(None, getattr(cache, name)) for name in rest}


def _mapping(mapping: "MappingReport") -> dict[str, Fact]:
    hits = mapping.read_hits + mapping.write_hits
    asked = hits + mapping.read_misses + mapping.write_misses
    on = asked > 0
    return {
        "mapping_hits": Fact("Mapping cache: hits" if on else None, hits, of(asked)),
        "mapping_misses": Fact(None, asked - hits),
        "mapping_page_reads": _named("mapping.page_reads", mapping.page_reads, on=on),
        "mapping_page_writes": _named("mapping.page_writes", mapping.page_writes, on=on, sub="written"),
    }


def _energy(report: "Report") -> dict[str, Fact]:
    parts = by_component(report.energy_by)
    return {
        "energy_pj": _named("energy_pj", report.energy.pj),
        "energy_by_component_pj": Fact("  of it" if any(parts.values()) else None, parts, joined),
    }


def by_component(entries: "Sequence[EnergyEntry]") -> dict[str, Value]:
    """Picojoules of each part, whatever for."""
    parts: dict[str, Value] = {}
    for entry in entries:
        before = parts.get(entry.component, 0)
        parts[entry.component] = (before if isinstance(before, int) else 0) + entry.energy.pj
    return parts


def _flows(flows: "Sequence[FlowReport]") -> Table:
    traced = any(flow.trace for flow in flows)
    columns = [
        Column("name", "Flow"),
        Column("requests", "Requests"),
        Column("failed", "Failed", rank=1 if not any(flow.failed for flow in flows) else 0),
        Column("elapsed_ns", "Time", duration),
        Column("requests_per_second", "IOPS", rate),
        Column("megabytes_per_second", "MB/s", rate),
        Column("read_bytes", "Read", size, rank=2),
        Column("written_bytes", "Written", size, rank=2),
    ]
    headings = {
        "format": "Format",
        "lines": "Lines",
        "bad_lines": "Bad",
        "devices": "Devices",
        "out_of_order": "Out of order",
        "widened": "Widened",
        "requested_bytes": "Asked for",
        "wrapped": "Wrapped",
        "left_out": "Left out",
    }
    columns += [
        Column(key, heading if traced else None, size if key.endswith("_bytes") else plain, rank=place)
        for place, (key, heading) in enumerate(headings.items(), 3)
    ]
    rows: list[dict[str, Value]] = []
    for flow in flows:
        rows.append(
            {
                "name": flow.name,
                "requests": flow.requests,
                "failed": flow.failed,
                "elapsed_ns": flow.elapsed.ns,
                "requests_per_second": flow.requests_per_second,
                "megabytes_per_second": flow.megabytes_per_second,
                "read_bytes": int(flow.read_bytes),
                "written_bytes": int(flow.written_bytes),
                **{key: getattr(flow.trace, key, None) for key in headings},
                "requested_bytes": int(flow.trace.requested_bytes) if flow.trace else None,
            }
        )
    return Table(columns, rows)


def _queries(queries: "Sequence[QueriesReport]") -> Table:
    columns = [
        Column("name", "Queries"),
        Column("expression", None),
        Column("platform", "Platform", platform),
        Column("answer", "Answer", rank=2),
        Column("queries", "Number"),
        Column("failed", "Failed" if any(each.failed for each in queries) else None),
        Column("elapsed_ns", None),
        Column("queries_per_second", "A second", rate),
        Column("operands", "Vectors", rank=1),
        Column("bits", "Bits", rank=3),
        Column("operand_bits", None),
    ]
    rows: list[dict[str, Value]] = [
        {
            "name": each.name,
            "expression": each.expression,
            "platform": each.platform,
            "answer": each.answer,
            "queries": each.queries,
            "failed": each.failed,
            "elapsed_ns": each.elapsed.ns,
            "queries_per_second": each.queries_per_second,
            "operands": each.operands,
            "bits": each.bits,
            "operand_bits": each.operand_bits,
        }
        for each in queries
    ]
    return Table(columns, rows)


def platform(value: Value) -> str:
    """A platform by its name for people, as short as a column of a table."""
    return PLATFORM_NAMES.get(str(value), str(value)).removesuffix(" accelerator")


def _bad_lines(flows: "Sequence[FlowReport]") -> Table:
    columns = [Column("trace", "Bad lines of"), Column("line", "Line"), Column("reason", "Because")]
    rows: list[dict[str, Value]] = [
        {"trace": flow.trace.path, "line": bad.line, "reason": bad.reason}
        for flow in flows
        if flow.trace
        for bad in flow.trace.first_bad_lines
    ]
    return Table(columns, rows)


def _latencies(report: "Report") -> Table:
    several = len(report.flows) + len(report.queries) > 1
    columns = [
        Column("flow", "Flow" if several else None),
        Column("kind", "Latency"),
        Column("count", "Requests" if report.flows else "Queries", rank=5),
    ]
    columns += [
        Column(f"{key}_ns", heading, duration, rank=_RANKS.get(key, 0))
        for key, (heading, _) in QUANTILES.items()
    ]
    found: list[tuple[str, str, Latency | None]] = [
        (flow.name, kind, getattr(flow, kind)) for flow in report.flows for kind in _KINDS
    ]
    found += [(each.name, "query", each.latency) for each in report.queries]
    rows: list[dict[str, Value]] = []
    for name, kind, latency in found:
        if latency is not None:
            times = {f"{key}_ns": getattr(latency, key).ns for key in QUANTILES}
            rows.append({"flow": name, "kind": kind, "count": latency.count, **times})
    return Table(columns, rows)


def _utilization(shares: "Utilization") -> Table:
    columns = [
        Column("part", "Busy", lambda part: "DRAM" if part == "dram" else str(part)),
        Column("count", "Parts"),
        Column("mean", "Mean", percent),
        Column("least", "Least", percent),
        Column("most", "Most", percent),
    ]
    parts: dict[str, Sequence[float]] = {
        "link, host to drive": (shares.link_down,),
        "link, drive to host": (shares.link_up,),
        "channels": shares.channels,
        "dies": shares.dies,
        "dram": (shares.dram,),
    }
    rows: list[dict[str, Value]] = [
        {
            "part": part,
            "count": len(each),
            "mean": sum(each) / len(each),
            "least": min(each),
            "most": max(each),
        }
        for part, each in parts.items()
    ]
    return Table(columns, rows)


def energies(total: "Energy", entries: "Sequence[EnergyEntry]") -> Table:
    """What was spent by component and cause, with the share of each."""
    columns = [
        Column("component", "Energy"),
        Column("cause", "spent on"),
        Column("energy_pj", "Amount", energy),
        Column("share", "Share", percent),
        Column("events", "Events"),
    ]
    rows: list[dict[str, Value]] = [
        {
            "component": entry.component,
            "cause": entry.cause,
            "energy_pj": entry.energy.pj,
            "share": entry.energy.pj / total.pj if total.pj else 0.0,
            "events": entry.events,
        }
        for entry in entries
        if entry.events
    ]
    return Table(columns, rows)
