"""Commands `bitline task`: programs that the drive in an image runs by itself over objects of its volume."""

from pathlib import Path
from typing import Annotated, cast

import typer

from bitline.cli.errors import Exit
from bitline.cli.options import Json, Wide
from bitline.cli.output import Column, Fact, Result, Table, Value, duration, emit, size
from bitline.errors import UsageError
from bitline.opening import open_or_connect
from bitline.tasks import Isolation, Mode, Program, TaskResult, Where
from bitline.units import Size

app = typer.Typer(
    help="Run programs inside the drive of an image.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

OnImage = Annotated[
    str,
    typer.Option(
        "--image",
        metavar="FILE",
        help="The drive: an image file, or where it is served: nvme+tcp://HOST[:PORT][/NQN].",
        show_default=False,
    ),
]
Module = Annotated[
    Path, typer.Argument(metavar="MODULE", help="A WebAssembly module's file.", show_default=False)
]


@app.command()
def run(
    module: Module,
    image: OnImage,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            metavar="NAME:MODE",
            help="An object of the volume, to be read (r), or written, too (w); may be repeated.",
        ),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(
            "--store",
            metavar="NAME",
            help="A store in which it may look names up (NAME/1: by its second index); may be repeated.",
        ),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="TEXT", help="Arguments of the task, as UTF-8.")
    ] = None,
    args_file: Annotated[
        Path | None, typer.Option("--args-file", metavar="FILE", help="Arguments of the task, as they are.")
    ] = None,
    where: Annotated[
        str, typer.Option(help="Who runs it: drive, or, to compare with, host: its own processor.")
    ] = "drive",
    isolation: Annotated[
        str | None,
        typer.Option(
            help="How it is kept apart from others in the drive: snapshot, serializable, file or block."
            " [default: snapshot]",
        ),
    ] = None,
    memory: Annotated[int, typer.Option(min=0, help="Bytes of memory that it may have; 0: all.")] = 0,
    cycles: Annotated[int, typer.Option(min=0, help="Cycles that it may take; 0: all.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write what it returned to a file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a task once, and tell what became of it. Exits with 1 if it did not commit."""
    if args is not None and args_file is not None:
        raise UsageError("--args and --args-file are both the task's arguments; give one")
    given = args_file.read_bytes() if args_file is not None else (args or "").encode()
    files = dict(_file(text) for text in file or [])
    if len(files) < len(file or []):
        raise UsageError("--file names an object twice")
    if output is not None:
        # What cannot be written is better known before a transaction commits.
        output.open("ab").close()
    with open_or_connect(image, read_only=False) as drive:
        result = drive.tasks.run(
            module,
            files,
            given,
            where=cast("Where", where),
            isolation=cast("Isolation | None", isolation),
            stores=store or [],
            memory=memory,
            cycles=cycles,
        )
    if output is not None:
        output.write_bytes(result.value)
    emit(Result(f"{module}: {result.status}", _facts(result)), as_json=as_json)
    if not result:
        raise typer.Exit(Exit.WRONG)


@app.command()
def load(module: Module, image: OnImage, as_json: Json = False) -> None:
    """Load a module into the drive, which keeps it through power cycles."""
    with open_or_connect(image, read_only=False) as drive:
        program = drive.tasks.load(module, persistent=True)
    facts = {
        "index": Fact("Index", program.index),
        "bytes": Fact("Size", int(program.size), size),
        "identifier": Fact("Identifier", _hexadecimal(program)),
    }
    emit(Result(f"{module}: loaded", facts), as_json=as_json)


@app.command(name="list")
def list_(image: OnImage, wide: Wide = False, as_json: Json = False) -> None:
    """List the programs that the drive keeps, and what it allows."""
    with open_or_connect(image, read_only=False) as drive:
        programs, limits = drive.tasks.list(), drive.tasks.limits
    facts = {
        "programs_max": Fact("Programs that it may have", limits.programs),
        "program_bytes_max": Fact("  all together", int(limits.program_bytes), size),
        "persistent_bytes_max": Fact("  each that it keeps", int(limits.persistent_size), size),
        "runs_max": Fact("Runs at a time", limits.runs),
        "memory_bytes_max": Fact("  memory of each", int(limits.memory), size),
        "cycles_max": Fact("  cycles of each", limits.cycles),
    }
    columns = [
        Column("index", "Index"),
        Column("bytes", "Size", size),
        Column("identifier", "Identifier", str, rank=1),
        Column("state", "State", str),
    ]
    rows: list[dict[str, Value]] = [
        {
            "index": program.index,
            "bytes": int(program.size),
            "identifier": _hexadecimal(program),
            "state": program.state,
        }
        for program in programs
    ]
    emit(Result(f"{image}: programs", facts, {"programs": Table(columns, rows)}), as_json=as_json, wide=wide)


@app.command()
def unload(
    index: Annotated[int, typer.Argument(min=0, max=0xFFFF, help="The program's index.", show_default=False)],
    image: OnImage,
) -> None:
    """Unload a program that the drive keeps."""
    with open_or_connect(image, read_only=False) as drive:
        drive.tasks.unload(index)


def _file(text: str) -> tuple[str, Mode]:
    name, colon, mode = text.rpartition(":")
    if not colon or mode not in ("r", "w", "rw") or not name:
        raise UsageError(f"--file {text}: expected NAME:r or NAME:w")
    return name, cast("Mode", mode)


def _facts(result: TaskResult) -> dict[str, Fact]:
    return {
        "status": Fact("Ended", result.status),
        "code": Fact("  with", result.code if result.status == "failed" else None),
        "reason": Fact("  because", result.reason or None),
        "value": Fact("Returned", _shown(result.value)),
        "value_hex": Fact(None, result.value.hex()),
        "log": Fact("Logged", result.log or None),
        "cycles": Fact("Cycles", result.cycles),
        "memory_bytes": Fact("Memory", int(result.memory), size),
        "attempts": Fact("Attempts", result.attempts),
        "time_ns": Fact("Time", result.time.ns, duration),
    }


def _shown(value: bytes) -> str | None:
    """What a task returned, as text if it is some."""
    if not value:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text:
        return text
    return f"{value[:32].hex()}{'...' if len(value) > 32 else ''} ({Size(len(value))})"


def _hexadecimal(program: Program) -> str:
    return f"{program.identifier:016x}"
