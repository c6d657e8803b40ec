"""What is searched on a drive, by name."""

import pyarrow as pa
import pytest
from fake_search import FakeFiles, FakeSearch

import bitline
from bitline.errors import UsageError
from bitline.search import KeyValue, Searches
from bitline.search.store import Context


@pytest.fixture
def fake() -> FakeSearch:
    return FakeSearch()


@pytest.fixture
def searches(fake: FakeSearch) -> Searches:
    return Searches(Context(fake, FakeFiles(fake)))


def test_they_are_made_listed_opened_and_removed(searches: Searches, fake: FakeSearch) -> None:
    assert len(searches) == 0
    kv = searches.key_value("names", name_bytes=4, value_bytes=8)
    kv[b"longer than that"] = b"1"
    fake.create("another", 1, 1, [(8, False)], b"somebody else's")
    assert list(searches) == ["names"]
    found = searches["names"]
    assert isinstance(found, KeyValue)
    assert found[b"longer than that"] == b"1"
    assert searches.key_value("names").name_bytes == 4, "what is there is opened"
    assert "another" not in searches
    with pytest.raises(KeyError, match="nothing that is searched is called 'another'; there is names"):
        searches["another"]
    del searches["names"]
    assert fake.names() == ["another"], "its parts went with it"
    with pytest.raises(KeyError):
        del searches["names"]


def test_tables_are_made_opened_and_removed(searches: Searches, fake: FakeSearch) -> None:
    rows = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    made = searches.table("t", rows, indexes=["a"])
    assert made.where("a >= 2").equals(rows.slice(1))
    assert searches.table("t").where("b = 'x'").equals(rows.slice(0, 1))
    assert repr(searches) == "<Searches t>"
    with pytest.raises(UsageError, match="there is a table 't': open it by its name"):
        searches.table("t", rows, indexes=["a"])
    with pytest.raises(UsageError, match="there is no table 'u': give what it is to be made of"):
        searches.table("u")
    with pytest.raises(UsageError, match="'t' is a table, no key-value: take another name"):
        searches.key_value("t")
    del searches["t"]
    assert fake.names() == []


def test_what_came_back_is_counted(searches: Searches) -> None:
    kv = searches.key_value("names", name_bytes=4, value_bytes=8)
    kv[b"a"] = b"1"
    assert kv[b"a"] == b"1"
    counters = searches.counters
    assert (counters.lookups, counters.terms, counters.records, counters.bytes) == (1, 1, 1, 32)


