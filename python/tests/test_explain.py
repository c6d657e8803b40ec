"""`bitline explain`, its language, and explanations as data."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from typer.testing import CliRunner

import bitline
from bitline import PLATFORMS, BitVector, Drive, PagePart, UsageError
from bitline.cli.app import app
from bitline.formula import names, parse

FIGURE_16 = "(a1 | (b1 & b2 & b3 & b4)) & (c1 | c3) & (d2 | d4)"


def _asked(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(app, ["explain", *arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told: dict[str, object] = json.loads(done.output)
    return told


@pytest.fixture
def abc(drive: Drive) -> dict[str, BitVector]:
    """Three vectors of all combinations of three bits."""
    rows = [np.arange(8) >> place & 1 == 1 for place in range(3)]
    return dict(zip("abc", drive.group("g").write(rows), strict=True))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a", lambda a, b, c: a),
        ("~~ a", lambda a, b, c: a),
        ("!a", lambda a, b, c: ~a),
        ("a & b | c", lambda a, b, c: (a & b) | c),
        ("a | b & c", lambda a, b, c: a | (b & c)),
        ("a ^ b & c", lambda a, b, c: a ^ (b & c)),
        ("a | b ^ c", lambda a, b, c: a | (b ^ c)),
        ("(a | b) & c", lambda a, b, c: (a | b) & c),
        ("not a and b", lambda a, b, c: ~a & b),
        ("a nand b", lambda a, b, c: ~(a & b)),
        ("a nor b", lambda a, b, c: ~(a | b)),
        ("a xnor b", lambda a, b, c: ~(a ^ b)),
        ("a nand b and c", lambda a, b, c: ~(a & b) & c),
        ("(a nand b) nand c", lambda a, b, c: ~(~(a & b) & c)),
        ("nand(a, b, c)", lambda a, b, c: ~(a & b & c)),
        ("nor(a,b,c) or xnor(a, b, c)", lambda a, b, c: ~(a | b | c) | ~(a ^ b ^ c)),
        ("and(a, or(b, c)) xor not(xor(a))", lambda a, b, c: (a & (b | c)) ^ ~a),
        ("a or b or c and a", lambda a, b, c: a | b | (c & a)),
    ],
)
def test_words_mean_what_they_say(abc: dict[str, BitVector], text: str, meaning: object) -> None:
    rows = [np.arange(8) >> place & 1 == 1 for place in range(3)]
    assert callable(meaning)
    np.testing.assert_array_equal(parse(text, abc.__getitem__).read(), meaning(*rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at its end: expected a name"),
        ("a &", "at its end: expected a name"),
        ("a b", "at 'b' (column 3): expected an operator or the end"),
        ("a && b", "at '& b' (column 4): expected a name, ( or ~"),
        ("(a | b", "at its end: expected an operator or )"),
        ("(a, b)", "at ', b)' (column 3): expected an operator or )"),
        ("nand(a b)", "at 'b)' (column 8): expected an operator, a comma or )"),
        ("nand a", "at 'a' (column 6): expected an operand before nand, or ( after it"),
        ("a + b", "at '+ b' (column 3): '+' is in no expression"),
        ("3", "'3' is in no expression"),
        ("__import__('os')", "at \"'os')\" (column 12)"),
        ("a nor b nor c", "at 'nor c' (column 9): nor after nor could mean two things"),
        ("~" * 90 + "a", "levels may nest"),
    ],
)
def test_what_is_no_expression_is_pointed_at(abc: dict[str, BitVector], text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse(text, abc.__getitem__)


def test_names_come_in_the_order_of_the_text() -> None:
    assert names("b & (a | month_3 nor 0:3) ^ b and colours:12 | colours:red") == [
        "b", "a", "month_3", "0:3", "colours:12", "colours:red"
    ]  # fmt: skip


def test_nand_nor_and_xnor_take_any_number(abc: dict[str, BitVector]) -> None:
    rows = [np.arange(8) >> place & 1 == 1 for place in range(3)]
    for count in (1, 2, 3):
        vectors, some = [abc[name] for name in "abc"[:count]], rows[:count]
        np.testing.assert_array_equal(bitline.nand(*vectors).read(), ~np.logical_and.reduce(some))
        np.testing.assert_array_equal(bitline.nor(*vectors).read(), ~np.logical_or.reduce(some))
        np.testing.assert_array_equal(bitline.xnor(*vectors).read(), ~np.logical_xor.reduce(some))


def test_the_papers_example() -> None:
    groups = [f"--group={letter}1,{letter}2,{letter}3,{letter}4" for letter in "abcd"]
    inverse = "c1,c2,c3,c4,d1,d2,d3,d4"
    told = _asked(FIGURE_16, *groups, "--inverse", inverse)
    assert (told["senses"], told["page_transfers"], told["controller_pages"]) == (2, 1, 0)
    root = told["root"]
    assert isinstance(root, dict)
    first, second = root["steps"]
    assert (first["s"], first["c"]) == ("(c1 | c3) & (d2 | d4)", "0")
    assert second["c"] == "(c1 | c3) & (d2 | d4) & (a1 | (b1 & b2 & b3 & b4))"
    # Without a placement that suits it takes more.
    everything_in_one = _asked(FIGURE_16)
    assert isinstance(everything_in_one["senses"], int)
    assert everything_in_one["senses"] > 2


def test_every_platform_is_explained_and_shown_as_a_tree() -> None:
    for platform in PLATFORMS:
        for more in ([], ["--count"], ["--bits", "1000"]):
            told = _asked("(a & b) ^ ~c", "--platform", platform, *more)
            assert isinstance(told["time_ns"], float)
            assert told["time_ns"] > 0
            done = CliRunner().invoke(app, ["explain", "(a & b) ^ ~c", "--platform", platform, *more])
            assert done.exit_code == 0
            assert "Time (estimate)" in done.output
    counted = _asked("a & b", "--count")["energy_pj"]
    read = _asked("a & b")["energy_pj"]
    assert isinstance(counted, int)
    assert isinstance(read, int)
    assert counted < read


def test_vectors_of_an_image(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with bitline.open(path=image, set=SMALL) as drive:
        drive.group("colours").write(np.ones((2, 100), np.bool_))
        drive.group("7").write(np.ones((1, 100), np.bool_))
        drive.group("my-days").write(np.ones((2, 100), np.bool_), names=["1st", "a & b"])
    quoted = _asked('"my-days:1st" & ~"my-days:a & b"', "--image", str(image))
    assert quoted["expression"] == '"my-days:1st" & !"my-days:a & b"'
    told = _asked("colours:0 & colours:1 | 7:0", "--image", str(image))
    assert (told["bits"], told["senses"]) == (100, 1)
    for arguments, message in [
        (["colours:0 & colours:2"], "colours:2: "),
        (["colours & 7:0"], "named by its group and its own name, as colours:0"),
        (["colours:0", "--group", "a"], "--group does not go with --image"),
        (["colours:0", "--set", "seed=1"], "--set does not go with --image"),
    ]:
        with pytest.raises(UsageError, match=message):
            CliRunner().invoke(app, ["explain", *arguments, "--image", str(image)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a & b", "--group", "a"], "b is in no --group"),
        (["a", "--group", "a,b", "--group", "b"], "b is named twice"),
        (["a", "--group", "a,,b"], "'' is no name"),
        (["a", "--inverse", "b"], "--inverse b: b is in no group; there are a"),
        (["a", "--platform", "gpu"], "--platform gpu: it must be one of fastest"),
        (["a", "--set", "nand.nothing=1"], "nand.nothing"),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], message: str) -> None:
    with pytest.raises(bitline.BitlineError, match=message):
        CliRunner().invoke(app, ["explain", *arguments], catch_exceptions=False)


def test_explanations_as_data(abc: dict[str, BitVector]) -> None:
    told = (abc["a"] | abc["b"]).explanation()
    assert isinstance(told.root, PagePart)
    assert told.root.steps[-1].c == "g:0 | g:1"
    longer = (abc["a"] | abc["b"]).explanation(bits=10_000_000, count=True)
    assert longer.bits == 10_000_000
    assert longer.estimate.time > told.estimate.time
    with pytest.raises(UsageError, match="bits = 0"):
        abc["a"].explanation(bits=0)


def test_the_host_reads_every_vector_whatever_comes_of_it(drive: Drive) -> None:
    (a,) = drive.group("0").write([b"\1" * 100])
    never = a & ~a
    told = never.explanation("host")
    before = drive.statistics
    assert not never.read("host").any()
    spent = drive.statistics.since(before)
    assert (told.senses, told.page_transfers) == (spent.flash.senses, 1) == (1, 1)
    with pytest.raises(UsageError, match="a vector has from 1 to 281474976710655 bits"):
        never.explanation(bits=1 << 48)


def test_vectors_of_an_image_are_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "named.img"
    with bitline.open(path=path, set={"nand.geometry.blocks_per_plane": 64}) as drive:
        drive.group("days").write([b"ab", b"cd"], names=["monday", "tuesday"])
    with bitline.open(path=path) as drive:
        monday, tuesday = drive.group("days")
        told = (monday & tuesday).explanation()
        assert told.expression == "days:monday & days:tuesday"
        assert isinstance(told.root, PagePart)
        assert told.root.steps[-1].c == "days:monday & days:tuesday"


def test_vectors_longer_than_the_drive_are_refused() -> None:
    with pytest.raises(UsageError, match="the whole drive holds 17229561856000 bits"):
        CliRunner().invoke(app, ["explain", "a & b", "--bits", "99999999999999"], catch_exceptions=False)


def test_what_is_printed_can_be_read_back(drive: Drive) -> None:
    a, b = drive.group("orders/day").write([b"ab", b"cd"], names=["plane 8", "not"])
    expression = ~(a & b) | (a ^ ~b)
    words = {"orders/day:plane 8": a, "orders/day:not": b}
    for text in (expression._node.words(), expression.explanation().expression):
        assert '"orders/day:plane 8"' in text
        assert parse(text, lambda name: words[name] & words[name]).count() == expression.count()
    quoted = parse('"a b" & ~"not" | c', bitline.Formula.name)
    assert str(quoted) == '("a b" & ~"not") | c'


def test_platforms_are_compared_and_the_plan_is_there_if_asked_for() -> None:
    def shown(*more: str) -> str:
        done = CliRunner().invoke(app, ["explain", "a & b & c", *more], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    short, long = shown(), shown("--senses")
    for name in ("evaluated by whoever is fastest", "ParaBit", "In-storage", "Host", "Longest at work"):
        assert name in short
    assert "S: " not in short
    assert "S: " in long
    assert "evaluated by the host on" in shown("--platform", "host")
    told = _asked("a & b & c")["platforms"]
    assert isinstance(told, list)
    times = {row["platform"]: row["time_ns"] for row in told}
    assert times["fastest"] == min(times.values())
    assert {*times} == {"fastest", *PLATFORMS}
