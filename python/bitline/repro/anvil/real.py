"""The workloads with real data: what the drive finds is held against NumPy and a queue of vertices.

```python
with bitline.open("anvil-ssd-a", set=SMALLER) as drive:
    assert customers(drive, Customers(warehouses=2, queries=20))
```
"""

import heapq
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bitline.demo import generate
from bitline.drive import Drive
from bitline.opening import Setting
from bitline.repro.anvil.graphs import kronecker_edges
from bitline.repro.anvil.oltp import Customers

#: Pages, and so rows of names, that are a quarter as long, so that names of small tables are on flash, too.
SMALLER: Mapping[str, Setting] = {"nand.geometry.page_bytes": 4096, "nand.geometry.blocks_per_plane": 256}
#: Names of such a row.
_ROW_NAMES = 8 * 4096

#: TPC-H's Query 6, as TPC-H's columns have it.
QUERY_6 = (
    "l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' "
    "and l_discount between 0.05 and 0.07 and l_quantity < 24"
)


def customers(drive: Drive, made: Customers) -> bool:
    """Store TPC-C's customers; whether the drive finds those of every query, and no others."""
    drive.search.table("customer", made.table(), indexes=[("warehouse", "district", "last")])
    return customers_found(drive, made)


def customers_found(drive: Drive, made: Customers) -> bool:
    """Whether the drive finds the customers of every query, and no others."""
    table, found = made.table(), drive.search.table("customer")
    last, warehouse, district = (table[name].to_numpy() for name in ("last", "warehouse", "district"))
    for number in range(made.queries):
        one, two, name = made.asked(number)
        rows = found.where(f"warehouse = {one} and district = {two} and last = {name}", columns=["customer"])
        expected = np.flatnonzero((warehouse == one) & (district == two) & (last == name))
        if not np.array_equal(rows["customer"].to_numpy(), table["customer"].to_numpy()[expected]):
            return False
    return True


def line_items(drive: Drive, scale: float) -> bool:
    """Whether the drive finds the rows of TPC-H's Query 6 at a scale factor, in their order."""
    items = generate(scale)
    indexes = [("l_shipdate", "l_discount", "l_quantity")]
    table = drive.search.table("lineitem", items.table(), indexes=indexes)
    found = table.where(QUERY_6, columns=["l_extendedprice"])
    year = (items.ship_date >= np.datetime64("1994-01-01")) & (items.ship_date < np.datetime64("1995-01-01"))
    discount = (items.discount >= 5) & (items.discount <= 7)
    kept = np.flatnonzero(year & discount & (items.quantity < 24))
    return bool(found.equals(items.table().select(["l_extendedprice"]).take(kept)))


def shortest_paths(drive: Drive, scale: int, seed: int = 20) -> bool:
    """Whether the drive's edges give the shortest paths of a Kronecker graph from its busiest vertex."""
    one, other = (np.concatenate(ends) for ends in zip(*kronecker_edges(scale, seed), strict=True))
    sources, targets = np.concatenate([one, other]), np.concatenate([other, one])
    weights = np.random.default_rng(seed).integers(1, 256, len(sources)).astype(np.float64)
    edges, most = (sources, targets, weights), {"edges_per_region": _ROW_NAMES, "heavy_degree": 512}
    graph = drive.search.graph("kron", edges, vertices=1 << scale, **most)
    start = int(np.bincount(sources).argmax())
    return bool(np.array_equal(graph.sssp(start), _paths(sources, targets, weights, start, 1 << scale)))


def _paths(
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    weights: NDArray[np.float64],
    start: int,
    vertices: int,
) -> NDArray[np.float64]:
    """Dijkstra's shortest paths; infinite where none leads."""
    order = np.argsort(sources, kind="stable")
    ends = np.searchsorted(sources[order], np.arange(vertices + 1))
    found = np.full(vertices, np.inf)
    found[start] = 0
    waiting = [(0.0, start)]
    while waiting:
        length, vertex = heapq.heappop(waiting)
        if length > found[vertex]:
            continue
        for edge in order[ends[vertex] : ends[vertex + 1]]:
            through = length + weights[edge]
            if through < found[targets[edge]]:
                found[targets[edge]] = through
                heapq.heappush(waiting, (through, int(targets[edge])))
    return found
