"""Tasks: programs that a drive runs by itself over objects of its volume, each run a transaction (TxISC).

```python
drive.volume["number"] = bytes(8)
result = drive.tasks.run("count.wasm", files={"number": "rw"}, retries=3)
print(result.status, result.value, result.time)
```
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from bitline.arguments import DWORD_MAX, NUMBER_MAX, PathLike, is_unicode, whole_number
from bitline.errors import UsageError
from bitline.pending import Pending
from bitline.placed import MountedFile, PlacedRow
from bitline.units import Duration, Size, quoted

if TYPE_CHECKING:
    from bitline.drive import Drive

#: How a run may use an object: read it, or write it, too. `w` does not empty it: objects keep their length.
Mode: TypeAlias = Literal["r", "w", "rw"]
#: Files of a run: names of objects or `MountedFile`s, and what is done to each. Any, as a mapping with one
#: kind of keys is none with both.
Files: TypeAlias = Mapping[Any, Mode]
#: How a run is kept apart from others: `snapshot` and `serializable` are transactions; `file` and `block` are
#: none, to compare with.
Isolation: TypeAlias = Literal["snapshot", "serializable", "file", "block"]
#: Who runs a task: the drive, or the host's own processor, to compare with.
Where: TypeAlias = Literal["drive", "host"]
#: How a run ended.
Status: TypeAlias = Literal[
    "committed", "conflict", "failed", "trapped", "rejected", "lost", "faulted", "stopped", "full"
]

#: A file of a run: its name, whether it may be written, and where it lies, of one that is no object.
FileRow: TypeAlias = tuple[str, bool, PlacedRow | None]

#: What is run, objects and whether they may be written, stores, arguments, isolation, retries, limits.
_Request: TypeAlias = tuple[
    tuple[int, int] | bytes,
    list[FileRow],
    list[str],
    bytes,
    str,
    int,
    tuple[int, int, int, int, int],
]

#: Of a run on the host: module, objects, arguments, limits.
_HostRequest: TypeAlias = tuple[bytes, list[FileRow], bytes, tuple[int, int, int, int, int]]

_WRITES = {"r": False, "w": True, "rw": True}


@dataclass(frozen=True)
class TaskResult:
    """What became of a run. It is true if the run committed."""

    status: Status
    """How it ended. Of a transaction that has not `committed` nothing is there that it wrote; with the
    isolation `file` or `block`, writes that were over by then are."""
    code: int
    """What a task that `failed` returned; else 0."""
    reason: str
    """Why it did not commit."""
    value: bytes
    """What it returned."""
    log: str
    """What it logged, whether or not it came to its end."""
    cycles: int
    """Cycles of a core that it took, all attempts together."""
    memory: Size
    """Memory that it had."""
    attempts: int
    """How often it was begun: more than once only after conflicts."""
    time: Duration
    """Simulated time, from when the drive had the request until the outcome was there; of a run on the host
    until what it wrote was in the drive."""

    def __bool__(self) -> bool:
        return self.status == "committed"


@dataclass(frozen=True)
class Program:
    """A program that a drive has, as of when it was loaded or listed."""

    index: int
    """Its index in the namespace."""
    identifier: int
    """What its owner calls it; the beginning of its module's SHA-256, unless it was given another."""
    state: Literal["loading", "loaded", "active"]
    """Whether chunks are still to come, or it is there, or can run."""
    persistent: bool
    """Whether it is kept through power cycles."""
    size: Size
    """Its length in bytes."""
    runs: int
    """Runs begun since power-up."""
    running: int
    """Of these, those under way."""


@dataclass(frozen=True)
class TaskLimits:
    """What a drive allows programs and their runs."""

    programs: int
    """Programs of a namespace."""
    runs: int
    """Runs of a namespace at a time; further ones wait."""
    program_bytes: Size
    """All programs of a namespace together."""
    program_size: Size
    """A program."""
    persistent_size: Size
    """A program that is kept through power cycles."""
    memory: Size
    """Memory of a run."""
    cycles: int
    """Cycles of a run."""
    log_size: Size
    """The log of a run."""
    value_size: Size
    """The value of a run."""
    tickets: int
    """Reads and writes that a run may have submitted and not waited for."""
    arguments_size: Size
    """The arguments of a run."""


