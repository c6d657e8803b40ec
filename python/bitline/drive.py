"""A drive in this process: open it, store on it, compute on it, ask what it did.

```python
import bitline

with bitline.open() as drive:
    drive.write(0, bytes(4096))
    print(drive.now, drive.statistics)
```
"""

import errno
import itertools
import json
import math
import operator
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bitline import _bitline
from bitline.bits import Group, Groups
from bitline.errors import ConfigError, UsageError
from bitline.statistics import Statistics
from bitline.timeline import Timeline
from bitline.units import Duration
from bitline.volume import Volume
from bitline.workload import Flow, LatencyChunk, Replay, Report, _chunk, as_json

Setting: TypeAlias = bool | int | float | str | Sequence[Any] | Mapping[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]
#: A flow or a trace, or a mapping of the same keys to plain values.
Workload: TypeAlias = Flow | Replay | Mapping[str, Any]

#: Numbers of drives, which tell their statistics apart.
_DRIVES = itertools.count(1)

#: The largest number in a command (NVMe Base 2.1: 64-bit block addresses).
_NUMBER_MAX = (1 << 64) - 1


def presets() -> dict[str, str]:
    """The drives that come with Bitline: name and description."""
    return {
        name: tomllib.loads(_bitline.preset_text(name))["description"] for name in _bitline.preset_names()
    }


def open(  # noqa: A001 (bitline.open, as gzip.open)
    preset: str | None = None,
    path: PathLike | None = None,
    *,
    config: PathLike | None = None,
    data: Literal["memory", "none"] | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002 (as --set of the command)
    create: bool = True,
) -> "Drive":
    """Open a drive in this process.

    Args:
        preset: Which drive, a name of `presets()`; `"flash-cosmos"` if neither this nor `config` is given.
        path: An image file that keeps the drive's bits across processes. It is made if it does not exist.
            If it does and nothing else is given, the drive is the one that the image was made for.
        config: A TOML file instead of a preset: `preset = "NAME"` in it names what it starts from, its other
            keys override.
        data: Where the bits are without an image: `"memory"` (gone with the process), or `"none"`: the drive
            keeps exact time but no data, reads give zeroes.
        set: Single keys to override, such as `{"ftl.overprovisioning": 0.1}`.
        create: Whether an image file that does not exist is made.

    Returns:
        The drive, powered up. Close it, or use it in a `with` statement.

    Raises:
        ConfigError: An unknown preset or key, or a value that cannot be.
        ImageError: The image is damaged, in use, no image, or made for another drive.
        OSError: A file that cannot be read or written.
    """
    settings = dict(set or {})
    if data is not None:
        settings["data.storage"] = data
    if path is None:
        return Drive(_bitline.Drive(configuration(preset, config, settings)))
    image = Path(path)
    storage = settings.setdefault("data.storage", "image")
    if storage != "image":
        raise UsageError(f"data.storage = {storage} goes without a path: an image keeps data in its file")
    if preset is None and config is None and (image.exists() or not create):
        return Drive(_reopen(image, settings))
    if not create and not image.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(image))
    return Drive(_bitline.Drive(configuration(preset, config, settings), image))


def configuration(
    preset: str | None = None, config: PathLike | None = None, settings: Mapping[str, Setting] | None = None
) -> _bitline.Config:
    """A checked configuration: `preset` or the TOML file `config`, with `settings` on top.

    Raises:
        ConfigError: An unknown preset or key, or a value that cannot be.
        UsageError: Both a preset and a file.
        OSError: The file cannot be read.
    """
    if preset is not None and config is not None:
        raise UsageError(
            "give a preset or a configuration file, not both; the file may name its preset itself"
        )
    try:
        text = None if config is None else Path(config).read_text(encoding="utf-8")
        return _bitline.Config(preset, text, _as_toml(settings or {}))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{config}: this is no text: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{config}: {error}" if config is not None else str(error)) from error


def _reopen(image: Path, settings: Mapping[str, Setting]) -> _bitline.Drive:
    """An existing image with its own configuration, `settings` on top."""
    native = _bitline.Drive.existing(image)
    config = native.config()
    wanted = config.replaced(_as_toml(settings))
    if wanted.to_toml() == config.to_toml():
        return native
    native.close()
    return _bitline.Drive(wanted, image)


def _as_toml(settings: Mapping[str, Setting]) -> list[tuple[str, str]]:
    return [(key, _toml(key, value)) for key, value in settings.items()]


