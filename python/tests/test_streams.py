"""Streams: files as tasks of the drive make them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import bitline
from bitline import NotFoundError, NvmeError, StreamError, UsageError
from bitline.cc import compile_task, find_compiler
from bitline.repro.th_issd.plots import side_by_side
from bitline.repro.th_issd.policies import OURS, POLICIES, measured, on_front

try:
    find_compiler()
    NO_COMPILER = ""
except UsageError as missing:
    NO_COMPILER = str(missing)

pytestmark = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER)

TASK = """
#include <bitline/isc.h>
static uint8_t piece[1 << 18];
int isc_task(void) {
  uint8_t key = 0;
  isc_get_args(&key, 1);
  uint64_t offset;
  int64_t got;
  while ((got = isc_stream_next(piece, sizeof piece, &offset)) > 0) {
    if (key == 66 && offset > 0) return 5;
    for (int64_t at = 0; at < got; at++) piece[at] ^= key;
    if (isc_stream_emit(piece, (size_t)got)) return 9;
  }
  return got < 0 ? (int)-got : 0;
}
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "xor.c").write_text(TASK)
    return compile_task([folder / "xor.c"], folder / "xor.wasm").path


@pytest.fixture
def drive() -> bitline.Drive:
    return bitline.open("flash-cosmos", data="memory")


DATA = bytes(range(256)) * 1003


def xored(key: int) -> bytes:
    return bytes(byte ^ key for byte in DATA)


def test_a_file_is_read_as_its_task_makes_it(drive: bitline.Drive, task: Path) -> None:
    drive.volume["file"] = DATA
    for elements, piece_size in [(0, 0), (1, 512), (3, 10_000)]:
        opened = drive.streams.open(
            "file", task=task, params=b"\x21", elements=elements, piece_size=piece_size
        )
        with opened as stream:
            first = stream.read(1000)
            assert first == xored(0x21)[:1000]
            assert b"".join(stream) == xored(0x21)[1000:]
            assert stream.read(5) == b""
            assert stream.result.status == "committed"
            assert stream.result.cycles > len(DATA) // 8  # vectors of 16 bytes
        assert "closed" in repr(stream)
        with pytest.raises(UsageError, match="closed"):
            stream.read(1)


def test_what_is_written_goes_into_a_file(drive: bitline.Drive, task: Path) -> None:
    drive.volume["to"] = bytes(len(DATA))
    with drive.streams.open(None, task=task, params=b"\x07", to="to") as stream:
        for at in range(0, len(DATA), 77_777):
            assert stream.write(DATA[at : at + 77_777]) > 0
        stream.finish()
        drive.power_cut()
    drive.power_up()
    assert drive.volume["to"] == xored(7)


def test_a_stream_that_fails_says_why(drive: bitline.Drive, task: Path) -> None:
    drive.volume["file"] = DATA
    drive.volume["to"] = bytes(len(DATA))
    with drive.streams.open("file", task=task, params=b"B", to="to") as stream:
        assert (stream.result.status, stream.result.code) == ("failed", 5)
    assert drive.volume["to"] == bytes(len(DATA))
    with drive.streams.open("file", task=task, params=b"B") as stream, pytest.raises(StreamError) as failed:
        b"".join(stream)
    assert failed.value.result.code == 5
    assert "failed" in str(failed.value)


def too_many(streams: bitline.Streams, task: Path) -> None:
    opened = [streams.open("file", task=task, memory=1 << 20) for _ in range(20)]
    assert len(opened) < 20


def test_what_cannot_be_is_refused(drive: bitline.Drive, task: Path) -> None:
    drive.volume["file"] = DATA
    streams = drive.streams
    with pytest.raises(NotFoundError):
        streams.open("none", task=task)
    with pytest.raises(UsageError, match="another object"):
        streams.open("file", task=task, to="file")
    with pytest.raises(UsageError, match="input or the output already"):
        streams.open("file", task=task, files={"file": "r"})
    with pytest.raises(UsageError, match="elements"):
        streams.open("file", task=task, elements=-1)
    with pytest.raises(UsageError, match=r"stream\.elements_max"):
        streams.open("file", task=task, elements=1000)
    with streams.open("file", task=task) as stream, pytest.raises(NvmeError, match="Command Sequence Error"):
        stream.write(b"x")
    with pytest.raises(NvmeError, match="Stream Limit Reached"):
        too_many(streams, task)
    gc.collect()
    assert len(streams.open("file", task=task).read()) == len(DATA)  # those that nobody has are closed
    assert drive.tasks.run(task, {"file": "r"}).code == 38  # ENOSYS: it is no stream


