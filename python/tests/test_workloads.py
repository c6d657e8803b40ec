"""Flows, traces and single requests from Python."""

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from bitline import Drive, Flow, Replay, UsageError
from bitline.workload import (
    LATENCY_COLUMNS,
    REQUEST_KINDS,
    AsFastAsPossible,
    Bursts,
    HotCold,
    LatencyChunk,
    Normal,
    Open,
    Paced,
    Scaled,
    Thinking,
    Weighted,
    Zipf,
)

_TRACE = "".join(f"{n * 1000} 0 {n % 64 * 8} 8 {n % 2}\n" for n in range(1000))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A thousand requests, half of them reads, one a microsecond."""
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress(_TRACE.encode()))
    return path


@pytest.mark.parametrize(
    "flow",
    [
        Flow(),
        Flow(pattern=Zipf(1.1), blocks=Normal(2, 1), read_fraction=0.5),
        Flow(pattern=HotCold(20, 80), blocks=Weighted([(1, 3), (4, 1)]), align_blocks=2),
        Flow(arrival=Open(100_000), pattern="sequential"),
        Flow(arrival=Paced(100_000, outstanding_max=4)),
        Flow(arrival=Bursts(100_000, burst=8)),
        Flow(arrival=Thinking(users=4, think_ns=1000), working_set_percent=50),
    ],
)
def test_every_kind_of_flow_runs(drive: Drive, flow: Flow) -> None:
    report = drive.run(dataclasses.replace(flow, requests=200, range_blocks=128))
    assert report.flows[0].requests == 200


def test_a_flow_and_a_mapping_are_the_same(drive: Drive) -> None:
    flow = Flow(requests=50, range_blocks=64, pattern=Zipf(0.9), blocks=2)
    plain = flow.to_dict()
    assert plain["pattern"] == {"kind": "zipf", "theta": 0.9}
    short = {"requests": 50, "range_blocks": 64, "pattern": {"kind": "zipf", "theta": 0.9}, "blocks": 2}
    first, second = drive.run(plain), drive.run(short)
    assert first.read_bytes == second.read_bytes == 100 * 4096


def test_every_field_has_the_default_of_the_crate(drive: Drive) -> None:
    wrong = pytest.raises(UsageError, match="it has")
    with wrong as found:
        drive.run({"zzzzzz": 1})
    known = str(found.value).split("it has ")[1].split(", ")
    assert set(known) == {entry.name for entry in dataclasses.fields(Flow)}


def test_a_flow_ends_by_time(drive: Drive) -> None:
    report = drive.run(Flow(requests=1 << 40, stop_ns=2_000_000, range_blocks=64))
    assert 2e6 <= report.flows[0].elapsed.ns < 3e6


def test_a_trace_is_replayed(drive: Drive, trace: Path) -> None:
    report = drive.replay(trace)
    flow = report.flows[0]
    assert flow.trace is not None
    assert (flow.trace.format, flow.trace.requests, flow.trace.lines) == ("mqsim", 1000, 1000)
    assert flow.elapsed.ns >= 999_000
    assert flow.read is not None
    assert flow.write is not None
    assert (flow.read.count, flow.write.count) == (500, 500)
    assert report.written_bytes == 500 * 4096


@pytest.mark.parametrize("timing", [Scaled(0.1), AsFastAsPossible(depth=8)])
def test_timing_can_be_chosen(drive: Drive, trace: Path, timing: Scaled | AsFastAsPossible) -> None:
    report = drive.replay(Replay(trace, timing=timing, requests_max=10, range_blocks=64))
    assert report.flows[0].requests == 10


def test_flows_and_traces_run_side_by_side(drive: Drive, trace: Path) -> None:
    report = drive.run([Flow(requests=100, range_blocks=64), Replay(trace, name="tpcc")])
    assert [flow.name for flow in report.flows] == ["flow", "tpcc"]
    assert [flow.requests for flow in report.flows] == [100, 1000]


def test_every_request_can_be_had(drive: Drive, trace: Path) -> None:
    chunks: list[LatencyChunk] = []
    report = drive.replay(trace, latencies=chunks.append)
    assert all(chunk.keys() == LATENCY_COLUMNS.keys() for chunk in chunks)
    rows = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in LATENCY_COLUMNS}
    assert {name: column.dtype for name, column in rows.items()} == dict(LATENCY_COLUMNS)
    assert all(len(column) == 1000 for column in rows.values())
    writes = rows["kind"] == REQUEST_KINDS.index("write")
    write = report.flows[0].write
    assert write is not None
    assert rows["latency_ns"][writes].max() == pytest.approx(write.max.ns, abs=1e-3)
    assert rows["latency_ns"][writes].mean() == pytest.approx(write.mean.ns, rel=1e-6)
    assert set(rows["lba"]) == set(range(64))
    assert not rows["status"].any()


def test_bad_lines_are_told_or_skipped(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(_TRACE + "oh dear\n" + _TRACE)
    with pytest.raises(UsageError, match=r"bad.trace, line 1001: its time is no number"):
        drive.replay(path)
    report = drive.replay(Replay(path, skip_bad_lines=True))
    trace = report.flows[0].trace
    assert trace is not None
    assert (trace.requests, trace.bad_lines, trace.first_bad_lines[0].line) == (2000, 1, 1001)


def test_a_trace_that_is_not_there_is_told(drive: Drive, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        drive.replay(tmp_path / "nowhere")


def test_a_report_is_plain_data(drive: Drive, trace: Path) -> None:
    data = drive.replay(trace).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert 0 <= data["utilization"]["die"] <= 1
    assert data["write_amplification"] > 0
