"""What a drive has done: counts, bytes, times and energies.

Counts are ints, times `Duration`, energies `Energy`, byte counts `Size`. `to_dict()` gives plain numbers
with the unit in each name. Mirrors `bitline::Statistics` of the Rust crate; a test keeps them equal.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from bitline.display import Displayed, Result
from bitline.records import made, plain
from bitline.units import Duration, Energy, Size, counted

T = TypeVar("T")


@dataclass(frozen=True)
class CommandCounts:
    """The front end, where commands arrive and complete."""

    commands: int
    """Commands completed, admin commands included."""
    failed_commands: int
    """Of these, with a status other than success."""
    invalid_doorbells: int
    """Doorbells with a value that is no slot of their queue, or of no queue."""
    fetch_errors: int
    """Entries that could not be fetched from host memory."""


@dataclass(frozen=True)
class CacheCounts:
    """The data cache, in pages of commands."""

    read_hits: int
    """Pages that a command read wholly from the cache."""
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
    write_back_failures: int
    """Write-backs that failed; the data stayed in the cache."""
    back_pressure_waits: int
    """Times that a write waited because too much was on its way to flash."""


@dataclass(frozen=True)
class TranslationCounts:
    """The flash translation layer: logical pages of the host, flash pages moved."""

    host_page_writes: int
    """Logical pages that host commands wrote, whole or in part."""
    host_page_reads: int
    """Logical pages that host commands read, whole or in part."""
    unmapped_page_reads: int
    """Of these, logical pages without data, which touch no flash."""
    partial_write_reads: int
    """Logical pages read because a write covered only a part of them."""
    tombstones: int
    """Records of deallocation written."""
    gc_blocks: int
    """Blocks emptied by garbage collection."""
    gc_page_copies: int
    """Flash pages programmed with copies by garbage collection."""
    wear_levelling_blocks: int
    """Blocks emptied because they were erased much less often than others of their plane."""
    wear_levelling_page_copies: int
    """Flash pages programmed with copies for that."""
    slc_cache_page_writes: int
    """Flash pages written to the SLC cache."""
    slc_cache_blocks_folded: int
    """Blocks of the SLC cache emptied."""
    slc_cache_page_folds: int
    """Flash pages programmed with copies for that."""
    program_failures: int
    """Programs that failed and were repeated elsewhere."""
    blocks_retired: int
    """Blocks taken out of use."""
    pages_lost: int
    """Needed flash pages that could not be read any more; at power-up also those whose record is damaged, as
    any may have been needed; where there are none, one if a needed group of the journal is missing."""
    cmt_read_hits: int
    """Reads of logical pages whose mapping was at hand; with an ideal table nobody asks."""
    cmt_read_misses: int
    """Reads of logical pages whose mapping was not."""
    cmt_write_hits: int
    """Writes of logical pages whose mapping was at hand."""
    cmt_write_misses: int
    """Writes of logical pages whose mapping was not."""
    mapping_page_reads: int
    """Reads of mapping pages."""
    mapping_page_writes: int
    """Mapping pages written."""
    checkpoints: int
    """Checkpoints completed."""
    compute_blocks_erased: int
    """Blocks for computing erased, those lent to evaluations included."""
    compute_page_copies: int
    """Flash pages placed anew to win blocks for computing, or off failing ones."""
    tentative_page_writes: int
    """Flash pages programmed with what transactions wrote."""
    snapshots_given_up: int
    """Transactions given up, as what they could still read took more room than there is for that."""


@dataclass(frozen=True)
class FlashCounts:
    """The flash."""

    page_reads: int
    """Pages sensed by plain reads."""
    page_programs: int
    """Pages programmed, raises of cells of them included."""
    page_raises: int
    """Of these, raises."""
    block_erases: int
    """Blocks erased."""
    senses: int
    """Sensing operations, one for each plane and command, plain reads included."""
    multi_plane_commands: int
    """Commands that served several planes at once."""
    multi_plane_reads: int
    """Of these, page reads."""
    multi_plane_programs: int
    """Of these, programs, copybacks and raises included."""
    multi_plane_erases: int
    """Of these, erases."""
    mapping_reads: int
    """Pages read for the mapping's own tables, recovery included."""
    mapping_programs: int
    """Pages programmed for the mapping's own tables."""
    collection_reads: int
    """Pages read by collection, copybacks aside."""
    collection_programs: int
    """Pages programmed by collection, copybacks included."""
    copybacks: int
    """Pages copied inside their plane."""
    page_complements: int
    """Pages programmed with the complement of what was in their plane's register: no data on the channel."""
    pages_retried: int
    """Pages that their code could not correct at the first read."""
    read_retries: int
    """Further reads of these, with lower read references."""
    pages_given_up: int
    """Of these pages, how many could not be corrected at all."""
    program_suspensions: int
    """Times a program was suspended."""
    erase_suspensions: int
    """Times an erase was suspended."""
    computations_interrupted: int
    """Times a computation stood back at a border of its steps."""
    latches_saved: int
    """Pages of latches moved out so that other work could have them."""
    latches_restored: int
    """Pages moved back into latches."""


