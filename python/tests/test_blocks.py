"""Blocks: bytes and arrays go in and come out; what cannot be done is refused in words."""

import copy
import json
import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL

import bitline
from bitline import Drive, InternalError, UsageError


def test_the_default_drive_is_the_two_terabytes_of_flash_cosmos() -> None:
    with bitline.open() as drive:
        identity = drive.admin.identify()
        assert identity.capacity_bytes == drive.capacity_bytes == drive.blocks * drive.block_bytes
        assert 1.9e12 < drive.capacity_bytes < 2.2e12
        assert drive.block_bytes == identity.block_bytes == 4096
        assert identity.model_number.startswith("Bitline")


def test_bytes_come_back(drive: Drive) -> None:
    random = np.random.default_rng(1)
    data = random.bytes(5 * drive.block_bytes)
    drive.write(7, data)
    drive.write(9, memoryview(data)[: drive.block_bytes])
    expected = data[: 2 * 4096] + data[:4096] + data[3 * 4096 :]
    assert drive.read(7, 5) == expected
    assert drive.read(6) == bytes(drive.block_bytes)


@pytest.mark.parametrize(
    "dtype",
    ["?", "u1", "<i2", ">i4", "<u8", "<f2", "<f8", "<c16", "M8[ns]", "U7", "S3", [("a", "<i4"), ("b", "?")]],
)
def test_arrays_of_any_type_come_back(drive: Drive, dtype: object) -> None:
    random = np.random.default_rng(2)
    kind = np.dtype(dtype)
    shape = (3, 41, 5)
    raw = random.bytes(3 * 41 * 5 * kind.itemsize)
    if kind.kind == "b" or kind.fields:
        raw = bytes(3 * 41 * 5 * kind.itemsize - 1) + b"\1"
    if kind.kind == "U":
        raw = np.array(["grün"] * 3 * 41 * 5, kind).tobytes()
    array = np.frombuffer(raw, kind).reshape(shape)
    drive.write(3, array)
    found = drive.read_array(3, shape, kind)
    assert found.dtype == kind
    assert found.shape == shape
    assert found.tobytes() == array.tobytes()
    found[0, 0, 0] = found[1, 1, 1]  # it is the caller's own


def test_an_array_is_written_in_its_logical_order(drive: Drive) -> None:
    array = np.arange(60, dtype=np.int16).reshape(6, 10)[::2, ::-1].T
    drive.write(0, array)
    np.testing.assert_array_equal(drive.read_array(0, array.shape, np.int16), array)
    assert drive.read_array(0, (4, 0), np.int16).shape == (4, 0)


def test_deallocated_and_zeroed_blocks_read_as_zeroes(drive: Drive) -> None:
    drive.write(0, b"\xff" * 4096 * 8)
    drive.deallocate(0, 4)
    drive.write_zeroes(5, 2)
    zero = [not any(drive.read(lba)) for lba in range(8)]
    assert zero == [True, True, True, True, False, True, True, False]


