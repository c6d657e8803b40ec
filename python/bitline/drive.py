"""A drive in this process: open it, store on it, compute on it, ask what it did.

```python
import bitline
with bitline.open() as drive:
    drive.write(0, bytes(4096))
    print(drive.now)
```
"""

import itertools
import math
import tomllib
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bitline import _bitline
from bitline.admin import Admin
from bitline.arguments import DWORD_MAX, NUMBER_MAX, PathLike, new_name, stored_bytes, whole_number
from bitline.collectors import Collector, Collectors
from bitline.errors import UsageError
from bitline.groups import Group, Groups
from bitline.media import Media
from bitline.memory import Memory
from bitline.pending import Pending
from bitline.report import Report
from bitline.statistics import Statistics
from bitline.streams import Streams
from bitline.tasks import Tasks
from bitline.tracing import Tracing
from bitline.units import Duration
from bitline.volume import Volume, VolumeFiles
from bitline.workload import Flow, LatencyChunk, Queries, Replay, _told, workloads_as_json

if TYPE_CHECKING:
    import pyarrow as pa

    from bitline.columns import BitmapIndex
    from bitline.columns.encode import Encoding
    from bitline.search import Searches

#: A flow or a trace, or a mapping of the same keys to plain values.
Workload: TypeAlias = Flow | Replay | Queries | Mapping[str, Any]

#: Numbers of drives, which tell their statistics apart.
_DRIVES = itertools.count(1)

#: The last die that a home can begin at, and the most dies it can have: 16 bits each.
_HOME_MAX = (1 << 16) - 1


