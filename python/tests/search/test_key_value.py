"""Names and values, held against a dict."""

import pickle
import random

import pytest
from fake_search import FakeFiles, FakeSearch

from bitline.errors import UsageError
from bitline.search import Searches
from bitline.search.key_value import KeyValue
from bitline.search.store import Context


def made(fake: FakeSearch, *, name_bytes: int = 6, value_bytes: int = 20) -> KeyValue:
    return KeyValue.create(
        Context(fake), "kv", entries=20_000, name_bytes=name_bytes, value_bytes=value_bytes
    )


def random_name(draw: random.Random) -> bytes:
    """Of few different bytes, zero among them, around and beyond what is searched."""
    return bytes(draw.choices(b"\x00\x00a\xffb", k=draw.choice([0, 1, 2, 3, 5, 6, 7, 8, 40])))


def same(got: dict[bytes, bytes], expected: dict[bytes, bytes]) -> None:
    assert got == expected
    assert list(got) == sorted(expected), "in order"


@pytest.mark.parametrize("false_positives", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_a_dict(seed: int, false_positives: float) -> None:
    draw = random.Random(seed)
    kv, oracle = made(FakeSearch(false_positives)), dict[bytes, bytes]()
    for _ in range(300):
        name = random_name(draw)
        match draw.randrange(8):
            case 0 | 1:
                kv[name] = oracle[name] = draw.randbytes(draw.choice([0, 1, 9, 17, 60]))
            case 2:
                more = {random_name(draw): draw.randbytes(draw.randrange(40)) for _ in range(12)}
                kv.update(more)
                oracle.update(more)
            case 3:
                assert kv.get(name) == oracle.get(name)
                assert (name in kv) == (name in oracle)
            case 4 if name in oracle:
                del kv[name], oracle[name]
            case 4:
                with pytest.raises(KeyError):
                    del kv[name]
            case 5:
                same(kv.prefix(name), {n: v for n, v in oracle.items() if n.startswith(name)})
            case 6:
                start, stop = random_name(draw), random_name(draw)
                same(kv.range(start, stop), {n: v for n, v in oracle.items() if start <= n < stop})
                same(kv.range(start), {n: v for n, v in oracle.items() if start <= n})
                same(kv.range(None, stop), {n: v for n, v in oracle.items() if n < stop})
            case 7:
                mask = bytes(draw.choices([0, 255, 0x61, 0x80], k=len(name)))
                expected = {
                    n: v
                    for n, v in oracle.items()
                    if len(n) == len(name)
                    and all((a ^ b) & m == 0 for a, b, m in zip(n, name, mask, strict=True))
                }
                same(kv.masked(name, mask), expected)
    same(dict(kv.items()), oracle)
    assert list(kv) == sorted(oracle)
    assert len(kv) == len(oracle)
    assert list(kv.values()) == [oracle[name] for name in sorted(oracle)]
    assert kv.get_many([*oracle, b"never"]) == oracle


def test_it_is_found_again_and_removed_with_its_long_names() -> None:
    fake = FakeSearch()
    kv = made(fake)
    kv[b"a"] = b"1"
    assert fake.names() == ["kv"], "no room for long names before there are any"
    kv[b"a long name"] = b"2"
    again = KeyValue(Context(fake), "kv")
    assert dict(again.items()) == {b"a": b"1", b"a long name": b"2"}
    again.delete()
    assert fake.names() == []


def test_many_long_names_are_several_queries() -> None:
    kv = made(FakeSearch(), name_bytes=1022, value_bytes=1100)
    oracle = {b"%0900d" % number: b"%d" % number for number in range(300)}
    kv.update(oracle)
    assert kv.get_many(oracle) == oracle
    same(kv.range(b"%0900d" % 7, b"%0900d" % 205), dict(list(oracle.items())[7:205]))


def test_bounds_of_a_range_may_be_longer_than_what_is_searched() -> None:
    kv = made(FakeSearch())
    oracle = {b"abcdef": b"1", b"abcdefg": b"2", b"abcde": b"3", b"abcdef\0\1": b"4", b"abcdeg": b"5"}
    kv.update(oracle)
    for start in (b"abcde", b"abcdef", b"abcdef\0", b"abcdefg", b"abcdefh"):
        for stop in (b"abcdef\0", b"abcdefg", b"abcdefgh", b"abcdeg", b"b"):
            same(kv.range(start, stop), {n: v for n, v in oracle.items() if start <= n < stop})


def test_a_name_is_looked_up_by_one_pattern_of_its_own() -> None:
    fake = FakeSearch()
    kv = made(fake)
    kv[b"ab"] = b"1"
    fake.asked.clear()
    assert kv[b"ab"] == b"1"
    [(_, name, groups, _)] = fake.asked
    assert (name, groups) == ("kv", [[(0, 64, b"ab\0\0\0\0\0\2", b"\xff" * 8)]])


def test_what_is_found_by_mistake_is_counted() -> None:
    fake = FakeSearch(false_positives=1.0)
    context = Context(fake)
    kv = KeyValue.create(context, "kv", entries=10, name_bytes=8, value_bytes=40)
    kv.update({b"a": b"1", b"b": b"2"})
    assert kv[b"a"] == b"1"
    assert context.counters.dropped == 1
    assert context.counters.lookups == 1


def test_one_update_writes_many_and_replaces_what_was_there() -> None:
    fake = FakeSearch()
    kv = made(fake)
    kv.update({b"a": bytes(100), b"b": b"2"})
    fake.asked.clear()
    kv.update({b"a": b"1", b"b": b"3", b"c": b"4"})
    assert [what for what, *_ in fake.asked] == ["update"]
    assert dict(kv.items()) == {b"a": b"1", b"b": b"3", b"c": b"4"}


def small(fake: FakeSearch) -> KeyValue:
    sizes = {"entries": 40, "name_bytes": 6, "value_bytes": 20}
    return KeyValue.create(Context(fake, FakeFiles(fake)), "kv", **sizes)


def test_room_is_made_where_entries_were_replaced() -> None:
    fake, oracle = FakeSearch(), dict[bytes, bytes]()
    kv = small(fake)
    draw = random.Random(8)
    for number in range(200):
        name = draw.choice([b"a", b"b", b"c", b"a long name"])
        kv[name] = oracle[name] = b"%d" % number
    same(dict(kv.items()), oracle)
    assert fake.names() == ["kv", "kv/long"]
    same(dict(KeyValue(Context(fake), "kv").items()), oracle)
    kv.compact()
    assert [len(fake.stores[name].live) for name in ("kv", "kv/long")] == [3, 1]


def test_a_store_that_is_full_says_so_and_stays_as_it_is() -> None:
    fake = FakeSearch()
    kv = small(fake)
    whole = {b"%d" % number: b"1" for number in range(40)}
    kv.update(whole)
    with pytest.raises(UsageError, match=r"'kv' has room for 40 entries, 40 of them are taken.*\(entries=\)"):
        kv[b"one more"[:6]] = b"1"
    same(dict(kv.items()), dict(sorted(whole.items())))


def test_names_of_a_full_store_are_given_other_values() -> None:
    fake = FakeSearch()
    kv = small(fake)
    oracle = {b"%d" % number: b"1" for number in range(40)}
    oracle |= {b"a long name %d" % number: b"1" for number in range(20)}
    kv.update(oracle)
    for change in ({b"7": b"2"}, {b"%d" % number: b"3" for number in range(40)}, {b"a long name 3": b"2"}):
        kv.update(change)
        oracle |= change
        same(dict(kv.items()), dict(sorted(oracle.items())))
    with pytest.raises(UsageError, match="'kv' has room for 40 entries, 40 of them are taken"):
        kv[b"8"] = bytes(30)
    same(dict(kv.items()), dict(sorted(oracle.items())))


def test_a_large_value_deletes_what_it_replaces_by_one_pattern() -> None:
    fake = FakeSearch()
    kv = made(fake)
    fake.asked.clear()
    kv[b"a"] = bytes(10_000)
    [(what, _, groups, _)] = fake.asked
    assert (what, len(groups)) == ("update", 1)
    kv.update({b"a": bytes(100), b"a long name": bytes(100)})
    kv[b"a long name"] = b"1"
    assert dict(kv.items()) == {b"a": bytes(100), b"a long name": b"1"}


def test_sizes_are_checked_before_anything_is_written() -> None:
    fake = FakeSearch()
    context = Context(fake, names_bytes_max=1000, transfer_bytes_max=10_000)
    kv = KeyValue.create(context, "kv", entries=30, name_bytes=6, value_bytes=20)
    # 117 entries have 936 bytes of names, of 8 each; 4 of theirs are the length of the name.
    with pytest.raises(
        UsageError, match=r"2,337 bytes: one command.* carries 2,336 in entries of value_bytes = 20"
    ):
        kv.update({b"b": b"1", b"a": bytes(2336)})
    with pytest.raises(UsageError, match=r"take 31 entries, and 'kv' has room for 30.*\(entries=\)"):
        kv[b"a"] = bytes(615)
    assert len(kv) == 0
    kv[b"a"] = bytes(595)
    assert len(kv) == 1


def test_items_are_popped_with_names_read_once() -> None:
    fake = FakeSearch()
    kv = made(fake)
    oracle = {b"%d" % number: b"%d" % number for number in range(50)} | {b"a long name": b"1"}
    kv.update(oracle)
    popped = [kv.popitem() for _ in range(5)]
    gone = next(name for name in kv if name not in dict(popped))
    del kv[gone], oracle[gone]
    records = kv._context.counters.records
    while kv:
        popped.append(kv.popitem())
    assert kv._context.counters.records - records == len(popped) - 5
    assert dict(popped) == oracle
    assert len(popped) == len(oracle)
    kv[b"another"] = b"2"
    assert kv.popitem() == (b"another", b"2")
    with pytest.raises(KeyError, match="'kv' is empty"):
        kv.popitem()


def test_it_is_equal_to_a_dict_of_the_same() -> None:
    kv = made(FakeSearch())
    kv[bytearray(b"b")] = bytearray(b"2")  # type: ignore[index]
    kv[b"a"] = b"1"
    assert kv == {b"a": b"1", b"b": b"2"} == kv
    assert kv != {b"a": b"1"}
    with pytest.raises(TypeError, match="name: bytes, not a str"):
        _ = "a" in kv


@pytest.mark.parametrize("step", ["copying", "removing", "renaming"])
def test_a_power_cut_while_room_is_made_loses_nothing(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSearch()
    kv = small(fake)
    oracle = {b"%d" % number: b"%d" % number for number in range(20)}
    kv.update(oracle)
    kv[b"7"] = b"7"

    class PowerCutError(Exception):
        pass

    def cut(*_: object) -> None:
        raise PowerCutError

    method = {"copying": "append", "removing": "remove"}.get(step)
    monkeypatch.setattr(*((fake, method) if method else (FakeFiles, "rename")), cut)
    with pytest.raises(PowerCutError):
        kv.compact()
    monkeypatch.undo()
    searches = Searches(Context(fake, FakeFiles(fake)))
    assert list(searches) == ["kv"]
    again = searches.key_value("kv")
    same(dict(again.items()), dict(sorted(oracle.items())))
    again[b"7"] = b"7"
    again.compact()
    same(dict(again.items()), dict(sorted(oracle.items())))
    del searches["kv"]
    assert fake.names() == []


def test_what_cannot_be() -> None:
    kv = made(FakeSearch())
    with pytest.raises(TypeError, match=r"name: bytes, not a str; encode\(\) a text"):
        kv["a"]  # type: ignore[index]
    with pytest.raises(TypeError, match="value: bytes"):
        kv[b"a"] = 5  # type: ignore[assignment]
    with pytest.raises(UsageError, match="a mask of 1 bytes for a name of 2"):
        kv.masked(b"ab", b"\xff")
    with pytest.raises(KeyError):
        kv[b"a"]
    with pytest.raises(UsageError, match="value_bytes = 9 is out of range; it must be 10 to"):
        made(FakeSearch(), value_bytes=9)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(kv)
    kv[b""] = b"empty"
    assert kv
    kv.clear()
    assert not kv
    assert len(kv) == 0
