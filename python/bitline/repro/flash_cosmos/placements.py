"""Sections 6.2 and 6.3: how many senses an expression takes by where its operands lie."""

from collections.abc import Callable
from functools import reduce
from operator import or_

import bitline
from bitline.bits import BitExpression
from bitline.drive import Drive
from bitline.opening import Setting
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.runs import PRESET, UNCHANGED, Changes

#: A drive of two planes, so that every block has a page of each vector.
SETTINGS: dict[str, Setting] = {
    "data.storage": "none",
    "nand.geometry.channels": 1,
    "nand.geometry.chips_per_channel": 1,
    "bits.compute_blocks_percent": 40,
}
_PLANES = 2
_BITS = _PLANES * 16384 * 8
#: Operands of section 6.3's OR.
_OPERANDS = 48


def senses(changed: Changes = UNCHANGED) -> dict[str, Measured]:
    """By key: senses of an OR of 48 pages, in blocks of their own or inverted in one, and of Figure 16."""
    found = {
        "or_of_48_blocks": _counted(_apart, changed),
        "or_of_48_inverted": _counted(_inverted, changed),
        "figure16": _counted(_example, changed),
    }
    return {f"senses.{key}": Measured(float(count)) for key, count in found.items()}


def _counted(place: Callable[[Drive], BitExpression], changed: Changes) -> int:
    with bitline.open(PRESET, set={**SETTINGS, **changed}) as drive:
        expression = place(drive)
        before = drive.statistics
        expression.stream("flash-cosmos")
        return drive.statistics.since(before).flash.senses // _PLANES


def _apart(drive: Drive) -> BitExpression:
    return reduce(or_, (drive.group(f"{n}").place(1, bits=_BITS)[0] for n in range(_OPERANDS)))


def _inverted(drive: Drive) -> BitExpression:
    return reduce(or_, drive.group("inverted").place(_OPERANDS, bits=_BITS, inverse=True))


def _example(drive: Drive) -> BitExpression:
    """Equation 4: four blocks of four pages each, those of C and D inverted."""
    blocks = {
        name: drive.group(name).place(4, bits=_BITS, inverse=name in "CD") for name in ("A", "B", "C", "D")
    }
    a, b, c, d = blocks.values()
    return (a[0] | (b[0] & b[1] & b[2] & b[3])) & (c[0] | c[2]) & (d[1] | d[3])