def test_names_that_cannot_be(searches: Searches) -> None:
    with pytest.raises(UsageError, match="half of a surrogate pair"):
        searches.key_value("\ud800")
    assert "\ud800" not in searches
    with pytest.raises(UsageError, match="name_bytes = 0 is out of range"):
        searches.key_value("names", name_bytes=0)
    with pytest.raises(TypeError, match="a name is a str, not a int"):
        searches.key_value(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a name of 246 bytes: at most 245, so that parts have theirs"):
        searches.key_value("é" * 123)


def test_nothing_of_others_is_touched(searches: Searches, fake: FakeSearch) -> None:
    """Names of parts that something else has: they are refused, or left alone."""
    for name in ("a/copy", "kv/copy", "kv/long", "t/making"):
        searches.key_value(name, name_bytes=4, value_bytes=8)[b"a"] = b"1"
    assert list(searches) == ["a/copy", "kv/copy", "kv/long", "t/making"], "no copy is taken for its name"
    kv = searches.key_value("kv", name_bytes=4, value_bytes=8)
    kv.update({b"x": b"1"})
    kv.update({b"x": b"2"})
    with pytest.raises(UsageError, match="'kv' would have a part 'kv/long', which is something else"):
        kv[b"longer"] = b"1"
    with pytest.raises(UsageError, match="'kv' would have a part 'kv/long'"):
        kv.prefix(b"")
    del searches["kv/long"]
    with pytest.raises(UsageError, match="'kv' would have a part 'kv/copy'"):
        kv.compact()
    with pytest.raises(UsageError, match="'t' would have a part 't/making'"):
        searches.table("t", pa.table({"a": [1]}), indexes=["a"])
    kv[b"longer"] = b"1"
    with pytest.raises(UsageError, match="'kv/long' is a part of 'kv': take another name"):
        searches.key_value("kv/long")
    fake.create("another", 1, 1, [(8, False)], b"somebody else's")
    for make in (lambda: searches.key_value("another"), lambda: searches.graph("another", ([0], [1]))):
        with pytest.raises(UsageError, match="'another' is a store that something else has made"):
            make()
    assert fake.names() == ["a/copy", "another", "kv", "kv/copy", "kv/long", "t/making"]
    assert searches["kv/copy"][b"a"] == searches["t/making"][b"a"] == b"1"  # type: ignore[index]


def test_files_of_others_are_no_parts_of_a_graph(fake: FakeSearch) -> None:
    files = FakeFiles(fake)
    searches = Searches(Context(fake, files))
    files.write("g/lists", b"mine")
    with pytest.raises(UsageError, match="graph 'g' would have a file 'g/lists', which is there"):
        searches.graph("g", ([0, 0], [1, 2]), heavy_degree=1)
    assert (files.files, fake.names()) == ({"g/lists": b"mine"}, [])


def test_what_was_opened_before_its_name_was_made_anew_says_so(searches: Searches) -> None:
    def of_two(kind: str) -> list[object]:
        if kind == "kv":
            return [searches.key_value("it", name_bytes=size, value_bytes=20) for size in (4,)]
        if kind == "table":
            return [searches.table("it", pa.table({"a": [1]}), indexes=["a"])]
        return [searches.graph("it", ([0, 0], [1, 2]), heavy_degree=1)]

    asks = {
        "kv": lambda found: found.get(b"a"),
        "table": lambda found: found.where("a = 1"),
        "graph": lambda found: found.neighbours(0),
    }
    for before, ask in asks.items():
        for kind in asks:
            [old] = of_two(before)
            del searches["it"]
            of_two(kind)
            with pytest.raises(UsageError, match="'it' was made anew since this was opened: open it again"):
                ask(old)
            del searches["it"]


def test_many_are_listed_with_few_questions(fake: FakeSearch, searches: Searches) -> None:
    for number in range(200):
        searches.key_value(f"{number}", name_bytes=1, value_bytes=8)
    asked = 0
    names = fake.names

    def counted() -> list[str]:
        nonlocal asked
        asked += 1
        return names()

    fake.names = counted  # type: ignore[method-assign]
    assert len(list(searches)) == 200
    assert asked <= 4, "a list asks for the length, too"


def test_options_of_what_is_there_are_those_that_it_has(searches: Searches) -> None:
    searches.key_value("kv", entries=100, name_bytes=6, value_bytes=40)
    rows = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]})
    searches.table("t", rows, indexes=["a", "b"], ranges={"a": (0, 9)}, prefix_bytes={"b": 4}, capacity=5)
    searches.graph("g", ([0, 1], [1, 2]), edges_per_region=8, heavy_degree=3)
    searches.key_value("kv", entries=100, name_bytes=6, value_bytes=40)
    searches.table("t", indexes=["a", ("b",)], ranges={"a": (0, 9)}, prefix_bytes={"b": 4}, capacity=3)
    searches.graph("g", edges_per_region=8, heavy_degree=3, vertices=3)
    for make, has in (
        (
            lambda: searches.key_value("kv", name_bytes=5),
            "name_bytes = 6 and not 5: leave that out",
        ),
        (lambda: searches.key_value("kv", value_bytes=5), "value_bytes = 40 and not 5"),
        (lambda: searches.key_value("kv", entries=101), "entries = 100 and not 101"),
        (lambda: searches.table("t", indexes=["a"]), r"indexes = \(\('a',\), \('b',\)\) and not"),
        (lambda: searches.table("t", capacity=6), "capacity = 5 and not 6"),
        (
            lambda: searches.table("t", ranges={"a": (0, 8)}),
            r"column 'a' = \(0, 9\) and not \(0, 8\)",
        ),
        (lambda: searches.table("t", prefix_bytes={"b": 5}), "prefix_bytes of column 'b' = 4 and not 5"),
        (lambda: searches.table("t", text_bytes={"b": 5}), "text_bytes of column 'b' = 1 and not 5"),
        (lambda: searches.graph("g", heavy_degree=4), "heavy_degree = 3 and not 4"),
        (lambda: searches.graph("g", vertices=4), "vertices = 3 and not 4"),
    ):
        with pytest.raises(UsageError, match=has):
            make()
    with pytest.raises(UsageError, match="ranges: column 'a' is in no index"):
        searches.table("u", rows, indexes=["b"], ranges={"a": (0, 9)})


def test_names_of_which_a_row_never_fits_into_memory_are_refused() -> None:
    with bitline.open(set={"search.buffer_bytes": 100_000}) as drive:
        rows = pa.table({"a": ["a long text"]})
        wide = {"prefix_bytes": {"a": 30}, "text_bytes": {"a": 30}}
        for make in (
            lambda: drive.search.key_value("kv", entries=4000),
            lambda: drive.search.table("t", rows, indexes=["a"], **wide, capacity=4000),
        ):
            with pytest.raises(
                UsageError, match=r"^'(kv|t)': .* do not fit into search.buffer_bytes = 100,000: fewer"
            ):
                make()
        drive.search.key_value("kv", entries=3000)[b"b"] = b"b"


def test_a_link_table_without_room_is_told_with_what_helps() -> None:
    rows = pa.table({"a": [1], "b": [2]})
    # 40 bytes an index; a row takes 4, and 4 more for its block in each index.
    with bitline.open(set={"search.link_table_bytes": 84}) as drive:
        full, _ = (drive.search.key_value(name, entries=3000) for name in ("kv", "empty"))
        has = r": .* does not fit into search.link_table_bytes = 84 .* or open the drive with more$"
        with pytest.raises(UsageError, match="^'kv'" + has):
            full[b"a"] = b"1"
        with pytest.raises(UsageError, match="^'other'" + has):
            drive.search.key_value("other", entries=3000)
        assert list(drive.search) == ["empty", "kv"]
        assert len(full) == 0
        del drive.search["empty"]
        full[b"a"] = b"1"
    with bitline.open(set={"search.link_table_bytes": 80}) as drive:
        with pytest.raises(UsageError, match=r"^'t': .* search.link_table_bytes = 80 "):
            drive.search.table("t", rows, indexes=["a", "b"])
        drive.search.table("t", rows, indexes=["a"])
