"""What the parts of a drive have counted, as `Statistics` has it.

Counts are ints, byte counts `Size`. Mirrors the counts of the Rust crates; a test keeps them equal.
"""

from dataclasses import dataclass, field

from bitline.units import Duration, Size


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
class StreamCounts:
    """Streams: files as tasks make them, piece by piece."""

    opened: int
    """Streams opened."""
    committed: int
    """Those that ended well, with all that they wrote committed."""
    failed: int
    """Those that were stopped, or failed."""
    pieces: int
    """Pieces of input that elements took."""
    input_bytes: Size
    """Bytes of these."""
    output_bytes: Size
    """Bytes that elements emitted."""


@dataclass(frozen=True)
class CollectorCounts:
    """Collectors: what cameras and sensors have sent, and what became of it."""

    opened: int
    """Collections begun."""
    packets: int
    """Packets taken in, those that were dropped later included."""
    bytes: Size
    """Bytes of these."""
    dropped_newest: int
    """Packets dropped as they came."""
    dropped_newest_bytes: Size
    """Bytes of these."""
    dropped_oldest: int
    """Packets dropped after they had waited."""
    dropped_oldest_bytes: Size
    """Bytes of these."""
    lost_bytes: Size
    """Bytes for which there was no room where they go when a collection ended."""
    stalled: Duration
    """How long packets were held back on their wires, of all ports together."""
    written_bytes: Size
    """Bytes written to flash."""
    task_bytes: Size
    """Bytes given to tasks."""
    unread_bytes: Size
    """Bytes for a task that was not there."""


@dataclass(frozen=True)
class AcceleratorCounts:
    """Accelerators, which compute operators of tasks."""

    operators: int
    """Operators computed."""
    macs: int
    """Multiplications of them whose products were summed."""
    bytes: Size
    """Operands brought in, those that were brought more than once each time, and results."""
