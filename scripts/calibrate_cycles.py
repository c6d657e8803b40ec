"""What WebAssembly instructions take of a Cortex-A53: `[task.cycles]`, from counts of the same C on both.

The kernels in scripts/cycles/ are compiled by one clang with the same options for AArch64 and for wasm32. A
plugin of QEMU counts the AArch64 instructions of each by class; a rewritten module counts the WebAssembly
instructions. What AArch64's classes take (`CORES`) makes cycles of the former, and a least-squares fit of
relative deviations, with no negative cost, says what each class of the latter takes.

Usage: python scripts/calibrate_cycles.py [--write | --host]

Needs gcc, clang-19, lld-19, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user before 9.1, which are
packages of Debian and Ubuntu, and the Python packages numpy, scipy and wasmtime. With --write it renews
docs/reference/task-cycles.md. With --host it tells `[host.tasks.cycles]` instead: of the same kernels, for
x86-64, only the number of instructions counts.
"""

import argparse
import datetime
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import wasmtime
from scipy.optimize import lsq_linear

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "cycles"
PAGE = ROOT / "docs" / "reference" / "task-cycles.md"
sys.path[:0] = [str(HERE), str(ROOT / "python")]

from instrument import CLASSES, instrumented  # noqa: E402

#: Loops are not made vectors, on either side: what vectors take, kernels with vectors say.
FLAGS = ["-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-math-errno", "-Wall"]
SOURCES = [HERE / "kernels_integer.c", HERE / "kernels_float.c"]

#: Rounds of a kernel whose counts, less those of no round, are taken.
ROUNDS = 20


class Core(NamedTuple):
    """What an AArch64 instruction takes of a Cortex-A53."""

    every: float
    """Cycles between two that do not wait for each other."""
    latency: float
    """Cycles until a dependent one can begin."""
    note: str

    @property
    def cycles(self) -> float:
        """What one takes on average."""
        return self.every + EXPOSED * (self.latency - self.every)


#: Of the latency, how much an in-order core with two issue slots waits. An estimate: compilers place a
#: dependent instruction some slots later.
EXPOSED = 0.25

#: The most cycles that a key of `[task.cycles]` takes.
MOST = 25.5

#: Branches that are predicted wrong, and what each costs. The share is an estimate; the cycles are LLVM's
#: MispredictPenalty.
MISPREDICTED, PENALTY = 0.03, 9

CORES: Mapping[str, Core] = {
    "alu": Core(0.5, 1, "two units; the model has latency 3 and forwards"),
    "multiply": Core(1, 4, ""),
    "divide": Core(4, 4, "the model has latency 4; not pipelined here"),
    "load": Core(1, 3, "LoadLatency of the model"),
    "load_pair": Core(2, 4, ""),
    "store": Core(1, 1, "nobody waits for it"),
    "store_pair": Core(2, 2, ""),
    "branch": Core(1 + MISPREDICTED * PENALTY, 1 + MISPREDICTED * PENALTY, "3 % mispredicted, 9 cycles each"),
    "call": Core(1, 1, "BL, BLR and RET each; returns are predicted"),
    "float": Core(1, 6, ""),
    "float_divide": Core(29, 33, "double precision"),
    "float_divide_32": Core(14, 18, "single precision"),
    "vector": Core(1, 6, ""),
    "other": Core(1, 1, "system registers, hints"),
}


class Processor(NamedTuple):
    """What kernels are compiled for, and what counts their instructions."""

    emulator: str
    flags: tuple[str, ...]
    cores: Mapping[str, Core]


A53 = Processor("qemu-aarch64", ("--target=aarch64-linux-gnu", "-mcpu=cortex-a53", "-static"), CORES)
#: QEMU 7.2 has no AVX-512, so that code is of an older core. The plugin does not know classes of x86-64.
HOST = Processor(
    "qemu-x86_64",
    ("--target=x86_64-linux-gnu", "-march=haswell", "-static"),
    dict.fromkeys(
        CORES, Core(0.5, 0.5, "an estimate: two instructions a cycle, data in the first-level cache")
    ),
)


