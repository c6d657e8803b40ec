"""TH-iSSD reproduced: its tasks held against NumPy and closed formulas, and its systems, at reduced size."""

from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import Run, fails
from test_cc import compiles

import bitline
from bitline.repro.th_issd import WORKLOADS, edge, intensity, published, queries
from bitline.repro.th_issd.report import FIGURES
from bitline.repro.th_issd.systems import (
    BASELINE,
    EDGE,
    FORWARDED,
    OURS,
    RETRIEVING,
    SERIAL,
    SYSTEMS,
    System,
    fill,
    opened,
)
from bitline.repro.th_issd.workloads import KEPT, hits, module, scan_params


def test_published_numbers_name_their_sources() -> None:
    known = published()
    assert len({one.key for one in known}) == len(known)
    assert all(one.source and one.quantity and one.value > 0 for one in known)
    assert {one.figure for one in known} == {f"figure-{int(name):02}" for name in FIGURES if name.isdigit()}


@pytest.mark.parametrize("name", WORKLOADS)
def test_stacks_compute_what_their_networks_do(name: str) -> None:
    workload = WORKLOADS[name]
    weights = workload.layers * 768**2
    assert weights == pytest.approx(workload.parameters, rel=0.03)
    assert workload.vectors * weights == pytest.approx(workload.macs, rel=0.005)
    assert workload.items * workload.item_bytes == pytest.approx(350e9, rel=1e-5)
    assert workload.item_source
    assert workload.network


@pytest.mark.parametrize(("vectors", "layers"), intensity.STACKS)
def test_a_network_is_what_its_operations_say(vectors: int, layers: int) -> None:
    network = intensity.network(vectors, layers)
    assert (network.vectors, network.layers) == (vectors, layers)


@compiles
@pytest.mark.parametrize("where", ["drive", "card"])
@pytest.mark.parametrize(
    ("rows", "count", "elements"), [(1, 1, 1), (700, 3, 1), (5_000, 16, 2), (3_000, 300, 3)]
)
def test_what_a_scan_finds_is_nearest(where: str, rows: int, count: int, elements: int) -> None:
    rng = np.random.default_rng(rows)
    features = rng.integers(0, 2, (rows, 128), dtype=np.int8) * 2 - 1
    asked = rng.integers(0, 2, (count, 128), dtype=np.int8) * 2 - 1
    with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
        drive.volume["index"] = features.tobytes()
        with drive.streams.open(
            "index",
            task=module("scan"),
            params=scan_params(count, 128, asked.tobytes()),
            piece_size=64 * 1000,
            elements=elements,
            where=where,  # type: ignore[arg-type]
        ) as stream:
            found = hits(stream.read(), count)
    products = asked.astype(np.int32) @ features.T.astype(np.int32)
    for query in range(count):
        nearest = np.argsort(-products[query], kind="stable")[:KEPT]
        assert found[query] == [(products[query, row], row) for row in nearest]


@compiles
@pytest.mark.parametrize("system", RETRIEVING, ids=attrgetter("name"))
def test_features_take_what_their_operations_do(system: System) -> None:
    """Each layer multiplies at 135e9 a second; its sums are narrowed at 4.8e9 bytes a second (the preset)."""
    workload = WORKLOADS["remote-sensing"]
    (built,) = queries.built(workloads=["remote-sensing"], systems=[system], items=12)
    results = workload.vectors * 768
    each_ns = workload.layers * (results * 768 / 135 + 5 * results / 4.8 + 2 * 2_000)
    assert built.ns / (12 * each_ns) == pytest.approx(1, abs=0.03)


