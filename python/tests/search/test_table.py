"""Tables whose rows the drive finds, held against PyArrow's filters and SQL's three values."""

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fake_search import FakeFiles, FakeSearch

from bitline.errors import UsageError
from bitline.search import Searches
from bitline.search.store import Context
from bitline.search.table import Table

D = decimal.Decimal
ROWS = 700


def column(draw: random.Random, values: list[Any], kind: pa.DataType, *, nulls: bool = True) -> pa.Array:
    drawn = draw.choices([*values, None] if nulls else values, k=ROWS)
    return pa.array(drawn, kind)


def data(seed: int = 1) -> pa.Table:
    """A column of each kind, of few values so that conditions meet, the ends of types among them."""
    draw = random.Random(seed)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days) for days in range(-400, 400, 37)]
    times = [datetime.datetime.combine(day, datetime.time(3, 4, 5, 6)) for day in days]
    words = ["", "a", "ab", "abc", "abd", "b", "zebra", "é", "a long text, longer than names", "a loop"]
    columns = {
        "i8": column(draw, [-128, -1, 0, 1, 5, 127], pa.int8()),
        "i32": column(draw, [-(2**31), -7, 0, 3, 8, 1000, 2**31 - 1], pa.int32()),
        "i64": column(draw, [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1], pa.int64()),
        "u16": column(draw, [0, 1, 24, 65535], pa.uint16()),
        "u64": column(draw, [0, 1, 2**63, 2**64 - 1], pa.uint64()),
        "flag": column(draw, [True, False], pa.bool_()),
        "price": column(
            draw, [D("-99.99"), D("0.00"), D("0.05"), D("0.07"), D("12.50")], pa.decimal128(9, 2)
        ),
        "wide": column(draw, [D(10) ** 20, D(-5), D(0)], pa.decimal128(30, 0)),
        "f32": column(draw, [0.0, -0.0, 0.1, -1.5, np.inf, -np.inf, np.nan, 3e38], pa.float32()),
        "f64": column(draw, [0.0, -0.0, 0.1, -1.5, np.inf, -np.inf, np.nan, 1e300], pa.float64()),
        "day": column(draw, days, pa.date32()),
        "at": column(draw, times, pa.timestamp("us")),
        "text": column(draw, words, pa.string()),
        "code": column(draw, ["x", "y", "xy", "q"], pa.large_string()),
        "raw": column(draw, [b"", b"\x00", b"\x00\xff", b"ab"], pa.binary()),
        "kind": column(draw, ["red", "green", "blue", "green-ish"], pa.string()).dictionary_encode(),
        "id": pa.array(range(ROWS), pa.int32()),
    }
    schema = pa.schema([pa.field(name, array.type, name != "id") for name, array in columns.items()])
    return pa.table(list(columns.values()), schema=schema)


INDEXES = [
    "i8",
    ("i32", "day"),
    "i64",
    ("u16", "u64", "flag"),
    ("price", "f32"),
    "f64",
    "at",
    "text",
    ("code", "kind"),
    "raw",
]


def made(table: pa.Table, fake: FakeSearch | None = None, **options: Any) -> Table:  # noqa: ANN401
    sizes: dict[str, Any] = {
        "indexes": INDEXES,
        "capacity": None,
        "text_bytes": {},
        "prefix_bytes": {"text": 4},
        "ranges": {},
        **options,
    }
    fake = fake or FakeSearch()
    return Table.create(Context(fake, FakeFiles(fake)), "t", table, **sizes)


def test_what_was_put_in_comes_out() -> None:
    table = data()
    searched = made(table)
    same(searched.where(), table)
    assert searched.where()["kind"].chunk(0).dictionary.equals(table["kind"].chunk(0).dictionary)
    assert searched.schema == table.schema
    assert len(searched) == ROWS
    assert searched.where(columns=["text", "i8"]).equals(table.select(["text", "i8"]))
    again = Table(searched._store._context, "t")
    same(again.where("id < 20"), table.slice(0, 20))
    assert again.indexes == tuple((each,) if isinstance(each, str) else each for each in INDEXES)


