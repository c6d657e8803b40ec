"""What a drive has done: counts, bytes, times and energies.

Counts are ints, times `Duration`, energies `Energy`, byte counts `Size`. `to_dict()` gives plain numbers
with the unit in each name. Mirrors `bitline::Statistics` of the Rust crate; a test keeps them equal.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from bitline.counts import (
    AcceleratorCounts,
    BitsCounts,
    CacheCounts,
    CollectorCounts,
    CommandCounts,
    FlashCounts,
    SearchCounts,
    StreamCounts,
    TransactionCounts,
    TranslationCounts,
)
from bitline.display import Displayed, Result
from bitline.records import made, plain
from bitline.units import Duration, Energy, Size, counted

T = TypeVar("T")


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
    streams: StreamCounts
    """Streams."""
    collectors: CollectorCounts
    """Collectors."""
    accelerators: AcceleratorCounts
    """Accelerators for operators of tasks."""
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
    accelerator_utilization: float
    """The mean over the accelerators; 0 without any."""
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
            streams=_difference(self.streams, earlier.streams),
            collectors=_difference(self.collectors, earlier.collectors),
            accelerators=_difference(self.accelerators, earlier.accelerators),
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
            accelerator_utilization=utilization("accelerator_utilization"),
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
