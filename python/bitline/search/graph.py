"""Graphs whose edges the drive finds by the vertex that they lead from (ANVIL 6.2).

Edges lie in order of their sources, in stores with names of these. The index in host memory has an entry for
each store, with the last vertex of which it has edges, and one for each *heavy* vertex, whose edges are a
list of their own: where it begins and how many there are, a number that is 0 for a store. Vertices of few
edges have no entry each, as they have in an adjacency list.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from bitline.arguments import whole_number
from bitline.columns.ranges import union
from bitline.errors import BitlineError, UsageError
from bitline.search.store import Context, Store, files_of, unmade
from bitline.search.ternary import cover, packed
from bitline.search.traversal import breadth_first, shortest_paths
from bitline.units import counted

KIND = "graph"
#: Bitlines of a block with pages of 16 KiB.
EDGES_PER_REGION = 1 << 17


@runtime_checkable
class RowMatrix(Protocol):
    """A sparse matrix row by row, as SciPy has them."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    shape: tuple[int, ...]


#: Sources and targets, with weights or without; a table of Arrow with columns `source`, `target` and perhaps
#: `weight`; a sparse matrix of SciPy.
Edges: TypeAlias = tuple[ArrayLike, ...] | pa.Table | RowMatrix

#: Patterns of one query.
_TERMS_MAX = 256
_VERTICES_MAX = 1 << 32
#: An entry of the index: the last vertex, where its edges are, and how many if it has a list, 4 bytes each.
_ENTRY = np.dtype([("last", "<u4"), ("place", "<u4"), ("count", "<u4")])
#: A vertex of an adjacency list: a pointer of 4 bytes, and 4 of metadata (ANVIL 6.2).
_ADJACENCY_BYTES = 8


class _Group(NamedTuple):
    """Edges of consecutive vertices, from the first on before the end; a list if it is of a heavy one."""

    last: int
    first: int
    end: int
    is_list: bool


