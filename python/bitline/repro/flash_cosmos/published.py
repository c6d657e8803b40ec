"""What Flash-Cosmos says it measured: numbers to compare with, used for nothing else."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bitline.errors import ConfigError

#: Where the files are, in a checkout and in an installed package.
FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Published:
    """One published number."""

    figure: str
    """The figure, or section, that it belongs to: the name of its folder."""
    key: str
    """What it is compared with."""
    quantity: str
    """In words."""
    value: float
    """The number."""
    unit: str
    """Its unit; none for a ratio."""
    source: str
    """Where the paper says it."""
    tolerance: float
    """Deviations up to this share are within the aim."""
    at_most: bool
    """Whether the paper gives a bound: less is no deviation."""
    note: str
    """What explains a larger deviation, with evidence."""


def published(folder: Path = FOLDER) -> list[Published]:
    """All published numbers, by figure.

    Raises:
        ConfigError: There are no such files, or one is malformed.
    """
    files = sorted(folder.glob("*/published.toml"))
    if not files:
        raise ConfigError(
            f"{folder}: there are no files */published.toml here; --published names their folder"
        )
    return [number for file in files for number in _read(file)]


def _read(file: Path) -> Iterator[Published]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))["value"]
        for entry in values:
            yield Published(
                figure=file.parent.name,
                key=entry["key"],
                quantity=entry["quantity"],
                value=float(entry["value"]),
                unit=entry.get("unit", ""),
                source=entry["source"],
                tolerance=float(entry["tolerance"]),
                at_most=bool(entry.get("at_most", False)),
                note=" ".join(entry.get("note", "").split()),
            )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: no list of published numbers: {error}") from error
