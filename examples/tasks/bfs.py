"""The host's twin of bfs.c: breadth-first search, a level at a time, by NumPy."""

import struct

import numpy as np
from numpy.typing import NDArray

Files = dict[str, tuple[bytes, str]]

_MAGIC = b"BLCSR001"
_UNREACHED = 0xFFFFFFFF


def csr(vertices: int, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> bytes:
    """The file of a graph in compressed sparse rows; bfs.c says how."""
    order = np.argsort(sources, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=vertices))))
    head = _MAGIC + struct.pack("<2Q", vertices, targets.size)
    return head + first.astype("<u8").tobytes() + targets[order].astype("<u4").tobytes()


def case(size: int, seed: int) -> tuple[Files, bytes]:
    """A graph of about so many bytes, eight edges a vertex on average: files and arguments."""
    random = np.random.default_rng(seed)
    vertices = size // 40 + 1
    # The square of a uniform number: few vertices have most of the edges.
    sources = (random.random(8 * vertices) ** 2 * vertices).astype(np.int64)
    hub = np.full(10_000, vertices // 2)
    sources = np.concatenate((sources, hub))
    targets = random.integers(0, vertices, sources.size)
    files = {"graph": (csr(vertices, sources, targets), "r"), "levels": (bytes(4 * vertices), "w")}
    return files, struct.pack("<2iI", 0, 1, int(sources[0]))


def twin(files: Files, arguments: bytes) -> tuple[bytes, dict[str, bytes]]:
    """What the task should return, and leave in the files that it writes."""
    graph, output, source = struct.unpack("<2iI", arguments)
    data, name = list(files.values())[graph][0], list(files)[output]
    vertices, edges = struct.unpack_from("<2Q", data, 8)
    first = np.frombuffer(data, "<u8", vertices + 1, 24).astype(np.int64)
    targets = np.frombuffer(data, "<u4", edges, 24 + 8 * (vertices + 1))
    level = np.full(vertices, _UNREACHED, "<u4")
    level[source] = depth = 0
    frontier = np.array([source])
    while True:
        lists = [targets[first[vertex] : first[vertex + 1]] for vertex in frontier]
        found = np.unique(np.concatenate(lists))
        frontier = found[level[found] == _UNREACHED]
        if not frontier.size:
            break
        depth += 1
        level[frontier] = depth
    reached = int(np.count_nonzero(level != _UNREACHED))
    return struct.pack("<2Q", reached, depth), {name: level.tobytes()}
