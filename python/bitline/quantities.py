"""Kinds of figures: the unit of their plain numbers, units that an axis can have, how a table shows them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bitline.display.formats import Format, duration, energy, percent, plain, rate, size


@dataclass(frozen=True)
class Quantity:
    """One kind of figure."""

    scales: tuple[tuple[float, str], ...]
    """Units of an axis with their size in the plain unit, ascending; the first also for what is smaller."""
    show: Format
    """How a single value is written."""

    @property
    def unit(self) -> str:
        """The unit of the plain numbers; none for numbers of things, and shares are of 1."""
        return next((unit for factor, unit in self.scales if factor == 1), "")

    def scale(self, values: Iterable[float]) -> tuple[float, str]:
        """The factor and the name of the unit that suits these values on one axis."""
        largest = max((abs(value) for value in values), default=0.0)
        fitting = [scale for scale in self.scales if scale[0] <= largest]
        return fitting[-1] if fitting else self.scales[0]


def _steps(step: float, units: Sequence[str]) -> tuple[tuple[float, str], ...]:
    return tuple((step**power, unit) for power, unit in enumerate(units))


TIME = Quantity(_steps(1000, ("ns", "µs", "ms", "s")), duration)
"""Nanoseconds."""
ENERGY = Quantity(_steps(1000, ("pJ", "nJ", "µJ", "mJ", "J")), energy)
"""Picojoules."""
BYTES = Quantity(_steps(1024, ("B", "KiB", "MiB", "GiB", "TiB")), size)
"""Bytes."""
REQUESTS = Quantity(_steps(1000, ("IOPS", "k IOPS", "M IOPS")), rate)
"""Requests a second."""
QUERIES = Quantity(_steps(1000, ("queries/s", "k queries/s", "M queries/s")), rate)
"""Queries a second."""
BANDWIDTH = Quantity(_steps(1000, ("MB/s", "GB/s", "TB/s")), rate)
"""Megabytes (10^6 bytes) a second."""
SHARE = Quantity(((0.01, "%"),), percent)
"""Shares, 0 to 1."""
PERCENT = Quantity(((1, "%"),), plain)
"""Percent."""
COUNT = Quantity(((1, ""), (1e4, "thousands"), (1e7, "millions"), (1e10, "billions")), plain)
"""Numbers of things."""
RATIO = Quantity(((1, ""),), plain)
"""Factors and other plain numbers."""
MICROSECONDS = Quantity(((1, "µs"),), plain)
MILLIWATTS = Quantity(((1, "mW"), (1e3, "W")), plain)
CELSIUS = Quantity(((1, "°C"),), plain)
DAYS = Quantity(((1, "days"),), plain)

#: The quantity of a key by how it ends, the first that fits.
_BY_ENDING = (
    (r"(_|^)ns", TIME),
    (r"(_|^)us", MICROSECONDS),
    (r"(_|^)pj", ENERGY),
    (r"_bytes|^bytes", BYTES),
    (r"megabytes_per_second", BANDWIDTH),
    (r"requests_per_second", REQUESTS),
    (r"queries_per_second", QUERIES),
    (r"_percent", PERCENT),
    (r"milliwatts", MILLIWATTS),
    (r"celsius", CELSIUS),
    (r"days", DAYS),
    (r"utilization|_fraction|_share|overprovisioning|occupied", SHARE),
    (r"amplification|_mean|theta|factor|effort", RATIO),
)


def quantity_of(key: str) -> Quantity:
    """The quantity of a key, by the unit that it ends in; a number of things where it names none."""
    last = key.rpartition(".")[2]
    return next((found for ending, found in _BY_ENDING if re.search(f"({ending})$", last)), COUNT)
