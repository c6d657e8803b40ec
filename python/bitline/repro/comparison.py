"""Published and measured numbers beside one another, and the files that a figure becomes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bitline.errors import UsageError
from bitline.repro.published import Published

#: Tells how many of how many steps of a figure are done.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Measured:
    """A measured number that a published one can be compared with."""

    value: float
    """What is compared; of an average of ratios, the geometric mean."""
    arithmetic: float | None = None
    """The arithmetic mean of the same ratios."""


@dataclass(frozen=True)
class Comparison:
    """A published number beside the measured one."""

    published: Published
    """What the paper says."""
    measured: Measured
    """What came out."""

    @property
    def deviation(self) -> float:
        """As a share of what is published."""
        return self.published.deviation(self.measured.value)

    @property
    def within(self) -> bool:
        """Whether the deviation is within the aim."""
        return self.published.within(self.measured.value)


@dataclass(frozen=True)
class Settings:
    """How figures are made."""

    out: Path
    """The folder for their files."""
    quick: bool
    """Whether vectors are shorter than the paper's."""
    workers: int | None
    """Processes; as many as cores by default."""
    known: Sequence[Published]
    """What is published, to compare with."""
    progress: Progress
    """Told of every step."""

    def values(self) -> dict[str, float]:
        """What is published, by key."""
        return {number.key: number.value for number in self.known}


def compared(known: Sequence[Published], measured: Mapping[str, Measured]) -> Iterator[Comparison]:
    """What of the published numbers was measured."""
    for number in known:
        if number.key in measured:
            yield Comparison(number, measured[number.key])


def wanted_of(figures: Iterable[str], known: Iterable[str]) -> list[str]:
    """The figures that are asked for, each once.

    Raises:
        UsageError: There is no such figure among those `known`.
    """
    names, wanted = list(known), list(dict.fromkeys(figures))
    for name in wanted:
        if name not in names:
            raise UsageError(f"there is no figure {name}; there are {', '.join(names)}")
    return wanted


def held(wanted: Iterable[str], settings: Settings, measured: Mapping[str, Measured]) -> list[Comparison]:
    """What figures measured beside what is published of them; in `table.parquet`, too.

    Raises:
        OSError: The file cannot be written.
    """
    folders = {folder_of(name) for name in wanted}
    found = list(compared([number for number in settings.known if number.figure in folders], measured))
    keep(settings.out / "table.parquet", [row_of(comparison) for comparison in found])
    return found


def folder_of(name: str) -> str:
    """Where a figure's published numbers are."""
    if "." in name:
        return f"section-{name}"
    return f"figure-{int(name):02}" if name.isdigit() else name


def row_of(comparison: Comparison) -> dict[str, object]:
    """A comparison as a row of the table."""
    published = comparison.published
    return {
        "figure": published.figure,
        "key": published.key,
        "quantity": published.quantity,
        "published": published.value,
        "measured": comparison.measured.value,
        "unit": published.unit,
        # What keeps to a bound does not deviate.
        "deviation": None if published.bound and comparison.within else comparison.deviation,
        "tolerance": published.tolerance,
        "bound": published.bound,
        "gain": published.gain,
        "aim": published.aim,
        "within": comparison.within,
        "arithmetic_mean": comparison.measured.arithmetic,
        "note": "" if comparison.within else published.note,
        "source": published.source,
    }


def keep(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows to a Parquet file.

    Raises:
        OSError: It cannot be written.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    pq.write_table(table, path, compression="zstd")
