"""The workloads at reduced size with real data: what every platform computes is held against NumPy and sets.

```python
with bitline.open("flash-cosmos") as drive:
    job = segment(picture)
    assert is_right(store(drive, job), job, "flash-cosmos")
```
"""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitline.bits import BitExpression, BitVector
from bitline.drive import Drive
from bitline.platforms import Platform
from bitline.repro.flash_cosmos.workloads import DAYS

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Job:
    """Vectors by group, the query over them, and its result."""

    groups: Mapping[str, Sequence[Bits]]
    """The vectors of each group."""
    query: Callable[[Mapping[str, Sequence[BitVector]]], BitExpression]
    """What is asked of them."""
    expected: Bits
    """What comes out, computed without vectors on a drive."""


def store(drive: Drive, job: Job) -> BitExpression:
    """Write a job's vectors; what is to be evaluated."""
    return job.query({name: drive.group(name).write(rows) for name, rows in job.groups.items()})


def is_right(query: BitExpression, job: Job, platform: Platform) -> bool:
    """Whether a platform finds the result bit by bit, and drive and host count as many ones."""
    ones = int(job.expected.sum())
    counts = {query.count(platform), query.count(platform, where="host")}
    return counts == {ones} and bool(np.array_equal(query.read(platform), job.expected))


def index(months: int, users: int, seed: int) -> Job:
    """The bitmap index over made-up log-ins: most users skip some day, a few come every day."""
    random = np.random.default_rng(seed)
    # How likely a user is to log in on a day; one in four never misses one.
    habit = np.where(random.random(users) < 0.25, 1.0, random.uniform(0.5, 1.0, users))
    days = [random.random(users) < habit for _ in range(DAYS[months])]
    logins = np.sum(days, axis=0)
    return Job({"days": days}, lambda stored: reduce(and_, stored["days"]), logins == len(days))


@dataclass(frozen=True)
class Colour:
    """A box in the YUV space: what counts as a colour (CMVision, the paper's reference 135)."""

    name: str
    """Its name."""
    low: tuple[float, float, float]
    """Least Y (0 to 1), U and V (around 0)."""
    high: tuple[float, float, float]
    """Largest."""


#: Four colours that pictures of people and of things have.
COLOURS = (
    Colour("red", (0.10, -0.30, 0.12), (0.70, 0.05, 0.62)),
    Colour("blue", (0.05, 0.03, -0.35), (0.75, 0.44, 0.02)),
    Colour("skin", (0.35, -0.20, 0.03), (0.90, -0.01, 0.14)),
    Colour("white", (0.80, -0.06, -0.06), (1.01, 0.06, 0.06)),
)

#: Rows give Y, U and V of red, green and blue from 0 to 1 (ITU-R BT.601).
_YUV = np.array([[0.299, 0.587, 0.114], [-0.147, -0.289, 0.436], [0.615, -0.515, -0.100]])


def segment(picture: NDArray[np.generic], colours: Sequence[Colour] = COLOURS) -> Job:
    """Image segmentation: which pixels of a picture have which colour, all pixels of a colour after another.

    Args:
        picture: Rows of pixels of red, green, blue (and more, which is not looked at): bytes, or from 0 to 1.
        colours: What is looked for.
    """
    scale = 255.0 if np.issubdtype(picture.dtype, np.integer) else 1.0
    rgb = picture[..., :3].reshape(-1, 3).astype(np.float64) / scale
    yuv = rgb @ _YUV.T
    channels = [
        np.concatenate(
            [(colour.low[axis] <= yuv[:, axis]) & (yuv[:, axis] <= colour.high[axis]) for colour in colours]
        )
        for axis in range(3)
    ]
    boxes = [np.all((yuv >= colour.low) & (yuv <= colour.high), axis=1) for colour in colours]
    query = {"yuv": channels}
    return Job(query, lambda stored: reduce(and_, stored["yuv"]), np.concatenate(boxes))


def read_edges(path: Path) -> list[tuple[int, int]]:
    """The undirected edges of a graph, two vertices a line; the file may be compressed.

    Raises:
        OSError: It cannot be read.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="ascii") as lines:
        pairs = (line.split() for line in lines)
        return [(int(pair[0]), int(pair[1])) for pair in pairs]


def stars(edges: Sequence[tuple[int, int]], k: int, cliques: int) -> Job:
    """k-clique stars of a graph: the first so many k-cliques that are found, side by side.

    Raises:
        ValueError: The graph has fewer.
    """
    vertices = 1 + max(max(edge) for edge in edges)
    neighbours: list[set[int]] = [set() for _ in range(vertices)]
    for one, other in edges:
        if one != other:
            neighbours[one].add(other)
            neighbours[other].add(one)
    found = [clique[:k] for _, clique in zip(range(cliques), _maximal(neighbours, k), strict=False)]
    if len(found) < cliques:
        raise ValueError(f"the graph has {len(found)} maximal cliques of {k} vertices, not {cliques}")
    rows = np.zeros((vertices, vertices), np.bool_)
    for vertex, others in enumerate(neighbours):
        rows[vertex, list(others)] = True
    operands = [np.concatenate([rows[clique[i]] for clique in found]) for i in range(k)]
    members = np.zeros((cliques, vertices), np.bool_)
    expected = np.zeros((cliques, vertices), np.bool_)
    for number, clique in enumerate(found):
        members[number, clique] = True
        star = set.intersection(*(neighbours[vertex] for vertex in clique)) | set(clique)
        expected[number, list(star)] = True
    return Job(
        {"neighbours": operands, "cliques": [members.reshape(-1)]},
        lambda stored: reduce(and_, stored["neighbours"]) | stored["cliques"][0],
        expected.reshape(-1),
    )


def _maximal(neighbours: Sequence[set[int]], least: int) -> Iterator[list[int]]:
    """Maximal cliques of at least so many vertices, ascending (Bron and Kerbosch, with a pivot)."""
    stack: list[tuple[list[int], set[int], set[int]]] = [([], set(range(len(neighbours))), set())]
    while stack:
        clique, candidates, excluded = stack.pop()
        if not candidates and not excluded:
            if len(clique) >= least:
                yield sorted(clique)
            continue
        if len(clique) + len(candidates) < least:
            continue
        pivot = max(candidates | excluded, key=lambda vertex: (len(candidates & neighbours[vertex]), -vertex))
        for vertex in sorted(candidates - neighbours[pivot]):
            linked = neighbours[vertex]
            stack.append(([*clique, vertex], candidates & linked, excluded & linked))
            candidates = candidates - {vertex}
            excluded = excluded | {vertex}
