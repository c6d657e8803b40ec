"""LevelDB's own db_bench on a mounted drive, which does its compactions; the same without, on a folder."""

import importlib.util
import re
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import leveldb
import pytest
from blocks import agrees, blocks
from leveldb import LevelDb
from mounts import mounting
from test_attach import attached, check, left_behind
from test_cc import compiles

from bitline import UsageError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "leveldb" / "db_bench.py"
BITS_PER_KEY = 10
OPTIONS = ["--write_buffer_size=131072", "--max_file_size=1048576", f"--bloom_bits={BITS_PER_KEY}"]
#: Runs on one database. All benchmarks of one draw the same keys; with other numbers of keys they are others.
RUNS = [
    ["--benchmarks=fillrandom,overwrite,readrandom,readseq", "--num=30000"],
    ["--benchmarks=deleterandom,readrandom,compact,overwrite,deleterandom,readreverse", "--num=23000"],
    ["--benchmarks=readrandom,seekrandom,readseq", "--num=30000"],
]

_LACKS = [tool for tool in ("g++", "make", "cargo") if shutil.which(tool) is None]
if leveldb.library() is None:
    _LACKS.append(leveldb.PACKAGE)

builds = pytest.mark.skipif(bool(_LACKS), reason=f"SKIPPED: LevelDB is not built and read without {_LACKS}")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example's module, with LevelDB built."""
    spec = importlib.util.spec_from_file_location("db_bench", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.build()
    except subprocess.CalledProcessError:
        if not (module.DB_BENCH.parent / "vendor" / "leveldb-sys").exists():
            pytest.skip("SKIPPED: cargo does not get the crate leveldb-sys here")
        raise
    return module


class Runs:
    """All runs on the database in a folder, by a command that takes db_bench's options."""

    def __init__(self, folder: Path, *command: object) -> None:
        self.printed = self.log = ""
        for number, run in enumerate(RUNS):
            words = [*map(str, command), *OPTIONS, *run, f"--use_existing_db={min(number, 1)}"]
            done = subprocess.run(words, capture_output=True, text=True)
            print(done.stdout)
            assert done.returncode == 0, f"{words}: {done.stderr}"
            self.printed += done.stdout
            self.log += (folder / "LOG").read_text()
        self.found = re.findall(r"(\w+) +: .*(\(\d+ of \d+ found\))", self.printed)


def contents(folder: Path) -> dict[bytes, bytes]:
    """What a database holds, read by another build of LevelDB, which checks the sum of every block."""
    with LevelDb(folder, bits_per_key=BITS_PER_KEY) as database:
        return dict(database.items())


@mounting
@compiles
@builds
def test_the_drive_compacts_for_db_bench(example: ModuleType, tmp_path: Path) -> None:
    folder, image, at = tmp_path / "folder", tmp_path / "drive.img", tmp_path / "m"
    by_host = Runs(folder, example.DB_BENCH, f"--db={folder}")
    with attached(at, image, "--mount", "ext4"):
        in_drive = Runs(at / "db", sys.executable, EXAMPLE, at)
        shutil.copytree(at / "db", tmp_path / "copy")
    check(image, "ext4", tmp_path)
    assert not left_behind(tmp_path)

    assert in_drive.found == by_host.found
    assert len(by_host.found) == 4
    kept = contents(folder)
    assert 5_000 < len(kept) < 30_000
    assert contents(tmp_path / "copy") == kept
    # Who merged tables, as the example counts it and as LevelDB's own log has it.
    counts = re.findall(r"^compactions: (\d+) in the drive, (\d+) by the host;", in_drive.printed, re.M)
    assert len(counts) == len(RUNS)
    assert sum(int(count) for _, count in counts) == in_drive.log.count("Compacting ") == 0
    asked = in_drive.log.count("In the drive: ")
    assert sum(int(count) for count, _ in counts) == asked == in_drive.log.count("Compacted ") > 10
    # LevelDB gives up what it is at when a run ends.
    begun, ended = by_host.log.count("Compacting "), by_host.log.count("Compacted ")
    assert 10 < ended <= begun <= ended + len(RUNS)
    # Writers did not wait for the drive: memtables were flushed meanwhile.
    meanwhile = [part.split("Compacted ")[0] for part in in_drive.log.split("In the drive: ")[1:]]
    assert any("Level-0 table " in part for part in meanwhile)
    assert "error" not in in_drive.log


@mounting
@compiles
@builds
@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("options", [[], ["--host"]], ids=["drive", "host"])
def test_the_command_of_the_page_runs(options: list[str], tmp_path: Path) -> None:
    page = (ROOT / "docs" / "mounted.md").read_text()
    (block,) = (block for block in blocks(page) if block.heading.startswith("LevelDB"))
    program, *words = shlex.split(block.source.replace("/mnt/drive", str(tmp_path / "m")))
    assert program == "python"
    with attached(tmp_path / "m", tmp_path / "drive.img", "--mount", "ext4"):
        done = subprocess.run(
            [sys.executable, *words, *options], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert "(200000 of 200000 found)" in done.stdout
    assert ("compactions: " in done.stdout) is not bool(options)
    assert options or agrees(block.shown or "", done.stdout), done.stdout


@compiles
@builds
def test_what_the_drive_refuses_is_left_to_the_host(
    example: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UsageError("a hole")

    folder = tmp_path / "folder"
    compactor = example.Compactor(SimpleNamespace(run=refuse))
    assert example.run(compactor, folder, [*OPTIONS, *RUNS[0]]) == 0
    log = (folder / "LOG").read_text()
    assert (compactor.in_drive, compactor.by_host) == (0, log.count("Compacting "))
    assert log.count("Compacting ") == log.count("Compacted ") > 5
    out, err = capfd.readouterr()
    assert "(30000 of 30000 found)" in out
    assert err.count("left to the host: a hole") == compactor.by_host


@compiles
@builds
def test_a_drive_that_is_lost_is_an_error_of_the_database(
    example: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise ConnectionError("the drive is gone")

    compactor = example.Compactor(SimpleNamespace(run=lose))
    with pytest.raises(ConnectionError, match="the drive is gone"):
        example.run(compactor, tmp_path / "folder", [*OPTIONS, *RUNS[0]])
    assert "nobody has the drive any more" in capfd.readouterr().err
    # No merge that nobody counts.
    log = (tmp_path / "folder" / "LOG").read_text()
    assert compactor.by_host == log.count("Compacted ") == 0


@compiles
@builds
@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (bytes(23), "half an output"),
        (struct.pack("<2Q2I", 1, 1, 7, 8) + bytes(15), "keys"),
        (struct.pack("<2Q2I", 1, 1, 8, 0xFFFF_FFFF) + bytes(16), "keys"),
    ],
    ids=["short", "no key", "long key"],
)
def test_an_answer_that_is_none_is_an_error_of_the_database(
    answer: bytes, what: str, example: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compactor = example.Compactor(SimpleNamespace())
    compactor.compact = lambda **_: answer
    assert example.run(compactor, tmp_path / "folder", [*OPTIONS, *RUNS[0]]) == 1
    assert f"Corruption: {what}" in capfd.readouterr().err
