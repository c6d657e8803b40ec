"""Insertions into LevelDB while tables are compacted, by the host or in the drive: how long each takes.

What LevelDB does beside an insertion is modelled: memtables, levels, who is compacted with whom, and when
writers are slowed down or have to wait (db_impl.cc and version_set.cc of LevelDB). What takes the time is
real: tables are LevelDB's files on the drive, the host writes memtables to them, and compactions are the task
`compaction.c`, run here or there. Jobs are measured one by one, and their times are put together.
"""

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import bitline
from bitline.cc import compiled
from bitline.errors import WrongResultError
from bitline.repro.txisc.applications import TASKS, twin_of
from bitline.repro.txisc.bandwidth import PRESET
from bitline.tasks import Mode, TaskResult

#: How compactions are run, by name in figures.
COMPACTED: Mapping[str, dict[str, Any]] = {"TxISC": {"where": "drive"}, "Host-only": {"where": "host"}}

#: LevelDB's options (options.h): bytes of a memtable, of a table, of a block.
MEMTABLE_BYTES, TABLE_BYTES, BLOCK_BYTES = 4 << 20, 2 << 20, 4096
#: Files of level 0 that are compacted, from which on writers are slowed down, and stopped (dbformat.h).
TRIGGER, SLOWDOWN, STOP = 4, 8, 12
#: Of a slowed writer, once (db_impl.cc).
SLOWED_NS = 1_000_000
#: Bytes of level 1, and how many times as much each further level has (version_set.cc).
LEVEL_BYTES, LEVEL_FACTOR, LEVELS = 10 << 20, 10, 7

#: db_bench: a key, a value, of which half is compressible; and what an entry takes of a memtable besides, an
#: estimate: tag, lengths, and a node of the skip list with 4/3 pointers on average.
KEY_BYTES, VALUE_BYTES, NODE_BYTES = 16, 100, 30
#: What an insertion takes by itself: fillseq, which compacts nothing, in the README of LevelDB.
INSERT_NS = 1765

#: Of latencies, for tables and figures.
PERCENTILES = (50, 90, 95, 98, 99, 99.5, 99.9, 99.99, 100)

#: Bloom filters, as most who use LevelDB have them.
BITS_PER_KEY = 10

_SEED = 3
_HEAD = struct.Struct("<I2B2x")
#: Besides its entries a table has an index and filters.
_ROOM_BYTES = TABLE_BYTES + (256 << 10)


class Table(NamedTuple):
    """A table file on the drive."""

    name: str
    size: int
    entries: int
    smallest: bytes
    """Users' keys, as all here."""
    largest: bytes

    def overlaps(self, smallest: bytes, largest: bytes) -> bool:
        """Whether it may have keys of a range."""
        return self.smallest <= largest and smallest <= self.largest


class Compaction(NamedTuple):
    """Tables of a level that are merged with those of the next that have the same keys."""

    level: int
    inputs: list[Table]
    below: list[Table]


@dataclass
class Levels:
    """The tables of a database, by level; those of level 0 may overlap, the newest comes last."""

    tables: list[list[Table]] = field(default_factory=lambda: [[] for _ in range(LEVELS)])
    after: list[bytes] = field(default_factory=lambda: [b""] * LEVELS)
    """Where the next compaction of a level begins."""

    def pick(self) -> Compaction | None:
        """What is to be compacted, if anything (VersionSet::PickCompaction, without enlarging)."""
        scores = [len(self.tables[0]) / TRIGGER]
        for level in range(1, LEVELS - 1):
            most = LEVEL_BYTES * LEVEL_FACTOR ** (level - 1)
            scores.append(sum(table.size for table in self.tables[level]) / most)
        level = int(np.argmax(scores))
        if scores[level] < 1:
            return None
        first = next((one for one in self.tables[level] if one.largest > self.after[level]), None)
        inputs = [first or self.tables[level][0]]
        if level == 0:
            # Whatever overlaps with one of them belongs to it.
            while (more := self._overlapping(0, inputs)) != inputs:
                inputs = more
        return Compaction(level, inputs, self._overlapping(level + 1, inputs))

    def apply(self, done: Compaction, made: list[Table]) -> None:
        """Puts what a compaction made in the place of what it was made from."""
        gone = {table.name for table in done.inputs + done.below}
        for level in (done.level, done.level + 1):
            self.tables[level] = [table for table in self.tables[level] if table.name not in gone]
        self.tables[done.level + 1] = sorted(
            self.tables[done.level + 1] + made, key=lambda table: table.smallest
        )
        self.after[done.level] = max(table.largest for table in done.inputs)

    def _overlapping(self, level: int, tables: list[Table]) -> list[Table]:
        smallest = min(table.smallest for table in tables)
        largest = max(table.largest for table in tables)
        return [table for table in self.tables[level] if table.overlaps(smallest, largest)]


