"""The compiled part of `bitline`: glue over the Rust crates. Use `bitline` itself, which is documented."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import final

from typing_extensions import Buffer

__all__ = [
    "CLOSED_DEPTH",
    "OPEN_DEPTH",
    "Advice",
    "Attachment",
    "Collectors",
    "Config",
    "Drive",
    "Expression",
    "Memory",
    "Mounted",
    "MountedFile",
    "Pending",
    "Search",
    "Server",
    "Streams",
    "Tasks",
    "Volume",
    "__version__",
    "advise",
    "check_image",
    "check_workloads",
    "connect",
    "control_socket",
    "generate_line_items",
    "mqsim_requests",
    "name_lookups",
    "preset_names",
    "preset_text",
    "raw_bit_error_rate",
    "remote_name",
    "run_benchmarks",
    "sense_power",
    "sense_time",
    "validate_mqsim",
]

__version__: str
CLOSED_DEPTH: int
OPEN_DEPTH: int

def raw_bit_error_rate(
    config: Config,
    mode: str,
    effort: float,
    cycles: float,
    hours: float,
    celsius: float,
    reads: float,
    randomized: bool,
    block: str,
) -> float:
    """The raw bit error rate of cells, over all pages that they hold."""

@final
class Attachment:
    """A drive that is served as a file, and mounted, until it is stopped. May be used from any thread."""

    def __new__(
        cls,
        at: str | Path,
        config: Config | None = None,
        image: str | Path | None = None,
        *,
        pace: str = "none",
        mount: str | None = None,
        trace: str | Path | None = None,
        listen: Sequence[str] = ...,
        socket: str | Path | None = None,
    ) -> Attachment: ...
    def snapshot(self) -> str: ...
    def wait(self, seconds: float) -> str: ...
    def notes(self) -> list[str]: ...
    def file(self) -> Path: ...
    def bytes(self) -> int: ...
    def addresses(self) -> list[str]: ...
    def device(self) -> Path | None: ...
    def stop(self, force: bool = False) -> None:
        """Unmount and close it. `BusyError` if somebody uses it, unless by force."""

@final
class Server:
    """A drive that is served over NVMe/TCP until it is stopped. May be used from any thread."""

    def __new__(
        cls,
        listen: Sequence[str],
        config: Config | None = None,
        image: str | Path | None = None,
        *,
        socket: str | Path | None = None,
        pace: str = "none",
        hosts: Sequence[str] | None = None,
        nqn: str | None = None,
        trace: str | Path | None = None,
    ) -> Server: ...
    def addresses(self) -> list[str]: ...
    def snapshot(self) -> str: ...
    def wait(self, seconds: float) -> bool: ...
    def stop(self) -> None: ...

def name_lookups(
    config: Config,
    enhanced: bool,
    tuned: bool,
    cycles: int,
    hours: int,
    reads: int,
    names: int,
    name_bytes: int,
    seed: int,
) -> tuple[int, bool, int, int, int, float, float]:
    """How lookups of names fare, each by its own key."""

def sense_time(config: Config, blocks: int, wordlines: int) -> float:
    """How long a sense takes by its blocks and wordlines, in times of a page read, as measured."""

def sense_power(config: Config, blocks: int) -> float:
    """Power of a sense of so many blocks, in times of a page read's."""

@final
class Config:
    """A complete configuration, checked. Values of settings are TOML text."""

    def __new__(
        cls, preset: str | None = None, text: str | None = None, settings: list[tuple[str, str]] = ...
    ) -> Config:
        """Start from a preset, or from TOML text, or from the default preset."""

    def replaced(self, settings: list[tuple[str, str]]) -> Config:
        """The same with other values of some keys."""

    FOR_FILE_SYSTEMS: list[str]
    """The keys of what file systems want of a drive."""

    def for_file_systems(self, said: list[str]) -> Config:
        """The same with what file systems want of a drive, where it can have that, but for keys `said`."""

    @property
    def name(self) -> str:
        """The name of the preset it started from."""

    @property
    def description(self) -> str:
        """What it models."""

    def to_toml(self) -> str:
        """All of it, as TOML text."""

    def to_annotated_toml(self) -> str:
        """All of it, as TOML text with meaning, unit and source above each key."""

    def keys(self) -> str:
        """Every key with its value, unit, meaning, choices and source, as JSON."""

