"""`bitline cc`: C sources to the WebAssembly module of a task, against `bitline/isc.h`.

clang compiles for wasm32, wasm-ld links with wasi-libc, and what comes out is checked: a drive offers a task
nothing but the imports of the header, so a libc call that needs an operating system is an error here, by
name.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bitline import wasm
from bitline.errors import UsageError

#: Where `#include <bitline/isc.h>` is found.
INCLUDE = Path(__file__).parent / "include"

#: The module that a task imports the drive's calls from, and these calls: all that a drive offers.
IMPORT_MODULE = "isc"
IMPORTS = frozenset(
    (
        *("args_size", "get_args", "put_ret", "file_count", "file_size", "file_read", "file_write"),
        *("submit_read", "submit_write", "wait", "log", "evaluate", "look_up"),
        *("stream_next", "stream_emit", "operate", "parameter"),
    )
)

#: What a task's module has to export.
EXPORTS = ("isc_main", "memory")

#: Of WebAssembly, besides what clang uses anyway: vectors, as the cores have them, and copies of memory,
#: which take what a C library of these cores would.
FEATURES = ("-msimd128", "-mbulk-memory")

STACK_BYTES = 64 << 10
"""The module's stack, unless told otherwise. It lies below all data, so that overflowing it traps."""

#: The oldest clang whose WebAssembly has been seen to work, and the one that is installed by default.
_OLDEST, _PREFERRED = 15, 19

#: How to get what is missing, on Debian and Ubuntu.
PACKAGES = ("clang-19", "lld-19", "wasi-libc", "libclang-rt-19-dev-wasm32")
INSTALL = "sudo apt-get install " + " ".join(PACKAGES)

#: What to do instead of calls of libc that need an operating system.
_INSTEAD = {
    r"v?f?printf|puts|putchar|putc|fputs|fputc|perror|fwrite|write|fflush": "use isc_log",
    r"v?sn?printf": "use isc_log, or write the digits yourself: its output functions come along",
    r"f?open|f?read|fgets|fgetc|getc|fseek|lseek|fclose|close|stat|mmap|pread|pwrite": (
        "use isc_pread and isc_pwrite on registered files"
    ),
    r"strto[df]|strtold|atof|v?s?scanf": "read the digits on both sides of the point with strtoll",
    r"__assert_fail|abort|exit|_Exit": "return an error from isc_task, or call __builtin_trap()",
    r"time|clock|gettimeofday|clock_gettime|nanosleep|sleep": "a task has no clock",
    r"getentropy|arc4random\w*": "a task has no randomness; hand it a seed as an argument",
    r"getenv|setenv": "a task has no environment; hand it arguments",
}


class CompileError(UsageError):
    """Sources that make no task.

    Attributes:
        diagnostics: What the compiler or linker wrote.
    """

    def __init__(self, message: str, diagnostics: str = "") -> None:
        super().__init__(message)
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.diagnostics)


@dataclass(frozen=True)
class Compiler:
    """A C compiler for WebAssembly, and what it needs."""

    clang: str
    linker: str
    """wasm-ld."""
    headers: Path
    """wasi-libc's."""
    libraries: Path
    """Where wasi-libc's libc.a is."""
    builtins: Path
    """clang's own library, for what wasm32 has no instruction for."""


@dataclass(frozen=True)
class Compiled:
    """A task's module."""

    path: Path
    bytes: int
    diagnostics: str
    """The compiler's warnings; empty without any."""