@dataclass(frozen=True)
class BitsCounts:
    """Bulk bitwise computing."""

    rows_written: int
    """Rows, and parts of rows, written with placement handles: a vector is one or more of them."""
    pages_written: int
    """Pages of them."""
    page_programs: int
    """Pages programmed for that, those of failed attempts included."""
    write_retries: int
    """Programs that failed and were repeated elsewhere."""
    evaluations: int
    """Expressions evaluated in the drive."""
    controller_fallbacks: int
    """Of these, how many the array was to compute alone but needed the controller for."""
    flash_cosmos_senses: int
    """Senses of Flash-Cosmos plans."""
    parabit_senses: int
    """Senses of ParaBit plans."""
    in_storage_senses: int
    """Senses of plans of the in-storage accelerator: one for each operand page."""
    page_transfers: int
    """Pages read out of latches over the channels."""
    accelerator_bytes: int
    """Bytes of operands that the accelerator took in."""
    blocks_erased: int
    """Blocks of placed pages erased, temporary ones included."""
    gathers: int
    """Evaluations that brought pages of some dies to others."""
    temporary_page_programs: int
    """Pages programmed for that."""
    checks: int
    """Evaluations that were compared with those of a second plan."""
    check_senses: int
    """Senses of the second plans."""
    disagreements: int
    """Evaluations whose two results differ."""
    differing_bits: int
    """Bits in which they differ."""


@dataclass(frozen=True)
class SearchCounts:
    """Name-value lookup: names that the flash compares, and values."""

    entries_appended: int
    """Entries appended."""
    entries_deleted: int
    """Entries deleted."""
    lookups: int
    """Lookups, their continuations and those of deletions included."""
    senses: int
    """Senses of one plane each that compared names."""
    match_vectors: int
    """Match vectors, a bit for each name of a row, read out over the channels."""
    match_vector_bytes: Size
    """Bytes of these that went to the drive's DRAM."""
    entries_found: int
    """Entries found."""
    value_pages_read: int
    """Logical pages of values read."""
    rows_sealed: int
    """Rows of names programmed."""
    name_pages_programmed: int
    """Pages programmed for that."""
    pages_inverted: int
    """Of these, pages that crossed no channel, as the complement of another."""
    pages_raised: int
    """Pages in which the cells of deleted entries were raised."""
    rows_moved: int
    """Rows of names moved to other blocks."""


@dataclass(frozen=True)
class TransactionCounts:
    """Transactions of tasks; runs that are none (isolation `file` and `block`) count with the pages only."""

    begun: int
    """Transactions begun."""
    committed: int
    """Those that committed."""
    conflicts: int
    """Those that aborted, as somebody else was first or what they could read was given up."""
    rolled_back: int
    """Those that were rolled back for another reason."""
    pages_read: int
    """Logical pages that they read, wherever these were."""
    pages_written: int
    """Logical pages that they wrote as a whole; of runs that are no transactions all that they wrote."""
    pages_gathered: int
    """Logical pages gathered in DRAM, as only a part of them was written."""
    host_pages_diverted: int
    """Logical pages of open transactions' files that the host, or a run that is no transaction, changed, what
    was there before being kept: what TxISC diverts into host deltas."""
    commit_pages_diverted: int
    """The same by commits of other transactions."""
    entries_most: int = field(metadata={"since": "power-up"})
    """The most entries of tentative and former pages that there were at once since power-up."""