def same(got: pa.Table, expected: pa.Table, text: str = "") -> None:
    """Equal tables, in which what is no number is equal to itself and zeroes have a sign."""
    assert got.schema == expected.schema, text
    assert repr(got.to_pydict()) == repr(expected.to_pydict()), text


def decoded(table: pa.Table) -> pa.Table:
    at = table.column_names.index("kind")
    return table.set_column(at, "kind", table["kind"].cast(pa.string()))


#: Conditions, and the same of PyArrow.
F = pc.field
CONDITIONS: list[tuple[str, pc.Expression, bool]] = [
    ("i8 = 5", F("i8") == 5, True),
    ("5 <= i8", F("i8") >= 5, True),
    ("i8 <> 5", F("i8") != 5, True),
    ("not i8 = 5", ~(F("i8") == 5), True),
    ("i32 < 4", F("i32") < 4, True),
    ("i32 > 2.5", F("i32") >= 3, True),
    ("i32 between -7 and 8", (F("i32") >= -7) & (F("i32") <= 8), True),
    ("i32 not between -7 and 8", ~((F("i32") >= -7) & (F("i32") <= 8)), True),
    ("i32 in (3, 8, 9)", F("i32").isin([3, 8, 9]), True),
    ("u64 = 18446744073709551615", F("u64") == pa.scalar(2**64 - 1, pa.uint64()), True),
    ("i64 = 9007199254740993", F("i64") == 2**53 + 1, True),
    ("flag", F("flag"), True),
    ("not flag", ~F("flag"), True),
    ("price < 0.06", F("price") < D("0.06"), True),
    ("price = 0.05 or price = 12.5", F("price").isin([D("0.05"), D("12.50")]), True),
    ("price >= 0.0500000000001", F("price") >= D("0.06"), True),
    ("f32 = 0", F("f32") == 0.0, True),
    ("f32 = 0.1", F("f32") == 0.1, True),
    ("f32 < 0.1", F("f32") < 0.1, True),
    ("not f32 < 0.1", ~(F("f32") < 0.1), True),
    ("f64 > -1.5", F("f64") > -1.5, True),
    ("f64 <> 0.1", F("f64") != 0.1, True),
    ("f64 >= 0.0", F("f64") >= 0.0, True),
    ("day >= date '2020-01-01' and day < '2020-06-01'",
     (F("day") >= datetime.date(2020, 1, 1)) & (F("day") < datetime.date(2020, 6, 1)), True),
    ("at < timestamp '2019-11-01 12:00:00'", F("at") < datetime.datetime(2019, 11, 1, 12), True),
    ("at < date '2019-11-01'", F("at") < datetime.datetime(2019, 11, 1), True),
    ("text = 'abc'", F("text") == "abc", False),
    ("text >= 'a long text'", F("text") >= "a long text", False),
    ("not text < 'b'", ~(F("text") < "b"), False),
    ("text like 'ab%'", pc.starts_with(F("text"), "ab"), False),
    ("text like 'a long%'", pc.starts_with(F("text"), "a long"), False),
    ("text like '%e%'", pc.match_like(F("text"), "%e%"), False),
    ("text like 'ab_'", pc.match_like(F("text"), "ab_"), False),
    ("not text like 'a%'", ~pc.starts_with(F("text"), "a"), False),
    ("not text like 'a long%'", ~pc.starts_with(F("text"), "a long"), False),
    ("not text in ('a loop', 'b')", F("text").is_valid() & ~F("text").isin(["a loop", "b"]), False),
    ("code = 'x'", F("code") == "x", True),
    ("code > 'x'", F("code") > "x", True),
    ("code like 'x%'", pc.match_like(F("code"), "x%"), True),
    ("code in ('x', 'nothing', 'longer than any')", F("code").isin(["x"]), True),
    ("kind = 'green'", F("kind") == "green", True),
    ("kind >= 'green'", F("kind") >= "green", True),
    ("kind like '%ee%'", pc.match_like(F("kind"), "%ee%"), True),
    ("i8 is null", F("i8").is_null(), True),
    ("i8 is not null and kind is null", F("i8").is_valid() & F("kind").is_null(), True),
    ("i8 = 5 or i32 = 3", (F("i8") == 5) | (F("i32") == 3), True),
    ("not (i8 = 5 or i32 = 3)", ~((F("i8") == 5) | (F("i32") == 3)), True),
    ("i8 = 5 and (flag or u16 > 20) and day < date '2020-01-01'",
     (F("i8") == 5) & (F("flag") | (F("u16") > 20)) & (F("day") < datetime.date(2020, 1, 1)), True),
    ("id < 100", F("id") < 100, False),
    ("i8 = 5 and id < 100", (F("i8") == 5) & (F("id") < 100), False),
    ("i8 = 5 or id < 100", (F("i8") == 5) | (F("id") < 100), False),
    ("wide > 0", F("wide") > D(0), False),
    ("i32 = i64", F("i32").cast(pa.int64()) == F("i64"), False),
    ("i8 > 300", F("i8") > 300, True),
    ("i8 < 300 and i8 > -300", (F("i8") < 300) & (F("i8") > -300), True),
    ("i8 = null", F("i8") == pa.scalar(None, pa.int8()), True),
    ("i8 in (5, null)", F("i8").isin([5]), True),
    ("not i8 in (5, null)", (F("i8") == 5) & (F("i8") != 5), True),
    ("true", pc.scalar(True), True),
    ("i8 = 5 and false", (F("i8") == 5) & False, True),
    ("\"i8\" = -1", F("i8") == -1, True),
]  # fmt: skip


