"""What figures are called: label and unit of every key of reports, statistics and configurations.

Tables, plots and the documentation (docs/reference/metrics.md) take them from here, so that a figure has one
name everywhere and nobody has to read `read.p99_ns`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bitline.quantities import (
    BANDWIDTH,
    BYTES,
    COUNT,
    ENERGY,
    QUERIES,
    RATIO,
    REQUESTS,
    SHARE,
    TIME,
    Quantity,
    quantity_of,
)


@dataclass(frozen=True)
class Metric:
    """One figure."""

    key: str
    """Its path in reports, sweeps and statistics."""
    label: str
    """What people call it, without unit."""
    quantity: Quantity
    """Its unit, and how it is shown."""


#: Quantiles and other figures of latencies, by the key in `Latency.to_dict`.
QUANTILES: Mapping[str, tuple[str, str]] = {
    "mean": ("Mean", "mean"),
    "min": ("Least", "least"),
    "p50": ("p50", "median"),
    "p99": ("p99", "99th percentile"),
    "p999": ("p99.9", "99.9th percentile"),
    "p9999": ("p99.99", "99.99th percentile"),
    "max": ("Most", "most"),
}
#: What has latencies, by the key of its report.
_KINDS = {
    "read": "Read latency",
    "write": "Write latency",
    "deallocate": "Deallocation latency",
    "flush": "Flush latency",
    "latency": "Query latency",
}

#: Figures of reports.
_REPORT: Mapping[str, tuple[str, Quantity]] = {
    "elapsed_ns": ("Simulated time", TIME),
    "requests": ("Requests", COUNT),
    "failed": ("Requests failed", COUNT),
    "requests_per_second": ("Requests per second", REQUESTS),
    "megabytes_per_second": ("Bandwidth of the host", BANDWIDTH),
    "read_bytes": ("Read by the host", BYTES),
    "written_bytes": ("Written by the host", BYTES),
    "queries": ("Queries", COUNT),
    "queries_per_second": ("Queries per second", QUERIES),
    "operands": ("Vectors of a query", COUNT),
    "bits": ("Bits of a vector", COUNT),
    "operand_bits": ("Bits of all operands", COUNT),
    "unmapped_page_reads": ("Pages read that hold no data", COUNT),
    "flash_page_reads": ("Flash pages read", COUNT),
    "flash_page_programs": ("Flash pages programmed", COUNT),
    "flash_block_erases": ("Flash blocks erased", COUNT),
    "write_amplification": ("Write amplification", RATIO),
    "gc_blocks": ("Blocks collected", COUNT),
    "gc_page_copies": ("Flash pages copied by collection", COUNT),
    "wear_levelling_blocks": ("Blocks moved to level wear", COUNT),
    "wear_levelling_page_copies": ("Pages copied to level wear", COUNT),
    "slc_cache_page_writes": ("Pages written to the SLC cache", COUNT),
    "slc_cache_blocks_folded": ("SLC cache blocks folded", COUNT),
    "slc_cache_page_folds": ("Pages folded from the SLC cache", COUNT),
    "copybacks": ("Pages copied inside dies", COUNT),
    "program_suspensions": ("Programs suspended", COUNT),
    "erase_suspensions": ("Erases suspended", COUNT),
    "cache.read_hits": ("Data cache: reads that hit", COUNT),
    "cache.read_partial_hits": ("Data cache: reads that hit in part", COUNT),
    "cache.read_misses": ("Data cache: reads that missed", COUNT),
    "cache.write_hits": ("Data cache: writes that hit", COUNT),
    "cache.write_misses": ("Data cache: writes that missed", COUNT),
    "cache.evictions": ("Data cache: slots evicted", COUNT),
    "cache.write_backs": ("Data cache: pages written back", COUNT),
    "mapping.read_hits": ("Mapping cache: reads that hit", COUNT),
    "mapping.read_misses": ("Mapping cache: reads that missed", COUNT),
    "mapping.write_hits": ("Mapping cache: writes that hit", COUNT),
    "mapping.write_misses": ("Mapping cache: writes that missed", COUNT),
    "mapping.page_reads": ("Mapping pages read", COUNT),
    "mapping.page_writes": ("Mapping pages written", COUNT),
    "utilization.link_down": ("Link busy, host to drive", SHARE),
    "utilization.link_up": ("Link busy, drive to host", SHARE),
    "utilization.channel": ("Channels busy, mean", SHARE),
    "utilization.die": ("Dies busy, mean", SHARE),
    "utilization.dram": ("DRAM busy", SHARE),
    "wear.erase_count_min": ("Erases of a block, least", COUNT),
    "wear.erase_count_mean": ("Erases of a block, mean", RATIO),
    "wear.erase_count_max": ("Erases of a block, most", COUNT),
    "energy_pj": ("Energy", ENERGY),
    "trace.lines": ("Trace: lines", COUNT),
    "trace.requests": ("Trace: requests", COUNT),
    "trace.bad_lines": ("Trace: bad lines", COUNT),
    "trace.devices": ("Trace: devices", COUNT),
    "trace.out_of_order": ("Trace: requests out of order", COUNT),
    "trace.widened": ("Trace: requests widened to blocks", COUNT),
    "trace.requested_bytes": ("Trace: asked for", BYTES),
    "trace.wrapped": ("Trace: requests folded into the range", COUNT),
    "trace.left_out": ("Trace: requests left out", COUNT),
    # What else a drive's statistics have.
    "search.entries_appended": ("Entries with names appended", COUNT),
    "search.entries_deleted": ("Entries with names deleted", COUNT),
    "search.lookups": ("Lookups of names", COUNT),
    "search.senses": ("Senses that compared names", COUNT),
    "search.match_vectors": ("Match vectors read out", COUNT),
    "search.match_vector_bytes": ("Match vectors to the DRAM", BYTES),
    "search.entries_found": ("Entries found by name", COUNT),
    "search.value_pages_read": ("Logical pages of values read", COUNT),
    "search.rows_sealed": ("Rows of names programmed", COUNT),
    "search.name_pages_programmed": ("Flash pages of names programmed", COUNT),
    "search.pages_inverted": ("Flash pages of names programmed as complements", COUNT),
    "search.pages_raised": ("Flash pages with deleted names raised", COUNT),
    "search.rows_moved": ("Rows of names moved", COUNT),
    "tx.begun": ("Transactions of tasks", COUNT),
    "tx.committed": ("Transactions committed", COUNT),
    "tx.conflicts": ("Transactions aborted by a conflict", COUNT),
    "tx.rolled_back": ("Transactions rolled back for another reason", COUNT),
    "tx.pages_read": ("Logical pages read by tasks", COUNT),
    "tx.pages_written": ("Logical pages written by tasks", COUNT),
    "tx.pages_gathered": ("Logical pages written by tasks in part", COUNT),
    "tx.host_pages_diverted": ("Pages of open transactions changed by the host", COUNT),
    "tx.commit_pages_diverted": ("Pages of open transactions changed by commits", COUNT),
    "tx.entries_most": ("Entries of page versions, most", COUNT),
    "streams.opened": ("Streams opened", COUNT),
    "streams.committed": ("Streams that ended well", COUNT),
    "streams.failed": ("Streams stopped or failed", COUNT),
    "streams.pieces": ("Pieces of streams", COUNT),
    "streams.input_bytes": ("Into tasks of streams", BYTES),
    "streams.output_bytes": ("Emitted by tasks of streams", BYTES),
    "collectors.opened": ("Collections begun", COUNT),
    "collectors.packets": ("Packets collected", COUNT),
    "collectors.bytes": ("Collected", BYTES),
    "collectors.dropped_newest": ("Packets dropped as they came", COUNT),
    "collectors.dropped_newest_bytes": ("Dropped as it came", BYTES),
    "collectors.dropped_oldest": ("Packets dropped for newer ones", COUNT),
    "collectors.dropped_oldest_bytes": ("Dropped for what is newer", BYTES),
    "collectors.lost_bytes": ("Left over when a collection ended", BYTES),
    "collectors.stalled_ns": ("Packets held back, all ports", TIME),
    "collectors.written_bytes": ("Collected, on flash", BYTES),
    "collectors.task_bytes": ("Collected, to tasks", BYTES),
    "collectors.unread_bytes": ("Collected for no task", BYTES),
    "accelerators.operators": ("Operators on accelerators", COUNT),
    "accelerators.macs": ("Multiplications on accelerators", COUNT),
    "accelerators.bytes": ("Operands and results of accelerators", BYTES),
    "now_ns": ("Drive's clock", TIME),
    "link_down_bytes": ("Link, host to drive", BYTES),
    "link_up_bytes": ("Link, drive to host", BYTES),
    "channel_bytes": ("Over the channels", BYTES),
    "link_down_utilization": ("Link busy, host to drive", SHARE),
    "link_up_utilization": ("Link busy, drive to host", SHARE),
    "channel_utilization": ("Channels busy, mean", SHARE),
    "die_utilization": ("Dies busy, mean", SHARE),
    "dram_utilization": ("DRAM busy", SHARE),
    "core_utilization": ("Cores busy, mean", SHARE),
    "accelerator_utilization": ("Accelerators busy, mean", SHARE),
}

#: Abbreviations.
_UPPER = ("nand", "ftl", "gc", "dram", "slc", "mlc", "tlc", "esp", "cmt", "pcie", "nvme", "ecc", "mws", "xor")
#: Words of keys that are not written as they are spelled.
_WORDS = {
    **{word: word.upper() for word in _UPPER},
    "frontend": "front end",
    "overprovisioning": "over-provisioning",
    "qd": "queue depth",
    "pe": "P/E",
}
#: Parts of configuration keys that say nothing beside what follows them.
_SILENT = {"geometry", "kind"}
#: Endings of keys that say the unit, which stands behind the label.
_UNITS = ("_ns", "_us", "_pj", "_bytes", "_percent", "_milliwatts", "_celsius")

#: Axes of sweeps with a name that their key does not give.
_AXES: Mapping[str, str] = {
    "flow": "Flow",
    "seed": "Seed",
    "workload": "Workload",
    "preset": "Preset",
    "flow.arrival.depth": "Queue depth",
    "flow.arrival.requests_per_second": "Requests offered",
    "flow.read_fraction": "Share of reads",
    "flow.blocks": "Blocks of a request",
    "flow.range_blocks": "Range in blocks",
    "replay.timing.factor": "Gaps of the trace, factor",
    "queries.platform": "Platform",
    "group.vectors": "Vectors of a group",
    "group.bits": "Bits of a vector",
    "ftl.mode": "Cell mode",
    "ftl.overprovisioning": "Over-provisioning",
    "link.lanes": "PCIe lanes",
}


def metric(key: str) -> Metric:
    """The name and unit of a figure of reports, sweeps or statistics."""
    if key in _REPORT:
        return Metric(key, *_REPORT[key])
    head, _, rest = key.partition(".")
    if head == "statistics":
        return _of_statistics(key, rest)
    if head in _KINDS and rest:
        if rest == "count":
            return Metric(key, f"{_KINDS[head]}: number", COUNT)
        word = QUANTILES.get(rest.removesuffix("_ns"), (rest, rest))[1]
        return Metric(key, f"{_KINDS[head]}, {word}", TIME)
    if head == "energy":
        component, _, cause = rest.removesuffix("_pj").partition(".")
        return Metric(key, f"Energy of {_words(component)}: {_words(cause)}", ENERGY)
    return Metric(key, _sentence(key), quantity_of(key))


def axis(key: str) -> Metric:
    """The name and unit of what a sweep varies."""
    if key in _AXES:
        return Metric(key, _AXES[key], quantity_of(key))
    parts = key.split(".")
    if parts[0] in ("flow", "replay", "queries", "group"):
        parts = parts[1:]
    return Metric(key, _sentence(".".join(part for part in parts if part not in _SILENT)), quantity_of(key))


#: Values of axes that stand for something else than their number.
_SPECIAL: Mapping[tuple[str, float], str] = {("ftl.mapping_unit_bytes", 0): "a page"}


def special(key: str, value: object) -> str | None:
    """The words for a value of an axis that stands for something else than its number; None for others."""
    return _SPECIAL.get((key, value)) if isinstance(value, int | float) else None


def labelled() -> list[Metric]:
    """All figures with names of their own, for the documentation."""
    times = [f"{kind}.{name}_ns" for kind in _KINDS for name in QUANTILES]
    return [metric(key) for key in (*_REPORT, *times)]


def _of_statistics(key: str, rest: str) -> Metric:
    found = metric(rest) if rest in _REPORT else Metric(rest, _sentence(rest), quantity_of(rest))
    return Metric(key, f"{found.label} (since power-up)", found.quantity)


def _sentence(key: str) -> str:
    """Words for a key that has no name of its own: sections before a colon, the unit left to the axis."""
    for unit in _UNITS:
        if key.endswith(unit) and not key.endswith(f".{unit[1:]}"):
            key = key.removesuffix(unit)
            break
    words = _words(key.replace("megabytes_per_second", "bandwidth"))
    return words[:1].upper() + words[1:]


def _words(key: str) -> str:
    sections = [" ".join(_WORDS.get(word, word) for word in part.split("_")) for part in key.split(".")]
    return f"{' '.join(sections[:-1])}: {sections[-1]}" if len(sections) > 1 else sections[0]