class Graph:
    """A graph on a drive, made or opened by `drive.search.graph`. Its edges are directed, and settled."""

    def __init__(self, context: Context, name: str) -> None:
        self.name = name
        """Its name on the drive."""
        self._context = context
        self._stores = [Store(context, name)]
        header = self._stores[0].header
        if header.get("kind") != KIND:
            raise UsageError(f"{name!r} is no graph")
        self.vertices: int = header["vertices"]
        """How many vertices, numbered from 0 on."""
        self.edges: int = header["edges"]
        """How many edges."""
        self.options: dict[str, int] = {"vertices": self.vertices, **header.get("options", {})}
        """What it was made with."""
        weight = header["weight"]
        self.weighted: bool = weight is not None
        """Whether edges have weights."""
        self._edge = _edge(weight)
        self._bits = max((self.vertices - 1).bit_length(), 1)
        try:
            index = files_of(context).read(f"{name}/index")
        except KeyError:
            raise UsageError(
                f"graph {name!r} was not finished: delete it (del drive.search[{name!r}]) and make it again"
            ) from None
        self._index = _index_of(name, index, self.vertices, header["stores"])
        self._stores += [Store(context, f"{name}/{number}") for number in range(1, header["stores"])]

    @classmethod
    def create(
        cls,
        context: Context,
        name: str,
        edges: Edges,
        *,
        vertices: int | None,
        edges_per_region: int,
        heavy_degree: int | None,
    ) -> "Graph":
        """Make one, as `Searches.graph` says."""
        whole_number("edges_per_region", edges_per_region, 1, 1 << 30)
        least = edges_per_region if heavy_degree is None else heavy_degree
        heavy = whole_number("heavy_degree", least, 1)
        if heavy > edges_per_region:
            raise UsageError(
                f"heavy_degree = {heavy} is out of range; it must be 1 to edges_per_region, "
                f"which is {edges_per_region}"
            )
        sources, targets, weights = _arrays(edges)
        count = _vertices(edges, sources, targets, vertices)
        order = np.argsort(sources, kind="stable")
        table = np.empty(len(order), _edge(None if weights is None else weights.dtype.str))
        table["source"], table["target"] = sources[order], targets[order]
        if weights is not None:
            table["weight"] = weights[order]
        groups = list(grouped(*np.unique(sources, return_counts=True), edges_per_region, heavy))
        for file in _files(name):
            if file in files_of(context):
                raise UsageError(
                    f"graph {name!r} would have a file {file!r}, which is there: take another name"
                )
        try:
            kind = None if weights is None else weights.dtype.str
            options = {"edges_per_region": edges_per_region, "heavy_degree": heavy}
            _write(context, name, table, groups, {"vertices": count, "weight": kind, "options": options})
        except (BitlineError, KeyboardInterrupt):
            # A part of the edges is of no use.
            if name in context.glue.names():
                unmade(context, name)
            raise
        return cls(context, name)

    def __repr__(self) -> str:
        vertices = "1 vertex" if self.vertices == 1 else f"{self.vertices:,} vertices"
        return f"<Graph {self.name!r} of {vertices} and {counted(self.edges, 'edge')}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a graph lives on a drive in this process and cannot be pickled; open it by its name")

    @property
    def index_bytes(self) -> int:
        """Bytes of host memory that the index takes: 12 for each store or heavy vertex."""
        return int(self._index.nbytes)

    @property
    def adjacency_list_bytes(self) -> int:
        """Bytes that an adjacency list would take: a pointer of 4 and metadata of 4 for each vertex."""
        return self.vertices * _ADJACENCY_BYTES

    def neighbours(self, vertex: int) -> NDArray[np.uint32]:
        """Where the edges of a vertex lead, in the order in which edges were given.

        Raises:
            UsageError: There is no such vertex.
            NvmeError: What the drive reports.
        """
        return np.ascontiguousarray(self.edges_of([vertex])["target"])

    def edges_of(self, vertices: ArrayLike) -> NDArray[Any]:
        """The edges that lead from some vertices, by vertex.

        Returns:
            An array with fields `source`, `target` and, if they have some, `weight`.

        Raises:
            UsageError: There are no such vertices.
            NvmeError: What the drive reports.
        """
        wanted = np.unique(np.asarray(vertices))
        if not len(wanted):
            return np.empty(0, self._edge)
        if wanted.dtype.kind not in "iu" or wanted[0] < 0 or wanted[-1] >= self.vertices:
            raise UsageError(f"vertices are whole numbers from 0 to {self.vertices - 1:,}")
        where = np.searchsorted(self._index["last"], wanted)
        found = [np.empty(0, self._edge)]
        for number in np.unique(where[where < len(self._index)]):
            entry, own = self._index[number], wanted[where == number]
            if not entry["count"]:
                found.append(self._searched(self._stores[entry["place"]], own))
            elif own[-1] == entry["last"]:
                found.append(self._listed(int(own[-1]), int(entry["place"]), int(entry["count"])))
        # Entries ascend, and so do the edges of each.
        return np.concatenate(found)

    def _searched(self, store: Store, vertices: NDArray[Any]) -> NDArray[Any]:
        """The edges of vertices that share a store: those of consecutive ones are found together."""
        ranges = union((int(vertex), int(vertex)) for vertex in vertices)
        prefixes, _ = cover(ranges, self._bits, _TERMS_MAX)
        groups = [[(0, self._bits, *packed([(0, prefix)], self._bits))] for prefix in prefixes]
        edges = np.frombuffer(store.lookup(groups), self._edge)
        meant = edges[np.isin(edges["source"], vertices)]
        store.dropped(len(edges) - len(meant))
        return meant

    def _listed(self, vertex: int, first: int, count: int) -> NDArray[Any]:
        size = self._edge.itemsize
        # Which graph it is of, the store knows.
        _ = self._stores[0].glue
        try:
            data = files_of(self._context).read(f"{self.name}/lists", first * size, count * size)
        except (KeyError, UsageError):
            data = b""
        edges = np.frombuffer(data, self._edge) if len(data) == count * size else np.empty(0, self._edge)
        # An edge tells its source, so that what is no list of this vertex is found out.
        if not len(edges) or (edges["source"] != vertex).any():
            raise _damaged(self.name, "lists")
        return edges

    def bfs(self, start: int) -> NDArray[np.int64]:
        """How many edges each vertex is away from one; -1 of those that cannot be reached.

        Raises:
            UsageError: There is no such vertex.
            NvmeError: What the drive reports.
        """
        return breadth_first(self.vertices, start, self.edges_of)

    def sssp(self, start: int) -> NDArray[np.float64]:
        """How far each vertex is away from one by weights, which are 1 if there are none.

        It is infinite where a vertex cannot be reached.

        Raises:
            UsageError: There is no such vertex; edges of a negative sum lead in a circle.
            NvmeError: What the drive reports.
        """
        return shortest_paths(self.vertices, start, self.edges_of)

    def delete(self) -> None:
        """Remove it from the drive."""
        unmade(self._context, self.name)


