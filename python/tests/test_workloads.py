"""Flows, traces and single requests from Python."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL

import bitline
from bitline import Drive, Flow, Queries, Replay, UsageError
from bitline.workload import (
    LATENCY_COLUMNS,
    REQUEST_KINDS,
    AsFastAsPossible,
    Bursts,
    Closed,
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
    report = drive.measure(dataclasses.replace(flow, requests=200, range_blocks=128))
    assert report.flows[0].requests == 200


def test_a_flow_and_a_mapping_are_the_same(drive: Drive) -> None:
    flow = Flow(requests=50, range_blocks=64, pattern=Zipf(0.9), blocks=2)
    plain = flow.to_dict()
    assert plain["pattern"] == {"kind": "zipf", "theta": 0.9}
    short = {"requests": 50, "range_blocks": 64, "pattern": {"kind": "zipf", "theta": 0.9}, "blocks": 2}
    first, second = drive.measure(plain), drive.measure(short)
    assert first.read_bytes == second.read_bytes == 100 * 4096


def test_every_field_has_the_default_of_the_crate(drive: Drive) -> None:
    wrong = pytest.raises(UsageError, match="it has")
    with wrong as found:
        drive.measure({"zzzzzz": 1})
    known = str(found.value).split("it has ")[1].split(", ")
    assert set(known) == {entry.name for entry in dataclasses.fields(Flow)}


def test_every_field_of_queries_has_the_default_of_the_crate(drive: Drive) -> None:
    with pytest.raises(UsageError, match="it has") as found:
        drive.measure({"expression": "g:0", "zzzzzz": 1})
    known = str(found.value).split("it has ")[1].split(", ")
    assert set(known) == {entry.name for entry in dataclasses.fields(Queries)}
    drive.group("g").place(2, bits=8)
    short, whole = {"expression": "and(g)", "requests": 3}, Queries("and(g)", requests=3).to_dict()
    (first,), (second,) = (drive.measure(each).queries for each in (short, whole))
    assert (first.name, first.platform, first.answer) == (second.name, second.platform, second.answer)
    assert first.latency == second.latency


def test_a_flow_ends_by_time(drive: Drive) -> None:
    report = drive.measure(Flow(requests=1 << 40, stop_ns=2_000_000, range_blocks=64))
    assert 2e6 <= report.flows[0].elapsed.ns < 3e6


def test_a_trace_is_replayed(drive: Drive, trace: Path) -> None:
    report = drive.measure(Replay(trace))
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
    report = drive.measure(Replay(trace, timing=timing, requests_max=10, range_blocks=64))
    assert report.flows[0].requests == 10


def test_flows_and_traces_run_side_by_side(drive: Drive, trace: Path) -> None:
    report = drive.measure([Flow(requests=100, range_blocks=64), Replay(trace, name="tpcc")])
    assert [flow.name for flow in report.flows] == ["flow", "tpcc"]
    assert [flow.requests for flow in report.flows] == [100, 1000]


def test_every_request_can_be_had(drive: Drive, trace: Path) -> None:
    chunks: list[LatencyChunk] = []
    report = drive.measure(Replay(trace), latencies=chunks.append)
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
    assert set(rows["bytes"]) == {4096}


def test_bad_lines_are_told_or_skipped(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(_TRACE + "oh dear\n" + _TRACE)
    with pytest.raises(UsageError, match=r"bad.trace, line 1001: its time is no number"):
        drive.measure(Replay(path))
    report = drive.measure(Replay(path, bad_lines_max=3))
    trace = report.flows[0].trace
    assert trace is not None
    assert (trace.requests, trace.bad_lines, trace.first_bad_lines[0].line) == (2000, 1, 1001)
    path.write_text(_TRACE + "oh dear\n" * 5 + _TRACE)
    with pytest.raises(UsageError, match=r"line 1004: .* \(after 3 bad lines that were passed over\)"):
        drive.measure(Replay(path, bad_lines_max=3))


def test_a_trace_that_is_not_there_is_told(drive: Drive, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        drive.measure(Replay(tmp_path / "nowhere"))


def test_a_drive_is_preconditioned(drive: Drive) -> None:
    before = drive.now
    done = drive.media.precondition("random", overwrites=1.5, occupied=0.5)
    pages = drive.media.inventory().data_pages
    assert done.mapped_pages == drive.media.inventory().mapped_pages == pytest.approx(pages / 2, abs=1)
    assert done.flash_pages == pytest.approx(2.5 * done.mapped_pages, rel=0.05)
    assert drive.now == before
    report = drive.measure(Flow(requests=100, range_blocks=0, prefill=False))
    assert 20 < report.flash_page_reads < 80
    drive.power_cut()
    drive.power_up()
    assert drive.media.inventory().mapped_pages == done.mapped_pages
    with pytest.raises(UsageError, match="never written"):
        drive.media.precondition()


def test_overwrites_stand_in_the_history_too() -> None:
    def left(history: str, **more: float) -> tuple[int, int, int]:
        with bitline.open(data="none", set=SMALL) as drive:
            done = drive.media.precondition(history, occupied=0.5, **more)
            report = drive.measure(Flow(requests=100, range_blocks=0, prefill=False))
            return done.flash_pages, done.mapped_pages, report.flash_page_reads

    assert left("random:1.5") == left("random", overwrites=1.5)


def test_preconditioning_tells_how_far_it_is_and_can_be_interrupted(drive: Drive) -> None:
    shares: list[float] = []

    def interrupt(share: float) -> None:
        shares.append(share)
        if len(shares) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive.media.precondition(progress=interrupt)
    assert shares == sorted(shares)
    found = drive.media.inventory()
    assert found.mapped_pages == pytest.approx(shares[-1] * found.data_pages, abs=2)
    drive.power_cut()
    drive.power_up()
    drive.write(0, b"z" * 4096)
    assert drive.read(0) == b"z" * 4096
    assert drive.media.inventory().mapped_pages == found.mapped_pages


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"occupied": 1.5}, "occupied = 1.5 cannot be; it must be 0 to 1"),
        ({"occupied": float("nan")}, "must be a finite number"),
        ({"history": "random"}, "overwrites, such as"),
        ({"history": "steady"}, "history steady: it must be sequential, random:OVERWRITES"),
        ({"history": "random:"}, "must be sequential, random:OVERWRITES"),
        ({"history": "random:x"}, "'x' is no number"),
        ({"history": "sequential:1"}, "must be sequential, random:OVERWRITES"),
        ({"history": "random:1", "overwrites": 1.0}, "it says the overwrites already"),
        ({"history": 3}, "must be sequential, random:OVERWRITES"),
        ({"history": "steady_state", "overwrites": 2.0}, "overwrites"),
        ({"working_set": 0.5}, "working_set = 0.5 cannot be; it must be at least occupied"),
    ],
)
def test_a_precondition_that_makes_no_sense(drive: Drive, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        drive.media.precondition(**arguments)


def test_utilization_of_each_part_adds_up(drive: Drive) -> None:
    report = drive.measure(Flow(requests=200, range_blocks=128, read_fraction=0.5))
    parts = report.utilization
    assert len(parts.channels) == 2
    assert len(parts.dies) == 4
    assert parts.channel == pytest.approx(sum(parts.channels) / 2)
    assert parts.die == pytest.approx(sum(parts.dies) / 4)
    assert parts.dram == 0


def test_the_caches_are_in_the_report() -> None:
    settings = {
        "data.storage": "none",
        "cache.capacity_bytes": 1 << 22,
        "ftl.mapping.kind": "cached",
        "ftl.mapping.cache_entries": 512,
    }
    with bitline.open("mqsim-default", set=settings) as drive:
        report = drive.measure(Flow(requests=3000, range_blocks=64_000, read_fraction=0.5, pattern=Zipf()))
    cache, mapping = report.cache, report.mapping
    assert cache.read_hits > 0
    assert cache.write_hits + cache.write_misses > 1000
    assert mapping.read_misses > 0
    assert mapping.page_reads > 0
    assert 0 < report.utilization.dram < 1


def test_a_report_is_plain_data(drive: Drive, trace: Path) -> None:
    data = drive.measure(Replay(trace)).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert 0 <= data["utilization"]["die"] <= 1
    assert data["write_amplification"] > 0


@pytest.mark.parametrize(
    ("written", "complete"),
    [
        ({"kind": "closed"}, Closed()),
        ({"kind": "open", "requests_per_second": 1e9}, Open(1e9)),
        ({"kind": "paced", "requests_per_second": 1e9}, Paced(1e9)),
        ({"kind": "bursts", "requests_per_second": 1e9, "burst": 4}, Bursts(1e9, 4)),
    ],
)
def test_arrivals_have_the_same_defaults_everywhere(
    written: dict[str, Any], complete: Closed | Open | Paced | Bursts
) -> None:
    def measured(arrival: object) -> object:
        # So many at once that the bound of those in flight tells.
        flow = {"requests": 2000, "range_blocks": 64, "arrival": arrival}
        with bitline.open(data="none", set=SMALL) as drive:
            return drive.measure(flow).flows[0].read

    assert measured(written) == measured(complete.to_dict())
