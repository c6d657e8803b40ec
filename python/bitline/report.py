"""What workloads measured: the report of `Drive.measure`. Mirrors `bitline::workload::Report` of Rust."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from bitline.display import Displayed, Result
from bitline.platforms import Platform
from bitline.records import made
from bitline.statistics import EnergyEntry
from bitline.units import Duration, Energy, Size
from bitline.workload import Answer, TraceFormat

WarningKind: TypeAlias = Literal["nothing_collected", "not_steady", "small_range", "overloaded"]


@dataclass(frozen=True)
class Latency:
    """Latencies of one class of requests. Quantiles are good to three digits, the others exact."""

    count: int
    """How many requests."""
    mean: Duration
    min: Duration
    p50: Duration
    """The median."""
    p99: Duration
    """What 99 % do not exceed."""
    p999: Duration
    """What 99.9 % do not exceed."""
    p9999: Duration
    """What 99.99 % do not exceed."""
    max: Duration


@dataclass(frozen=True)
class BadLine:
    """A line of a trace that could not be read."""

    line: int
    """Its number, counted from one."""
    reason: str
    """What is wrong with it."""


@dataclass(frozen=True)
class TraceReport:
    """What a replayed trace was like.

    Where it was replayed several times, counts of lines and requests are of all passes, those of bad lines
    and devices of the last.
    """

    path: str
    """The file."""
    format: TraceFormat
    """Its format."""
    lines: int
    """Lines read."""
    requests: int
    """Requests replayed."""
    bad_lines: int
    """Bad lines skipped."""
    first_bad_lines: tuple[BadLine, ...]
    """The first of them."""
    devices: int
    """Devices named."""
    out_of_order: int
    """Requests earlier than the one before; they arrived with it."""
    widened: int
    """Requests that were no whole blocks and grew to them."""
    requested_bytes: Size
    """Bytes that the requests asked for, before they grew."""
    wrapped: int
    """Requests beyond the range, folded into it."""
    left_out: int
    """Requests to devices that the replay leaves out."""


@dataclass(frozen=True)
class Utilization:
    """Shares of the time in which parts were busy, 0 to 1."""

    link_down: float
    """The host-to-drive direction of the link."""
    link_up: float
    """The drive-to-host direction."""
    channel: float
    """The mean over all channels."""
    die: float
    """The mean over all dies, of the array only."""
    dram: float
    """The drive's DRAM."""
    channels: tuple[float, ...]
    """Each channel by itself."""
    dies: tuple[float, ...]
    """Each die by itself."""


@dataclass(frozen=True)
class CacheReport:
    """What the data cache did, in pages of commands; all zero if there is none."""

    read_hits: int
    """Pages read wholly from the cache."""
    read_partial_hits: int
    """Pages of which a part came from the cache and the rest from flash."""
    read_misses: int
    """Pages read from flash."""
    write_hits: int
    """Pages written to a slot that was there."""
    write_misses: int
    """Pages written to a new slot."""
    evictions: int
    """Slots taken from their pages to be used for others."""
    write_backs: int
    """Pages written back to flash."""


@dataclass(frozen=True)
class MappingReport:
    """What the cache of the mapping table did; all zero if the whole table is at hand."""

    read_hits: int
    """Pages read whose mapping was at hand."""
    read_misses: int
    """Pages read whose mapping was not."""
    write_hits: int
    """Pages written whose mapping was at hand."""
    write_misses: int
    """Pages written whose mapping was not."""
    page_reads: int
    """Mapping pages read."""
    page_writes: int
    """Mapping pages written."""


@dataclass(frozen=True)
class Wear:
    """How often blocks were erased since the drive was new."""

    erase_count_min: int
    """The least erases of a block."""
    erase_count_mean: float
    """The mean."""
    erase_count_max: int
    """The most."""


@dataclass(frozen=True)
class FlowReport:
    """The result of one flow or trace."""

    name: str
    """Its name."""
    requests: int
    """Requests completed with success."""
    failed: int
    """Requests that failed, where that does not end the run."""
    elapsed: Duration
    """From the beginning to the last completion."""
    requests_per_second: float
    """Requests completed in a simulated second."""
    megabytes_per_second: float
    """Megabytes (10^6 bytes) read and written in a simulated second."""
    read_bytes: Size
    """Bytes read."""
    written_bytes: Size
    """Bytes written."""
    read: Latency | None
    """Latencies of reads; None if there were none."""
    write: Latency | None
    """Latencies of writes; None if there were none."""
    deallocate: Latency | None
    """Latencies of deallocations; None if there were none."""
    flush: Latency | None
    """Latencies of flushes; None if there were none."""
    trace: TraceReport | None
    """What the trace was like; None for flows."""


@dataclass(frozen=True)
class QueriesReport:
    """The result of a stream of queries."""

    name: str
    """Its name."""
    expression: str
    """What was asked."""
    platform: Platform
    """Who answered."""
    answer: Answer
    """What the host was told."""
    queries: int
    """Queries answered."""
    failed: int
    """Queries that failed, where that does not end the run."""
    elapsed: Duration
    """From the beginning to the last completion."""
    queries_per_second: float
    """Queries answered in a simulated second."""
    operands: int
    """Distinct vectors that a query combines."""
    bits: int
    """Length of each."""
    operand_bits: int
    """Bits of the distinct vectors of all queries answered."""
    latency: Latency | None
    """Latencies of queries; None if none was answered."""