def test_time_passes_only_in_the_drive(drive: Drive) -> None:
    before = drive.now
    assert drive.now == before
    drive.write(0, bytes(4096))
    programmed = drive.now - before
    assert 700 < programmed.us < 900  # a TLC program is 700 us (Flash-Cosmos, Table 1), transfers add to it
    before = drive.now
    drive.read(0)
    assert 60 < (drive.now - before).us < 75  # a TLC read is 60 us


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.read(d.blocks), "outside of the namespace"),
        (lambda d: d.read(0, 0), "blocks = 0 is out of range; it must be 1 to"),
        (lambda d: d.deallocate(0, 0), "blocks = 0 is out of range; it must be 1 to"),
        (lambda d: d.write(0, b""), "at least one block"),
        (lambda d: d.write(0, np.ones(0)), "at least one block"),
        (lambda d: d.write(-1, bytes(4096)), "lba = -1 is out of range; it must be 0 to"),
        (lambda d: d.read(-1), "lba = -1 is out of range; it must be 0 to"),
        (lambda d: d.read(0, -1), "blocks = -1 is out of range; it must be 1 to"),
        (lambda d: d.write_zeroes(0, -1), "blocks = -1 is out of range; it must be 1 to"),
        (lambda d: d.read(2**64), f"lba = {2**64} is out of range; it must be 0 to {2**64 - 1}"),
        (lambda d: d.read(d.blocks - 1, 2), "outside of the namespace"),
        (lambda d: d.write(2**64 - 1, bytes(4096)), "outside of the namespace"),
        (lambda d: d.write(0, b"abc"), "no whole number of logical blocks of 4096 bytes"),
        (lambda d: d.write(0, np.array([object()])), "its items are references"),
        (lambda d: d.read_array(0, 4, object), "its items are references"),
        (lambda d: d.read_array(0, (-1, 2), int), "negative dimension"),
        (lambda d: d.read(0, 2**60), "one call moves at most"),
        (lambda d: d.deallocate(d.blocks, 1), "outside of the namespace"),
        (lambda d: d.write_zeroes(0, d.blocks + 1), "outside of the namespace"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(drive: Drive, call: object, words: str) -> None:
    before = drive.statistics
    with pytest.raises(UsageError, match=words):
        call(drive)
    assert drive.statistics == before


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.measure({"read_fraction": 2}), "read_fraction = 2 must be 0 to 1"),
        (lambda d: d.measure({"requsts": 2}), 'no key "requsts"; did you mean "requests"'),
        (lambda d: d.measure({"xyz": 2}), 'no key "xyz"; it has align_blocks, arrival, blocks'),
        (lambda d: d.measure({"requests": -1}), "requests = -1: it must be a whole number from 0 to"),
        (
            lambda d: d.measure({"blocks": 2**32}),
            "blocks = 4294967296: it must be a whole number from 0 to 4294967295",
        ),
        (lambda d: d.measure({"read_fraction": math.nan}), "read_fraction = nan must be a finite"),
        (
            lambda d: d.measure([{"arrival": {"kind": "open", "requests_per_second": math.inf}}]),
            "requests_per_second = inf",
        ),
        (lambda d: d.measure({"arrival": {"kind": "opn"}}), "arrival = .*unknown variant `opn`"),
        (lambda d: d.measure({"requests": {1}}), "not JSON serializable"),
        (
            lambda d: d.measure({"arrival": {"kind": "closed", "depth": 10**9}}),
            "depth = 1000000000 must be 1 to 65535",
        ),
        (lambda d: d.measure({"range_blocks": 10**15}), "must lie within the namespace's"),
    ],
)
def test_flows_that_cannot_be_are_refused_and_change_nothing(drive: Drive, call: object, words: str) -> None:
    before = drive.statistics
    with pytest.raises(UsageError, match=words):
        call(drive)
    after = drive.statistics
    changed = {name for name, value in vars(before).items() if value != getattr(after, name)}
    # At most the namespace was asked what it is.
    link = {f"link_{way}_{what}" for way in ("down", "up") for what in ("bytes", "utilization")}
    assert changed <= link | {"commands", "elapsed", "energy", "energy_by", "now", "tenants"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.read("a"), "str"),
        (lambda d: d.read(1.5), "float"),
        (lambda d: d.write(0, "abc"), "stores bytes or a NumPy array, not a str"),
        (lambda d: d.write(0, [1, 2, 3]), "stores bytes or a NumPy array, not a list"),
        (lambda d: d.write(0, None), "not a NoneType"),
        (lambda d: d.measure("abc"), "a workload is a flow or a list of flows"),
        (lambda d: d.measure([1]), "a flow is a mapping"),
    ],
)
def test_things_of_another_kind_are_type_errors(drive: Drive, call: object, words: str) -> None:
    before = drive.statistics
    with pytest.raises(TypeError, match=words):
        call(drive)
    assert drive.statistics == before


def test_a_closed_drive_says_so() -> None:
    drive = bitline.open(set=SMALL)
    vector = drive.group("1").write([np.ones(8, bool)])[0]
    assert "closed" not in repr(drive)
    drive.close()
    drive.close()
    assert repr(drive) == "<Drive 'flash-cosmos', closed>"
    for call in (
        drive.flush,
        lambda: drive.read(0),
        lambda: drive.now,
        lambda: drive.statistics,
        vector.read,
    ):
        with pytest.raises(UsageError, match="the drive is closed; open it again"):
            call()


def test_a_drive_without_power_says_so_and_comes_back(drive: Drive) -> None:
    drive.write(0, b"k" * 4096)
    drive.power_cut()
    with pytest.raises(UsageError, match="power it up first"):
        drive.read(0)
    drive.power_up()
    assert drive.read(0) == b"k" * 4096


def test_two_drives_do_not_know_of_each_other(drive: Drive) -> None:
    with bitline.open(set=SMALL) as other:
        drive.write(0, b"a" * 4096)
        other.write(0, b"b" * 4096)
        assert (drive.read(0)[:1], other.read(0)[:1]) == (b"a", b"b")
        other.read(0, 3)
        assert other.now > drive.now


