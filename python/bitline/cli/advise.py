"""`bitline advise`: groups and inversions for expressions that will be asked so and so often."""

import re
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline.cli.options import Config, Json, Preset, Set, Wide, settings
from bitline.cli.output import emit
from bitline.display.advice import summary
from bitline.errors import UsageError
from bitline.symbols import Formula, parse

#: What looks like the name of a file.
_FILE = re.compile(r"[\w./-]*[./][\w./-]*")

Asked = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|EXPR...",
        help="Expressions such as 'a & (b | ~c)', each alone or as 'EXPR @ TIMES' where it is asked often; "
        "or a file with one of these a line, where # begins a comment.",
        show_default=False,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="NAMES", help="Vectors that share a group now, as a,b,c; may be repeated."
    ),
]
Inverse = Annotated[
    str | None,
    typer.Option("--inverse", metavar="NAMES", help="Vectors that are stored inverted now, as a,b,c."),
]


def advise(
    expressions: Asked,
    group: Groups = None,
    inverse: Inverse = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Propose which vectors to put into one group and which to store inverted.

    Shows for each expression the senses it takes for a page, as vectors are placed now (all in one group,
    unless told otherwise) and as proposed.
    """
    asked = _lines(expressions)
    advice = bitline.advise(
        asked,
        groups=[_names(names) for names in group or []],
        inverse=_names(inverse or ""),
        preset=preset,
        config=config,
        set=settings(set_),
    )
    emit(summary(advice), as_json=as_json, wide=wide)


def _lines(arguments: list[str]) -> list[tuple[Formula, float]]:
    """The expressions themselves, or those of the one file named."""
    file = Path(arguments[0])
    if len(arguments) != 1 or not file.is_file():
        if len(arguments) == 1 and _FILE.fullmatch(arguments[0]):
            raise UsageError(f"{file}: this is no expression, and there is no such file")
        return [_asked(argument) for argument in arguments]
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: this is no text: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        try:
            found += [_asked(words)] if words else []
        except UsageError as error:
            raise UsageError(f"{file}, line {number}: {error}") from None
    if not found:
        raise UsageError(f"{file}: there is no expression in it")
    return found


def _asked(line: str) -> tuple[Formula, float]:
    """An expression and how often it is asked."""
    expression, at, times = line.rpartition("@")
    if not at:
        return parse(line), 1
    try:
        return parse(expression.strip()), float(times)
    except ValueError:
        raise UsageError(f"{line!r}: {times.strip()!r} is no number; expected EXPR @ TIMES") from None


def _names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
