"""A task in C compacts files of the real LevelDB, which opens what comes out and finds every key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from types import ModuleType

import leveldb
import pytest
from leveldb import LevelDb
from test_cc import NO_ENGINE, TASKS, compiles, twin_of

import bitline
from bitline.cc import compile_task

pytestmark = pytest.mark.skipif(
    leveldb.library() is None, reason=f"SKIPPED: no LevelDB here. sudo apt-get install {leveldb.PACKAGE}"
)

#: Sequence numbers of what is written here are below it.
LAST_SEQUENCE = 1 << 20


def filled(
    folder: Path, *, compress: bool, seed: int, count: int, bits_per_key: int = 0
) -> dict[bytes, bytes]:
    """Makes a database with so many writes, a fifth of them deletions; gives what it holds at the end."""
    random, expected = Random(seed), dict[bytes, bytes]()
    # Each time that it is opened, it makes a table of what was in its log.
    for _ in range(3):
        with LevelDb(folder, create=True, compress=compress, bits_per_key=bits_per_key) as database:
            for _ in range(count // 3):
                key = f"key{random.randrange(count // 2):08}".encode()
                if random.random() < 0.2:
                    database.delete(key)
                    expected.pop(key, None)
                else:
                    # Some blocks are longer than 4 KiB, and half of a value is compressible.
                    value = random.randbytes(random.choice([0, 4, 30, 50, 2000])) * 2
                    database.put(key, value)
                    expected[key] = value
    with LevelDb(folder, compress=compress, bits_per_key=bits_per_key) as database:
        assert dict(database.items()) == expected
    return expected


def ran(module: Path, files: Mapping[str, tuple[bytes, str]], arguments: bytes) -> tuple[bytes, list[bytes]]:
    """Runs a task, which has to succeed, on a drive if it can; gives what it returned, and all files."""
    if hasattr(bitline.Drive, "tasks"):
        with bitline.open() as drive:
            for name, (data, _) in files.items():
                drive.volume[name] = data
            result = drive.tasks.run(module, {name: mode for name, (_, mode) in files.items()}, arguments)
            assert (result.status, result.log) == ("committed", ""), result.reason
            return result.value, [bytes(drive.volume[name]) for name in files]
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    done = task_host.run(module, files, arguments)
    assert (done.code, done.log) == (0, "")
    return done.value, list(done.files.values())


def opened_with(
    folder: Path, twin: ModuleType, value: bytes, tables: Sequence[bytes], bits_per_key: int = 0
) -> LevelDb:
    """A database of the files that a task wrote, and nothing else."""
    folder.mkdir()
    written = list(enumerate(twin.outputs(value), 10))
    for (number, output), table in zip(written, tables, strict=False):
        (folder / f"{number:06}.ldb").write_bytes(table[: output.size])
    (folder / "MANIFEST-000002").write_bytes(twin.manifest(written, 1, LAST_SEQUENCE))
    (folder / "CURRENT").write_text("MANIFEST-000002\n")
    return LevelDb(folder, bits_per_key=bits_per_key)


@compiles
@pytest.mark.parametrize("packs", [False, True], ids=["plain-out", "snappy-out"])
@pytest.mark.parametrize("compress", [False, True], ids=["plain-in", "snappy-in"])
def test_leveldb_finds_every_key_in_what_was_compacted(tmp_path: Path, compress: bool, packs: bool) -> None:
    twin = twin_of("compaction")
    expected = filled(tmp_path / "before", compress=compress, seed=7, count=6000)
    tables = {table.name: table.read_bytes() for table in sorted((tmp_path / "before").glob("*.ldb"))}
    assert len(tables) > 1
    room = 400 << 10
    outputs = {f"out{number}": (bytes(room), "w") for number in range(12)}
    files = {name: (table, "r") for name, table in tables.items()} | outputs
    asked = twin.Asked(len(tables), len(outputs), output_bytes_max=256 << 10, is_compressed=packs)
    made = compile_task([TASKS / "compaction.c"], tmp_path / "task.wasm")
    value, left = ran(made.path, files, asked.packed())

    written = twin.outputs(value)
    assert len(written) > 1
    with opened_with(tmp_path / "after", twin, value, left[len(tables) :]) as database:
        assert dict(database.items()) == expected
        assert all(database.get(key) == value for key, value in expected.items())
        assert database.get(b"no such key") is None
    # Deletions and old versions are gone: nobody can see them.
    assert sum(output.entries for output in written) == len(expected)


@compiles
@pytest.mark.parametrize("bits", [1, 10, 60])
def test_filters_are_those_that_leveldb_writes(tmp_path: Path, bits: int) -> None:
    twin = twin_of("compaction")
    expected = filled(tmp_path / "before", compress=False, seed=11, count=3000, bits_per_key=bits)
    tables = [table.read_bytes() for table in sorted((tmp_path / "before").glob("*.ldb"))]
    made = compile_task([TASKS / "compaction.c"], tmp_path / "task.wasm")
    # Each alone, with nothing left out: its blocks stay what they are, so that filters are to the bit.
    for table in tables:
        asked = twin.Asked(1, 1, 0, 1 << 30, 4096, False, False, bits)
        files = {"in": (table, "r"), "out": (bytes(2 * len(table)), "w")}
        value, left = ran(made.path, files, asked.packed())
        again = left[1][: twin.outputs(value)[0].size]
        assert twin.filters(table) is not None
        assert twin.filters(again) == twin.filters(table)
    # All together, opened by LevelDB with filters: a key that one of them misses is not found.
    asked = twin.Asked(len(tables), 4, output_bytes_max=1 << 30, bits_per_key=bits)
    files = {f"in{number}": (table, "r") for number, table in enumerate(tables)}
    files |= {f"out{number}": (bytes(2 << 20), "w") for number in range(4)}
    value, left = ran(made.path, files, asked.packed())
    with opened_with(tmp_path / "after", twin, value, left[len(tables) :], bits) as database:
        assert all(database.get(key) == kept for key, kept in expected.items())
        assert database.get(b"no such key") is None


@compiles
def test_a_damaged_table_is_told_and_nothing_is_returned(tmp_path: Path) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    twin = twin_of("compaction")
    filled(tmp_path / "before", compress=True, seed=8, count=500)
    table = bytearray(next((tmp_path / "before").glob("*.ldb")).read_bytes())
    made = compile_task([TASKS / "compaction.c"], tmp_path / "task.wasm")
    random = Random(9)
    for _ in range(100):
        damaged = bytearray(table)
        damaged[random.randrange(len(table) - 8)] ^= 1 << random.randrange(8)
        files = {"in": (bytes(damaged), "r"), "out": (bytes(1 << 20), "w")}
        done = task_host.run(made.path, files, twin.Asked(1, 1).packed())
        # A bit of the footer's padding or of the metaindex is nobody's.
        assert done.code == 22 or twin.compacted([bytes(table)], twin.Asked(1, 1)) == list(
            twin.entries(done.files["out"][: twin.outputs(done.value)[0].size])
        )
        assert (done.code == 0) == (done.log == "")
