"""The command line: every subcommand, its JSON, its exit codes and what it says when something is wrong."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from conftest import SMALL
from typer.testing import CliRunner

import bitline
from bitline import _bitline
from bitline import demo as demo_package
from bitline.cli.app import COMMANDS, app, main
from bitline.demo import Answer

SMALL_OPTIONS = [text for key, value in SMALL.items() for text in ("--set", f"{key}={value}")]


class Done:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> dict[str, Any]:
        """The one object on the standard output."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Run: TypeAlias = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `bitline` with arguments, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["bitline", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
        except SystemExit as ending:
            code = int(ending.code or 0)
        else:
            code = 0
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


def _fails(done: Done, code: int, *words: str) -> None:
    """It ended so, with one line that says why and nothing else."""
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


def test_the_command_and_the_module_are_the_same() -> None:
    for command in ([Path(sys.executable).parent / "bitline"], [sys.executable, "-m", "bitline"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"bitline {bitline.__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["demo"],
        ["run"],
        ["replay"],
        ["sweep"],
        ["presets"],
        ["show"],
        ["bench"],
        ["image"],
        ["image", "create"],
        ["image", "info"],
        ["image", "check"],
        ["health"],
        ["explain"],
        ["advise"],
        ["age"],
        ["lifetime"],
        ["repro"],
        ["repro", "flash-cosmos"],
        ["validate", "mqsim"],
    ],
)
def test_help_says_what_a_command_does(command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 5
    assert CliRunner().invoke(app, [*command, "-h"]).output == done.output


def test_the_list_of_commands_is_whole_and_fits() -> None:
    """Each is listed in one line of 80, without an ellipsis, and can be called."""
    lines = CliRunner().invoke(app, ["--help"]).output.splitlines()
    for name, listed in COMMANDS.items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith(listed.help)
        assert len(line) <= 80
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_help_loads_neither_numpy_nor_the_simulator() -> None:
    """They take longer to import than help takes to print: help is to be there at once."""
    program = (
        "import sys; from bitline.cli.app import app; app(['--help'], standalone_mode=False); "
        "print(*sorted(name for name in sys.modules if '.' not in name or name.startswith('bitline.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert loaded & {"numpy", "pyarrow", "matplotlib", "rich", "bitline._bitline", "bitline.drive"} == set()
    assert "typer" in loaded


def test_the_shell_completes_commands_options_and_presets() -> None:
    def completed(words: str) -> list[str]:
        asked = {"_BITLINE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "9"}
        asked["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        command = [Path(sys.executable).parent / "bitline"]
        done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True)
        return done.stdout.split()

    assert completed("bitline re") == ["replay", "repro"]
    assert "--precondition" in completed("bitline run --pre")
    assert completed("bitline run --preset fl") == ["flash-cosmos"]


@pytest.mark.parametrize(
    "arguments", [["--nope"], ["nope"], ["run", "--depth", "x"], ["run", "--pattern", "spiral"]]
)
def test_wrong_options_are_usage_errors(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    named = arguments[-2 if arguments[-1] == "x" else -1]
    _fails(done, 2, named, f"see 'bitline{' run' if arguments[0] == 'run' else ''} --help'")


def test_without_a_command_there_is_help(run: Run) -> None:
    assert run().out == run("--help").out
    _fails(run("image"), 2, "Missing command", "see 'bitline image --help'")


def test_an_interrupted_command_says_so_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bitline.Drive, "measure", interrupt)
    _fails(run("run"), 130, "interrupted")


# demo


def test_demo_answers_as_pyarrow_does(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--scale", 0.01, "--json", "--plot", "figure.png")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert (found["scale"], found["rows"], found["bitmaps"]) == (0.01, 60_175, 145)
    assert found["correct"] is True
    # Count and revenue of scale 0.01, computed by hand over dbgen's rows.
    assert found["reference"] == {"count": 1191, "revenue": 1193053.2253}
    platforms = {row["platform"]: row for row in found["platforms"]}
    assert list(platforms) == ["host", "in-storage", "parabit", "flash-cosmos"]
    for row in platforms.values():
        assert (row["count"], row["revenue"], row["correct"]) == (1191, 1193053.2253, True)
        assert row["speedup_over_host"] == pytest.approx(
            platforms["host"]["simulated_time_ns"] / row["simulated_time_ns"]
        )
        assert row["energy_ratio_over_host"] == pytest.approx(
            row["energy_pj"] / platforms["host"]["energy_pj"]
        )
        assert row["pcie_bytes"] == row["pcie_up_bytes"] + row["pcie_down_bytes"]
    # 60,175 bits are one page: one sense instead of one an operand, and only the result crosses.
    senses = {name: row["senses"] for name, row in platforms.items()}
    assert senses == {"host": 38, "in-storage": 38, "parabit": 38, "flash-cosmos": 1}
    assert platforms["host"]["channel_bytes"] == platforms["in-storage"]["channel_bytes"] == 38 * 16384
    assert platforms["flash-cosmos"]["channel_bytes"] == platforms["parabit"]["channel_bytes"] == 16384
    assert platforms["host"]["pcie_up_bytes"] > 38 * 60_175 // 8 > platforms["flash-cosmos"]["pcie_up_bytes"]
    assert platforms["flash-cosmos"]["speedup_over_host"] > 10
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_demo_writes_the_format_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--scale", 0.001, "--plot", "figure.svg", "--json").json["plot"] == "figure.svg"
    assert (tmp_path / "figure.svg").stat().st_size > 10_000


def test_files_that_cannot_be_written_are_refused_before_the_work(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(bitline, "open", work)
    (tmp_path / "folder.png").mkdir()
    for command, option, suffix in (
        ("demo", "--plot", ".png"),
        ("run", "--trace", ".json"),
        ("run", "--latencies", ".parquet"),
    ):
        _fails(
            run(command, option, f"no/file{suffix}"), 2, f"{option} no/file{suffix}: there is no folder no"
        )
        _fails(run(command, option, "folder.png"), 2, "this is a folder")
        _fails(run(command, option, "/dev/null"), 2, "no regular file")
        _fails(run(command, option, f"/proc/new{suffix}"), 2, "this may not be written")
        _fails(run(command, option, ""), 2, "names no file")
    for name in ("figure", "figure.nope", ".png"):
        _fails(run("demo", "--plot", name), 2, f"--plot {name}: the suffix must be", "png, ps")


def test_a_file_that_fails_after_all_costs_no_result(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_tracing: bitline.Tracing, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(bitline.Tracing, "write", full)
    done = run("run", "--requests", 10, "--range", 64, "--trace", "trace.json", "--json")
    assert (done.code, done.json["requests"]) == (2, 10)
    assert done.err == "error: trace.json: No space left on device\n"


def test_demo_tells_people_the_same(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--scale", 0.001)
    assert done.code == 0
    for word in ("flash-cosmos", "Speedup", "All answers equal PyArrow's", "bitline-demo.png"):
        assert word in done.out
    assert (tmp_path / "bitline-demo.png").exists()


def test_demo_runs_twice_alike(run: Run) -> None:
    assert run("demo", "--scale", 0.001, "--json").out == run("demo", "--scale", 0.001, "--json").out


def test_demo_with_a_wrong_answer_exits_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    race = demo_package.race

    def off_by_one(*arguments: object) -> object:
        found = race(*arguments)
        right = found.reference
        object.__setattr__(found, "reference", Answer(right.count, right.revenue + Decimal("0.0001")))
        return found

    monkeypatch.setattr(demo_package, "race", off_by_one)
    done = run("demo", "--scale", 0.001, "--json")
    assert done.code == 1
    assert done.json["correct"] is False
    assert "wrong answer from host, in-storage, parabit, flash-cosmos" in done.err


def test_demo_with_a_wrong_bit_on_one_platform_names_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    read = bitline.BitExpression.read

    def flipped(self: bitline.BitExpression, platform: bitline.Platform) -> object:
        bits = read(self, platform).copy()
        bits[0] ^= platform == "parabit"
        return bits

    monkeypatch.setattr(bitline.BitExpression, "read", flipped)
    done = run("demo", "--scale", 0.001, "--json")
    assert done.code == 1
    assert [row["correct"] for row in done.json["platforms"]] == [True, True, False, True]
    assert done.err.startswith("error: wrong answer from parabit:")


def test_demo_refuses_what_it_cannot_do(run: Run) -> None:
    _fails(run("demo", "--scale", 100), 2, "scale is 100", "0.0001 to 10")
    _fails(run("demo", "--set", "data.storage=none"), 2, "must keep data")
    _fails(run("demo", "--preset", "txisc"), 2, "bits.compute_blocks_percent = 0")
    for scale in ("nan", "inf", "-1"):
        _fails(run("demo", "--scale", scale), 2, f"--scale is {scale}; it must be from 0.0001 to 10")


# run


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
    assert set(groups.values()) == {"channels", "dies", "host", "link", "queues"}
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
    _fails(run("run", "--plot", "run.nope"), 2, "--plot run.nope: the suffix must be a format")


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
    _fails(run(*options, "--preset", "conduit"), 2, "--image has a configuration of its own")


def test_run_refuses_what_makes_no_sense(run: Run) -> None:
    _fails(run("run", "--read-fraction", 1.5), 2, "--read-fraction is 1.5; it must be from 0 to 1")
    _fails(run("run", "--rate", 0), 2, "--rate is 0; it must be from 0.0001 to 1e+11")
    _fails(run("run", "--blocks", 100_000), 2, "--blocks is 100000; it must be from 1 to 65536")
    _fails(run("run", "--depth", 65_536), 2, "'--depth'", "less than or equal to 65535")
    for option in ("--rate", "--read-fraction"):
        for value in ("nan", "inf"):
            _fails(run("run", option, value), 2, f"{option} is {value}; it must be from 0")
    for option in ("--requests", "--range"):
        _fails(run("run", option, 9 * 10**22), 2, option, str(2**63 - 1))


# presets and show


def test_presets_are_listed(run: Run) -> None:
    rows = {row["name"]: row for row in run("presets", "--json").json["presets"]}
    assert {name: row["description"] for name, row in rows.items()} == bitline.presets()
    with bitline.open(data="none") as drive:
        assert rows["flash-cosmos"]["capacity_bytes"] == drive.capacity_bytes
    assert "1.96 TiB" in run("presets").out


def test_show_prints_what_takes_effect(run: Run, tmp_path: Path) -> None:
    options = (
        "show",
        "--preset",
        "conduit",
        "--set",
        "seed=5",
        "--set",
        "nand.mws.power_percent=[100, 110, 120, 130]",
    )
    text = run(*options).out
    config = tomllib.loads(text)
    assert (config["name"], config["seed"], config["nand"]["mws"]["power_percent"][3]) == ("conduit", 5, 130)
    assert run(*options, "--json").json == config
    (tmp_path / "mine.toml").write_text(text)
    assert run("show", "--config", "mine.toml").out == text
    assert run("show", "conduit").out == run("show", "--preset", "conduit").out != run("show").out


def test_wrong_configurations_are_one_line(run: Run, tmp_path: Path) -> None:
    _fails(run("show", "--preset", "nope"), 2, 'no preset "nope"', "flash-cosmos")
    _fails(run("show", "--set", "sed=1"), 2, 'no key "sed"', 'did you mean "seed"')
    _fails(run("show", "--set", "seed"), 2, "expected KEY=VALUE")
    _fails(run("show", "--set", "seed=-1"), 2, "seed = -1 cannot be")
    _fails(run("show", "--config", "no.toml"), 2, "no.toml: No such file or directory")
    _fails(run("show", "--preset", "conduit", "--config", "no.toml"), 2, "not both")
    _fails(run("show", "--preset", "conduit", "--image", "no.img"), 2, "configuration of its own")
    (tmp_path / "bad.toml").write_text("seed = 1\n[ftl\n")
    _fails(
        run("show", "--config", "bad.toml"), 2, "bad.toml: this is no TOML: line 2, column 5: unclosed table"
    )
    _fails(run("show", "conduit", "--preset", "txisc"), 2, "give the preset once")


# image


def test_images_are_made_described_and_checked(run: Run) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    with bitline.open(path="an.img") as drive:
        drive.write(3, bytes(5 * 4096))
        drive.group("9").write([b"abc", b"def"])
    found = run("image", "info", "an.img", "--json").json
    assert (found["mapped_pages"], found["used_bytes"], found["vectors"]) == (5, 5 * 4096, 2)
    # Four logical pages a flash page use what they hold, not four flash pages.
    small = ("--set", "ftl.mapping_unit_bytes=1024", "--set", "frontend.block_bytes=512")
    assert run("image", "create", "small.img", *SMALL_OPTIONS, *small).code == 0
    with bitline.open(path="small.img") as drive:
        drive.write(0, bytes(5 * 4096))
    told = run("image", "info", "small.img", "--json").json
    assert (told["mapped_pages"], told["used_bytes"]) == (4 * 5, 5 * 4096)
    assert found["groups"] == [
        {"group": "9", "vectors": 2, "names": "0, 1", "bits": 24, "first_die": 0, "dies": 0}
    ]
    # A page and a wordline each; three TLC pages would go into the same cells. The group has a block for each
    # of the two strings' worth of chunks that a vector of one page needs: one.
    assert (found["vector_pages"], found["vector_bytes"]) == (2, 2 * 4096)
    assert found["vector_bytes_as_data"] == 3 * 2 * 4096
    assert found["vector_bytes_given_up"] == 2 * 2 * 4096
    assert (found["vector_blocks"], found["vector_blocks_as_data"]) == (1, 3 * 2 * 4 * 4096)
    assert found["vector_blocks_percent"] == round(100 / found["vector_blocks_max"], 2)
    told = run("image", "info", "an.img").out
    assert "Bit vectors" in told
    assert re.search(r"would hold as data, 3 bits a cell +24\.0 KiB", told)
    assert re.search(r"Written by the host +[0-9.]+ kB", told)
    checked = run("image", "check", "an.img", "--json")
    assert checked.code == 0
    pages = checked.json["flash_pages"]
    assert pages >= 2 + 5
    records = {
        "file": "an.img",
        "flash_pages": pages,
        "flash_pages_damaged": None,
        "record_copies_damaged": 0,
        "back_at_last_flush": False,
    }
    without_data = run("image", "check", "an.img", "--no-data", "--json").json
    assert without_data == records
    assert checked.json == {
        **records,
        "flash_pages_damaged": 0,
        # Vectors are blocks, too, and the catalogue: two copies of a superblock and two commits.
        "blocks_read": 5 + 2 + 2 + 2,
        "blocks_lost": 0,
        "first_lost": None,
        "vectors_read": 2,
        "vectors_lost": 0,
    }
    assert tomllib.loads(run("show", "--image", "an.img").out)["nand"]["geometry"]["channels"] == 2


def test_a_check_tells_what_is_damaged_and_looking_changes_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(0, b"\xab" * 4096)
    intact = path.read_bytes()
    for command in ("info", "check"):
        assert run("image", command, "an.img").code == 0
        assert path.read_bytes() == intact
    data = bytearray(intact)
    data[data.index(b"\xab" * 4096) + 100] ^= 1
    path.write_bytes(data)
    done = run("image", "check", "an.img")
    assert done.code == 3
    assert "an.img: 1 block, the first at 0, and 0 vectors cannot be read" in done.err
    assert run("image", "check", "an.img", "--no-data").code == 0
    header = bytearray(intact)
    header[60] ^= 1
    path.write_bytes(header)
    done = run("image", "check", "an.img")
    assert done.code == 3
    assert "1 record damaged in one of two copies; opening the drive mends that" in done.err
    assert path.read_bytes() == header
    bitline.open(path=path).close()
    assert run("image", "check", "an.img").code == 0


def test_images_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader" * 1000)
    _fails(run("image", "create", "letter.txt"), 2, "exists already")
    _fails(run("image", "info", "no.img"), 2, "no.img: cannot open the image: No such file")
    _fails(run("image", "check", "letter.txt"), 3, "letter.txt: not a Bitline image")
    _fails(run("image", "create", "an.img", "--set", "data.storage=memory"), 2, "data.storage")
    assert run("image", "create", "long.img", *SMALL_OPTIONS).code == 0
    with (tmp_path / "long.img").open("ab") as file:
        file.write(b"more")
    _fails(run("image", "check", "long.img"), 3, "long.img: too long: it has", "something was appended")
    with bitline.open(path="used.img", set=SMALL):
        _fails(run("image", "info", "used.img"), 3, "in use by another drive")


def test_a_drive_error_exits_with_3(run: Run) -> None:
    _fails(run("demo", *SMALL_OPTIONS, "--scale", 0.1), 3, "fc_write: Vector Group Full")


# health


def test_health_tells_smart_wear_and_age(run: Run) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    before = Path("an.img").read_bytes()
    found = run("health", "an.img", "--json").json
    assert (found["critical_warnings"], found["available_spare_percent"]) == ("none", 100)
    assert Path("an.img").read_bytes() == before
    run("age", "an.img", "--days", 10, "--cycles", 100)
    aged = run("health", "an.img", "--json").json
    assert (aged["hours"], aged["cycles"]) == (240.0, 100)
    assert aged["percentage_used"] > found["percentage_used"]
    told = run("health", "an.img").out
    assert told.startswith("an.img: healthy")
    for line in (r"Spare left +100 %", r"Temperature +30 °C", r"Time that passed unused +240 h"):
        assert re.search(line, told), line
    _fails(run("health", "no.img"), 2, "no.img: cannot open the image")


# bench


def test_bench_prints_rates_and_references(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("bench", "--json")
    assert (done.code, done.err) == (0, "")
    found = done.json
    keys = {"executor_awaits_per_second", "memory_read_gbps", "open_2tb_ms", "open_2tb_mib"}
    keys |= {f"{work}_{of}" for work in ("and48", "or4x48") for of in ("gbps", "of_memory_read")}
    assert keys < found.keys()
    rates = found["requests_per_second"]
    assert rates.keys() == {"read_ideal", "read_cached", "write_gc", "write_gc_waf"}
    assert min(rates.values()) > 0
    assert 2.0 < rates["write_gc_waf"] < 2.6
    # What is printed for people needs no second measurement.
    rows = [{"capacity_gb": 1.0, "requests": 10, "read_ideal": 2e6, "write_gc": 3e6}]

    def measured(*_: object, scaling: bool) -> str:
        return json.dumps(found | {"scaling": rows} if scaling else found)

    monkeypatch.setattr(_bitline, "run_benchmarks", measured)
    assert "Memory read bandwidth" in run("bench").out
    assert "3.00 million/s" in run("bench", "--scaling").out
    assert run("bench", "--scaling", "--json").json["scaling"] == rows


def test_bench_compares_with_an_earlier_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = {"executor_awaits_per_second": 2e7, "requests_per_second": {"read_ideal": 1e6}}
    now = {"executor_awaits_per_second": 1e7, "requests_per_second": {"read_ideal": 1.25e6}}
    monkeypatch.setattr(_bitline, "run_benchmarks", lambda *_, **__: json.dumps(now))
    (tmp_path / "before.json").write_text(json.dumps(before))
    rows = {row["key"]: row for row in run("bench", "--baseline", "before.json", "--json").json["comparison"]}
    reads = rows["requests_per_second.read_ideal"]
    assert (reads["before"], reads["now"], reads["change"]) == (1e6, 1.25e6, 0.25)
    told = run("bench", "--baseline", "before.json").out
    assert re.search(r"1\.00 million/s +1\.25 million/s +\+25 %", told)
    assert "The bare executor changed by -50 %" in told
    for text in ("{}", "no JSON", "[1]"):
        (tmp_path / "other.json").write_text(text)
        _fails(run("bench", "--baseline", "other.json"), 2, "--baseline other.json: expected what")


def test_an_exception_in_progress_ends_a_benchmark_at_once() -> None:
    told = []

    def interrupt(what: str) -> None:
        told.append(what)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _bitline.run_benchmarks(interrupt)
    assert len(told) == 1


def test_the_output_of_a_pipe_is_not_folded() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bitline", "presets"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "20"},
    )
    assert any("flash-cosmos" in line and "Table 1" in line for line in done.stdout.splitlines())
    assert "without Capacity; --wide shows all" in done.stdout
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []
