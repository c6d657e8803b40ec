"""Parts of bit-sliced columns: ranges over planes, constants, errors, and what is kept on the drive."""

import datetime
import decimal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import ROOMY, SMALL
from numpy.typing import NDArray

import bitline
from bitline import BitExpression, Drive, NvmeError, UsageError
from bitline.columns import BitmapIndex
from bitline.columns.planes import rows_within
from bitline.columns.ranges import complement, holds, union

ROWS = 3000


def _planes(codes: NDArray[np.uint64], count: int) -> Any:  # noqa: ANN401 (arrays of bools combine as vectors do)
    return [(codes >> np.uint64(plane)) & np.uint64(1) == 1 for plane in range(count)]


def test_ranges_of_codes_are_found_in_planes() -> None:
    for last in range(1, 20):
        codes = np.arange(last + 1, dtype=np.uint64)
        planes = _planes(codes, last.bit_length())
        for first in range(last + 1):
            for end in range(first, last + 1):
                for ranges in (((first, end),), complement(((first, end),), last)):
                    expected = [holds(ranges, int(code)) for code in codes]
                    found = np.broadcast_to(rows_within(planes, ranges, last), len(codes))
                    assert found.tolist() == expected, (last, ranges)


@pytest.mark.parametrize("count", [21, 40, 63, 64])
def test_wide_planes_are_taken_in_halves(count: int) -> None:
    random = np.random.default_rng(count)
    last = (1 << count) - 1
    codes = random.integers(0, last, 500, np.uint64, endpoint=True)
    planes = _planes(codes, count)
    for _ in range(30):
        near = [int(codes[at]) + int(random.integers(-1, 2)) for at in random.integers(500, size=6)]
        bounds = sorted(min(max(code, 0), last) for code in near)
        ranges = union(zip(bounds[::2], bounds[1::2], strict=True))
        expected = [holds(ranges, int(code)) for code in codes]
        assert rows_within(planes, ranges, last).tolist() == expected


@pytest.fixture
def drive() -> Iterator[Drive]:
    """One with room for many groups of vectors of some pages."""
    with bitline.open(set=ROOMY) as drive:
        yield drive


@pytest.fixture
def table() -> pa.Table:
    random = np.random.default_rng(3)
    prices = [None if number % 11 == 0 else Decimal(number).scaleb(-2) for number in range(ROWS)]
    return pa.table(
        {
            "colour": pa.DictionaryArray.from_arrays(
                random.integers(4, size=ROWS), ["red", "green", "blue", "grey"]
            ),
            "age": pa.array(random.integers(100, size=ROWS), pa.int8()),
            "price": pa.array(prices, pa.decimal128(10, 2)),
            "sold": random.random(ROWS) < 0.5,
            "key": pa.array(random.integers(-(1 << 63), (1 << 63) - 1, ROWS)),
        }
    )


@pytest.fixture
def index(drive: Drive, table: pa.Table) -> BitmapIndex:
    return drive.bitmap_index(table, name="sales")


def test_columns_are_kept_as_their_values_suggest(drive: Drive, index: BitmapIndex, table: pa.Table) -> None:
    assert {name: (column.encoding, len(column.vectors)) for name, column in index.items()} == {
        "colour": ("bitmap", 4),
        "age": ("planes", 7),
        "price": ("planes", 12),
        "sold": ("planes", 1),
        "key": ("planes", 64),
    }
    other = drive.bitmap_index(
        table.select(["age", "colour"]), encoding={"age": "bitmap", "colour": "planes"}
    )
    assert [(column.encoding, len(column.vectors)) for column in other.values()] == [
        ("bitmap", 100),
        ("planes", 2),
    ]
    ages, colours = table["age"].to_numpy(), table["colour"].to_pylist()
    chosen = (other["age"] >= 40) & (other["colour"] > "green")
    assert np.array_equal(chosen.read(), (ages >= 40) & np.isin(colours, ["grey", "red"]))


def test_a_comparison_names_each_plane_once(index: BitmapIndex) -> None:
    for constant in range(1, 100):
        bits = (index["age"] < constant).bits()
        assert isinstance(bits, BitExpression)
        assert bits._node.operand_count <= 7


def test_what_is_known_beforehand_asks_the_drive_nothing(drive: Drive, index: BitmapIndex) -> None:
    before = drive.now
    age, key = index["age"], index["key"]
    for everything in (
        age < 1000,
        age >= -5,
        age != 1000,
        age < float("inf"),
        ~age.isin([]),
        age.between(-1, 1 << 70),
    ):
        assert (everything.count(), everything.read().all()) == (ROWS, True)
    for nothing in (
        age < 0,
        age == 29.5,
        age > Decimal(1000),
        age.between(30, 29),
        index["colour"] == "pink",
    ):
        assert (nothing.count(), nothing.mask().true_count) == (0, 0)
    assert ((age < 1000) & (key > 1 << 65)).explain().endswith("no row, which the drive is not asked for")
    assert index["age"].count() == ROWS
    assert drive.now == before
    assert ((age < 1000) & (age < 30)).count() == (age < 30).count() > 0


def test_constants_between_values_are_compared_exactly(index: BitmapIndex) -> None:
    age, price = index["age"], index["price"]
    assert (age < 29.5).count() == (age <= 29).count() == (age < 30).count()
    assert (price <= decimal.Decimal("9.999")).count() == (price < 10).count() == (price < 10.0).count()
    assert (age > np.int8(50)).count() == (age > pa.scalar(50)).count() == (age >= 51).count()


def test_nulls_are_neither_true_nor_false(index: BitmapIndex, table: pa.Table) -> None:
    price, nulls = index["price"], table["price"].null_count
    below = price < 5
    assert below.count() + (~below).count() + nulls == ROWS
    assert price.is_null().count() == nulls
    assert (~price.is_null()).count() == price.count() == ROWS - nulls
    assert (below | ~below | price.is_null()).count() == ROWS
    assert (below & price.is_null()).count() == 0
    assert ((price != 5) & (price >= 0)).count() == ROWS - nulls - 1


def test_sums_are_exact(index: BitmapIndex, table: pa.Table) -> None:
    keys, ages = table["key"].to_pylist(), table["age"].to_numpy()
    assert index["key"].sum() == sum(keys)
    assert index["key"].sum(index["age"] < 30) == sum(
        key for key, age in zip(keys, ages, strict=True) if age < 30
    )
    assert index["age"].mean(index["sold"] == True) == ages[table["sold"].to_numpy()].mean()  # noqa: E712
    assert index["price"].mean(index["price"] <= Decimal("0.02")) == Decimal("0.015")
    assert index["price"].sum(index["price"].is_null()) is None
    assert (index["key"].min(), index["key"].max()) == (min(keys), max(keys))
    with pytest.raises(TypeError, match="column 'colour' is of string, whose values have no sum"):
        index["colour"].sum()


def test_counts_of_a_sum_are_in_flight_together() -> None:
    random = np.random.default_rng(5)
    with bitline.open() as drive:
        # Of eight pages on a drive of many dies.
        index = drive.bitmap_index(
            pa.table({"age": pa.array(random.integers(100, size=1_000_000), pa.int8())})
        )
        young = index["age"] < 30
        rows = young.bits()
        assert isinstance(rows, BitExpression)
        begin = drive.now
        for each in [rows, *(plane & rows for plane in index["age"].vectors)]:
            each.count()
        one_by_one = drive.now - begin
        begin = drive.now
        index["age"].sum(young)
        assert drive.now - begin < 0.9 * one_by_one


@pytest.mark.parametrize("platform", bitline.PLATFORMS)
def test_rows_are_taken_on_any_platform(
    index: BitmapIndex, table: pa.Table, platform: bitline.Platform
) -> None:
    young = (index["age"] < 30) & index["colour"].isin(["red", "blue"])
    rows = young.take(table, platform)
    assert rows.num_rows == young.count(platform) > 0
    assert set(rows["colour"].unique().to_pylist()) == {"red", "blue"}
    assert "age < 30" in young.explain(platform)


def test_another_process_opens_it_by_name(tmp_path: Path, table: pa.Table) -> None:
    image = tmp_path / "drive.img"
    with bitline.open(path=image, set=ROOMY) as drive:
        index = drive.bitmap_index(table, name="sales")
        asked = index["price"].sum((index["colour"] == "red") & ~(index["age"] >= 50))
    program = (
        "import sys, bitline\n"
        "with bitline.open(path=sys.argv[1]) as drive:\n"
        "    index = drive.bitmap_index(name='sales')\n"
        "    red = (index['colour'] == 'red') & ~(index['age'] >= 50)\n"
        "    print(index['price'].sum(red), index['age'].max())\n"
    )
    done = subprocess.run([sys.executable, "-c", program, image], capture_output=True, text=True)
    assert (done.stderr, done.stdout.split()) == ("", [str(asked), "99"])


