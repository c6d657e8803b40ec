"""`bitline run` and `bitline replay`: every option has an effect, every file holds what was measured."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from command_line import Run, fails
from conftest import SMALL_OPTIONS

_CACHED = ("--set", "ftl.mapping.kind=cached")
_QUICK = ("--requests", 300, "--range", 256, "--json")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A thousand requests, half of them reads, one every tenth of a millisecond."""
    lines = [f"{n * 100_000} 0 {n % 64 * 8} 8 {n % 2}\n" for n in range(1000)]
    path = tmp_path / "some.trace"
    path.write_text("".join(lines))
    return path


# run


def test_the_summary_has_everything(run: Run) -> None:
    found = run("run", *_QUICK, "--read-fraction", 0.5).json
    for key in (
        "requests_per_second",
        "megabytes_per_second",
        "write_amplification",
        "gc_blocks",
        "gc_page_copies",
        "erase_count_min",
        "erase_count_mean",
        "erase_count_max",
        "cache_read_hits",
        "mapping_misses",
        "energy_pj",
    ):
        assert key in found, key
    times = {f"{name}_ns" for name in ("mean", "min", "p50", "p99", "p999", "p9999", "max")}
    assert all(times < row.keys() for row in found["latencies"])
    busy = {row["part"]: row for row in found["utilization"]}
    assert list(busy) == ["link, host to drive", "link, drive to host", "channels", "dies", "dram"]
    assert (busy["channels"]["count"], busy["dies"]["count"]) == (8, 64)
    assert 0 < busy["dies"]["least"] <= busy["dies"]["mean"] <= busy["dies"]["most"] <= 1
    parts = found["energy_by_component_pj"]
    assert sum(parts.values()) == found["energy_pj"]
    assert parts["nand"] == sum(row["energy_pj"] for row in found["energy"] if row["component"] == "nand")
    assert sum(row["share"] for row in found["energy"]) == pytest.approx(1)


def test_people_see_what_happened_only(run: Run) -> None:
    out = run("run", "--requests", 300, "--range", 256).out
    assert "Write amplification" in out
    assert "Data cache" not in out
    cached = run("run", "--requests", 300, "--range", 256, "--preset", "mqsim-default", *_CACHED).out
    assert "Data cache" in cached
    assert "Mapping cache" in cached


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--pattern", "sequential"),
        ("--pattern", "zipf"),
        ("--pattern", "zipf:1.2"),
        ("--pattern", "zipf:9e-1"),
        ("--pattern", "hot-cold:10:90"),
        ("--blocks", "8"),
        ("--blocks", "1:1,8:3"),
        ("--blocks", "normal:4:2"),
        ("--align", "8"),
        ("--depth", "4"),
        ("--rate", "20000"),
        ("--read-fraction", "0.5"),
        ("--seconds", "0.0005"),
        ("--precondition", "random:2"),
    ],
)
def test_every_option_of_a_flow_changes_something(run: Run, option: str, value: str) -> None:
    done = run("run", *_QUICK, *SMALL_OPTIONS, option, value)
    assert (done.code, done.err) == (0, "")
    assert done.out != run("run", *_QUICK, *SMALL_OPTIONS).out


def test_shapes_of_arrivals(run: Run) -> None:
    outs = [
        run("run", *_QUICK, "--rate", 50_000, *options).out
        for options in ((), ("--arrivals", "random"), ("--arrivals", "paced"), ("--arrivals", "bursts:10"))
    ]
    assert outs[0] == outs[1]
    assert len(set(outs)) == 3


def test_several_flows_by_option(run: Run) -> None:
    flows = (
        "--flow",
        'name = "a"',
        "--flow",
        'requests = 50, read_fraction = 0, arrival = {kind = "closed", depth = 2}',
    )
    found = run("run", *_QUICK, *flows).json
    assert [(row["name"], row["requests"]) for row in found["flows"]] == [("a", 300), ("flow 2", 50)]
    assert [(row["flow"], row["kind"]) for row in found["latencies"]] == [("a", "read"), ("flow 2", "write")]
    fails(run("run", "--flow", "name = a"), 2, "--flow name = a: expected KEY=VALUE")
    fails(run("run", "--flow", "nam = 1"), 2, "a flow has no key", "name")


