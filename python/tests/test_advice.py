"""Advice on groups and inversions: it pays on a real drive what it promises."""

import copy
import functools
import math
import operator
import pickle
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, fails
from conftest import SMALL

import bitline
from bitline import Advice, Drive, Formula, UsageError
from bitline.symbols import parse


def _shape(advice: Advice) -> list[list[str]]:
    return [[str(member) for member in group] for group in advice.groups]


def test_the_rules_of_thumb_come_out() -> None:
    assert _shape(bitline.advise(["a & b & c"])) == [["a", "b", "c"]]
    assert _shape(bitline.advise(["a | b | c"])) == [["~a", "~b", "~c"]]
    ors = bitline.advise(["(a | b) & (c | d) & (e | f)"])
    assert _shape(ors) == [["~a", "~b"], ["~c", "~d"], ["~e", "~f"]]
    assert ors.senses == 1
    assert ors.senses < ors.senses_before


def test_how_often_an_expression_is_asked_decides() -> None:
    ands = bitline.advise({"a & b & c": 10, "a | b | c": 1})
    assert [row.senses for row in ands.expressions] == [1, 3]
    ors = bitline.advise([("a & b & c", 0.5), ("a | b | c", 2)])
    assert [row.senses for row in ors.expressions][1] == 1
    assert ors.senses_before == 0.5 + 6
    assert ors.senses == pytest.approx(sum(row.frequency * row.senses for row in ors.expressions))


def test_the_placement_given_is_where_it_begins() -> None:
    advice = bitline.advise(["a & b", "x | y"], groups=[["a", "x"], ["b", "y"]], inverse=["y"])
    assert [[str(member) for member in group] for group in advice.groups_before] == [["a", "x"], ["b", "~y"]]
    assert advice.senses_before == 4
    assert advice.senses == 2


def test_a_power_limit_changes_what_is_best() -> None:
    expression = "(a & b) | (c & d) | (e & f)"
    assert bitline.advise([expression]).senses == 1
    assert bitline.advise([expression], set={"nand.mws.blocks_max": 2}).senses == 2


