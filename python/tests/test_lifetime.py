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
