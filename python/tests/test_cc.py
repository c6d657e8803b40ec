"""`bitline cc`, and the example tasks in C: compiled, run over files in memory, held against their twins."""

import importlib.util
import re
import stat
from pathlib import Path
from types import ModuleType

import pytest
from command_line import Run
from mounts import NO_COMPILER

from bitline import cc, wasm
from bitline.cc import CompileError, compile_task, compiled
from bitline.errors import UsageError

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
EXAMPLES = sorted(path.stem for path in TASKS.glob("*.c"))

#: Without a compiler these tests can say nothing; `make test` installs one where it can.
compiles = pytest.mark.skipif(
    bool(NO_COMPILER),
    reason=f"SKIPPED: no compiler for tasks in C here. {cc.INSTALL}",
)

NO_ENGINE = "SKIPPED: pip install wasmtime, to run tasks without a drive"


def twin_of(example: str) -> ModuleType:
    """The module beside an example, which does the same on the host."""
    spec = importlib.util.spec_from_file_location(f"task_{example}", TASKS / f"{example}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(folder: Path, body: str, head: str = "") -> Path:
    """A task with this body."""
    source = folder / "task.c"
    source.write_text(f"#include <bitline/isc.h>\n{head}\nint isc_task(void) {{\n{body}\nreturn 0;\n}}\n")
    return source


def test_there_are_examples_with_twins() -> None:
    assert EXAMPLES
    assert all((TASKS / f"{example}.py").exists() for example in EXAMPLES)


def test_the_headers_import_what_a_drive_offers() -> None:
    headers = [path.read_text() for path in (cc.INCLUDE / "bitline").glob("*.h")]
    found = re.findall(r"^ISC_IMPORT\((\w+)\)", "\n".join(headers), re.MULTILINE)
    assert set(found) == cc.IMPORTS


@compiles
@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("optimize", ["0", "2", "s"])
def test_examples_compile_to_what_a_drive_loads(example: str, optimize: str, tmp_path: Path) -> None:
    made = compile_task([TASKS / f"{example}.c"], tmp_path / "task.wasm", optimize=optimize)
    module = made.path.read_bytes()
    assert made.diagnostics == ""
    assert {found.module for found in wasm.imports(module)} == {"isc"}
    assert {export.name for export in wasm.exports(module)} == {"memory", "isc_main"}


@compiles
@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(("size", "seed"), [(0, 1), (1, 2), (5_000, 3), (1_000_003, 4)])
def test_examples_do_what_their_twins_do(example: str, size: int, seed: int, tmp_path: Path) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    twin = twin_of(example)
    files, arguments = twin.case(size, seed)
    made = compile_task([TASKS / f"{example}.c"], tmp_path / "task.wasm")
    done = task_host.run(made.path, files, arguments)
    assert (done.code, done.log) == (0, "")
    if hasattr(twin, "check"):
        twin.check(done.value, done.files, files, arguments)
        return
    value, left = twin.twin(files, arguments)
    assert getattr(twin, "same", bytes.__eq__)(done.value, value)
    assert done.files == {name: left.get(name, before) for name, (before, _) in files.items()}


@compiles
def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    twin = twin_of("bitmap")
    made = compile_task([TASKS / "bitmap.c"], tmp_path / "task.wasm")
    sizes = [task_host.run(made.path, *twin.case(size, 1)).memory_bytes for size in (1_000, 8_000_000)]
    assert sizes[0] == sizes[1] < 2 << 20


@compiles
def test_what_comes_with_a_program_is_compiled_once(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "factor.h").write_text("#define FACTOR 2\n")
    source = written(tmp_path, "return FACTOR;", '#include "factor.h"')
    with pytest.raises(CompileError, match="does not compile"):
        compiled(source)
    module = compiled(source, include=(tmp_path / "more",))
    made = compile_task([source], tmp_path / "task.wasm", include=[tmp_path / "more"])
    assert module == made.path.read_bytes()
    assert compiled(source, include=(tmp_path / "more",)) is module
    with pytest.raises(UsageError, match=r"absent\.c: no such file"):
        compiled(tmp_path / "absent.c")


@compiles
def test_calls_of_an_operating_system_are_named(tmp_path: Path) -> None:
    source = written(tmp_path, 'printf("%d", (int)time(NULL));', "#include <stdio.h>\n#include <time.h>")
    with pytest.raises(
        CompileError, match=r"printf needs fd_close, .*: use isc_log; time needs clock_time_get"
    ):
        compile_task([source], tmp_path / "task.wasm")
    assert not (tmp_path / "task.wasm").exists()


@compiles
def test_calls_that_no_drive_has_are_named(tmp_path: Path) -> None:
    head = '__attribute__((import_module("isc"), import_name("reboot"))) void reboot(void);'
    with pytest.raises(CompileError, match="a drive has no call reboot; it has args_size, evaluate"):
        compile_task([written(tmp_path, "reboot();", head)], tmp_path / "task.wasm")


@compiles
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int isc_task(void) { return 0; }", "exports no isc_main"),
        ("#include <bitline/isc.h>\n", "write int isc_task"),
        ("#include <bitline/isc.h>\nvoid far_away(void);\nint isc_task(void) { far_away(); }", "far_away"),
        ("int main(", "does not compile"),
    ],
)
def test_what_is_no_task_is_refused(text: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "task.c"
    source.write_text(text)
    with pytest.raises(CompileError, match=message):
        compile_task([source], tmp_path / "task.wasm")


@compiles
def test_sources_folders_and_macros_go_together(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "twice.h").write_text("#include <bitline/isc.h>\nint twice(int);\n")
    (tmp_path / "twice.c").write_text('#include "twice.h"\nint twice(int x) { return FACTOR * x; }\n')
    source = written(tmp_path, "return twice(21);", '#include "twice.h"')
    sources = [source, tmp_path / "twice.c"]
    made = compile_task(sources, tmp_path / "t.wasm", include=[tmp_path / "more"], define=["FACTOR=2"])
    assert made.bytes == made.path.stat().st_size
    debugged = compile_task(
        sources, tmp_path / "g.wasm", include=[tmp_path / "more"], define=["FACTOR=2"], debug=True
    )
    assert debugged.bytes > made.bytes


@compiles
def test_the_log_is_written_as_printf_would(tmp_path: Path) -> None:
    pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    body = """
    isc_log("%d %i %u %x|%c%s|%%|%lld %llu %llx %zu", -1, 0, 4000000000u, 255, 'c', "text",
            -9223372036854775807ll - 1, 18446744073709551615ull, 1ull << 63, (size_t)7);
    isc_log("%f|%.2f and %d rows|%08.3f|%-8.1f|%5d|%-5d|%05d|%.0f", 2.5, 1.005, 42, -3.14159,
            0.25, 7, 8, -9, 1e6);
    isc_log("%e %f %f %X %o %.3s|%*d|%%%5s|", 1e3, 1e300, -1.0 / 0.0, 0xBEEFu, 8u, "letters", 4, 5, "ab");
    return isc_failed("step", -13);"""
    made = compile_task([written(tmp_path, body)], tmp_path / "task.wasm")
    done = task_host.run(made.path, {})
    assert done.code == 13
    assert done.log == (
        "-1 0 4000000000 ff|ctext|%|-9223372036854775808 18446744073709551615 8000000000000000 7\n"
        "2.500000|1.00 and 42 rows|-003.142|0.3     |    7|8    |-0009|1000000\n"
        "1000.000000 1.000000e+300 -inf BEEF 10 let|   5|%   ab|\n"
        "step: error 13 (EACCES, the file is registered for reading only)\n"
    )


@compiles
def test_a_stack_that_overflows_traps(tmp_path: Path) -> None:
    wasmtime = pytest.importorskip("wasmtime", reason=NO_ENGINE)
    import task_host

    head = "static int deep(int n) { volatile char a[999]; a[n % 999] = 1; return n + deep(n + 1) + a[0]; }"
    made = compile_task([written(tmp_path, "return deep(0);", head)], tmp_path / "task.wasm", optimize="0")
    with pytest.raises(wasmtime.Trap, match="out of bounds"):
        task_host.run(made.path, {})


def test_a_missing_compiler_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"looked for clang-19.*: sudo apt-get install clang-19 lld-19 wasi-libc"
    ):
        compile_task([written(tmp_path, "")], tmp_path / "task.wasm")


def test_an_old_compiler_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "clang"
    old.write_text("#!/bin/sh\necho clang version 11.0.1\n")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="clang is older than 15"):
        cc.find_compiler()


@compiles
def test_the_command_compiles_beside_the_source(run: Run, tmp_path: Path) -> None:
    source = written(tmp_path, "")
    done = run("cc", source, "-O2", "-g")
    assert (done.code, done.err) == (0, "")
    assert source.with_suffix(".wasm").read_bytes().startswith(b"\0asm")
    source.write_text("int isc_task(void) { return x; }\n")
    done = run("cc", source)
    assert done.code == 2
    assert "use of undeclared identifier 'x'" in done.err
    assert "does not compile" in done.err


def test_what_is_no_module_is_told() -> None:
    with pytest.raises(ValueError, match="no WebAssembly"):
        wasm.imports(b"#!/bin/sh")
    with pytest.raises(ValueError, match="middle"):
        wasm.imports(b"\0asm\1\0\0\0\2\7\1")
