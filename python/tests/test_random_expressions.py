"""A hundred thousand random expressions over random placements, bit by bit against NumPy."""

from functools import reduce

import numpy as np
import pytest
from conftest import SMALL
from numpy.random import Generator
from numpy.typing import NDArray

import bitline
from bitline import BitExpression, BitVector, Drive

#: Each of them another drive and placement; all together a hundred thousand expressions.
SEEDS = range(50)
EXPRESSIONS = 2000

#: Eight bits of a vector a byte, as NumPy packs them.
Packed = NDArray[np.uint8]


def _drive(random: Generator) -> Drive:
    """One of few planes, strings shorter than most groups, and any number of blocks in a sense."""
    settings = {
        **SMALL,
        "seed": int(random.integers(1000)),
        "nand.geometry.chips_per_channel": 1,
        "nand.geometry.blocks_per_plane": 96,
        "nand.geometry.strings_per_block": int(random.integers(1, 3)),
        "nand.geometry.cells_per_string": int(random.integers(2, 9)),
        "nand.geometry.page_bytes": 512,
        "frontend.block_bytes": 512,
        "nand.mws.blocks_max": int(random.integers(1, 5)),
    }
    return bitline.open(set=settings)


def _place(drive: Drive, random: Generator) -> list[tuple[BitVector, Packed]]:
    """Three to sixteen vectors in one to six groups, each plain or inverted."""
    bits = int(random.choice([1, 100, 4096, 5000]))
    groups = int(random.integers(1, 7))
    often_inverted = random.random()
    placed = []
    for _ in range(random.integers(3, 17)):
        rows = random.random(bits) < random.random()
        inverse = bool(random.random() < often_inverted)
        (vector,) = drive.group(int(random.integers(groups))).write([rows], inverse=inverse)
        placed.append((vector, np.packbits(rows, bitorder="little")))
    return placed


class _Writer:
    """Writes random expressions: what the drive is asked, and what NumPy says."""

    def __init__(self, random: Generator, placed: list[tuple[BitVector, Packed]]) -> None:
        # Drawn ahead, since one at a time takes longer than what it is for.
        self._numbers = iter(random.random(200 * EXPRESSIONS).tolist())
        self._placed = placed

    def below(self, limit: int) -> int:
        return int(next(self._numbers) * limit)

    def expression(self, depth: int) -> tuple[BitExpression, Packed]:
        kind = self.below(9) if depth else 0
        if kind < 2:
            return self._placed[self.below(len(self._placed))]
        if kind == 2:
            asked, expected = self.expression(depth - 1)
            return ~asked, ~expected
        width = 2 + self.below(2 if depth > 2 else 4)
        asked, expected = zip(*(self.expression(depth - 1) for _ in range(width)), strict=True)
        match kind:
            case 3:
                return reduce(lambda a, b: a & b, asked), np.bitwise_and.reduce(expected)
            case 4:
                return reduce(lambda a, b: a | b, asked), np.bitwise_or.reduce(expected)
            case 5:
                return reduce(lambda a, b: a ^ b, asked), np.bitwise_xor.reduce(expected)
            case 6:
                return bitline.nand(*asked), ~np.bitwise_and.reduce(expected)
            case 7:
                return bitline.nor(*asked), ~np.bitwise_or.reduce(expected)
        return bitline.xnor(*asked), ~np.bitwise_xor.reduce(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_equal_numpy(seed: int) -> None:
    random = np.random.default_rng(seed)
    with _drive(random) as drive:
        placed = _place(drive, random)
        writer = _Writer(random, placed)
        bits = len(placed[0][0])
        # Nothing is said of the bits of the last byte that are past the end.
        mask = np.packbits(np.ones(bits, np.bool_), bitorder="little")
        for number in range(EXPRESSIONS):
            depth = writer.below(5) if writer.below(40) else 6
            asked, expected = writer.expression(depth)
            result = asked.read_packed()
            assert result == (expected & mask).tobytes(), f"seed {seed}, {number}: {asked.explain()}"
