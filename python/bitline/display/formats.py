"""Values as people read them: rounded, with a unit that fits."""

from collections.abc import Callable, Mapping, Sequence

from bitline.units import scaled

Value = bool | int | float | str | None | Mapping[str, "Value"]
"""What is shown: plain numbers in the unit that their key ends in (`time_ns`, `energy_pj`), and text."""
Format = Callable[[Value], str]
"""How values of a kind are written."""


def plain(value: Value) -> str:
    """The value itself; whole numbers with separators, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)


def _scaled(step: float, units: Sequence[str]) -> Format:
    def show(value: Value) -> str:
        return scaled(value, step, units) if isinstance(value, int | float) else plain(value)

    return show


#: Nanoseconds, as ns, µs, ms or s.
duration = _scaled(1000, ("ns", "µs", "ms", "s"))
#: Picojoules, as pJ to J.
energy = _scaled(1000, ("pJ", "nJ", "µJ", "mJ", "J"))
#: Bytes, as B to TiB.
size = _scaled(1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(value: Value) -> str:
    """A rate: whole from 100 on, with three significant digits below."""
    if not isinstance(value, float):
        return plain(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(value: Value) -> str:
    """A factor, such as 12.3x."""
    return f"{value:.3g}x" if isinstance(value, int | float) else plain(value)


def percent(value: Value) -> str:
    """A share of 0 to 1, such as 12.3 %."""
    return f"{value * 100:.1f} %" if isinstance(value, int | float) else plain(value)


def of(total: int) -> Format:
    """A count with its share of a total."""

    def show(value: Value) -> str:
        share = f" ({percent(value / total)})" if isinstance(value, int) and total else ""
        return plain(value) + share

    return show


def joined(value: Value) -> str:
    """Energies in picojoules by what they were spent on, those that are none left out."""
    shown = value.items() if isinstance(value, Mapping) else ()
    return ", ".join(f"{part} {energy(spent)}" for part, spent in shown if spent)
