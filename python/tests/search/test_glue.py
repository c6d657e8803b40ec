"""What is searched, on a drive: the same questions as over the fake one, and both say the same."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_search import FakeFiles, FakeSearch
from test_graph import power_law
from test_table import CONDITIONS, INDEXES, data, decoded, same

import bitline
from bitline import Drive, NotFoundError, UsageError, _bitline
from bitline.search import Searches
from bitline.search.store import Context, Store


@pytest.fixture(scope="module")
def roomy() -> Iterator[Drive]:
    with bitline.open() as drive:
        yield drive


#: So small that some thousands of names fill a row, which is then programmed.
SMALL_PAGES = {"nand.geometry.page_bytes": 512, "frontend.block_bytes": 512}


@pytest.fixture
def fake() -> Searches:
    search = FakeSearch()
    return Searches(Context(search, FakeFiles(search)))


def test_names_and_values(roomy: Drive, fake: Searches) -> None:
    draw = random.Random(11)
    kv, oracle = roomy.search.key_value("kv"), fake.key_value("kv")
    for _ in range(20):
        some = {
            bytes(draw.choices(b"ab\x00", k=draw.choice([0, 1, 3, 29, 30, 50]))): draw.randbytes(
                draw.choice([1, 600])
            )
            for _ in range(20)
        }
        kv.update(some)
        oracle.update(some)
        gone = draw.choice(list(oracle))
        del kv[gone], oracle[gone]
    assert dict(kv.items()) == dict(oracle.items())
    assert list(kv) == list(oracle)
    assert len(kv) == len(oracle)
    assert kv.prefix(b"a") == oracle.prefix(b"a")
    assert kv.range(b"ab", b"b\x00") == oracle.range(b"ab", b"b\x00")
    assert kv.masked(b"aab", b"\xff\x00\xff") == oracle.masked(b"aab", b"\xff\x00\xff")
    assert roomy.search.counters.dropped >= 0
    kv.compact()
    assert dict(kv.items()) == dict(oracle.items())
    kv.clear()
    assert not kv


def wait_until_sealed(drive: Drive, store: Store) -> None:
    """Full rows are programmed behind the command that filled them, in the time that other commands take."""
    for number in range(1000):
        drive.write(number % 50, bytes(drive.block_bytes))
        drive.flush()
        [region, *_] = store.report()
        if region["buffered"] < region["row_names"]:
            return
    pytest.fail("full rows are not programmed")


def test_names_in_the_array_through_power_cuts() -> None:
    """Rows of names that were programmed, deleted in and moved: what is found is what a dict has."""
    draw, oracle = random.Random(5), dict[bytes, bytes]()
    with bitline.open(set=SMALL_PAGES) as drive:
        kv = drive.search.key_value("kv", name_bytes=4, value_bytes=12, entries=20_000)
        for turn in range(4):
            some = {b"%d" % draw.randrange(9000): draw.randbytes(3) for _ in range(4000)}
            kv.update(some)
            oracle.update(some)
            for gone in draw.sample(list(oracle), 20):
                del kv[gone], oracle[gone]
            if turn % 2:
                drive.power_cut()
                drive.power_up()
                kv = drive.search.key_value("kv")
            wait_until_sealed(drive, kv._short)
            before = drive.statistics
            assert kv.prefix(b"12") == {n: v for n, v in sorted(oracle.items()) if n.startswith(b"12")}
            assert (drive.statistics.since(before).search.senses > 0) == (turn > 0)
            assert kv.range(b"3", b"45") == {n: v for n, v in sorted(oracle.items()) if b"3" <= n < b"45"}
            assert list(kv) == sorted(oracle)
        kv.compact()
        assert dict(kv.items()) == oracle
        wait_until_sealed(drive, kv._short)
        [region] = kv._short.report()
        assert region["live"] == len(oracle) > region["buffered"]
        assert drive.statistics.search.rows_sealed > 0


def test_a_table_in_the_array_finds_what_arrow_finds() -> None:
    rows = 9000
    numbers = np.random.default_rng(2).integers(0, 1000, rows)
    texts = [None if number % 7 == 0 else f"{number:03}" for number in numbers.tolist()]
    plain = pa.table({"number": numbers.astype(np.int16), "text": texts})
    with bitline.open(set=SMALL_PAGES) as drive:
        table = drive.search.table("t", plain, indexes=["number", ("text", "number")], capacity=12_288)
        for _ in range(2):
            wait_until_sealed(drive, table._store)
            before = drive.statistics
            found = table.where("number between 300 and 310 and text > '305'")
            work = drive.statistics.since(before).search
            assert work.senses > 0
            # Of the rows in the array only those that match come over the channels and the link.
            assert work.entries_found < rows / 50
            meant = (pc.field("number") >= 300) & (pc.field("number") <= 310) & (pc.field("text") > "305")
            same(found, plain.filter(meant))
            same(
                table.where("text is null and number < 100", ["number"]),
                plain.filter(pc.field("text").is_null() & (pc.field("number") < 100)).select(["number"]),
            )
            drive.power_cut()
            drive.power_up()
            table = drive.search.table("t")
        assert table.delete("number < 500") == int((numbers < 500).sum())
        same(table.where(), plain.filter(pc.field("number") >= 500))
        table.append(plain.slice(0, 3000))
        assert table.count("number < 500", check=False) == int((numbers[:3000] < 500).sum())


def test_a_table_finds_what_the_fake_finds(roomy: Drive, fake: Searches) -> None:
    sizes: dict[str, Any] = {"indexes": INDEXES, "prefix_bytes": {"text": 4}}
    table = roomy.search.table("t", data(), **sizes)
    oracle = fake.table("t", data(), **sizes)
    same(table.where(), data())
    for text, expression, _ in CONDITIONS:
        same(table.where(text), oracle.where(text), text)
        assert decoded(table.where(expression, None)).num_rows == table.count(text), text
    assert table.delete("i8 = 5") == oracle.delete("i8 = 5")
    assert table.append(data().slice(0, 0)) == 0
    same(table.where("i32 = 3"), oracle.where("i32 = 3"))
    assert len(table) == len(oracle)


def test_a_graph_leads_where_the_fake_leads(roomy: Drive, fake: Searches) -> None:
    edges = power_law(3)
    graph = roomy.search.graph("g", edges, vertices=300, edges_per_region=512, heavy_degree=200)
    oracle = fake.graph("g", edges, vertices=300, edges_per_region=512, heavy_degree=200)
    assert np.array_equal(graph.edges_of(range(300)), oracle.edges_of(range(300)))
    assert graph.sssp(0).tolist() == oracle.sssp(0).tolist()
    assert graph.bfs(0).tolist() == oracle.bfs(0).tolist()
    del roomy.search["g"]
    assert not [found.name for found in roomy.volume.objects() if found.name.startswith("g")]


def test_stores_are_objects_of_the_volume_that_are_searched(roomy: Drive) -> None:
    roomy.search.key_value("names")[b"a"] = b"1"
    kinds = {found.name: found.kind for found in roomy.volume.objects()}
    assert kinds["names"] == "store"
    assert "names" not in roomy.volume
    assert "names" not in list(roomy.volume)
    with pytest.raises(UsageError, match="'names' is a store of names and values, which keeps the name"):
        roomy.volume.rename("names", "others")
    with pytest.raises(UsageError, match=r"'names' is a store of names and values: drive.search has it"):
        roomy.volume["names"]
    roomy.volume["file"] = b"1"
    assert "file" not in roomy.search
    with pytest.raises(UsageError):
        roomy.search.key_value("file")
    with pytest.raises(NotFoundError):
        _bitline.Search(roomy._native).open("nothing")
    del roomy.search["names"]
    assert "names" not in roomy.search


def test_a_drive_without_data_is_not_searched() -> None:
    with (
        bitline.open(data="none") as drive,
        pytest.raises(UsageError, match="such a drive keeps only time, so a search would find nothing"),
    ):
        drive.search  # noqa: B018


def test_it_is_there_when_an_image_is_opened_again(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with bitline.open(path=image) as drive:
        drive.search.key_value("kv")[b"a"] = b"1"
        drive.search.table("t", data().select(["i8", "text"]), indexes=["i8"])
        drive.power_cut()
        drive.power_up()
        assert drive.search.key_value("kv")[b"a"] == b"1"
    with bitline.open(path=image) as drive:
        assert list(drive.search) == ["kv", "t"]
        assert dict(drive.search.key_value("kv").items()) == {b"a": b"1"}
        same(drive.search.table("t").where(), data().select(["i8", "text"]))


def test_what_a_lookup_takes_is_what_was_estimated() -> None:
    with bitline.open(set=SMALL_PAGES) as drive:
        rows = pa.table({"number": np.arange(9000, dtype=np.int32), "tag": np.arange(9000) // 4500})
        table = drive.search.table("numbers", rows, indexes=["number", "tag"])
        drive.measure({"requests": 2000, "range_blocks": 64, "arrival": {"kind": "closed", "depth": 1}})
        for condition, found in (("number = 0", 1), ("number = 9000", 0), ("tag = 2", 0)):
            told = table.estimate(condition, rows=found)
            assert told is not None
            before = drive.statistics
            assert table.where(condition).num_rows == found
            work = drive.statistics.since(before)
            assert told.time.ns == pytest.approx(work.elapsed.ns, rel=0.01)
            assert told.energy.pj == pytest.approx(work.energy.pj, rel=0.01)
            assert f"estimate for {found} row" in table.explain(condition, rows=found)
        kv = drive.search.key_value("kv")
        kv[b"name"] = b"value"
        told, before = kv.estimate(b"name"), drive.statistics
        assert kv[b"name"] == b"value"
        work = drive.statistics.since(before)
        assert told.time.ns == pytest.approx(work.elapsed.ns, rel=0.01)
        with pytest.raises(UsageError, match="has no names of more than 29 bytes"):
            kv.estimate(bytes(30))
