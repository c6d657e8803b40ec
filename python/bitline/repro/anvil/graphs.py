"""Graphs: the edges of every vertex that SSSP visits, found by four indexes (Figures 15 to 17).

Every vertex with edges is visited once, as in a traversal that reaches all of them. *IM* reads its edges,
whose place an adjacency list in host memory tells; *OOM* reads a page of that list first; *ANVIL-U* looks the
vertex up in its search region, and *ANVIL-O* reads the edges of heavy vertices from their list and looks all
others up (6.2). Visits are one after the other, each at the cost that was measured for so many edges.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitline.repro.anvil.drives import PAGE_BYTES, ROW_NAMES, Bench, Cost, Table1, number, numbered
from bitline.search.graph import EDGES_PER_REGION, grouped

#: Bytes of an edge: the vertex that it leads to, and a weight.
EDGE_BYTES = 8
#: Bits of a name (8.3: "the 64 B search name", of which SSD-B's 48 are less; both are bits).
NAME_BITS = 64
#: Bytes of a vertex in an adjacency list: a pointer and metadata (8.3); metadata is there in every index.
POINTER_BYTES, METADATA_BYTES = 4, 4
#: Bytes of an entry of the compressed index: last vertex, place, count.
ENTRY_BYTES = 12
#: Who finds edges.
INDEXES = ("IM", "OOM", "ANVIL-U", "ANVIL-O")

#: The initiator of Graph500's Kronecker graphs, and edges for each vertex.
_INITIATOR = (0.57, 0.19, 0.19, 0.05)
_EDGE_FACTOR = 16
#: Edges that are drawn at a time.
_AT_ONCE = 1 << 22

Degrees = NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """A graph to be made: how many edges each vertex has is all that time depends on."""

    name: str
    """What it is called."""
    degrees: Callable[[Callable[[float], object]], Degrees]
    """Makes the degrees; tells which share of them is done."""


@dataclass(frozen=True)
class Visit:
    """What the visit of a vertex takes by its edges, on one drive."""

    drive: str
    """Which."""
    edges: tuple[int, ...]
    """Edges for which lookups were measured: powers of two up to a row of names."""
    lookups: tuple[Cost, ...]
    """A lookup of so many."""
    pages: tuple[int, ...]
    """Pages for which reads were measured."""
    reads: tuple[Cost, ...]
    """A read of so many, by one command."""
    scan: Cost
    """A page of a scan, which the link is busy with."""
    table: Table1
    """What the drive is."""


@dataclass(frozen=True)
class Traversal:
    """A graph on a drive, with all four indexes."""

    graph: str
    """Which."""
    drive: str
    """On which."""
    vertices: int
    """All vertices."""
    edges: int
    """All edges, each in both directions."""
    visited: int
    """Vertices with edges."""
    regions: int
    """Search regions, each a row of names."""
    heavy: int
    """Vertices with a list."""
    costs: Mapping[str, Cost]
    """Of all visits, by index."""
    visit: Visit
    """What visits take."""

    def busiest(self, index: str) -> float:
        """Nanoseconds that the busiest of link, channels and dies needs for all visits."""
        cost, table = self.costs[index], self.visit.table
        senses = (cost.activations - cost.searches) * table.read_ns + cost.searches * table.search_ns
        return max(
            cost.link_bytes / PAGE_BYTES * self.visit.scan.ns,
            cost.channel_bytes / table.channel_bytes_per_ns,
            senses / table.dies,
        )

    @property
    def index_bytes(self) -> int:
        """Host memory of ANVIL-O's index."""
        return self.vertices * METADATA_BYTES + (self.regions + self.heavy) * ENTRY_BYTES

    @property
    def adjacency_bytes(self) -> int:
        """Host memory of an adjacency list."""
        return self.vertices * (METADATA_BYTES + POINTER_BYTES)


def kronecker(scale: int, seed: int = 20) -> Graph:
    """A Kronecker graph of Graph500: 2^scale vertices, 16 times as many edges, each in both directions."""

    def degrees(told: Callable[[float], object]) -> Degrees:
        found = np.zeros(1 << scale, np.int64)
        done = 0
        for ends in kronecker_edges(scale, seed):
            for end in ends:
                found += np.bincount(end, minlength=1 << scale)
            done += len(ends[0])
            told(done / (_EDGE_FACTOR << scale))
        return np.random.default_rng(seed).permutation(found)

    return Graph(f"Kron{scale}", degrees)


def kronecker_edges(scale: int, seed: int) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """The edges of a Kronecker graph, some at a time, each once: 16 for each of 2^scale vertices."""
    random = np.random.default_rng(seed)
    # Two levels at a time: which of 16 quadrants, drawn by 16 bits.
    pairs = np.outer(_INITIATOR, _INITIATOR).reshape(-1)
    ends = np.round(np.cumsum(pairs) * (1 << 16)).astype(np.int64)
    drawn = np.repeat(np.arange(16, dtype=np.uint8), np.diff(ends, prepend=0))
    # A quadrant of a level is a bit of the row and one of the column.
    row = ((drawn >> 3 & 1) << 1 | drawn >> 1 & 1).astype(np.uint8)
    column = ((drawn >> 2 & 1) << 1 | drawn & 1).astype(np.uint8)
    edges = _EDGE_FACTOR << scale
    for first in range(0, edges, _AT_ONCE):
        count = min(_AT_ONCE, edges - first)
        rows, columns = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
        for level in range(0, scale, 2):
            # Of an odd scale the last level is half of a pair.
            bits = min(2, scale - level)
            some = random.integers(0, 1 << 16, count, np.uint16)
            rows = rows << np.uint32(bits) | row[some] >> np.uint8(2 - bits)
            columns = columns << np.uint32(bits) | column[some] >> np.uint8(2 - bits)
        yield rows, columns


