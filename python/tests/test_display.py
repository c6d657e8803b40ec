"""How results are shown: pages of 80 columns, one line, HTML, Arrow; the same figures in each."""

import json
import sys
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from conftest import SMALL

import bitline
from bitline import Drive
from bitline.display import Branch, Column, Displayed, Fact, Result, Table, Tree
from bitline.display.formats import duration
from bitline.display.text import Page, render
from bitline.errors import UsageError


@pytest.fixture(scope="module")
def shown() -> Iterator[dict[str, Displayed]]:
    """One of everything that is shown."""
    with bitline.open(set=SMALL) as drive:
        a, b = drive.group("g").write([b"abc", b"def"])
        query, flow = a & b, {"requests": 50, "range_blocks": 64}
        report = drive.measure(
            [
                {"name": "a flow with a rather long name", **flow, "read_fraction": 0.5},
                {"name": "reads", **flow},
                {"name": "ands", "expression": "g:0 & g:1", "requests": 3},
            ]
        )
        yield {
            "report": report,
            "statistics": drive.statistics,
            "explanation": query.explanation(),
            "health": drive.admin.health(),
            "advice": bitline.advise({"a & b | ~c": 10, "a | c": 1}),
        }


NAMES = ("report", "statistics", "explanation", "advice", "health")


@pytest.mark.parametrize("name", NAMES)
def test_print_is_a_page(shown: dict[str, Displayed], name: str) -> None:
    lines = str(shown[name]).splitlines()
    assert 5 < len(lines) < 66
    assert [line for line in lines if len(line) > 80] == []


def test_columns_of_a_pair_give_way_together() -> None:
    advice = bitline.advise({"(a & b | ~c) & (d | e | f)": 10, "(a | c) & (e | f)": 1})
    for width in (60, 70, 80, 100):
        page = render(advice._shown(), Page(width=width))
        heading = next(line for line in page.splitlines() if "Expression" in line)
        names = [name.strip() for name in heading.split("  ") if name.strip()]
        assert len(set(names)) == len(names)
        assert ("Pages now" in heading) == ("Pages then" in heading)


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_line(shown: dict[str, Displayed], name: str) -> None:
    text = repr(shown[name])
    assert text.startswith(f"<{name.capitalize()}: ")
    assert "\n" not in text
    assert len(text) < 160


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_get_a_table(shown: dict[str, Displayed], name: str) -> None:
    cells = _Cells()
    cells.feed(shown[name]._repr_html_())
    assert cells.open == []
    assert len(cells.texts) > 10


def test_html_shows_text_as_it_is() -> None:
    rows = [{"name": "<b>&", "value": 1}]
    table = Table([Column("name", "Name"), Column("value", "Value", rank=9)], rows)
    result = Result("a < b", {"x": Fact("  of it", "<i>")}, {"t": table}, trees={})

    class _Shown(Displayed):
        def _shown(self) -> Result:
            return result

    html = _Shown()._repr_html_()
    assert "<b>&" not in html
    assert "&lt;b&gt;&amp;" in html
    assert "a &lt; b" in html


@pytest.mark.parametrize("name", NAMES)
def test_arrow_has_the_numbers_of_the_dict(shown: dict[str, Displayed], name: str) -> None:
    each, rows = shown[name], shown[name].to_arrow().to_pylist()
    match each:
        case bitline.Report():
            assert [row["flow"] for row in rows] == ["a flow with a rather long name", "reads", "ands"]
            assert rows[2]["latency.p99_ns"] == each.to_dict()["queries"][0]["latency"]["p99_ns"]
        case bitline.Statistics():
            assert rows[0]["flash.page_programs"] == each.flash.page_programs > 0
        case bitline.Explanation():
            assert rows[0]["estimate.time_ns"] == each.estimate.time.ns > 0
        case bitline.Health():
            assert (rows[0]["critical_warnings"], rows[0]["power_cycles"]) == ("", each.power_cycles)
        case bitline.Advice():
            assert [row["senses"] for row in rows] == [row.senses for row in each.expressions]
        case _:
            pytest.fail(f"{name} is not looked at")


def test_energy_in_arrow_adds_up(shown: dict[str, Displayed]) -> None:
    for name in ("report", "statistics", "explanation"):
        row = shown[name].to_arrow().to_pylist()[0]
        parts = sum(value for key, value in row.items() if key.startswith("energy."))
        assert parts == row["energy_pj" if name != "explanation" else "estimate.energy_pj"]


def test_pandas_is_asked_for_by_name(shown: dict[str, Displayed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"to_pandas: needs pandas, .*: pip install 'bitline\[pandas\]'"):
        shown["report"].to_pandas()


def test_pandas_has_the_numbers_of_arrow(shown: dict[str, Displayed]) -> None:
    pytest.importorskip("pandas")
    for each in shown.values():
        table, frame = each.to_arrow(), each.to_pandas()
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
        name = next(name for name in table.column_names if isinstance(table[name][0].as_py(), int))
        assert frame[name].dropna().tolist() == table[name].drop_null().to_pylist() != []


def _table() -> Table:
    columns = [
        Column("name", "Name"),
        Column("time_ns", "Time", duration),
        Column("count", "Count", rank=1),
        Column("note", "Note", rank=2),
        Column("hidden", None),
    ]
    rows = [
        ("a", 1500.0, 12345, "some words that are rather long", 1),
        ("bb", 20.0, 1, "few", 2),
    ]
    keys = [column.key for column in columns]
    return Table(columns, [dict(zip(keys, row, strict=True)) for row in rows])


def test_columns_give_way_in_order_and_are_named() -> None:
    result = Result("Title", tables={"t": _table()})
    wide = render(result, Page(None))
    assert wide.splitlines()[2:] == [
        "  Name     Time   Count  Note",
        "  a     1.50 µs  12,345  some words that are rather long",
        "  bb    20.0 ns       1  few",
    ]
    narrow = render(result, Page(40, more="--wide shows all"))
    assert narrow.splitlines()[2:] == [
        "  Name     Time   Count",
        "  a     1.50 µs  12,345",
        "  bb    20.0 ns       1",
        "  (without Note; --wide shows all)",
    ]
    assert "(without Count, Note)" in render(result, Page(22, fold=False))


def test_prose_is_folded_on_terminals_and_not_in_pipes() -> None:
    columns = [Column("name", "Name"), Column("text", "Text")]
    words = "word " * 30
    table = Table(columns, [{"name": "n", "text": words}])
    result = Result("T", {"fact": Fact("Fact", words)}, {"t": table}, words)
    folded = render(result, Page(60)).splitlines()
    assert max(map(len, folded)) <= 60
    assert " ".join(folded).split().count("word") == 90
    piped = render(result, Page(60, fold=False)).splitlines()
    assert [line.count("word") for line in piped if "word" in line] == [30, 30, 30]


def test_trees_are_drawn() -> None:
    root = Branch("all", [Branch("one", [Branch("deep")]), Branch("two")])
    text = render(Result("T", trees={"t": Tree(root, {})}), Page(80))
    assert text.splitlines()[2:] == ["  all", "  ├── one", "  │   └── deep", "  └── two"]


def test_json_has_what_tables_leave_out() -> None:
    told = Result("T", {"x": Fact(None, 1)}, {"t": _table()}).to_dict()
    assert json.loads(json.dumps(told))["t"][0]["hidden"] == 1
    assert told["x"] == 1


def test_a_drive_that_did_nothing_is_shown(drive: Drive) -> None:
    nothing = drive.statistics.since(drive.statistics)
    assert "Statistics of 0.00 ns" in str(nothing)
    assert "nan" not in nothing._repr_html_()
