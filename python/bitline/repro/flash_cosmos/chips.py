"""Figures 8 and 11 to 14: what Flash-Cosmos measured on its 160 chips, asked of the model of the cells."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bitline import cells
from bitline.repro.flash_cosmos.ratios import Measured

#: P/E cycles and retention times of Figure 8: up to the 10,000 cycles and the year that section 5.1 states.
CYCLES = (0, 1_000, 2_000, 3_000, 5_000, 10_000)
DAYS = (0, 7, 30, 90, 180, 365)

#: Efforts of Figure 11: tESP in tPROG.
EFFORTS = tuple(round(1 + 0.1 * step, 1) for step in range(11))
#: Numbers of wordlines and blocks of Figures 12 to 14.
WORDLINES = (1, 2, 4, 8, 16, 24, 32, 40, 48)
BLOCKS = (1, 2, 4, 8, 16, 24, 32)
POWERED = (1, 2, 3, 4)

#: Bits that were read without an error (5.2), and what a drive has to promise (3.2).
_BITS_TESTED = 4.83e11
_UBER = 1e-15

Line = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Mark:
    """Where a published number lies in a chart."""

    key: str
    """Which number."""
    at: Callable[[float], tuple[float, float]]
    """The place, to the right and upwards, of its value."""
    bound: bool = False
    """Whether the paper says that it is no more than that."""
    words: str = ""
    """What a bound is of, for the legend."""


@dataclass(frozen=True)
class Chart:
    """A figure: its lines by name, its axes, and the numbers that the text states of it."""

    title: str
    """What is shown."""
    x_label: str
    """To the right."""
    y_label: str
    """Upwards."""
    lines: dict[str, Line]
    """The lines."""
    measured: dict[str, Measured] = field(default_factory=dict)
    """By key."""
    log: bool = False
    """Whether it goes upwards in powers of ten."""
    marks: tuple[Mark, ...] = ()
    """What of the published numbers can be drawn in it."""
    note: str = ""
    """What a reader has to know."""


def error_rates() -> Chart:
    """Figure 8: RBER of SLC and MLC, with and without randomization, over cycles and retention."""
    modes: tuple[cells.Mode, ...] = ("slc", "mlc")
    rates = {
        (mode, randomized): [
            cells.rber(mode, pe_cycles=cycles, retention_days=days, randomized=randomized)
            for cycles in CYCLES
            for days in DAYS
        ]
        for mode in modes
        for randomized in (True, False)
    }
    lines: dict[str, Line] = {}
    for (mode, randomized), found in rates.items():
        name = f"{mode.upper()}{'' if randomized else ', not randomized'}"
        for days in (DAYS[0], DAYS[-1]):
            lines[f"{name}, {days} days"] = (CYCLES, found[DAYS.index(days) :: len(DAYS)])
    slc, mlc = rates["slc", True], rates["mlc", True]
    slc_plain, mlc_plain = rates["slc", False], rates["mlc", False]
    orders = [math.log10(rate / _UBER) for rate in slc]
    measured = {
        "slc_orders_above_uber": _mean(orders),
        "slc_without_randomization": _mean(_over(slc_plain, slc)),
        "mlc_without_randomization": _mean(_over(mlc_plain, mlc)),
        "mlc_over_slc_max": max(_over(mlc, slc)),
        "mlc_min": min(mlc),
        "mlc_max": max(mlc_plain),
    }
    marks = (
        Mark("figure08.mlc_min", lambda rate: (CYCLES[0], rate)),
        Mark("figure08.mlc_max", lambda rate: (CYCLES[-1], rate)),
    )
    keyed, label = _keyed("08", measured), "Raw bit error rate"
    note = "published: the least rate of MLC and the largest, without randomization"
    return Chart("Raw bit error rates", "P/E cycles", label, lines, keyed, log=True, marks=marks, note=note)


def effort() -> Chart:
    """Figure 11: RBER over the effort of ESP under the worst conditions of section 5.1."""

    def rate(effort: float, block: cells.Block) -> float:
        return cells.rber(
            "esp", effort=effort, pe_cycles=10_000, retention_days=365, randomized=False, block=block
        )

    blocks: tuple[cells.Block, ...] = ("worst", "median", "best")
    lines: dict[str, Line] = {
        f"{block} block": (EFFORTS, [rate(effort, block) for effort in EFFORTS]) for block in blocks
    }
    measured = {
        "median_at_160": rate(1.0, "median") / rate(1.6, "median"),
        "errors_at_190": _BITS_TESTED * rate(1.9, "worst"),
    }
    plain = rate(1.0, "median")
    marks = (
        Mark("figure11.median_at_160", lambda ratio: (1.6, plain / ratio)),
        Mark(
            "figure11.errors_at_190",
            lambda errors: (1.9, errors / _BITS_TESTED),
            bound=True,
            words="no error in 4.83·10$^{11}$ bits, worst block",
        ),
    )
    title = "Raw bit error rate over the programming effort of ESP"
    keyed, label = _keyed("11", measured), "Raw bit error rate"
    note = (
        "10,000 P/E cycles, one year, not randomized; published: a tenth of the rate at tPROG, median block"
    )
    return Chart(title, "tESP / tPROG", label, lines, keyed, log=True, marks=marks, note=note)


def intra_block() -> Chart:
    """Figure 12: latency of a sense over the wordlines of a block."""
    times = {count: cells.sense_time(wordlines=count) for count in WORDLINES}
    measured = _keyed("12", {f"at_{count}": times[count] for count in (1, 8, 48)})
    lines: dict[str, Line] = {"ours": (WORDLINES, list(times.values()))}
    marks = _marks("12", (1, 8, 48), at_most=8)
    title = "Latency of a sense of several wordlines (intra-block MWS)"
    return Chart(title, "Wordlines", "tMWS / tR", lines, measured, marks=marks)


def inter_block() -> Chart:
    """Figure 13: latency of a sense of all wordlines over the blocks."""
    times = {count: cells.sense_time(wordlines=max(WORDLINES), blocks=count) for count in BLOCKS}
    measured = _keyed("13", {f"at_{count}": times[count] for count in (4, 32)})
    lines: dict[str, Line] = {"ours": (BLOCKS, list(times.values()))}
    title = "Latency of a sense of several blocks (inter-block MWS)"
    marks = _marks("13", (4, 32), at_most=4)
    return Chart(title, "Blocks", "tMWS / tR", lines, measured, marks=marks)


def power() -> Chart:
    """Figure 14: power of a sense over the blocks."""
    powers = {count: cells.sense_power(blocks=count) for count in POWERED}
    energy = powers[4] * cells.sense_time(wordlines=max(WORDLINES), blocks=4)
    measured = {"at_2": powers[2], "at_4": powers[4], "energy_saved_at_4": 1 - energy / 4}
    lines: dict[str, Line] = {"ours": (POWERED, list(powers.values()))}
    title, label = "Power of a sense of several blocks", "Power / that of a page read"
    return Chart(title, "Blocks", label, lines, _keyed("14", measured), marks=_marks("14", (2, 4)))


def _marks(figure: str, places: Sequence[int], at_most: int | None = None) -> tuple[Mark, ...]:
    """Published ratios, each at its number of wordlines or blocks; one of them may be a bound."""

    def mark(place: int) -> Mark:
        key = f"figure{figure}.at_{place}"
        return Mark(key, lambda ratio: (place, ratio), bound=place == at_most, words="at most")

    return tuple(mark(place) for place in places)


def _over(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(above, below, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _keyed(figure: str, numbers: dict[str, float]) -> dict[str, Measured]:
    return {f"figure{figure}.{key}": Measured(value) for key, value in numbers.items()}