def lattice(vertices: int, edges: int, seed: int = 21) -> Graph:
    """A square lattice of which some edges are missing: degrees of roads."""

    def degrees(told: Callable[[float], object]) -> Degrees:
        random = np.random.default_rng(seed)
        side = round(vertices**0.5)
        kept = edges / (2 * side * side)
        found = np.zeros((side, side), np.int64)
        for axis in (0, 1):
            there = random.random((side, side)) < kept
            found += there
            found += np.roll(there, 1, axis)
        told(1.0)
        return found.reshape(-1)

    return Graph("Lattice", degrees)


def uniform(vertices: int, edges: int, seed: int = 22) -> Graph:
    """Edges between any two vertices: degrees of citations, without the few that have many."""

    def degrees(told: Callable[[float], object]) -> Degrees:
        found = np.random.default_rng(seed).poisson(edges / vertices, vertices)
        told(1.0)
        return found.astype(np.int64)

    return Graph("Uniform", degrees)


def evaluated(*, quick: bool) -> list[Graph]:
    """Graphs like those of Table 2, as far as they can be made: all smaller if `quick`."""
    less = 16 if quick else 1
    scales = (16, 18) if quick else (20, 25)
    roads, patents = (1_900_000, 2_700_000), (3_700_000, 16_500_000)
    return [
        lattice(roads[0] // less, roads[1] // less),
        uniform(patents[0] // less, patents[1] // less),
        *(kronecker(scale) for scale in scales),
    ]


def visits(bench: Bench) -> Visit:
    """Measure what visits take."""
    region = bench.region(NAME_BITS, EDGE_BYTES, 2)
    size = NAME_BITS // 8
    region.append(numbered(ROW_NAMES, size))
    bench.settle()
    edges = tuple(1 << power for power in range(ROW_NAMES.bit_length()))
    lookups = []
    for count in edges:
        mask = (0xFFFFFFFF & ~(count - 1)).to_bytes(4, "big") + b"\xff" * (size - 4)
        first = ROW_NAMES // 2 // count * count
        lookups.append(region.costs([region.masked(number(first, size), mask)] * 2))
    pages = (1, 2, 4, 8, 16, 32, 64)
    reads = tuple(bench.read(count) for count in pages)
    return Visit(bench.name, edges, tuple(lookups), pages, reads, bench.scan(), bench.table)


def traversed(graph: str, degrees: Degrees, visit: Visit) -> Traversal:
    """The visits of all vertices of a graph, weighed by what was measured."""
    heavy = EDGES_PER_REGION
    has = degrees[degrees > 0]
    groups = list(grouped(np.flatnonzero(degrees), has, EDGES_PER_REGION, heavy))
    lists = sum(group.is_list for group in groups)
    begin = (np.cumsum(has) - has) * EDGE_BYTES
    pages = (begin + has * EDGE_BYTES - 1) // PAGE_BYTES - begin // PAGE_BYTES + 1
    # Pages and edges of which several vertices have as many are weighed once.
    page_counts, page_times = np.unique(pages, return_counts=True)
    edge_counts, edge_times = np.unique(has, return_counts=True)
    light = edge_counts < heavy
    reads = _sum(visit.pages, visit.reads, page_counts, page_times)
    of_light = _sum(visit.edges, visit.lookups, edge_counts[light], edge_times[light])
    of_heavy = _sum(visit.edges, visit.lookups, edge_counts[~light], edge_times[~light])
    heavy_pages, heavy_times = np.unique(pages[has >= heavy], return_counts=True)
    costs = {
        "IM": reads,
        "OOM": reads + float(len(has)) * visit.reads[0],
        "ANVIL-U": of_light + of_heavy,
        "ANVIL-O": of_light + _sum(visit.pages, visit.reads, heavy_pages, heavy_times),
    }
    regions = len(groups) - lists
    return Traversal(
        graph, visit.drive, len(degrees), int(degrees.sum()), len(has), regions, lists, costs, visit
    )


def _sum(
    known: tuple[int, ...], costs: tuple[Cost, ...], counts: NDArray[np.int64], times: NDArray[np.int64]
) -> Cost:
    """The sum over so many times each of these counts; beyond the last measured one cost is in proportion."""
    most = known[-1]
    inside = np.minimum(counts, most)
    beyond = np.maximum(counts / most, 1.0) * times
    columns = zip(*(cost.values() for cost in costs), strict=True)
    return Cost(*(float((np.interp(inside, known, column) * beyond).sum()) for column in columns))
