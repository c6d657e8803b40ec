"""Figures 8 and 11 to 13: what Flash-Cosmos measured on its 160 chips, asked of the model of the cells."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bitline import cells
from bitline.opening import configuration
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.runs import PRESET, UNCHANGED, Changes
from bitline.repro.flash_cosmos.workloads import DAYS as OPERANDS

#: P/E cycles and retention times of Figure 8: up to the 10,000 cycles and the year that section 5.1 states.
CYCLES = (0, 1_000, 2_000, 3_000, 5_000, 10_000)
DAYS = (0, 7, 30, 90, 180, 365)

#: Efforts of Figure 11: tESP in tPROG.
EFFORTS = tuple(round(1 + 0.1 * step, 1) for step in range(11))
#: Numbers of wordlines and blocks of Figures 12 and 13.
WORDLINES = (1, 2, 4, 8, 16, 24, 32, 40, 48)
BLOCKS = (1, 2, 4, 8, 16, 24, 32)

#: A program of 5 ms (footnote 10).
_SLOW_NS = 5_000_000

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


def error_rates(changed: Changes = UNCHANGED) -> Chart:
    """Figure 8: RBER of SLC and MLC, with and without randomization, over cycles and retention."""
    config = configuration(PRESET, settings=changed)
    modes: tuple[cells.Mode, ...] = ("slc", "mlc")
    rates = {
        (mode, randomized): [
            cells.rber(mode, pe_cycles=cycles, retention_days=days, randomized=randomized, config=config)
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
        "bmi_right_at_mlc_min": 1 - cells.wrong_results(min(mlc), OPERANDS[36]),
    }
    marks = (
        Mark("figure08.mlc_min", lambda rate: (CYCLES[0], rate)),
        Mark("figure08.mlc_max", lambda rate: (CYCLES[-1], rate)),
    )
    keyed, label = _keyed("08", measured), "Raw bit error rate"
    note = "published: the least rate of MLC and the largest, without randomization"
    return Chart("Raw bit error rates", "P/E cycles", label, lines, keyed, log=True, marks=marks, note=note)


def effort(changed: Changes = UNCHANGED) -> Chart:
    """Figure 11: RBER over the effort of ESP under the worst conditions of section 5.1."""
    config = configuration(PRESET, settings=changed)
    slow = configuration(PRESET, settings={**changed, "nand.latency.program_mlc_ns": [_SLOW_NS] * 2})

    def rate(effort: float, block: cells.Block) -> float:
        return cells.rber(
            "esp",
            effort=effort,
            pe_cycles=10_000,
            retention_days=365,
            randomized=False,
            block=block,
            config=config,
        )

    blocks: tuple[cells.Block, ...] = ("worst", "median", "best")
    lines: dict[str, Line] = {
        f"{block} block": (EFFORTS, [rate(effort, block) for effort in EFFORTS]) for block in blocks
    }
    measured = {
        "median_at_160": rate(1.0, "median") / rate(1.6, "median"),
        "errors_at_190": _BITS_TESTED * rate(1.9, "worst"),
        "rber_at_190": rate(1.9, "worst"),
        "mlc_in_5_ms": cells.rber(
            "mlc", pe_cycles=10_000, retention_days=365, randomized=False, block="best", config=slow
        ),
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


def intra_block(changed: Changes = UNCHANGED) -> Chart:
    """Figure 12: latency of a sense over the wordlines of a block."""
    config = configuration(PRESET, settings=changed)
    times = {count: cells.sense_time(wordlines=count, config=config) for count in WORDLINES}
    measured = _keyed("12", {f"at_{count}": times[count] for count in (1, 8, 48)})
    lines: dict[str, Line] = {"ours": (WORDLINES, list(times.values()))}
    marks = published_ratios("12", (1, 8, 48), at_most=8)
    title = "Latency of a sense of several wordlines (intra-block MWS)"
    return Chart(title, "Wordlines", "tMWS / tR", lines, measured, marks=marks)


def inter_block(changed: Changes = UNCHANGED) -> Chart:
    """Figure 13: latency of a sense of all wordlines over the blocks."""
    config = configuration(PRESET, settings=changed)

    def whole(blocks: int) -> float:
        return cells.sense_time(wordlines=max(WORDLINES), blocks=blocks, config=config)

    times = {count: whole(count) for count in BLOCKS}
    numbers = {f"at_{count}": times[count] for count in (4, 32)}
    alone = times[1]
    hidden = (count for count in range(1, max(BLOCKS)) if whole(count + 1) > alone)
    numbers["hidden_blocks"] = float(next(hidden, max(BLOCKS)))
    lines: dict[str, Line] = {"ours": (BLOCKS, list(times.values()))}
    title = "Latency of a sense of several blocks (inter-block MWS)"
    marks = published_ratios("13", (4, 32), at_most=4)
    return Chart(title, "Blocks", "tMWS / tR", lines, _keyed("13", numbers), marks=marks)


def published_ratios(figure: str, places: Sequence[int], at_most: int | None = None) -> tuple[Mark, ...]:
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
