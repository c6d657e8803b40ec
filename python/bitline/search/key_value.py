"""A mapping from bytes to bytes on a drive, searched by name: exactly, by prefix, by mask and in order.

Two stores. Names of up to `name_bytes` lie in the first one: the name, filled up with zeroes, then its
length in two bytes, most significant first, so that the order of these bytes is the order of names. Longer
names lie in the second one, which is made with the first of them, under their hash, with their first
`name_bytes` in a search region beside it. Items are cut into entries (`bitline.search.pieces`) that are
appended together; every name that the drive finds is compared with the one in the entries.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from bitline.arguments import whole_number
from bitline.columns.ranges import Ranges
from bitline.errors import NvmeError, UsageError
from bitline.explanation import Estimate
from bitline.search import pieces
from bitline.search.compaction import compacted, finish_copy, is_full, no_room
from bitline.search.pieces import Item
from bitline.search.store import ENTRIES_MAX, Context, Store, Term, Terms, is_part, unmade
from bitline.search.ternary import Prefix, big_endian, cover

KIND = "key-value"
NAME_BYTES = 29
VALUE_BYTES = 232
ENTRIES = 1 << 16

#: Names are told apart by 1,024 bytes and their length, in a search region of 8,192 bits at most.
_NAME_BYTES_MAX = 1022
_LENGTH_BYTES = 2
_DIGEST_BITS = 128
#: Prefixes that a range is asked with, at most; the host drops what fewer of them find too much.
_PREFIXES_MAX = 64
#: Names that are looked up together.
_NAMES_AT_ONCE = 256
#: Bytes of records of one update, of which the drive does all or nothing; an item is never divided.
_UPDATE_BYTES = 64 << 10
#: The most bytes of an item, whose length is told in 32 bits.
_ITEM_BYTES_MAX = (1 << 32) - 1 - 64


class KeyValue(MutableMapping[bytes, bytes]):
    """Names and values on a drive, made or opened by `drive.search.key_value`.

    It is a mutable mapping from bytes to bytes, of any size that one command carries, in ascending order of
    names. `kv[b"a"] = b"b"` replaces what was there, both or nothing if power fails; `update` does so with
    many.
    """

    def __init__(self, context: Context, name: str) -> None:
        finish_copy(context, name)
        self.name = name
        """Its name on the drive."""
        self._context = context
        self._short = Store(context, name)
        if self._short.header.get("kind") != KIND:
            raise UsageError(f"{name!r} is no key-value store")
        self.name_bytes: int = self._short.header["name_bytes"]
        """Bytes of a name that are searched; longer ones are found by their hash, or these first bytes."""
        self._found_long: Store | None = None
        #: Names that `popitem` has read, which need not be there any more.
        self._to_pop = list[bytes]()

    @classmethod
    def create(
        cls, context: Context, name: str, *, entries: int, name_bytes: int, value_bytes: int
    ) -> "KeyValue":
        """Make one, as `Searches.key_value` says."""
        whole_number("entries", entries, 1, ENTRIES_MAX)
        whole_number("name_bytes", name_bytes, 1, _NAME_BYTES_MAX)
        # The beginning of an item's first entry has any short name.
        least = pieces.BEFORE_NAME - pieces.HEAD_BYTES + name_bytes
        whole_number("value_bytes", value_bytes, least, 1 << 20)
        Store.create(
            context,
            name,
            entries=entries,
            value_bytes=pieces.HEAD_BYTES + value_bytes,
            regions=[(8 * (name_bytes + _LENGTH_BYTES), False)],
            header={"kind": KIND, "name_bytes": name_bytes},
        )
        return cls(context, name)

    def __repr__(self) -> str:
        return f"<KeyValue {self.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key-value store lives on a drive in this process and cannot be pickled")

    # As a dict: equal if names and values are, all of which is read for that, and not hashable.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self is other or dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    @property
    def _long(self) -> Store | None:
        """The store of long names; None before there were any."""
        name = f"{self.name}/long"
        if self._found_long is None:
            finish_copy(self._context, name)
            if not is_part(self._context, name, self.name):
                return None
            self._found_long = Store(self._context, name)
        return self._found_long

    def _made_long(self) -> Store:
        if (found := self._long) is not None:
            return found
        self._found_long = Store.create(
            self._context,
            f"{self.name}/long",
            entries=self._short.entries,
            value_bytes=self._short.value_bytes,
            regions=[(_DIGEST_BITS, False), (8 * self.name_bytes, False)],
            header={"kind": "part", "of": self.name},
        )
        return self._found_long

    @property
    def entries(self) -> int:
        """Entries that there is room for."""
        return int(self._short.report()[0]["capacity"])

    @property
    def value_bytes(self) -> int:
        """Bytes of name and value, and four more, that an entry takes."""
        return self._short.value_bytes - pieces.HEAD_BYTES

    # A mapping

    def __getitem__(self, name: bytes) -> bytes:
        """The value of a name.

        Raises:
            KeyError: There is none.
        """
        key = _bytes("name", name)
        found = self.get_many([key])
        if key not in found:
            raise KeyError(name)
        return found[key]

    def get_many(self, names: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those of these names that there are, looked up together."""
        wanted = list(dict.fromkeys(_bytes("name", name) for name in names))
        found = dict[bytes, bytes]()
        most = min(_NAMES_AT_ONCE, self._short.terms_max)
        for begin in range(0, len(wanted), most):
            some = wanted[begin : begin + most]
            known = set(some)
            found.update(self._items(*self._exactly(some), known.__contains__))
        return found

    def estimate(self, name: bytes, *, entries: int = 1) -> Estimate:
        """What looking up a name would take of the drive as it is now, if it does nothing else.

        Nothing is carried out: that the name is there, and how many entries its item takes, 0 for none, is
        assumed.

        Raises:
            TypeError: Something else than bytes.
            UsageError: A long name, and there are none so far.
            NvmeError: What the drive reports.
        """
        short, long = self._exactly([_bytes("name", name)])
        store = self._long if long else self._short
        if store is None:
            raise UsageError(f"{self.name!r} has no names of more than {self.name_bytes} bytes")
        found = whole_number("entries", entries, 0, ENTRIES_MAX)
        # What a command writes of an item lies side by side: no more pages than that takes.
        return store.estimate(short or long, None, found, 1, count=False)

    def __contains__(self, name: object) -> bool:
        """Whether there is a name.

        Raises:
            TypeError: Something else than bytes, which is no name of any store.
        """
        key = _bytes("name", name)
        return key in self.get_many([key])

    def __setitem__(self, name: bytes, value: bytes) -> None:
        """Give a name a value.

        Raises:
            TypeError: Something else than bytes.
            UsageError: No room; more than one command carries.
            NvmeError: What the drive reports.
        """
        self.update([(name, value)])

    def update(  # type: ignore[override]
        self, items: "MutableMapping[bytes, bytes] | dict[bytes, bytes] | Iterable[tuple[bytes, bytes]]" = ()
    ) -> None:
        """Give many names values. Those of some 64 KiB together are there after a power cut, or none of them.

        Raises:
            TypeError: Something else than bytes.
            UsageError: No room; an item that is more than one command carries. Then nothing is written.
            NvmeError: What the drive reports.
        """
        pairs = items.items() if isinstance(items, Mapping) else items
        found = {_bytes("name", name): _bytes("value", value) for name, value in pairs}
        given = [Item(name, value) for name, value in found.items()]
        for item in given:
            self._check(item)
        for is_long in (False, True):
            some = [item for item in given if (len(item.name) > self.name_bytes) == is_long]
            if some:
                self._write(self._made_long() if is_long else self._short, some)

    def __delitem__(self, name: bytes) -> None:
        """Remove a name and its value.

        Raises:
            KeyError: There is none.
        """
        key = _bytes("name", name)
        short, long = self._exactly([key])
        gone = self._short.delete(short)
        if long and self._long is not None:
            gone += self._long.delete(long)
        if not gone:
            raise KeyError(name)

    def clear(self) -> None:
        """Remove all names."""
        for store in self._stores():
            store.delete(store.everything())

    def __iter__(self) -> Iterator[bytes]:
        size = pieces.BEFORE_NAME + self.name_bytes
        found = pieces.names_of(self._short.lookup(self._short.everything(), [(0, size)]), size)
        if self._long is not None:
            found += self._items([], self._long.everything(), lambda _: True)
        return iter(sorted(found))

    def popitem(self) -> tuple[bytes, bytes]:
        """Remove some name and give it with its value; names are read once for many of these calls.

        Raises:
            KeyError: There is none.
        """
        for read in (False, True):
            self._to_pop = sorted(self, reverse=True) if read else self._to_pop
            while self._to_pop:
                name = self._to_pop.pop()
                found = self.get(name)
                if found is not None:
                    del self[name]
                    return name, found
        raise KeyError(f"{self.name!r} is empty")

    def __len__(self) -> int:
        """How many names; all entries are looked at, of which items may have several."""
        firsts = (store.lookup(store.everything(), [pieces.NUMBER]) for store in self._stores())
        return sum(numbers[at : at + 4] == bytes(4) for numbers in firsts for at in range(0, len(numbers), 4))

    def __bool__(self) -> bool:
        return any(store.count(store.everything()) for store in self._stores())

    def items(self) -> Any:  # noqa: ANN401 (a view of a dict, which has no name of its own)
        """All names with their values, as they are now."""
        long = self._long
        everything = self._short.everything(), [] if long is None else long.everything()
        return self._items(*everything, lambda _: True).items()

    def values(self) -> Any:  # noqa: ANN401 (as above)
        """The values, as they are now, in the order of names."""
        return dict(self.items()).values()

    # Searches

    def prefix(self, prefix: bytes) -> dict[bytes, bytes]:
        """What has names that begin with these bytes, in the order of names."""
        begin = _bytes("prefix", prefix)
        known = Prefix(int.from_bytes(begin[: self.name_bytes], "big"), 8 * min(len(begin), self.name_bytes))
        short = [] if len(begin) > self.name_bytes else [[self._short_term(known)]]
        return self._items(short, [[self._long_term(known)]], lambda name: name.startswith(begin))

    def masked(self, name: bytes, mask: bytes) -> dict[bytes, bytes]:
        """What has names as long as this one that are the same in the bits that the mask has.

        Raises:
            UsageError: A mask of another length.
        """
        wanted, counts = _bytes("name", name), _bytes("mask", mask)
        if len(wanted) != len(counts):
            raise UsageError(f"a mask of {len(counts)} bytes for a name of {len(wanted)}: as many, please")
        number, ones = int.from_bytes(wanted, "big"), int.from_bytes(counts, "big")

        def is_meant(found: bytes) -> bool:
            return len(found) == len(wanted) and not (int.from_bytes(found, "big") ^ number) & ones

        if len(wanted) <= self.name_bytes:
            padding = b"\xff" * (self.name_bytes - len(wanted) + _LENGTH_BYTES)
            bits = 8 * (self.name_bytes + _LENGTH_BYTES)
            return self._items([[(0, bits, self._name_of(wanted), counts + padding)]], [], is_meant)
        first = wanted[: self.name_bytes], counts[: self.name_bytes]
        return self._items([], [[(1, 8 * self.name_bytes, *first)]], is_meant)

    def range(self, start: bytes | None = None, stop: bytes | None = None) -> dict[bytes, bytes]:
        """What has names from `start` on and before `stop`, in order; None is no bound."""
        least = b"" if start is None else _bytes("start", start)
        end = None if stop is None else _bytes("stop", stop)

        def is_meant(name: bytes) -> bool:
            return least <= name and (end is None or name < end)

        bits = 8 * (self.name_bytes + _LENGTH_BYTES)
        last = (1 << bits) - 1 if end is None else self._floor(end) - 1
        asked: Ranges = ((self._floor(least), last),) if self._floor(least) <= last else ()
        short = [[self._short_term(each)] for each in cover(asked, bits, _PREFIXES_MAX)[0]]
        bits -= 8 * _LENGTH_BYTES
        first = self._floor(least) >> 8 * _LENGTH_BYTES
        last = (1 << bits) - 1 if end is None else self._floor(end) >> 8 * _LENGTH_BYTES
        asked = ((first, last),) if first <= last else ()
        long = [[self._long_term(each)] for each in cover(asked, bits, _PREFIXES_MAX)[0]]
        return self._items(short, long, is_meant)

    def compact(self) -> None:
        """Give back the room of entries that were replaced or deleted, which writing does when there is none.

        What is there is copied to a new store, which takes the name when it is whole: the volume has to have
        room for both.

        Raises:
            NvmeError: What the drive reports.
        """
        for store in self._stores():
            self._compacted(store, [])

    def _compacted(self, store: Store, items: list[Item]) -> Store:
        """The store in little room, with these items in place of what had their names.

        Raises:
            UsageError: They do not fit so, either.
        """
        found = dict(pieces.items_of(store.lookup(store.everything()), store.value_bytes)[0])
        found.update(items)
        entries = sum(pieces.entry_count(Item(*each), store.value_bytes) for each in found.items())
        if entries > store.report()[0]["capacity"]:
            raise no_room(store, "entries")

        def copied(copy: Store) -> None:
            for _, records, count in self._records(copy, [Item(*each) for each in found.items()]):
                copy.append(records, count)

        fresh = compacted(self._context, store, of=self.name, copied=copied, changed=bool(items))
        if store is self._short:
            self._short = fresh
        else:
            self._found_long = fresh
        return fresh

    def delete(self) -> None:
        """Remove it from the drive with all it has."""
        unmade(self._context, self.name)

    def _check(self, item: Item) -> None:
        """Refuses what no command carries, or no store has room for, without looking at its bytes."""
        is_long = len(item.name) > self.name_bytes
        store = self._made_long() if is_long else self._short
        size, count = len(item.name) + len(item.value), pieces.entry_count(item, store.value_bytes)
        slot = store.value_bytes - pieces.HEAD_BYTES
        most = min(store.records_max * slot - pieces.NAME_LENGTH_BYTES, _ITEM_BYTES_MAX)
        if size > most:
            raise UsageError(
                f"a name and value of {size:,} bytes: one command, which writes all of an item or nothing, "
                f"carries {most:,} in entries of value_bytes = {slot}"
                + ("; larger ones carry more" if slot < 1024 else "")
            )
        if count > store.entries and count > (room := store.report()[0]["capacity"]):
            raise UsageError(
                f"a name and value of {size:,} bytes take {count:,} entries, and {self.name!r} has room for "
                f"{room:,}: make another with more (entries=) or larger ones (value_bytes=)"
            )

    def _write(self, store: Store, items: list[Item]) -> None:
        """Replace items, as many together as an update takes; a copy has them where there is no room."""
        written = 0
        for some, records, count in self._records(store, items):
            # The drive deletes by patterns in one go, and by the name of each entry, which those of an item
            # share, one by one.
            names = None if count == len(some) else self._exactly([item.name for item in some])
            groups = names and (names[0] or names[1])
            try:
                store.update(groups, records, count)
            except NvmeError as error:
                if not is_full(error):
                    raise
                self._compacted(store, items[written:])
                return
            written += len(some)

    def _records(self, store: Store, items: list[Item]) -> Iterator[tuple[list[Item], bytes, int]]:
        """As many items as are written together, their records, and how many these are."""
        some, records, count = list[Item](), bytearray(), 0
        together = min(_NAMES_AT_ONCE, store.terms_max)
        for item in items:
            more = pieces.entry_count(item, store.value_bytes)
            size = len(records) + more * store.record_bytes
            if count and (size > _UPDATE_BYTES or len(some) >= together):
                yield some, bytes(records), count
                some, records, count = [], bytearray(), 0
            name = self._name_of(item.name)
            records += b"".join(name + entry for entry in pieces.entries_of(item, store.value_bytes))
            some.append(item)
            count += more
        if count:
            yield some, bytes(records), count

    # How names are stored

    def _stores(self) -> list[Store]:
        return [store for store in (self._short, self._long) if store is not None]

    def _name_of(self, name: bytes) -> bytes:
        """The name that an item has on the drive."""
        if len(name) > self.name_bytes:
            return pieces.digest(name) + name[: self.name_bytes]
        return name.ljust(self.name_bytes, b"\0") + len(name).to_bytes(_LENGTH_BYTES, "big")

    def _floor(self, bound: bytes) -> int:
        """The least number that a short name from this bound on has, as the number that its bytes are."""
        if len(bound) <= self.name_bytes:
            return int.from_bytes(self._name_of(bound), "big")
        # Short names that begin like the bound are before it, and end in a length that is less than this.
        return int.from_bytes(bound[: self.name_bytes] + b"\xff" * _LENGTH_BYTES, "big")

    def _short_term(self, prefix: Prefix) -> Term:
        size = self.name_bytes + _LENGTH_BYTES
        return (0, 8 * size, *big_endian(prefix, size))

    def _long_term(self, prefix: Prefix) -> Term:
        return (1, 8 * self.name_bytes, *big_endian(prefix, self.name_bytes))

    def _exactly(self, names: Iterable[bytes]) -> tuple[Terms, Terms]:
        """What finds these names in the two stores."""
        short, long = Terms(), Terms()
        for name in names:
            if len(name) <= self.name_bytes:
                size = self.name_bytes + _LENGTH_BYTES
                short.append([(0, 8 * size, self._name_of(name), b"\xff" * size)])
            else:
                long.append([(0, _DIGEST_BITS, pieces.digest(name), b"\xff" * (_DIGEST_BITS // 8))])
        return short, long

    def _items(self, short: Terms, long: Terms, is_meant: Callable[[bytes], bool]) -> dict[bytes, bytes]:
        """What is found in the two stores and meant, by name."""
        found = list[Item]()
        for store, groups in ((self._short, short), (self._long if long else None, long)):
            if store is not None:
                items, stray = pieces.items_of(store.lookup(groups), store.value_bytes)
                meant = [item for item in items if is_meant(item.name)]
                store.dropped(stray + len(items) - len(meant))
                found += meant
        return dict(sorted(found))


def _bytes(what: str, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"{what}: bytes, not a {type(value).__name__}; encode() a text")
    return bytes(value)
