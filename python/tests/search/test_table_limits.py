"""Conditions of thousands of terms, values at the edge of types, and tables that are interrupted."""

import cProfile
import functools
import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_search import FakeFiles, FakeSearch

import bitline
from bitline.columns.ranges import Ranges
from bitline.errors import UsageError
from bitline.search import Searches
from bitline.search.boxes import BOXES_MAX, Cover, either
from bitline.search.store import Context
from bitline.search.table import Table

MANY = 2000


def made(table: pa.Table, context: Context | None = None, **options: Any) -> Table:  # noqa: ANN401
    fake = FakeSearch()
    sizes: dict[str, Any] = {
        "indexes": ["a"],
        "capacity": None,
        "text_bytes": {},
        "prefix_bytes": {},
        "ranges": {},
        **options,
    }
    return Table.create(context or Context(fake, FakeFiles(fake)), "t", table, **sizes)


def plain(rows: int = 50) -> pa.Table:
    return pa.table({"a": range(rows), "b": [row % 7 for row in range(rows)]})


def pairs(column: Callable[[str], Any], many: int = MANY) -> Any:  # noqa: ANN401 (an expression)
    """That a row is one of many, each AND within an OR within an OR."""
    terms = [(column("a") == each) & (column("b") == each % 7) for each in range(many)]
    return functools.reduce(operator.or_, terms)


def test_thousands_of_terms_of_pyarrow() -> None:
    searched, condition = made(plain()), pairs(pc.field)
    assert searched.where(condition).equals(plain())
    assert searched.dataset().to_table(filter=condition).equals(plain())
    differs = functools.reduce(operator.and_, (pc.field("a") != each for each in range(MANY)))
    assert searched.where(differs).num_rows == 0


def test_what_is_deeper_than_is_understood_pyarrow_finishes() -> None:
    condition = functools.reduce(lambda inner, _: ~inner, range(MANY), pc.field("a") == 3)
    assert made(plain()).where(condition)["a"].to_pylist() == [3]


def test_thousands_of_terms_of_polars() -> None:
    pl: Any = pytest.importorskip("polars", reason="Polars is not installed: its hook is not tested")
    searched = made(plain())
    frame = searched.lazy().filter(pairs(pl.col, 500))
    found = Searches(searched._context).run(frame.collect)
    assert found.to_arrow()["a"].to_pylist() == list(range(50))


def test_thousands_of_terms_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: its hook is not tested")
    searched, connection = made(plain()), duckdb.connect()
    connection.register("t", searched.dataset())
    terms = " or ".join(f"(a = {each} and b = {each % 7})" for each in range(500))
    query = f"select count(*) from t where {terms}"
    assert Searches(searched._context).run(lambda: connection.sql(query).fetchall()) == [(50,)]


def test_thousands_of_signs() -> None:
    searched = made(plain())
    assert searched.count(f"a = {'-' * MANY}7") == 1
    assert searched.count(f"a = {'-' * (MANY + 1)}7") == 0


@pytest.mark.parametrize("is_text", [False, True])
def test_a_long_list_takes_few_calls_a_value(is_text: bool) -> None:
    searched = made(plain())
    text = f"a in ({', '.join(map(str, range(MANY)))})"
    asked = text if is_text else pc.field("a").isin(list(range(MANY)))
    profile = cProfile.Profile()
    profile.runcall(lambda: searched.asked(asked).condition.cover(searched._layout, True))
    # It was 90 when each value made a field of its own.
    assert sum(each.callcount for each in profile.getstats()) < 40 * MANY


def test_joining_many_boxes_compares_each_a_few_times() -> None:
    compared = 0

    class Box(dict[str, Ranges]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return dict(self) == other

        __hash__ = None  # type: ignore[assignment]

    boxes = [Box(a=((each, each),), b=((each % 7, each % 7),)) for each in range(BOXES_MAX)]
    found = either(*(Cover((box,), True) for box in [*boxes, *boxes]))
    assert len(found.boxes) == BOXES_MAX
    assert compared < 5 * len(boxes)


def test_lists_are_the_values_that_are_of_the_type() -> None:
    searched = made(pa.table({"a": pa.array([-128, 0, 5, None, 127], pa.int8())}))
    assert searched.count("a in (-129, -128, 5, 5, 127, 128, 99999999999999999999)") == 3
    assert searched.count("a not in (-128, 300)") == 3
    assert searched.count("a in (300)") == 0
    assert searched.count("a in (5, 7.5)") == 1


def test_no_column_is_wanted_of_as_many_rows_as_match() -> None:
    searched = made(plain())
    assert [searched.where(asked, columns=[]).num_rows for asked in (None, "a < 3")] == [50, 3]
    assert searched.dataset().to_table(columns=[]).num_rows == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_bytes": {"s": 8.5}}, "text_bytes of column 's' is 8.5: a whole number from 1 to 65,535"),
        ({"prefix_bytes": {"s": True}}, "prefix_bytes of column 's' is True: a whole number"),
        ({"ranges": {"a": (0, 1, 2)}}, r"ranges of column 'a' are \(0, 1, 2\): two ends"),
        ({"ranges": {"a": 7}}, "ranges of column 'a' are 7: two ends"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(pa.table({"a": [1, 2], "s": ["x", "y"]}), **options)


def test_values_of_no_bytes() -> None:
    with pytest.raises(UsageError, match=r"column 'n' is of .*, whose values have no bytes"):
        made(pa.table({"a": [1], "n": pa.array([b""], pa.binary(0))}))


def test_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(UsageError, match="at character 5: a number of 5,000 digits, at most 1,000 can be"):
        made(plain()).where("a = " + "9" * 5000)


@pytest.mark.parametrize("is_renamed", [False, True])
def test_an_interrupt_comes_through_and_the_name_is_there_or_not(is_renamed: bool) -> None:
    class Interrupted(FakeFiles):
        def rename(self, old: str, new: str) -> None:
            if is_renamed:
                super().rename(old, new)
            raise KeyboardInterrupt

    fake = FakeSearch()
    with pytest.raises(KeyboardInterrupt):
        made(plain(), Context(fake, Interrupted(fake)))
    assert list(fake.names()) == (["t"] if is_renamed else [])


def test_without_esp_rows_are_deleted_that_were_asked_for_and_no_others() -> None:
    rows = 131_072
    with bitline.open(set={"search.esp": False}) as drive:
        numbers = pa.table({"a": pa.array(range(rows), pa.int32())})
        searched = drive.search.table("t", numbers, indexes=["a"])
        # Names wait in the buffer until their row is programmed; other writes make time pass.
        for block in range(2000):
            drive.write(block % 50, bytes(drive.block_bytes))
            if block % 50 == 0:
                drive.flush()
                if not searched._store.report()[0]["buffered"]:
                    break
        assert searched._store.report()[0]["buffered"] == 0
        assert searched.delete("a = 77") == 1
        assert searched.delete("a between 1000 and 1009") == 10
        gone = {77, *range(1000, 1010)}
        assert searched.where()["a"].to_pylist() == [row for row in range(rows) if row not in gone]