class Drive:
    """A computational SSD in this process, made by `bitline.open`.

    Every call lets simulated time pass until the drive has completed it; `now` is the drive's clock.
    A drive is used in the thread that opened it; a process forked from that one can use a copy without an
    image, and nothing but close the copy of one with an image, which stays the parent's.

    Ctrl-C interrupts any call. The drive stays usable: commands that had been sent are carried out in the
    time of later calls, each wholly or, if it fails, with its error untold; no further ones are sent, so
    that of a long write some blocks are new and the others as they were. Nothing acknowledged is lost. An
    interrupted `power_up` leaves the drive without power, an interrupted `close` leaves it open, and a
    sanitize or format that began is ended by the drive: other calls may be refused until then.
    """

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native
        self._volume = _bitline.Volume(native)
        self._tasks = _bitline.Tasks(native)
        self._memory = _bitline.Memory(native)
        self._streams = _bitline.Streams(native)
        self._collectors = _bitline.Collectors(native)
        self._attached: list[weakref.ref[Collector]] = []
        self._config = native.config()
        self._searches: Searches | None = None
        self._is_closed = False
        self._number = next(_DRIVES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a drive lives in this process and cannot be pickled; open it by its image path instead"
        )

    def __repr__(self) -> str:
        return f"<Drive {self._config.name!r}{', closed' if self._is_closed else ''}>"

    # Life

    def close(self) -> None:
        """Finish what is in flight, make an image durable, and let go of it. Closing twice does nothing.

        A drive with an image that is dropped without closing loses nothing acknowledged, unless its host
        loses power.

        Raises:
            OSError: The image file cannot be written, such as on a full disk. The drive stays open and keeps
                what it has; close it again when there is room.
        """
        self._native.close()
        self._is_closed = True

    def power_cut(self) -> None:
        """Cut the power in this instant; what was acknowledged, or had reached flash, is there afterwards."""
        self._native.power_cut()

    def power_up(self) -> None:
        """Power up after a power cut; the drive recovers from its media, which takes simulated time."""
        self._native.power_up()

    @property
    def priority(self) -> int:
        """The priority of what is asked of the drive from now on: reads, writes, queries, runs and streams.

        With `schedule.policy = "priority_aware"`, the highest of priority + 1 / size in GiB goes first
        (TH-iSSD, Equation 1). 0 is usual, and what a lookup of one short name always has.
        """
        return self._native.priority()

    @priority.setter
    def priority(self, priority: int) -> None:
        self._native.set_priority(whole_number("priority", priority, 0, DWORD_MAX))

    @property
    def config(self) -> str:
        """The complete configuration, as TOML."""
        return self._config.to_toml()

    @property
    def address(self) -> str | None:
        """Where it is, of a drive that `bitline.connect` gave: `nvme+tcp://HOST:PORT/NQN`."""
        return _bitline.remote_name(self._native)

    @property
    def now(self) -> Duration:
        """The drive's clock: simulated time since it was opened; of a drive elsewhere, since it was there."""
        return Duration(self._native.now_ps())

    def wait(self, time: Duration) -> None:
        """Let time pass, such as `Duration.from_ns(1e6)`; what goes on in the drive goes on."""
        self._native.wait(whole_number("time", time.ps, 0, NUMBER_MAX))

    # Blocks

    @property
    def block_bytes(self) -> int:
        """Bytes of a logical block."""
        return self._native.block_bytes()

    @property
    def blocks(self) -> int:
        """Logical blocks."""
        return self._native.blocks()

    @property
    def data_blocks(self) -> int:
        """Logical blocks for ordinary data, from 0 on: what is behind them is for computing and its names."""
        return self._native.data_blocks()

    @property
    def capacity_bytes(self) -> int:
        """Bytes that can be stored."""
        return self.blocks * self.block_bytes

    def write(self, lba: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write from logical block `lba` on.

        Args:
            lba: The first block, counted from 0.
            data: Bytes, a whole number of blocks; or a NumPy array of any dtype but object, which is written
                in C order and filled up with zeroes to whole blocks.

        Raises:
            TypeError: Something else, such as a str or a list.
            UsageError: Blocks outside of the drive, part of a block, none, or more than 4 GiB; blocks that
                the catalogue of `volume` has, or its next object takes. Those of an object may be written.
            NvmeError: What the drive reports, such as Capacity Exceeded.
        """
        packed = stored_bytes(data, self.block_bytes)
        if not packed:
            raise UsageError("data is empty; write at least one block")
        self._native.write(whole_number("lba", lba), packed)

    def read(self, lba: int, blocks: int = 1) -> bytes:
        """Read `blocks` logical blocks from `lba` on. Blocks never written are zeroes.

        Raises:
            UsageError: Blocks outside of the drive, none, or more than 4 GiB.
            MediaError: The flash has lost them.
        """
        return self._native.read(whole_number("lba", lba), whole_number("blocks", blocks, 1))

    def submit_read(self, lba: int, blocks: int = 1) -> Pending[bytes]:
        """Begin to read blocks, and go on: other I/O and queries are in flight with it.

        Raises:
            UsageError: No blocks, or more than 4 GiB; the rest is told by `result()` of the handle.
        """
        native = self._native.submit_read(whole_number("lba", lba), whole_number("blocks", blocks, 1))
        return Pending(native, bytes)

    def submit_write(self, lba: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> Pending[None]:
        """Begin to write blocks, as `write` does, and go on.

        Raises:
            UsageError: No data, or more than 4 GiB; the rest is told by `result()` of the handle.
        """
        packed = stored_bytes(data, self.block_bytes)
        if not packed:
            raise UsageError("data is empty; write at least one block")
        return Pending(self._native.submit_write(whole_number("lba", lba), packed), lambda _: None)

    def read_array(self, lba: int, shape: int | Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """Read an array as `write` wrote it.

        Args:
            lba: The block it begins at.
            shape: Its shape.
            dtype: Its type, anything but object.

        Raises:
            UsageError: As `read`; also a type that cannot be stored.
        """
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise UsageError(f"an array of {kind} cannot be stored: its items are references")
        dimensions = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(dimension < 0 for dimension in dimensions):
            raise UsageError(f"shape {dimensions} has a negative dimension")
        items = math.prod(dimensions)
        if items * kind.itemsize == 0:
            return np.empty(dimensions, kind)
        data = self.read(lba, -(-items * kind.itemsize // self.block_bytes))
        return np.frombuffer(bytearray(data), kind, count=items).reshape(dimensions)

    def flush(self) -> None:
        """Make everything written so far durable, in the image file too.

        Raises:
            OSError: The image file cannot be written, such as on a full disk. The drive keeps what it has;
                flush it again when there is room.
        """
        self._native.flush()

    def deallocate(self, lba: int, blocks: int) -> None:
        """Tell the drive that blocks are not needed. Whole flash pages then read as zeroes."""
        self._native.deallocate(whole_number("lba", lba), whole_number("blocks", blocks, 1))

    def write_zeroes(self, lba: int, blocks: int) -> None:
        """Make blocks read as zeroes without sending any."""
        self._native.write_zeroes(whole_number("lba", lba), whole_number("blocks", blocks, 1))

    def compare(self, lba: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Compare whole logical blocks from `lba` on with `data`, inside the drive.

        Raises:
            NvmeError: They differ (Compare Failure), or cannot be read.
        """
        self._native.compare(whole_number("lba", lba), stored_bytes(data, self.block_bytes))

    def verify(self, lba: int, blocks: int) -> None:
        """Have the drive read logical blocks without sending them."""
        self._native.verify(whole_number("lba", lba), whole_number("blocks", blocks, 1))

    def write_uncorrectable(self, lba: int, blocks: int) -> None:
        """Make reads of logical blocks fail until they are written again."""
        self._native.write_uncorrectable(whole_number("lba", lba), whole_number("blocks", blocks, 1))

    def copy(self, sources: Sequence[tuple[int, int]], destination: int) -> None:
        """Copy ranges of logical blocks inside the drive.

        Args:
            sources: Ranges, each a first block and a number of blocks, copied one after another.
            destination: The first logical block written.
        """
        ranges = [
            (whole_number("lba", lba), whole_number("blocks", blocks, 1, DWORD_MAX))
            for lba, blocks in sources
        ]
        self._native.copy(ranges, whole_number("destination", destination))

    # Names

    def group(self, name: str, *, first_die: int | None = None, dies: int | None = None) -> Group:
        """A group of bit vectors by its name, which is made with its first vector.

        Args:
            name: Its name, UTF-8 of up to 255 bytes. It is kept on the drive: whoever opens an image again
                finds the group by it.
            first_die: The die of the first page of every vector, dies counted channels first; 0 if only
                `dies` is given. Without either, a group lies where it was written, a new one on all dies.
            dies: Over how many dies, from that on, vectors are spread; all if only `first_die` is given. A
                vector of a few pages leaves most dies idle anyway: groups on dies of their own are worked on
                at the same time.

        Raises:
            UsageError: A name that cannot be, or of an array, file or table; a home that the drive has not.
        """
        if not isinstance(name, str):
            raise TypeError(f"a group has a name, a str, not a {type(name).__name__}")
        home = None
        if first_die is not None or dies is not None:
            first = whole_number("first_die", first_die or 0, 0, _HOME_MAX)
            home = first, 0 if dies is None else whole_number("dies", dies, 1, _HOME_MAX)
        return Group(self, name, self._volume.check_group(new_name(name), home))

    @property
    def groups(self) -> Groups:
        """The groups that the drive holds."""
        return Groups(self)

    @property
    def volume(self) -> Volume:
        """Named arrays, files and tables, kept on the drive."""
        return Volume(self)

    def bitmap_index(
        self,
        table: "pa.Table | None" = None,
        *,
        name: str = "index",
        encoding: "Mapping[str, Encoding] | None" = None,
    ) -> "BitmapIndex":
        """An index over columns of an Arrow table, as vectors of bits that the drive answers predicates with.

        Args:
            table: The table to be indexed, all columns of it (`table.select` takes some); without one, the
                index of this name is opened.
            name: Its name on the drive.
            encoding: Of columns for which it is not to be chosen: `"bitmap"`, a vector for each value, or
                `"planes"`, a vector for each bit of the value. By default columns of 3 to 64 values are kept
                as bitmaps.

        Returns:
            The index, a mapping from names to columns: `index["age"] < 30` is a predicate, which is counted.

        Raises:
            UsageError: A drive without data, whose answers would say nothing; a table without rows or
                columns; a column of another type than bool, integers, decimals, dates, times, timestamps,
                durations, strings, bytes and dictionaries; an encoding that is none, or bitmaps of more than
                4,096 values; a name that is taken; without a table, one that is not there.
            NvmeError: What the drive reports, such as a full group.
        """
        from bitline.columns import index

        self._needs_data("an index would answer 0 whatever is asked", "vectors of drive.group(NAME).place()")
        if table is None:
            if encoding is not None:
                raise UsageError("encoding is chosen when an index is made: give the table, too")
            return index.opened(self, name)
        return index.build(self, table, name, encoding)

    @property
    def search(self) -> "Searches":
        """Names and values that the drive searches for itself: key-value stores, tables and graphs, by name.

        Raises:
            UsageError: A drive without data, whose answers would say nothing.
        """
        if self._searches is None:
            self._needs_data("a search would find nothing", "drive.measure()")
            from bitline.search.searches import Searches
            from bitline.search.store import context_of

            files = VolumeFiles(self.volume)
            self._searches = Searches(context_of(_bitline.Search(self._native), files, self))
        return self._searches

    @property
    def tasks(self) -> Tasks:
        """Programs that the drive runs by itself over objects of its volume, each run a transaction."""
        return Tasks(self)

    @property
    def memory(self) -> Memory:
        """Memory of the drive that its programs and the host share (`local_memory`). It is volatile."""
        return Memory(self)

    @property
    def streams(self) -> Streams:
        """Objects of its volume as tasks of the drive make them, read while they are being made."""
        return Streams(self)

    @property
    def collectors(self) -> Collectors:
        """Cameras and sensors that feed the drive over ports of their own."""
        return Collectors(self)

    def _needs_data(self, otherwise: str, time_with: str) -> None:
        if tomllib.loads(self.config)["data"]["storage"] == "none":
            raise UsageError(
                f"data.storage = none: such a drive keeps only time, so {otherwise}; "
                f'open it with data="memory", or measure time with {time_with}'
            )

    # Handles

    @property
    def admin(self) -> Admin:
        """What its admin commands do: Identify, its health, Format and Sanitize."""
        return Admin(self._native)

    @property
    def media(self) -> Media:
        """What its media holds and has been through, and how to set that up at once."""
        return Media(self._native)

    @property
    def tracing(self) -> Tracing:
        """What its parts do, event by event: a trace that begins and ends where you say."""
        return Tracing(self._native)

    def trace(self, path: PathLike, *, recovery: bool = False) -> AbstractContextManager[None]:
        """Trace a section: `with drive.trace("out.json"):` writes what every part does in its body.

        The file is written when the body ends, also by an exception, and appears whole or not at all. It is
        for Perfetto (ui.perfetto.dev) and other viewers of the trace-event format.

        Args:
            path: The file.
            recovery: Restart the drive first, so that the trace begins with its recovery.

        Raises:
            UsageError: A trace is recorded already: traces do not nest.
            OSError: The file cannot be written.
        """
        return self.tracing._section(path, recovery)

    # Measuring

    @property
    def statistics(self) -> Statistics:
        """Everything counted since power-up, as of now."""
        return Statistics._from_json(self._native.statistics(), self._number)

    def measure(
        self,
        workload: Workload | Sequence[Workload],
        progress: Callable[[int], object] | None = None,
        *,
        latencies: Callable[[LatencyChunk], object] | None = None,
        keep_going: bool = False,
        interval_ns: int = 0,
        draw: int | None = None,
    ) -> Report:
        """Run a workload and measure it: a flow of requests, a trace, queries, or several side by side.

        Args:
            workload: `bitline.Flow`, `bitline.Replay` or `bitline.Queries`, or a list of them. A mapping will
                do, too, with the names of their fields as keys and plain values, such as `{"requests": 1000,
                "pattern": "sequential", "arrival": {"kind": "closed", "depth": 8}}`; what has a `"path"` is
                a trace, what has an `"expression"` are queries.
            progress: Called now and then with the number of requests and queries completed.
            latencies: Called now and then with the requests that completed meanwhile, in columns: a mapping
                from the names in `bitline.workload.LATENCY_COLUMNS` to NumPy arrays. Chunks have some 65,000
                requests.
            keep_going: Count requests and queries that the drive fails, instead of ending at the first.
            interval_ns: Length of the intervals of `report.series`; 0 for one that follows the run's, so that
                there are 20 to 100 of them.
            draw: Which random numbers workloads draw: those of the run whose `report.draw` it is. By default
                each run on a drive draws others; the first on a new drive is 0.

        Returns:
            Latencies, rates, flash work, utilization and energy, in simulated time.

        Raises:
            UsageError: A workload that makes no sense on this drive, an unknown key, a trace's bad line, or
                an expression over vectors that are not there.
            NvmeError: A request or query failed.
            OSError: A trace cannot be read.
        """
        workloads = [workload] if isinstance(workload, Flow | Replay | Queries | Mapping) else workload
        if not isinstance(workloads, Sequence) or not all(
            isinstance(each, Flow | Replay | Queries | Mapping) for each in workloads
        ):
            raise TypeError(
                "a workload is a flow or a list of flows; "
                "a flow is a mapping, a Flow, Replay(path) of a trace, or Queries(expression)"
            )
        plain = [dict(each) if isinstance(each, Mapping) else each.to_dict() for each in workloads]
        told = None if latencies is None else _told(latencies)
        return Report._from_json(
            self._native.run_workloads(
                workloads_as_json(plain), progress, told, keep_going, interval_ns, draw
            )
        )