class Tasks:
    """The tasks of a drive. See `Drive.tasks`."""

    def __init__(self, drive: "Drive") -> None:
        self._native = drive._tasks
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Tasks of {self._drive!r}>"

    def run(
        self,
        task: "PathLike | bytes | Program",
        files: Files | None = None,
        args: bytes = b"",
        *,
        where: Where = "drive",
        stores: "Sequence[str]" = (),
        isolation: "Isolation | None" = None,
        serializable: bool = False,
        retries: int = 0,
        memory: int = 0,
        cycles: int = 0,
        log_size: int = 0,
        value_size: int = 0,
        tickets: int = 0,
        priority: int = 0,
    ) -> TaskResult:
        """Run a task once, and wait for it. Objects that it works on stay where they are meanwhile.

        Args:
            task: A WebAssembly module's file, its bytes, or a program that `load` gave. A module is loaded
                unless the drive has it.
            files: Objects of the volume, numbered from 0 in this order, and how the run may use them; of a
                vector `"group/name"`. An object keeps its length. Files of a mounted file system go beside
                them, as `Mounted.read`, `write` and `create` give them.
            args: What `isc_get_args` gives.
            where: Who runs it. The host (`host.tasks` of the configuration) reads and writes the objects
                through the link, and has no transactions, stores and expressions: what the run writes
                counts, whatever becomes of it.
            stores: Name-value stores in which it may look names up, numbered from 0 in this order;
                `"store/1"` is the second name field of a store.
            isolation: How it is kept apart from others in the drive: there, if left out, `snapshot`.
            serializable: `isolation="serializable"`, in short.
            retries: How often it is begun anew if somebody else was first.
            memory: Bytes of memory that it may have; 0: what the drive allows, as with all limits.
            cycles: Cycles of a core that it may take.
            log_size: Bytes that it may log; 0: 16 KiB, or what the drive allows if that is less.
            value_size: Bytes that it may return; 0: 64 KiB, likewise.
            tickets: Reads and writes that it may have submitted and not waited for.
            priority: What the drive ranks it by, with its size, where it does so; 0: `Drive.priority`.

        Raises:
            UsageError: A module that cannot run, with what is wrong with it; a mode or isolation that is
                none; an object twice; what the host does not have.
            NotFoundError: There is no such object.
            OSError: The module's file cannot be read.
            NvmeError: What the drive reports, such as Program In Use.
        """
        limits = (memory, cycles, log_size, value_size, tickets)
        if _is_on_host(where, task, stores, isolation, serializable, retries):
            return task_result(self._native.run_on_host(*_host_request(task, files, args, limits)))
        request = _request(task, files, stores, args, isolation, serializable, retries, limits)
        return task_result(self._native.run(*request, self._rank(priority)))

    def submit(
        self,
        task: "PathLike | bytes | Program",
        files: Files | None = None,
        args: bytes = b"",
        *,
        where: Where = "drive",
        stores: "Sequence[str]" = (),
        isolation: "Isolation | None" = None,
        serializable: bool = False,
        retries: int = 0,
        memory: int = 0,
        cycles: int = 0,
        log_size: int = 0,
        value_size: int = 0,
        tickets: int = 0,
        priority: int = 0,
    ) -> Pending[TaskResult]:
        """Begin to run a task, as `run` does, and go on.

        Raises:
            UsageError: A mode or isolation that is none; what the host does not have; the rest is told by
                `result()` of the handle.
            OSError: The module's file cannot be read.
        """
        limits = (memory, cycles, log_size, value_size, tickets)
        if _is_on_host(where, task, stores, isolation, serializable, retries):
            pending = self._native.submit_on_host(*_host_request(task, files, args, limits))
            return Pending(pending, task_result)
        request = _request(task, files, stores, args, isolation, serializable, retries, limits)
        return Pending(self._native.submit(*request, self._rank(priority)), task_result)

    def load(self, module: "PathLike | bytes", *, persistent: bool = False) -> Program:
        """Load a module and make it ready to run; one that the drive has already is not loaded again.

        Args:
            module: Its file, or its bytes.
            persistent: Whether the drive keeps it through power cycles.

        Raises:
            UsageError: A module that cannot run, with what is wrong with it; as many programs as there may
                be.
            OSError: The module's file cannot be read.
            NvmeError: What the drive reports, such as Program Too Big.
        """
        index, _ = self._native.load(_module(module), persistent)
        return next(program for program in self.list() if program.index == index)

    def list(self) -> "list[Program]":
        """The programs that the drive has, by index."""
        return [_program(found) for found in self._told()["programs"]]

    def unload(self, program: "Program | int") -> None:
        """Unload a program, or the one of an index.

        Raises:
            NvmeError: There is no such program, or it runs.
        """
        index = program.index if isinstance(program, Program) else program
        self._native.unload(whole_number("program", index, 0, 0xFFFF))

    @property
    def limits(self) -> TaskLimits:
        """What the drive allows."""
        told = self._told()
        return TaskLimits(
            programs=told["programs_max"],
            runs=told["runs_max"],
            program_bytes=Size(told["bytes_max"]),
            program_size=Size(told["program_bytes_max"]),
            persistent_size=Size(told["persistent_bytes_max"]),
            memory=Size(told["memory_bytes_max"]),
            cycles=told["cycles_max"],
            log_size=Size(told["log_bytes_max"]),
            value_size=Size(told["value_bytes_max"]),
            tickets=told["tickets_max"],
            arguments_size=Size(told["argument_bytes_max"]),
        )

    def _rank(self, priority: int) -> int:
        return whole_number("priority", priority, 0, DWORD_MAX) or self._drive.priority

    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._native.list())
        return told