def test_a_workload_file(run: Run, tmp_path: Path, trace: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "t.gz").write_bytes(gzip.compress(trace.read_bytes()))
    (tmp_path / "w" / "mix.toml").write_text(
        """
        [drive]
        preset = "conduit"
        set = { "ftl.overprovisioning" = 0.2, "nand.geometry.blocks_per_plane" = 64 }
        [precondition]
        history = "steady_state"
        occupied = 0.5
        [[flow]]
        name = "writes"
        requests = 100
        read_fraction = 0
        prefill = false
        [[replay]]
        path = "t.gz"
        requests_max = 40
        """
    )
    found = run("run", "--workload", "w/mix.toml", "--json").json
    assert [(row["name"], row["requests"]) for row in found["flows"]] == [("writes", 100), ("trace", 40)]
    assert found["flows"][1]["format"] == "mqsim"
    smaller = run("run", "--workload", "w/mix.toml", "--set", "nand.geometry.channels=2", "--json").json
    busy = {row["part"]: row["count"] for row in smaller["utilization"]}
    assert busy["channels"] == 2
    fails(run("run", "--workload", "w/mix.toml", "--depth", 3), 2, "leave --depth out")
    fails(run("run", "--workload", "no.toml"), 2, "no.toml: No such file")
    for text, words in (
        ("[[flows]]", "a workload file has no key 'flows'"),
        ("", "at least one [[flow]], [[replay]] or [[queries]]"),
        ('[[flow]]\npath = "x"', "write [[replay]]"),
        ("flow = 1", "flow must be a list of tables"),
        ("[[flow", "this is no TOML"),
        ("[precondition]\noccupied = 2\n[[flow]]", "occupied = 2 cannot be"),
    ):
        (tmp_path / "bad.toml").write_text(text)
        fails(run("run", "--workload", "bad.toml"), 2, words)
    fails(run("run", "--workload", "workload.xml"), 2, "bitline validate mqsim DIR")


def test_a_queue_of_higher_priority_is_served_first(run: Run) -> None:
    """Two flows share a saturated drive: the urgent one waits less; without classes, both wait as long."""
    flows = []
    for queue, name in enumerate(("urgent", "low")):
        flows += ["--flow", f'name = "{name}", queue = {queue}']
    options = ("run", "--requests", 3000, "--range", 1024, "--depth", 128, *SMALL_OPTIONS, *flows, "--json")
    classes = (
        "--set", 'host.queue_priorities=["urgent", "low"]',
        "--set", "frontend.arbitration=weighted_round_robin",
        "--set", "frontend.commands_in_flight=32",
    )  # fmt: skip
    same, urgent = ({row["flow"]: row["mean_ns"] for row in run(*options, *more).json["latencies"]}
                    for more in ((), classes))  # fmt: skip
    assert same["urgent"] == pytest.approx(same["low"], rel=0.1)
    assert urgent["urgent"] < 0.8 * urgent["low"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pattern", "hot_cold:1"), "hot_cold:RANGE:TRAFFIC"),
        (("--pattern", "zipf:x"), "'x' is no number"),
        (("--pattern", "zipf:-1"), "theta = -1"),
        (("--blocks", "x"), "'x' is no whole number"),
        (("--blocks", "0"), "--blocks is 0; it must be from 1 to 65536"),
        (("--blocks", "1:2:3"), "sizes and their weights"),
        (("--blocks", "normal:1"), "normal:MEAN:DEVIATION"),
        (("--arrivals", "paced"), "give that, too"),
        (("--rate", "5", "--arrivals", "bursts"), "bursts:REQUESTS"),
        (("--seconds", "-1"), "--seconds is -1"),
        (("--occupied", "0.5"), "give that, too"),
        (("--precondition", "full"), "sequential, random:OVERWRITES"),
        (("--precondition", "random"), "sequential, random:OVERWRITES"),
        (("--precondition", "random:x"), "'x' is no number"),
        (("--precondition", "sequential", "--occupied", "2"), "--occupied is 2; it must be from 0 to 1"),
        (
            ("--latencies", "x.txt"),
            "--latencies x.txt: the suffix must be a format of rows: .parquet or .csv",
        ),
    ],
)
def test_run_says_what_would_be_right(run: Run, options: tuple[str, ...], words: str) -> None:
    fails(run("run", *options), 2, words)


