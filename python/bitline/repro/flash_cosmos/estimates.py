"""The estimates of the drive, found by the comments beside its numbers, and what is put in their place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bitline.errors import ConfigError
from bitline.opening import Setting, configuration
from bitline.repro.flash_cosmos.runs import PRESET

Number: TypeAlias = int | float | Sequence[int | float]
"""A number, or a list of some."""

#: Factors of an estimate. Where the drive refuses one, those nearer to 1 are tried.
_LOWER = (0.5, 0.8, 0.95)
_HIGHER = (2.0, 1.25, 1.05)
#: Those of the cells were chosen together so that what the paper states of its chips comes out: none of
#: them can be far off.
_CELLS = ("nand.cells.", (0.9, 0.95), (1.1, 1.05))

#: Ranges where half and twice make no sense, and of what is read from a source in one of several ways.
RANGES: Mapping[str, tuple[Number, Number]] = {
    # The wordlines of a block take up to 34 % of a read's power (Figure 14's steps), of which a sense of all
    # of them at VREF saves most; three blocks take from what two do to what four do.
    "nand.mws.power_percent": ((66, 134, 134, 180), (100, 134, 180, 180)),
    # Above a sense of four blocks, below one of five.
    "nand.energy.erase_power_percent": (181, 203),
    # The data sheet's power of the drive includes its flash, which is counted apart: at most half of it.
    "frontend.active_milliwatts": (3_100, 6_200),
    # 20 to 50 mA at 3.3 V for a die of two planes (data sheets), for tR. Conduit's number is 57 mW a plane.
    "nand.energy.read_pj": (742_500, 1_856_250),
}


@dataclass(frozen=True)
class Estimate:
    """A number of the drive that no source states, and two that could be there."""

    key: str
    """Its key."""
    value: Number
    """What the preset has."""
    unit: str
    """Its unit; none if it has none."""
    source: str
    """What the preset says of it."""
    low: Number | None
    """Half of it, or the lower end of its range; none if the drive takes nothing that is lower."""
    high: Number | None
    """Twice as much, or the higher end."""


def estimates() -> list[Estimate]:
    """Every number of the drive whose source is an estimate, and those of `RANGES`.

    Words, switches and zeroes have no half: they are choices (`assumptions`).
    """
    return list(_found(json.loads(configuration(PRESET).keys())))


def _found(rows: Sequence[Mapping[str, object]]) -> Iterator[Estimate]:
    for row in rows:
        key, value, source = str(row["key"]), row["value"], str(row["source"] or "")
        if key not in RANGES and ("estimate" not in source or not _is_number(value)):
            continue
        number: Number = value  # type: ignore[assignment]
        lower, higher = _CELLS[1:] if key.startswith(_CELLS[0]) else (_LOWER, _HIGHER)
        low, high = RANGES.get(key) or (_scaled(key, number, lower), _scaled(key, number, higher))
        yield Estimate(key, number, str(row["unit"] or ""), source, low, high)


def _is_number(value: object) -> bool:
    """Whether it is a number, or a list of some, that has a half."""
    numbers = value if isinstance(value, list) else [value]
    return any(numbers) and all(type(one) in (int, float) for one in numbers)


def _scaled(key: str, value: Number, factors: Sequence[float]) -> Number | None:
    """The value times the first factor that the drive takes."""
    for factor in factors:
        changed = _times(value, factor)
        if changed != value and _is_taken(key, changed):
            return changed
    return None


def _times(value: Number, factor: float) -> Number:
    if isinstance(value, Sequence):
        return [_product(one, factor) for one in value]
    return _product(value, factor)


def _product(value: int | float, factor: float) -> int | float:
    """Whole numbers stay whole; others without what binary fractions add."""
    return round(value * factor) if isinstance(value, int) else float(f"{value * factor:.10g}")


def _is_taken(key: str, value: Setting) -> bool:
    try:
        configuration(PRESET, settings={key: value})
    except ConfigError:
        return False
    return True