def test_a_file_that_was_replaced_is_refused(drive: bitline.Drive, task: Path) -> None:
    drive.volume["file"] = DATA
    with drive.streams.open("file", task=task) as stream:
        stream.read(10)
        drive.volume["file"] = DATA[:1000]
        with pytest.raises(UsageError, match="open it again"):
            stream.read(10)


#: Programs that read their file, piece by piece or eight pages at a time, and make nothing of it.
READERS = {
    "stream": "while (isc_stream_next(pages, sizeof pages, 0) > 0) {}",
    "run": "for (int64_t at = 0; isc_pread(0, pages, sizeof pages, at) > 0; at += sizeof pages) {}",
}


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("readers")
    for name, loop in READERS.items():
        text = f"static uint8_t pages[1 << 17];\nint isc_task(void) {{ {loop} return 0; }}\n"
        (folder / f"{name}.c").write_text(f"#include <bitline/isc.h>\n{text}")
        compile_task([folder / f"{name}.c"], folder / f"{name}.wasm")
    return {name: folder / f"{name}.wasm" for name in READERS}


@contextmanager
def ranking_drive() -> Iterator[bitline.Drive]:
    settings = {
        "schedule.policy": "priority_aware",
        "cache.mode": "off",
        "nand.geometry.channels": 1,
        "nand.geometry.chips_per_channel": 1,
        "schedule.bypass_max": 0,
    }
    with bitline.open("th-issd", data="none", set=settings) as drive:
        for name in ("one", "other"):
            drive.volume[name] = bytes(16 << 20)
        yield drive


@pytest.mark.parametrize(
    ("own", "of_drive", "is_first"), [(1, 3, False), (3, 1, True), (0, 3, True), (0, 1, False)]
)
def test_a_stream_of_a_higher_priority_is_done_first(
    readers: dict[str, Path], own: int, of_drive: int, is_first: bool
) -> None:
    with ranking_drive() as drive:
        other = drive.streams.open("other", task=readers["stream"], priority=2)
        drive.priority = of_drive
        one = drive.streams.open("one", task=readers["stream"], priority=own)
        drive.priority = 0
        assert (one.result.time < other.result.time) is is_first
        with pytest.raises(UsageError, match="priority"):
            drive.streams.open("one", task=readers["stream"], priority=-1)


def test_a_run_of_a_higher_priority_takes_less_time_beside_a_stream(readers: dict[str, Path]) -> None:
    times = {}
    for priority in (1, 3):
        with ranking_drive() as drive, drive.streams.open("other", task=readers["stream"], priority=2):
            pending = drive.tasks.submit(readers["run"], {"one": "r"}, priority=priority)
            times[priority, "submitted"] = pending.result().time
        with ranking_drive() as drive, drive.streams.open("other", task=readers["stream"], priority=2):
            times[priority, "run"] = drive.tasks.run(readers["run"], {"one": "r"}, priority=priority).time
    assert times[3, "submitted"] < times[1, "submitted"]
    assert times[3, "run"] < times[1, "run"]


def test_host_reads_beside_a_stream_have_a_front(tmp_path: Path) -> None:
    policies = {name: POLICIES[name] for name in ("read priority", OURS)}
    points = measured(rates=(0, 200_000), reads=1_000, policies=policies)
    alone, beside, _, ours = points
    assert alone.stream_mbps > beside.stream_mbps > ours.stream_mbps > 500
    assert all(ours.p50_us < point.p50_us for point in points if point.rate and point != ours)
    front = on_front(points, "p50")
    assert front == {("read priority", 200_000): True, (OURS, 200_000): True}
    worse = replace(ours, policy="worse", p50_us=ours.p50_us + 1)
    assert on_front([*points, worse], "p50")["worse", 200_000] is False
    side_by_side(tmp_path / "figure.png", points, quick=True)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
