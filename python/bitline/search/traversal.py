"""Ways through a graph, of which whoever asks gives the edges of many vertices at a time."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitline.errors import UsageError


def breadth_first(
    vertices: int, start: int, edges_of: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[np.int64]:
    """How many edges each vertex is away from one; -1 of those that cannot be reached."""
    away = np.full(vertices, -1, np.int64)
    reached = _first(vertices, start)
    steps = 0
    while len(reached):
        away[reached] = steps
        steps += 1
        targets = np.unique(edges_of(reached)["target"])
        reached = targets[away[targets] < 0]
    return away


def shortest_paths(
    vertices: int, start: int, edges_of: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[np.float64]:
    """How far each vertex is away from one; infinite of those that cannot be reached.

    All vertices that came nearer are looked at together (Bellman and Ford), so that a few large lookups do
    the work of many small ones.

    Raises:
        UsageError: Edges of a negative sum lead in a circle.
    """
    away = np.full(vertices, np.inf)
    nearer = _first(vertices, start)
    away[nearer] = 0
    rounds = 0
    while len(nearer):
        if rounds == vertices:
            raise UsageError("edges of a negative sum lead in a circle: there are no shortest paths")
        rounds += 1
        edges = edges_of(nearer)
        weights = edges["weight"].astype(np.float64) if "weight" in (edges.dtype.names or ()) else 1.0
        before = away.copy()
        np.minimum.at(away, edges["target"], before[edges["source"]] + weights)
        nearer = np.flatnonzero(away < before)
    return away


def _first(vertices: int, start: int) -> NDArray[Any]:
    start = index(start)
    if not 0 <= start < vertices:
        raise UsageError(f"vertex {start}: they are numbered from 0 to {vertices - 1:,}")
    return np.array([start])
