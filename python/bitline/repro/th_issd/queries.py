"""Queries of 4.1: features of items, what is nearest to them among the features of 350 GB, and these items.

```python
from bitline.repro.th_issd import queries
from bitline.repro.th_issd.systems import OURS

points = queries.measured(workloads=["object-detection"], batches=(1, 16), systems=[OURS], scale=100)
assert points[1].throughput > points[0].throughput
```
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import bitline
from bitline.pending import Pending
from bitline.repro.th_issd.systems import INFORMATION_RETRIEVAL, RETRIEVING, System, fill, opened
from bitline.repro.th_issd.workloads import BATCHES, KEPT, WORKLOADS, Workload, module, scan_params


@dataclass(frozen=True)
class Query:
    """What a batch of queries takes, on a drive that does nothing else."""

    system: System
    """One of `SYSTEMS`."""
    workload: str
    """A key of `WORKLOADS`."""
    batch: int
    """Queries that are asked together."""
    features_ns: float
    """Reading their items and making features of them."""
    scan_ns: float
    """Looking through the features of all items."""
    fetch_ns: float
    """Reading the items that were found, into the host's memory."""

    @property
    def latency_ns(self) -> float:
        """From the question to the last item."""
        return self.features_ns + self.scan_ns + self.fetch_ns

    @property
    def throughput(self) -> float:
        """Queries a second."""
        return self.batch * 1e9 / self.latency_ns


@dataclass(frozen=True)
class Build:
    """What features of items take while they are made in one go."""

    system: System
    workload: str
    items: int
    """Items of which they were made: a share of all."""
    ns: float

    @property
    def items_per_second(self) -> float:
        """Features a second."""
        return self.items * 1e9 / self.ns


def _items(drive: bitline.Drive, workload: Workload, batches: Sequence[int]) -> None:
    """The items of queries, and those that they will find."""
    for batch in batches:
        fill(drive, f"queries/{batch}", batch * workload.item_bytes)
    fill(drive, "found", max(batches) * KEPT * workload.item_bytes)


def measured(
    *,
    workloads: Iterable[str] = tuple(WORKLOADS),
    batches: Sequence[int] = BATCHES,
    systems: Iterable[System] = RETRIEVING,
    scale: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Query]:
    """Batches of queries, by workload, system and size of the batch in this order.

    Args:
        workloads: Keys of `WORKLOADS`.
        batches: Queries that are asked together.
        systems: Of `SYSTEMS`.
        scale: By how much the data are less than 350 GB.
        progress: Told how many batches are done.
    """
    found: list[Query] = []
    systems = list(systems)
    for name in workloads:
        workload = WORKLOADS[name]
        for system in systems:
            with opened(INFORMATION_RETRIEVAL, system) as drive:
                each = workload.feature_bytes
                fill(drive, "index", max(workload.items // scale, 1) * each)
                _items(drive, workload, batches)
                _once(drive, system, workload, batches[0])  # modules are loaded, and the card is up
                for batch in batches:
                    times = _once(drive, system, workload, batch)
                    found.append(Query(system, name, batch, *times))
                    progress(len(found))
    return found


def _once(drive: bitline.Drive, system: System, workload: Workload, batch: int) -> tuple[float, float, float]:
    begin = drive.now.ns
    with drive.streams.open(
        f"queries/{batch}",
        task=module("network"),
        params=workload.params,
        piece_size=workload.item_bytes,
        elements=1,
        where=system.where,
    ) as stream:
        features = stream.read()
    made = drive.now.ns
    bytes_each = workload.feature_bytes
    with drive.streams.open(
        "index",
        task=module("scan"),
        params=scan_params(batch, bytes_each, features),
        piece_size=(256 << 10) // bytes_each * bytes_each,
        where=system.where,
    ) as stream:
        stream.read()
    scanned = drive.now.ns
    items = drive.volume.handle("found")
    reads: list[Pending[bytes]] = [
        items.submit_read(at * workload.item_bytes, workload.item_bytes) for at in range(batch * KEPT)
    ]
    for read in reads:
        read.result()
    return made - begin, scanned - made, drive.now.ns - scanned


def built(
    *,
    workloads: Iterable[str] = tuple(WORKLOADS),
    systems: Iterable[System] = RETRIEVING,
    items: int = 200,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Build]:
    """Features of the first items in one go, written to the drive.

    Args:
        workloads: Keys of `WORKLOADS`.
        systems: Of `SYSTEMS`.
        items: How many.
        progress: Told how many are done.
    """
    found: list[Build] = []
    systems = list(systems)
    for name in workloads:
        workload = WORKLOADS[name]
        for system in systems:
            with opened(INFORMATION_RETRIEVAL, system) as drive:
                fill(drive, "items", items * workload.item_bytes)
                drive.volume["features"] = bytes(items * workload.feature_bytes)
                with drive.streams.open(
                    "items",
                    task=module("network"),
                    params=workload.params,
                    piece_size=workload.item_bytes,
                    to="features",
                    where=system.where,
                ) as stream:
                    taken = stream.result.time.ns
                found.append(Build(system, name, items, taken))
                progress(len(found))
    return found