@dataclass(frozen=True)
class EnergyEntry:
    """What one part spent on one thing."""

    component: str
    """The part, such as `"nand"`."""
    cause: str
    """On what, such as `"sense"`."""
    energy: Energy
    """How much."""
    events: int
    """In how many events."""


@dataclass(frozen=True)
class Served:
    """How often something was done, and how long it took."""

    count: int
    """How often."""
    total: Duration
    """All of them together."""
    longest: Duration = field(metadata={"key": "max_ns"})
    """The longest since power-up."""

    @property
    def mean(self) -> Duration:
        """How long one took on average; zero if there was none."""
        return self.total / self.count if self.count else Duration(0)

    def _since(self, earlier: "Served") -> "Served":
        return Served(self.count - earlier.count, self.total - earlier.total, self.longest)


@dataclass(frozen=True)
class TenantEntry:
    """What was done for one namespace, or as one kind of the firmware's own work."""

    tenant: str
    """Whose: `"namespace 1"` and so on; `"drive"` for what is done for all (admin commands, queue entries,
    doorbells, facts of the journal, the controller's own power), `"mapping"`, `"collection"`,
    `"wear levelling"`, `"recovery"`; and `"host"`, the host computer's own work."""
    commands: Served
    """Commands, from the arrival of their entry at the drive to that of their completion at the host."""
    reads: Served
    """Flash pages read, each from the moment it was queued at its die."""
    computations: Served
    """Sequences of sensing commands."""
    programs: Served
    """Flash pages programmed."""
    erases: Served
    """Flash blocks erased."""
    energy: Energy
    """Spent for it. That of all tenants is what everything spent."""

    def _since(self, earlier: "TenantEntry") -> "TenantEntry":
        served = {kind: getattr(self, kind)._since(getattr(earlier, kind)) for kind in _SERVED}
        return TenantEntry(tenant=self.tenant, energy=self.energy - earlier.energy, **served)


