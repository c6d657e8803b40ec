"""Sweeps: the same results however many processes live the points, resumed, and with errors kept apart."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SMALL

from bitline import ConfigError, UsageError
from bitline.display.sweep import measured
from bitline.sweep import Spec, cluster, live, run, table
from bitline.sweep.plot import plot

# Dask's own habits, which no user of the command sees.
pytestmark = pytest.mark.filterwarnings("ignore")

DRIVE = "\n".join(f'"{key}" = {value}' for key, value in SMALL.items())
SPEC = f"""
seeds = [1, 2]
[drive]
preset = "flash-cosmos"
[drive.set]
{DRIVE}
[grid]
"ftl.overprovisioning" = [0.1, 0.25]
"flow.arrival.depth" = [1, 8]
[[workload]]
name = "reads"
flow = [{{ requests = 200, range_blocks = 128 }}]
[[workload]]
name = "both"
flow = [
  {{ name = "r", requests = 100, range_blocks = 64 }},
  {{ name = "w", requests = 50, range_blocks = 64, read_fraction = 0, first_block = 64 }},
]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sweep above, lived by two processes."""
    folder = tmp_path_factory.mktemp("swept")
    outcome = run(Spec.parse(SPEC), folder, workers=2)
    assert (len(outcome.points), outcome.resumed, outcome.failed) == (16, 0, ())
    return folder


def test_a_sweep_is_the_same_with_one_process_or_in_this_one(swept: Path, tmp_path: Path) -> None:
    spec = Spec.parse(SPEC)
    points = tuple(spec.points())
    found = table(swept, points)
    run(spec, tmp_path, workers=1)
    assert table(tmp_path, points).equals(found)
    here = json.loads(json.dumps(live(points[3]).to_dict()))
    kept = json.loads(next((swept / "points").glob("000003-*.json")).read_text())
    assert here == kept
    assert found.num_rows == 8 * 1 + 8 * 2


def test_the_table_names_axes_and_figures(swept: Path) -> None:
    rows = table(swept, tuple(Spec.parse(SPEC).points())).to_pylist()
    first, last = rows[0], rows[-1]
    assert (first["workload"], first["seed"], first["flow"], first["error"]) == ("reads", 1, "flow", None)
    assert (first["ftl.overprovisioning"], first["flow.arrival.depth"]) == (0.1, 1)
    assert (last["workload"], last["seed"], last["flow"], last["point"]) == ("both", 2, "w", 15)
    by_depth = {
        row["flow.arrival.depth"]: row["requests_per_second"] for row in rows if row["workload"] == "reads"
    }
    assert by_depth[8] > 3 * by_depth[1]
    assert first["read.p99_ns"] >= first["read.p50_ns"] > 0
    assert first["energy.nand.read_pj"] > 0
    assert first["statistics.die_utilization"] > 0


def test_a_finished_sweep_lives_nothing_again(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise AssertionError("a cluster was started")

    monkeypatch.setattr(cluster, "_client", none)
    outcome = run(Spec.parse(SPEC), swept)
    assert (outcome.resumed, outcome.failed) == (16, ())


def test_a_folder_is_of_one_sweep(swept: Path) -> None:
    with pytest.raises(UsageError, match="results of another sweep"):
        run(Spec.parse(SPEC.replace("requests = 200", "requests = 201")), swept)


def test_what_was_lost_is_lived_again(swept: Path) -> None:
    spec = Spec.parse(SPEC)
    before = table(swept, tuple(spec.points()))
    files = sorted((swept / "points").iterdir())
    files[2].unlink()
    files[5].rename(files[5].with_suffix(".partial"))
    done = []
    outcome = run(spec, swept, workers=2, progress=done.append)
    assert (outcome.resumed, done) == (14, [14, 15, 16])
    assert table(swept, outcome.points).equals(before)


def test_errors_of_single_points_lose_no_others(tmp_path: Path) -> None:
    spec = Spec.parse(
        f"""
        [drive.set]
        {DRIVE}
        [grid]
        "ftl.overprovisioning" = [0.2, 7.5]
        "flow.range_blocks" = [64, 10_000_000_000]
        [[workload]]
        flow = [{{ requests = 20 }}]
        """.replace("        ", "")
    )
    outcome = run(spec, tmp_path, workers=1)
    assert outcome.failed == (1, 2, 3)
    rows = table(tmp_path, outcome.points).to_pylist()
    assert [row["error"] is None for row in rows] == [True, False, False, False]
    assert "must lie within" in rows[1]["error"] or "range" in rows[1]["error"]
    assert "ftl.overprovisioning" in rows[2]["error"]
    assert rows[0]["requests"] == 20
    assert rows[1]["requests"] is None
    # They are tried again, and fail again.
    again = run(spec, tmp_path, workers=1)
    assert (again.resumed, again.failed) == (1, (1, 2, 3))


def test_traces_and_preconditioned_drives_are_swept(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("".join(f"{n * 1000} 0 {n % 50 * 8} 8 1\n" for n in range(200)))
    text = f"""
        [drive.set]
        {DRIVE}
        [precondition]
        history = "random"
        overwrites = 1
        [grid]
        "replay.timing.depth" = [1, 16]
        [[workload]]
        replay = [{{ path = "a.trace" }}]
        """.replace("        ", "")
    (tmp_path / "spec.toml").write_text(text)
    spec = Spec.read(tmp_path / "spec.toml")
    slow, fast = (live(point).report for point in spec.points())
    assert slow["flows"][0]["trace"]["requests"] == fast["flows"][0]["trace"]["requests"] == 200
    assert slow["flash_page_reads"] == fast["flash_page_reads"] == 200
    assert slow["elapsed_ns"] > 3 * fast["elapsed_ns"]


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler with one worker, each in a process of its own."""
    address = tmp_path / "scheduler.json"
    module = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(address)]
    processes = [subprocess.Popen([*module, *options], stderr=subprocess.DEVNULL)]
    try:
        deadline = time.monotonic() + 120
        while not address.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        found: str = json.loads(address.read_text())["address"]
        module = [sys.executable, "-m", "distributed.cli.dask_worker"]
        options = [found, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes.append(subprocess.Popen([*module, *options], stderr=subprocess.DEVNULL, cwd=tmp_path))
        yield found
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def test_any_scheduler_will_do(swept: Path, tmp_path: Path, scheduler: str) -> None:
    spec = Spec.parse(SPEC)
    outcome = run(spec, tmp_path / "results", scheduler=scheduler)
    assert table(tmp_path / "results", outcome.points).equals(table(swept, outcome.points))


def test_a_scheduler_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        run(Spec.parse(SPEC), tmp_path, scheduler="tcp://127.0.0.1:9")


def test_the_command_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    """Ctrl-C in the middle; the second run resumes, writes the Parquet file and a figure.

    As from a terminal, the whole process group is interrupted. What a shell starts in the background ignores
    that, and so would what it starts, this test included.
    """
    (tmp_path / "spec.toml").write_text(SPEC.replace("requests = 200", "requests = 4000"))
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from bitline.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "sweep", "spec.toml", "--workers", "1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    points = tmp_path / "spec.results" / "points"
    deadline = time.monotonic() + 300
    while not list(points.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "error: interrupted\n")
    kept = len(list(points.glob("*.json")))
    assert 0 < kept < 16
    again = [*command, "--json", "--plot", "figure.png", "--over", "flow.arrival.depth"]
    done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["points"], found["failed"]) == (16, 0)
    assert found["resumed"] >= kept
    assert pq.read_table(tmp_path / found["parquet"]).num_rows == 24
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one"),
        ("[[workload]]\nnam = 1", "a workload has no key 'nam'"),
        ("[grids]\n[[workload]]", "a sweep has no key 'grids'"),
        ("[grid]\nseed = [1]\n[[workload]]", "seeds"),
        ("[grid]\nftl.x = [1]\n[[workload]]", "in quotes"),
        ('[grid]\n"ftl.x" = 1\n[[workload]]', "must be a list"),
        ('[grid]\n"ftl.x" = [1, 1]\n[[workload]]', "same value twice"),
        ("seeds = []\n[[workload]]", "list of whole numbers"),
        ('[[workload]]\nname = "a"\n[[workload]]\nname = "a"', "same name"),
        ('[drive]\npreset = "x"\n[grid]\npreset = ["conduit"]\n[[workload]]', "preset is an axis"),
        ('[grid]\n"replay.timing" = ["original"]\n[[workload]]', "no workload has a replay"),
        ("[precondition]\noccupy = 1\n[[workload]]", "precondition has no key 'occupy'"),
        ("[[workload]]\nreplay = [{}]", "needs the path of its trace"),
        ("[drive]\npreset = 3\n[[workload]]", "preset = 3 must be a text"),
    ],
)
def test_what_is_no_spec(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Spec.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[grid]\n"flow.requets" = [1, 2]\n[[workload]]', 'did you mean "requests"'),
        ("[[workload]]\nflow = [{ requests = -1 }]", "requests = -1: it must be a whole number"),
        ("[[workload]]\nflow = [{ read_fraction = nan }]", "read_fraction = nan must be a finite number"),
    ],
)
def test_a_sweep_without_any_workload_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(Spec.parse(text).points())


