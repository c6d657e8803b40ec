"""Figure 14: power of senses and of an erase, measured on a drive by its energy and its arrays' time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import bitline
from bitline.bits import BitExpression
from bitline.drive import Drive
from bitline.opening import Setting
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.chips import Chart, Line, published_ratios
from bitline.repro.flash_cosmos.runs import PRESET, UNCHANGED, Changes
from bitline.statistics import Statistics

#: Numbers of blocks.
BLOCKS = (1, 2, 3, 4)

#: Vectors of all strings of a block, and bits of a page of every plane.
_STRING = 48
_BITS = 128 * 16384 * 8
_PAGE = 16384

#: Senses as long as the chips' own (Figures 12 and 13).
SETTINGS: dict[str, Setting] = {
    "data.storage": "none",
    "nand.mws.time": "measured",
    "bits.compute_blocks_percent": 40,
}


@dataclass(frozen=True)
class Operation:
    """What one plane spends on an operation of its array."""

    energy_pj: float
    """Energy."""
    time_ns: float
    """Time."""

    @property
    def milliwatts(self) -> float:
        """Power."""
        return self.energy_pj / self.time_ns


def power(changed: Changes = UNCHANGED) -> Chart:
    """Figure 14: power of a sense over the blocks, and what section 4.1 and 5.2 say of powers besides."""
    one_each = {blocks: sense(blocks, 1, changed) for blocks in BLOCKS}
    read, four = one_each[1], one_each[4]
    powers = {blocks: one.milliwatts / read.milliwatts for blocks, one in one_each.items()}
    # Figure 13, whose latency section 5.2 multiplies with, senses all wordlines of the blocks.
    saved = 1 - sense(4, _STRING, changed).energy_pj / (4 * read.energy_pj)
    measured = {
        "at_2": powers[2],
        "at_4": powers[4],
        "energy_saved_at_4": saved,
        "erase_over_4_blocks": erase(changed).milliwatts / four.milliwatts,
        "intra_block": sense(1, _STRING, changed).milliwatts / read.milliwatts,
        "drive_watts": _drive_watts(four, changed),
    }
    lines: dict[str, Line] = {"ours": (BLOCKS, list(powers.values()))}
    keyed = {f"figure14.{key}": Measured(value) for key, value in measured.items()}
    title, label = "Power of a sense of several blocks", "Power / that of a page read"
    return Chart(title, "Blocks", label, lines, keyed, marks=published_ratios("14", (2, 4)))


def sense(blocks: int, wordlines: int, changed: Changes = UNCHANGED) -> Operation:
    """One sense of so many wordlines in each of so many blocks; one of one is a page read."""
    with bitline.open(PRESET, set={**SETTINGS, **changed}) as drive:
        expression = _or_of_ands(drive, blocks, wordlines)
        spent = _since(drive, lambda: expression.stream("flash-cosmos"))
    entry = next(entry for entry in spent.energy_by if entry.component == "nand" and entry.energy.pj > 0)
    return Operation(entry.energy.pj / spent.flash.senses, _busy_ns(spent) / entry.events)


def erase(changed: Changes = UNCHANGED) -> Operation:
    """One erase of a block: those of a sanitize operation, without the pages that it programs meanwhile."""
    with bitline.open(PRESET, set={**SETTINGS, **changed}) as drive:
        page = _since(drive, lambda: _write(drive))
        wiped = _since(drive, drive.admin.sanitize)
    events = {entry.cause: entry for entry in wiped.energy_by if entry.component == "nand"}
    programs = events["program"].events * _busy_ns(page)
    found = events["erase"]
    return Operation(found.energy.pj / wiped.flash.block_erases, (_busy_ns(wiped) - programs) / found.events)


def _drive_watts(sensed: Operation, changed: Changes) -> float:
    """Power of a drive of which every plane does that while the controller, channels and link are at work."""
    with bitline.open(PRESET, set={**SETTINGS, **changed}) as drive:
        expression = _or_of_ands(drive, 4, 1)
        spent = _since(drive, lambda: expression.stream("flash-cosmos"))
    others = sum(entry.energy.pj for entry in spent.energy_by if entry.component not in ("nand", "host"))
    return (sensed.milliwatts * spent.flash.senses + others / spent.elapsed.ns) / 1e3


def _or_of_ands(drive: Drive, blocks: int, wordlines: int) -> BitExpression:
    """An OR over blocks of an AND over wordlines of each, of one page of each plane."""
    each = [drive.group(f"block {block}").place(wordlines, bits=_BITS) for block in range(blocks)]
    return reduce(or_, (reduce(and_, vectors) for vectors in each))


def _write(drive: Drive) -> None:
    drive.write(0, bytes(_PAGE))
    drive.flush()


def _since(drive: Drive, act: Callable[[], object]) -> Statistics:
    """What an act takes of a drive."""
    before = drive.statistics
    act()
    return drive.statistics.since(before)


def _busy_ns(spent: Statistics) -> float:
    """Time of all arrays."""
    return sum(spent.die_utilizations) * spent.elapsed.ns
