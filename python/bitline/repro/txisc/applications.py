"""Figures 4 and 5: applications as tasks in C, each held against its twin on the host.

Tasks and twins are the examples of a checkout (`examples/tasks`). What the drive keeps is real data.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import bitline
from bitline.cc import compiled
from bitline.errors import UsageError, WrongResultError
from bitline.repro.txisc.bandwidth import ARCHITECTURES, PRESET, cores, host_cores
from bitline.tasks import TaskResult

#: Where tasks and twins are.
TASKS = Path(__file__).parents[4] / "examples" / "tasks"
#: What the paper compares here, and how a task is run in each: BlockISC has no files.
COMPARED: Mapping[str, dict[str, Any]] = {
    "TxISC": {"isolation": ARCHITECTURES["TxISC"]},
    "FileISC": {"isolation": ARCHITECTURES["FileISC"]},
    "Host-only": {"where": "host"},
}

_SEED = 1
#: By example: its name in figures, and bytes (`case` of the twin) in full and in quick runs.
APPLICATIONS: Mapping[str, tuple[str, int, int]] = {
    "bitmap": ("Bitmap", 256 << 20, 4 << 20),
    "bfs": ("BFS", 32 << 20, 256 << 10),
    "compaction": ("Compaction", 8 << 20, 100_000),
}


@dataclass(frozen=True)
class Run:
    """A run of an application."""

    example: str
    """A key of `APPLICATIONS`."""
    architecture: str
    """A key of `COMPARED`."""
    bytes_in: int
    """Of the files that it may only read."""
    bytes_out: int
    """Of the files that it may write."""
    ns: float
    """Time, from the command to its outcome; host-only until what was written is in the drive."""
    computing_ns: float
    """What the task had a core for."""

    @property
    def name(self) -> str:
        """In figures."""
        return APPLICATIONS[self.example][0]

    @property
    def io_share(self) -> float:
        """The share of the time in which the task had no core: for reads, writes and the commit."""
        return 1 - self.computing_ns / self.ns


def runs(*, quick: bool, progress: Callable[[int], object] = lambda _: None) -> list[Run]:
    """All applications under all architectures, each result checked against its twin's.

    Raises:
        UsageError: There are no examples here, or no C compiler.
        WrongResultError: A task did something else than its twin.
    """
    found = []
    for example, (_, full, few) in APPLICATIONS.items():
        for one in _runs(example, few if quick else full):
            found.append(one)
            progress(len(found))
    return found


def _runs(example: str, size: int) -> list[Run]:
    twin = twin_of(example)
    files, arguments = twin.case(size, _SEED)
    task = compiled(TASKS / f"{example}.c")
    wrote = {name: len(data) for name, (data, mode) in files.items() if "w" in mode}
    sizes = sum(len(data) for data, _ in files.values()) - sum(wrote.values()), sum(wrote.values())
    found: list[Run] = []
    checked: tuple[bytes, dict[str, bytes]] | None = None
    for architecture, how in COMPARED.items():
        clock = 1e-3 * (host_cores() if architecture == "Host-only" else cores())["clock_megahertz"]
        with bitline.open(PRESET) as drive:
            for name, (data, _) in files.items():
                drive.volume[name] = data
            modes = {name: mode for name, (_, mode) in files.items()}
            result = drive.tasks.run(task, modes, arguments, **how)
            left = {name: bytes(drive.volume[name]) for name in files}
        # What was checked once need only be the same again.
        if checked is None or not result:
            _check(example, twin, result, left, files, arguments)
            checked = result.value, left
        elif (result.value, left) != checked:
            raise WrongResultError(f"{example}.c: {architecture} gives something else than TxISC")
        found.append(Run(example, architecture, *sizes, result.time.ns, result.cycles / clock))
    return found


def twin_of(example: str) -> ModuleType:
    """What an example of a checkout is held against.

    Raises:
        UsageError: There are no examples here.
    """
    file = TASKS / f"{example}.py"
    spec = importlib.util.spec_from_file_location(f"bitline_repro_{example}", file)
    if spec is None or spec.loader is None or not file.exists():
        raise UsageError(f"{file} is not there; Figures 4 and 5 need the examples of a checkout")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _check(
    example: str,
    twin: ModuleType,
    result: TaskResult,
    left: dict[str, bytes],
    files: dict[str, tuple[bytes, str]],
    arguments: bytes,
) -> None:
    if not result:
        raise WrongResultError(f"{example}.c: {result.status}: {result.reason or result.log}")
    if hasattr(twin, "check"):
        try:
            twin.check(result.value, left, files, arguments)
        except AssertionError as error:
            raise WrongResultError(f"{example}.c: not what its twin keeps: {error}") from error
        return
    value, written = twin.twin(files, arguments)
    if result.value != value or left != {name: written.get(name, data) for name, (data, _) in files.items()}:
        raise WrongResultError(f"{example}.c: not what its twin does")
