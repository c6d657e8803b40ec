"""TxISC reproduced: the task of Figure 3, memory of entries, applications, all at reduced size."""

import math
import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import Run, fails
from test_cc import compiles

import bitline
from bitline.repro.txisc import bandwidths, entry_bytes, published
from bitline.repro.txisc.bandwidth import ARCHITECTURES, BLOCK_BYTES, DIRECT, PRESET, own_work, ratios, run
from bitline.repro.txisc.memory import STRIDES
from bitline.repro.txisc.report import FIGURES


def test_published_numbers_name_their_sources() -> None:
    known = published()
    assert len({one.key for one in known}) == len(known)
    assert all(one.source and one.quantity and one.value > 0 for one in known)
    folders = {f"section-{name}" if "." in name else f"figure-{int(name):02}" for name in FIGURES}
    assert {one.figure for one in known} == folders


@compiles
def test_the_task_writes_what_it_is_told_to_and_nothing_else() -> None:
    with bitline.open(PRESET) as drive:
        before = bytes(range(256)) * (8 * BLOCK_BYTES // 256)
        drive.volume["file"] = before
        # Every third block of eight, five of them: the task writes what its memory is full of, zeros.
        for depth in (1, 4):
            drive.volume["file"] = before
            result = run(drive, "snapshot", 5, depth=depth, stride=3)
            assert result, result.reason
            assert struct.unpack("<2I", result.value) == (0, 5)
            after = drive.volume["file"]
            for block in range(8):
                part = slice(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
                assert after[part] == (bytes(BLOCK_BYTES) if block in {0, 3, 6, 1, 4} else before[part])
        # Reads change nothing; a share of them is about what was asked for.
        drive.volume["file"] = before
        assert struct.unpack("<2I", run(drive, "file", 40, read_percent=100).value) == (40, 0)
        assert drive.volume["file"] == before
        reads, writes = struct.unpack("<2I", run(drive, "file", 400, read_percent=25, depth=8).value)
        assert reads + writes == 400
        assert 70 < reads < 130
        # More in flight than it has memory for.
        refused = run(drive, "file", 400, depth=65)
        assert (refused.status, "1 to 64 in flight" in refused.log) == ("failed", True)


@compiles
def test_bandwidths_are_those_of_the_flash() -> None:
    points = bandwidths(emulated=True, percents=(0, 100), depths=(1, 32), requests=200, file_bytes=16 << 20)
    assert len(points) == 2 * 2 * len(ARCHITECTURES)
    assert points == bandwidths(
        emulated=True, percents=(0, 100), depths=(1, 32), requests=200, file_bytes=16 << 20
    )
    found = {(one.architecture, one.read_percent, one.depth): one for one in points}
    # Table I: 400 us a program, 80 us a read, and a page over the channel (13.7 us); the rest is firmware.
    for percent, flash_ns in ((0, 413_700), (100, 93_700)):
        for name in ARCHITECTURES:
            each = found[name, percent, 1].ns / 200
            assert flash_ns < each < flash_ns + 7_000
            # 16 dies.
            assert each / 16 < found[name, percent, 32].ns / 200 < each / 4
    assert all(0.99 < one < 1.01 for over in ("FileISC", "BlockISC") for one in ratios(points, over).values())
    assert "TxFTL" in own_work()


@compiles
def test_without_flash_times_the_dram_is_what_is_busy() -> None:
    points = bandwidths(emulated=False, percents=(0,), depths=(32,), requests=200, file_bytes=16 << 20)
    # Each page crosses the DRAM twice, at 12.8 GB/s.
    assert all(5_000 < one.bandwidth < 6_400 for one in points)


@compiles
def test_an_entry_is_of_one_page() -> None:
    for stride in STRIDES.values():
        assert entry_bytes(stride, 8) == 8 * 24


@compiles
def test_the_command_makes_figures_and_a_table(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    found = run("repro", "txisc", "--quick", "--json", "--out", out).json
    assert found["quick"] is True
    rows = {row["key"]: row for row in found["table"]}
    assert "not_measured" not in found
    assert set(rows) == {one.key for one in published()}
    drawn = {"figure-03", "figure-03-ratios", "figure-04", "figure-05", "insertions", "section-5.2"}
    assert {file.stem for file in out.glob("*.png")} == drawn
    kept = {"figure-03", "figure-04", "insertions", "section-5.2", "table"}
    assert {file.stem for file in out.glob("*.parquet")} == kept
    points = pq.read_table(out / "figure-03.parquet").to_pylist()
    assert len(points) == 2 * 3 * 3 * 3
    for one in points:
        assert one["reads"] + one["writes"] == 300
        rate = 300 * BLOCK_BYTES / one["ns"] * 1e3
        assert math.isclose(one["megabytes_per_second"], rate)
    # Each application in each architecture takes the time that it takes, and not another's.
    runs = pq.read_table(out / "figure-04.parquet").to_pylist()
    assert {one["architecture"] for one in runs} == {"TxISC", "FileISC", "Host-only"}
    assert len({one["ns"] for one in runs}) == len(runs) == 3 * 3
    assert all(0 < one["io_share"] < 1 for one in runs)
    # What the aim is, and was met when this was written.
    assert all(rows[f"figure03.emulated_{over}"]["within"] for over in ("file", "block"))
    # What transactions take of the cores shows where flash takes no time, and is little.
    shown = ("direct_file_100", "direct_file_50", "deep_file", "reads_file")
    assert all(0.93 < rows[f"figure03.{key}"]["measured"] < 0.9999 for key in shown)
    assert rows["figure04.bfs_file"]["within"]
    # 24 B for a page of 16 KiB.
    assert rows["section52.entry"]["measured"] == 24
    assert math.isclose(rows["section52.scattered"]["measured"], 100 * 24 / BLOCK_BYTES)


@compiles
def test_one_figure_alone(run: Run, tmp_path: Path) -> None:
    found = run("repro", "txisc", "--figure", "5.2", "--quick", "--json", "--out", tmp_path).json
    assert {row["figure"] for row in found["table"]} == {"section-5.2"}
    done = run("repro", "txisc", "--figure", "5.2", "--quick", "--strict", "--out", tmp_path)
    assert (done.code, "beyond the aim" in done.err) == (1, True)
    assert not (tmp_path / "figure-03.png").exists()
    # It fits a page though it is read through a pipe.
    assert max(map(len, done.out.splitlines())) <= 80


def test_figures_that_are_not_there(run: Run, tmp_path: Path) -> None:
    done = run("repro", "txisc", "--figure", "99", "--out", tmp_path)
    fails(done, 2, "there is no figure 99; there are 3, ")


@pytest.mark.parametrize("kind", ["read_mlc", "program_mlc", "erase"])
def test_flash_without_times_takes_the_least_that_it_can(kind: str) -> None:
    key = f"nand.latency.{kind}_ns"
    less = 0 if kind == "erase" else [0, 0]
    with pytest.raises(bitline.ConfigError, match="must be 1 to"):
        bitline.open(PRESET, data="none", set={**DIRECT, key: less})
