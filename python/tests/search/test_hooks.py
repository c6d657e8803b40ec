"""SQL of DuckDB and frames of Polars over tables of a drive, held against plain Arrow tables."""

import datetime
import pickle
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_search import FakeSearch
from test_table import data, decoded, made

from bitline.errors import UsageError
from bitline.search import Searches
from bitline.search.table import Table

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: its hook is not tested")
pl: Any = pytest.importorskip("polars", reason="Polars is not installed: its hook is not tested")


@pytest.fixture(scope="module")
def fake() -> FakeSearch:
    return FakeSearch()


@pytest.fixture(scope="module")
def searched(fake: FakeSearch) -> Table:
    return made(data(), fake)


def run(searched: Table, query: Callable[[], Any]) -> Any:  # noqa: ANN401 (whatever an engine gives)
    """As `Searches.run`."""
    return Searches(searched._context).run(query)


#: Queries, and how many patterns the drive is asked at most: 0 where nothing is pushed.
QUERIES = [
    ("select id from t where i8 = 5", 1),
    ("select i8, i32 from t where i32 in (3, 8)", 2),
    ("select id from t where i32 between 0 and 8 and price > 0.05", 256),
    ("select id from t where day >= date '2020-01-01' and kind = 'green'", 64),
    ("select id from t where i8 <> 5 or text = 'abc'", 64),
    ("select id from t where not (i8 = 5 and i32 = 3)", 64),
    ("select id from t where u64 = 18446744073709551615 and u16 > 20", 64),
    ("select id from t where \"at\" < timestamp '2019-11-01 12:00:00'", 64),
    ("select id from t where i8 is null and kind is not null", 2),
    ("select id from t where i8 in (5, 1, 3) or i8 is null", 8),
    ("select kind, count(*) as n, sum(price) as s from t where flag and code = 'x' group by kind", 64),
    ("select count(*) from t where i8 = 5", 1),
    ("select count(*) from t", 0),
    ("select id from t where f64 > 0.05", 0),
    ("select id from t where text like 'ab%'", 0),
    ("select t.id, u.id from t join t as u on t.id = u.id where t.i8 = 5 and u.i32 = 3", 1),
    ("select id, text from t where id < 50 and i8 = 1 order by id desc limit 3", 1),
    ("select * from t where i8 = 127 and f32 = 'nan'", 1),
    ("select id from t where raw = '\\x00'::blob", 1),
    ("select max(id) from t where i64 = 9007199254740993 or i8 + 1 = 6", 64),
]


@pytest.mark.parametrize(("query", "patterns"), QUERIES)
def test_sql_answers_as_over_a_plain_table(
    query: str, patterns: int, searched: Table, fake: FakeSearch
) -> None:
    with duckdb.connect() as connection:
        connection.register("t", decoded(data()))
        expected = connection.sql(query).fetchall()
        connection.register("t", searched.dataset())
        fake.asked.clear()
        got = run(searched, lambda: connection.sql(query).fetchall())
    assert sorted(map(repr, got)) == sorted(map(repr, expected))
    terms = [sum(map(len, groups)) for _, _, groups, _ in fake.asked]
    masks = [any(mask) for _, _, groups, _ in fake.asked for group in groups for *_, mask in group]
    assert any(masks) == bool(patterns), "whether anything was pushed"
    assert max(terms) <= max(patterns, 1)


def test_explain_shows_what_is_pushed_and_counters_what_came_back(searched: Table, fake: FakeSearch) -> None:
    t = searched.dataset()
    with duckdb.connect() as connection:
        connection.register("t", t)
        told = connection.sql("explain select u16 from t where i8 = 5 and kind = 'green'").fetchall()[0][1]
        assert "Filters" in told
        assert "Projections: u16" in told
        counters = searched._context.counters
        before = counters.records, counters.bytes
        fake.asked.clear()
        query = "select u16 from t where i8 = 5 and kind = 'green'"
        rows = run(searched, lambda: connection.sql(query).fetchall())
    [(*_, parts)] = fake.asked
    assert counters.records - before[0] == len(rows) > 0
    assert counters.bytes - before[1] == len(rows) * sum(size for _, size in parts)
    assert sum(size for _, size in parts) < 8, "of 127 bytes of a row"


def test_a_dataset_is_scanned_by_pyarrow_and_has_no_files(searched: Table) -> None:
    dataset = searched.dataset()
    expected = decoded(data()).filter(pc.field("i8") == 5)
    assert dataset.to_table(columns=["id"], filter=pc.field("i8") == 5).equals(expected.select(["id"]))
    assert dataset.count_rows(filter=pc.field("i8") == 5) == expected.num_rows
    assert dataset.schema == expected.schema
    for ask in (dataset.get_fragments, lambda: dataset.partition_expression, lambda: pickle.dumps(dataset)):
        with pytest.raises(TypeError, match="no such thing"):
            ask()
    with pytest.raises(TypeError, match="columns are a list of names"):
        dataset.scanner(columns={"a": pc.field("id")})


def frames(searched: Table) -> tuple[Any, Any]:
    return searched.lazy(), pl.from_arrow(decoded(data())).lazy()