def test_the_same_calls_take_the_same_time() -> None:
    def run() -> dict[str, object]:
        with bitline.open(set=SMALL) as drive:
            drive.measure({"requests": 500, "read_fraction": 0.5, "range_blocks": 256})
            return drive.statistics.to_dict()

    assert run() == run()


@pytest.mark.parametrize("refused", [pickle.dumps, copy.copy, copy.deepcopy])
def test_drives_and_vectors_cannot_be_pickled_or_copied(drive: Drive, refused: object) -> None:
    group = drive.group("g")
    vector = group.write([np.ones(8, bool)])[0]
    for thing in (drive, group, vector, ~vector):
        with pytest.raises(TypeError, match="cannot be pickled"):
            refused(thing)


def test_errors_can_be_pickled(drive: Drive) -> None:
    with pytest.raises(bitline.NvmeError) as caught:
        drive.compare(0, b"1" * drive.block_bytes)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.status) == (str(caught.value), caught.value.status)


def test_a_panic_becomes_an_internal_error_and_ends_the_drive(
    drive: Drive, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InternalError, match="a bug in Bitline: the sky fell"):
        drive._native._panic("the sky fell")
    for call in (drive.flush, lambda: drive.read(0), lambda: drive.now):
        with pytest.raises(
            InternalError, match=r"unusable since an internal error .*the sky fell.*open it again"
        ):
            call()
    with bitline.open(set=SMALL) as other:
        assert not any(other.read(0))


def test_a_drive_stays_in_its_thread(drive: Drive) -> None:
    raised: list[BaseException] = []

    def elsewhere() -> None:
        try:
            drive.read(0)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert isinstance(raised[0], UsageError)
    assert "opened in another thread" in str(raised[0])
    assert drive.read(0) == bytes(4096)


def test_drives_of_threads_that_end_and_drives_dropped_elsewhere() -> None:
    kept: list[Drive] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: kept.append(bitline.open(set=SMALL)))
        thread.start()
        thread.join()
    assert len(kept) == 3
    with pytest.raises(UsageError, match="another thread"):
        kept[0].flush()
    kept.clear()


def test_a_callback_cannot_call_its_own_drive(drive: Drive) -> None:
    with pytest.raises(UsageError, match="the drive is busy"):
        drive.measure({"requests": 10, "range_blocks": 64}, lambda _: drive.flush())
    assert drive.read(0, 1)


def test_ctrl_c_stops_a_flow_and_leaves_the_drive_usable(drive: Drive) -> None:
    calls = []

    def interrupt(done: int) -> None:
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive.measure({"requests": 10_000_000, "range_blocks": 64}, interrupt)
    assert len(calls) == 2
    before = drive.statistics
    drive.write(0, b"z" * 4096)
    assert drive.read(0) == b"z" * 4096
    assert drive.statistics.since(before).commands.commands < 100


