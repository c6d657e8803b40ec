"""Wrong results over a lifetime: counted against what the model expects."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bitline.cli.app import app
from bitline.errors import UsageError
from bitline.lifetime import CYCLES, EFFORTS, YEARS, measure
from bitline.opening import configuration


def test_counts_stay_within_what_the_model_expects_and_careful_programs_leave_none(tmp_path: Path) -> None:
    figure, table = tmp_path / "l.png", tmp_path / "l.parquet"
    arguments = ["lifetime", "--operands", "2", "--plot", str(figure), "--parquet", str(table), "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    points = json.loads(done.stdout)["points"]
    assert pq.read_table(table).to_pylist() == points
    assert figure.stat().st_size > 10_000
    assert len(points) == (len(EFFORTS) + 1) * len(CYCLES) * len(YEARS)
    measured = [point for point in points if point["result_bits"]]
    for point in measured:
        share = point["wrong_bits"] / point["result_bits"]
        # Blocks differ, and there are few of them; an AND hides some of its operands' errors.
        assert share <= 2 * point["expected_share"] + 5 / point["result_bits"], point
        if point["expected_share"] > 1e-3:
            assert share > point["expected_share"] / 8, point
        if point["effort"] == 2.0:
            assert point["wrong_bits"] == 0, point
    slc = [point for point in measured if point["mode"] == "slc" and point["years"] == 1.0]
    counts = [point["wrong_bits"] for point in slc]
    assert counts == sorted(counts), "more cycles, more errors"


def test_more_operands_than_a_string_has_are_refused() -> None:
    with pytest.raises(UsageError, match="from 1 to 48"):
        measure(configuration(), operands=49)


SMALL = """
[drive]
preset = "flash-cosmos"
[drive.set]
"nand.geometry.channels" = 1
"nand.geometry.chips_per_channel" = 1
"nand.geometry.blocks_per_plane" = 40
"nand.geometry.strings_per_block" = 2
"nand.geometry.cells_per_string" = 8
"ftl.gc.threshold_blocks" = 4
"frontend.health.rated_erases" = 1000
"""
#: Pages of a block of that drive: two strings of eight cells of three bits.
PAGES = 48
PAGE_BLOCKS = 4


def _told(tmp_path: Path, workload: str, *options: str) -> dict[str, float]:
    file = tmp_path / "w.toml"
    file.write_text(SMALL + workload)
    done = CliRunner().invoke(app, ["lifetime", "--workload", str(file), *options, "--json"])
    assert done.exit_code == 0, done.output
    told: dict[str, float] = json.loads(done.stdout)
    return told


def test_runs_are_those_that_the_rated_erases_leave(tmp_path: Path) -> None:
    flow = """
[precondition]
history = "sequential"
[[flow]]
requests = 2400
read_fraction = 0
blocks = 4
pattern = "sequential"
range_blocks = 1920
prefill = false
"""
    told = _told(tmp_path, flow)
    # Whole pages, one after another, over and over: nothing is copied, and each 48 of them cost a block.
    assert told["page_programs"] == 2400
    assert told["write_amplification"] == 1.0
    assert told["wear_erases"] == pytest.approx(2400 / PAGES, rel=0.03)
    assert told["blocks"] == 80
    left = (told["rated_erases"] - told["used_erases"]) * told["blocks"]
    assert told["runs"] == pytest.approx(left / told["wear_erases"])
    assert told["bytes_left"] == pytest.approx(told["runs"] * 2400 * PAGE_BLOCKS * 4096)
    assert told["years"] == pytest.approx(told["runs"] * told["elapsed_ns"] / 1e9 / 365.25 / 86400)
    daily = _told(tmp_path, flow, "--per-day", "2")
    assert daily["years"] == pytest.approx(daily["runs"] / 2 / 365.25)
    # A drive that has room erases nothing yet, and still will.
    fresh = _told(tmp_path, flow.replace('[precondition]\nhistory = "sequential"', "").replace("2400", "240"))
    assert (fresh["block_erases"], fresh["wear_from"]) == (0, "programs")
    assert fresh["wear_erases"] == pytest.approx(240 / PAGES)


def test_what_only_reads_has_no_end(tmp_path: Path) -> None:
    told = _told(tmp_path, "[[flow]]\nrequests = 100\nrange_blocks = 64\n", "--runs", "1")
    assert (told["wear_erases"], told["runs"], told["years"]) == (0, None, None)
    shown = CliRunner().invoke(app, ["lifetime", "--workload", str(tmp_path / "w.toml")])
    assert "no end: it wears nothing" in shown.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runs", "2"], "--runs is of a workload"),
        (["--workload", "w.toml", "--operands", "3"], "--operands is of wrong results"),
        (["--workload", "w.toml", "--per-day", "1e12"], "fit into a day"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.toml").write_text(SMALL + "[[flow]]\nrequests = 100\nrange_blocks = 64\n")
    done = CliRunner().invoke(app, ["lifetime", *options])
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