@pytest.mark.parametrize("false_positives", [0.0, 0.1])
def test_conditions_are_those_of_pyarrow(false_positives: float) -> None:
    table = data()
    searched = made(table, FakeSearch(false_positives))
    searched.terms_max = 1024
    plain = decoded(table)
    for text, expression, is_exact in CONDITIONS:
        expected = plain.filter(expression)
        got = searched.where(text)
        same(decoded(got), expected, text)
        assert got.schema == table.schema
        same(searched.where(expression), got, text)
        assert searched.count(text) == expected.num_rows
        if not false_positives:
            assert searched._plan(searched.asked(text).condition).exact == is_exact, text
        if not false_positives and is_exact:
            assert searched.count(text, check=False) == expected.num_rows, text


@pytest.mark.parametrize(
    "expression",
    [
        # PyArrow makes floats of decimals, and these are not what was written.
        F("price") == 0.07,
        F("price") >= 0.07,
        F("price").isin([D("0.07"), D("0.05")]),
        F("i8").isin([5, None]),
        F("f64").isin([float("nan"), 0.1]),
        F("f32") > 0,
        pc.is_null(F("f32"), nan_is_null=True),
        pc.is_nan(F("f64")),
        ~pc.is_nan(F("f64")),
        pc.if_else(F("flag"), F("i8") == 5, F("i32") == 3),
        (F("u16").cast(pa.int64()) + 1) == 25,
        pc.starts_with(F("code"), "%"),
        pc.match_like(F("code"), "X", ignore_case=True),
        F("at") > pa.scalar(1_577_836_800_000_000_000, pa.timestamp("ns")),
        F("u16") == pa.scalar(24, pa.uint64()),
        pc.xor(F("flag"), F("i8") == 5),
    ],
    ids=str,
)
def test_expressions_are_what_pyarrow_makes_of_them(expression: pc.Expression) -> None:
    plain = decoded(data())
    same(decoded(made(data()).where(expression)), plain.filter(expression))


def random_condition(draw: random.Random, depth: int = 0) -> str:
    """A condition with nulls, negations and everything in it."""
    if depth < 3 and draw.random() < 0.6:
        if draw.random() < 0.3:
            return f"not ({random_condition(draw, depth + 1)})"
        inner = [random_condition(draw, depth + 1) for _ in range(draw.randint(2, 3))]
        return f" {draw.choice(['and', 'or'])} ".join(f"({each})" for each in inner)
    comparison = draw.choice(["=", "<>", "<", "<=", ">", ">="])
    leaf = draw.choice([text for text, *_ in CONDITIONS])
    return draw.choice([
        leaf,
        f"i8 {comparison} {draw.randint(-3, 6)}",
        f"i32 {comparison} {draw.choice([-7, 0, 3.5, 8, 5000000000])}",
        f"price {comparison} {draw.choice(['0.05', '0.051', '-100', '12.5'])}",
        f"day {comparison} '2020-0{draw.randint(1, 9)}-15'",
        f"text {comparison} '{draw.choice(['', 'ab', 'abcd', 'b', 'zz'])}'",
        f"code {comparison} '{draw.choice(['', 'x', 'xy', 'y'])}'",
        f"f64 {comparison} {draw.choice(['0', '0.1', '-1e300', '2'])}",
        f"kind {comparison} 'green'",
        f"u16 in ({draw.randint(0, 2)}, {draw.choice(['24', 'null'])})",
    ])  # fmt: skip