@final
class Expression:
    """A bitwise expression over vectors. Immutable."""

    def __new__(cls, group: int, vector: int) -> Expression: ...
    @staticmethod
    def combine(operator: str, operands: list[Expression]) -> Expression:
        """All of the operands under one operator: `&`, `|` or `^`."""

    def __invert__(self) -> Expression: ...
    def vectors(self) -> list[tuple[int, int]]:
        """The distinct vectors named, as group and number, ascending."""

@final
class Search:
    """The name-value stores of a drive.

    A query is any of groups, of each of which all terms are met. A term is the number of a name within the
    store, bits, name and mask (1: the bit counts). An appended record is, of each name of the store, its
    bytes and, if it may have don't cares, a mask of as many; then the value.
    """

    def __new__(cls, drive: Drive) -> Search: ...
    def create(
        self, name: str, entries: int, value_bytes: int, names: list[tuple[int, bool]], schema: bytes
    ) -> None:
        """Make a store for so many entries; of each name its bits, and whether it may have don't cares."""

    def open(self, name: str) -> tuple[int, int, list[tuple[int, bool]], bytes]:
        """Entries, bytes of a value, names and schema of a store."""

    def names(self) -> list[str]:
        """The names of the stores."""

    def remove(self, name: str) -> None:
        """Remove a store, names and values."""

    def append(self, name: str, records: Buffer, count: int) -> int:
        """Append records; the number of the first entry."""

    def lookup(
        self,
        name: str,
        groups: list[list[tuple[int, int, bytes, bytes]]],
        parts: list[tuple[int, int]],
        numbers: bool = False,
        pages: bool = False,
    ) -> tuple[bytes, bytes]:
        """Records one after another, and numbers of entries, little-endian, 8 bytes each, if asked for.

        A part of a value is its first byte and bytes; no parts are all of it. `pages` are logical pages
        that have values, instead of values.
        """

    def count(self, name: str, groups: list[list[tuple[int, int, bytes, bytes]]]) -> int:
        """How many entries a query finds."""

    def estimate(
        self,
        name: str,
        groups: list[list[tuple[int, int, bytes, bytes]]],
        parts: list[tuple[int, int]],
        matches: int,
        pages: int | None = None,
        count: bool = False,
    ) -> str:
        """What a query that finds so many entries, in so many pages, would take, as JSON.

        To count them with `count`, else to give parts of their values.
        """

    def delete(self, name: str, groups: list[list[tuple[int, int, bytes, bytes]]]) -> int:
        """Delete what a query finds; how many entries."""

    def update(
        self,
        name: str,
        groups: list[list[tuple[int, int, bytes, bytes]]] | None,
        records: Buffer,
        count: int,
    ) -> tuple[int, int]:
        """Delete what a query finds, without one what has the records' first names, and append records.

        The number of the first entry, and how many were deleted.
        """

    def report(self, name: str) -> str:
        """What the drive says of a store's search regions, as JSON."""

