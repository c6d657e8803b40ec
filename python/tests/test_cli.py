"""The command line: every subcommand, its JSON, its exit codes and what it says when something is wrong."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, fails
from conftest import SMALL_OPTIONS
from typer.main import get_command
from typer.testing import CliRunner

import bitline
from bitline import _bitline
from bitline import demo as demo_package
from bitline.cli.app import COMMANDS, app
from bitline.demo import Answer


def test_the_command_and_the_module_are_the_same() -> None:
    for command in ([Path(sys.executable).parent / "bitline"], [sys.executable, "-m", "bitline"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"bitline {bitline.__version__}\n"


def _commands() -> Iterator[list[str]]:
    """Every command, groups among them."""
    yield []
    group: Any = get_command(app)
    for name in COMMANDS:
        command = group.get_command(None, name)
        yield [name]
        yield from ([name, inner] for inner in getattr(command, "commands", ()))


@pytest.mark.parametrize("command", list(_commands()), ids=" ".join)
def test_help_says_what_a_command_does(command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 5
    assert "╭" not in done.output, "it is in the same form as all others"
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
    fails(done, 2, named, f"see 'bitline{' run' if arguments[0] == 'run' else ''} --help'")


def test_without_a_command_there_is_help(run: Run) -> None:
    assert run().out == run("--help").out
    fails(run("image"), 2, "Missing command", "see 'bitline image --help'")


def test_an_interrupted_command_says_so_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bitline.Drive, "measure", interrupt)
    fails(run("run"), 130, "interrupted")


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
        fails(run(command, option, f"no/file{suffix}"), 2, f"{option} no/file{suffix}: there is no folder no")
        fails(run(command, option, "folder.png"), 2, "this is a folder")
        fails(run(command, option, "/dev/null"), 2, "no regular file")
        fails(run(command, option, f"/proc/new{suffix}"), 2, "this may not be written")
        fails(run(command, option, ""), 2, "names no file")
    for name in ("figure", "figure.nope", ".png"):
        fails(run("demo", "--plot", name), 2, f"--plot {name}: the suffix must be", "png, ps")


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
    fails(run("demo", "--scale", 100), 2, "scale is 100", "0.0001 to 10")
    fails(run("demo", "--set", "data.storage=none"), 2, "must keep data")
    fails(run("demo", "--preset", "txisc"), 2, "bits.compute_blocks_percent = 0")
    for scale in ("nan", "inf", "-1"):
        fails(run("demo", "--scale", scale), 2, f"--scale is {scale}; it must be from 0.0001 to 10")


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
    fails(run("show", "--preset", "nope"), 2, 'no preset "nope"', "flash-cosmos")
    fails(run("show", "--set", "sed=1"), 2, 'no key "sed"', 'did you mean "seed"')
    fails(run("show", "--set", "seed"), 2, "expected KEY=VALUE")
    fails(run("show", "--set", "seed=-1"), 2, "seed = -1 cannot be")
    fails(run("show", "--config", "no.toml"), 2, "no.toml: No such file or directory")
    fails(run("show", "--preset", "conduit", "--config", "no.toml"), 2, "not both")
    fails(run("show", "--preset", "conduit", "--image", "no.img"), 2, "configuration of its own")
    (tmp_path / "bad.toml").write_text("seed = 1\n[ftl\n")
    fails(
        run("show", "--config", "bad.toml"), 2, "bad.toml: this is no TOML: line 2, column 5: unclosed table"
    )
    fails(run("show", "conduit", "--preset", "txisc"), 2, "give the preset once")


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
    fails(run("health", "no.img"), 2, "no.img: cannot open the image")


# bench


def test_bench_prints_rates_and_references(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("bench", "--json")
    assert (done.code, done.err) == (0, "")
    found = done.json
    keys = {"executor_awaits_per_second", "memory_read_gbps", "open_2tb_ms", "open_2tb_mib"}
    keys |= {f"{work}_{of}" for work in ("and48", "or4x48", "search") for of in ("gbps", "of_memory_read")}
    assert keys | {"append_mbps", "lookups_per_second"} < found.keys()
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
        fails(run("bench", "--baseline", "other.json"), 2, "--baseline other.json: expected what")


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
