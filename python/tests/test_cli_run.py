"""The command `run`: what it measures, says and writes."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import Run, fails
from conftest import SMALL_OPTIONS

import bitline


def test_run_measures_a_flow(run: Run) -> None:
    done = run("run", "--requests", 2000, "--read-fraction", 0.5, "--depth", 4, "--range", 512, "--json")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert found["requests"] == 2000
    assert found["requests_per_second"] == pytest.approx(2000 / found["elapsed_ns"] * 1e9)
    assert [row["kind"] for row in found["latencies"]] == ["read", "write"]
    assert sum(row["count"] for row in found["latencies"]) == 2000
    assert sum(row["energy_pj"] for row in found["energy"]) == found["energy_pj"]


def test_run_shows_latencies_with_units(run: Run) -> None:
    done = run("run", "--requests", 100, "--depth", 1, "--range", 64)
    assert done.code == 0
    for word in ("p99.99", "µs", "Requests per second", "nand"):
        assert word in done.out
    # One 4-KiB read at rest takes 64.36 us (docs/model.md).
    assert "64.4 µs" in done.out


def test_run_keeps_time_the_same_with_and_without_data(run: Run) -> None:
    options = ("run", "--requests", 500, "--read-fraction", 0.3, "--range", 256, "--json")
    assert run(*options).out == run(*options, "--set", "data.storage=memory").out


def test_run_offers_an_open_loop_and_sequential_requests(run: Run) -> None:
    done = run("run", "--requests", 500, "--rate", 10_000, "--pattern", "sequential", "--blocks", 4, "--json")
    assert done.json["requests_per_second"] == pytest.approx(10_000, rel=0.2)


def test_run_without_prefill_touches_no_flash(run: Run) -> None:
    done = run("run", "--requests", 50, "--no-prefill", "--range", 0, "--json")
    assert (done.json["flash_page_reads"], done.json["flash_page_programs"]) == (0, 0)


def test_run_writes_a_trace(run: Run, tmp_path: Path) -> None:
    done = run("run", "--requests", 10, "--range", 64, "--trace", "trace.json", "--json")
    assert (done.code, done.json["trace"]) == (0, "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    groups = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert set(groups.values()) == {"channels", "dies", "dram", "host", "link", "queues"}
    slices = [event for event in events if event["ph"] == "X"]
    assert {groups[event["pid"]] for event in slices} == {"channels", "dies", "host", "link"}
    assert sum(groups[event["pid"]] == "dies" and event["name"] == "read" for event in slices) == 10
    # Commands of a queue overlap; on its lanes none does.
    reads = [event for event in slices if groups[event["pid"]] == "host" and event["name"] == "read"]
    assert len(reads) == 10
    lanes: dict[int, list[dict[str, float]]] = {}
    for read in sorted(reads, key=lambda read: read["ts"]):
        lanes.setdefault(read["tid"], []).append(read)
    assert len(lanes) > 1
    for lane in lanes.values():
        assert all(one["ts"] + one["dur"] < other["ts"] + 1e-6 for one, other in pairwise(lane))
    # Each is linked to a read of a die.
    dies = [event for event in slices if groups[event["pid"]] == "dies"]
    linked = [number for event in dies for number in event["args"].get("commands", [])]
    assert {number for read in reads for number in read["args"]["commands"]} <= {*linked}
    # What is counted is never negative, and in the end nothing waits.
    counts = [event for event in events if event["ph"] == "C"]
    last = {(event["pid"], event["name"]): event["args"]["value"] for event in counts}
    assert {name.split()[-1] for _, name in last} == {"outstanding", "waiting"}
    assert set(last.values()) == {0}
    assert max(event["args"]["value"] for event in counts) >= 10


def test_a_trace_changes_no_figure_of_a_run(run: Run) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    assert run("run", "--image", "an.img", "--requests", 50, "--read-fraction", 0.0, "--json").code == 0
    options = ("run", "--requests", 200, "--read-fraction", 0.5, "--no-prefill", "--json")
    for name in ("plain.img", "traced.img"):
        Path(name).write_bytes(Path("an.img").read_bytes())
    plain = run(*options, "--image", "plain.img").json
    traced = run(*options, "--image", "traced.img", "--trace", "trace.json", "--plot", "figure.png").json
    assert (traced.pop("trace"), traced.pop("plot")) == ("trace.json", "figure.png")
    assert traced == plain


def test_run_draws_a_figure_and_takes_the_same_time(run: Run, tmp_path: Path) -> None:
    options = ("run", "--requests", 200, "--range", 256, "--read-fraction", 0.5, "--json")
    plain = run(*options).json
    drawn = run(*options, "--plot", "run.png").json
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert drawn.pop("plot") == "run.png"
    assert drawn == plain
    fails(run("run", "--plot", "run.nope"), 2, "--plot run.nope: the suffix must be a format")


def test_the_busiest_window_is_the_same_with_and_without_the_whole_trace() -> None:
    found = []
    for busiest in (False, True):
        with bitline.open(data="none") as drive:
            drive.tracing.start(busiest=busiest)
            drive.measure({"requests": 3000, "range_blocks": 4096, "read_fraction": 0.7})
            timeline = drive.tracing.busiest()
            assert timeline is not None
            found.append(timeline)
    assert found[0] == found[1]
    timeline = found[0]
    assert timeline.end_ns - timeline.begin_ns == 2e6
    assert len(timeline.of("dies")) == 64
    assert any(lane.slices for lane in timeline.of("dies"))
    assert {lane.name for lane in timeline.of("link")} == {"host to drive", "drive to host"}
    assert all(
        piece.end_ns > timeline.begin_ns and piece.begin_ns < timeline.end_ns
        for lane in timeline.lanes
        for piece in lane.slices
    )
    with bitline.open(data="none") as drive:
        assert drive.tracing.busiest() is None


def test_run_goes_on_an_image(run: Run) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    options = ("run", "--image", "an.img", "--requests", 100, "--range", 64, "--read-fraction", 0, "--json")
    assert run(*options).json["requests"] == 100
    assert run("image", "info", "an.img", "--json").json["mapped_pages"] == 64
    fails(run(*options, "--preset", "conduit"), 2, "--image has a configuration of its own")


def test_run_refuses_what_makes_no_sense(run: Run) -> None:
    fails(run("run", "--read-fraction", 1.5), 2, "--read-fraction is 1.5; it must be from 0 to 1")
    fails(run("run", "--rate", 0), 2, "--rate is 0; it must be from 0.0001 to 1e+11")
    fails(run("run", "--blocks", 100_000), 2, "--blocks is 100000; it must be from 1 to 65536")
    fails(run("run", "--depth", 65_536), 2, "'--depth'", "less than or equal to 65535")
    for option in ("--rate", "--read-fraction"):
        for value in ("nan", "inf"):
            fails(run("run", option, value), 2, f"{option} is {value}; it must be from 0")
    for option in ("--requests", "--range"):
        fails(run("run", option, 9 * 10**22), 2, option, str(2**63 - 1))