@final
class Memory:
    """The memory that programs and the host share with a drive. Ranges are where each begins and ends."""

    def __new__(cls, drive: Drive) -> Memory: ...
    def bytes(self) -> int:
        """How many bytes there are."""

    def read(self, start: int, size: int) -> builtins.bytes:
        """Read bytes."""

    def write(self, start: int, data: builtins.bytes) -> None:
        """Write bytes."""

    def copy(self, source: int, to: int, size: int) -> None:
        """Copy bytes to another place."""

    def copy_from_blocks(self, lba: int, blocks: int, to: int) -> None:
        """Copy logical blocks to the memory."""

    def copy_to_blocks(self, source: int, lba: int, blocks: int) -> None:
        """Copy bytes of the memory to logical blocks."""

    def copy_from_object(self, name: str, to: int) -> int:
        """Copy an object of the volume to the memory; its length."""

    def copy_to_object(self, source: int, name: str) -> int:
        """Copy the memory to an object of the volume; its length."""

    def create_ranges(self, ranges: list[tuple[int, int]]) -> int:
        """Make a set of ranges; its identifier."""

    def delete_ranges(self, ranges: int) -> None:
        """Remove a set of ranges."""

    def range_sets(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """The sets of ranges that there are."""

    def run(
        self,
        what: tuple[int, int] | builtins.bytes,
        of_set: int | None,
        ranges: list[tuple[int, int]],
        arguments: builtins.bytes,
        parameters: tuple[int, int],
    ) -> int:
        """Run a program, or a module, over a set of ranges, or over these."""

@final
class Tasks:
    """The tasks of a drive.

    What is run is a program, by index and identifier, or a module. Of each file is said whether the run may
    write it. Stores are "name", or "name/number" for another name field than the first. Limits are bytes of
    memory, cycles, bytes of the log, bytes of the value, and tickets; 0 is what is usual. What became of a
    run is how it ended, the code of one that failed, why, the value, the log; and cycles, bytes of memory,
    attempts, nanoseconds.
    """

    def __new__(cls, drive: Drive) -> Tasks: ...
    def load(self, module: bytes, persistent: bool = False) -> tuple[int, int]:
        """Load a module, unless the drive has it, and make it ready to run; its index and identifier."""

    def list(self) -> str:
        """The programs that the drive has, and what it allows, as JSON."""

    def unload(self, index: int) -> None:
        """Unload a program."""

    def run(
        self,
        what: tuple[int, int] | bytes,
        files: builtins.list[tuple[str, bool, tuple[int, builtins.list[tuple[int, int]]] | None]],
        stores: builtins.list[str],
        arguments: bytes,
        isolation: str,
        retries: int,
        limits: tuple[int, int, int, int, int],
        priority: int,
    ) -> tuple[str, int, str, bytes, str, tuple[int, int, int, int]]:
        """Run a program, or a module, over objects."""

    def submit(
        self,
        what: tuple[int, int] | bytes,
        files: builtins.list[tuple[str, bool, tuple[int, builtins.list[tuple[int, int]]] | None]],
        stores: builtins.list[str],
        arguments: bytes,
        isolation: str,
        retries: int,
        limits: tuple[int, int, int, int, int],
        priority: int,
    ) -> Pending:
        """As `run`, which goes on."""

    def run_on_host(
        self,
        module: bytes,
        files: builtins.list[tuple[str, bool, tuple[int, builtins.list[tuple[int, int]]] | None]],
        arguments: bytes,
        limits: tuple[int, int, int, int, int],
    ) -> tuple[str, int, str, bytes, str, tuple[int, int, int, int]]:
        """Run a module on the host's own processor."""

    def submit_on_host(
        self,
        module: bytes,
        files: builtins.list[tuple[str, bool, tuple[int, builtins.list[tuple[int, int]]] | None]],
        arguments: bytes,
        limits: tuple[int, int, int, int, int],
    ) -> Pending:
        """As `run_on_host`, which goes on."""

_Counts = builtins.list[int]
_Record = tuple[int, str, int, int, int, _Counts, _Counts, _Counts, _Counts, int]

@final
class Collectors:
    """The collectors of a drive.

    A wire is bytes a second, bytes that a packet carries, and bytes that it adds; a pace is bytes a second,
    jitter, and for how many nanoseconds it sends and does not. A handle names a collector that is attached. A
    record is port, state, number of the object, bytes there, room, packets and bytes taken in, the same
    dropped as they came and dropped later, and nanoseconds stalled.
    """

    def __new__(cls, drive: Drive) -> Collectors: ...
    def allocate(self, name: str, size: int) -> None:
        """Set aside an object."""

    def attach(
        self,
        port: int,
        path: tuple[str, tuple[int, list[tuple[int, int]]] | None] | None,
        wiring: tuple[int, int, int],
        policy: str,
        share: int,
        growth: tuple[int, int],
        resume: bool,
        through_host: bool,
        pace: tuple[float, float, float, float],
    ) -> int:
        """Attach a collector; its handle."""

    def generate(self, handle: int, pace: tuple[float, float, float, float], packet: int, size: int) -> None:
        """Have a collector send random bytes."""

    def send(self, handle: int, packets: Iterator[bytes]) -> None:
        """Have a collector send what an iterator gives, as time passes."""

    def run(self, handle: int) -> None:
        """Let time pass until a collector has sent everything."""

    def status(self, handle: int) -> _Record:
        """What the drive tells of a collector."""

    def list(self) -> builtins.list[_Record]:
        """What it tells of all of them."""

    def detach(self, handle: int) -> _Record:
        """End a collection; what the drive tells of it at its end."""

    def forget(self, handle: int) -> None:
        """Nobody has the handle any more: what it names goes on by itself."""

    def settle(self, port: int) -> int:
        """End one that a power cut has ended; how many bytes there are."""

@final
class Streams:
    """The streams of a drive.

    What runs is a program or a module, over files, stores and arguments as of a run. The shape is the number
    of the file that is the input, or the port of the collector (none of both: the host sends it), the file
    that takes the output (none: the host fetches it), bytes of a piece and elements (0: the drive's choice),
    and whether output keeps the input's order. A handle names a stream that is open.
    """

    def __new__(cls, drive: Drive) -> Streams: ...
    def open(
        self,
        what: tuple[int, int] | bytes,
        files: list[tuple[str, bool, tuple[int, builtins.list[tuple[int, int]]] | None]],
        stores: list[str],
        arguments: bytes,
        isolation: str,
        limits: tuple[int, int, int, int, int],
        shape: tuple[int | None, int | None, int | None, int, int, bool],
        priority: int,
        on_card: bool,
    ) -> int:
        """Open a stream, of a card in the host if so asked, which takes a module; its handle."""

    def read(
        self, handle: int, size: int
    ) -> tuple[bytes, tuple[str, int, str, bytes, str, tuple[int, int, int, int]] | None]:
        """Read what comes next, and tell what became of a stream that has failed."""

    def write(
        self, handle: int, data: bytes, end: bool
    ) -> tuple[str, int, str, bytes, str, tuple[int, int, int, int]] | None:
        """Send what a stream is to take next, and whether no more will come.

        Gives what became of one that has failed.
        """

    def outcome(self, handle: int) -> tuple[str, int, str, bytes, str, tuple[int, int, int, int]]:
        """What became of a stream, once it is over."""

    def forget(self, handle: int) -> None:
        """Let a stream that nobody has any more be closed, as soon as time passes."""

    def close(self, handle: int) -> None:
        """Close a stream."""

@final
class Volume:
    """The named objects of a drive. Extents are runs of logical blocks: first and number.

    A row of a vector has its name, number, length in bits, whether inverted, name in expressions, and
    extents; that of an object its name, kind, bytes, type, shape, schema and extents; that of a group its
    name, bits, first die and dies (0: all), and how many vectors it has.
    """

    def __new__(cls, drive: Drive) -> Volume: ...
    def check_group(self, group: str, home: tuple[int, int] | None = None) -> tuple[int, int] | None:
        """Fail if there can be no group of this name and home; the home as the drive has it."""

    def write_vectors(
        self,
        group: str,
        rows: list[bytes],
        bits: int,
        inverse: bool,
        names: list[str] | None = None,
        home: tuple[int, int] | None = None,
    ) -> list[tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]]:
        """Write vectors to a group on so many dies from the first on (0: all), all or none."""

    def submit_vectors(
        self,
        group: str,
        rows: list[bytes],
        bits: int,
        inverse: bool,
        names: list[str] | None = None,
        home: tuple[int, int] | None = None,
    ) -> Pending:
        """As `write_vectors`, which goes on; the answer is what that gives."""

    def place_vectors(
        self,
        group: str,
        count: int,
        bits: int,
        inverse: bool,
        names: list[str] | None = None,
        progress: Callable[[int], object] | None = None,
        home: tuple[int, int] | None = None,
    ) -> list[tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]]:
        """Set up vectors of zeroes at once."""

    def group_vectors(
        self, group: str
    ) -> list[tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]]:
        """The vectors of a group, by number."""

    def vector_named(
        self, group: str, name: str
    ) -> tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]:
        """A vector of a group by its name."""

    def vector_numbered(
        self, group: str, number: int
    ) -> tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]:
        """A vector of a group by its number."""

    def vector_called(
        self, vector: tuple[int, int]
    ) -> tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]:
        """A vector as it is now, named as in expressions."""

    def groups(self) -> list[tuple[str, int, tuple[int, int], int]]:
        """The groups, by name."""

    def group(self, name: str) -> tuple[str, int, tuple[int, int], int] | None:
        """A group by its name."""

    def overwrite_vector(
        self, vector: tuple[int, int], inverse: bool | None, data: bytes
    ) -> tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]:
        """Give a vector other bits."""

    def submit_overwrite(self, vector: tuple[int, int], inverse: bool | None, data: bytes) -> Pending:
        """As `overwrite_vector`, which goes on; the answer is a list of what that gives."""

    def delete_vector(self, vector: tuple[int, int]) -> None:
        """Delete a vector."""

    def objects(
        self,
    ) -> list[tuple[str, str, int, str | None, list[int], bytes | None, list[tuple[int, int]]]]:
        """Groups, arrays, files and tables, by name."""

    def object(
        self, name: str
    ) -> tuple[str, str, int, str | None, list[int], bytes | None, list[tuple[int, int]]] | None:
        """A group, array, file or table by its name."""

    def write_object(
        self,
        name: str,
        kind: str,
        data: bytes,
        dtype: str = "",
        shape: list[int] = ...,
        schema: bytes = ...,
    ) -> None:
        """Create or replace an `"array"`, `"file"` or `"table"`."""

    def submit_object(
        self,
        name: str,
        kind: str,
        data: bytes,
        dtype: str = "",
        shape: list[int] = ...,
        schema: bytes = ...,
    ) -> Pending:
        """As `write_object`, which goes on."""

    def read_object(
        self, name: str
    ) -> tuple[tuple[str, str, int, str | None, list[int], bytes | None, list[tuple[int, int]]], bytes]:
        """An array, file or table, and its bytes."""

    def read_at(self, name: str, offset: int, size: int) -> bytes:
        """Bytes of an array, file or table, from `offset` on."""

    def submit_read_at(self, name: str, offset: int, size: int) -> Pending:
        """As `read_at`, which goes on."""

    def write_at(self, name: str, offset: int, data: bytes) -> None:
        """Write bytes of an array, file or table in place."""

    def submit_write_at(self, name: str, offset: int, data: bytes) -> Pending:
        """As `write_at`, which goes on."""

    def append(self, name: str, data: bytes) -> None:
        """Write bytes behind the end of an array, file or table."""

    def submit_append(self, name: str, data: bytes) -> Pending:
        """As `append`, which goes on."""

    def truncate(self, name: str, size: int) -> None:
        """Cut an array, file or table to its first bytes."""

    def rename_object(self, old: str, new: str) -> None:
        """Give a group, array, file or table another name."""

    def remove_object(self, name: str) -> None:
        """Remove an object; a group goes with its vectors."""

    def volume_usage(self) -> tuple[int, int, int]:
        """First block, blocks and free blocks of the volume; all zero if there is none."""