class Filled(NamedTuple):
    """Insertions and what went on beside them."""

    compacted: str
    """A key of `COMPACTED`."""
    latencies_ns: NDArray[np.float64]
    """Of each insertion."""
    compactions: int
    """How many there were."""
    compaction_ns: float
    """Time of all of them, alone."""
    compacted_bytes: int
    """What they read."""

    def percentile(self, percent: float) -> float:
        """Of the latencies, in nanoseconds."""
        return float(np.percentile(self.latencies_ns, percent))


class Database:
    """A LevelDB on a drive, as far as it has tables."""

    def __init__(self, drive: bitline.Drive, compacted: str, last_sequence: int) -> None:
        self.levels = Levels()
        self.compactions, self.compaction_ns, self.compacted_bytes = 0, 0.0, 0
        self._drive = drive
        self._how = COMPACTED[compacted]
        self._last_sequence = last_sequence
        self._made = 0
        self._twin = twin_of("compaction")

    def flush(self, entries: bytes) -> tuple[Table, float]:
        """Writes a memtable, by the host; the table and the nanoseconds that it took."""
        [room] = self._rooms(1, 2 * MEMTABLE_BYTES)
        arguments = _HEAD.pack(BLOCK_BYTES, True, BITS_PER_KEY) + entries
        done = self._checked(self._drive.tasks.run(module("memtable"), {room: "w"}, arguments, where="host"))
        return self._tables([room], done.value)[0], done.time.ns

    def compact(self, what: Compaction) -> tuple[list[Table], float]:
        """Carries a compaction out, here or there; what it made and the nanoseconds that it took."""
        if not what.below and len(what.inputs) == 1:
            return what.inputs, 0.0
        # Of equal internal keys there are none; the newest of a key comes first by its sequence number.
        inputs = what.inputs + what.below
        size = sum(table.size for table in inputs)
        rooms = self._rooms(size // TABLE_BYTES + 2, _ROOM_BYTES)
        asked = self._twin.Asked(
            len(inputs), len(rooms), self._last_sequence, TABLE_BYTES, BLOCK_BYTES, True, True, BITS_PER_KEY
        )
        files: dict[str, Mode] = {table.name: "r" for table in inputs}
        files |= dict.fromkeys(rooms, "w")
        done = self._checked(self._drive.tasks.run(module("compaction"), files, asked.packed(), **self._how))
        made = self._tables(rooms, done.value)
        for table in inputs:
            del self._drive.volume[table.name]
        self.compactions += 1
        self.compaction_ns += done.time.ns
        self.compacted_bytes += size
        return made, done.time.ns

    def _rooms(self, count: int, size: int) -> list[str]:
        """Files for as many tables, as a file system allocates them ahead."""
        names = [f"{self._made + number:06}.ldb" for number in range(count)]
        self._made += count
        for name in names:
            self._drive.volume[name] = bytes(size)
        return names

    def _tables(self, rooms: list[str], value: bytes) -> list[Table]:
        outputs = self._twin.outputs(value)
        made = []
        for name, output in zip(rooms, outputs, strict=False):
            self._drive.volume.handle(name).truncate(output.size)
            made.append(Table(name, output.size, output.entries, output.smallest[:-8], output.largest[:-8]))
        for name in rooms[len(outputs) :]:
            del self._drive.volume[name]
        return made

    def _checked(self, result: TaskResult) -> TaskResult:
        if not result:
            raise WrongResultError(f"{result.status}: {result.reason or result.log}")
        return result


class Background:
    """LevelDB's thread for flushes and compactions, in a time that insertions share with it.

    A compaction of the host stands still while a memtable is written, as it looks for one between keys. While
    it waits for one in the drive, the thread writes memtables.
    """

    def __init__(self, database: Database, *, is_in_drive: bool) -> None:
        self._database = database
        self._is_in_drive = is_in_drive
        self.flushed_at: float | None = None
        """When the memtable is in its table that is being written."""
        self._table: Table | None = None
        self._compacted_at: float | None = None
        self._compaction: tuple[Compaction, list[Table]] | None = None

    @property
    def next_at(self) -> float | None:
        """When something is over."""
        ends = [at for at in (self.flushed_at, self._compacted_at) if at is not None]
        return min(ends, default=None)

    def files_of_level_0(self) -> int:
        """How many there are."""
        return len(self._database.levels.tables[0])

    def flush(self, now: float, entries: bytes) -> None:
        """Begins to write a memtable."""
        self._table, took = self._database.flush(entries)
        self.flushed_at = now + took
        if self._compacted_at is not None and not self._is_in_drive:
            self._compacted_at += took

    def reach(self, now: float) -> None:
        """Ends what is over by then, and begins what is to be done next."""
        while (at := self.next_at) is not None and at <= now:
            levels = self._database.levels
            if at == self.flushed_at:
                assert self._table is not None
                levels.tables[0].append(self._table)
                self.flushed_at = None
            else:
                assert self._compaction is not None
                levels.apply(*self._compaction)
                self._compacted_at = self._compaction = None
            if self._compacted_at is None and (picked := levels.pick()):
                made, took = self._database.compact(picked)
                self._compaction, self._compacted_at = (picked, made), at + took


def fill(
    compacted: str,
    inserts: int,
    *,
    memtable_bytes: int = MEMTABLE_BYTES,
    look: Callable[[bitline.Drive, Database], object] = lambda _, __: None,
) -> Filled:
    """Inserts so many entries with random keys of as many, one after the other without a pause (fillrandom).

    Args:
        compacted: A key of `COMPACTED`.
        inserts: How many.
        memtable_bytes: Of a memtable.
        look: Given the drive and the database when nothing is left to be compacted.

    Raises:
        WrongResultError: A task did not end well.
    """
    setting: dict[str, Any] = {"task.arguments_bytes": 16 << 20, "task.return_bytes": 1 << 20}
    with bitline.open(PRESET, set=setting) as drive:
        database = Database(drive, compacted, inserts)
        background = Background(database, is_in_drive=COMPACTED[compacted]["where"] == "drive")
        latencies = np.concatenate(list(inserted(background, inserts, memtable_bytes)))
        background.reach(math.inf)
        look(drive, database)
        return Filled(
            compacted, latencies, database.compactions, database.compaction_ns, database.compacted_bytes
        )


def inserted(background: Background, inserts: int, memtable_bytes: int) -> Iterator[NDArray[np.float64]]:
    """Latencies of insertions, a memtable at a time (DBImpl::MakeRoomForWrite)."""
    now = 0.0
    each = memtable_bytes // (KEY_BYTES + VALUE_BYTES + NODE_BYTES)
    for first in range(0, inserts, each):
        count = min(each, inserts - first)
        latencies = np.empty(count)
        for number in range(count):
            begun = now
            background.reach(now)
            if background.files_of_level_0() >= SLOWDOWN:
                now += SLOWED_NS
                background.reach(now)
            # The first one finds the memtable full.
            while number == 0 and first and _must_wait(background):
                assert background.next_at is not None
                now = max(now, background.next_at)
                background.reach(now)
            if number == 0 and first:
                background.flush(now, memtable_of(first - each, each, inserts))
            now += INSERT_NS
            latencies[number] = now - begun
        yield latencies


def _must_wait(background: Background) -> bool:
    return background.flushed_at is not None or background.files_of_level_0() >= STOP


def keys_of(first: int, count: int, inserts: int) -> NDArray[np.int64]:
    """The keys of so many insertions, as numbers."""
    return np.random.default_rng((_SEED, first)).integers(0, inserts, count)


def value_of(sequence: int) -> bytes:
    """What the insertion of this number, from 1, puts in: half of it is compressible."""
    return 2 * (sequence.to_bytes(8, "little") + _random_parts()[sequence % 1024])


def memtable_of(first: int, count: int, inserts: int) -> bytes:
    """Insertions from `first` on, from 0, as the task takes them: by key, of each the newest first."""
    keys = keys_of(first, count, inserts)
    sequences = np.arange(first + 1, first + count + 1)
    order = np.lexsort((-sequences, keys))
    sizes = struct.pack("<2I", KEY_BYTES + 8, VALUE_BYTES)
    return b"".join(
        sizes + b"%016d" % key + struct.pack("<Q", sequence << 8 | 1) + value_of(sequence)
        for key, sequence in zip(keys[order].tolist(), sequences[order].tolist(), strict=True)
    )


@cache
def _random_parts() -> list[bytes]:
    return [np.random.default_rng(number).bytes(42) for number in range(1024)]


def module(name: str) -> bytes:
    """A task, compiled.

    Raises:
        UsageError: There is no C compiler; the message says what to install.
    """
    source = TASKS / f"{name}.c"
    if not source.exists():
        source = Path(__file__).with_name(f"{name}.c")
    return compiled(source, include=(TASKS,))
