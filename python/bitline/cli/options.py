"""Options that several subcommands share, and how `--set` reads a value."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline import toml_text
from bitline.errors import UsageError
from bitline.opening import Setting

DEFAULT_PRESET = "flash-cosmos"
"""The drive when nothing else is asked for."""


def preset_names(incomplete: str) -> list[tuple[str, str]]:
    """Presets that begin so, with what they are: for completion in the shell."""
    return [(name, what) for name, what in bitline.presets().items() if name.startswith(incomplete)]


Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=f"A drive from the list of `bitline presets` [{DEFAULT_PRESET}].",
        autocompletion=preset_names,
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
Image = Annotated[Path, typer.Argument(metavar="FILE", help="The image file.", show_default=False)]
Place = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The image file, or where a drive is served: nvme+tcp://HOST[:PORT][/NQN].",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Wide = Annotated[
    bool, typer.Option("--wide", help="Show all columns of tables, however wide the terminal is.")
]


def in_range(option: str, value: float, least: float, most: float) -> None:
    """Refuse a number outside of a range, and what is no number at all.

    Raises:
        UsageError: It is outside, infinite or NaN.
    """
    if not least <= value <= most:
        raise UsageError(f"{option} is {_words(value)}; it must be from {_words(least)} to {_words(most)}")


def _words(number: float) -> str:
    """A whole number in full, another as short as it goes."""
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def destination(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done for it.

    Raises:
        UsageError: It is no file, or where it would be is no folder, or either may not be written.
    """
    wrong = _wrong_with(path)
    if wrong:
        raise UsageError(f"{option} {path}: {wrong}")


def distinct(*files: tuple[str, Path | None]) -> None:
    """Refuse two names for one file, before it is read and overwritten; each comes with its option.

    Raises:
        UsageError: Two are the same.
    """
    seen: dict[Path, str] = {}
    for option, path in files:
        if path is not None:
            other = seen.setdefault(path.resolve(), option)
            if other != option:
                raise UsageError(f"{option} {path}: this is the file of {other}, too")


def _wrong_with(path: Path) -> str | None:
    folder = path.parent
    if not path.name:
        return "this names no file"
    if path.exists() and not path.is_file():
        return "this is a folder" if path.is_dir() else "this is no regular file"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    is_new = not path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        return f"this may not be written: {error.strerror}"
    if is_new:
        path.unlink()
    return None


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
        parsed = toml_text.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return value
    # A value with line breaks could smuggle in further keys; then it is only text.
    literal = parsed.get("value") if len(parsed) == 1 else value
    return literal if isinstance(literal, bool | int | float | str | list) else value