@final
class Mounted:
    """A file system that is mounted, and lies on a drive with blocks of so many bytes."""

    def __new__(cls, folder: str, block: int) -> Mounted: ...
    def head(self) -> tuple[int, int]:
        """The first block of the file system, and how many tell which it is."""

    def check(self, head: bytes) -> None:
        """Whether it is on the drive that has these bytes there."""

    def place(self) -> tuple[str, int]:
        """What kind it is, and the bytes of the drive before it."""

    def read(self, path: str) -> MountedFile:
        """Register a file to be read."""

    def write(self, path: str, shared: bool) -> MountedFile:
        """Register one to be written, which others may have open or not."""

    def create(self, path: str, size: int) -> MountedFile:
        """Register a new one, of so many bytes."""

@final
class MountedFile:
    """A file of a mounted file system that is registered, until it is settled."""

    def row(self) -> tuple[str, bool, tuple[int, list[tuple[int, int]]]]:
        """Its path, whether it may be written, and where it lies: bytes, and runs of blocks."""

    def settle(self, good: bool) -> None:
        """End its registration, after what the drive did with it."""

    def forget(self) -> None:
        """End it, if nobody has."""

@final
class Pending:
    """Something that was submitted to a drive."""

    def is_finished(self) -> bool:
        """Whether it has ended, or was waited for."""

    def was_waited_for(self) -> bool:
        """Whether its answer was told, so that it cannot be waited for any more."""

    def wait(self) -> tuple[bytes | int | None, int]:
        """Let time pass until it has ended: what it gave, and the picoseconds it took. Can be called once."""