def find_compiler() -> Compiler:
    """The compiler of this machine: clang-19 if it is there, else the newest from 15 on.

    Raises:
        UsageError: Some of it is missing; the message says what, and how to install it.
    """
    clang, version = _clang()
    linker = shutil.which(f"wasm-ld-{version}") or shutil.which("wasm-ld")
    if linker is None:
        raise _missing(f"{clang} has no linker for WebAssembly (looked for wasm-ld-{version}, wasm-ld)")
    headers, libraries = Path("/usr/include/wasm32-wasi"), Path("/usr/lib/wasm32-wasi")
    for needed in (headers / "stdlib.h", libraries / "libc.a"):
        if not needed.exists():
            raise _missing(f"wasi-libc is not installed (no {needed})")
    asked = [clang, "--target=wasm32-wasi", "-rtlib=compiler-rt", "-print-libgcc-file-name"]
    builtins = Path(_output(asked).strip())
    if not builtins.exists():
        raise _missing(f"{clang} has no library for wasm32 (no {builtins})")
    return Compiler(clang, linker, headers, libraries, builtins)


def compile_task(
    sources: Sequence[Path],
    output: Path,
    *,
    optimize: str = "2",
    debug: bool = False,
    include: Sequence[Path] = (),
    define: Sequence[str] = (),
    stack_bytes: int = STACK_BYTES,
) -> Compiled:
    """Compile C sources to the module of one task.

    Args:
        sources: Files in C. Together they define `int isc_task(void)`.
        output: The module's file. It is written only when all went well.
        optimize: What clang's -O takes: 0, 1, 2, 3, s or z.
        debug: Keep debug information (DWARF), for tools that read modules. A task that traps is told by its
            function without, too.
        include: Further folders of headers.
        define: Macros, as NAME or NAME=VALUE.
        stack_bytes: The module's stack.

    Raises:
        CompileError: The sources make no task that a drive could run.
        UsageError: No compiler, or a source that does not exist.
    """
    for source in sources:
        if not source.is_file():
            raise UsageError(f"{source}: no such file")
    compiler = find_compiler()
    flags = [
        *(f"-O{optimize}", "-std=gnu17", "-Wall", *(["-g"] if debug else [])),
        *(f"-I{folder}" for folder in include),
        *(f"-D{macro}" for macro in define),
    ]
    with tempfile.TemporaryDirectory(prefix="bitline-cc-") as folder:
        objects, warnings = [], ""
        for number, source in enumerate(sources):
            objects.append(Path(folder) / f"{number}.o")
            warnings += _compile(compiler, source, objects[-1], flags)
        linked = Path(folder) / "task.wasm"
        _link(compiler, objects, linked, stack_bytes, debug)
        module = linked.read_bytes()
        _check(compiler, sources, objects, module)
    output.write_bytes(module)
    return Compiled(output, len(module), warnings)


@cache
def compiled(source: Path, *, include: tuple[Path, ...] = ()) -> bytes:
    """The module of a task in one file of C that lies beside a program, compiled once in a process.

    Args:
        source: The file, by its absolute path. Changes after the first call are not seen.
        include: Further folders of headers.

    Raises:
        CompileError: The source makes no task that a drive could run.
        UsageError: No compiler, or no such file; the message says what to install.
    """
    with tempfile.TemporaryDirectory(prefix="bitline-cc-") as folder:
        return compile_task([source], Path(folder) / "task.wasm", include=include).path.read_bytes()


def _clang() -> tuple[str, int]:
    names = [f"clang-{_PREFERRED}", "clang", *(f"clang-{number}" for number in range(30, _OLDEST - 1, -1))]
    seen = []
    for name in names:
        found = shutil.which(name)
        if found is None:
            continue
        version = re.search(r"clang version (\d+)", _output([found, "--version"]))
        if version is None or int(version[1]) < _OLDEST:
            seen.append(f"{name} is older than {_OLDEST}")
        elif "wasm32" not in _output([found, "--print-targets"]):
            seen.append(f"{name} is without wasm32")
        else:
            return found, int(version[1])
    looked = f"looked for clang-{_PREFERRED} and clang from {_OLDEST} on" + "".join(
        f"; {what}" for what in seen
    )
    raise _missing(f"no C compiler for WebAssembly here ({looked})")


def _missing(what: str) -> UsageError:
    return UsageError(f"{what}. On Debian and Ubuntu: {INSTALL}")