def test_every_request_is_in_the_file(run: Run, tmp_path: Path) -> None:
    options = ("run", *_QUICK, "--read-fraction", 0.5, "--blocks", "1:1,4:1")
    found = run(*options, "--latencies", "all.parquet").json
    assert found.pop("latencies_file") == "all.parquet"
    assert found == run(*options).json
    rows = pq.read_table(tmp_path / "all.parquet")
    assert rows.num_rows == 300
    for latency in found["latencies"]:
        taken = [row for row in rows.to_pylist() if row["kind"] == latency["kind"]]
        assert len(taken) == latency["count"]
        assert max(row["latency_ns"] for row in taken) == pytest.approx(latency["max_ns"])
        assert all(row["completion_ns"] == row["arrival_ns"] + row["latency_ns"] for row in taken)
        assert {row["bytes"] for row in taken} == {4096, 4 * 4096}
        assert {row["flow"] for row in taken} == {"flow"}
    run(*options, "--latencies", "all.csv")
    assert csv.read_csv(tmp_path / "all.csv").to_pylist() == rows.to_pylist()


def test_a_figure_shows_latencies_too(run: Run, tmp_path: Path) -> None:
    assert run("run", *_QUICK, "--plot", "run.svg").code == 0
    assert "Latencies of single requests" in _words(tmp_path / "run.svg")


def _words(svg: Path) -> str:
    """What a figure says: letters stay letters in it."""
    return svg.read_text()


# replay


def test_a_trace_is_replayed_by_the_command(run: Run, trace: Path) -> None:
    done = run("replay", trace, "--json")
    assert (done.code, done.err) == (0, "")
    (flow,) = done.json["flows"]
    assert (flow["name"], flow["format"], flow["requests"], flow["lines"]) == (
        "some.trace",
        "mqsim",
        1000,
        1000,
    )
    assert done.json["elapsed_ns"] > 99.9e6
    text = run("replay", trace).out
    for word in ("replayed", "mqsim", "p99.99", "Write amplification", "dies"):
        assert word in text


def test_options_of_replay(run: Run, trace: Path, tmp_path: Path) -> None:
    whole = run("replay", trace, "--json").json
    assert run("replay", trace, "--requests", 10, "--json").json["requests"] == 10
    assert run("replay", trace, "--repeat", 3, "--json").json["requests"] == 3000
    half = run("replay", trace, "--timing", "scaled:0.5", "--json").json
    assert half["elapsed_ns"] == pytest.approx(whole["elapsed_ns"] / 2, rel=0.1)
    fast = run("replay", trace, "--timing", "fast:64", "--json").json
    assert fast["elapsed_ns"] < whole["elapsed_ns"] / 2
    assert fast["elapsed_ns"] < run("replay", trace, "--timing", "fast", "--json").json["elapsed_ns"]
    assert run("replay", trace, "--range", 32, "--json").json["flows"][0]["wrapped"] == 488
    filled = run("replay", trace, "--precondition", "sequential", *SMALL_OPTIONS, "--json").json
    blank = run("replay", trace, *SMALL_OPTIONS, "--json").json
    prefilled = run("replay", trace, "--prefill", "--range", 64, *SMALL_OPTIONS, "--json").json
    # The blocks that are read are never written by the trace itself.
    assert blank["unmapped_page_reads"] == 500
    assert "Pages read that hold no data" in run("replay", trace, *SMALL_OPTIONS).out
    assert filled["unmapped_page_reads"] == 0
    reads = [found["flash_page_reads"] for found in (blank, filled, prefilled)]
    assert reads == [0, 500, 500]
    one = run("replay", trace, "--depth", 1, "--timing", "scaled:0.01", "--json").json
    assert one["latencies"][0]["mean_ns"] > 10 * whole["latencies"][0]["mean_ns"]
    assert run("replay", trace, "--device", "0=1", "--json").json["requests"] == 1000
    drawn = run("replay", trace, "--plot", "p.png", "--trace", "t.json", "--latencies", "l.parquet", "--json")
    assert (drawn.json["plot"], drawn.json["trace"]) == ("p.png", "t.json")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert pq.read_table(tmp_path / "l.parquet").num_rows == 1000


