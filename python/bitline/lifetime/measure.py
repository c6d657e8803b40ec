"""Ages drives and counts wrong results."""

import functools
import operator
import tomllib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bitline import _bitline, cells
from bitline.drive import Drive
from bitline.errors import UsageError

#: Program and erase cycles before the vectors are programmed.
CYCLES = (0, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000)
#: Years that the vectors then lie at 30 degrees Celsius.
YEARS = (0.0, 0.25, 1.0, 2.0, 3.0, 5.0)
#: Times of their programs in SLC programs; the first is SLC itself.
EFFORTS = (1.0, 1.4, 1.6, 1.7, 1.8, 2.0)

_DAYS = 365


@dataclass(frozen=True)
class Point:
    """Results of one operation at one age."""

    mode: cells.Mode
    effort: float
    """Time of a program in SLC programs."""
    pe_cycles: int
    years: float
    operands: int
    """Vectors that were ANDed."""
    result_bits: int
    """Bits compared; 0 where the drive cannot compute on the mode."""
    wrong_bits: int
    """Of these, how many were wrong."""
    bit_error_rate: float
    """Of one vector, as the model has it, over blocks of all qualities."""

    @property
    def expected(self) -> float:
        """The share of result bits that have some wrong operand bit; no more can be wrong."""
        return cells.wrong_results(self.bit_error_rate, self.operands)


def measure(
    config: _bitline.Config, *, operands: int = 16, progress: Callable[[int], object] = lambda _: None
) -> list[Point]:
    """All points, by mode, effort, cycles and years.

    Args:
        config: The drive. Of its array one die is simulated.
        operands: Vectors of an AND, from 1 to the cells of a string.
        progress: Called with the number of drives done.

    Raises:
        UsageError: More operands than a string has, or none.
    """
    latency, geometry = (tomllib.loads(config.to_toml())["nand"][key] for key in ("latency", "geometry"))
    most = geometry["cells_per_string"]
    if not 1 <= operands <= most:
        raise UsageError(f"{operands} operands: an AND in one sense has from 1 to {most}")
    small = _bitline.Config.replaced(config, [*_SMALL, ("nand.geometry.strings_per_block", "1")])
    points: list[Point] = []
    grid = [(effort, cycles) for effort in EFFORTS for cycles in CYCLES]
    for done, (effort, cycles) in enumerate(grid, 1):
        program = ("nand.latency.program_esp_ns", str(round(effort * latency["program_slc_ns"])))
        points += _of_drive(small.replaced([program]), effort, cycles, operands)
        progress(done)
    points += [_of_model(config, cycles, years, operands) for cycles in CYCLES for years in YEARS]
    return points


#: One die, with room for the vectors.
_SMALL: list[tuple[str, str]] = [
    ("nand.geometry.channels", "1"),
    ("nand.geometry.chips_per_channel", "1"),
    ("nand.geometry.dies_per_chip", "1"),
    ("nand.geometry.blocks_per_plane", "64"),
    ("ftl.overprovisioning", "0.3"),
    ("ftl.gc.threshold_blocks", "4"),
    ("ftl.gc.hard_threshold_blocks", "2"),
    ("ftl.gc.urgent_threshold_blocks", "2"),
    ("bits.compute_blocks_percent", "40"),
    ("data.storage", '"memory"'),
]
#: Pages of a vector: so many blocks, of different quality, are computed on.
_PAGES = 16


def _of_drive(config: _bitline.Config, effort: float, cycles: int, operands: int) -> list[Point]:
    """The points of a drive whose vectors are programmed after so many cycles."""
    mode: cells.Mode = "slc" if effort == 1.0 else "esp"
    page_bits = 8 * tomllib.loads(config.to_toml())["nand"]["geometry"]["page_bytes"]
    random = np.random.default_rng(operands)  # the same bits at every age
    # As many ones as leave half of the result set.
    vectors = random.random((operands, _PAGES * page_bits), np.float32) < 0.5 ** (1 / operands)
    expected = vectors.all(axis=0)
    points = []
    with Drive(_bitline.Drive(config)) as drive:
        drive.media.grow_older(pe_cycles=cycles)
        operation = functools.reduce(operator.and_, drive.group("operands").write(vectors))
        before = 0.0
        for years in YEARS:
            drive.media.grow_older(days=_DAYS * (years - before))
            before = years
            wrong = int(np.count_nonzero(operation.read() != expected))
            rate = _rate(config, "esp", effort, cycles, years)
            points.append(Point(mode, effort, cycles, years, operands, expected.size, wrong, rate))
    return points


def _of_model(config: _bitline.Config, cycles: int, years: float, operands: int) -> Point:
    """A point of MLC, which the array cannot compute on."""
    rate = _rate(config, "mlc", None, cycles, years)
    return Point("mlc", 1.0, cycles, years, operands, 0, 0, rate)


def _rate(
    config: _bitline.Config, mode: cells.Mode, effort: float | None, cycles: int, years: float
) -> float:
    days = _DAYS * years
    return cells.rber(
        mode, effort=effort, pe_cycles=cycles, retention_days=days, randomized=False, config=config
    )