@pytest.mark.parametrize("terms_max", [1, 5, 256])
def test_random_conditions_find_what_they_mean(terms_max: int) -> None:
    table = data(3)
    searched = made(table, FakeSearch(0.01))
    searched.terms_max = terms_max
    draw = random.Random(terms_max)
    for _ in range(120):
        text = random_condition(draw)
        got = searched.where(text, ["id"])
        condition = searched.asked(text)
        # PyArrow on all rows, which no search has chosen from.
        expected = condition.finish(decoded(table)).select(["id"])
        assert got.equals(expected), text
        assert searched._plan(condition.condition).terms <= max(terms_max, len(searched.indexes))


def test_what_is_found_exactly_is_what_is_meant() -> None:
    """A plan that says it is exact lets the drive count: of random conditions, too."""
    table = data(4)
    searched = made(table)
    draw = random.Random(9)
    exact = 0
    for _ in range(150):
        text = random_condition(draw)
        if searched._plan(searched.asked(text).condition).exact:
            exact += 1
            expected = searched.asked(text).finish(decoded(table)).num_rows
            assert searched.count(text, check=False) == expected, text
    assert exact > 30


def test_only_what_is_wanted_is_sent() -> None:
    fake = FakeSearch()
    searched = made(data(), fake)
    fake.asked.clear()
    searched.where("i8 = 5", ["u16"])
    [(what, _, groups, parts)] = fake.asked
    assert what == "lookup"
    # The bit that a value is given and the eight of the value, most significant first: 1, then 5 + 128.
    assert groups == [[(0, 9, bytes([0b01000011, 0b1]), bytes([0xFF, 1]))]]
    # Two bytes of which columns are given, i8 behind them, and u16.
    assert parts == [(0, 3), (15, 2)]


def test_columns_fused_into_one_name_are_one_pattern() -> None:
    fake = FakeSearch()
    searched = made(data(), fake)
    fake.asked.clear()
    searched.where("i32 = 3 and day = date '2020-01-01'")
    [(*_, groups, _)] = fake.asked
    assert [[region for region, *_ in group] for group in groups] == [[1]]
    searched.where("i32 = 3 and i8 = 5")
    assert [[region for region, *_ in group] for group in fake.asked[-1][2]] == [[0, 1]]


def test_explain_says_what_is_pushed() -> None:
    searched = made(data())
    told = searched.explain("i8 = 5 and i32 = 3 and id < 7", ["u16"])
    assert told == (
        "condition: (i8 = 5) and (i32 = 3) and (id < 7)\n"
        "drive: 2 patterns in 1 group on index 0 (i8); index 1 (i32, day): more than is meant\n"
        "returned: 13 of 127 bytes of each row\n"
        "host, what names do not tell: id < 7\n"
        "estimate for 1 row found: 1.00 µs, 1 pJ"
    )
    assert searched.explain("i8 = 5", rows=12).endswith("\nestimate for 12 rows found: 12.0 µs, 12 pJ")
    assert "drive: nothing, as no row can be meant" in searched.explain("i8 > 300")
    assert "drive: all rows" in searched.explain("id = 3")
    # Whoever is meant, all of them are found.
    assert "\nestimate for all rows: " in searched.explain("id = 3", rows=2)
    assert searched.estimate("id = 3", rows=2) == searched.estimate("id = 3", rows=3)
    dates = searched.explain("day >= '2020-01-01' and code <> 'it''s' and flag")
    assert dates.startswith("condition: (day >= '2020-01-01') and (code <> 'it''s') and (flag = true)")
    assert "\nhost: looks again whether each row is meant\n" in searched.explain("i8 = 5")
    assert searched.estimate("i8 > 300", rows=1) is None
    with pytest.raises(UsageError, match=r"names do not tell all of id = 3"):
        searched.estimate("id = 3", rows=1, count=True)


