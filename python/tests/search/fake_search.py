"""A drive's `Search` in a few lines of NumPy: the library is tested over it, and it tells what is right."""
# ruff: noqa: D102 (its methods are those of `SearchGlue`)

import json
import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bitline.errors import NotFoundError, NvmeError, UsageError
from bitline.search.store import PARTS_MAX, TERMS_MAX, Parts, Terms

Bytes = NDArray[np.uint8]


@dataclass
class Data:
    """One store: every entry that was appended, and which of them are there still."""

    room: int
    value_bytes: int
    regions: list[tuple[int, bool]]
    schema: bytes
    names: list[Bytes] = field(default_factory=list)
    masks: list[Bytes] = field(default_factory=list)
    values: Bytes = field(default_factory=lambda: np.empty((0, 0), np.uint8))
    live: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))


class FakeSearch:
    """As `_bitline.Search`. `false_positives`: how likely a lookup gives an entry that does not match."""

    def __init__(self, false_positives: float = 0.0, seed: int = 20) -> None:
        self.stores: dict[str, Data] = {}
        self.thread = threading.get_ident()
        self.false_positives = false_positives
        self.random = np.random.default_rng(seed)
        self.asked: list[tuple[str, str, Terms, Parts]] = []
        """Each lookup, count, delete and update: which, of what, groups and parts."""

    def create(
        self, name: str, entries: int, value_bytes: int, names: list[tuple[int, bool]], schema: bytes
    ) -> None:
        if name in self.stores:
            raise UsageError(f"the name {name!r} is taken")
        assert entries > 0
        assert 1 <= value_bytes <= 1 << 24
        assert names
        assert all(1 <= bits <= 8192 for bits, _ in names)
        data = Data(entries, value_bytes, list(names), bytes(schema))
        for bits, _ in names:
            data.names.append(np.empty((0, -(-bits // 8)), np.uint8))
            data.masks.append(np.empty((0, -(-bits // 8)), np.uint8))
        data.values = np.empty((0, value_bytes), np.uint8)
        self.stores[name] = data

    def _of(self, name: str) -> Data:
        if threading.get_ident() != self.thread:
            raise UsageError("this drive was opened in another thread")
        if name not in self.stores:
            raise NotFoundError(f"there is no {name!r}")
        return self.stores[name]

    def open(self, name: str) -> tuple[int, int, list[tuple[int, bool]], bytes]:
        data = self._of(name)
        return data.room, data.value_bytes, list(data.regions), data.schema

    def names(self) -> list[str]:
        return sorted(self.stores)

    def remove(self, name: str) -> None:
        self._of(name)
        del self.stores[name]

    def append(self, name: str, records: bytes, count: int) -> int:
        data = self._of(name)
        rows = np.frombuffer(records, np.uint8).reshape(count, -1)
        if len(data.live) + count > data.room:
            raise NvmeError("no row is left", "append", "Search Region Full", 7, 0x12)
        at = 0
        for region, (bits, ternary) in enumerate(data.regions):
            size = -(-bits // 8)
            padding = np.unpackbits(rows[:, at : at + size], axis=1, bitorder="little")[:, bits:]
            assert not padding.any(), "bits behind a name"
            data.names[region] = np.vstack([data.names[region], rows[:, at : at + size]])
            at += size
            cares = rows[:, at : at + size] if ternary else np.full((count, size), 255, np.uint8)
            data.masks[region] = np.vstack([data.masks[region], cares])
            at += size * ternary
        assert rows.shape[1] == at + data.value_bytes, "a record of another length"
        data.values = np.vstack([data.values, rows[:, at:]])
        first = len(data.live)
        data.live = np.concatenate([data.live, np.ones(count, bool)])
        return first

    def _matching(self, data: Data, groups: Terms) -> NDArray[np.bool_]:
        assert groups
        assert all(groups)
        assert sum(map(len, groups)) <= TERMS_MAX
        found = np.zeros(len(data.live), bool)
        for group in groups:
            every = data.live.copy()
            for region, bits, name, mask in group:
                assert 1 <= bits <= data.regions[region][0]
                assert len(name) == len(mask) == -(-bits // 8)
                size = len(name)
                wanted, counts = np.frombuffer(name, np.uint8), np.frombuffer(mask, np.uint8)
                differs = (data.names[region][:, :size] ^ wanted) & counts & data.masks[region][:, :size]
                every &= ~differs.any(axis=1)
            found |= every
        return found

    def _found(self, data: Data, groups: Terms) -> NDArray[np.bool_]:
        mistaken = self.random.random(len(data.live)) < self.false_positives
        return self._matching(data, groups) | data.live & mistaken

    def lookup(
        self, name: str, groups: Terms, parts: Parts, numbers: bool = False, pages: bool = False
    ) -> tuple[bytes, bytes]:
        data = self._of(name)
        self.asked.append(("lookup", name, groups, parts))
        assert len(parts) <= PARTS_MAX
        patterns = sum(4 + len(term[2]) + len(term[3]) for group in groups for term in group)
        assert 4 + 2 * len(groups) + patterns + 8 * len(parts) <= 1 << 18, "a query that is too long"
        assert all(0 <= first < first + size <= data.value_bytes for first, size in parts)
        where = np.flatnonzero(self._found(data, groups))
        wanted = [
            data.values[where, first : first + size] for first, size in parts or [(0, data.value_bytes)]
        ]
        records = np.ascontiguousarray(np.hstack(wanted)).tobytes()
        return records, where.astype("<u8").tobytes() if numbers else b""

    def count(self, name: str, groups: Terms) -> int:
        self.asked.append(("count", name, groups, []))
        data = self._of(name)
        return int(self._found(data, groups).sum())

    def estimate(
        self, name: str, groups: Terms, parts: Parts, matches: int, pages: int | None, count: bool
    ) -> str:
        """A microsecond an entry, and a picojoule."""
        self._matching(self._of(name), groups)
        busy = ("array", "channel", "accelerator", "link", "cores", "dram", "host")
        told = {f"{part}_ns": 0.0 for part in busy}
        return json.dumps(
            {**told, "time_ns": 1e3 * matches, "bottleneck": "array", "energy_pj": matches, "energy": []}
        )

    def delete(self, name: str, groups: Terms) -> int:
        self.asked.append(("delete", name, groups, []))
        data = self._of(name)
        gone = self._matching(data, groups)
        data.live &= ~gone
        return int(gone.sum())

    def update(self, name: str, groups: Terms | None, records: bytes, count: int) -> tuple[int, int]:
        data = self._of(name)
        if groups is None:
            rows = np.frombuffer(records, np.uint8).reshape(count, -1)
            size = data.names[0].shape[1]
            known = {row.tobytes() for row in rows[:, :size]}
            gone = np.array([row.tobytes() in known for row in data.names[0]], bool) & data.live
        else:
            gone = self._matching(data, groups)
        self.asked.append(("update", name, groups or [], []))
        first = self.append(name, records, count)
        data.live[: len(gone)] &= ~gone
        return first, int(gone.sum())

    def report(self, name: str) -> str:
        data = self._of(name)
        regions = [
            {
                "region": number,
                "name_bits": bits,
                "ternary": int(ternary),
                "capacity": data.room,
                "entries": len(data.live),
                "live": int(data.live.sum()),
                "value_bytes": data.value_bytes,
            }
            for number, (bits, ternary) in enumerate(data.regions)
        ]
        return json.dumps(regions)


class FakeFiles:
    """The files of a volume, in a dict, and the names of its stores."""

    def __init__(self, search: FakeSearch | None = None) -> None:
        self.search = search
        self.files: dict[str, bytes] = {}

    def write(self, name: str, data: bytes) -> None:
        self.files[name] = data

    def read(self, name: str, offset: int = 0, size: int | None = None) -> bytes:
        return self.files[name][offset : None if size is None else offset + size]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def remove(self, name: str) -> None:
        self.files.pop(name, None)

    def rename(self, old: str, new: str) -> None:
        assert self.search is not None
        assert new not in self.search.stores
        self.search.stores[new] = self.search.stores.pop(old)