def test_ctrl_c_stops_a_command() -> None:
    """A signal while Rust runs: the call ends early with KeyboardInterrupt."""
    script = (
        "import bitline, signal\n"
        "d = bitline.open(data='none')\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try:\n"
        "    d.measure({'requests': 10**12})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "interrupted\n"


def test_a_flow_reports_progress_and_latencies(drive: Drive) -> None:
    seen: list[int] = []
    report = drive.measure({"requests": 3000, "range_blocks": 256, "read_fraction": 0.9}, seen.append)
    flow = report.flows[0]
    assert seen[-1] == flow.requests == 3000
    assert flow.read is not None
    assert flow.write is not None
    assert flow.read.count + flow.write.count == 3000
    for latency in (flow.read, flow.write):
        times = [latency.min, latency.p50, latency.p99, latency.p999, latency.p9999, latency.max]
        assert times == sorted(times)
        assert latency.min <= latency.mean <= latency.max
    assert flow.requests_per_second == pytest.approx(3000 / flow.elapsed.s)
    assert flow.megabytes_per_second == pytest.approx(flow.requests_per_second * 4096 / 1e6)
    assert sum(entry.energy.pj for entry in report.energy_by) == report.energy.pj
    assert report.to_dict()["flows"][0]["requests"] == 3000


def test_several_flows_side_by_side(drive: Drive) -> None:
    flows = [
        {"name": "reader", "requests": 200, "range_blocks": 128, "pattern": "sequential"},
        {
            "name": "writer",
            "requests": 100,
            "range_blocks": 128,
            "first_block": 128,
            "read_fraction": 0,
            "arrival": {"kind": "open", "requests_per_second": 1000, "outstanding_max": 8},
        },
    ]
    reader, writer = drive.measure(flows).flows
    assert (reader.name, reader.write, writer.name, writer.read) == ("reader", None, "writer", None)
    assert writer.requests_per_second == pytest.approx(1000, rel=0.4)


def test_a_trace_is_written(drive: Drive, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has recorded no trace: start one before"):
        drive.tracing.write(tmp_path / "none.json")
    drive.tracing.start()
    drive.write(0, bytes(4096))
    path = tmp_path / "trace.json"
    drive.tracing.write(path)
    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X" and event["args"].get("opcode") is None]
    assert [span["name"] for span in spans] == [
        *(
            "doorbell",
            "request",
            "submission entry",
            "request",
            "data",
            "program",
            "data",
            "program",
            "completion",
        ),
    ]
    assert max(span["dur"] for span in spans) == pytest.approx(700, rel=0.01)  # the TLC program, in us
    with pytest.raises(OSError, match="No such file"):
        drive.tracing.write(tmp_path / "nowhere" / "trace.json")


def _events(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return events


def test_a_section_is_traced_alone(drive: Drive, tmp_path: Path) -> None:
    drive.write(0, bytes(4 * 4096))
    begin, path = drive.now, tmp_path / "trace.json"
    with drive.trace(path):
        assert not path.exists()
        drive.read(1, 2)
    spans = [event for event in _events(path) if event["ph"] == "X"]
    (command,) = [span for span in spans if "opcode" in span["args"]]
    told = command["args"]
    assert (told["opcode"], told["first_block"], told["blocks"], told["bytes"]) == ("Read", 1, 2, 8192)
    assert all(begin.ns / 1e3 <= span["ts"] for span in spans)
    assert all(span["ts"] + span["dur"] < drive.now.ns / 1e3 + 1e-6 for span in spans)
    # Every part of it is linked to the command.
    assert all(span["args"]["commands"] == told["commands"] for span in spans)
    flow = [event["ph"] for event in _events(path) if event["ph"] in "stf"]
    assert (len(flow), sorted({*flow})) == (len(spans), ["f", "s", "t"])
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_recovery_is_in_a_section_that_asks_for_it(drive: Drive, tmp_path: Path) -> None:
    drive.write(0, bytes(4096))
    for recovery in (False, True):
        with drive.trace(tmp_path / "trace.json", recovery=recovery):
            drive.read(0)
        args = [event["args"] for event in _events(tmp_path / "trace.json") if event["ph"] == "X"]
        assert any("recovery" in told.get("tenants", []) for told in args) == recovery


def test_a_section_that_ends_by_an_exception_is_written(drive: Drive, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.json", tmp_path / "inner.json"

    def nest() -> None:
        with drive.trace(outer):
            drive.write(0, bytes(4096))
            with drive.trace(inner):
                pytest.fail("it is refused")

    with pytest.raises(UsageError, match="traces do not nest"):
        nest()
    assert any(event["name"] == "write" for event in _events(outer))
    assert not inner.exists()
    with pytest.raises(FileNotFoundError), drive.trace(tmp_path / "nowhere" / "trace.json"):
        pytest.fail("nothing is done for a file that cannot be written")
    with pytest.raises(IsADirectoryError), drive.trace(tmp_path):
        pytest.fail("nothing is done for a file that cannot be written")
    path = tmp_path / "folder" / "trace.json"
    path.parent.mkdir()

    def fail_twice() -> None:
        with drive.trace(path):
            path.parent.rmdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        fail_twice()
    assert "the trace is not in" in raised.value.__notes__[0]
    with drive.trace(outer):
        drive.power_cut()
        drive.power_up()
    assert not any("recovery" in event["args"].get("tenants", []) for event in _events(outer))


def test_a_drive_without_data_gives_zeroes() -> None:
    secret = b"secret!!" * 512
    with bitline.open(data="none", set=SMALL) as drive:
        drive.write(100, secret)
        drive.volume["file"] = secret
        assert drive.read(0, 1) == drive.read(100, 1) == bytes(4096)
        assert drive.volume["file"] == bytes(4096)
        assert drive.volume.handle("file").read(10, 100) == bytes(100)
        assert [found.name for found in drive.volume.objects()] == ["file"]
        vector = drive.group("g").write([b"abc"])[0]
        drive.write(100, secret)
        assert not vector.read().any()
        assert not vector.read(check=True).any()
        assert vector.count() == 0