def test_a_figure_that_cannot_be_is_refused_early(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)

    def fails(*options: str) -> str:
        command = [sys.executable, "-m", "bitline", "sweep", "spec.toml", "--workers", "1", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    assert "there is no axis nowhere" in fails("--plot", "figure.png", "--over", "nowhere")
    assert not (tmp_path / "spec.results").exists()
    assert "there is no column speed" in fails("--plot", "figure.png", "--metric", "speed")
    kept = list((tmp_path / "spec.results" / "points").glob("*.json"))
    assert 0 < len(kept) < 16


@pytest.mark.parametrize("option", ["--metric", "--over", "--by"])
def test_what_a_figure_shows_needs_a_figure(tmp_path: Path, option: str) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    command = [sys.executable, "-m", "bitline", "sweep", "spec.toml", option, "nope"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option} says what a figure shows; give --plot FILE, too" in done.stderr
    assert not (tmp_path / "spec.results").exists()


def test_a_mapping_unit_of_nothing_is_a_page(tmp_path: Path) -> None:
    key = "ftl.mapping_unit_bytes"
    rows = [
        {key: unit, "workload": "w", "flow": "f", "seed": 0, "requests_per_second": 1.0 + unit}
        for unit in (0, 4096)
    ]
    found = measured(rows, [key], ["requests_per_second"])
    told = [found.columns[0].show(row[key]) for row in found.rows]
    assert told == ["a page", "4.00 KiB"]
    plot(pa.Table.from_pylist(rows), [key], tmp_path / "units.svg", metric="requests_per_second")
    drawn = (tmp_path / "units.svg").read_text()
    assert "a page" in drawn
    assert ">0 B<" not in drawn


def test_a_metric_of_some_points_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        f"[drive.set]\n{DRIVE}\n[grid]\n"
        '"flow.read_fraction" = [1.0, 0.5]\n[[workload]]\nflow = [{ requests = 200, range_blocks = 64 }]\n'
    )
    command = [sys.executable, "-m", "bitline", "sweep", "spec.toml", "--workers", "1"]
    figure = ["--plot", "figure.png", "--metric", "write.p99_ns"]
    done = subprocess.run([*command, *figure], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "figure.png").stat().st_size > 0


def test_a_sweep_whose_every_point_is_wrong_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'no key "ftl\.overprovisionin"'):
        list(Spec.parse('[grid]\n"ftl.overprovisionin" = [1, 2]\n[[workload]]').points())
