"""How the statistics of a drive are shown."""

from typing import TYPE_CHECKING

from bitline.display.formats import Value, duration, energy, joined, percent
from bitline.display.report import by_component, energies
from bitline.display.result import Column, Fact, Result, Table
from bitline.metrics import metric

if TYPE_CHECKING:
    from bitline.counts import SearchCounts, TransactionCounts
    from bitline.statistics import Statistics, TenantEntry


def summary(told: "Statistics") -> Result:
    """What was done, how busy the parts were, what energy went where, and for whom."""
    commands, flash, bits, ftl = told.commands, told.flash, told.bits, told.ftl
    failed, erased = commands.failed_commands, flash.block_erases
    hits = told.cache.read_hits + told.cache.write_hits
    facts = {
        "elapsed_ns": Fact("Simulated time", told.elapsed.ns, duration),
        "commands": Fact("Commands", commands.commands),
        "failed_commands": Fact("  failed" if failed else None, failed),
        "host_page_reads": Fact("Logical pages read by the host", ftl.host_page_reads),
        "host_page_writes": Fact("  written", ftl.host_page_writes),
        "cache_hits": Fact("Data cache: hits" if hits else None, hits),
        "senses": Fact("Senses of the flash", flash.senses),
        "page_programs": Fact("  flash pages programmed", flash.page_programs),
        "block_erases": Fact("  blocks erased", erased),
        "gc_page_copies": Fact(
            "  flash pages copied by collection" if ftl.gc_blocks else None, ftl.gc_page_copies
        ),
        "rows_written": Fact("Rows of vectors written", bits.rows_written),
        "evaluations": Fact("Expressions evaluated", bits.evaluations),
        "disagreements": Fact("  that disagreed" if bits.checks else None, bits.disagreements),
        **_searched(told.search),
        **_transacted(told.transactions),
        **_streamed(told),
        **{
            key: Fact(metric(key).label, int(getattr(told, key)), metric(key).quantity.show)
            for key in ("link_down_bytes", "link_up_bytes", "channel_bytes")
        },
        "energy_pj": Fact("Energy", told.energy.pj, energy),
        "energy_by_component_pj": Fact(
            "  of it" if told.energy.pj else None, by_component(told.energy_by), joined
        ),
    }
    tables = {"utilization": _busy(told), "energy": energies(told.energy, told.energy_by)}
    if told.tenants:
        tables["tenants"] = _tenants(told.tenants)
    return Result(f"Statistics of {told.elapsed} until {told.now}", facts, tables)


def _searched(search: "SearchCounts") -> dict[str, Fact]:
    """What name-value lookup did; people are told only where there was some."""
    used, looked = search.entries_appended or search.lookups, search.lookups
    return {
        "entries_appended": Fact("Entries with names appended" if used else None, search.entries_appended),
        "entries_deleted": Fact("  deleted" if search.entries_deleted else None, search.entries_deleted),
        "rows_sealed": Fact("  rows of names programmed" if search.rows_sealed else None, search.rows_sealed),
        "lookups": Fact("Lookups of names" if used else None, looked),
        "name_senses": Fact("  senses that compared names" if looked else None, search.senses),
        "match_vectors": Fact("  match vectors read out" if looked else None, search.match_vectors),
        "entries_found": Fact("  entries found" if looked else None, search.entries_found),
        "value_pages_read": Fact(
            "  logical pages of values read" if looked else None, search.value_pages_read
        ),
    }


def _transacted(counts: "TransactionCounts") -> dict[str, Fact]:
    """What became of transactions, and what tasks did to pages; people are told only where there was some."""
    ends = {
        "committed": ("  committed", counts.committed),
        "conflicts": ("  aborted by a conflict", counts.conflicts),
        "rolled_back": ("  rolled back for another reason", counts.rolled_back),
        "host_pages_diverted": ("  pages of theirs changed by the host", counts.host_pages_diverted),
        "commit_pages_diverted": ("  pages of theirs changed by commits", counts.commit_pages_diverted),
        "entries_most": ("  entries of page versions, most", counts.entries_most),
    }
    pages = {
        "task_pages_written": ("  written", counts.pages_written),
        "task_pages_gathered": ("  written in part", counts.pages_gathered),
    }
    moved = counts.pages_read or counts.pages_written or counts.pages_gathered
    return {
        "transactions": Fact("Transactions of tasks" if counts.begun else None, counts.begun),
        **_where_any(ends),
        "task_pages_read": Fact("Logical pages read by tasks" if moved else None, counts.pages_read),
        **_where_any(pages),
    }


def _streamed(told: "Statistics") -> dict[str, Fact]:
    """What streams and accelerators did; people are told only where there was something."""
    streams, accelerators = told.streams, told.accelerators
    opened, operators = streams.opened, accelerators.operators
    size = metric("streams.input_bytes").quantity.show
    collectors = told.collectors
    begun = collectors.opened or collectors.packets or collectors.dropped_newest
    dropped = collectors.dropped_newest + collectors.dropped_oldest
    return {
        "collections": Fact("Collections begun" if begun else None, collectors.opened),
        "collected_bytes": Fact("  collected" if begun else None, int(collectors.bytes), size),
        "dropped_packets": Fact("  packets dropped" if dropped else None, dropped),
        "streams": Fact("Streams opened" if opened else None, opened),
        "stream_input_bytes": Fact("  taken by tasks" if opened else None, int(streams.input_bytes), size),
        "stream_output_bytes": Fact("  emitted" if opened else None, int(streams.output_bytes), size),
        "operators": Fact("Operators on accelerators" if operators else None, operators),
        "macs": Fact("  multiplications" if operators else None, accelerators.macs),
    }


def _where_any(counts: dict[str, tuple[str, int]]) -> dict[str, Fact]:
    """Counts with their labels; people are not told of those that are zero."""
    return {key: Fact(label if number else None, number) for key, (label, number) in counts.items()}


def _busy(told: "Statistics") -> Table:
    accelerators = ("accelerator",) if told.accelerators.operators else ()
    parts = ("link_down", "link_up", "channel", "die", "dram", "core", *accelerators)
    rows: list[dict[str, Value]] = [
        {
            "part": metric(f"{part}_utilization").label.replace(" busy", ""),
            "share": getattr(told, f"{part}_utilization"),
        }
        for part in parts
    ]
    return Table([Column("part", "Part"), Column("share", "Busy", percent)], rows)


def _tenants(tenants: "tuple[TenantEntry, ...]") -> Table:
    kinds = ("commands", "reads", "computations", "programs", "erases")
    columns = [
        Column("tenant", "For whom"),
        *(Column(kind, kind.capitalize()) for kind in kinds),
        Column("energy_pj", "Energy", energy),
    ]
    rows: list[dict[str, Value]] = [
        {
            "tenant": each.tenant,
            **{kind: getattr(each, kind).count for kind in kinds},
            "energy_pj": each.energy.pj,
        }
        for each in tenants
    ]
    return Table(columns, rows)
