"""Streams: files as tasks of the drive make them, read while they are being made (TH-iSSD 3.4).

```python
drive.volume["frames"] = frames
with drive.streams.open("frames", task="edges.wasm", params=threshold) as stream:
    for block in stream:
        print(len(block))
    print(stream.result.time)
```
"""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import NDArray

from bitline.arguments import DWORD_MAX, NUMBER_MAX, PathLike, plain_bytes, whole_number
from bitline.collectors import Collector
from bitline.errors import BitlineError, UsageError
from bitline.placed import MountedFile
from bitline.tasks import Files, Isolation, Mode, Program, TaskResult, stream_request, task_result

if TYPE_CHECKING:
    from bitline._bitline import Streams as NativeStreams
    from bitline.drive import Drive

#: Who runs the task of a stream.
Where = Literal["drive", "card"]

#: Bytes that iteration gives at a time, at most.
BLOCK_BYTES = 1 << 20


class StreamError(BitlineError):
    """A stream has failed: its task, or what it reads or writes. What it wrote is not there.

    Attributes:
        result: What became of it.
    """

    def __init__(self, result: TaskResult) -> None:
        super().__init__(f"the stream {result.status}: {result.reason}")
        self.result = result

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.result,)


class Stream:
    """A stream that is open. It is closed when a `with` statement ends, and when nobody has it any more.

    Iteration gives blocks of bytes, up to the end. A stream sees its file as it was when it was opened; one
    whose file is removed, replaced or resized meanwhile is closed, and says so.
    """

    def __init__(self, native: "NativeStreams", handle: int, what: str) -> None:
        self._native = native
        self._handle = handle
        self._what = what
        self._is_closed = False

    def __del__(self) -> None:
        if not self._is_closed:
            self._native.forget(self._handle)

    def __repr__(self) -> str:
        return f"<Stream of {self._what}{', closed' if self._is_closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while block := self.read(BLOCK_BYTES):
            yield block

    def read(self, size: int = -1) -> bytes:
        """Read what comes next: `size` bytes, or what is left before the end; nothing at the end.

        Of a stream that `write` feeds it gives what there is, which may be nothing, until `finish`.

        Args:
            size: Bytes; all up to the end, if negative.

        Raises:
            StreamError: The stream has failed.
            UsageError: It is closed, or was closed as its file has changed.
        """
        if size < 0:
            return b"".join(self)
        read, failed = self._native.read(self._handle, whole_number("size", size, 0, NUMBER_MAX))
        if failed:
            raise StreamError(task_result(failed))
        return bytes(read)

    def write(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> int:
        """Send what the stream is to take next, of one opened without a file to read; how much it was.

        Raises:
            StreamError: The stream has failed.
            NvmeError: Command Sequence Error for a stream that reads a file.
        """
        taken = plain_bytes(data, "a stream takes")
        failed = self._native.write(self._handle, taken, False)
        if failed:
            raise StreamError(task_result(failed))
        return len(taken)

    def finish(self) -> None:
        """Say that no more will be written. Output that goes to a file is there when this returns, for good.

        Raises:
            StreamError: The stream has failed, and nothing of it is there.
        """
        failed = self._native.write(self._handle, b"", True)
        if failed:
            raise StreamError(task_result(failed))

    @property
    def result(self) -> TaskResult:
        """What became of the stream, once it is over: what was not read until then is fetched and kept."""
        return task_result(self._native.outcome(self._handle))

    def close(self) -> None:
        """Close it. One that is not over is stopped, and what it wrote is rolled back."""
        if not self._is_closed:
            self._is_closed = True
            self._native.close(self._handle)


class Streams:
    """The streams of a drive. See `Drive.streams`."""

    def __init__(self, drive: "Drive") -> None:
        self._native = drive._streams
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Streams of {self._drive!r}>"

    def open(
        self,
        path: "str | MountedFile | Collector | None",
        *,
        task: "PathLike | bytes | Program",
        params: bytes = b"",
        to: "str | MountedFile | None" = None,
        files: Files | None = None,
        stores: "Sequence[str]" = (),
        isolation: "Isolation" = "snapshot",
        piece_size: int = 0,
        elements: int = 0,
        ordered: bool = True,
        memory: int = 0,
        cycles: int = 0,
        log_size: int = 0,
        value_size: int = 0,
        priority: int = 0,
        where: Where = "drive",
    ) -> Stream:
        """Open a stream, which begins to run: instances of the task take pieces of its file, side by side.

        Args:
            path: The object of the volume that is the input, or a file that `Mounted.read` gives, or the
                collector that sends it from now on;
                `None`, if `write` sends it.
            task: A WebAssembly module's file, its bytes, or a program that `drive.tasks.load` gave. It takes
                pieces with `isc_stream_next` and emits with `isc_stream_emit`.
            params: What `isc_get_args` gives each instance.
            to: The object that takes the output, which keeps its length, and what is behind the output;
                `None`, if `read` fetches it.
            files: Further objects and how the task may use them; their numbers follow those of input and
                output.
            stores: Name-value stores in which it may look names up.
            isolation: How it is kept apart from others; of a transaction that fails nothing is left.
            piece_size: Bytes of a piece; 0 is the drive's choice.
            elements: Instances of the task; 0: as many as there are cores for tasks, and accelerators.
            ordered: Whether output has the order of the input, or comes as soon as it is emitted.
            memory: Bytes of memory that each instance may have; 0: what the drive allows.
            cycles: Cycles that it may take for each piece.
            log_size: Bytes that all instances may log together.
            value_size: Bytes that each may return.
            priority: What the drive ranks it by, with the size of its input, where it does so; 0:
                `Drive.priority`.
            where: Who computes, to compare with: a card in the host (`host.card` of the configuration) has
                the drive's cores and accelerators, and the host reads the input from the drive for it and
                writes the output to the drive; nothing of that is a transaction.

        Raises:
            UsageError: A module that cannot run, with what is wrong with it; pieces and elements beyond what
                the drive allows (`stream.buffer_bytes`, `stream.elements_max`); what a card does not have:
                programs of the drive, collectors, stores, files besides input and output.
            NotFoundError: There is no such object.
            NvmeError: What the drive reports, such as Stream Limit Reached.
        """
        ends: dict[str | MountedFile, Mode] = {}
        collector = path if isinstance(path, Collector) else None
        if collector is not None:
            collector.check_feeds(self._drive)
        if isinstance(path, str | MountedFile):
            ends[path] = "r"
        if to is not None:
            if to == path:
                raise UsageError(f"{path!r} is the input: the output goes to another object")
            ends[to] = "rw"
        for name in files or {}:
            if name in ends:
                raise UsageError(f"files[{name!r}] is the input or the output already")
        if where not in ("drive", "card"):
            raise UsageError(f"where = {where!r}; it must be 'drive' or 'card'")
        if where == "card" and isinstance(task, Program):
            raise UsageError("the drive has this program, and where = 'card': give its module")
        limits = (memory, cycles, log_size, value_size, 0)
        used: dict[str | MountedFile, Mode] = {**ends, **dict((files or {}).items())}
        request = stream_request(task, used, stores, params, isolation, limits)
        shape = (
            0 if isinstance(path, str | MountedFile) else None,
            None if collector is None else collector.port,
            None if to is None else len(ends) - 1,
            whole_number("piece_size", piece_size, 0, DWORD_MAX),
            whole_number("elements", elements, 0, 0xFFFF),
            ordered,
        )
        rank = whole_number("priority", priority, 0, DWORD_MAX) or self._drive.priority
        handle = self._native.open(*request, shape, rank, where == "card")
        return Stream(self._native, handle, repr(path) if path is not None else "what is written")