def test_bad_lines_of_a_trace(run: Run, trace: Path) -> None:
    with trace.open("a") as file:
        file.write("oh dear\n5 0 8 0 1\n")
    fails(run("replay", trace), 2, f"{trace}, line 1001: its time is no number")
    fails(
        run("replay", trace, "--bad-lines", 1),
        2,
        'line 1002: its request has no length: "5 0 8 0 1" (after 1 bad line',
    )
    found = run("replay", trace, "--bad-lines", "all", "--json").json
    assert found["flows"][0]["bad_lines"] == 2
    assert [row["line"] for row in found["bad_lines"]] == [1001, 1002]
    assert "its request has no length" in run("replay", trace, "--bad-lines", 2).out


def test_no_file_is_read_and_written(run: Run, trace: Path) -> None:
    before = trace.read_bytes()
    for option in ("--trace", "--latencies", "--plot"):
        fails(run("replay", trace, option, trace), 2, f"{option} {trace}: this is the file of FILE, too")
    Path("w.toml").write_text(f'[[replay]]\npath = "{trace}"')
    fails(run("run", "--workload", "w.toml", "--trace", trace), 2, "this is the file of the trace, too")
    assert trace.read_bytes() == before
    twice = ("--latencies", "same.csv", "--trace", "./same.csv")
    assert "this is the file of" in run("run", "--requests", 10, *twice).err


def test_a_trace_of_other_devices_is_an_error(run: Run, trace: Path) -> None:
    fails(run("replay", trace, "--device", "7=1"), 2, "devices that are not named; it has 0")
    assert run("replay", trace, "--device", "0=1", "--json").json["requests"] == 1000
    with trace.open("a") as file:
        file.write("200000000 7 0 8 1\n")
    (flow,) = run("replay", trace, "--device", "7=1", "--json").json["flows"]
    assert (flow["requests"], flow["left_out"]) == (1, 1000)


def test_a_run_by_time_says_so(run: Run) -> None:
    assert "1.00 ms of requests, reads, random" in run("run", "--seconds", 0.001, "--range", 256).out


def test_who_stops_reading_is_no_wrong_result(tmp_path: Path) -> None:
    command = f"{sys.executable} -m bitline presets --json | true; exit ${{PIPESTATUS[0]}}"
    codes = {
        subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path).returncode
        for _ in range(2)
    }
    # The reader may go before or after all is written.
    assert codes <= {0, 141}


def test_replay_goes_on_an_image(run: Run, trace: Path) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    assert run("replay", trace, "--image", "an.img", "--json").json["requests"] == 1000
    assert run("image", "info", "an.img", "--json").json["mapped_pages"] == 32


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--format", "nope"), "one of mqsim, msr, alibaba, blkparse, fio, cloudphysics"),
        (("--format", "msr"), "not of the format msr, but of mqsim; leave the format out"),
        (("--timing", "slow"), "it must be original, scaled:FACTOR"),
        (("--timing", "scaled:0"), "factor = 0 must be above 0"),
        (("--timing", "scaled:x"), "'x' is no number"),
        (("--timing", "fast:0"), "depth = 0 must be 1 to 65535"),
        (("--bad-lines", "some"), "a number, or all"),
        (("--device", "x"), "expected NAME=NAMESPACE"),
        (("--device", "0=9"), "Invalid Namespace"),
        (("--blkparse-action", "x"), "blkparse_action"),
        (("--prefill", "--precondition", "sequential"), "leave one out"),
    ],
)
def test_replay_says_what_would_be_right(run: Run, trace: Path, options: tuple[str, ...], words: str) -> None:
    fails(run("replay", trace, *options), 2, words)


def test_what_is_no_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader\n" * 100)
    fails(run("replay", "letter.txt"), 2, "letter.txt: its first lines fit no known format")
    fails(run("replay", "nowhere"), 2, "nowhere: ")
