"""Options that several subcommands share, and how `--set` reads a value."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from bitline.drive import Setting
from bitline.errors import UsageError

DEFAULT_PRESET = "flash-cosmos"
"""The drive when nothing else is asked for."""

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help=f"A drive from the list of `bitline presets` [{DEFAULT_PRESET}]."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="A drive from a TOML file, instead of a preset."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one key of the drive, such as nand.geometry.channels=16; may be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def settings(pairs: list[str] | None) -> dict[str, Setting]:
    """The overrides of `--set`, in order; a value is a TOML literal, or text when it is none.

    Raises:
        UsageError: There is no `=`, or no key before it, or a key is set twice.
    """
    found: dict[str, Setting] = {}
    for pair in pairs or []:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not key or not equals:
            raise UsageError(f"--set {pair}: expected KEY=VALUE")
        if key in found:
            raise UsageError(f"--set {pair}: {key} is already set to {found[key]}")
        found[key] = _literal(value)
    return found


def _literal(value: str) -> Setting:
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value
    # A value with line breaks could smuggle in further keys; then it is only text.
    literal = parsed.get("value") if len(parsed) == 1 else value
    return literal if isinstance(literal, bool | int | float | str | list) else value
