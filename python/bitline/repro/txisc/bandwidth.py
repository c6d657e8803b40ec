"""Figure 3: random reads and writes of 16 KiB by a task within a file, with and without flash emulation."""

import struct
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import bitline
from bitline.cc import compiled
from bitline.errors import WrongResultError
from bitline.opening import Setting, configuration
from bitline.tasks import Isolation, TaskResult

#: The preset of Table I.
PRESET = "txisc"
#: The architectures of Section V, and how runs are kept apart in each.
ARCHITECTURES: Mapping[str, Isolation] = {"TxISC": "snapshot", "FileISC": "file", "BlockISC": "block"}
#: Of a request: the page of Table I.
BLOCK_BYTES = 16_384
#: Shares of requests that read, and requests in flight.
PERCENTS = (0, 25, 50, 75, 100)
DEPTHS = (1, 2, 4, 8, 16, 32)

#: Flash without any latency, as far as a drive can be set up so: 1 ns to sense, program and erase, and 16 ns
#: for a page to cross its channel.
DIRECT: Mapping[str, Setting] = MappingProxyType(
    {
        "nand.latency.read_mlc_ns": [1, 1],
        "nand.latency.program_mlc_ns": [1, 1],
        "nand.latency.erase_ns": 1,
        "nand.bus.command_cycle_ns": 0,
        "nand.bus.t_wb_ns": 0,
        "nand.bus.t_adl_ns": 0,
        "nand.bus.t_rr_ns": 0,
        "channel.megabytes_per_second": 1_000_000,
    }
)

#: `cores.work` of transactions alone, and what takes it.
_OWN_WORK = {
    "find_version_cycles": "a page that it reads",
    "take_page_cycles": "a page that it writes",
    "commit_page_cycles": "a page that it commits",
}

_ARGUMENTS = struct.Struct("<4IQ")
_SEED = 2025


@dataclass(frozen=True)
class Point:
    """A run of the task."""

    emulated: bool
    """Whether flash takes the times of Table I."""
    architecture: str
    """A key of `ARCHITECTURES`."""
    read_percent: int
    """Of the requests, those that read."""
    depth: int
    """Requests in flight."""
    reads: int
    """Requests that read."""
    writes: int
    """Requests that wrote."""
    ns: float
    """Time, from the command to its outcome, beginning and commit included."""
    task_cycles: int
    """Cycles of the task itself."""

    @property
    def bandwidth(self) -> float:
        """In MB/s (10^6 bytes)."""
        return (self.reads + self.writes) * BLOCK_BYTES / self.ns * 1e3


def module() -> bytes:
    """The task, compiled.

    Raises:
        UsageError: There is no C compiler; the message says what to install.
    """
    return compiled(Path(__file__).with_name("random_io.c"))


def run(
    drive: bitline.Drive,
    isolation: Isolation,
    requests: int,
    *,
    read_percent: int = 0,
    depth: int = 1,
    stride: int = 0,
) -> TaskResult:
    """Run the task over the object `file`: at random, or so many blocks further each time."""
    arguments = _ARGUMENTS.pack(requests, read_percent, depth, stride, _SEED)
    return drive.tasks.run(module(), {"file": "rw"}, arguments, isolation=isolation)


def bandwidths(
    *,
    emulated: bool,
    percents: Sequence[int] = PERCENTS,
    depths: Sequence[int] = DEPTHS,
    requests: int = 4_096,
    file_bytes: int = 256 << 20,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Point]:
    """Bandwidths of the three architectures.

    Each has a drive of its own, on which the file is written first. Then all runs follow one another, in
    the same order on every drive.

    Args:
        emulated: Whether flash takes the times of Table I; otherwise those of `DIRECT`.
        percents: Shares of requests that read.
        depths: Requests in flight.
        requests: Of a run.
        file_bytes: The file's.
        progress: Told how many runs are done.

    Returns:
        By percent, depth and architecture, in this order.
    """
    found: dict[tuple[int, int, str], Point] = {}
    for name, isolation in ARCHITECTURES.items():
        with bitline.open(PRESET, data="none", set={} if emulated else DIRECT) as drive:
            drive.volume["file"] = bytes(file_bytes)
            for percent in percents:
                for depth in depths:
                    result = run(drive, isolation, requests, read_percent=percent, depth=depth)
                    _check(result)
                    reads, writes = struct.unpack("<2I", result.value)
                    costs = (result.time.ns, result.cycles)
                    found[percent, depth, name] = Point(emulated, name, percent, depth, reads, writes, *costs)
                    progress(len(found))
    return [found[percent, depth, name] for percent in percents for depth in depths for name in ARCHITECTURES]


def ratios(points: Sequence[Point], over: str) -> dict[tuple[bool, int, int], float]:
    """The bandwidth of TxISC over another architecture's, by emulation, percent and depth."""
    by_name = {
        name: {
            (one.emulated, one.read_percent, one.depth): one.bandwidth
            for one in points
            if one.architecture == name
        }
        for name in ("TxISC", over)
    }
    return {key: mine / by_name[over][key] for key, mine in by_name["TxISC"].items()}


def cores() -> dict[str, Any]:
    """The drive's cores, as its configuration has them."""
    found: dict[str, Any] = tomllib.loads(configuration(PRESET).to_toml())["cores"]
    return found


def host_cores() -> dict[str, Any]:
    """The host's cores and its operating system, likewise."""
    found: dict[str, Any] = tomllib.loads(configuration(PRESET).to_toml())["host"]["tasks"]
    return found


def own_work() -> str:
    """What the cores do for a page of a transaction, and for no other, in words."""
    work = cores()["work"]
    charged = [f"{work[key]} cycles for {what}" for key, what in _OWN_WORK.items() if work.get(key)]
    if not charged:
        return "the cores are charged nothing of TxFTL's own work (entries, commit): its cost is not seen"
    return f"TxFTL's own work: {', '.join(charged)}"


def _check(result: TaskResult) -> None:
    if not result:
        raise WrongResultError(f"random_io.c: {result.status}: {result.reason or result.log}")
