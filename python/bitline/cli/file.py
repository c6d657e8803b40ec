"""Commands `bitline file`: files of the volume in an image, put, got, listed and removed."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bitline.cli.options import Json, Place, Wide, destination
from bitline.cli.output import Column, Fact, Result, Table, Value, emit, size
from bitline.drive import Drive
from bitline.errors import NotFoundError
from bitline.opening import open_or_connect

app = typer.Typer(
    help="Put, get, list and remove files of an image's volume.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name in the volume.", show_default=False)]


@app.command()
def put(
    file: Place,
    name: Name,
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SOURCE", help="What it is to hold; the standard input if none is given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a file of the volume, or replace it: after a power cut all of it is there, or what was before."""
    data = sys.stdin.buffer.read() if source is None else source.read_bytes()
    with open_or_connect(file, read_only=False) as drive:
        drive.volume[name] = data
    facts = {"name": Fact(None, name), "bytes": Fact("Size", len(data), size)}
    emit(Result(f"{name}: written", facts), as_json=as_json)


@app.command()
def get(
    file: Place,
    name: Name,
    output: Annotated[
        Path | None,
        typer.Argument(metavar="OUTPUT", help="Where it goes; the standard output if nothing is given."),
    ] = None,
) -> None:
    """Read a file of the volume; of an array the bytes of its items."""
    if output is not None:
        destination("OUTPUT", output)
    with open_or_connect(file, read_only=True) as drive:
        _check(drive, name)
        held = drive.volume[name]
    data = held.tobytes() if isinstance(held, np.ndarray) else held
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        output.write_bytes(data)


@app.command(name="list")
def list_(file: Place, wide: Wide = False, as_json: Json = False) -> None:
    """List the files of the volume, and all else of it that a task can work on."""
    with open_or_connect(file, read_only=True) as drive:
        found = [each for each in drive.volume.objects() if each.kind in ("file", "table", "array")]
    columns = [Column("name", "Name", str), Column("kind", "Kind", str), Column("bytes", "Size", size)]
    rows: list[dict[str, Value]] = [
        {"name": each.name, "kind": each.kind, "bytes": int(each.size)} for each in found
    ]
    emit(Result(f"{file}: files", {}, {"files": Table(columns, rows)}), as_json=as_json, wide=wide)


@app.command()
def remove(file: Place, name: Name) -> None:
    """Remove a file of the volume."""
    with open_or_connect(file, read_only=False) as drive:
        _check(drive, name)
        del drive.volume[name]


def _check(drive: Drive, name: str) -> None:
    if name not in drive.volume:
        held = ", ".join(drive.volume) or "none"
        raise NotFoundError(f"the volume has no file {name!r}; it has {held}")
