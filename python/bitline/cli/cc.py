"""`bitline cc`: a task in C becomes the WebAssembly module that a drive runs."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bitline.cc import STACK_BYTES, CompileError, compile_task
from bitline.cli.options import Json
from bitline.cli.output import Fact, Result, emit, size


class Level(StrEnum):
    """What -O takes."""

    NONE = "0"
    SOME = "1"
    USUAL = "2"
    MOST = "3"
    SMALL = "s"
    SMALLEST = "z"


def cc(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE", show_default=False, help="Files in C, with int isc_task(void) in one."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The module [the first source, as .wasm]."),
    ] = None,
    optimize: Annotated[
        Level, typer.Option("-O", help="How much to optimize, as clang takes it.")
    ] = Level.USUAL,
    debug: Annotated[
        bool, typer.Option("-g", help="Keep debug information (DWARF), for tools that read modules.")
    ] = False,
    include: Annotated[
        list[Path] | None,
        typer.Option("-I", metavar="FOLDER", help="Look for headers here too; may be repeated."),
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro; may be repeated.")
    ] = None,
    stack: Annotated[
        int, typer.Option("--stack", metavar="BYTES", min=1024, max=1 << 30, help="The task's stack.")
    ] = STACK_BYTES,
    as_json: Json = False,
) -> None:
    """Compile a task in C for the drive's cores, against <bitline/isc.h>.

    Needs clang and wasm-ld from version 15 on and wasi-libc (Debian: clang-19, lld-19, wasi-libc,
    libclang-rt-19-dev-wasm32).
    """
    output = sources[0].with_suffix(".wasm") if output is None else output
    try:
        made = compile_task(
            sources,
            output,
            optimize=optimize,
            debug=debug,
            include=include or (),
            define=define or (),
            stack_bytes=stack,
        )
    except CompileError as error:
        sys.stderr.write(error.diagnostics)
        raise
    sys.stderr.write(made.diagnostics)
    facts = {"module": Fact("Module", str(made.path)), "module_bytes": Fact("Size", made.bytes, size)}
    emit(Result(f"{made.path}: a task", facts), as_json=as_json)