def test_an_index_is_deleted_and_made_again(drive: Drive, index: BitmapIndex, table: pa.Table) -> None:
    with pytest.raises(UsageError, match="the drive has an index 'sales'"):
        drive.bitmap_index(table, name="sales")
    index.delete()
    assert (len(drive.groups), list(drive.volume)) == (0, [])
    with pytest.raises(UsageError, match="the drive has no index 'sales'"):
        drive.bitmap_index(name="sales")
    assert drive.bitmap_index(table, name="sales").rows == ROWS


def test_what_was_not_finished_is_made_again(
    drive: Drive, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = bitline.Group.write

    def failing(self: bitline.Group, vectors: Any, **how: Any) -> Any:  # noqa: ANN401 (as the one it replaces)
        written.append(self.name)
        if len(written) == 3:
            raise KeyboardInterrupt
        return write(self, vectors, **how)

    with monkeypatch.context() as patch:
        patch.setattr(bitline.Group, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            drive.bitmap_index(table)
    assert len(drive.groups) == 2
    with pytest.raises(UsageError, match="index 'index' was not finished: make it again"):
        drive.bitmap_index()
    assert (drive.bitmap_index(table)["age"] < 30).count() == (table["age"].to_numpy() < 30).sum()


def test_an_index_takes_no_group_of_others_for_its_own(drive: Drive, index: BitmapIndex) -> None:
    ages = index["age"].count()
    zeroes, ones = np.zeros(ROWS, bool), np.ones(ROWS, bool)
    # Named as the vector of rows that have an age would be, if some had none.
    drive.group("sales?age").write([zeroes], inverse=True, names=["not null"])
    total = index["age"].sum()
    drive.group("sales/age").write([ones])
    again = drive.bitmap_index(name="sales")
    assert (again["age"].count(), again["age"].sum()) == (ages, total)
    drive.group("sales/price").delete()
    drive.group("sales/price").write([ones], inverse=True)
    with pytest.raises(
        UsageError, match="group 'sales/price' is not as index 'sales' has written it: make it"
    ):
        drive.bitmap_index(name="sales")
    again.delete()
    assert [group.name for group in drive.groups] == ["sales/price", "sales?age"]
    with pytest.raises(UsageError, match="no index 'sales' any more"):
        again.delete()
    assert list(drive.volume) == []


@pytest.mark.parametrize("first", ["a/b", "a"])
def test_no_two_indexes_share_a_group(drive: Drive, first: str) -> None:
    some = pa.array([number % 7 if number % 3 else None for number in range(ROWS)])
    tables = {"a/b": pa.table({"c": some}), "a": pa.table({"b/c": some, "b?c": some})}
    second = next(name for name in tables if name != first)
    made = drive.bitmap_index(tables[first], name=first)
    with pytest.raises(UsageError, match=r"the drive has a group 'a/b[/?]c', which the index would write"):
        drive.bitmap_index(tables[second], name=second)
    expected = sum(number % 7 < 3 for number in range(ROWS) if number % 3)
    column = tables[first].column_names[0]
    assert (drive.bitmap_index(name=first)[column] < 3).count() == expected
    assert (made[column] < 3).count() == expected


def test_indexes_whose_groups_differ_live_side_by_side(drive: Drive) -> None:
    rest = np.arange(ROWS) % 10
    one = drive.bitmap_index(pa.table({"c": rest}), name="a/b")
    other = drive.bitmap_index(pa.table({"b?c": np.arange(ROWS) % 7}), name="a")
    again = drive.bitmap_index(name="a/b")
    assert (again["c"].count(), (again["c"] < 10).count()) == (ROWS, ROWS)
    one.delete()
    assert (drive.bitmap_index(name="a")["b?c"] < 3).count() == (np.arange(ROWS) % 7 < 3).sum()
    assert other.rows == ROWS


def test_what_an_unfinished_index_is_to_write_nobody_else_does(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bitline.Group, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            drive.bitmap_index(pa.table({"b/c": np.arange(ROWS) % 3}), name="a")
    with pytest.raises(UsageError, match="group 'a/b/c', which the index would write, is of index 'a'"):
        drive.bitmap_index(pa.table({"c": np.arange(ROWS) % 3}), name="a/b")
    drive.group("a/b/c").write([np.ones(ROWS, bool)])
    with pytest.raises(UsageError, match="the drive has a group 'a/b/c'"):
        drive.bitmap_index(pa.table({"b/c": np.arange(ROWS) % 3}), name="a")
    assert [group.name for group in drive.groups] == ["a/b/c"]


def test_what_does_not_fit_leaves_nothing(table: pa.Table) -> None:
    with bitline.open(set=SMALL) as drive:
        with pytest.raises(NvmeError, match="group 'index/key'"):
            drive.bitmap_index(table)
        assert (len(drive.groups), list(drive.volume)) == (0, [])


def test_columns_without_values_or_with_one(drive: Drive) -> None:
    table = pa.table({"none": pa.array([None] * 9, pa.int32()), "same": [5] * 9, "some": [7, None, 7] * 3})
    for encoding in ("bitmap", "planes"):
        index = drive.bitmap_index(table, name=encoding, encoding=dict.fromkeys(table.column_names, encoding))
        none, same, some = index.values()
        assert ((none == 1).count(), (none != 1).count(), none.is_null().count()) == (0, 0, 9)
        assert (none.sum(), none.min(), none.count()) == (None, None, 0)
        assert ((same == 5).count(), (same < 5).count(), same.sum(), same.max()) == (9, 0, 45, 5)
        assert ((some == 7).count(), (~(some == 7)).count(), some.is_null().count()) == (6, 0, 3)
        assert (some.sum(), some.mean(some.is_null()), some.min()) == (42, None, 7)


def test_nanoseconds_and_time_zones_are_kept(drive: Drive) -> None:
    instants = np.asarray([1, 2_000, 3_000_000_001], "datetime64[ns]")
    aware = pa.array([0, 90, 3600], pa.timestamp("s", "Europe/Berlin"))
    index = drive.bitmap_index(pa.table({"at": instants, "aware": aware}))
    assert index["at"].min() == instants[0]
    assert (index["at"] <= instants[1]).count() == 2
    assert (index["at"] < datetime.datetime(1970, 1, 1, 0, 0, 3)).count() == 2
    noon = datetime.datetime(1970, 1, 1, 0, 1, 30, tzinfo=datetime.UTC)
    assert (index["aware"] >= noon).read().tolist() == [False, True, True]
    assert index["aware"].max() == datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.UTC)
    with pytest.raises(TypeError, match=r"give a datetime.datetime with a time zone"):
        _ = index["aware"] > datetime.datetime(1970, 1, 1)


def test_decimals_beyond_any_number_are_compared(drive: Drive) -> None:
    cents = pa.array([Decimal("-0.01"), Decimal("0.00"), Decimal("0.01")], pa.decimal128(4, 2))
    index = drive.bitmap_index(pa.table({"x": [-1, 0, 1], "cents": cents}))
    huge, tiny = Decimal("1e999999999"), Decimal("1e-999999999")
    for column in index.values():
        assert [(column < each).count() for each in (huge, huge.copy_negate(), tiny, tiny.copy_negate())] == [
            3,
            0,
            2,
            1,
        ]
        assert [(column == each).count() for each in (huge, tiny, Decimal("0e999999999"))] == [0, 0, 1]
        for none in ("sNaN", "NaN", "-sNaN"):
            with pytest.raises(
                TypeError, match=f"is compared with Decimal\\('{none}'\\), a Decimal; give a number"
            ):
                _ = column < Decimal(none)


def test_values_that_python_does_not_have_are_numpys(drive: Drive) -> None:
    far = [-(1 << 62), 1 << 62]
    columns = {
        "instant": (pa.array(far, pa.timestamp("s")), np.datetime64),
        "aware": (pa.array(far, pa.timestamp("s", "Europe/Berlin")), np.datetime64),
        "span": (pa.array(far, pa.duration("s")), np.timedelta64),
        "time": (pa.array([-1, 90_000], pa.int32()).view(pa.time32("s")), np.timedelta64),
        "date": (pa.array([-(1 << 31), (1 << 31) - 1], pa.date32()), np.datetime64),
    }
    index = drive.bitmap_index(pa.table({name: column for name, (column, _) in columns.items()}))
    for name, (column, kind) in columns.items():
        numbers = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist()
        found = (index[name].min(), index[name].max())
        assert [type(each) for each in found] == [kind, kind], name
        assert [int(each.astype(np.int64)) for each in found] == numbers, name
        assert np.datetime_data(found[0].dtype)[0] == ("D" if name == "date" else "s")
    assert (index["date"] == index["date"].max()).count() == 1
    ends = drive.bitmap_index(pa.table({"end": pa.array([-(1 << 63), 0], pa.timestamp("ns"))}), name="ends")
    with pytest.raises(
        UsageError, match=r"column 'end': -9223372036854775808 ns are more than 64 bits hold, or no"
    ):
        ends["end"].min()
    sums = drive.bitmap_index(pa.table({"span": pa.array([1 << 62] * 4, pa.duration("s"))}), name="sums")
    with pytest.raises(UsageError, match=r"column 'span': 18446744073709551616 s are more than 64 bits hold"):
        sums["span"].sum()
    nowhere = pa.array([0, 10**9], pa.timestamp("s", "No/Where"))
    index = drive.bitmap_index(pa.table({"at": nowhere}), name="nowhere")
    with pytest.raises(
        UsageError, match=r"column 'at' is of timestamp\[s, tz=No/Where\], a time zone that is not"
    ):
        index["at"].max()


def test_dictionaries_with_nulls_come_in_chunks(drive: Drive) -> None:
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int8()), ["x", None, "y"])
    second = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["z"])
    column = drive.bitmap_index(pa.table({"x": pa.chunked_array([first, second, first])}))["x"]
    assert [(column == each).count() for each in "xyz"] == [2, 2, 1]
    assert (column.count(), column.is_null().count()) == (5, 4)
    instants = pa.array([1, 2, None], pa.timestamp("s"))
    stamps = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), instants)
    column = drive.bitmap_index(pa.table({"x": pa.chunked_array([stamps, stamps])}), name="stamps")["x"]
    assert (column.count(), column.is_null().count()) == (4, 2)