class Counted(NamedTuple):
    """One kernel on both machines, a round on average."""

    name: str
    native: dict[str, float]
    wasm: dict[str, float]
    cores: Mapping[str, Core]

    @property
    def instructions(self) -> float:
        """Those of the processor."""
        return sum(self.native.values())

    @property
    def cycles(self) -> float:
        """What the processor's instructions take."""
        return sum(self.cores[name].cycles * amount for name, amount in self.native.items())


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """A program that has to succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True)


def build(folder: Path, processor: Processor) -> None:
    """Compiles the plugin, the kernels for a processor, and the kernels as a module."""
    run("gcc", "-shared", "-fPIC", "-O2", HERE / "count_plugin.c", "-o", folder / "plugin.so")
    run("clang-19", *processor.flags, *FLAGS, HERE / "main_native.c", *SOURCES, "-o", folder / "native")
    wasm = ["--target=wasm32-unknown-unknown", "-msimd128", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry"]
    run("clang-19", *wasm, *FLAGS, HERE / "main_wasm.c", *SOURCES, "-o", folder / "kernels.wasm")


def native_counts(folder: Path, emulator: str, kernel: str, rounds: int) -> tuple[int, dict[str, int]]:
    """What a kernel gives, and the instructions of the whole program by AArch64's classes."""
    done = run(emulator, "-plugin", folder / "plugin.so", folder / "native", kernel, str(rounds))
    lines = (line.split() for line in done.stderr.splitlines() if line.startswith("count "))
    return int(done.stdout, 16), {name: int(amount) for _, name, amount in lines}


class Module:
    """The rewritten kernels."""

    def __init__(self, module: bytes) -> None:
        self.engine = wasmtime.Engine()
        self.module = wasmtime.Module(self.engine, instrumented(module))

    def counts(self, kernel: str, rounds: int) -> tuple[int, dict[str, int]]:
        """What a kernel gives, and its WebAssembly instructions by class."""
        store = wasmtime.Store(self.engine)
        exports = wasmtime.Instance(store, self.module, []).exports(store)
        exports["prepare"](store)
        result = exports[kernel](store, rounds) & (1 << 64) - 1
        return result, {name: exports[f"count_{name}"].value(store) for name in CLASSES}

    def kernels(self) -> list[str]:
        """Their names."""
        names = [export.name for export in self.module.exports]
        return [name for name in names if name not in ("memory", "prepare") and not name.startswith("count_")]


def a_round(more: Mapping[str, int], less: Mapping[str, int]) -> dict[str, float]:
    """The counts of one round."""
    return {name: (more[name] - less[name]) / ROUNDS for name in more}


def measure(folder: Path, processor: Processor) -> tuple[list[Counted], float]:
    """All kernels, and the cycles of a copied byte."""
    module = Module((folder / "kernels.wasm").read_bytes())
    counted = []
    for kernel in module.kernels():
        (result, more), (_, less) = (
            native_counts(folder, processor.emulator, kernel, rounds) for rounds in (ROUNDS, 0)
        )
        (same, more_wasm), (_, less_wasm) = (module.counts(kernel, rounds) for rounds in (ROUNDS, 0))
        if result != same:
            raise SystemExit(
                f"{kernel} gives {result:#x} by {processor.emulator} and {same:#x} as WebAssembly"
            )
        counted.append(Counted(kernel, a_round(more, less), a_round(more_wasm, less_wasm), processor.cores))
    copies = a_round(
        *(native_counts(folder, processor.emulator, "copy", rounds)[1] for rounds in (ROUNDS, 0))
    )
    return counted, Counted("copy", copies, {}, processor.cores).cycles / 16384


def fit(counted: Sequence[Counted]) -> dict[str, float]:
    """Cycles of each class, none below 0 or above `MOST`, with the least squares of relative deviations."""
    rows = np.array([[kernel.wasm[name] / kernel.cycles for name in CLASSES] for kernel in counted])
    solution = lsq_linear(rows, np.ones(len(counted)), bounds=(0, MOST)).x
    return dict(zip(CLASSES, solution.tolist(), strict=True))


