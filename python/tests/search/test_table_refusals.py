"""What is no condition, no table and no column of one."""

from typing import Any

import pyarrow as pa
import pytest
from test_table import data, made

from bitline.errors import UsageError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i8 <", "a column or a constant is missing"),
        ("i9 = 3", "there is no column 'i9'; there are i8, i32"),
        ("i8 = 'x'", "column 'i8' is of int8, which does not compare with 'x'"),
        ("day = 'tomorrow'", "column 'day' is of date32.*, which 'tomorrow' is not"),
        ("i8 = 3 i32 = 4", "at character 8: AND or OR is missing; 'i32 = 4' follows"),
        ("i8 ? 3", r"at character 4: '\? 3' is not understood"),
        ("(i8 = 3", r"at character 8: \) is missing; it ends here"),
        ("lower(text) = 'a'", r"at character 1: lower\(...\) is a function, and functions are not supported"),
        ('text = "a"', "at character 8: there is no column 'a'; a text stands in single quotes: 'a'"),
        ("i8 like 'x'", "LIKE is asked of strings"),
        ("i8", "a comparison, IN, BETWEEN, LIKE or IS NULL is missing"),
        ("3 = 3", "one side of a comparison is a column"),
        ("date '2020-02-30' = day", "'2020-02-30' is no date"),
        ("(" * 200, "more than 100 levels"),
        ("", "a column or a constant is missing"),
    ],
)
def test_what_is_no_condition(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(data()).where(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indexes": []}, "at least one column is searched"),
        ({"indexes": ["nothing"]}, "an index is of column 'nothing'; there are"),
        ({"indexes": ["wide"]}, "names hold decimals of 128 bits with up to 18 digits"),
        ({"text_bytes": {"i8": 3}}, "text_bytes of column 'i8' is 3"),
        ({"text_bytes": {"text": 3}}, "column 'text': a text of 30 bytes, and there is room for 3"),
        ({"ranges": {"i8": (0, 300)}}, r"ranges of column 'i8' are \(0, 300\)"),
        ({"capacity": 3}, "capacity = 3 is out of range"),
        ({"prefix_bytes": {"text": 2000}, "text_bytes": {"text": 2000}}, "names of 16017 bits, at most 8192"),
    ],
)
def test_what_is_no_table(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(data(), **options)


def test_columns_that_rows_cannot_have() -> None:
    with pytest.raises(UsageError, match=r"column 'l' is of list<.*rows are of bools, numbers"):
        made(pa.table({"l": [[1]]}), indexes=["l"], prefix_bytes={})
    with pytest.raises(TypeError, match="a table of Arrow, or the path of a Parquet file, not a list"):
        made([1])  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["i8 = text", "at > i64", "flag < day"])
def test_columns_that_do_not_compare(text: str) -> None:
    with pytest.raises(UsageError, match="do not compare"):
        made(data()).where(text)