@final
class Advice:
    """What is proposed, beside what there is.

    Groups are lists of vectors, each with whether it is inverted; costs are senses, page transfers,
    picoseconds and picojoules of each expression.
    """

    def before(
        self,
    ) -> tuple[list[list[tuple[tuple[int, int], bool]]], list[tuple[int, int, int, int]]]:
        """Groups and costs as given."""

    def after(
        self,
    ) -> tuple[list[list[tuple[tuple[int, int], bool]]], list[tuple[int, int, int, int]]]:
        """Groups and costs as proposed."""

    def replacing(self) -> tuple[int, int, int, int | None, int | None]:
        """What placing vectors anew takes.

        How many are written, picoseconds, picojoules, and questions after which time and energy are won.
        """

@final
class Drive:
    """A drive in this process, of the thread that opened it. Results of several values are JSON."""

    def __new__(cls, config: Config, image: Path | None = None) -> Drive:
        """Open a drive, with an image file (made if it does not exist) or as the configuration says."""

    @staticmethod
    def existing(image: Path, read_only: bool = False) -> Drive:
        """Open the drive in an existing image file, with the configuration it was made with.

        With `read_only` the file is not written.
        """

    def close(self) -> None:
        """Finish what is in flight and make the image durable. Closing twice does nothing."""

    def power_cut(self) -> None:
        """Cut the power in this instant."""

    def power_up(self) -> None:
        """Power up after a power cut."""

    def start_trace(self, busiest: bool = False) -> None:
        """Record a trace from now on: all of it, or what its busiest window needs."""

    def stop_trace(self) -> None:
        """End the trace."""

    def restart_traced(self, busiest: bool = False) -> None:
        """As `start_trace`, after a restart of the drive, which is in the trace."""

    def busiest(self) -> str:
        """What happened in the busiest window of the trace, as JSON; null if nothing was traced."""

    def write_trace(self, path: Path) -> None:
        """Write what was traced as JSON in the trace-event format, all of it or nothing."""

    def config(self) -> Config:
        """Its configuration."""

    def set_priority(self, priority: int) -> None:
        """Give commands that are sent from now on a priority."""

    def priority(self) -> int:
        """The priority of commands that are given no other."""

    def now_ps(self) -> int:
        """The present instant, in picoseconds."""

    def wait(self, picoseconds: int) -> None:
        """Let so much time pass."""

    def block_bytes(self) -> int:
        """Bytes of a logical block."""

    def data_blocks(self) -> int:
        """Logical blocks that are for ordinary data."""

    def blocks(self) -> int:
        """Logical blocks."""

    def read(self, lba: int, blocks: int) -> bytes:
        """Read whole blocks."""

    def write(self, lba: int, data: bytes) -> None:
        """Write whole blocks."""

    def flush(self) -> None:
        """Make everything written so far durable."""

    def deallocate(self, lba: int, blocks: int) -> None:
        """Give blocks back."""

    def write_zeroes(self, lba: int, blocks: int) -> None:
        """Make blocks read as zeroes."""

    def precondition(self, plan: str, progress: Callable[[float], object] | None = None) -> str:
        """Set up at once what earlier writes would have left; plan and result are JSON."""

    def compare(self, lba: int, data: bytes) -> None:
        """Compares whole blocks with data, inside the drive."""

    def verify(self, lba: int, blocks: int) -> None:
        """Has the drive read blocks without sending them."""

    def write_uncorrectable(self, lba: int, blocks: int) -> None:
        """Makes reads of blocks fail until they are written."""

    def copy(self, sources: list[tuple[int, int]], destination: int) -> None:
        """Copies ranges of blocks inside the drive."""

    def format(self, namespace: int, block_bytes: int) -> None:
        """Gives a namespace another block size and erases it."""

    def sanitize(self) -> None:
        """Erases everything on the drive, beyond recovery."""

    def submit_read(self, lba: int, blocks: int) -> Pending:
        """Begin to read blocks; the answer is their bytes."""

    def submit_write(self, lba: int, data: bytes) -> Pending:
        """Begin to write whole blocks."""

    def submit_query(self, expression: Expression, platform: str, count: bool) -> Pending:
        """Begin to evaluate an expression; the answer is its bytes, or the number of ones of it."""

    def evaluate(self, expression: Expression, platform: str) -> bytes:
        """Evaluate an expression."""

    def evaluate_into(self, expression: Expression, platform: str, into: memoryview) -> None:
        """Evaluate an expression, and put the result into `into`, which has room for exactly that."""

    def count_ones(self, expression: Expression, platform: str, in_host: bool) -> int:
        """Count the ones of an expression's result, in the drive or in the host."""

    def stream(self, expression: Expression, platform: str) -> None:
        """Evaluate an expression and drop the result as it arrives in the host."""

    def evaluate_checked(self, expression: Expression, platform: str) -> tuple[bytes, int]:
        """Evaluate an expression by two plans: one's result, and the bits in which the other's differs."""

    def count_ones_checked(self, expression: Expression, platform: str) -> tuple[int, int]:
        """Count the ones of an expression's result, checked in the same way."""

    def explain(self, expression: Expression, platform: str) -> str:
        """How an expression would be evaluated, in words."""

    def advise(self, asked: list[tuple[Expression, int]]) -> Advice:
        """Propose groups and inversions for expressions over its vectors, each with how often it is asked."""

    def apply(
        self, advice: Advice
    ) -> list[
        tuple[
            tuple[int, int],
            str,
            tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]],
        ]
    ]:
        """Follow advice: vectors that were moved, each with its group and itself as they are then."""

    def explanation(
        self,
        expression: Expression,
        platform: str,
        bits: int | None = None,
        count_only: bool = False,
        labels: dict[tuple[int, int], str] = ...,
    ) -> str:
        """How an expression would be evaluated and what that would take, vectors called as told, as JSON."""

    def run_workloads(
        self,
        workloads: str,
        progress: Callable[[int], object] | None = None,
        latencies: Callable[[dict[str, bytes]], object] | None = None,
        keep_going: bool = False,
        interval_ns: int = 0,
        draw: int | None = None,
    ) -> str:
        """Run flows and traces, given as a JSON list; what has a `path` is a trace.

        Args:
            workloads: The list.
            progress: Called now and then with the number of requests completed.
            latencies: Called with columns of completed requests, as bytes of little-endian numbers.
            keep_going: Count requests that fail, instead of ending at the first.
            interval_ns: Length of the intervals of the series; 0 for one that follows the run.
            draw: Which random numbers are drawn; the next ones if not given.
        """

    def statistics(self) -> str:
        """Everything counted since power-up."""

    def identify(self) -> str:
        """What the drive answers to Identify."""

    def grow_older(self, hours: float, celsius: float, cycles: int) -> str:
        """Make the drive older at once; how old it is then, as JSON."""

    def age(self) -> str:
        """How old the drive is, as JSON."""

    def health(self) -> str:
        """The drive's health as its SMART page tells it, as JSON."""

    def inventory(self) -> str:
        """What the media holds and how worn it is."""

    def mapped_runs(self) -> list[tuple[int, int]]:
        """The logical blocks that hold data: runs of first block and number of blocks."""

