"""Quantities with units: simulated durations, energies and sizes. They are exact, compare and add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, overload

#: The most characters, and bits of a number, that an error message repeats.
_QUOTED_MAX = 120
_QUOTED_BITS_MAX = 256


def quoted(value: object) -> str:
    """A value of the user's as error messages repeat it: of a long one the beginning, and how long it is."""
    if isinstance(value, int) and value.bit_length() > _QUOTED_BITS_MAX:
        # Not written out: that takes time with the square of the length, and Python refuses it.
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} or more"
    text = str(value)
    if len(text) <= _QUOTED_MAX:
        return text
    return f"{text[:_QUOTED_MAX]}... ({len(text):,} characters)"


def counted(count: int, thing: str) -> str:
    """A number of things, in the singular or plural: 1 sense, 2 senses."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def scaled(amount: float, step: float, units: Sequence[str]) -> str:
    """An amount in the first unit, in the one that fits: `scaled(1500, 1000, ("ns", "µs"))` is 1.50 µs."""
    value, unit = float(amount), 0
    # 999.95 would round to 1000 of a unit; it is 1 of the next.
    while abs(value) >= step * 0.99995 and unit < len(units) - 1:
        value, unit = value / step, unit + 1
    if unit == 0 and isinstance(amount, int):
        # As an int: a size would show its unit itself.
        return f"{int(amount)} {units[0]}"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f} {units[unit]}"


@dataclass(frozen=True, order=True, slots=True)
class Duration:
    """A span of simulated time, or an instant as the time since the drive was first powered up."""

    ps: int
    """Picoseconds."""

    @classmethod
    def from_ns(cls, ns: float) -> Self:
        """The duration of so many nanoseconds, to the nearest picosecond."""
        return cls(round(ns * 1000))

    @property
    def ns(self) -> float:
        """Nanoseconds."""
        return self.ps / 1e3

    @property
    def us(self) -> float:
        """Microseconds."""
        return self.ps / 1e6

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return self.ps / 1e9

    @property
    def s(self) -> float:
        """Seconds."""
        return self.ps / 1e12

    def __add__(self, other: "Duration") -> "Duration":
        return Duration(self.ps + other.ps) if isinstance(other, Duration) else NotImplemented

    def __radd__(self, other: object) -> "Duration":
        # `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def __mul__(self, factor: float) -> "Duration":
        return Duration(round(self.ps * factor)) if isinstance(factor, int | float) else NotImplemented

    __rmul__ = __mul__

    def __sub__(self, other: "Duration") -> "Duration":
        return Duration(self.ps - other.ps) if isinstance(other, Duration) else NotImplemented

    @overload
    def __truediv__(self, other: "Duration") -> float: ...

    @overload
    def __truediv__(self, other: float) -> "Duration": ...

    def __truediv__(self, other: "Duration | float") -> "Duration | float":
        if isinstance(other, Duration):
            return self.ps / other.ps
        return Duration(round(self.ps / other)) if isinstance(other, int | float) else NotImplemented

    def __str__(self) -> str:
        return scaled(self.ns, 1000, ("ns", "µs", "ms", "s"))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        return f"<Duration {self}>"


@dataclass(frozen=True, order=True, slots=True)
class Energy:
    """An amount of energy."""

    pj: int
    """Picojoules."""

    @property
    def nj(self) -> float:
        """Nanojoules."""
        return self.pj / 1e3

    @property
    def uj(self) -> float:
        """Microjoules."""
        return self.pj / 1e6

    @property
    def mj(self) -> float:
        """Millijoules."""
        return self.pj / 1e9

    @property
    def j(self) -> float:
        """Joules."""
        return self.pj / 1e12

    def __add__(self, other: "Energy") -> "Energy":
        return Energy(self.pj + other.pj) if isinstance(other, Energy) else NotImplemented

    def __radd__(self, other: object) -> "Energy":
        # `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def __mul__(self, factor: float) -> "Energy":
        return Energy(round(self.pj * factor)) if isinstance(factor, int | float) else NotImplemented

    __rmul__ = __mul__

    def __sub__(self, other: "Energy") -> "Energy":
        return Energy(self.pj - other.pj) if isinstance(other, Energy) else NotImplemented

    @overload
    def __truediv__(self, other: "Energy") -> float: ...

    @overload
    def __truediv__(self, other: float) -> "Energy": ...

    def __truediv__(self, other: "Energy | float") -> "Energy | float":
        if isinstance(other, Energy):
            return self.pj / other.pj
        return Energy(round(self.pj / other)) if isinstance(other, int | float) else NotImplemented

    def __str__(self) -> str:
        return scaled(self.pj, 1000, ("pJ", "nJ", "µJ", "mJ", "J"))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __repr__(self) -> str:
        return f"<Energy {self}>"


class Size(int):
    """A number of bytes: an int that shows its unit."""

    def __str__(self) -> str:
        return scaled(int(self), 1024, ("B", "KiB", "MiB", "GiB", "TiB"))

    def __repr__(self) -> str:
        return f"<Size {self}>"
