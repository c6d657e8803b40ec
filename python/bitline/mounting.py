"""Tasks, streams and collectors on files of a file system that is mounted from a drive.

```python
with bitline.mounted("/mnt") as mount:
    result = mount.run("sort.wasm", inputs=["records"], outputs={"sorted": 64 << 20})
    print(result.status, result.time)
```
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from bitline import _bitline
from bitline.arguments import NUMBER_MAX, PathLike, whole_number
from bitline.collectors import Collector
from bitline.errors import UsageError
from bitline.opening import connect
from bitline.placed import MountedFile
from bitline.tasks import Mode, Program, TaskResult

if TYPE_CHECKING:
    from bitline.drive import Drive
    from bitline.streams import Stream


def mounted(folder: PathLike, drive: "Drive | None" = None) -> "Mounted":
    """The file system of a folder, which lies on a drive.

    Args:
        folder: A folder of an ext4 or xfs file system that is mounted from the drive: from a loop device over
            its file, or from its namespace. Paths of files are given from there on.
        drive: The drive: this process's, or a connection to one. If none is given, the one that
            `bitline attach` has mounted there, by its control socket.

    Raises:
        UsageError: A file system that does not tell where its files lie, or that is on another drive.
        ConnectionError: The process that serves the drive does not answer.
        OSError: What the operating system refuses, such as reading the block device.
    """
    return Mounted(folder, drive)


class Mounted:
    """A file system that is mounted from a drive. See `bitline.mounted`."""

    def __init__(self, folder: PathLike, drive: "Drive | None" = None) -> None:
        self.folder = os.fspath(folder)
        """The folder that it was opened by."""
        self._own = drive is None
        self.drive = drive or connect(f"nvme+unix://{_bitline.control_socket(self.folder)}")
        """The drive."""
        try:
            self._native = _bitline.Mounted(self.folder, self.drive.block_bytes)
            self._native.check(self.drive.read(*self._native.head()))
        except BaseException:
            self.close()
            raise
        self.kind, self.offset = self._native.place()

    def close(self) -> None:
        """End the connection to the drive, if this made it."""
        if self._own:
            self.drive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Mounted {self.kind} at {self.folder!r}>"

    def read(self, path: PathLike) -> MountedFile:
        """Register a file to be read, as it is now. Others may go on writing it.

        Raises:
            UsageError: Why the drive does not see it as the host does, and what would be right: holes, blocks
                that are shared, compressed, encrypted, or set aside and not written.
            OSError: What the operating system refuses.
        """
        return MountedFile(self._native.read(os.fspath(path)))

    def write(self, path: PathLike, *, shared: bool = False) -> MountedFile:
        """Register a file to be read and written where it lies. Its length stays what it is.

        Args:
            path: The file.
            shared: Others may have it open, and write it: of both, that is a conflict. If not, who opens it
                waits until it is settled.

        Raises:
            UsageError: As `read`; that somebody else has it open, or has pages of it mapped.
            OSError: What the operating system refuses.
        """
        return MountedFile(self._native.write(os.fspath(path), shared))

    def create(self, path: PathLike, size: int) -> MountedFile:
        """Register a new file of `size` bytes, all zero. Nobody sees it before it is settled.

        Raises:
            UsageError: There is one of that name.
            OSError: No space, and what else the operating system refuses.
        """
        return MountedFile(self._native.create(os.fspath(path), whole_number("size", size, 0, NUMBER_MAX)))

    def run(
        self,
        task: "PathLike | bytes | Program",
        inputs: Iterable[PathLike] = (),
        updates: Iterable[PathLike] = (),
        outputs: Mapping[str, int] | None = None,
        args: bytes = b"",
        *,
        shared: bool = False,
        **options: Any,  # noqa: ANN401 (those of the call that it makes)
    ) -> TaskResult:
        """Run a task over files, and wait for it. They are numbered from 0: inputs, updates, outputs.

        What a run that has committed wrote is there for everybody, for good, when this returns. Of one that
        has not, nothing is.

        Args:
            task: As `Tasks.run` has it.
            inputs: Files that it reads.
            updates: Files that it reads and writes where they lie.
            outputs: New files that it writes, and their bytes. They are there if it commits.
            args: What `isc_get_args` gives.
            shared: Others may have `updates` open.
            options: As `Tasks.run` has them.

        Raises:
            UsageError: As `read`, `write`, `create` and `Tasks.run`; of a run that has committed, that a file
                is not where it was.
            OSError: What the operating system refuses.
        """
        for name, given in (("inputs", inputs), ("updates", updates)):
            if isinstance(given, str | bytes | os.PathLike):
                raise UsageError(f"{name} is a list of files, such as [{given!r}]")
        if outputs is not None and not isinstance(outputs, Mapping):
            raise UsageError('outputs says how long each new file is, such as {"sorted": 4096}')
        with ExitStack() as stack:
            files: dict[str | MountedFile, Mode] = {}
            for path in inputs:
                files[stack.enter_context(_registered(self.read(path)))] = "r"
            for path in updates:
                files[stack.enter_context(_registered(self.write(path, shared=shared)))] = "rw"
            for name, size in (outputs or {}).items():
                files[stack.enter_context(_registered(self.create(name, size)))] = "rw"
            result = self.drive.tasks.run(task, files, args, **options)
            _settle((file for file in files if isinstance(file, MountedFile)), good=bool(result))
            return result

    @contextmanager
    def stream(
        self,
        path: PathLike | Collector | None,
        *,
        task: "PathLike | bytes | Program",
        to: PathLike | None = None,
        size: int = 0,
        **options: Any,  # noqa: ANN401 (those of the call that it makes)
    ) -> "Iterator[Stream]":
        """Open a stream of a file until the `with` statement ends.

        What it has written counts then, if nothing was raised.

        Args:
            path: The file that is the input; or as `Streams.open` has it.
            task: As `Streams.open` has it.
            to: The file that takes the output.
            size: Bytes of that, if it is a new one; 0 for one that there is.
            options: As `Streams.open` has them.

        Raises:
            UsageError: As `read`, `write`, `create` and `Streams.open`.
            OSError: What the operating system refuses.
        """
        with ExitStack() as stack:
            source: Any = path
            if path is not None and not isinstance(path, Collector):
                source = stack.enter_context(_registered(self.read(path)))
            target = None
            if to is not None:
                target = self.create(to, size) if size else self.write(to)
                stack.enter_context(_registered(target))
            stream = stack.enter_context(self.drive.streams.open(source, task=task, to=target, **options))
            yield stream
            if target is not None:
                result = stream.result
                stream.close()
                target.settle(bool(result))

    @contextmanager
    def collect(
        self,
        port: int,
        path: PathLike,
        *,
        size: int = 0,
        **options: Any,  # noqa: ANN401 (those of the call that it makes)
    ) -> "Iterator[Collector]":
        """Attach a collector that fills a file until the `with` statement ends.

        What it does not fill stays zero, or as it was.

        Args:
            port: As `Collectors.attach` has it.
            path: The file.
            size: Bytes of that, if it is a new one; 0 for one that there is.
            options: As `Collectors.attach` has them.

        Raises:
            UsageError: As `write`, `create` and `Collectors.attach`.
            OSError: What the operating system refuses.
        """
        target = self.create(path, size) if size else self.write(path)
        with _registered(target):
            collector = self.drive.collectors.attach(port, target, **options)
            with collector:
                yield collector
            target.settle()


def _settle(files: Iterable[MountedFile], *, good: bool) -> None:
    """Settles all, also those after one that cannot be; raises the first error."""
    errors = []
    for file in files:
        try:
            file.settle(good)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


@contextmanager
def _registered(file: MountedFile) -> Iterator[MountedFile]:
    """Lets go of a file that is not settled when this ends: nothing of it counts."""
    try:
        yield file
    finally:
        if not file.is_settled:
            file.settle(good=False)