def _output(command: Sequence[str | Path]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _compile(compiler: Compiler, source: Path, to: Path, flags: Sequence[str]) -> str:
    """Compiles one source; gives its warnings."""
    headers = ["-nostdlibinc", f"-isystem{INCLUDE}", f"-isystem{compiler.headers}"]
    fixed = ["--target=wasm32-wasi", *FEATURES, *headers]
    done = subprocess.run(
        [compiler.clang, *fixed, *flags, "-c", source, "-o", to], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CompileError(f"{source}: does not compile", done.stderr)
    return done.stderr


def _link(compiler: Compiler, objects: Sequence[Path], to: Path, stack_bytes: int, debug: bool) -> None:
    options = ["--no-entry", "--stack-first", "-z", f"stack-size={stack_bytes}"]
    if not debug:
        options.append("--strip-debug")
    done = _run_linker(compiler, [*options, *objects], to)
    if done.returncode == 0:
        return
    undefined = sorted(set(re.findall(r"undefined symbol: (\S+)", done.stderr)))
    if "isc_task" in undefined:
        raise CompileError("the task's function is missing: write int isc_task(void)", done.stderr)
    if undefined:
        raise CompileError(f"neither the sources nor wasi-libc define {', '.join(undefined)}", done.stderr)
    raise CompileError("does not link", done.stderr)


def _run_linker(
    compiler: Compiler, arguments: Sequence[str | Path], to: Path
) -> subprocess.CompletedProcess[str]:
    libraries: list[str | Path] = [f"-L{compiler.libraries}", "-lc", "-lm", compiler.builtins]
    command: list[str | Path] = [compiler.linker, *arguments, *libraries, "-o", to]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _check(compiler: Compiler, sources: Sequence[Path], objects: Sequence[Path], module: bytes) -> None:
    """Refuses a module that no drive would load, and says which call of the sources makes it so."""
    name = ", ".join(str(source) for source in sources)
    offered = {export.name for export in wasm.exports(module)}
    lacking = [export for export in EXPORTS if export not in offered]
    if lacking:
        what = "#include <bitline/isc.h> and write int isc_task(void)"
        raise CompileError(f"{name}: exports no {' and no '.join(lacking)}: {what}")
    needed = wasm.imports(module)
    unknown = [i.name for i in needed if i.module == IMPORT_MODULE and i.name not in IMPORTS]
    if unknown:
        calls = ", ".join(sorted(IMPORTS))
        raise CompileError(f"{name}: a drive has no call {', '.join(unknown)}; it has {calls}")
    foreign = [f"{i.module}.{i.name}" for i in needed if i.module != IMPORT_MODULE]
    if foreign:
        culprits = _culprits(compiler, objects)
        because = "; ".join(
            f"{call} needs {', '.join(of)}: {_instead(call)}" for call, of in culprits.items()
        )
        because = because or f"it imports {', '.join(foreign)}, which no drive has"
        raise CompileError(f"{name}: a task has no operating system: {because}")


def _culprits(compiler: Compiler, objects: Sequence[Path]) -> dict[str, list[str]]:
    """Which functions that the sources call need what no drive has: each is linked by itself to find out."""
    called = {i.name for path in objects for i in wasm.imports(path.read_bytes()) if i.module == "env"} - {
        "isc_task"
    }
    found = {}
    with tempfile.TemporaryDirectory(prefix="bitline-cc-") as folder:
        to = Path(folder) / "one.wasm"
        for call in sorted(called):
            if _run_linker(
                compiler, ["--no-entry", f"--export-if-defined={call}", f"--undefined={call}"], to
            ).returncode:
                continue  # a function of another of the sources
            foreign = [
                i.name for i in wasm.imports(to.read_bytes()) if i.module not in (IMPORT_MODULE, "env")
            ]
            if foreign:
                found[call] = foreign
    return found


def _instead(call: str) -> str:
    matching = (what for pattern, what in _INSTEAD.items() if re.fullmatch(pattern, call))
    return next(matching, "there is nothing in its place")