def test_formulas_are_text_and_back() -> None:
    for text in ["a", "~a", "a & b & c", "a ^ (b | ~(c & a))", "(a | b) & (c | d)"]:
        assert str(parse(text)) == text
    built = Formula.name("a") & ~(Formula.name("b") ^ Formula.name("a"))
    assert (str(built), built.names) == ("a & ~(b ^ a)", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a && b", "'a && b', at '& b'"),
        ("a + b", r"at '\+ b'"),
        ("a & 3", "at '3'"),
        ("f(a)", r"at '\(a\)'"),
        ("", "''"),
        ("a & (b", "at its end"),
        ("~" * 5000 + "a", "levels may nest"),
    ],
)
def test_what_is_no_formula_is_refused_where_it_goes_wrong(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        bitline.advise([text])


def test_one_expression_needs_no_list() -> None:
    assert bitline.advise("a | b").senses == bitline.advise(["a | b"]).senses == 1


def test_questions_that_make_no_sense_are_refused(drive: Drive) -> None:
    a, b = drive.group("0").write([b"ab", b"cd"])
    with pytest.raises(UsageError, match="at least one"):
        bitline.advise([])
    for frequency in [0, -1, math.nan, math.inf, 1e308, -1e308, 10**400]:
        with pytest.raises(UsageError, match=r"asked .* times"):
            bitline.advise([("a & b", frequency)])
    with pytest.raises(UsageError, match="no expression names z"):
        bitline.advise(["a & b"], inverse=["z"])
    with pytest.raises(UsageError, match="a is in two groups"):
        bitline.advise(["a & b"], groups=[["a"], ["a", "b"]])
    with pytest.raises(UsageError, match="not both"):
        bitline.advise([a & b, "a & b"])
    with pytest.raises(UsageError, match="are where they are"):
        bitline.advise([a & b], inverse=["a"])
    with bitline.open(set=SMALL) as other, pytest.raises(UsageError, match="on different drives"):
        bitline.advise([a & b, ~other.group("0").write([b"ab"])[0]])


def test_a_drive_keeps_what_advice_promises(drive: Drive) -> None:
    """Vectors are written as they were, then as proposed: the senses are those promised, before and after."""
    random = np.random.default_rng(3)
    rows = dict(zip("abcdef", random.random((6, 500)) < 0.5, strict=True))
    questions = {"(a | b) & (c | d)": 3, "e & f & a": 2, "~(a ^ f)": 1}
    asked = [(parse(text), often) for text, often in questions.items()]

    def senses(vectors: dict[str, bitline.BitVector]) -> float:
        total = 0.0
        for formula, often in asked:
            expression = eval(str(formula), {}, vectors)
            before = drive.statistics
            expected = eval(str(formula), {}, dict(rows))
            np.testing.assert_array_equal(expression.read("flash-cosmos"), expected)
            total += often * drive.statistics.since(before).bits.flash_cosmos_senses
        return total

    first = dict(zip(rows, drive.group("first").write(rows.values()), strict=True))
    advice = bitline.advise([(eval(text, {}, dict(first)), often) for text, often in questions.items()])
    assert advice.senses_before == senses(first)
    assert "'first':0" not in str(advice)
    by_name = bitline.advise(questions, config=None, set=SMALL)
    assert (by_name.senses_before, by_name.senses) == (advice.senses_before, advice.senses)
    second = {}
    for number, group in enumerate(by_name.groups):
        for member in group:
            [second[member.name]] = drive.group(f"advised {number}").write(
                [rows[member.name]], inverse=member.inverse
            )
    assert by_name.senses == senses(second) < by_name.senses_before


def test_the_command_shows_what_is_saved(run: Run) -> None:
    found = run("advise", "a | b | c", "a & d @ 3", "--json").json
    assert found["senses_before"] == 3 + 3
    assert (found["senses"], found["saved_percent"]) == (4, pytest.approx(100 / 3, abs=0.01))
    assert [row["frequency"] for row in found["expressions"]] == [1, 3]
    Path("asked.txt").write_text("# what we ask\na & b @ 10\n\nc | d  # and this\n")
    told = run("advise", "asked.txt", "--group", "a,c", "--group", "b,d", "--inverse", "c")
    assert told.code == 0
    assert all(words in told.out for words in ("a & b", "Senses now", "~d"))
    Path("wrong.txt").write_text("a & b\nc & & d\n")
    for wrong, words in [
        (("a & b @ x",), "'x' is no number"),
        (("a &",), "at its end: expected a name"),
        (("a & b", "--inverse", "c"), "no expression names c"),
        (("nofile.txt",), "there is no such file"),
        (("wrong.txt",), "wrong.txt, line 2: expression 'c & & d'"),
    ]:
        fails(run("advise", *wrong), 2, words)
    Path("empty.txt").write_text("# nothing\n")
    assert "there is no expression in it" in run("advise", "empty.txt").err


def test_what_is_told_is_for_the_length_of_the_vectors() -> None:
    with bitline.open() as drive:
        a, b, c = drive.group("0").write([bytes(5_000_000)] * 3)
        [told] = bitline.advise(a | b | c).expressions
        begin = drive.now
        (a | b | c).count()
        assert (drive.now - begin).ns == pytest.approx(told.time_before.ns, rel=0.01)
    short, long = (bitline.advise("a | b | c", bits=bits).expressions[0] for bits in (1000, 40_000_000))
    assert short.time < told.time < told.time_before < long.time_before * 1.01
    with pytest.raises(UsageError, match="from 1 to"):
        bitline.advise("a", bits=0)


def test_advice_that_is_applied_takes_what_was_told() -> None:
    rows = np.random.default_rng(4).integers(0, 2, (6, 3_000_000)).astype(bool)
    with bitline.open() as drive:
        vectors = [*drive.group("0").write(rows[:3]), *drive.group("1").write(rows[3:])]
        a, b, c, x, y, z = vectors
        advice = bitline.advise({a | b | x: 5, c & y & z: 1})
        begin = drive.now
        applied = advice.apply()
        assert (drive.now - begin).ns == pytest.approx(advice.replacing.time.ns, rel=0.01)
        assert {*applied.vectors} <= {f"{v.group.name}:{v.name}" for v in vectors}
        # Blocks that are empty now are erased meanwhile.
        for _ in range(40):
            (~applied.expressions[0]).count()
        for told, question, right in zip(
            advice.expressions,
            applied.expressions,
            (rows[0] | rows[1] | rows[3], rows[2] & rows[4] & rows[5]),
            strict=True,
        ):
            begin = drive.now
            assert question.count() == right.sum()
            assert (drive.now - begin).ns == pytest.approx(told.time.ns, rel=0.01)
            assert (question.read() == right).all()
        again = bitline.advise(dict(zip(applied.expressions, (5, 1), strict=True)))
        assert again.replacing.vectors == 0
        assert again.apply().vectors == {}
    with pytest.raises(UsageError, match="advice on names"):
        bitline.advise("a | b").apply()


def test_vectors_of_one_name_are_told_apart_in_their_new_group() -> None:
    with bitline.open() as drive:
        [a] = drive.group("left").write([b"ab"])
        [b] = drive.group("right").write([b"cd"])
        applied = bitline.advise(a & b).apply()
        named = {before: f"{now.group.name}:{now.name}" for before, now in applied.vectors.items()}
        assert named == {"left:0": "advised_1:left:0", "right:0": "advised_1:right:0"}
        assert [group.name for group in drive.groups] == ["advised_1"]


def test_predicates_are_expressions_whose_vectors_stay() -> None:
    pa = pytest.importorskip("pyarrow")
    with bitline.open() as drive:
        table = pa.table({"age": [1, 2, 3, 4] * 50, "vip": [True, False] * 100})
        index = drive.bitmap_index(table)
        asked = (index["age"] == 2) & (index["age"] != 3)
        advice = bitline.advise([asked])
        assert advice.senses_before == bitline.advise(asked.bits()).senses_before
        assert bitline.advise({asked: 2.0}).expressions[0].frequency == 2
        # An AND of what is stored inverted takes a sense each.
        [one, two, *_] = drive.groups["index/age"]
        with pytest.raises(UsageError, match="stay where they are"):
            bitline.advise({one & two: 1}).apply()
        with pytest.raises(UsageError, match="no row"):
            bitline.advise(index["age"] > 99)
    with pytest.raises(TypeError, match="int is no expression"):
        bitline.advise([3])  # type: ignore[list-item]


def test_advice_for_an_image(run: Run, tmp_path: Path) -> None:
    image = tmp_path / "drive.bl"
    with bitline.open(path=image, set=SMALL) as drive:
        drive.group("g").write([b"ab", b"cd", b"ef"])
    asked = ["advise", "--image", str(image), "g:0 | g:1 | g:2"]
    assert "Moved to" not in run(*asked).out
    assert "advised_1:2" in run(*asked, "--apply").out
    again = run("advise", "--image", str(image), "advised_1:0 | advised_1:1 | advised_1:2", "--json")
    assert again.json["replaced_vectors"] == 0
    fails(run(*asked, "--bits", "8"), 2, "--bits does not go with --image")
    fails(run("advise", "a | b", "--apply"), 2, "--image")


def test_long_chains_move_and_advice_is_a_plain_value() -> None:
    with bitline.open() as drive:
        vectors = drive.group("many").write([bytes([7]) * 64] * 600)
        question = functools.reduce(operator.or_, vectors)
        advice = bitline.advise(question)
        assert copy.deepcopy(advice) == pickle.loads(pickle.dumps(advice)) == advice
        [moved] = advice.apply().expressions
        assert moved.count() == 3 * 512 // 8
        with pytest.raises(bitline.BitlineError, match="many:0"):
            advice.apply()


def test_groups_on_dies_of_their_own_are_refused() -> None:
    with bitline.open() as drive:
        [one] = drive.group("one", first_die=1, dies=1).write([b"\x07"])
        with pytest.raises(UsageError, match="dies of its own"):
            bitline.advise(one & one)
