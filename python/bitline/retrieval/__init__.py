"""Retrieval by content: items in a drive, features made of them there, and what is nearest to a query.

```python
import numpy as np

import bitline
from bitline.networks import trained
from bitline.retrieval import Retrieval

rng = np.random.default_rng(1)
items = rng.integers(0, 17, (500, 64), dtype=np.int8)
network = trained(items, rng.integers(0, 4, 500), sizes=(32, 16)).without_last()
with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
    index = Retrieval(drive, network)
    index.add(items)
    answers = index.query(items[7:9], k=5)
    assert answers.numbers[0, 0] == 7 and answers.distances[0, 0] == 0
```

After TH-iSSD (TECS 2023), 4.1: features are made where the items are, and the scan of all features, too;
what crosses the link are the queries and the numbers of what was found (`Retrieval.fetch` brings an item).
"""

import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from bitline.arguments import whole_number
from bitline.cc import compiled
from bitline.errors import BitlineError, UsageError
from bitline.networks import Int8, Network, items_of
from bitline.streams import StreamError, Where
from bitline.tasks import TaskResult
from bitline.units import Duration

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Bytes of a piece of items or features: what `features.c` and `nearest.c` have room for.
_PIECE_BYTES = 256 << 10
#: As `nearest.c` has it: bytes of the queries' features, and numbers that are kept.
_QUERY_BYTES, _HITS = 64 << 10, 1 << 14
_NONE = 0xFFFFFFFF

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for a batch of queries."""

    numbers: Numbers
    """Of the items, in the order in which they were added: nearest first, of shape [queries, k]."""
    distances: Numbers
    """The square of the distance of each one's feature, of the same shape."""
    time: Duration
    """Simulated time from the question to the answer."""


def _module(name: str) -> bytes:
    return compiled(Path(__file__).with_name(f"{name}.c"))


