"""`bitline advise`: groups and inversions for expressions that will be asked so and so often."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

import bitline
from bitline import formula
from bitline.bits import BITS_MAX
from bitline.cli.options import Config, Json, Preset, Set, Wide, settings
from bitline.cli.output import Result, emit
from bitline.cli.stored import StoredVectors, refuse_with_image
from bitline.display.advice import summary
from bitline.errors import UsageError
from bitline.symbols import parse

T = TypeVar("T")

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


Bits = Annotated[
    int | None,
    typer.Option(
        "--bits", metavar="COUNT", help="Length of the vectors [a page of every plane].", min=1, max=BITS_MAX
    ),
]
ImagePath = Annotated[
    Path | None,
    typer.Option(
        "--image",
        metavar="FILE",
        help="Vectors of an image, named as GROUP:VECTOR; instead of --group, --inverse and --bits.",
    ),
]
Apply = Annotated[bool, typer.Option("--apply", help="Follow the advice: place the vectors of the image so.")]


def advise(
    expressions: Asked,
    group: Groups = None,
    inverse: Inverse = None,
    bits: Bits = None,
    image: ImagePath = None,
    apply: Apply = False,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Propose which vectors to put into one group and which to store inverted.

    Shows for each expression the senses it takes for a page, and the time of counting its result, as vectors
    are placed now and as proposed. Vectors of an image are where they are; others are all in one group,
    unless told otherwise.
    """
    if image is not None:
        drives = {"--preset": preset, "--config": config, "--set": set_}
        refuse_with_image({"--group": group, "--inverse": inverse, "--bits": bits, **drives})
        return emit(_of_image(expressions, image, apply=apply), as_json=as_json, wide=wide)
    if apply:
        raise UsageError("--apply: give the --image whose vectors are to be placed so")
    advice = bitline.advise(
        _lines(expressions, parse),
        groups=[_names(names) for names in group or []],
        inverse=_names(inverse or ""),
        bits=bits,
        preset=preset,
        config=config,
        set=settings(set_),
    )
    return emit(summary(advice), as_json=as_json, wide=wide)


def _of_image(expressions: list[str], image: Path, *, apply: bool) -> Result:
    """Advice on vectors of an image, and what following it took."""
    with bitline.open(path=image, create=False, read_only=not apply) as drive:
        stored = StoredVectors(drive, image)
        advice = bitline.advise(_lines(expressions, lambda text: formula.parse(text, stored)))
        if not apply:
            return summary(advice)
        begin = drive.now
        applied = advice.apply()
        return summary(advice, (applied, drive.now - begin))


def _lines(arguments: list[str], read: Callable[[str], T]) -> list[tuple[T, float]]:
    """The expressions themselves, or those of the one file named."""
    file = Path(arguments[0])
    if len(arguments) != 1 or not file.is_file():
        if len(arguments) == 1 and _FILE.fullmatch(arguments[0]):
            raise UsageError(f"{file}: this is no expression, and there is no such file")
        return [_asked(argument, read) for argument in arguments]
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: this is no text: {error}") from None
    found: list[tuple[T, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        try:
            found += [_asked(words, read)] if words else []
        except UsageError as error:
            raise UsageError(f"{file}, line {number}: {error}") from None
    if not found:
        raise UsageError(f"{file}: there is no expression in it")
    return found


def _asked(line: str, read: Callable[[str], T]) -> tuple[T, float]:
    """An expression and how often it is asked."""
    expression, at, times = line.rpartition("@")
    if not at:
        return read(line), 1
    try:
        often = float(times)
    except ValueError:
        raise UsageError(f"{line!r}: {times.strip()!r} is no number; expected EXPR @ TIMES") from None
    return read(expression.strip()), often


def _names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
