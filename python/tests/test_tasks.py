"""Tasks: programs that a drive runs over objects of its volume."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Run, fails
from conftest import SMALL

import bitline
from bitline import Drive, NotFoundError, NvmeError, UsageError
from bitline.metrics import metric

#: A small drive with blocks to spare, in which versions of pages lie until a transaction is over.
SPACIOUS = {
    **SMALL,
    "nand.geometry.blocks_per_plane": 64,
    "bits.compute_blocks_percent": 30,
    "ftl.overprovisioning": 0.3,
}


@pytest.fixture
def drive() -> Iterator[Drive]:
    with bitline.open(set=SPACIOUS) as drive:
        yield drive


def _leb(number: int) -> bytes:
    """An unsigned number as WebAssembly has it (LEB128)."""
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def _section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + _leb(len(content)) + content


def _name(text: str) -> bytes:
    return _leb(len(text)) + text.encode()


def module(code: bytes) -> bytes:
    """A module with a page of memory whose main function is `code`.

    Function 0 is `file_read`, 1 `file_write`, 2 `get_args`, 3 `put_ret`, 4 `log`.
    """
    i32, i64 = b"\x7f", b"\x7e"
    moves = b"\x60\x04" + i32 * 3 + i64 + b"\x01" + i64
    three = b"\x60\x03" + i32 * 3 + b"\x01" + i32
    two = b"\x60\x02" + i32 * 2 + b"\x01" + i32
    main = b"\x60\x00\x01" + i32
    types = _section(1, b"\x04" + moves + three + two + main)
    calls = [("file_read", 0), ("file_write", 0), ("get_args", 1), ("put_ret", 2), ("log", 2)]
    imports = b"".join(_name("isc") + _name(name) + b"\x00" + bytes([kind]) for name, kind in calls)
    exports = b"\x02" + _name("memory") + b"\x02\x00" + _name("isc_main") + b"\x00\x05"
    body = b"\x00" + code + b"\x0b"
    return (
        b"\0asm\x01\0\0\0"
        + types
        + _section(2, _leb(len(calls)) + imports)
        + _section(3, b"\x01\x03")
        + _section(5, b"\x01\x00\x01")
        + _section(7, exports)
        + _section(10, b"\x01" + _leb(len(body)) + body)
    )


def _const(number: int) -> bytes:
    """An `i32.const` of a number below 64."""
    assert 0 <= number < 64
    return bytes([0x41, number])


def _call(number: int, *arguments: int, offset: int | None = None) -> bytes:
    place = b"" if offset is None else bytes([0x42, offset])
    return b"".join(map(_const, arguments)) + place + bytes([0x10, number])


DROP = b"\x1a"
#: Reads 4 bytes of file 0, adds 1 to the first and writes them back; returns and logs them.
COUNT = module(
    _call(0, 0, 0, 4, offset=0)
    + DROP
    + (_const(0) + _const(0) + b"\x2d\x00\x00" + _const(1) + b"\x6a" + b"\x3a\x00\x00")
    + (_call(1, 0, 0, 4, offset=0) + DROP + _call(3, 0, 4) + DROP + _call(4, 0, 4) + DROP)
    + _const(0)
)
#: Writes file 0 and returns 7.
FAIL = module(_call(1, 0, 8, 4, offset=0) + DROP + _const(7))
#: Gives back 5 bytes of its arguments.
ECHO = module(_call(2, 0, 5, 0) + DROP + _call(3, 0, 5) + DROP + _const(0))


def test_a_run_commits_or_leaves_nothing(drive: Drive) -> None:
    drive.volume["file"] = b"abcdefgh"
    result = drive.tasks.run(COUNT, {"file": "rw"})
    assert (result.status, result.value, result.log) == ("committed", b"bbcd", "bbcd")
    assert result
    assert (result.attempts, result.reason, result.code) == (1, "", 0)
    assert result.cycles > 0
    assert result.time.ps > 0
    assert drive.volume["file"] == b"bbcdefgh"
    failed = drive.tasks.run(FAIL, {"file": "w"})
    assert (failed.status, failed.code, bool(failed)) == ("failed", 7, False)
    assert drive.volume["file"] == b"bbcdefgh"
    assert drive.tasks.run(ECHO, args=b"hello").value == b"hello"


def test_transactions_are_counted_and_told(drive: Drive) -> None:
    drive.volume["file"] = bytes(8)
    assert "ransactions" not in str(drive.statistics)
    drive.tasks.run(COUNT, {"file": "rw"})
    before = drive.statistics
    runs = [drive.tasks.submit(COUNT, {"file": "rw"}) for _ in range(4)]
    ends = [run.result().status for run in runs]
    drive.tasks.run(FAIL, {"file": "w"})
    after = drive.statistics
    counts, since = after.transactions, after.since(before).transactions
    assert (since.begun, since.committed, since.conflicts) == (
        5,
        ends.count("committed"),
        ends.count("conflict"),
    )
    assert (since.rolled_back, counts.begun, counts.committed) == (1, 6, since.committed + 1)
    assert since.entries_most == counts.entries_most > 0, "a maximum is no sum"
    assert (counts.pages_read > 0, counts.pages_written, counts.pages_gathered > 0) == (True, 0, True)
    text = str(after)
    assert re.search(rf"Transactions of tasks +6\n    committed +{counts.committed}\n", text)
    assert re.search(rf"Logical pages read by tasks +{counts.pages_read}\n", text)
    assert after.to_dict()["tx"]["begun"] == 6
    assert metric("statistics.tx.conflicts").label == "Transactions aborted by a conflict (since power-up)"


def test_runs_without_transactions_are_not_counted_as_some(drive: Drive) -> None:
    drive.volume["file"] = bytes(8)
    assert drive.tasks.run(COUNT, {"file": "rw"}, isolation="file").status == "committed"
    assert drive.tasks.run(FAIL, {"file": "w"}, isolation="block").status == "failed"
    counts = drive.statistics.transactions
    assert (counts.begun, counts.committed, counts.conflicts, counts.rolled_back) == (0, 0, 0, 0)
    assert (counts.pages_read > 0, counts.pages_written > 0, counts.entries_most) == (True, True, 0)
    text = str(drive.statistics)
    assert "Transactions of tasks" not in text
    assert re.search(rf"    written +{counts.pages_written}\n", text)


def test_many_are_in_flight(drive: Drive) -> None:
    drive.volume["file"] = bytes(4)
    runs = [drive.tasks.submit(COUNT, {"file": "rw"}, retries=100) for _ in range(6)]
    results = [run.result() for run in runs]
    assert [result.status for result in results] == ["committed"] * 6
    assert max(result.attempts for result in results) > 1
    assert drive.volume["file"] == b"\x06\0\0\0"
    without = [drive.tasks.submit(COUNT, {"file": "rw"}) for _ in range(6)]
    ends = [run.result().status for run in without]
    assert {*ends} == {"committed", "conflict"}
    held = drive.volume["file"]
    assert isinstance(held, bytes)
    assert held[0] == 6 + ends.count("committed")


def test_programs_are_loaded_listed_and_unloaded(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "count.wasm"
    path.write_bytes(COUNT)
    kept = drive.tasks.load(path, persistent=True)
    echo = drive.tasks.load(ECHO)
    assert (kept.state, kept.persistent, kept.size) == ("active", True, len(COUNT))
    assert [program.index for program in drive.tasks.list()] == [kept.index, echo.index]
    drive.power_cut()
    drive.power_up()
    [after] = drive.tasks.list()
    assert (after.identifier, after.state, after.runs) == (kept.identifier, "loaded", 0)
    drive.volume["file"] = bytes(4)
    assert drive.tasks.run(path, {"file": "rw"})
    assert [program.runs for program in drive.tasks.list()] == [1]
    drive.tasks.unload(after)
    assert drive.tasks.list() == []
    with pytest.raises(NvmeError, match="No Program"):
        drive.tasks.unload(0)
    limits = drive.tasks.limits
    assert limits.programs > 0
    assert limits.memory > 0


def test_what_cannot_be_is_said(drive: Drive) -> None:
    drive.volume["file"] = b"abcdefgh"
    with pytest.raises(UsageError, match="no WebAssembly module"):
        drive.tasks.run(b"nothing of the kind", {"file": "r"})
    with pytest.raises(NotFoundError, match="nothing"):
        drive.tasks.run(COUNT, {"nothing": "r"})
    with pytest.raises(UsageError, match=r"files\['file'\] = 'x'"):
        drive.tasks.run(COUNT, {"file": "x"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="args are bytes, not int"):
        drive.tasks.run(COUNT, {"file": "r"}, 8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mapping of names to modes, not list"):
        drive.tasks.run(COUNT, ["file"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match='isolation = "none"'):
        drive.tasks.run(COUNT, {"file": "r"}, isolation="none")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is a transaction"):
        drive.tasks.run(COUNT, {"file": "r"}, isolation="file", serializable=True)
    with pytest.raises(FileNotFoundError):
        drive.tasks.run("not-there.wasm")
    rejected = drive.tasks.run(COUNT, {"file": "rw"}, memory=1 << 60)
    assert (rejected.status, rejected.attempts) == ("rejected", 0)
    assert "memory" in rejected.reason
    trapped = drive.tasks.run(module(b"\x03\x40\x0c\x00\x0b\x00"), cycles=100_000)
    assert trapped.status == "trapped"


def test_the_host_runs_the_same_task(drive: Drive) -> None:
    drive.volume["file"] = b"abcdefgh"
    result = drive.tasks.run(COUNT, {"file": "rw"}, where="host")
    assert (result.status, result.value, result.log) == ("committed", b"bbcd", "bbcd")
    assert drive.volume["file"] == b"bbcdefgh"
    pending = drive.tasks.submit(COUNT, {"file": "rw"}, where="host")
    assert pending.result().value == b"cbcd"
    # In the drive what a task wrote that fails is undone.
    assert drive.tasks.run(FAIL, {"file": "w"}, where="host").status == "failed"
    assert drive.volume["file"] == b"\0\0\0\0efgh"
    assert drive.tasks.list() == []


def test_what_the_host_does_not_have_is_said(drive: Drive) -> None:
    with pytest.raises(UsageError, match="where = 'moon'"):
        drive.tasks.run(COUNT, where="moon")  # type: ignore[arg-type]
    for options in (
        {"isolation": "file"},
        {"serializable": True},
        {"retries": 1},
        {"stores": ["names"]},
    ):
        with pytest.raises(UsageError, match=f"{next(iter(options))} = .* is of runs in the drive"):
            drive.tasks.run(COUNT, where="host", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="give its module"):
        drive.tasks.submit(drive.tasks.load(COUNT), where="host")
    with pytest.raises(UsageError, match="no WebAssembly module"):
        drive.tasks.run(b"nothing of the kind", where="host")
    assert drive.tasks.run(COUNT, memory=1 << 60, where="host").status == "rejected"


def made(run: Run, folder: Path) -> None:
    """Makes `an.img`, and `count.wasm` beside it."""
    options = [text for key, value in SPACIOUS.items() for text in ("--set", f"{key}={value}")]
    assert run("image", "create", "an.img", *options).code == 0
    (folder / "count.wasm").write_bytes(COUNT)


def test_an_output_that_cannot_be_written_is_told_before_anything_is(run: Run, tmp_path: Path) -> None:
    made(run, tmp_path)
    (tmp_path / "file.bin").write_bytes(bytes(8))
    assert run("file", "put", "an.img", "file", "file.bin").code == 0
    given = ("--image", "an.img", "--file", "file:rw")
    assert run("task", "run", "count.wasm", *given, "-o", "no/such/folder").code == 2
    assert run("file", "get", "an.img", "file", "after.bin").code == 0
    assert (tmp_path / "after.bin").read_bytes() == bytes(8)


def test_the_command_line_runs_tasks(run: Run, tmp_path: Path) -> None:
    made(run, tmp_path)
    (tmp_path / "fail.wasm").write_bytes(FAIL)
    (tmp_path / "data").write_bytes(b"abcdefgh")
    wasm = str(tmp_path / "count.wasm")
    assert run("file", "put", "an.img", "some", str(tmp_path / "data"), "--json").json["bytes"] == 8
    done = run("task", "run", wasm, "--image", "an.img", "--file", "some:w", "--json")
    assert done.code == 0
    assert (done.json["status"], done.json["value_hex"]) == ("committed", b"bbcd".hex())
    again = run("task", "run", wasm, "--image", "an.img", "--file", "some:w", "--where", "host", "--json")
    assert (again.code, again.json["value_hex"]) == (0, b"cbcd".hex())
    failed = run("task", "run", str(tmp_path / "fail.wasm"), "--image", "an.img", "--file", "some:w")
    assert (failed.code, "failed" in failed.out) == (1, True)
    assert run("file", "get", "an.img", "some", "out").code == 0
    assert Path("out").read_bytes() == b"cbcdefgh"
    assert run("file", "list", "an.img", "--json").json["files"] == [
        {"name": "some", "kind": "file", "bytes": 8}
    ]
    assert run("task", "load", wasm, "--image", "an.img", "--json").json["index"] == 0
    listed = run("task", "list", "--image", "an.img", "--json").json["programs"]
    assert [program["bytes"] for program in listed] == [len(COUNT)]
    assert run("task", "unload", "0", "--image", "an.img").code == 0
    assert run("file", "remove", "an.img", "some").code == 0
    fails(run("file", "get", "an.img", "some", "out"), 2, "no file 'some'")
    fails(run("task", "run", wasm, "--image", "an.img", "--file", "some"), 2, "expected NAME:r")
    fails(run("task", "unload", "0", "--image", "an.img"), 3, "No Program")


def test_a_format_of_blocks_leaves_programs(drive: Drive) -> None:
    program = drive.tasks.load(ECHO, persistent=True)
    drive.volume["object"] = b"gone"
    drive.admin.format(drive.block_bytes)
    assert "object" not in drive.volume
    assert [one.identifier for one in drive.tasks.list()] == [program.identifier]
    assert drive.tasks.run(program).status == "committed"
