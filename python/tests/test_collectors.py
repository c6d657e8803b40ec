"""Collectors: what is sent to a port of the drive is in an object, or in a task."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cc import compiles

import bitline
from bitline import Collected, NotFoundError, NvmeError, UsageError, Wire
from bitline.cc import compile_task
from bitline.collectors import frames, rows

DATA = np.random.default_rng(3).integers(0, 256, 300_001, np.uint8).tobytes()


def packets(size: int) -> list[bytes]:
    return [DATA[at : at + size] for at in range(0, len(DATA), size)]


def echo(folder: Path) -> Path:
    """A task that emits what it takes, compiled into a folder."""
    source, module = folder / "echo.c", folder / "echo.wasm"
    source.write_text(
        "#include <bitline/isc.h>\nstatic uint8_t piece[1 << 18];\nint isc_task(void) { int64_t got;\n"
        "while ((got = isc_stream_next(piece, sizeof piece, 0)) > 0) isc_stream_emit(piece, (size_t)got);\n"
        "return 0; }\n"
    )
    compile_task([source], module)
    return module


def test_frames_of_a_file_are_collected(drive: bitline.Drive, tmp_path: Path) -> None:
    video = tmp_path / "video.raw"
    video.write_bytes(DATA)
    drive.collectors.allocate("frames", 1 << 20)
    begun = drive.now
    with drive.collectors.attach(0, "frames", source=frames(video, 9_000), rate=10e6) as camera:
        camera.run(packets=10)
        assert camera.status().taken == 90_000
        camera.run()
        took = drive.now - begun
        told = camera.status()
        assert (told.state, told.packets, told.taken) == ("collecting", 34, len(DATA))
        assert told.room == 1 << 20
    assert camera.detach() == len(DATA)
    assert drive.volume["frames"] == DATA
    # 300,001 bytes at 10 bytes a microsecond: the first packet is sent at once.
    assert 29e6 < took.ns < 32e6
    assert drive.collectors.list() == []
    assert repr(camera) == "<Collector at port 0, detached>"


def test_rows_of_tables_are_collected(drive: bitline.Drive, tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    readings.write_text("".join(f"{row},{row * row}\n" for row in range(1000)))
    table = pa.table({"row": range(50), "square": [row * row for row in range(50)]})
    pq.write_table(table, tmp_path / "readings.parquet")
    drive.collectors.allocate("csv", 1 << 20)
    drive.collectors.allocate("arrow", 1 << 20)
    with drive.collectors.attach(1, "csv", source=rows(readings), rate=1e6, jitter=0.5) as sensor:
        sensor.run()
    assert drive.volume["csv"] == readings.read_bytes()
    sent = list(rows(tmp_path / "readings.parquet"))
    with drive.collectors.attach(2, "arrow", source=sent, rate=1e6) as sensor:
        sensor.run()
    assert drive.volume["arrow"] == b"".join(sent)
    assert pa.ipc.open_stream(sent[7]).read_all() == table.slice(7, 1)


def test_two_runs_are_the_same() -> None:
    def told() -> tuple[Collected, bytes, float]:
        with bitline.open("flash-cosmos", data="memory") as drive:
            drive.collectors.allocate("sensor", 1 << 20)
            sensor = drive.collectors.attach(0, "sensor", policy="drop oldest", share=1 << 16)
            paced = {"jitter": 0.4, "burst": (0.001, 0.002)}
            drive.collectors.generate(sensor, 500_000, rate=400e6, packet_size=1000, **paced)
            sensor.run()
            status = sensor.status()
            sensor.detach()
            return status, drive.volume["sensor"], drive.now.ns

    assert told() == told()


def test_a_power_cut_leaves_the_beginning(drive: bitline.Drive) -> None:
    drive.collectors.allocate("frames", 1 << 20)
    camera = drive.collectors.attach(0, "frames", source=packets(3000), rate=20e6)
    camera.run(packets=60)
    drive.power_cut()
    drive.power_up()
    (told,) = drive.collectors.list()
    assert (told.state, told.port) == ("over", 0)
    assert drive.volume["frames"][: told.size] == DATA[: told.size]
    again = drive.collectors.attach(0, "frames", source=[DATA[told.size :]], resume=True)
    again.run()
    assert again.detach() == len(DATA)
    assert drive.volume["frames"] == DATA


@compiles
def test_a_stream_takes_what_a_collector_sends(drive: bitline.Drive, tmp_path: Path) -> None:
    module = echo(tmp_path)
    camera = drive.collectors.attach(0, None, source=packets(5000))
    with drive.streams.open(camera, task=module, piece_size=20_000) as stream:
        camera.send(packets(5000))
        assert stream.read(100_000) == DATA[:100_000]
        assert camera.detach() == 0
        rest = stream.read()
        assert rest == DATA[100_000 : 100_000 + len(rest)]
        assert stream.result.status == "committed"


def test_what_cannot_be_collected_is_refused(drive: bitline.Drive) -> None:
    attach = drive.collectors.attach
    with pytest.raises(NotFoundError, match="nothing"):
        attach(0, "nothing")
    drive.collectors.allocate("frames", 1 << 16)
    with pytest.raises(bitline.BitlineError, match="frames"):
        drive.collectors.allocate("frames", 1)
    with pytest.raises(UsageError, match=r"collector\.ports"):
        attach(60_000, "frames")
    with pytest.raises(UsageError, match="policy"):
        attach(0, "frames", policy="drop all")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="rate"):
        attach(0, "frames", rate=0)
    with pytest.raises(UsageError, match="jitter"):
        attach(0, "frames", jitter=2)
    with pytest.raises(UsageError, match="burst"):
        attach(0, "frames", burst=(-1, 0))
    with pytest.raises(UsageError, match="port_megabytes"):
        attach(0, "frames", wire=Wire(rate=10**12))
    with pytest.raises(UsageError, match="no collection has ended at port 0"):
        attach(0, "frames", resume=True)
    with pytest.raises(UsageError, match="two numbers of seconds"):
        attach(0, "frames", burst=(1,))  # type: ignore[arg-type]
    camera = attach(0, "frames", source=[b"slow"], rate=1e-9)
    with pytest.raises(UsageError, match="a day at most"):
        camera.run()
    assert camera.detach() == 0
    drive.collectors.allocate("more", 1 << 16)
    with attach(0, "more") as camera:
        with pytest.raises(NvmeError, match="Collector In Use"):
            attach(0, None)
        with pytest.raises(TypeError, match="bytes"):
            camera.send([1])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no collection has ended"):
        drive.collectors.settle(0)


def test_what_does_not_fit_is_told_and_held_until_then(drive: bitline.Drive) -> None:
    drive.collectors.allocate("frames", 20_000)
    camera = drive.collectors.attach(0, "frames", source=packets(1000), rate=50e6, share=1 << 16)
    with pytest.raises(UsageError, match='"frames" is full'):
        camera.run()
    with pytest.raises(UsageError, match="held by the collector at port 0: detach it first"):
        del drive.volume["frames"]
    assert camera.detach() == 20_000
    told = camera.status()
    assert (told.state, told.size, told.lost) == ("over", 20_000, told.taken - 20_000)
    assert drive.volume["frames"] == DATA[:20_000]
    assert drive.statistics.collectors.lost_bytes == told.lost
    with pytest.raises(UsageError, match="detached"):
        camera.run()


def test_objects_grow_by_whole_pages(drive: bitline.Drive) -> None:
    drive.collectors.allocate("frames", 1000)
    with drive.collectors.attach(0, "frames", source=packets(700), rate=20e6, grow=1000) as camera:
        camera.run()
    assert camera.status().lost == 0
    assert drive.volume["frames"] == DATA


@compiles
def test_what_could_not_be_detached_can_be_later(drive: bitline.Drive, tmp_path: Path) -> None:
    module = echo(tmp_path)
    drive.collectors.allocate("frames", 1 << 20)
    camera = drive.collectors.attach(0, "frames", source=packets(1000), rate=50e6)
    camera.run()
    card = drive.streams.open("frames", task=module, where="card")
    with pytest.raises(UsageError, match="close it first"):
        camera.detach()
    card.close()
    assert camera.detach() == len(DATA)


@compiles
def test_a_trace_shows_port_switch_elements_and_dies_at_work_at_once(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "examples" / "streams" / "bright.c"
    task = compile_task([source], tmp_path / "bright.wasm").path
    pictures = [bytes(range(256)) * 400] * 10
    with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
        drive.collectors.allocate("video", 2 << 20)
        with drive.trace(tmp_path / "trace.json"):
            with drive.collectors.attach(0, "video", source=pictures, rate=200e6) as camera:
                stream = drive.streams.open(camera, task=task, params=bytes([100]), piece_size=102_400)
                camera.run()
            stream.read()
            stream.close()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    groups = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    lines = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    at_work: dict[str, list[tuple[float, float]]] = {}
    for one in events:
        if one["ph"] == "X":
            line = lines[one["pid"], one["tid"]].split()[0]
            name = f"{groups[one['pid']]}: {line}"
            at_work.setdefault(name, []).append((one["ts"], one["ts"] + one["dur"]))
    parts = ["collectors: port", "streams: element", "dies: die", "channels: channel", "dram: channel"]
    instants = [begin for begin, _ in at_work["collectors: port"]]

    def is_at_work(part: str, instant: float) -> bool:
        return any(begin <= instant <= end for begin, end in at_work[part])

    assert any(all(is_at_work(part, instant) for part in parts[:3]) for instant in instants)
    assert set(parts) <= set(at_work)
    held = [one for one in events if one["ph"] == "C" and "switch" in one["name"]]
    assert max(next(iter(one["args"].values())) for one in held) > 0