def left_out(counted: Sequence[Counted]) -> list[float]:
    """Of each kernel, how far the costs that are fitted to all others are off."""
    others = ([*counted[:number], *counted[number + 1 :]] for number in range(len(counted)))
    return [
        abs(predicted(kernel, fit(rest)) / kernel.cycles - 1)
        for kernel, rest in zip(counted, others, strict=True)
    ]


def predicted(kernel: Counted, costs: Mapping[str, float]) -> float:
    """Cycles of a kernel's round by the fitted costs."""
    return sum(costs[name] * amount for name, amount in kernel.wasm.items())


def main() -> None:
    """Measures, fits and tells; with --write, into the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"renew {PAGE.relative_to(ROOT)}")
    parser.add_argument("--host", action="store_true", help="tell [host.tasks.cycles] instead")
    arguments = parser.parse_args()
    processor = HOST if arguments.host else A53
    with tempfile.TemporaryDirectory(prefix="calibrate-") as name:
        folder = Path(name)
        build(folder, processor)
        counted, copied = measure(folder, processor)
    if arguments.host:
        # What a copied byte takes is not told: QEMU counts each byte of one instruction that copies many.
        costs = rounded_tenths(fit(counted))
        off = [
            abs(predicted(kernel, {name: tenths / 10 for name, tenths in costs.items()}) / kernel.cycles - 1)
            for kernel in counted
        ]
        print("\n".join(f"{name}_tenths = {tenths}" for name, tenths in costs.items()))
        print(f"off by {100 * np.median(off):.0f} % in the median")
        return
    text = page(counted, fit(counted), copied)
    if arguments.write:
        PAGE.write_text(text)
    else:
        print(text, end="")


def rounded_tenths(costs: Mapping[str, float]) -> dict[str, int]:
    """Costs as keys have them: a branch takes at least a tenth of a cycle, so that loops end."""
    return {name: max(round(10 * cost), int(name == "branch")) for name, cost in costs.items()}


def page(counted: Sequence[Counted], costs: Mapping[str, float], copied: float) -> str:
    """The page with the table and where it comes from."""
    tenths = rounded_tenths(costs)
    tenths["bulk_byte"] = round(10 * copied)
    rounded = {name: value / 10 for name, value in tenths.items()}
    keys = "\n".join(
        f"{f'{name}_tenths = {value}':<26} # docs/reference/task-cycles.md" for name, value in tenths.items()
    )
    ratios = np.array([predicted(kernel, rounded) / kernel.cycles for kernel in counted])
    cores = "\n".join(
        f"| {name} | {core.every:.2f} | {core.latency:.2f} | {core.cycles:.2f} | {core.note} |"
        for name, core in CORES.items()
    )
    kernels = "\n".join(
        f"| {kernel.name} | {sum(kernel.wasm.values()):,.0f} | {kernel.instructions:,.0f} "
        f"| {kernel.cycles:,.0f} "
        f"| {predicted(kernel, rounded):,.0f} | {100 * (ratio - 1):+.0f} % |"
        for kernel, ratio in zip(counted, ratios, strict=True)
    )
    within = [
        f"{100 * np.mean(abs(ratios - 1) <= limit):.0f} % within {100 * limit:.0f} %" for limit in (0.25, 0.5)
    ]
    return (
        (HERE / "page.md")
        .read_text()
        .format(
            keys=keys,
            cores=cores,
            kernels=kernels,
            count=len(counted),
            median=100 * np.median(abs(ratios - 1)),
            unseen=100 * np.median(left_out(counted)),
            within=", ".join(within),
            exposed=100 * EXPOSED,
            date=datetime.date.today().isoformat(),
            versions=versions(),
        )
    )


def versions() -> str:
    """What was measured with, a line each."""
    first = [["clang-19", "--version"], ["qemu-aarch64", "--version"], ["aarch64-linux-gnu-gcc", "--version"]]
    lines = [run(*command).stdout.splitlines()[0] for command in first]
    return "\n".join(f"- {line}" for line in [*lines, f"wasmtime (Python) {version('wasmtime')}"])


if __name__ == "__main__":
    main()