def _is_on_host(
    where: str,
    task: "PathLike | bytes | Program",
    stores: "Sequence[str]",
    isolation: "str | None",
    serializable: bool,
    retries: int,
) -> bool:
    if where not in ("drive", "host"):
        raise UsageError(f"where = {where!r}; it must be 'drive' or 'host'")
    if where == "drive":
        return False
    if isinstance(task, Program):
        raise UsageError("the drive has this program, and where = 'host': give its module")
    given = {"isolation": isolation, "serializable": serializable, "retries": retries, "stores": stores}
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} = {value!r} is of runs in the drive, and where = 'host'")
    return True


def _request(
    task: "PathLike | bytes | Program",
    files: Files | None,
    stores: "Sequence[str]",
    args: bytes,
    isolation: "str | None",
    serializable: bool,
    retries: int,
    limits: tuple[int, int, int, int, int],
) -> "_Request":
    isolation = isolation or "snapshot"
    if serializable:
        if isolation not in ("snapshot", "serializable"):
            raise UsageError(f"serializable is a transaction, and isolation = {isolation!r} is none")
        isolation = "serializable"
    what = (task.index, task.identifier) if isinstance(task, Program) else _module(task)
    used = _files(files)
    if isinstance(stores, str) or not isinstance(stores, Sequence):
        raise TypeError(f"stores are a sequence of names, not {type(stores).__name__}")
    looked_up = [_name(name) for name in stores]
    attempts = whole_number("retries", retries, 0, 0xFFFF)
    return what, used, looked_up, _arguments(args), isolation, attempts, _limits(limits)


def stream_request(
    task: "PathLike | bytes | Program",
    files: Files,
    stores: "Sequence[str]",
    args: bytes,
    isolation: str,
    limits: tuple[int, int, int, int, int],
) -> tuple[
    tuple[int, int] | bytes,
    list[FileRow],
    list[str],
    bytes,
    str,
    tuple[int, int, int, int, int],
]:
    """What a stream is asked to run, for the extension: as a run, but for retries, of which it has none."""
    what, used, looked_up, given, isolation, _, allowed = _request(
        task, files, stores, args, cast("Isolation", isolation), False, 0, limits
    )
    return what, used, looked_up, given, isolation, allowed


def _host_request(
    module: "PathLike | bytes | Program",
    files: Files | None,
    args: bytes,
    limits: tuple[int, int, int, int, int],
) -> "_HostRequest":
    assert not isinstance(module, Program)
    return _module(module), _files(files), _arguments(args), _limits(limits)


def _files(files: Files | None) -> list[FileRow]:
    if not isinstance(files or {}, Mapping):
        raise TypeError(f"files are a mapping of names to modes, not {type(files).__name__}")
    return [_file(name, mode) for name, mode in (files or {}).items()]


def _file(name: "str | MountedFile", mode: str) -> FileRow:
    if not isinstance(name, MountedFile):
        return _name(name), _writes(name, mode), None
    writes = _writes(name.path, mode)
    if writes and not name.writable:
        raise UsageError(f"files[{name.path!r}] = {quoted(mode)!r}, and it was registered to be read only")
    return name.path, writes, name.placed()


def _arguments(args: bytes) -> bytes:
    if not isinstance(args, bytes | bytearray | memoryview):
        raise TypeError(f"args are bytes, not {type(args).__name__}")
    return bytes(args)


def _limits(limits: tuple[int, int, int, int, int]) -> tuple[int, int, int, int, int]:
    memory, cycles, log_size, value_size, tickets = limits
    return (
        whole_number("memory", memory, 0, NUMBER_MAX),
        whole_number("cycles", cycles, 0, NUMBER_MAX),
        whole_number("log_size", log_size, 0, DWORD_MAX),
        whole_number("value_size", value_size, 0, DWORD_MAX),
        whole_number("tickets", tickets, 0, DWORD_MAX),
    )


def _module(module: "PathLike | bytes") -> bytes:
    if isinstance(module, bytes | bytearray | memoryview):
        return bytes(module)
    return Path(module).read_bytes()


def _name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"objects are named by str, not by {type(name).__name__}")
    if not is_unicode(name):
        raise UsageError(f"{name!r} is no name: it has half of a surrogate pair, which UTF-8 does not hold")
    return name


def _writes(name: str, mode: str) -> bool:
    if mode not in _WRITES:
        raise UsageError(f"files[{name!r}] = {quoted(mode)!r}; it must be 'r', 'w' or 'rw'")
    return _WRITES[mode]


def task_result(row: "tuple[Any, int, str, bytes, str, tuple[int, int, int, int]]") -> TaskResult:
    """What became of a run, as the extension tells it."""
    status, code, reason, value, log, (cycles, memory, attempts, nanoseconds) = row
    return TaskResult(
        status=status,
        code=code,
        reason=reason,
        value=value,
        log=log,
        cycles=cycles,
        memory=Size(memory),
        attempts=attempts,
        time=Duration(nanoseconds * 1000),
    )


def _program(told: "dict[str, Any]") -> Program:
    return Program(
        index=told["index"],
        identifier=told["identifier"],
        state=told["state"],
        persistent=told["persistent"],
        size=Size(told["bytes"]),
        runs=told["runs"],
        running=told["running"],
    )
