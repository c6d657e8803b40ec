"""Insertions into LevelDB while tables are compacted: what is in the tables, and who waits for what."""

from itertools import pairwise
from pathlib import Path
from typing import cast

import leveldb
import pytest
from test_cc import compiles, twin_of
from test_leveldb import opened_with

import bitline
from bitline.repro.txisc import insertions
from bitline.repro.txisc.insertions import Background, Compaction, Database, Levels, Table, fill

#: Entries of a memtable.
EACH = 1000
MEMTABLE_BYTES = EACH * (insertions.KEY_BYTES + insertions.VALUE_BYTES + insertions.NODE_BYTES)


@compiles
@pytest.mark.skipif(leveldb.library() is None, reason=f"SKIPPED: apt-get install {leveldb.PACKAGE}")
@pytest.mark.parametrize("compacted", insertions.COMPACTED)
def test_leveldb_finds_what_was_inserted(
    compacted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small, so that there are more than two levels.
    monkeypatch.setattr(insertions, "LEVEL_BYTES", 100_000)
    monkeypatch.setattr(insertions, "LEVEL_FACTOR", 2)
    monkeypatch.setattr(insertions, "TABLE_BYTES", 40_000)
    inserts = 21 * EACH
    twin = twin_of("compaction")

    def look(drive: bitline.Drive, database: Database) -> None:
        levels = database.levels.tables
        assert sum(bool(level) for level in levels) >= 3
        assert len(levels[0]) < insertions.TRIGGER
        for level in levels[1:]:
            assert all(one.largest < other.smallest for one, other in pairwise(level))
        # LevelDB is given all of it on one level: what levels hide of each other must be gone before.
        names = [table.name for level in levels for table in level]
        rooms = [f"room{number}" for number in range(4)]
        for room in rooms:
            drive.volume[room] = bytes(4 << 20)
        asked = twin.Asked(len(names), len(rooms), inserts, bits_per_key=insertions.BITS_PER_KEY)
        module = insertions.module("compaction")
        done = drive.tasks.run(module, dict.fromkeys(names, "r") | dict.fromkeys(rooms, "w"), asked.packed())
        assert done, done.reason
        tables = [bytes(drive.volume[room]) for room in rooms]
        with opened_with(tmp_path / "all", twin, done.value, tables, insertions.BITS_PER_KEY) as opened:
            found = dict(opened.items())
            assert all(opened.get(key) == value for key, value in found.items())
        # The last memtable is in no table yet.
        expected = {}
        for first in range(0, inserts - EACH, EACH):
            for number, key in enumerate(insertions.keys_of(first, EACH, inserts).tolist(), first + 1):
                expected[b"%016d" % key] = insertions.value_of(number)
        assert found == expected

    filled = fill(compacted, inserts, memtable_bytes=MEMTABLE_BYTES, look=look)
    assert filled.compactions > 4
    assert len(filled.latencies_ns) == inserts
    assert filled.percentile(50) == insertions.INSERT_NS


class Scripted:
    """A database whose jobs take what they are told to."""

    def __init__(self, flush_ns: float, compaction_ns: float) -> None:
        self.levels = Levels()
        self._times = flush_ns, compaction_ns
        self._made = 0

    def _table(self) -> Table:
        self._made += 1
        return Table(str(self._made), 1, 1, b"a", b"z")

    def flush(self, entries: bytes) -> tuple[Table, float]:
        """As the real one's."""
        assert entries
        return self._table(), self._times[0]

    def compact(self, what: Compaction) -> tuple[list[Table], float]:
        """As the real one's."""
        assert what.level == 0
        return [self._table()], self._times[1]


def latencies(flush_ns: float, compaction_ns: float, *, is_in_drive: bool, memtables: int) -> list[float]:
    database = cast("Database", Scripted(flush_ns, compaction_ns))
    background = Background(database, is_in_drive=is_in_drive)
    found = insertions.inserted(background, memtables * EACH, MEMTABLE_BYTES)
    return [latency for memtable in found for latency in memtable.tolist()]


def test_insertions_wait_as_leveldb_has_them_wait() -> None:
    alone = insertions.INSERT_NS
    filling = EACH * alone
    # Nothing is in the way.
    assert {*latencies(1.0, 1.0, is_in_drive=True, memtables=20)} == {alone}
    # A memtable is full before the one before is written: its first insertion waits for the rest.
    found = latencies(1.5 * filling, 1.0, is_in_drive=True, memtables=3)
    assert [latency for latency in found if latency != alone] == pytest.approx([0.5 * filling + alone])
    # Four tables are compacted for very long. With eight tables, which are there once the ninth memtable is
    # begun, everybody is slowed down; who finds twelve and a full memtable waits.
    found = latencies(1.0, 1e15, is_in_drive=True, memtables=14)
    assert found[: 8 * EACH + 1] == [alone] * (8 * EACH + 1)
    assert {*found[8 * EACH + 1 : 13 * EACH]} == {alone + insertions.SLOWED_NS}
    assert 0.9e15 < found[13 * EACH] < 1e15


def test_a_compaction_of_the_host_stands_still_while_a_memtable_is_written() -> None:
    def over_at(is_in_drive: bool) -> float:
        background = Background(cast("Database", Scripted(0.5, 4.4)), is_in_drive=is_in_drive)
        for now in range(1, 7):
            background.reach(now)
            background.flush(now, b"entries")
        at = 0.0
        while (ends := background.next_at) is not None:
            background.reach(at := ends)
        return at

    # It begins when the fourth memtable is written, at 4.5. Two more are written while it goes on.
    assert over_at(is_in_drive=True) == pytest.approx(4.5 + 4.4)
    assert over_at(is_in_drive=False) == pytest.approx(4.5 + 4.4 + 2 * 0.5)


def test_compactions_are_picked_as_leveldb_picks_them() -> None:
    levels = Levels()
    levels.tables[0] = [Table(str(number), 1, 1, b"c", b"m") for number in range(3)]
    assert levels.pick() is None
    levels.tables[0].append(Table("far", 1, 1, b"x", b"z"))
    levels.tables[1] = [Table("below", 1, 1, b"a", b"d"), Table("beside", 1, 1, b"n", b"p")]
    picked = levels.pick()
    assert picked is not None
    # All that overlap with the first, and what lies below these.
    assert [table.name for table in picked.inputs] == ["0", "1", "2"]
    assert [table.name for table in picked.below] == ["below"]
    levels.apply(picked, [Table("made", 1, 1, b"a", b"m")])
    assert [table.name for table in levels.tables[0]] == ["far"]
    assert [table.name for table in levels.tables[1]] == ["made", "beside"]
    # A level of more than 10 MiB gives its tables in turn.
    levels.tables[1] = [Table(name, 6 << 20, 1, name.encode(), name.encode()) for name in "abc"]
    names = []
    for _ in range(4):
        picked = levels.pick()
        assert picked is not None
        names.append(picked.inputs[0].name)
        levels.after[1] = picked.inputs[0].largest
    assert names == ["a", "b", "c", "a"]