def test_rows_are_appended_deleted_and_replaced() -> None:
    table = data()
    searched = made(table.slice(0, 300), capacity=2000)
    purple = pa.chunked_array([pa.array(["purple"] * 10).dictionary_encode()])
    with pytest.raises(UsageError, match="'purple' is not in its dictionary"):
        searched.append(table.slice(300, 10).set_column(15, "kind", purple))
    assert searched.append(table.slice(300).select(table.column_names[::-1])) == ROWS - 300
    same(searched.where(), table)
    gone = searched.delete("i8 = 5 or kind is null")
    plain = decoded(table)
    kept = plain.filter(~((F("i8") == 5) & F("i8").is_valid()) | F("i8").is_null()).filter(
        F("kind").is_valid()
    )
    assert gone == ROWS - kept.num_rows
    same(decoded(searched.where()), kept)
    assert searched.replace("u16 = 24", table.slice(0, 2)) == kept.filter(F("u16") == 24).num_rows
    assert len(searched) == kept.filter((F("u16") != 24) | F("u16").is_null()).num_rows + 2
    with pytest.raises(UsageError, match="names do not tell all of id < 3, so no row is deleted"):
        searched.delete("id < 3")


def test_a_table_makes_room_where_rows_were_deleted() -> None:
    fake = FakeSearch()
    rows = pa.table({"a": pa.array(range(10), pa.int32()), "b": [f"{number}" for number in range(10)]})
    table = made(rows, fake, indexes=["a"], prefix_bytes={}, capacity=14)
    table.compact()
    with pytest.raises(UsageError, match=r"'t' has room for 14 rows, 10 of them are taken.*\(capacity=\)"):
        table.append(rows.slice(0, 5))
    assert table.delete("a < 4") == 4
    assert table.append(rows.slice(0, 8)) == 8
    same(table.where(), pa.concat_tables([rows.slice(4), rows.slice(0, 8)]))
    table.delete("a = 9")
    assert table.replace("a = 0", rows.slice(0, 1)) == 1
    with pytest.raises(UsageError, match="'t' has room for 14 rows, 13 of them are taken"):
        table.replace("a = 0", rows.slice(0, 3))
    assert (len(table), fake.names()) == (13, ["t"])


def test_numbers_that_pyarrow_does_not_compare() -> None:
    rows = pa.table(
        {
            "i": pa.array([-1, 5, None, 2**62], pa.int64()),
            "u": pa.array([2**64 - 1, 5, 1, 3], pa.uint64()),
            "h": pa.array([np.float16(1.5), None, np.float16(2), np.float16("nan")], pa.float16()),
        }
    )
    table = made(rows, indexes=["i", "u", "h"], prefix_bytes={})
    assert table.where("i < u", ["i"])["i"].to_pylist() == [-1]
    assert table.where("i = u", ["i"])["i"].to_pylist() == [5]
    assert table.where("h = 1.5", ["i"])["i"].to_pylist() == [-1]
    assert table.where("h in (1.5, 2)", ["i"])["i"].to_pylist() == [-1, None]
    assert table.where("h < 1 or h <> h", ["i"])["i"].to_pylist() == [2**62]


def test_a_parquet_file_and_record_batches_are_tables(tmp_path: Path) -> None:
    table = data().select(["i8", "text", "kind"])
    pq.write_table(table, tmp_path / "t.parquet")
    searched = made(tmp_path / "t.parquet", indexes=["i8"], prefix_bytes={})  # type: ignore[arg-type]
    assert searched.where("i8 = 5").equals(pq.read_table(tmp_path / "t.parquet").filter(F("i8") == 5))
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    same(made(batches, indexes=["i8"], prefix_bytes={}).where(), table)  # type: ignore[arg-type]