def test_errors_name_the_column(drive: Drive, index: BitmapIndex, table: pa.Table) -> None:
    age = index["age"]
    for wrong, message in [
        (lambda: age < "30", "column 'age' of int8 is compared with '30', a str; give a number"),
        (lambda: age == True, "a bool; give a number"),  # noqa: E712
        (lambda: age < index["key"], "columns are compared with constants"),
        (lambda: age.isin("12"), "isin takes a collection of values"),
        (lambda: 1 < age < 5, "combine predicates with & | ~"),
        (lambda: (age < 1) & True, "a predicate is combined with another, not with a bool"),
        (lambda: index["price"].sum(where=index["colour"]), "'colour' of string is no predicate"),
        (lambda: index["price"].sum(where=True), "where is a predicate over columns"),
    ]:
        with pytest.raises(TypeError) as error:
            wrong()
        assert message in str(error.value)
    for refused, message in [
        (lambda: age == None, "column 'age' is compared with None, which is true of no row"),  # noqa: E711
        (lambda: age.between(1, None), "column 'age' is compared with None"),
        (lambda: age.isin([1, None]), "column 'age' is compared with None"),
        (lambda: age.count(platform="gpu"), "platform 'gpu'"),
        (lambda: drive.bitmap_index(table.slice(0, 0), name="empty"), "the table has 0 rows and 5 columns"),
        (
            lambda: drive.bitmap_index(table, name="x", encoding={"agee": "planes"}),
            "encoding names column 'agee'",
        ),
        (
            lambda: drive.bitmap_index(table, name="x", encoding={"age": "rle"}),
            "it must be 'bitmap' or 'planes'",
        ),
        (
            lambda: drive.bitmap_index(pa.table({"f": [0.5]}), name="x"),
            "column 'f' is of double: bit-sliced columns",
        ),
        (lambda: drive.bitmap_index(pa.table({"l": [[1]]}), name="x"), "column 'l' is of list"),
        (lambda: drive.bitmap_index(pa.table([[1], [2]], ["a", "a"]), name="x"), "several columns 'a'"),
    ]:
        with pytest.raises(UsageError) as refusal:
            refused()
        assert message in str(refusal.value)
    wide = pa.table({"wide": pa.array([Decimal(1 << 70)], pa.decimal128(38, 0))})
    with pytest.raises(
        UsageError, match="column 'wide', row 0: 1180591620717411303424 has more digits than 64 bits"
    ):
        drive.bitmap_index(wide, name="x")
    many = pa.table({"many": pa.array(range(5000))})
    with pytest.raises(
        UsageError, match="column 'many' has 5,000 different values; bitmaps are made for at most 4,096"
    ):
        drive.bitmap_index(many, name="x", encoding={"many": "bitmap"})
    drive.volume["notes"] = b"text"
    with pytest.raises(UsageError, match="'notes' on this drive is a file, no index"):
        drive.bitmap_index(name="notes")
    with pytest.raises(UsageError, match="name"):
        drive.bitmap_index(pa.table({"\n": [1, 2, 3]}), name="x")
    drive.group("y/age").write([[True]])
    with pytest.raises(UsageError, match="the drive has a group 'y/age'"):
        drive.bitmap_index(table, name="y")
    assert "x" not in drive.volume