@compiles
def test_queries_of_a_batch_share_a_scan() -> None:
    asked = {"workloads": ["natural-language"], "batches": (1, 4), "scale": 1000}
    points = queries.measured(**asked)  # type: ignore[arg-type]
    assert points == queries.measured(**asked)  # type: ignore[arg-type]
    assert [one.system for one in points] == [system for system in RETRIEVING for _ in range(2)]
    by = {(one.system, one.batch): one for one in points}
    for system in RETRIEVING:
        one, four = by[system, 1], by[system, 4]
        assert four.features_ns == pytest.approx(4 * one.features_ns, rel=0.2)
        assert four.scan_ns < 2 * one.scan_ns
    # Each hop of what is forwarded takes time.
    assert by[OURS, 1].latency_ns < by[BASELINE, 1].latency_ns < by[SERIAL, 1].latency_ns


@compiles
@pytest.mark.parametrize("system", SYSTEMS, ids=attrgetter("edge_name"))
def test_frames_and_labels_take_the_time_of_the_slowest_part(system: System) -> None:
    workload = WORKLOADS["object-detection"]
    latency, throughput = edge.recorded(system, workload, 4, 8)
    # The GPU multiplies at 2.82e12 a second (th-issd-edge.toml).
    assert throughput < 2.82e12 / (workload.vectors * workload.layers * 768**2)
    assert throughput > 0.25 * 1e9 * 4 / latency
    assert edge.recorded(system, workload, 4, 8) == (latency, throughput)


@compiles
def test_who_forwards_less_is_faster() -> None:
    found = {system: edge.recorded(system, WORKLOADS["object-detection"], 2, 8)[1] for system in SYSTEMS}
    assert found[OURS] > found[FORWARDED] > 0.95 * found[BASELINE]
    assert found[BASELINE] > 0.95 * found[SERIAL]


@compiles
def test_much_computing_hides_what_is_forwarded() -> None:
    scans = intensity.scanned(queries=(1, 256), size=16 << 20)
    assert [one.system for one in scans] == [BASELINE, BASELINE, SERIAL, SERIAL]
    serial = [one.ratio for one in scans if one.system == SERIAL]
    assert serial[0] > 1.3 > 1.1 > serial[1] > 0.95


@compiles
def test_the_edge_has_room_for_its_networks() -> None:
    with opened(EDGE, OURS) as drive:
        fill(drive, "frames", 3 << 20)
        assert drive.volume.handle("frames").size == 3 << 20


@compiles
def test_the_command_makes_figures_and_a_table(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    found = run("repro", "th-issd", "--quick", "--json", "--out", out).json
    assert found["quick"] is True
    rows = {row["key"]: row for row in found["table"]}
    assert "not_measured" not in found
    assert set(rows) == {one.key for one in published()}
    drawn = {"figure-09", "figure-10", "figure-14", "figure-15", "intensity", "th-issd-policies"}
    assert {file.stem for file in out.glob("*.png")} == drawn
    kept = drawn | {"features", "table"}
    assert {file.stem for file in out.glob("*.parquet")} == kept
    points = pq.read_table(out / "figure-09.parquet").to_pylist()
    assert len(points) == len(WORKLOADS) * len(RETRIEVING) * 2
    assert {one["system"] for one in points} == {system.name for system in RETRIEVING}
    for one in points:
        assert one["throughput"] == pytest.approx(one["batch"] * 1e9 / one["latency_ns"])
    recorded = pq.read_table(out / "figure-14.parquet").to_pylist()
    assert {one["system"] for one in recorded} == {system.edge_name for system in SYSTEMS}
    assert rows["figure14.least"]["within"]


@compiles
def test_one_figure_alone(run: Run, tmp_path: Path) -> None:
    done = run("repro", "th-issd", "--figure", "14", "--quick", "--strict", "--out", tmp_path)
    assert done.code in (0, 1)
    assert not (tmp_path / "figure-09.png").exists()
    # It fits a page though it is read through a pipe.
    assert max(map(len, done.out.splitlines())) <= 80


def test_figures_that_are_not_there(run: Run, tmp_path: Path) -> None:
    done = run("repro", "th-issd", "--figure", "99", "--out", tmp_path)
    fails(done, 2, "there is no figure 99; there are 9, ")