def _damaged(name: str, file: str) -> UsageError:
    return UsageError(
        f"file {name}/{file} is missing or not of graph {name!r}, which keeps it: delete the graph "
        f"(del drive.search[{name!r}]) and make it again"
    )


def _index_of(name: str, data: bytes, vertices: int, stores: int) -> NDArray[Any]:
    """The index of a graph.

    Raises:
        UsageError: This is none of one with so many vertices and stores.
    """
    if len(data) % _ENTRY.itemsize:
        raise _damaged(name, "index")
    index = np.frombuffer(data, _ENTRY)
    searched = index[index["count"] == 0]["place"]
    ascends = (index["last"][1:] > index["last"][:-1]).all() and (index["last"] < vertices).all()
    if not ascends or (searched != np.arange(len(searched))).any() or max(len(searched), 1) != stores:
        raise _damaged(name, "index")
    return index


def _files(name: str) -> list[str]:
    """The files of a graph, beside its stores."""
    return [f"{name}/index", f"{name}/lists"]


def _edge(weight: str | None) -> np.dtype[Any]:
    """The value of an edge: its source, too, which tells whether it was found by mistake."""
    ends = [("source", "<u4"), ("target", "<u4")]
    return np.dtype(ends if weight is None else [*ends, ("weight", weight)])


