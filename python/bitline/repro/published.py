"""What papers say they measured: numbers to compare with, used for nothing else."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from bitline.errors import ConfigError

Bound: TypeAlias = Literal["", "at_most", "at_least", "above", "below"]
"""What the paper says of a number: the number itself, or where the measured one has to lie."""

#: What is above or below by less is equal: times are whole picoseconds.
_DISTINCT = 1e-4

#: The keys of an entry.
_KEYS = frozenset({"key", "quantity", "value", "unit", "source", "tolerance", "bound", "gain", "note"})


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
    """Deviations up to this share are within the aim; 0 of a bound and of what is true or not."""
    bound: Bound
    """Whether the paper gives a bound instead of a number: what keeps to it is no deviation."""
    gain: bool
    """Whether what the paper states is how far the number is from 1: deviation and tolerance are shares of
    that. Of 1.28 with a tolerance of 0.15, that is 0.28, 1.238 to 1.322 are within the aim."""
    note: str
    """What explains a larger deviation, with evidence."""

    @property
    def aim(self) -> str:
        """What is within the aim, in words."""
        if self.bound:
            return self.bound.replace("_", " ")
        if not self.tolerance:
            return "as stated"
        return f"{100 * self.tolerance:.3g} %" + (f" of {100 * (self.value - 1):.3g} %" if self.gain else "")

    def deviation(self, measured: float) -> float:
        """How far a measured number is from this one, as a share of what is stated."""
        if self.gain:
            return (measured - 1) / (self.value - 1) - 1
        return measured / self.value - 1

    def within(self, measured: float) -> bool:
        """Whether a measured number is within the aim."""
        kept = {
            "": False,
            "at_most": measured <= self.value,
            "at_least": measured >= self.value,
            "above": measured > self.value * (1 + _DISTINCT),
            "below": measured < self.value * (1 - _DISTINCT),
        }
        if kept[self.bound]:
            return True
        if self.bound in ("above", "below"):
            return False
        # Rounding of the binary fractions is no deviation.
        return abs(self.deviation(measured)) <= self.tolerance + 1e-9


def published(folder: Path) -> list[Published]:
    """All published numbers of a paper, by figure.

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
            unknown = sorted(entry.keys() - _KEYS)
            if unknown:
                raise ValueError(
                    f"{entry.get('key')} has {', '.join(unknown)}; there are {', '.join(sorted(_KEYS))}"
                )
            bound = entry.get("bound", "")
            if bound not in get_args(Bound):
                raise ValueError(
                    f"{entry['key']}: bound is {bound!r}; it must be one of {get_args(Bound)[1:]}"
                )
            yield Published(
                figure=file.parent.name,
                key=entry["key"],
                quantity=entry["quantity"],
                value=float(entry["value"]),
                unit=entry.get("unit", ""),
                source=entry["source"],
                tolerance=float(entry["tolerance"]),
                bound=bound,
                gain=bool(entry.get("gain", False)),
                note=" ".join(entry.get("note", "").split()),
            )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: no list of published numbers: {error}") from error