def _toml(key: str, value: Setting) -> str:
    """A value as TOML text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(_toml(key, item) for item in value)}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(key, item)}" for name, item in value.items()) + " }"
    raise TypeError(
        f"{key} is set to a {type(value).__name__}; it must be a bool, number, text, or list or dict of these"
    )


def _told(latencies: Callable[[LatencyChunk], object]) -> Callable[[dict[str, bytes]], object]:
    return lambda columns: latencies(_chunk(columns))


def _number(name: str, value: int, least: int = 0) -> int:
    """An argument that counts blocks: a whole number of at least `least`, and of 64 bits."""
    number = operator.index(value)
    if number < least:
        raise UsageError(f"{name} = {number} must be at least {'one block' if least == 1 else least}")
    if number > _NUMBER_MAX:
        raise UsageError(f"{name} = {number} is outside of every drive; it must be at most {_NUMBER_MAX}")
    return number


class Drive:
    """A computational SSD in this process, made by `bitline.open`.

    Every call lets simulated time pass until the drive has completed it; `now` is the drive's clock.
    A drive is used in the thread that opened it. Ctrl-C interrupts any call.
    """

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native
        self._names = native.names()
        self._config = native.config()
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
        closed = ", closed" if self._is_closed else ""
        return f"<Drive {self._config.name!r}{closed}>"

    # Life

    def close(self) -> None:
        """Finish what is in flight, make an image durable, and let go of it. Closing twice does nothing.

        A drive with an image loses nothing acknowledged when it is not closed.
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
    def config(self) -> str:
        """The complete configuration, as TOML."""
        return self._config.to_toml()

    @property
    def now(self) -> Duration:
        """The drive's clock: simulated time since it was opened."""
        return Duration(self._native.now_ps())

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
    def capacity_bytes(self) -> int:
        """Bytes that can be stored."""
        return self.blocks * self.block_bytes

    def identify(self) -> dict[str, Any]:
        """What the drive answers to NVMe's Identify: model, versions, sizes."""
        identity: dict[str, Any] = json.loads(self._native.identify())
        return identity

    def write(self, lba: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write from logical block `lba` on.

        Args:
            lba: The first block, counted from 0.
            data: Bytes, a whole number of blocks; or a NumPy array of any dtype but object, which is written
                in C order and filled up with zeroes to whole blocks.

        Raises:
            TypeError: Something else, such as a str or a list.
            UsageError: Blocks outside of the drive, part of a block, none, or more than 4 GiB.
            NvmeError: What the drive reports, such as Capacity Exceeded.
        """
        packed = self._bytes_of(data)
        if not packed:
            raise UsageError("data is empty; write at least one block")
        self._native.write(_number("lba", lba), packed)

    def read(self, lba: int, blocks: int = 1) -> bytes:
        """Read `blocks` logical blocks from `lba` on. Blocks never written are zeroes.

        Raises:
            UsageError: Blocks outside of the drive, none, or more than 4 GiB.
            MediaError: The flash has lost them.
        """
        return self._native.read(_number("lba", lba), _number("blocks", blocks, 1))

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
        """Make everything written so far durable, in the image file too."""
        self._native.flush()

    def deallocate(self, lba: int, blocks: int) -> None:
        """Tell the drive that blocks are not needed. Whole flash pages then read as zeroes."""
        self._native.deallocate(_number("lba", lba), _number("blocks", blocks, 1))

    def write_zeroes(self, lba: int, blocks: int) -> None:
        """Make blocks read as zeroes without sending any."""
        self._native.write_zeroes(_number("lba", lba), _number("blocks", blocks, 1))

    def precondition(
        self,
        history: Literal["sequential", "random", "steady_state", "mqsim"] = "sequential",
        *,
        overwrites: float | None = None,
        occupied: float = 1.0,
        working_set: float = 1.0,
        progress: Callable[[float], object] | None = None,
    ) -> dict[str, int]:
        """Set up at once what earlier writes would have left, on a drive that was never written.

        Mapping, needed and replaced pages and worn blocks are constructed; it takes no simulated time, and
        a power cut right after it loses nothing. The pages read as zeroes.

        Args:
            history: What the writes were: `"sequential"`, each page once, in order; `"random"`, then
                overwritten at random, `overwrites` times each on average; `"steady_state"`, overwritten at
                random for ever; `"mqsim"`, the same as MQSim sets it up.
            overwrites: Of `"random"`.
            occupied: Share of the logical pages that hold data, 0 to 1.
            working_set: They are drawn from the first part of the logical pages, of this share.
            progress: Called now and then with the share of the drive that is set up, 0 to 1. An exception
                in it, or Ctrl-C, leaves the rest of the drive blank.

        Returns:
            `mapped_pages`, logical pages that hold data; `flash_pages` programmed; `blocks` in use.

        Raises:
            UsageError: A share that makes no sense, or the drive was written before.
        """
        kind: dict[str, object] = {"kind": history}
        if (overwrites is not None) != (history == "random"):
            raise UsageError('precondition: overwrites, such as overwrites=2, belongs to history="random"')
        if overwrites is not None:
            kind["overwrites"] = overwrites
        plan = {"history": kind, "occupied": occupied, "working_set": working_set}
        found: dict[str, int] = json.loads(self._native.precondition(as_json("precondition", plan), progress))
        return found

    def compare(self, lba: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Compare whole logical blocks from `lba` on with `data`, inside the drive.

        Raises:
            NvmeError: They differ (Compare Failure), or cannot be read.
        """
        self._native.compare(_number("lba", lba), self._bytes_of(data))

    def verify(self, lba: int, blocks: int) -> None:
        """Have the drive read logical blocks without sending them."""
        self._native.verify(_number("lba", lba), _number("blocks", blocks, 1))

    def write_uncorrectable(self, lba: int, blocks: int) -> None:
        """Make reads of logical blocks fail until they are written again."""
        self._native.write_uncorrectable(_number("lba", lba), _number("blocks", blocks, 1))

    def copy(self, sources: Sequence[tuple[int, int]], destination: int) -> None:
        """Copy ranges of logical blocks inside the drive.

        Args:
            sources: Ranges, each a first block and a number of blocks, copied one after another.
            destination: The first logical block written.
        """
        ranges = [(_number("lba", lba), _number("blocks", blocks, 1)) for lba, blocks in sources]
        self._native.copy(ranges, _number("destination", destination))

    def format(self, block_bytes: int, namespace: int = 1) -> None:
        """Give a namespace blocks of 512, 1024, 2048 or 4096 bytes and erase it (NVMe's Format NVM)."""
        self._native.format(_number("namespace", namespace, 1), _number("block_bytes", block_bytes, 1))

    def sanitize(self) -> None:
        """Erase everything on the drive, beyond recovery (NVMe's Sanitize), and wait until that is done."""
        self._native.sanitize()

    def grow_older(
        self, *, days: float = 0, temperature_celsius: float = 30.0, pe_cycles: int = 0
    ) -> dict[str, Any]:
        """Make the drive older at once: time passes at a temperature, and blocks have been through cycles.

        It takes no simulated time. Data stays where it is and may lose bits: what is computed on shows them,
        what is read back is corrected, read again, or lost (docs/errors.md). An image remembers its age.

        Args:
            days: Days that pass.
            temperature_celsius: At this temperature; warmth makes cells leak faster (Arrhenius).
            pe_cycles: Program and erase cycles of every block before it was last programmed.

        Returns:
            As `age`.

        Raises:
            UsageError: A number that cannot be.
        """
        if not 0 <= days <= 365_250:
            raise UsageError(f"days is {days}; it must be 0 to 365250 (1,000 years)")
        hours, cycles = 24 * float(days), _number("pe_cycles", pe_cycles)
        age: dict[str, Any] = json.loads(self._native.grow_older(hours, float(temperature_celsius), cycles))
        return age

    @property
    def age(self) -> dict[str, Any]:
        """How old the drive is, beyond what was done to it in simulated time.

        `hours` passed, the `effective_hours` they amount to at the reference temperature, `cycles` of every
        block besides its erases, and the temperature of the last hours in `celsius`, if any passed.
        """
        age: dict[str, Any] = json.loads(self._native.age())
        return age

    def health(self) -> dict[str, Any]:
        """The drive's health, as its SMART page tells it."""
        health: dict[str, Any] = json.loads(self._native.health())
        return health

    def _bytes_of(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> bytes:
        if isinstance(data, bytes | bytearray | memoryview):
            return bytes(data)
        if not isinstance(data, np.ndarray | np.generic):
            raise TypeError(
                f"a drive stores bytes or a NumPy array, not a {type(data).__name__}: encode() a text, "
                "make an array of a list with np.array(..., dtype)"
            )
        array = np.asarray(data)
        if array.dtype.hasobject:
            raise UsageError(f"an array of {array.dtype} cannot be stored: its items are references")
        return array.tobytes() + bytes(-array.nbytes % self.block_bytes)

    # Bits

    def group(self, name: str | int, *, first_die: int | None = None, dies: int | None = None) -> Group:
        """A group of bit vectors by name. It is made when it is first written.

        Args:
            name: A name of up to 255 bytes of UTF-8, kept on the drive; a number stands for itself as text.
            first_die: The die of the first page of every vector, dies counted channels first; 0 if only
                `dies` is given. Without either, a group lies where it was written, a new one on all dies.
            dies: Over how many dies, from that on, vectors are spread; all if only `first_die` is given. A
                vector of a few pages leaves most dies idle anyway: groups on dies of their own are worked on
                at the same time.

        Raises:
            UsageError: A negative number, or a home that cannot be.
        """
        home = self._home(first_die, dies)
        if not isinstance(name, int | str):
            raise TypeError(f"a group has a name or a number, not a {type(name).__name__}")
        if isinstance(name, int) and name < 0:
            raise UsageError(f"group {name}: a number of a group is at least 0")
        return Group(self, str(name), home)

    @property
    def groups(self) -> Groups:
        """The groups that the drive holds, by name."""
        return Groups(self)

    @property
    def volume(self) -> Volume:
        """The drive's named objects: arrays, files and tables, beside the groups."""
        return Volume(self)

    def _home(self, first_die: int | None, dies: int | None) -> tuple[int, int] | None:
        """First die and number of dies, 0 for all; None if neither is given."""
        if first_die is None and dies is None:
            return None
        count = self._dies
        first, number = operator.index(first_die or 0), operator.index(count if dies is None else dies)
        if not 0 <= first < count:
            raise UsageError(f"first_die = {first}: this drive has dies 0 to {count - 1}")
        if not 1 <= number <= count:
            raise UsageError(f"dies = {number}: this drive has 1 to {count}")
        return first, number % count

    @property
    def _dies(self) -> int:
        geometry = tomllib.loads(self.config)["nand"]["geometry"]
        dies: int = geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
        return dies

    # Measuring

    @property
    def statistics(self) -> Statistics:
        """Everything counted since power-up, as of now."""
        return Statistics._from_json(self._native.statistics(), self._number)

    def inventory(self) -> dict[str, Any]:
        """What the media holds and how worn it is; takes no simulated time."""
        inventory: dict[str, Any] = json.loads(self._native.inventory())
        return inventory

    def run(
        self,
        workload: Workload | Sequence[Workload],
        progress: Callable[[int], object] | None = None,
        *,
        latencies: Callable[[LatencyChunk], object] | None = None,
        keep_going: bool = False,
    ) -> Report:
        """Run a workload, a synthetic flow of requests or a trace; or several side by side.

        Args:
            workload: `bitline.Flow` or `bitline.Replay`, or a list of them. A mapping will do, too, with the
                names of their fields as keys and plain values, such as `{"requests": 1000, "pattern":
                "sequential", "arrival": {"kind": "closed", "depth": 8}}`; what has a `"path"` is a trace.
            progress: Called now and then with the number of requests completed.
            latencies: Called now and then with the requests that completed meanwhile, in columns: a mapping
                from the names in `bitline.workload.LATENCY_COLUMNS` to NumPy arrays. Chunks have some 65,000
                requests.
            keep_going: Count requests that the drive fails, instead of ending at the first.

        Returns:
            Latencies, rates, flash work, utilization and energy, in simulated time.

        Raises:
            UsageError: A workload that makes no sense on this drive, an unknown key, or a trace's bad line.
            NvmeError: A request failed.
            OSError: A trace cannot be read.
        """
        workloads = [workload] if isinstance(workload, Flow | Replay | Mapping) else workload
        if not isinstance(workloads, Sequence) or not all(
            isinstance(each, Flow | Replay | Mapping) for each in workloads
        ):
            raise TypeError(
                "a workload is a flow or a list of flows; a flow is a mapping, a Flow or a Replay"
            )
        plain = [dict(each) if isinstance(each, Mapping) else each.to_dict() for each in workloads]
        told = None if latencies is None else _told(latencies)
        return Report._from_json(
            self._native.run_workloads(as_json("workload", plain), progress, told, keep_going)
        )

    def replay(
        self,
        trace: PathLike | Replay,
        progress: Callable[[int], object] | None = None,
        *,
        latencies: Callable[[LatencyChunk], object] | None = None,
        keep_going: bool = False,
    ) -> Report:
        """Replay a block trace; its format and compression are found out from its content.

        Args:
            trace: The file; or a `bitline.Replay`, which says more than where it is.
            progress: As `run` calls it.
            latencies: As `run` calls it.
            keep_going: As in `run`.

        Raises:
            UsageError: As `run`.
            NvmeError: A request failed.
            OSError: The trace cannot be read.
        """
        replay = trace if isinstance(trace, Replay) else Replay(trace)
        return self.run(replay, progress, latencies=latencies, keep_going=keep_going)

    def restart_traced(self, *, busiest: bool = False) -> None:
        """Restart the drive and record a trace from then on, until the next power cut.

        Counts begin at zero. The trace takes memory with every event, and on a used drive begins with the
        scan that recovers it.

        Args:
            busiest: Keep only the busiest two milliseconds, for `busiest()`: memory stays bounded.
        """
        self._native.restart_traced(busiest)

    def busiest(self) -> Timeline | None:
        """What happened in the busiest two milliseconds since tracing began.

        Workloads count from the moment at which their ranges are filled.

        Returns:
            The timeline, for `bitline.plot`; None if nothing happened, or without tracing.
        """
        return Timeline._from_json(self._native.busiest())

    def write_trace(self, path: PathLike) -> None:
        """Write what was traced as JSON in the trace-event format, for Perfetto and other viewers."""
        self._native.write_trace(Path(path))