def _arrays(edges: Edges) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Sources, targets and weights.

    Raises:
        TypeError: It is nothing that has edges.
        UsageError: Arrays of different lengths, vertices that are no whole numbers, weights no numbers.
    """
    if isinstance(edges, pa.Table):
        given = _columns(edges)
    elif isinstance(edges, RowMatrix):
        if (order := getattr(edges, "format", "csr")) != "csr":
            raise UsageError(f"a sparse matrix is taken by rows, this one is {order!r}: use its tocsr()")
        sources = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        given = [sources, edges.indices, edges.data]
    elif isinstance(edges, tuple):
        given = [np.asarray(each) for each in edges]
    else:
        raise TypeError(
            f"edges are arrays, a table or a sparse matrix by rows, not a {type(edges).__name__}"
            + _hint(edges)
        )
    if len(given) not in (2, 3) or len({each.shape for each in given}) != 1 or given[0].ndim != 1:
        raise UsageError("edges are sources, targets and perhaps weights, as many of each")
    for ends in given[:2]:
        if ends.dtype.kind not in "iu" and len(ends):
            raise UsageError(f"vertices are whole numbers, not {ends.dtype}")
        if len(ends) and not 0 <= int(ends.min()) <= int(ends.max()) < _VERTICES_MAX:
            raise UsageError(f"vertices are numbered from 0 to {_VERTICES_MAX - 1:,}")
    weights = given[2] if len(given) == 3 else None
    if weights is not None and weights.dtype.kind not in "iuf":
        raise UsageError(f"weights are numbers, not {weights.dtype}")
    if weights is not None:
        wide = weights.astype(np.float64)
        if (np.isnan(wide) | np.isneginf(wide)).any():
            raise UsageError("a weight is no number, or less than any")
        # So they lie on the drive.
        weights = weights.astype(weights.dtype.newbyteorder("<"))
    return given[0].astype(np.int64), given[1].astype(np.int64), weights


def _hint(edges: object) -> str:
    """How something else that has edges becomes what is taken."""
    module = type(edges).__module__.partition(".")[0]
    hints = {
        "networkx": "networkx.to_scipy_sparse_array(graph).tocsr()",
        "scipy": "matrix.tocsr()",
        "pandas": "pyarrow.Table.from_pandas(frame, preserve_index=False)",
        "polars": "frame.to_arrow()",
        "numpy": "a tuple of arrays, (sources, targets) or (sources, targets, weights)",
        "builtins": "a tuple of arrays, (sources, targets) or (sources, targets, weights)",
    }
    return f"; give {hints[module]}" if module in hints else ""


def _columns(edges: pa.Table) -> list[NDArray[Any]]:
    """Sources, targets and perhaps weights, by the names of columns, whatever their order.

    Raises:
        UsageError: Columns of other names; nulls.
    """
    names = ["source", "target", *(["weight"] if "weight" in edges.column_names else [])]
    if sorted(edges.column_names) != sorted(names):
        raise UsageError(
            f"edges have columns {', '.join(edges.column_names) or 'none'}: a table has source, target and "
            "perhaps weight, each once and nothing else; select() and rename_columns() make it so"
        )
    for name in names:
        if edges[name].null_count:
            nulls = counted(edges[name].null_count, "null")
            raise UsageError(f"edges: column {name!r} has {nulls}; drop_null() drops such edges")
    return [edges[name].to_numpy() for name in names]


def _vertices(edges: Edges, sources: NDArray[Any], targets: NDArray[Any], told: int | None) -> int:
    least = int(max(sources.max(initial=-1), targets.max(initial=-1))) + 1
    if told is None and isinstance(edges, RowMatrix):
        told = max(edges.shape)
    return whole_number("vertices", max(least, 1) if told is None else told, max(least, 1), _VERTICES_MAX)


def grouped(vertices: NDArray[Any], degrees: NDArray[Any], most: int, heavy: int) -> Iterator[_Group]:
    """The edges of all vertices that have some, with how many, those of few together, in order."""
    ends = np.cumsum(degrees)
    begin = 0
    while begin < len(vertices):
        first = int(ends[begin] - degrees[begin])
        is_list = bool(degrees[begin] >= heavy)
        end = begin + 1
        if not is_list:
            # As far as edges fit beside those of the first one, or there is a heavy vertex.
            end = int(np.searchsorted(ends, first + most, side="right"))
            others = np.flatnonzero(degrees[begin:end] >= heavy)
            end = begin + int(others[0]) if len(others) else end
        yield _Group(int(vertices[end - 1]), first, int(ends[end - 1]), is_list)
        begin = end


def _write(
    context: Context, name: str, edges: NDArray[Any], groups: list[_Group], facts: dict[str, Any]
) -> None:
    """Stores and lists, then the index: without it, the graph is not finished."""
    bits = max((facts["vertices"] - 1).bit_length(), 1)
    searched = [group for group in groups if not group.is_list]
    lists = [edges[group.first : group.end] for group in groups if group.is_list]
    header = {
        "kind": KIND,
        **facts,
        "edges": len(edges),
        "stores": max(len(searched), 1),
        "files": _files(name),
    }
    index, listed, number = np.empty(len(groups), _ENTRY), 0, 0
    for at, group in enumerate(groups):
        index[at] = (
            (group.last, listed, group.end - group.first) if group.is_list else (group.last, number, 0)
        )
        listed += (group.end - group.first) * group.is_list
        number += not group.is_list
    for number, group in enumerate(searched or [_Group(0, 0, 0, False)]):
        store = Store.create(
            context,
            f"{name}/{number}" if number else name,
            entries=max(group.end - group.first, 1),
            value_bytes=edges.dtype.itemsize,
            regions=[(bits, False)],
            header={"kind": "part", "of": name} if number else header,
        )
        for begin in range(group.first, group.end, store.batch):
            some = edges[begin : min(begin + store.batch, group.end)]
            store.append(_records(some, bits), len(some))
    if lists:
        files_of(context).write(f"{name}/lists", np.concatenate(lists).tobytes())
    files_of(context).write(f"{name}/index", index.tobytes())


def _records(edges: NDArray[Any], bits: int) -> bytes:
    """Names, the sources with their most significant bits first, and values."""
    big = edges["source"].astype(">u4").view(np.uint8).reshape(-1, 4)
    names = np.packbits(np.unpackbits(big, axis=1)[:, 32 - bits :], axis=1, bitorder="little")
    values = np.ascontiguousarray(edges).view(np.uint8).reshape(len(edges), -1)
    return np.ascontiguousarray(np.hstack([names, values])).tobytes()
