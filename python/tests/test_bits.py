"""Bit vectors: what the drive computes equals what NumPy does, on every platform."""

import operator
import pickle
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from conftest import SMALL
from numpy.typing import NDArray

import bitline
from bitline import PLATFORMS, BitExpression, BitVector, Drive, NvmeError, Platform, UsageError
from bitline.expression import DEPTH_MAX, OPERANDS_MAX, OPERATORS_MAX

#: Not a whole number of bytes, and more than the pages of all planes.
BITS = 4096 * 8 * 9 + 77


def _vectors(seed: int, count: int, bits: int) -> list[NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    return [random.random(bits) < random.random() for _ in range(count)]


@pytest.mark.parametrize("bits", [1, 8, 1000, BITS])
def test_random_expressions_equal_numpy_on_every_platform(drive: Drive, bits: int) -> None:
    random = np.random.default_rng(bits)
    arrays = _vectors(1, 9, bits)
    vectors = [
        *drive.group("plain").write(arrays[:4]),
        *drive.group("inverted").write(arrays[4:7], inverse=True),
        *drive.group("3").write(arrays[7:]),
    ]

    def expression(depth: int) -> tuple[BitExpression, NDArray[np.bool_]]:
        kind = random.integers(5) if depth else 0
        if kind == 0:
            which = random.integers(len(vectors))
            return vectors[which], arrays[which]
        left, left_array = expression(depth - 1)
        if kind == 1:
            return ~left, ~left_array
        right, right_array = expression(depth - 1)
        if kind == 2:
            return left & right, left_array & right_array
        if kind == 3:
            return left | right, left_array | right_array
        return left ^ right, left_array ^ right_array

    for _ in range(12):
        asked, expected = expression(4)
        for platform in PLATFORMS:
            np.testing.assert_array_equal(asked.read(platform), expected, err_msg=f"{platform}: {asked}")
            assert asked.count(platform) == np.count_nonzero(expected)
            assert asked.read_packed(platform) == np.packbits(expected, bitorder="little").tobytes()


def test_nothing_happens_until_it_is_read(drive: Drive) -> None:
    a, b = drive.group("g").write(_vectors(2, 2, 500))
    before = drive.statistics
    asked = ~(a & b) ^ (a | ~b)
    assert asked.vectors == ["g:0", "g:1"]
    assert len(asked) == 500
    assert asked.explain().startswith("Flash-Cosmos")
    assert drive.statistics == before
    asked.read()
    assert drive.statistics.since(before).bits.evaluations == 1


def test_an_and_of_one_group_is_one_sense_and_parabit_needs_one_an_operand(drive: Drive) -> None:
    """Flash-Cosmos 4.1: the wordlines of a string are sensed at once; 4.2: an OR of inverted ones, too."""
    for inverse, combine in ((False, lambda a, b: a & b), (True, lambda a, b: a | b)):
        a, b, c = drive.group(f"inverse {inverse}").write(_vectors(3, 3, 1000), inverse=inverse)
        asked = combine(combine(a, b), c)
        senses = {}
        for platform in PLATFORMS:
            before = drive.statistics
            asked.read(platform)
            senses[platform] = drive.statistics.since(before).flash.senses
        assert senses == {"flash-cosmos": 1, "parabit": 3, "in-storage": 3, "host": 3}


def test_packed_bytes_and_bools_are_the_same_vector(drive: Drive) -> None:
    array = _vectors(4, 1, 61)[0]
    packed = np.packbits(array, bitorder="little").tobytes()
    vectors = drive.group("g").write([array, array.tolist()])
    vectors += drive.group("g").write([packed, bytearray(packed), memoryview(packed)], bits=61)
    for vector in vectors:
        np.testing.assert_array_equal(vector.read(), array)
    whole = drive.group("whole").write([b"\x01\x80"])[0]
    assert np.flatnonzero(whole.read()).tolist() == [0, 15]


@pytest.mark.parametrize("platform", ["host", "flash-cosmos"])
def test_results_come_into_memory_that_is_there(platform: Platform) -> None:
    rows = np.random.default_rng(5).random((2, 100_003)) < 0.5
    packed = np.packbits(rows[0] & rows[1], bitorder="little")
    array = np.full(packed.size + 2, 0xAA, dtype=np.uint8)
    buffers = (bytearray(packed.size), array[1:-1], memoryview(array)[1:-1].cast("B"))
    times = []
    for into in (False, True):
        with bitline.open(set=SMALL) as drive:
            first, second = drive.group("into").write(rows)
            both = first & second
            for buffer in buffers:
                if into:
                    both.read_into(buffer, platform)
                    assert bytes(buffer) == packed.tobytes()
                else:
                    assert both.read_packed(platform) == packed.tobytes()
                assert both.submit(platform).result().tobytes() == np.asarray(both.read(platform)).tobytes()
                times.append(drive.now)
    assert (array[0], array[-1]) == (0xAA, 0xAA)
    assert times[:3] == times[3:]


def test_memory_that_a_result_does_not_fit_is_refused_before_anything_happens(drive: Drive) -> None:
    vector = drive.group("into").write([np.ones(80, dtype=bool)])[0]
    begin = drive.now
    for buffer, words in (
        (bytearray(9), "9 writable bytes are no room for this result: give 10 contiguous bytes"),
        (np.zeros(11, dtype=np.uint8), "11 writable bytes are no room"),
        (np.zeros(20, dtype=np.uint8)[::2], "10 scattered bytes are no room"),
        (b"0123456789", "10 read-only bytes are no room"),
    ):
        with pytest.raises(UsageError, match=words):
            vector.read_into(buffer)  # type: ignore[arg-type]
    assert drive.now == begin


def test_a_matrix_is_a_collection_of_vectors(drive: Drive) -> None:
    matrix = np.random.default_rng(5).random((3, 100)) < 0.5
    vectors = drive.group("g").write(matrix)
    np.testing.assert_array_equal([vector.read() for vector in vectors], matrix)


def test_groups_remember_and_forget(drive: Drive) -> None:
    group = drive.group("colours")
    group.write(_vectors(6, 2, 100), inverse=True)
    more = drive.group("colours").write(_vectors(7, 1, 100))
    assert [(v.number, v.inverse, len(v)) for v in group.vectors()] == [
        (0, True, 100),
        (1, True, 100),
        (2, False, 100),
    ]
    more[0].delete()
    assert len(group.vectors()) == 2
    with pytest.raises(UsageError, match=r"the drive does not hold colours:2$"):
        more[0].read()
    assert [g.name for g in drive.groups] == ["colours"]
    group.delete()
    assert group.vectors() == list(drive.groups) == []


def test_names_of_groups(drive: Drive) -> None:
    for kind in (7, 1.5, None):
        with pytest.raises(TypeError, match="a group has a name, a str, not a"):
            drive.group(kind)
    # A well-known pair with the same CRC-32: names are kept as they are.
    [one] = drive.group("plumless").write([b"a"])
    [other] = drive.group("buckeroo").write([b"b"])
    assert (one.read_packed(), other.read_packed()) == (b"a", b"b")
    assert [group.name for group in drive.groups] == ["buckeroo", "plumless"]
    for name in ("", "a\nb", "x" * 256):
        with pytest.raises(UsageError, match="is no name of an object"):
            drive.group(name)
    assert "plumless" in drive.groups
    assert "other" not in drive.groups
    assert (len(drive.groups["plumless"]), drive.groups["plumless"].bits) == (1, 8)
    with pytest.raises(KeyError, match="no group 'other'; it has buckeroo, plumless"):
        drive.groups["other"]
    drive.group("plumless").rename("renamed")
    assert [group.name for group in drive.groups] == ["buckeroo", "renamed"]
    with pytest.raises(UsageError, match='there is a group "renamed" already'):
        drive.group("buckeroo").rename("renamed")


def test_a_name_used_again_is_another_vector(drive: Drive) -> None:
    for _ in range(2):
        [old] = drive.group("g").write([b"a"], names=["v"])
        drive.group("g").delete()
    [new] = drive.group("g").write([b"b"], names=["v"])
    with pytest.raises(UsageError, match=r"the drive does not hold g:v$"):
        old.read()
    drive.power_cut()
    drive.power_up()
    with pytest.raises(UsageError, match=r"the drive does not hold g:v$"):
        (old & new).count()
    assert new.read_packed() == b"b"
    drive.admin.format(4096)
    [again] = drive.group("g").write([b"c"], names=["v"])
    with pytest.raises(UsageError, match=r"the drive does not hold g:v$"):
        (new & again).count()


def test_a_vector_is_overwritten_as_a_whole(drive: Drive) -> None:
    a, b = drive.group("g").write([b"a", b"b"])
    before = a.extents
    c = a.overwrite(b"c", inverse=True)
    assert (c.name, c.inverse, a.extents == c.extents != before) == ("0", True, True)
    # What was read of it before goes on to mean the same vector.
    assert (a.read_packed(), c.read_packed(), b.read_packed()) == (b"c", b"c", b"b")
    with pytest.raises(UsageError, match="2 bytes hold no vector of 8 bits"):
        a.overwrite(b"ab")
    a.delete()
    with pytest.raises(UsageError, match="does not hold g:0"):
        _ = c[0]
    with pytest.raises(UsageError, match=r"does not hold g:0$"):
        c.overwrite(b"d")


def test_vectors_know_their_names_and_are_arrays(drive: Drive) -> None:
    rows = _vectors(18, 3, 300)
    group = drive.group("colours")
    red, green = group.write(rows[:2], names=["red", "green"])
    [third] = group.write(rows[2:])
    assert [vector.name for vector in group] == ["red", "green", "2"]
    assert (red.name, red.number, third.number, len(group), len(red)) == ("red", 0, 2, 3, 300)
    np.testing.assert_array_equal(group["green"].read(), rows[1])
    np.testing.assert_array_equal(group[2].read(), rows[2])
    assert "red" in group
    assert "blue" not in group
    with pytest.raises(KeyError, match="no vector 'blue'"):
        group["blue"]
    np.testing.assert_array_equal(np.asarray(red & green), rows[0] & rows[1])
    assert np.asarray(red, np.uint8).sum() == rows[0].sum()
    assert red[5] == rows[0][5]
    np.testing.assert_array_equal(green[10:20], rows[1][10:20])
    before = drive.statistics
    np.testing.assert_array_equal(green[250:20:-7], rows[1][250:20:-7])
    assert (green[-1], len(green[5:5])) == (rows[1][-1], 0)
    assert drive.statistics.since(before).bits.evaluations == 0, "ordinary reads of its blocks"
    with pytest.raises(IndexError):
        green[300]
    assert list(red) == list(rows[0])
    assert repr(red & ~green) == "<BitExpression colours:red & !colours:green of 300 bits>"
    with pytest.raises(UsageError, match="2 names for 1 vector: give one"):
        group.write(rows[:1], names=["a", "b"])
    with pytest.raises(UsageError, match='there is a vector "red" already'):
        group.write(rows[:1], names=["red"])


def test_extents_of_a_vector_are_its_bits(drive: Drive) -> None:
    [plain] = drive.group("g").write(_vectors(19, 1, BITS))
    [inverse] = drive.group("g").write(_vectors(20, 1, BITS), inverse=True)
    for vector in (plain, inverse):
        read = b"".join(drive.read(first, blocks) for first, blocks in vector.extents)
        assert read[: -(-BITS // 8)] == vector.read_packed()


@pytest.mark.parametrize(
    ("vectors", "error", "words"),
    [
        ([np.array([0, 1], np.uint8)], TypeError, "not of uint8"),
        ([np.array([0.5])], TypeError, "not of float64"),
        (np.ones(4, bool), TypeError, "give a list of it"),
        ([True, False], TypeError, "one dimension, not 0"),
        ([np.ones((2, 2), bool)], TypeError, "one dimension, not 2"),
        (b"abc", TypeError, "give a list of it"),
        (np.bool_(True), TypeError, "give a list of it"),
        (5, TypeError, "give a list of it"),
        ([b""], UsageError, "at least one bit"),
        ([[]], UsageError, "at least one bit"),
        ([np.ones(0, bool)], UsageError, "at least one bit"),
    ],
)
def test_what_is_no_vector(drive: Drive, vectors: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        drive.group("g").write(vectors)


def test_lengths_must_fit(drive: Drive) -> None:
    a = drive.group("a").write(_vectors(8, 1, 100))[0]
    b = drive.group("b").write(_vectors(8, 1, 101))[0]
    with pytest.raises(UsageError, match="vectors of 100 and 101 bits do not combine"):
        _ = a & b
    with pytest.raises(UsageError, match=r'vectors of group "a" have 100 bits, not 101;'):
        drive.group("a").write(_vectors(8, 1, 101))
    with pytest.raises(UsageError, match="vector 1 of those given has 1 bit, those before it 2;"):
        drive.group("6").write([[True, True], [True]])
    assert drive.group("6").vectors() == []
    with pytest.raises(UsageError, match="bits = -1"):
        drive.group("c").write([b"ab"], bits=-1)
    with pytest.raises(UsageError, match="2 bytes hold no vector of 17 bits, which takes 3"):
        drive.group("c").write([b"ab"], bits=17)
    with pytest.raises(UsageError, match="no vector of 9 bits"):
        drive.group("c").write([np.ones(8, bool)], bits=9)


def test_drives_must_be_the_same(drive: Drive) -> None:
    with bitline.open(set=SMALL) as other:
        a = drive.group("g").write(_vectors(9, 1, 100))[0]
        b = other.group("g").write(_vectors(9, 1, 100))[0]
        with pytest.raises(UsageError, match="on different drives"):
            _ = a | b


def test_mistakes_with_operators_are_errors(drive: Drive) -> None:
    a, b = drive.group("g").write(_vectors(10, 2, 10))
    with pytest.raises(TypeError, match="combine vectors with"):
        _ = a and b
    for mixed in (lambda: a & np.ones(10, bool), lambda: np.ones(10, bool) | a):
        with pytest.raises(
            TypeError, match="does not combine with a NumPy array: write that into a group first"
        ):
            mixed()
    for mixed in (lambda: a ^ True, lambda: True & a):
        with pytest.raises(TypeError, match="does not combine with a bool"):
            mixed()
    with pytest.raises(UsageError, match="there is no platform"):
        a.read("gpu")


def test_an_expression_that_no_command_takes_is_refused_at_the_operator(drive: Drive) -> None:
    """The limits are the command's: what they allow is read, one step further is refused."""
    arrays = _vectors(14, 3, 10)
    a, b, c = drive.group("g").write(arrays)
    deep: BitExpression = a
    expected = arrays[0]
    for level in range(DEPTH_MAX):
        deep = deep & b if level % 2 else deep | c
        expected = expected & arrays[1] if level % 2 else expected | arrays[2]
    np.testing.assert_array_equal(deep.read("host"), expected)
    np.testing.assert_array_equal(deep.read("in-storage"), expected)
    with pytest.raises(UsageError, match="at most 64 levels"):
        _ = ~deep
    with pytest.raises(UsageError, match="at most 64 levels"):
        _ = deep ^ a
    assert len((deep & b).vectors) == 3  # the chain grows, not the depth
    twice = reduce(lambda twice, _: twice ^ twice, range(12), a)
    with pytest.raises(UsageError, match="at most 4096 operands, this would have 8192"):
        _ = twice ^ twice
    inverted = reduce(lambda chain, _: chain | ~b, range(4094), ~a)
    assert inverted._node.operator_count == OPERATORS_MAX
    np.testing.assert_array_equal(inverted.read(), ~(arrays[0] & arrays[1]))
    with pytest.raises(UsageError, match="at most 4096 operators, this would have 4097"):
        _ = inverted | ~b


@pytest.mark.parametrize("combine", [operator.and_, operator.or_, operator.xor])
def test_a_long_chain_is_one_operator(drive: Drive, combine: Callable[..., BitExpression]) -> None:
    arrays = _vectors(15, 4, 10)
    vectors = drive.group("g").write(arrays)
    chosen = [0, *np.random.default_rng(15).integers(4, size=OPERANDS_MAX - 1)]
    chain = reduce(combine, (vectors[which] for which in chosen))
    expected = reduce(combine, (arrays[which] for which in chosen))
    assert (chain._node.depth, chain._node.operator_count, chain._node.operand_count) == (1, 1, OPERANDS_MAX)
    for platform in PLATFORMS:
        np.testing.assert_array_equal(chain.read(platform), expected, err_msg=platform)
    with pytest.raises(UsageError, match="at most 4096 operands"):
        combine(chain, vectors[0])


def test_chains_join_and_double_complements_cancel(drive: Drive) -> None:
    a, b, c, d = drive.group("5").write(_vectors(16, 4, 10))
    assert "5:0 & 5:1 & 5:2 & 5:3 " in repr((a & b) & (c & d))
    assert "5:0 & (5:1 | 5:2) " in repr(a & (b | c))
    assert "<BitExpression 5:0 of" in repr(~~a)
    shown = repr(~(a ^ b))
    for _ in range(4000):
        a = ~a
    assert repr(~(a ^ b)) == shown


def test_named_groups_are_told_by_name(drive: Drive) -> None:
    a, b = drive.group("colours").write(_vectors(17, 2, 10))
    assert repr(a & b) == "<BitExpression colours:0 & colours:1 of 10 bits>"
    assert (a & b).explanation().expression == "colours:0 & colours:1"
    assert "S = (string 0[0-1])" in (a & b).explain()
    b.delete()
    with pytest.raises(UsageError, match=r"does not hold colours:1$"):
        (a & b).read()
    with pytest.raises(UsageError, match=r"does not hold colours:1$"):
        b.delete()


def test_a_full_group_says_so(drive: Drive) -> None:
    vectors = _vectors(11, 1, BITS) * 1000
    with pytest.raises(NvmeError, match=r"group 'g' \(.*compute_blocks_percent\): .* Vector Group Full"):
        drive.group("g").write(vectors)
    assert drive.group("g").vectors() == []
    [stored] = drive.group("g").write(vectors[:1])
    np.testing.assert_array_equal(stored.read(), vectors[0])


def test_a_drive_without_data_takes_the_same_time_and_reads_zeroes() -> None:
    found = []
    for data in ("memory", "none"):
        with bitline.open(set=SMALL, data=data) as drive:
            a, b = drive.group("g").write(_vectors(12, 2, BITS))
            times = [drive.now]
            for platform in PLATFORMS:
                ones = (a & ~b).read(platform)
                assert bool(ones.any()) == (data == "memory")
                times.append(drive.now)
            found.append((times, drive.statistics.to_dict()))
    assert found[0] == found[1]


def test_a_vector_describes_itself(drive: Drive) -> None:
    a, b = drive.group("5").write(_vectors(13, 2, 1000))
    assert isinstance(a, BitVector)
    assert repr(a) == "<BitVector 5:0 of 1,000 bits>"
    assert repr(a & ~b) == "<BitExpression 5:0 & !5:1 of 1,000 bits>"


def test_a_check_agrees_and_costs_a_sense_for_each_operand(drive: Drive) -> None:
    rows = np.random.default_rng(8).random((4, 10_000)) < 0.5
    a, b, c, d = drive.group("0").write(rows)
    expression = a & b & c & d
    before = drive.statistics
    np.testing.assert_array_equal(expression.read(check=True), rows.all(axis=0))
    assert expression.count(check=True) == rows.all(axis=0).sum()
    assert expression.read_packed("parabit", check=True) == expression.read_packed()
    spent = drive.statistics.since(before).bits
    assert (spent.checks, spent.disagreements, spent.differing_bits) == (3, 0, 0)
    assert spent.check_senses == 3 * 4
    with pytest.raises(UsageError, match="choose in-storage, parabit, flash-cosmos, fastest or thriftiest"):
        expression.read("host", check=True)


def test_a_disagreement_says_in_how_many_bits() -> None:
    error = bitline.DisagreementError("two plans differ", 3)
    assert isinstance(error, bitline.WrongResultError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.differing_bits) == ("two plans differ", 3)


def test_groups_have_homes(drive: Drive) -> None:
    """Four dies: two channels of two."""
    rows = np.random.default_rng(9).random((3, 100_000)) < 0.5
    [a] = drive.group("everywhere").write(rows[:1])
    narrow = drive.group("narrow", first_die=3, dies=2)
    assert narrow.home == (3, 2)
    [b] = narrow.write(rows[1:2])
    [c] = drive.group("turned", first_die=1).write(rows[2:])
    assert [drive.group(name).home for name in ("everywhere", "narrow", "turned")] == [(0, 0), (3, 2), (1, 0)]
    for platform in bitline.PLATFORMS:
        np.testing.assert_array_equal((a & ~(b ^ c)).read(platform), rows[0] & ~(rows[1] ^ rows[2]))
    told = (a & b).explain("flash-cosmos")
    homes = told.splitlines()[0].removeprefix("operands on ").split("; ")
    assert sorted(homes) == ["2 dies from 3 on", "all dies"]
    assert "controller plan: about" in told
    assert "gather plan on" in told
    # Asked for without a home, or with the same, it is the same group.
    drive.group("narrow").write(rows[:1])
    drive.group("narrow", first_die=3, dies=2).write(rows[:1])
    with pytest.raises(UsageError, match="lies on 2 dies from die 3 on, not on all dies from die 3 on"):
        drive.group("narrow", first_die=3).write(rows[:1])
    for wrong in [{"first_die": 4}, {"first_die": -1}, {"dies": 0}, {"dies": 5}]:
        with pytest.raises(UsageError, match=r"this drive has|it must be"):
            drive.group("no", **wrong)
    drive.power_cut()
    drive.power_up()
    assert drive.group("narrow").home == (3, 2)


def test_how_vectors_of_different_homes_meet_can_be_chosen() -> None:
    rows = np.random.default_rng(10).random((2, 100_000)) < 0.5
    for route, gathers in [("controller", 0), ("gather", 1)]:
        with bitline.open(set={**SMALL, "bits.route": route}) as drive:
            [a] = drive.group("0").write(rows[:1])
            [b] = drive.group("1", first_die=1).write(rows[1:])
            np.testing.assert_array_equal((a & b).read("flash-cosmos"), rows[0] & rows[1])
            assert drive.statistics.bits.gathers == gathers
    with pytest.raises(bitline.ConfigError, match=r"bits\.route"):
        bitline.open(set={**SMALL, "bits.route": "somehow"})


def test_a_vector_that_is_not_there_is_told_with_those_that_are(drive: Drive) -> None:
    group = drive.group("few").write([b"abc", b"def"], names=["old", "new"])
    assert len(group) == 2
    with pytest.raises(KeyError, match="no vector 'gone'; it has old, new"):
        drive.groups["few"]["gone"]
    many = drive.group("many")
    many.write([b"abc"] * 20)
    with pytest.raises(KeyError, match=r"no vector 20; it has 0, 1, .*, 11, \.\.\.\"$"):
        many[20]
