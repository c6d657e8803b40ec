"""Graphs whose edges the drive finds, held against SciPy, NetworkX and plain arrays."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fake_search import FakeFiles, FakeSearch

import bitline
from bitline.errors import UsageError
from bitline.search import Searches
from bitline.search.graph import Graph
from bitline.search.store import Context

csgraph: Any = pytest.importorskip(
    "scipy.sparse.csgraph", reason="SciPy is not installed: no graph is tested"
)
sparse: Any = pytest.importorskip("scipy.sparse")
nx: Any = pytest.importorskip("networkx", reason="NetworkX is not installed: no graph is tested")


def power_law(seed: int, vertices: int = 300, edges: int = 2000) -> tuple[Any, Any, Any]:
    """Edges of which a few vertices have most, some vertices none, several the same ends."""
    draw = np.random.default_rng(seed)
    sources = np.minimum(draw.zipf(1.6, edges) - 1, vertices - 1)
    # Heavy ones are anywhere, not first.
    sources = draw.permutation(vertices)[sources]
    return sources, draw.integers(0, vertices, edges), np.round(draw.random(edges) * 10, 3)


def made(fake: FakeSearch, edges: Any, **options: Any) -> Graph:  # noqa: ANN401
    sizes = {"vertices": 300, "edges_per_region": 64, "heavy_degree": None, **options}
    return Graph.create(Context(fake, FakeFiles()), "g", edges, **sizes)


@pytest.mark.parametrize("false_positives", [0.0, 0.05])
@pytest.mark.parametrize("heavy", [1, 10, 64])
def test_neighbours_and_paths_are_those_of_others(heavy: int, false_positives: float) -> None:
    sources, targets, weights = power_law(heavy)
    graph = made(FakeSearch(false_positives), (sources, targets, weights), heavy_degree=heavy)
    for vertex in range(300):
        assert graph.neighbours(vertex).tolist() == targets[sources == vertex].tolist()
    other = nx.DiGraph()
    other.add_nodes_from(range(300))
    for source, target, weight in zip(sources, targets, weights, strict=True):
        known = other.get_edge_data(source, target, {"weight": np.inf})["weight"]
        other.add_edge(int(source), int(target), weight=min(weight, known))
    for start in (int(sources[0]), 7):
        steps = nx.single_source_shortest_path_length(other, start)
        assert graph.bfs(start).tolist() == [steps.get(vertex, -1) for vertex in range(300)]
        away = nx.single_source_dijkstra_path_length(other, start)
        assert graph.sssp(start).tolist() == [away.get(vertex, np.inf) for vertex in range(300)]


def test_a_sparse_matrix_is_a_graph_and_paths_are_those_of_scipy() -> None:
    draw = np.random.default_rng(3)
    matrix = sparse.random(300, 300, 0.02, format="csr", random_state=draw)
    graph = made(FakeSearch(), matrix, heavy_degree=8)
    assert (graph.vertices, graph.edges, graph.weighted) == (300, matrix.nnz, True)
    assert graph.sssp(5).tolist() == csgraph.dijkstra(matrix, indices=5).tolist()
    assert graph.bfs(5).tolist() == [
        -1 if np.isinf(steps) else steps for steps in csgraph.dijkstra(matrix, indices=5, unweighted=True)
    ]


def test_negative_weights_are_as_with_scipy() -> None:
    edges = (np.array([0, 0, 1, 2]), np.array([1, 2, 3, 1]), np.array([4, 2, 1, -3]))
    graph = made(FakeSearch(), edges, vertices=4)
    matrix = sparse.csr_array((edges[2], (edges[0], edges[1])), shape=(4, 4))
    assert graph.sssp(0).tolist() == csgraph.bellman_ford(matrix, indices=0).tolist() == [0, -1, 2, 0]
    circle = made(FakeSearch(), (np.array([0, 1]), np.array([1, 0]), np.array([1, -2])), vertices=2)
    with pytest.raises(UsageError, match="a negative sum lead in a circle"):
        circle.sssp(0)


def test_the_index_has_an_entry_for_a_store_and_for_a_heavy_vertex() -> None:
    """As in figure 12 of ANVIL: vertices 0 to 3 share a region, 4 has a list, 5 to 7 share the next one."""
    degrees = [1, 2, 0, 2, 9, 1, 1, 3]
    sources = np.repeat(np.arange(8), degrees)
    fake = FakeSearch()
    graph = made(fake, (sources, (sources + 1) % 8), vertices=9, edges_per_region=8)
    assert graph._index.tolist() == [(3, 0, 0), (4, 0, 9), (7, 1, 0)]
    assert [len(fake.stores[name].live) for name in ("g", "g/1")] == [5, 5]
    assert (graph.index_bytes, graph.adjacency_list_bytes) == (36, 72)
    fake.asked.clear()
    assert graph.neighbours(6).tolist() == [7]
    assert [name for _, name, *_ in fake.asked] == ["g/1"], "one region is searched"
    fake.asked.clear()
    assert len(graph.neighbours(4)) == 9
    assert graph.neighbours(8).tolist() == []
    assert fake.asked == [], "a list is read, and of what has no edges nothing is asked"


def test_the_index_is_small_where_few_vertices_have_many_edges() -> None:
    sources, targets, _ = power_law(2, 20_000, 60_000)
    graph = made(FakeSearch(), (sources, targets), vertices=20_000, edges_per_region=1024)
    assert graph.index_bytes < graph.adjacency_list_bytes / 100


def test_edges_of_many_vertices_are_one_lookup_a_region() -> None:
    sources, targets, _ = power_law(4)
    fake = FakeSearch()
    graph = made(fake, (sources, targets))
    fake.asked.clear()
    wanted = list(range(20, 250))
    found = graph.edges_of(wanted)
    expected = [(s, t) for s, t in zip(sources, targets, strict=True) if 20 <= s < 250]
    assert found.tolist() == sorted(expected, key=lambda edge: edge[0])
    names = [name for _, name, *_ in fake.asked]
    assert len(names) == len(set(names))
    assert max(len(groups) for _, _, groups, _ in fake.asked) <= 16


def test_it_is_opened_again_and_removed_with_all_it_has() -> None:
    fake, files = FakeSearch(), FakeFiles()
    searches = Searches(Context(fake, files))
    table = pa.table({"source": [0, 0, 2], "target": [1, 2, 0]})
    searches.graph("g", table, edges_per_region=1)
    assert searches.graph("g").neighbours(0).tolist() == [1, 2]
    assert repr(searches["g"]) == "<Graph 'g' of 3 vertices and 3 edges>"
    del files.files["g/index"]
    with pytest.raises(UsageError, match="graph 'g' was not finished: delete it"):
        searches.graph("g")
    del searches["g"]
    assert fake.names() == []
    assert files.files == {}


@pytest.mark.parametrize("order", list(itertools.permutations(["source", "target", "weight"])))
def test_columns_of_a_table_are_taken_by_name(order: tuple[str, ...]) -> None:
    edges = pa.table({"source": [0, 0, 1], "target": [2, 3, 1], "weight": [4.0, 5.0, 6.0]})
    graph = made(FakeSearch(), edges.select(order))
    assert graph.edges_of([0, 1]).tolist() == [(0, 2, 4.0), (0, 3, 5.0), (1, 1, 6.0)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [0], "b": [1]}, "edges have columns a, b: a table has source, target and perhaps weight"),
        (
            {"source": [0], "target": [1], "cost": [1.0]},
            "edges have columns source, target, cost: a table has",
        ),
        ({"source": [0]}, "edges have columns source: a table has source, target and perhaps weight"),
        ({"source": [0, None], "target": [1, 2]}, "edges: column 'source' has 1 null; drop_null"),
        (
            {"source": [0], "target": [1], "weight": pa.array([None], pa.float64())},
            "column 'weight' has 1 null",
        ),
    ],
)
def test_tables_that_are_no_edges(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(FakeSearch(), pa.table(columns))


def test_what_has_edges_in_another_form_is_told_how_to_give_them() -> None:
    graph = nx.DiGraph([(0, 1)])
    for edges, hint in (
        (graph, r"networkx.to_scipy_sparse_array\(graph\).tocsr\(\)"),
        (sparse.coo_array(np.eye(2)), r"matrix.tocsr\(\)"),
        (pa.table({"source": [0], "target": [1]}).to_pandas(), "pyarrow.Table.from_pandas"),
        ([(0, 1)], "a tuple of arrays"),
    ):
        with pytest.raises(TypeError, match=hint):
            made(FakeSearch(), edges)
    assert made(FakeSearch(), nx.to_scipy_sparse_array(graph).tocsr()).neighbours(0).tolist() == [1]


def test_every_small_graph() -> None:
    """All ways in which few vertices share few edges, with every size of regions and lists."""
    for degrees in itertools.product([0, 1, 2, 4], repeat=4):
        sources = np.repeat(np.arange(4), degrees)
        targets = np.arange(len(sources)) % 4
        for most in (1, 2, 3, 20):
            graph = made(FakeSearch(), (sources, targets), vertices=5, edges_per_region=most)
            for vertex in range(5):
                assert graph.neighbours(vertex).tolist() == targets[sources == vertex].tolist()


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (([0, 1], [1]), {}, "as many of each"),
        (([0.5], [1]), {}, "vertices are whole numbers, not float64"),
        (([-1], [1]), {}, "vertices are numbered from 0 to"),
        (([0], [1], ["a"]), {}, "weights are numbers"),
        (([0], [1], [float("nan")]), {}, "a weight is no number"),
        (([0], [7]), {"vertices": 3}, "vertices = 3 is out of range; it must be 8 to"),
        (
            ([0], [1]),
            {"heavy_degree": 65},
            "heavy_degree = 65 is out of range; it must be 1 to edges_per_region, which is 64",
        ),
    ],
)
def test_what_is_no_graph(edges: Any, options: dict[str, Any], message: str) -> None:  # noqa: ANN401
    fake = FakeSearch()
    with pytest.raises(UsageError, match=message):
        made(fake, edges, **options)
    assert fake.names() == []


def test_vertices_that_there_are_not() -> None:
    graph = made(FakeSearch(), ([0], [1]), vertices=2)
    with pytest.raises(UsageError, match="whole numbers from 0 to 1"):
        graph.neighbours(2)
    with pytest.raises(UsageError, match="vertex 5: they are numbered from 0 to 1"):
        graph.bfs(5)
    with pytest.raises(TypeError, match="edges are arrays, a table or a sparse matrix"):
        made(FakeSearch(), "edges")


def test_vertices_without_edges_cost_nothing() -> None:
    last = (1 << 32) - 1
    graph = made(FakeSearch(), ([7, 7, last], [last, 1, 7]), vertices=None, heavy_degree=2)
    assert graph.vertices == 1 << 32
    assert graph.neighbours(7).tolist() == [last, 1]
    assert graph.neighbours(last).tolist() == [7]
    assert graph.neighbours(1).tolist() == []


@pytest.mark.parametrize("heavy", [1, 64])
@pytest.mark.parametrize("kind", [">f8", ">i4", "<f4"])
def test_weights_of_any_byte_order(kind: str, heavy: int) -> None:
    graph = made(FakeSearch(), ([0], [1], np.array([2], kind)), heavy_degree=heavy, vertices=2)
    assert graph.sssp(0).tolist() == [0.0, 2.0]


def test_edges_that_are_refused_or_read_by_rows() -> None:
    columns = sparse.csc_array([[0, 1], [0, 0]])
    with pytest.raises(UsageError, match=r"by rows, this one is 'csc': use its tocsr\(\)"):
        made(FakeSearch(), columns, vertices=2)
    assert made(FakeSearch(), columns.tocsr(), vertices=2).neighbours(0).tolist() == [1]
    with pytest.raises(UsageError, match="heavy_degree = 0 is out of range"):
        made(FakeSearch(), ([0], [1]), heavy_degree=0)
    with pytest.raises(UsageError, match="less than any"):
        made(FakeSearch(), ([0], [1], [-np.inf]))
    with pytest.raises(TypeError):
        made(FakeSearch(), ([0], [1])).bfs(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [None, b"zz", bytes(16), bytes(12_000)])
@pytest.mark.parametrize("file", ["lists", "index"])
def test_files_that_are_missing_or_of_something_else_are_told(file: str, content: bytes | None) -> None:
    with bitline.open(set={"nand.geometry.page_bytes": 512, "frontend.block_bytes": 512}) as drive:
        graph = drive.search.graph("g", ([3] * 5 + [4], [1] * 6), heavy_degree=2)
        del drive.volume[f"g/{file}"]
        if content is not None:
            drive.volume[f"g/{file}"] = content
        wrong = "was not finished" if (file, content) == ("index", None) else f"file g/{file} is missing or"
        with pytest.raises(UsageError, match=f"{wrong}.* make it again"):
            (graph if file == "lists" else drive.search.graph("g")).neighbours(3)
        del drive.search["g"]
        assert "g" not in drive.search
