"""LevelDB's own db_bench on a mounted drive, which does its compactions; the same without, on a folder."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import leveldb
import pytest
from leveldb import LevelDb
from test_attach import attached, check, left_behind, mounting
from test_cc import compiles

EXAMPLE = Path(__file__).parents[2] / "examples" / "leveldb"
DB_BENCH = EXAMPLE.parents[1] / "target" / "leveldb" / "db_bench"
BITS_PER_KEY = 10

_LACKS = [tool for tool in ("g++", "make", "cargo") if shutil.which(tool) is None]
if leveldb.library() is None:
    _LACKS.append(leveldb.PACKAGE)

#: Runs on one database. Benchmarks of a run draw the same keys, those of runs with other numbers of them others.
RUNS = [
    ["--benchmarks=fillrandom,overwrite,readrandom,readseq", "--num=30000"],
    ["--benchmarks=deleterandom,readrandom,compact,overwrite,deleterandom,readreverse", "--num=23000"],
    ["--benchmarks=readrandom,seekrandom,readseq", "--num=30000"],
]
OPTIONS = ["--write_buffer_size=131072", "--max_file_size=1048576", f"--bloom_bits={BITS_PER_KEY}"]


def said(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    print(done.stdout)
    return done.stdout


class Runs:
    """All runs on one database, by a command that takes db_bench's options."""

    def __init__(self, folder: Path, *command: object) -> None:
        self.said = self.log = ""
        for number, run in enumerate(RUNS):
            self.said += said(*command, *OPTIONS, *run, f"--use_existing_db={min(number, 1)}")
            self.log += (folder / "LOG").read_text()
        self.found = re.findall(r"(\w+) +: .*(\(\d+ of \d+ found\))", self.said)


def contents(folder: Path) -> dict[bytes, bytes]:
    """What a database holds, by another build of LevelDB, which checks every block's sum."""
    with LevelDb(folder, bits_per_key=BITS_PER_KEY) as database:
        return dict(database.items())


@mounting
@compiles
@pytest.mark.skipif(bool(_LACKS), reason=f"SKIPPED: LevelDB is not built and read without {_LACKS}")
def test_db_bench_runs_on_a_drive_that_compacts(tmp_path: Path) -> None:
    said("make", "-C", EXAMPLE, "-j2", "CXXFLAGS=-O1")
    folder = tmp_path / "folder"
    by_host = Runs(folder, DB_BENCH, f"--db={folder}")
    pages = ["--set", "ftl.mapping_unit_bytes=4096"]
    with attached(tmp_path / "m", tmp_path / "drive.img", "--mount", "ext4", *pages) as server:
        by_drive = Runs(server.at / "db", sys.executable, EXAMPLE / "db_bench.py", server.at)
        shutil.copytree(server.at / "db", tmp_path / "copy")
    check(tmp_path / "drive.img", "ext4", tmp_path)
    assert not left_behind(tmp_path)

    assert by_drive.found == by_host.found
    kept = contents(folder)
    assert 5_000 < len(kept) < 30_000
    assert contents(tmp_path / "copy") == kept
    # The example's account of who merged tables, and LevelDB's own: it flushed and moved some, and merged none.
    counted = re.findall(r"^compactions: (\d+) in the drive, (\d+) by the host;", by_drive.said, re.M)
    assert len(counted) == len(RUNS)
    in_drive, by_leveldb = (sum(map(int, counts)) for counts in zip(*counted, strict=True))
    assert (by_leveldb, by_drive.log.count("Compacting ")) == (0, 0)
    assert in_drive == by_drive.log.count("In the drive: ") == by_drive.log.count("Compacted ") > 10
    assert by_host.log.count("Compacting ") > 10
    # Writers did not wait for the drive: memtables were flushed meanwhile.
    meanwhile = [part.split("Compacted ")[0] for part in by_drive.log.split("In the drive: ")[1:]]
    assert any("Level-0 table " in part for part in meanwhile)
    assert "error" not in by_drive.log
