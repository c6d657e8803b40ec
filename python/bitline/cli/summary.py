"""What `run` and `replay` print: everything that a report says, for people and as JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bitline.cli.output import Column, Fact, Format, Result, Table, Value, duration, energy, plain, rate, size
from bitline.workload import (
    FLOW_KINDS,
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
#: Quantiles of latencies, with their headings.
_QUANTILES = {
    "mean": "Mean",
    "min": "Least",
    "p50": "p50",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "Most",
}


def summary(title: str, report: Report, files: Sequence[tuple[str, Path]]) -> Result:
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
        "energy": _energies(report),
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


def _work(report: Report) -> dict[str, Fact]:
    flows, seconds = report.flows, report.elapsed.s
    requests = sum(flow.requests for flow in flows)
    failed = sum(flow.failed for flow in flows)
    moved = report.read_bytes + report.written_bytes
    io = bool(flows) or not report.queries
    return {
        "requests": Fact("Requests" if io else None, requests),
        "failed": Fact("  failed" if failed else None, failed),
        **_queried(report.queries, seconds),
        "elapsed_ns": Fact("Simulated time", report.elapsed.ns, duration),
        "requests_per_second": Fact(
            "Requests per second" if io else None, requests / seconds if seconds else 0.0, rate
        ),
        "megabytes_per_second": Fact(
            "Megabytes per second" if io else None, moved / seconds / 1e6 if seconds else 0.0, rate
        ),
        "read_bytes": Fact("Bytes read" if io else None, int(report.read_bytes), size),
        "written_bytes": Fact("  written" if io else None, int(report.written_bytes), size),
    }


def _queried(queries: Sequence[QueriesReport], seconds: float) -> dict[str, Fact]:
    if not queries:
        return {}
    answered = sum(each.queries for each in queries)
    failed = sum(each.failed for each in queries)
    return {
        "queries_answered": Fact("Queries", answered),
        "queries_failed": Fact("  failed" if failed else None, failed),
        "queries_per_second": Fact("  a second", answered / seconds if seconds else 0.0, rate),
        "operand_bits": Fact("  bits of operands", sum(each.operand_bits for each in queries)),
    }


def _flash(report: Report) -> dict[str, Fact]:
    levelled, suspended = report.wear_levelling_blocks, report.program_suspensions + report.erase_suspensions
    cached, wear = report.slc_cache_page_writes, report.wear
    unmapped = report.unmapped_page_reads
    return {
        "unmapped_page_reads": Fact("Pages read that hold no data" if unmapped else None, unmapped),
        "flash_page_reads": Fact("Flash pages read", report.flash_page_reads),
        "flash_page_programs": Fact("  programmed", report.flash_page_programs),
        "flash_block_erases": Fact("Flash blocks erased", report.flash_block_erases),
        "write_amplification": Fact("Write amplification", report.write_amplification),
        "gc_blocks": Fact("Blocks collected", report.gc_blocks),
        "gc_page_copies": Fact("  pages copied", report.gc_page_copies),
        "wear_levelling_blocks": Fact("Blocks moved to level wear" if levelled else None, levelled),
        "wear_levelling_page_copies": Fact(
            "  pages copied" if levelled else None, report.wear_levelling_page_copies
        ),
        "slc_cache_page_writes": Fact("Pages written to the SLC cache" if cached else None, cached),
        "slc_cache_blocks_folded": Fact(
            "  blocks folded" if cached else None, report.slc_cache_blocks_folded
        ),
        "slc_cache_page_folds": Fact("  pages copied" if cached else None, report.slc_cache_page_folds),
        "copybacks": Fact("Pages copied inside dies" if report.copybacks else None, report.copybacks),
        "program_suspensions": Fact("Programs suspended" if suspended else None, report.program_suspensions),
        "erase_suspensions": Fact("  erases" if suspended else None, report.erase_suspensions),
        "erase_count_mean": Fact("Erases of a block, mean", wear.erase_count_mean),
        "erase_count_min": Fact("  least", wear.erase_count_min),
        "erase_count_max": Fact("  most", wear.erase_count_max),
    }


def _cache(cache: CacheReport) -> dict[str, Fact]:
    reads = cache.read_hits + cache.read_partial_hits + cache.read_misses
    writes = cache.write_hits + cache.write_misses
    on = reads + writes > 0
    found = {
        "cache_read_hits": Fact("Data cache, reads that hit" if on else None, cache.read_hits, _of(reads)),
        "cache_write_hits": Fact("  writes that hit" if on else None, cache.write_hits, _of(writes)),
        "cache_write_backs": Fact("  pages written back" if on else None, cache.write_backs),
    }
    rest = ("read_partial_hits", "read_misses", "write_misses", "evictions")
    return found | {f"cache_{name}": Fact(None, getattr(cache, name)) for name in rest}


def _mapping(mapping: MappingReport) -> dict[str, Fact]:
    hits = mapping.read_hits + mapping.write_hits
    asked = hits + mapping.read_misses + mapping.write_misses
    on = asked > 0
    return {
        "mapping_hits": Fact("Mapping cache, hits" if on else None, hits, _of(asked)),
        "mapping_misses": Fact(None, asked - hits),
        "mapping_page_reads": Fact("  mapping pages read" if on else None, mapping.page_reads),
        "mapping_page_writes": Fact("  written" if on else None, mapping.page_writes),
    }


def _energy(report: Report) -> dict[str, Fact]:
    parts: dict[str, Value] = {}
    for entry in report.energy_by:
        before = parts.get(entry.component, 0)
        parts[entry.component] = (before if isinstance(before, int) else 0) + entry.energy.pj

    def show(value: Value) -> str:
        shown = value.items() if isinstance(value, Mapping) else ()
        return ", ".join(f"{part} {energy(spent)}" for part, spent in shown if spent)

    return {
        "energy_pj": Fact("Energy", report.energy.pj, energy),
        "energy_by_component_pj": Fact("  of it" if any(parts.values()) else None, parts, show),
    }


def _of(total: int) -> Format:
    """A count with its share of a total."""

    def show(value: Value) -> str:
        return (
            f"{plain(value)} ({percent(value / total)})" if isinstance(value, int) and total else plain(value)
        )

    return show


def percent(value: Value) -> str:
    """A share, such as 12.3 %."""
    return f"{value * 100:.1f} %" if isinstance(value, int | float) else plain(value)


def _flows(flows: Sequence[FlowReport]) -> Table:
    traced = any(flow.trace for flow in flows)
    columns = [
        Column("name", "Flow"),
        Column("requests", "Requests"),
        Column("failed", "Failed"),
        Column("elapsed_ns", "Time", duration),
        Column("requests_per_second", "A second", rate),
        Column("megabytes_per_second", "MB/s", rate),
        Column("read_bytes", "Read", size),
        Column("written_bytes", "Written", size),
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
        Column(key, heading if traced else None, size if key.endswith("_bytes") else plain)
        for key, heading in headings.items()
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


def _queries(queries: Sequence[QueriesReport]) -> Table:
    columns = [
        Column("name", "Queries"),
        Column("expression", None),
        Column("platform", "Platform"),
        Column("answer", "Answer"),
        Column("queries", "Number"),
        Column("failed", "Failed" if any(each.failed for each in queries) else None),
        Column("elapsed_ns", None),
        Column("queries_per_second", "A second", rate),
        Column("operands", "Vectors"),
        Column("bits", "Bits"),
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


def _bad_lines(flows: Sequence[FlowReport]) -> Table:
    columns = [Column("trace", "Bad lines of"), Column("line", "Line"), Column("reason", "Because")]
    rows: list[dict[str, Value]] = [
        {"trace": flow.trace.path, "line": bad.line, "reason": bad.reason}
        for flow in flows
        if flow.trace
        for bad in flow.trace.first_bad_lines
    ]
    return Table(columns, rows)


def _latencies(report: Report) -> Table:
    several = len(report.flows) + len(report.queries) > 1
    columns = [
        Column("flow", "Flow" if several else None),
        Column("kind", "Latency"),
        Column("count", "Requests" if report.flows else "Queries"),
    ]
    # Names of queries beside all quantiles are more than a line of 80 columns holds.
    hidden = ("min",) if several and report.queries else ()
    columns += [
        Column(f"{key}_ns", None if key in hidden else heading, duration)
        for key, heading in _QUANTILES.items()
    ]
    found: list[tuple[str, str, Latency | None]] = [
        (flow.name, kind, getattr(flow, kind)) for flow in report.flows for kind in FLOW_KINDS
    ]
    found += [(each.name, "query", each.latency) for each in report.queries]
    rows: list[dict[str, Value]] = []
    for name, kind, latency in found:
        if latency is not None:
            times = {f"{key}_ns": getattr(latency, key).ns for key in _QUANTILES}
            rows.append({"flow": name, "kind": kind, "count": latency.count, **times})
    return Table(columns, rows)


def _utilization(shares: Utilization) -> Table:
    columns = [
        Column("part", "Busy"),
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


def _energies(report: Report) -> Table:
    total = report.energy.pj
    columns = [
        Column("component", "Component"),
        Column("cause", "Cause"),
        Column("energy_pj", "Energy", energy),
        Column("share", "Share", percent),
        Column("events", "Events"),
    ]
    rows: list[dict[str, Value]] = [
        {
            "component": entry.component,
            "cause": entry.cause,
            "energy_pj": entry.energy.pj,
            "share": entry.energy.pj / total if total else 0.0,
            "events": entry.events,
        }
        for entry in report.energy_by
        if entry.events
    ]
    return Table(columns, rows)
