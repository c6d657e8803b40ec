"""What the subcommands share: output, options, exit codes."""

import json

import pytest

from bitline import UsageError, WrongResultError
from bitline.cli.errors import Exit, exit_code, reported
from bitline.cli.options import settings
from bitline.cli.output import Column, Fact, Result, Table, duration, emit, energy, plain, rate, ratio, size
from bitline.units import counted


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (duration(0), "0 ns"),
        (duration(999), "999 ns"),
        (duration(1000), "1.00 µs"),
        (duration(22_500), "22.5 µs"),
        (duration(999_999), "1.00 ms"),
        (duration(3_600_000_000_000), "3600 s"),
        (duration(0.5), "0.50 ns"),
        (energy(20_500_000), "20.5 µJ"),
        (size(4096), "4.00 KiB"),
        (size(2 << 40), "2.00 TiB"),
        (plain(1234567), "1,234,567"),
        (plain(None), "-"),
        (plain(True), "yes"),
        (plain(123456.7), "123,457"),
        (plain(0.25), "0.25"),
        (ratio(12.34), "12.3x"),
        (ratio(None), "-"),
        (rate(0.1), "0.1"),
        (rate(12.345), "12.3"),
        (rate(123456.7), "123,457"),
        (counted(1, "sense"), "1 sense"),
        (counted(1234, "sense"), "1,234 senses"),
    ],
)
def test_values_are_shown_with_a_fitting_unit(shown: str, expected: str) -> None:
    assert shown == expected


def _result() -> Result:
    columns = [Column("engine", "Engine"), Column("time_ns", "Time", duration)]
    rows = [{"engine": "host", "time_ns": 1_500_000}, {"engine": "flash-cosmos", "time_ns": None}]
    return Result("Title", {"rows": Fact("Rows", 600_572)}, {"engines": Table(columns, rows)})


def test_json_and_text_come_from_one_structure(capsys: pytest.CaptureFixture[str]) -> None:
    emit(_result(), as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "rows": 600_572,
        "engines": [{"engine": "host", "time_ns": 1_500_000}, {"engine": "flash-cosmos", "time_ns": None}],
    }
    emit(_result(), as_json=False)
    text = capsys.readouterr().out
    assert "600,572" in text
    assert "1.50 ms" in text


def test_a_row_must_have_every_column() -> None:
    with pytest.raises(AssertionError, match="time_ns"):
        Table([Column("time_ns", "Time")], [{"time_ms": 1}])


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("a.b=16", {"a.b": 16}),
        ("a = 0.5", {"a": 0.5}),
        ("a=true", {"a": True}),
        ("a=memory", {"a": "memory"}),
        ('a="16"', {"a": "16"}),
        ("a=x=y", {"a": "x=y"}),
        ("a=1\nb=2", {"a": "1\nb=2"}),
        ("a=[1, 2]", {"a": [1, 2]}),
        ("a={b=1}", {"a": "{b=1}"}),
        ("a=", {"a": ""}),
    ],
)
def test_set_reads_toml_literals_and_else_text(pair: str, expected: dict[str, object]) -> None:
    assert settings([pair]) == expected
    assert [type(value) for value in settings([pair]).values()] == [type(v) for v in expected.values()]


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_set_refuses_what_it_cannot_use(pairs: list[str]) -> None:
    with pytest.raises(UsageError, match=r"--set"):
        settings(pairs)


def test_each_failure_has_its_exit_code() -> None:
    assert exit_code(WrongResultError()) == Exit.WRONG
    assert exit_code(UsageError()) == Exit.USAGE
    assert exit_code(FileNotFoundError()) == Exit.USAGE
    assert exit_code(ZeroDivisionError()) is None


def test_a_failure_is_one_line_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending, reported():
        raise UsageError("no [such] thing")
    assert ending.value.code == Exit.USAGE
    assert capsys.readouterr().err == "error: no [such] thing\n"


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), reported():
        _ = 1 / 0