@dataclass(frozen=True, repr=False)
class Statistics(Displayed):
    """Everything a drive counted since it was powered up, or between two such snapshots (`since`)."""

    now: Duration
    """The instant of the snapshot."""
    elapsed: Duration
    """The time that the counts cover."""
    commands: CommandCounts = field(metadata={"key": "frontend"})
    """Commands."""
    cache: CacheCounts
    """The data cache."""
    ftl: TranslationCounts
    """The flash translation layer: logical pages of the host, flash pages moved."""
    flash: FlashCounts
    """The flash."""
    bits: BitsCounts
    """Bulk bitwise computing."""
    search: SearchCounts
    """Name-value lookup."""
    transactions: TransactionCounts = field(metadata={"key": "tx"})
    """Transactions of tasks."""
    link_down_bytes: Size
    """Payload from the host to the drive."""
    link_up_bytes: Size
    """Payload from the drive to the host."""
    channel_bytes: Size
    """Data over all channels, both directions."""
    link_down_utilization: float
    """Share of the time in which the host-to-drive direction carried something, 0 to 1."""
    link_up_utilization: float
    """The same of the drive-to-host direction."""
    channel_utilization: float
    """The mean over all channels."""
    die_utilization: float
    """The mean over all dies, of the array only."""
    dram_utilization: float
    """The drive's DRAM."""
    core_utilization: float
    """The mean over the controller's cores: firmware whose work takes time."""
    channel_utilizations: tuple[float, ...]
    """Each channel by itself."""
    die_utilizations: tuple[float, ...]
    """Each die by itself, of the array only."""
    energy: Energy
    """Spent by everything."""
    energy_by: tuple[EnergyEntry, ...] = field(metadata={"key": "energy"})
    """The same by component and cause."""
    tenants: tuple[TenantEntry, ...]
    """What was done, and what energy was spent, for whom; tenants for whom nothing was are left out."""
    _drive: int = field(default=0, repr=False, compare=False)
    """Which drive of this process it is of."""

    @classmethod
    def _from_json(cls, text: str, drive: int) -> Self:
        return made(cls, json.loads(text), _drive=drive)

    def since(self, earlier: "Statistics") -> "Statistics":
        """What was done between `earlier` and this.

        Raises:
            ValueError: `earlier` is of another drive, or is the later one, or there was a power-up between.
        """
        if self._drive != earlier._drive:
            raise ValueError("the two snapshots are of different drives")
        if self.now - self.elapsed != earlier.now - earlier.elapsed or self.now < earlier.now:
            raise ValueError("the two snapshots must be of one drive, in order, with no power-up in between")
        spent = {(entry.component, entry.cause): entry for entry in earlier.energy_by}
        known = {entry.tenant: entry for entry in earlier.tenants}
        elapsed = self.elapsed - earlier.elapsed

        def between(late: float, early: float) -> float:
            busy = late * self.elapsed.ps - early * earlier.elapsed.ps
            return max(0.0, busy / elapsed.ps) if elapsed.ps else 0.0

        def utilization(name: str) -> float:
            return between(getattr(self, name), getattr(earlier, name))

        def each(name: str) -> tuple[float, ...]:
            pairs = zip(getattr(self, name), getattr(earlier, name), strict=True)
            return tuple(between(late, early) for late, early in pairs)

        return Statistics(
            now=self.now,
            elapsed=elapsed,
            commands=_difference(self.commands, earlier.commands),
            cache=_difference(self.cache, earlier.cache),
            ftl=_difference(self.ftl, earlier.ftl),
            flash=_difference(self.flash, earlier.flash),
            bits=_difference(self.bits, earlier.bits),
            search=_difference(self.search, earlier.search),
            transactions=_difference(self.transactions, earlier.transactions),
            energy=self.energy - earlier.energy,
            energy_by=tuple(
                entry
                if (before := spent.get((entry.component, entry.cause))) is None
                else dataclasses.replace(
                    entry, energy=entry.energy - before.energy, events=entry.events - before.events
                )
                for entry in self.energy_by
            ),
            tenants=tuple(
                entry if (former := known.get(entry.tenant)) is None else entry._since(former)
                for entry in self.tenants
            ),
            link_down_bytes=Size(self.link_down_bytes - earlier.link_down_bytes),
            link_up_bytes=Size(self.link_up_bytes - earlier.link_up_bytes),
            channel_bytes=Size(self.channel_bytes - earlier.channel_bytes),
            link_down_utilization=utilization("link_down_utilization"),
            link_up_utilization=utilization("link_up_utilization"),
            channel_utilization=utilization("channel_utilization"),
            die_utilization=utilization("die_utilization"),
            dram_utilization=utilization("dram_utilization"),
            core_utilization=utilization("core_utilization"),
            channel_utilizations=each("channel_utilizations"),
            die_utilizations=each("die_utilizations"),
            _drive=self._drive,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, each with its unit in its name; the same names as in the Rust crate."""
        told: dict[str, Any] = plain(self)
        return told

    def _shown(self) -> Result:
        from bitline.display.statistics import summary

        return summary(self)

    def _line(self) -> str:
        senses = counted(self.flash.senses, "sense")
        programs = counted(self.flash.page_programs, "program")
        commands = counted(self.commands.commands, "command")
        return f"{self.elapsed}, {commands}, {senses}, {programs}, {self.energy}"

    def _rows(self) -> list[dict[str, Any]]:
        from bitline.display.arrow import energies, numbers

        told = self.to_dict()
        spent = told.pop("energy")
        return [{**dict(numbers(told)), **energies(spent)}]


_SERVED = ("commands", "reads", "computations", "programs", "erases")


def _difference(later: T, earlier: T) -> T:
    def between(one: "dataclasses.Field[Any]") -> Any:  # noqa: ANN401 (fields are of no one type)
        late, early = getattr(later, one.name), getattr(earlier, one.name)
        # What is left of a `Size` is a plain number; from a maximum nothing can be taken.
        return late if "since" in one.metadata else type(late)(late - early)

    fields = dataclasses.fields(later)  # type: ignore[arg-type]
    return type(later)(**{one.name: between(one) for one in fields})