def test_patterns_of_long_names_are_fewer() -> None:
    texts = [f"{number:0900}" for number in range(400)]
    table = pa.table({"t": texts})
    searched = made(table, indexes=["t"], prefix_bytes={"t": 950})
    searched.terms_max = 1024
    some = ", ".join(f"'{text}'" for text in texts[::2])
    assert searched.where(f"t in ({some})").equals(table.take(list(range(0, 400, 2))))


def test_a_range_makes_names_short() -> None:
    table = pa.table(
        {
            "q": pa.array([1, 24, 50], pa.int64()),
            "d": pa.array([D("0.00"), D("0.10"), None], pa.decimal128(12, 2)),
        }
    )
    narrow = {"indexes": [("q", "d")], "prefix_bytes": {}, "ranges": {"q": (1, 50), "d": (D(0), D("0.10"))}}
    fake = FakeSearch()
    searched = made(table, fake, **narrow, capacity=10)
    assert fake.open("t")[2] == [(1 + 6 + 1 + 4, False)]
    assert searched.where("q < 24 and d >= 0").equals(table.slice(0, 1))
    with pytest.raises(UsageError, match="column 'q': 51 is beyond what was said to be its range"):
        searched.append(pa.table({"q": [51], "d": [None]}, schema=table.schema))
    assert len(searched) == 3


def test_a_table_has_its_name_when_all_rows_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class PowerCutError(Exception):
        pass

    def cut(*_: object) -> None:
        raise PowerCutError

    fake = FakeSearch()
    searches = Searches(Context(fake, FakeFiles(fake)))
    monkeypatch.setattr(fake, "append", cut)
    with pytest.raises(PowerCutError):
        made(data(), fake)
    monkeypatch.undo()
    assert list(searches) == []
    assert fake.names() == ["t/making"]
    made(data(), fake)
    assert fake.names() == list(searches) == ["t"]
    same(searches.table("t").where(), data())


def test_a_table_without_rows_is_one() -> None:
    fake = FakeSearch()
    table = made(data(), fake)
    assert table.delete("true") == ROWS
    again = Table(Context(fake), "t")
    assert len(again) == again.where().num_rows == 0
    assert again.where().schema == data().schema
    room = {"text": 30, "raw": 2, "code": 2}
    empty = made(data().slice(0, 0), capacity=5, text_bytes=room)
    assert empty.append(data().slice(0, 5)) == 5
    same(empty.where(), data().slice(0, 5))


def test_a_table_that_cannot_be_made_leaves_nothing() -> None:
    fake = FakeSearch()
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False)])
    with pytest.raises(UsageError, match="column 'id' has nulls"):
        made(
            pa.Table.from_arrays([pa.array([1, None], pa.int32())], schema=schema),
            fake,
            indexes=["id"],
            prefix_bytes={},
        )
    assert fake.names() == []


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("false_positives", [0.0, 0.1])
def test_floats_in_a_list_are_those_that_equal_one(name: str, false_positives: float) -> None:
    rows = data(4)
    for listed in (["0.0"], ["-0.0", "1e300"], ["0.1", "-1.5"], ["3e38", "1e400"]):
        table = made(rows, FakeSearch(false_positives))
        joined = " or ".join(f"{name} = {each}" for each in listed)
        told = f"{name} in ({', '.join(listed)})"
        for one, other in ((told, joined), (f"not {told}", f"not ({joined})")):
            # Columns with NaN equal nothing.
            assert table.where(one, columns=["id"]).equals(table.where(other, columns=["id"]))
        found = table.where(told).num_rows
        assert table.delete(told) == found
        assert len(table) == ROWS - found


def test_lists_of_floats_are_as_pyarrow_has_them() -> None:
    rows = data(5)
    table = made(rows)
    for name in ("f32", "f64"):
        for listed in ([0.0], [-0.0, 1.0], [0.1, 1e300]):
            for asked in (pc.field(name).isin(listed), ~pc.field(name).isin(listed)):
                assert table.where(asked).num_rows == rows.filter(asked).num_rows


def test_what_compares_with_nothing_is_looked_at_where_it_is_not_wanted() -> None:
    rows = data(6)
    asked = (pc.field("i64") == pa.scalar(None, pa.int64())) | (pc.field("i8") == 5)
    assert made(rows).where(asked, columns=["i8"]).num_rows == rows.filter(asked).num_rows