def advise(
    config: Config,
    asked: list[tuple[Expression, int]],
    given: list[tuple[tuple[int, int], int, bool]],
    bits: int | None = None,
) -> Advice:
    """Propose groups and inversions for expressions, each with how often it is asked.

    Args:
        config: The drive.
        asked: Expressions and frequencies.
        given: Where vectors are: vector, group, whether inverted. Others are in one further group.
        bits: Length of vectors; a page in every plane if not given.
    """

def control_socket(folder: str) -> Path:
    """The socket at which this user reaches the drive that a folder is mounted from."""

def connect(
    address: str,
    timeout: float,
    header_digest: bool = False,
    data_digest: bool = False,
    host_nqn: str | None = None,
) -> Drive:
    """Connect to a drive elsewhere, at `nvme+tcp://HOST[:PORT][/NQN]`."""

def remote_name(drive: Drive) -> str | None:
    """What a drive elsewhere is called; none for one in this process."""

def preset_names() -> list[str]:
    """The names of all presets."""

def preset_text(name: str) -> str:
    """The TOML text of a preset's own file: what it does otherwise than what it inherits from."""

def run_benchmarks(progress: Callable[[str], object] | None = None, *, scaling: bool = False) -> str:
    """Measure the speed of the simulator on this machine; gives the report as JSON.

    Args:
        progress: Told what is measured next. An exception in it ends the measuring.
        scaling: Whether also drives of three sizes and runs of three lengths are measured.
    """

