"""What is too large, too deep or too long is refused by name, in time that grows with its length at most."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bitline
from bitline import cells
from bitline.errors import BitlineError, ConfigError, UsageError
from bitline.formula import names, parse
from bitline.opening import configuration
from bitline.sweep.spec import Spec
from bitline.workload_file import WorkloadFile

_HUGE = (2**31, 2**32, 2**63, 2**64, 2**200, 10**5000, -1, -(2**63), -(10**5000))


@pytest.fixture(scope="module")
def drive() -> Iterator[bitline.Drive]:
    with bitline.open(data="none") as drive:
        drive.group("0").place(2, bits=100)
        yield drive


_CALLS: dict[str, Callable[[bitline.Drive, int], object]] = {
    "read lba": lambda d, n: d.read(n),
    "read blocks": lambda d, n: d.read(0, n),
    "read_array": lambda d, n: d.read_array(n, 4, "u1"),
    "write lba": lambda d, n: d.write(n, bytes(4096)),
    "deallocate lba": lambda d, n: d.deallocate(n, 1),
    "deallocate blocks": lambda d, n: d.deallocate(0, n),
    "write_zeroes lba": lambda d, n: d.write_zeroes(n, 1),
    "write_zeroes blocks": lambda d, n: d.write_zeroes(0, n),
    "compare": lambda d, n: d.compare(n, bytes(4096)),
    "verify lba": lambda d, n: d.verify(n, 1),
    "verify blocks": lambda d, n: d.verify(0, n),
    "write_uncorrectable lba": lambda d, n: d.write_uncorrectable(n, 1),
    "write_uncorrectable blocks": lambda d, n: d.write_uncorrectable(0, n),
    "copy lba": lambda d, n: d.copy([(n, 1)], 0),
    "copy blocks": lambda d, n: d.copy([(0, n)], 0),
    "copy destination": lambda d, n: d.copy([(0, 1)], n),
    "format block_bytes": lambda d, n: d.admin.format(n),
    "format namespace": lambda d, n: d.admin.format(4096, n),
    "grow_older days": lambda d, n: d.media.grow_older(days=n),
    "grow_older temperature": lambda d, n: d.media.grow_older(
        temperature_celsius=n if abs(n) > 50 else 2**31
    ),
    "grow_older cycles": lambda d, n: d.media.grow_older(pe_cycles=n),
    "group first_die": lambda d, n: d.group("1", first_die=n),
    "group dies": lambda d, n: d.group("1", dies=n),
    "place count": lambda d, n: d.group("2").place(n, bits=1 << 47),
    "place bits": lambda d, n: d.group("2").place(1, bits=n if n > 2**48 else -1),
    "write bits": lambda d, n: d.group("2").write([b"\1"], bits=n),
    "explanation": lambda d, n: d.group("0").vectors()[0].explanation(bits=n if n > 2**48 else -1),
    "measure requests": lambda d, n: d.measure({"requests": n if n != 2**31 else -1, "lba": 2**63}),
    "measure seed": lambda d, n: d.measure({"requests": 1, "queue_depth": n}),
    "precondition": lambda d, n: d.media.precondition(occupied=n),
    "rber": lambda d, n: cells.rber("slc", pe_cycles=n),
    "sense_time": lambda d, n: cells.sense_time(blocks=n),
    "sense_power": lambda d, n: cells.sense_power(blocks=n),
    "wrong_results": lambda d, n: cells.wrong_results(0.1, n if n != 2**31 and n != 2**32 else -1),
    "advise": lambda d, n: bitline.advise([(d.group("0").vectors()[0], n if n < 0 or n > 2**60 else -1)]),
    "open set": lambda d, n: bitline.open(set={"nand.geometry.channels": n}),
}


@pytest.mark.parametrize("name", _CALLS)
def test_numbers_out_of_range_raise_our_error(drive: bitline.Drive, name: str) -> None:
    for number in _HUGE:
        # Neither OverflowError nor a ValueError of Python's about long integers.
        with pytest.raises(BitlineError) as raised:
            _CALLS[name](drive, number)
        assert len(str(raised.value)) < 1000


def test_such_an_error_names_argument_value_and_range(drive: bitline.Drive) -> None:
    for call, words in (
        (
            lambda: drive.admin.format(4096, 2**32),
            f"namespace = {2**32} is out of range; it must be 1 to {2**32 - 1}",
        ),
        (
            lambda: drive.media.grow_older(pe_cycles=2**40),
            f"pe_cycles = {2**40} is out of range; it must be 0 to",
        ),
        (lambda: drive.copy([(0, 2**32)], 0), f"blocks = {2**32} is out of range; it must be 1 to"),
        (lambda: drive.read(2**300), r"lba = 2\^300 or more is out of range; it must be 0 to"),
    ):
        with pytest.raises(UsageError, match=words):
            call()


class _Sign:
    def __and__(self, other: "_Sign") -> "_Sign":
        return self

    __or__ = __xor__ = __and__

    def __invert__(self) -> "_Sign":
        return self


def _parsed(text: str) -> object:
    return parse(text, lambda name: _Sign())


def _toml_file(text: str, folder: Path) -> Path:
    path = folder / "file.toml"
    path.write_text(text)
    return path


_N = 100_000
_LONG_TEXTS: dict[str, Callable[[Path], object]] = {
    "parentheses": lambda _: _parsed("(" * _N + "a" + ")" * _N),
    "nots": lambda _: _parsed("~" * _N + "a"),
    "functions": lambda _: _parsed("and(" * _N + "a" + ")" * _N),
    "wrong sign": lambda _: names("a & " * _N + "?"),
    "lists": lambda _: configuration(settings={"seed": _nested(_N)}),
    "lists in TOML": lambda folder: configuration(config=_toml_file("a = " + "[" * _N, folder)),
    "tables in TOML": lambda folder: configuration(config=_toml_file("a = " + "{a = " * _N, folder)),
    "dots in TOML": lambda folder: configuration(config=_toml_file("a." * _N + "a = 1", folder)),
    "header in TOML": lambda folder: configuration(config=_toml_file("[" + "a." * _N + "a]", folder)),
    "long key": lambda _: configuration(settings={"a" * _N: 1}),
    "dotted key": lambda _: configuration(settings={"a." * _N + "a": 1}),
    "long value": lambda _: configuration(settings={"seed": "a" * _N}),
    "long preset": lambda _: configuration("a" * _N),
    "workload lists": lambda folder: WorkloadFile.read(_toml_file("a = " + "[" * _N + "]" * _N, folder)),
    "workload dots": lambda folder: WorkloadFile.read(_toml_file("a." * _N + "a = 1", folder)),
    "workload word": lambda folder: WorkloadFile.read(_toml_file("a" * _N + " = 1", folder)),
    "sweep lists": lambda folder: Spec.read(_toml_file("a = " + "[" * _N, folder)),
}


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("name", _LONG_TEXTS)
def test_long_and_deep_texts_are_refused_at_once(name: str, tmp_path: Path) -> None:
    begin = time.perf_counter()
    with pytest.raises((ConfigError, UsageError)) as raised:
        _LONG_TEXTS[name](tmp_path)
    assert time.perf_counter() - begin < 4
    assert len(str(raised.value)) < 2000


def test_mqsim_files_that_nest_without_end_are_refused(tmp_path: Path) -> None:
    from bitline import _bitline

    (tmp_path / "ssdconfig.xml").write_text("<A>" * _N + "</A>" * _N)
    (tmp_path / "workload.xml").write_text("<A>" * _N)
    with pytest.raises(ConfigError):
        _bitline.mqsim_requests(tmp_path)


@pytest.mark.parametrize("sign", ["&", "|", "^"])
def test_explain_takes_time_with_the_number_of_names(sign: str) -> None:
    """Twice the names take about twice the time: it was four times."""
    from bitline.cli.app import app

    def seconds(count: int) -> float:
        text = f" {sign} ".join(f"a{number}" for number in range(count))
        begin = time.perf_counter()
        done = CliRunner().invoke(app, ["explain", text, "--json", "--inverse", "a0,a2,a4"])
        assert done.exit_code == 0, done.output
        return time.perf_counter() - begin

    seconds(10)
    few, many = seconds(500), seconds(2000)
    assert many < 8 * few + 1
    assert many < 8


def test_geometries_that_memory_cannot_hold_are_refused() -> None:
    """With the bytes that they would need, and which keys say so; nothing is allocated before."""
    program = """
import resource, bitline
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
bitline.open(data="none").close()
try:
    bitline.open(data="none", set={
        "nand.geometry.channels": 4096, "nand.geometry.chips_per_channel": 64,
        "nand.geometry.planes_per_die": 4,
        "nand.geometry.blocks_per_plane": 64, "nand.geometry.strings_per_block": 1,
        "nand.geometry.cells_per_string": 8, "ftl.gc.threshold_blocks": 4,
    })
except bitline.ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "67108864 blocks in 1048576 planes" in done.stdout
    assert f"there are {3 << 30}" in done.stdout
    assert "channels = 4096" in done.stdout