def polars_predicates() -> list[tuple[Any, bool]]:
    """Predicates, and whether anything of them is pushed."""
    col = pl.col
    return [
        (col("i8") == 5, True),
        (5 >= col("i8"), True),  # noqa: SIM300
        (col("i32").is_in([3, 8, None]), True),
        (~col("i32").is_in([3, 8]), True),
        (col("i32").is_in([3, 8, None], nulls_equal=True), True),
        (~col("i32").is_in([3, 8], nulls_equal=True), True),
        (~col("i8").is_in([5, None], nulls_equal=True), True),
        (col("i8").is_in([5, 1], nulls_equal=True) | col("flag"), True),
        (col("text").is_in(["abc", None], nulls_equal=True), True),
        (col("i8").is_in([None], nulls_equal=True), True),
        (col("i32").is_between(-7, 8, closed="left"), True),
        ((col("i8") == 5) | (col("kind") == "green"), True),
        (~((col("i8") == 5) & (col("flag"))), True),
        (col("f32") > 0.1, True),
        (col("f32") == 0.1, True),
        (col("f64") >= 0.0, True),
        (~(col("f64") > 0.0), True),
        (col("f64").is_nan(), True),
        (col("f64") < float("nan"), False),
        (col("i8").is_null() | col("price").is_not_null(), True),
        (col("price") > 0.06, False),
        (col("day") >= datetime.date(2020, 1, 1), True),
        (col("at") < datetime.datetime(2020, 1, 1), True),
        (col("code").str.starts_with("x"), True),
        (col("text").str.ends_with("c"), False),
        (col("u64") == 2**64 - 1, True),
        (col("i64") > 9007199254740993, True),
        (col("i8") + 1 == 6, False),
        (col("flag"), True),
        (col("i8").eq_missing(5), False),
        ((col("i8") == 5) & (col("id") % 2 == 0), True),
    ]


@pytest.mark.parametrize("number", range(len(polars_predicates())))
def test_frames_of_polars_are_those_of_plain_tables(number: int, searched: Table, fake: FakeSearch) -> None:
    predicate, is_pushed = polars_predicates()[number]
    ours, plain = frames(searched)
    fake.asked.clear()
    got = run(searched, ours.filter(predicate).select("id", "text").collect)
    assert got.equals(plain.filter(predicate).select("id", "text").collect())
    masks = [any(mask) for _, _, groups, _ in fake.asked for group in groups for *_, mask in group]
    assert any(masks) == is_pushed


def test_random_predicates_of_polars(searched: Table) -> None:
    draw = random.Random(5)
    leaves = [predicate for predicate, _ in polars_predicates()]
    ours, plain = frames(searched)
    for _ in range(40):
        predicate = draw.choice(leaves)
        for _ in range(draw.randint(1, 3)):
            other = draw.choice(leaves)
            predicate = draw.choice([predicate & other, predicate | other, ~predicate])
        expected = plain.filter(predicate).select("id").collect()
        got = run(searched, ours.filter(predicate).select("id").collect)
        assert got.equals(expected), str(predicate)


def test_polars_groups_joins_and_stops_early(searched: Table) -> None:
    ours, plain = frames(searched)

    def asked(frame: Any) -> Any:  # noqa: ANN401 (a lazy frame)
        found = frame.filter(pl.col("i8") == 5).join(frame, on="id").group_by("kind").agg(pl.len())
        return run(searched, found.sort("kind").collect)

    assert asked(ours).equals(asked(plain))
    assert run(searched, ours.head(3).collect).equals(plain.head(3).collect())
    assert run(searched, ours.filter(pl.col("i8") > 300).collect).shape == (0, 17)
    assert ours.collect_schema() == plain.collect_schema()


def test_without_run_an_engine_is_told_what_to_do(searched: Table) -> None:
    frame = searched.lazy()
    with pytest.raises(Exception, match=r"run the query by drive.search.run\(lambda: ...\)"):
        frame.join(frame, on="id").collect()


def test_a_query_that_fails_or_asks_wrongly(searched: Table) -> None:
    with pytest.raises(ZeroDivisionError):
        run(searched, lambda: 1 // 0)
    with pytest.raises(UsageError, match="a query is run in the thread that opened the drive"):
        run(searched, lambda: run(searched, lambda: 1))
    with pytest.raises(UsageError, match="there is no column 'nothing'"):
        run(searched, lambda: searched.rows(searched.asked("nothing = 1"), None))
    assert run(searched, lambda: searched.rows(searched.asked("id < 3"), ["id"]).num_rows) == 3


def test_an_interrupted_query_ends(searched: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def query() -> None:
        try:
            searched.rows(searched.asked(None), ["id"])
        finally:
            ended.append(True)

    monkeypatch.setattr(searched._context.glue, "lookup", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(searched, query)
    monkeypatch.undo()
    assert ended == [True]
    assert run(searched, lambda: 3) == 3


def test_what_is_missing_is_named(searched: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(Exception, match=r"Table.lazy: needs polars.*bitline\[polars\]"):
        searched.lazy()


def test_a_table_without_columns_wanted_has_its_rows(searched: Table) -> None:
    assert pa.table(searched.dataset().to_table(columns=["id"])).num_rows == 700