def check_image(image: Path, data: bool) -> tuple[int, list[tuple[int, int]], int, bool]:
    """Look through an image without writing it.

    Gives the number of pages with data, the block and page numbers of those that are damaged (if `data` is
    read), the number of damaged copies of records, and whether the image went back to its last flush.
    """

def check_workloads(workloads: str) -> None:
    """Check that a JSON list holds flows and replays, as far as that can be said without a drive.

    Raises:
        UsageError: An unknown key, or a value of the wrong kind.
    """

def mqsim_requests(folder: Path) -> int:
    """The number of requests of the MQSim case in a folder, as far as it is known.

    Raises:
        ConfigError: A file is absent, or not as it should be; the message names it and the line.
    """

def validate_mqsim(folder: Path, progress: Callable[[int], object] | None = None) -> str:
    """Run an MQSim case and hold the results against MQSim's.

    Args:
        folder: It holds `ssdconfig.xml`, `workload.xml` and `reference.json`.
        progress: Called now and then with the number of requests completed. An exception in it ends the run.

    Returns:
        JSON: `notes`, a list of texts, and `comparisons`, a list of objects with `case`, `quantity`,
        `ours`, `theirs`, `deviation` and `ok`.

    Raises:
        ConfigError: A file is absent, or not as it should be; the message names it and the line.
    """

def generate_line_items(
    scale: float, progress: Callable[[int], object] | None = None
) -> tuple[bytearray, bytearray, bytearray, bytearray]:
    """Generate TPC-H `lineitem` rows.

    Args:
        scale: The scale factor, 0.0001 to 10; 1 gives 6,001,215 rows.
        progress: Called with the number of rows so far, every 65,536 rows and at the end.

    Returns:
        The columns ship date, quantity, discount and extended price as little-endian integers:
        days since 1970-01-01 (int32), pieces (uint8), percent (uint8) and cents (int64).

    Raises:
        ValueError: The scale is out of range.
    """
