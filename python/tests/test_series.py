"""A run over time, and what of a report is not to be taken at its face."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import bitline
from bitline.cli.app import app
from bitline.errors import UsageError
from bitline.series import save
from bitline.workload import Flow, LatencyChunk, Open

_FLOWS = [
    Flow(name="writes", requests=500, read_fraction=0, prefill=False),
    Flow(name="reads", requests=300, arrival=Open(20_000)),
]


@pytest.fixture(scope="module")
def report() -> bitline.Report:
    with bitline.open(data="none") as drive:
        return drive.measure(_FLOWS)


def test_intervals_add_up(report: bitline.Report) -> None:
    series = report.series
    for number, flow in enumerate(report.flows):
        parts = [interval.workloads[number] for interval in series.intervals]
        assert {part.name for part in parts} == {flow.name}
        assert sum(part.requests for part in parts) == flow.requests
        assert max(part.latency.max for part in parts if part.latency) == (flow.read or flow.write).max
    assert sum(interval.flash_page_programs for interval in series.intervals) == report.flash_page_programs
    assert report.to_dict()["series"]["interval_ns"] == series.interval.ns


def test_a_series_is_rows(report: bitline.Report, tmp_path: Path) -> None:
    rows = report.series.to_arrow()
    assert rows.num_rows == 2 * len(report.series.intervals)
    assert sum(rows["requests"].to_pylist()) == 800
    save(tmp_path / "run.parquet", report, "")
    assert pq.read_table(tmp_path / "run.parquet").equals(rows)
    save(tmp_path / "run.csv", report, "")
    assert csv.read_csv(tmp_path / "run.csv").column_names == rows.column_names
    assert max(map(len, str(report.series).splitlines())) <= 80


def test_a_series_is_a_figure(report: bitline.Report, tmp_path: Path) -> None:
    save(tmp_path / "run.svg", report, "Writes and reads")
    drawn = (tmp_path / "run.svg").read_text()
    for word in ("Requests per second", "Write amplification", "99th percentile", "nothing was collected"):
        assert word in drawn
    with pytest.raises(UsageError, match=r"format of rows \(.parquet or .csv\) or of figures"):
        save(tmp_path / "run.xyz", report, "")


def test_a_figure_hides_no_curve(
    report: bitline.Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bitline import figures

    drawing, drawn = figures.drawing, []

    @contextmanager
    def kept(path: Path, title: str, size: tuple[float, float], note: str = "") -> Iterator[Figure]:
        with drawing(path, title, size, note) as figure:
            yield figure
            drawn.append(figure)

    monkeypatch.setattr(figures, "drawing", kept)
    warned = dataclasses.replace(report, warnings=(*report.warnings, *report.warnings))
    save(tmp_path / "run.svg", warned, "Writes and reads")
    (figure,) = drawn
    assert [panel.get_legend() for panel in figure.axes] == [None] * 6
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"writes", "reads", "median", "99th percentile", "erases, mean"} <= {*labels}
    latencies = figure.axes[1].lines
    assert {line.get_marker() for line in latencies} == {"o", "s"}
    assert all(key.get_color() == figures.INK for key in figure.legends[0].legend_handles[2:5])
    note = figure.texts[-1].get_text().splitlines()
    begins = [str(warning)[:40] for warning in warned.warnings]
    assert [line[:40] for line in note if line[:40] in begins] == begins


def test_warnings_are_told(report: bitline.Report) -> None:
    (warning,) = (each for each in report.warnings if each.workload is None)
    assert (warning.kind, warning.workload) == ("nothing_collected", None)
    assert f"Warning: {warning}." in " ".join(str(report).split())


def test_runs_draw_other_addresses() -> None:
    with bitline.open(data="none") as drive:
        flow, drawn = Flow(requests=50, prefill=False), []
        for draw in (None, None, 0):
            chunks: list[LatencyChunk] = []
            told = drive.measure(flow, latencies=chunks.append, draw=draw)
            drawn.append((told.draw, sorted(lba for chunk in chunks for lba in chunk["lba"].tolist())))
    assert [draw for draw, _ in drawn] == [0, 1, 0]
    assert drawn[0] == drawn[2] != drawn[1]


def test_the_command_line_writes_a_series(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    arguments = ["run", "--requests", "400", "--read-fraction", "0", "--no-prefill", "--json"]
    found = CliRunner().invoke(app, [*arguments, "--series", str(path), "--interval", "0.001"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert {row["kind"] for row in told["warnings"]} >= {"nothing_collected"}
    rows = csv.read_csv(path).to_pylist()
    assert len(rows) == len(told["series"])
    assert rows[0]["end_ns"] - rows[0]["begin_ns"] == 1e6