class Retrieval:
    """Items of a drive that can be asked for by content."""

    def __init__(
        self,
        drive: "Drive",
        network: Network,
        *,
        name: str = "retrieval",
        elements: int = 0,
        where: Where = "drive",
    ) -> None:
        """Items that are kept as objects of the volume; those that are there can be asked for at once.

        Args:
            drive: Where they are.
            network: What makes features of them.
            name: Objects are called `name/items` and `name/features`, and end in `.new` and `.old` while
                others take their place.
            elements: Instances of each task; 0: the drive's choice.
            where: Who computes: the drive, or a card in the host, to compare with.

        Raises:
            UsageError: Items, features or a network larger than the tasks have room for; nobody to compute;
                objects of that name that are of another network.
        """
        sizes = ("items", network.input_size, _PIECE_BYTES), ("features", network.output_size, _QUERY_BYTES)
        for what, size, most in sizes:
            if size > most:
                raise UsageError(f"{what} of {size} bytes; the most is {most}")
        if where not in get_args(Where):
            raise UsageError(f"where = {where!r}; it must be {' or '.join(map(repr, get_args(Where)))}")
        network.check_room(drive)
        self._drive = drive
        self._network = network
        self._items, self._features = f"{name}/items", f"{name}/features"
        self._elements = whole_number("elements", elements, 0, 0xFFFF)
        self._where: Where = where
        self._count = self._kept()

    def _kept(self) -> int:
        """Items that are in the volume."""
        volume = self._drive.volume
        if self._items not in volume or self._features not in volume:
            return 0
        items, features = volume.handle(self._items).size, volume.handle(self._features).size
        count = items // self._network.input_size
        if (count * self._network.input_size, count * self._network.output_size) != (items, features):
            raise UsageError(
                f"{self._items!r} and {self._features!r} have {items} and {features} bytes: they are not "
                f"items of {self._network.input_size} and features of {self._network.output_size}"
            )
        return count

    def __repr__(self) -> str:
        return f"<Retrieval of {self._count} items of {self._drive!r}>"

    def __len__(self) -> int:
        return self._count

    @property
    def network(self) -> Network:
        """What makes features of items."""
        return self._network

    def add(self, items: Int8) -> TaskResult:
        """Keep items, in place of those that are there, and have the drive make features of them.

        Args:
            items: Of shape [items, numbers], int8 or uint8 up to 127.

        Returns:
            How the task ended, and how long it took.

        Raises:
            UsageError: They are no such array, or none; a full volume.
            StreamError: The task failed. As with any error, what was there is still there, and nothing else.
        """
        rows = items_of(items, self._network.input_size)
        if not len(rows):
            raise UsageError("there are no items to add")
        try:
            self._drive.volume[f"{self._items}.new"] = rows.tobytes()
            self._drive.volume[f"{self._features}.new"] = bytes(len(rows) * self._network.output_size)
            with self._drive.streams.open(
                f"{self._items}.new",
                task=_module("features"),
                params=self._network.params,
                to=f"{self._features}.new",
                piece_size=self._piece(self._network.input_size),
                elements=self._elements,
                where=self._where,
            ) as stream:
                result = stream.result
            if not result:
                raise StreamError(result)
            self._take_their_place()
        except BaseException:
            self._remove(".new")
            raise
        self._count = len(rows)
        self._remove(".old")
        return result

    def _take_their_place(self) -> None:
        """Give what is new the names of what is there, which becomes old: of both objects, or of none."""
        self._remove(".old")
        volume, names = self._drive.volume, (self._items, self._features)
        known = [name for name in names if name in volume]
        try:
            for name in names:
                if name in known:
                    volume.rename(name, f"{name}.old")
                volume.rename(f"{name}.new", name)
        except BaseException:
            for name in names:
                with suppress(BitlineError):
                    if name in volume and (name not in known or f"{name}.old" in volume):
                        del volume[name]
                    if f"{name}.old" in volume:
                        volume.rename(f"{name}.old", name)
            raise

    def _remove(self, end: str) -> None:
        """Remove the objects whose names end so; what cannot be removed stays until the next try."""
        for name in (f"{self._items}{end}", f"{self._features}{end}"):
            with suppress(BitlineError):
                if name in self._drive.volume:
                    del self._drive.volume[name]

    def query(self, items: Int8, *, k: int = 10) -> Answers:
        """What is nearest to items; their features are made in the drive, too.

        Args:
            items: A batch of queries, of shape [queries, numbers].
            k: How many are found for each, nearest first; of equally near ones those that were added first.

        Raises:
            UsageError: Items that are no such array; more than there are, or than the task keeps; none were
                added.
            StreamError: A task failed.
        """
        self._check_items()
        rows = items_of(items, self._network.input_size)
        size = self._network.output_size
        whole_number("k", k, 1, self._count)
        if not len(rows) or len(rows) * size > _QUERY_BYTES or len(rows) * k > _HITS:
            raise UsageError(
                f"{len(rows)} queries for {k} items each: there are 1 to {_QUERY_BYTES // size} queries, "
                f"and at most {_HITS} items are found together"
            )
        begin = self._drive.now
        features = self._features_of(rows)
        with self._drive.streams.open(
            self._features,
            task=_module("nearest"),
            params=struct.pack("<3I", len(rows), size, k) + features,
            piece_size=self._piece(size),
            elements=self._elements,
            where=self._where,
        ) as stream:
            emitted = stream.read()
        found = np.frombuffer(emitted, "<u4").reshape(-1, len(rows), k, 2).astype(np.int64)
        # Of each query, what all elements have found.
        pairs = found.transpose(1, 0, 2, 3).reshape(len(rows), -1, 2)
        order = np.lexsort((pairs[:, :, 1], pairs[:, :, 0]))[:, :k]
        nearest = np.take_along_axis(pairs, order[:, :, None], axis=1)
        return Answers(nearest[:, :, 1], nearest[:, :, 0], self._drive.now - begin)

    def _features_of(self, rows: Int8) -> bytes:
        with self._drive.streams.open(
            None,
            task=_module("features"),
            params=self._network.params,
            piece_size=self._piece(self._network.input_size),
            elements=1,
            where=self._where,
        ) as stream:
            stream.write(rows.tobytes())
            stream.finish()
            return stream.read()

    def _piece(self, size: int) -> int:
        """Bytes of a piece: some items, few enough that all elements have some."""
        each = max(1, min(_PIECE_BYTES, 16 << 10) // size)
        return max(each * size, 512 // size * size, -(-512 // size) * size)

    def fetch(self, number: int) -> Int8:
        """An item, by its number: it crosses the link."""
        self._check_items()
        size = self._network.input_size
        whole_number("number", number, 0, self._count - 1)
        data = self._drive.volume.handle(self._items).read(number * size, size)
        return np.frombuffer(data, np.int8)

    def features(self) -> Int8:
        """The features of all items, of shape [items, numbers]: they cross the link."""
        self._check_items()
        data = self._drive.volume[self._features]
        return np.frombuffer(bytes(data), np.int8).reshape(-1, self._network.output_size)

    def _check_items(self) -> None:
        if not self._count:
            raise UsageError(f"there are no items in {self._items!r} to be asked for: add some first")


def nearest(features: Int8, queries: Int8, k: int) -> tuple[Numbers, Numbers]:
    """What `Retrieval.query` finds, by NumPy: numbers and squares of distances, of shape [queries, k]."""
    apart = queries.astype(np.int64)[:, None] - features.astype(np.int64)[None]
    distances: Numbers = (apart**2).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


def recall(numbers: Numbers, wanted: Numbers) -> float:
    """What share of the items that are wanted was found, 0 to 1: both of shape [queries, k]."""
    pairs = zip(numbers, wanted, strict=True)
    return float(np.mean([len(set(found) & set(want)) / len(want) for found, want in pairs]))


def label_recall(numbers: Numbers, labels: Numbers, wanted: Numbers) -> float:
    """What share of the items that were found has the label of its query, 0 to 1.

    Args:
        numbers: Of the items, of shape [queries, k].
        labels: Of all items.
        wanted: Of each query.
    """
    return float(np.mean(labels[numbers] == np.asarray(wanted)[:, None]))
