"""How many patterns conditions become, and changes of tables that are refused or need room."""

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_search import FakeSearch
from test_table import ROWS, F, data, decoded, made, same

from bitline.errors import UsageError


def test_a_long_list_finds_few_others() -> None:
    """One value more than there may be patterns is no reason to ask for most of the rows."""
    rows = pa.table({"id": pa.array(range(20_000), pa.int32())})
    fake = FakeSearch()
    searched = made(rows, fake, indexes=["id"], prefix_bytes={})
    values = random.Random(2).sample(range(20_000), 300)
    fake.asked.clear()
    assert searched.where(f"id in ({', '.join(map(str, values))})").num_rows == 300
    assert len(fake.asked[0][2]) == 256
    assert searched._store._context.counters.records < 700


def test_patterns_are_shared_by_what_needs_them() -> None:
    rows = pa.table({"a": pa.array(range(3000), pa.int16()), "b": pa.array(range(3000), pa.int16())})
    fake = FakeSearch()
    searched = made(rows, fake, indexes=["a", "b"], prefix_bytes={})
    fake.asked.clear()
    few, many = "b in (5, 9)", f"a in ({', '.join(map(str, range(0, 1000, 2)))})"
    assert searched.where(f"{few} or {many}").num_rows == 502
    assert 250 < len(fake.asked[0][2]) <= 256
    assert searched.where(f"{few.replace('5', '8')} and {many}").num_rows == 1


def test_nothing_is_deleted_without_a_condition() -> None:
    searched = made(data())
    for change in (lambda: searched.delete(None), lambda: searched.replace(None, data())):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match='None is none: "true" means all rows'):
            change()
    assert len(searched) == ROWS
    assert searched.where(None).num_rows == ROWS


def test_what_needs_more_patterns_than_a_command_has_is_deleted_by_several() -> None:
    ids = range(5000)
    rows = pa.table({"id": pa.array(ids, pa.int32()), "group": pa.array([one % 7 for one in ids], pa.int8())})
    fake = FakeSearch()
    searched = made(rows, fake, indexes=["id", "group"], prefix_bytes={})
    some = [7 * one for one in range(300)]
    fake.asked.clear()
    # The column of another index makes two patterns of each value, which go together.
    assert searched.delete(f"id in ({', '.join(map(str, some))}) and group = 0") == 300
    commands = [groups for kind, _, groups, _ in fake.asked if kind == "delete"]
    assert [sum(map(len, groups)) for groups in commands] == [256, 256, 88]
    assert all(len(group) == 2 for groups in commands for group in groups)
    searched.terms_max = 1
    assert searched.delete("id in (2, 4, 8)") == 3
    gone = {*some, 2, 4, 8}
    assert searched.where(None)["id"].to_pylist() == [one for one in ids if one not in gone]


def test_what_needs_more_patterns_than_there_may_be_is_not_replaced_or_deleted() -> None:
    rows = pa.table({"id": pa.array(range(5000), pa.int32())})
    searched = made(rows, indexes=["id"], prefix_bytes={})

    def some(count: int) -> str:
        return f"id in ({', '.join(map(str, range(0, 2 * count, 2)))})"

    with pytest.raises(UsageError) as refused:
        searched.replace(some(300), rows)
    assert str(refused.value) == (
        "id in (0, 2, 4, … 300 values) needs 300 patterns, and terms_max is 256, so no row is replaced: "
        "set terms_max = 300, or give fewer values or ranges at a time"
    )
    with pytest.raises(
        UsageError, match=r"needs 1,100 patterns.* \(a query of these names has at most 1,024\)"
    ):
        searched.replace(some(1100), rows)
    with pytest.raises(UsageError, match=r"a deletion has at most 65,536, so no row is deleted: give fewer"):
        searched.delete(some(65_537))
    assert "condition: id in (0, 2, 4, … 300 values)\n" in searched.explain(some(300))
    searched.terms_max = 300
    assert searched.delete(some(300)) == 300


@pytest.mark.parametrize("most", [0, -1, 1025, 2.5, "x"])
def test_terms_max_is_checked_when_it_is_set(most: Any) -> None:  # noqa: ANN401
    searched = made(data())
    with pytest.raises((UsageError, TypeError)):
        searched.terms_max = most
    assert searched.terms_max == 256


def test_rows_of_a_full_table_are_replaced() -> None:
    fake, rows = FakeSearch(), data().slice(0, 50)
    table = made(rows, fake, capacity=50)
    changed = rows.slice(7, 1)
    others = rows.filter(pc.or_kleene(pc.not_equal(rows["i8"], 5), pc.is_null(rows["i8"])))
    expected = pa.concat_tables([others, changed])
    assert table.replace("i8 = 5", changed) == rows.filter(F("i8") == 5).num_rows > 0
    same(decoded(table.where()), decoded(expected))
    assert fake.names() == ["t"]


def test_a_table_that_is_gone_is_still_written_out() -> None:
    fake = FakeSearch()
    table = made(data(), fake)
    fake.remove("t")
    assert repr(table).startswith("<Table 't' that cannot be read now: i8, i32")


def test_errors_of_pyarrow_are_refusals() -> None:
    for expression in (F("i8") == "x", F("i8") + 1):
        with pytest.raises(UsageError, match="as PyArrow takes it"):
            made(data()).where(expression)
    with pytest.raises(UsageError, match="columns i8, i8: each column once"):
        made(data()).where("i8 = 5", columns=["i8", "i8"])
    with pytest.raises(TypeError, match=r"pyarrow.Table.from_pandas"):
        made(data().select(["i8"]).to_pandas())