@dataclass(frozen=True)
class ReportWarning:
    """What of a measurement is not to be taken at its face."""

    kind: WarningKind
    """`"nothing_collected"`: writes found so much room that nothing was collected; `"not_steady"`: rates or
    write amplification were still changing, or the run was too short to tell (SNIA's Performance Test
    Specification); `"small_range"`: the range is small beside the drive; `"overloaded"`: requests came
    faster than they could be served."""
    workload: str | None
    """The workload that it is about; None if about the whole run."""
    message: str
    """What was seen, what it means, and what would be right."""

    def __str__(self) -> str:
        return f"{self.workload}: {self.message}" if self.workload else self.message


@dataclass(frozen=True)
class WorkloadInterval:
    """What one workload did in one interval: requests count where they complete."""

    name: str
    """Its name."""
    requests: int
    """Requests completed."""
    requests_per_second: float
    """Requests completed in a second."""
    megabytes_per_second: float
    """Megabytes (10^6 bytes) read and written in a second."""
    read_bytes: Size
    """Bytes read."""
    written_bytes: Size
    """Bytes written."""
    outstanding: float
    """Requests outstanding on average over the interval: those in flight, and those that had arrived and
    waited to be sent, whether or not they completed in it."""
    latency: Latency | None
    """Latencies of all requests; None if none completed."""
    read: Latency | None
    """Latencies of reads; None if there were none."""
    write: Latency | None
    """Latencies of writes; None if there were none."""


@dataclass(frozen=True)
class Interval:
    """What the drive did in one interval of a run."""

    begin: Duration
    """Since the beginning of the run."""
    end: Duration
    flash_page_programs: int
    """Pages programmed."""
    flash_block_erases: int
    """Blocks erased."""
    gc_page_copies: int
    """Flash pages programmed with copies by garbage collection."""
    write_amplification: float | None
    """Bytes programmed for each byte that writes completed in the interval wrote; None without any."""
    erase_count_mean: float
    """Erases of a block since the drive was new, on average, at the end of the interval."""
    erase_count_max: int
    """The same of the block that was erased most."""
    workloads: tuple[WorkloadInterval, ...]
    """What each workload did, in the order in which they were given."""


@dataclass(frozen=True, repr=False)
class Series(Displayed):
    """A run, interval by interval."""

    interval: Duration
    """Length of each interval but the last."""
    intervals: tuple[Interval, ...]
    """In order and without gaps."""

    def _shown(self) -> Result:
        from bitline.display.series import shown

        return shown(self)

    def _line(self) -> str:
        return f"{len(self.intervals)} intervals of {self.interval}"

    def _rows(self) -> list[dict[str, Any]]:
        from bitline.display.series import rows

        return rows(self)


@dataclass(frozen=True, repr=False)
class Report(Displayed):
    """The result of running workloads. What filled ranges beforehand does not count."""

    flows: tuple[FlowReport, ...]
    """One a flow or trace."""
    queries: tuple[QueriesReport, ...]
    """One a stream of queries."""
    elapsed: Duration
    """From the beginning to when the last of them was done."""
    read_bytes: Size
    """Bytes read by the host."""
    written_bytes: Size
    """Bytes written by the host."""
    unmapped_page_reads: int
    """Pages read that hold no data, because nothing wrote them: they touch no flash."""
    flash_page_reads: int
    """Pages sensed by reads."""
    flash_page_programs: int
    """Pages programmed."""
    flash_block_erases: int
    """Blocks erased."""
    write_amplification: float | None
    """Bytes programmed for each byte written by the host; None if it wrote none."""
    gc_blocks: int
    """Blocks emptied by garbage collection."""
    gc_page_copies: int
    """Flash pages programmed with copies by garbage collection."""
    wear_levelling_blocks: int
    """Blocks emptied to level wear."""
    wear_levelling_page_copies: int
    """Pages copied for that."""
    slc_cache_page_writes: int
    """Pages written to the SLC cache."""
    slc_cache_blocks_folded: int
    """Blocks of the SLC cache emptied."""
    slc_cache_page_folds: int
    """Pages copied for that."""
    copybacks: int
    """Pages copied inside their dies, whatever for."""
    program_suspensions: int
    """Times a program was suspended."""
    erase_suspensions: int
    """Times an erase was suspended."""
    cache: CacheReport
    """The data cache."""
    mapping: MappingReport
    """The cache of the mapping table."""
    utilization: Utilization
    """Shares of the elapsed time in which parts were busy."""
    wear: Wear
    """Wear at the end."""
    energy: Energy
    """Spent by everything."""
    energy_by: tuple[EnergyEntry, ...] = field(metadata={"key": "energy"})
    """The same by component and cause."""
    draw: int
    """Which random numbers workloads drew; `drive.measure(..., draw=)` of this number draws them again."""
    warnings: tuple[ReportWarning, ...]
    """What of all this is not to be taken at its face."""
    series: Series
    """How it went over time."""
    data: Mapping[str, Any]
    """All of it as plain numbers, each with its unit in its name."""

    @classmethod
    def _from_json(cls, text: str) -> Self:
        data = json.loads(text)
        return made(cls, data, data=data)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, each with its unit in its name."""
        return dict(self.data)

    def _shown(self) -> Result:
        from bitline.display.report import summary, title

        return summary(title(self), self)

    def _line(self) -> str:
        from bitline.display.report import title

        return title(self)

    def _rows(self) -> list[dict[str, Any]]:
        from bitline.display.arrow import report_rows

        return report_rows(self.data)
