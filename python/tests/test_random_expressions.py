"""A hundred thousand random expressions over random placements, bit by bit against NumPy."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_, xor

import numpy as np
import pytest
from conftest import SMALL
from numpy.random import Generator
from numpy.typing import NDArray

import bitline
from bitline import BitExpression, Drive

#: Each of them another drive and placement; all together a hundred thousand expressions.
SEEDS = range(50)
EXPRESSIONS = 2000
#: Up to here an expression may become part of another.
OPERANDS = 10
DEPTH = 8

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


def _place(drive: Drive, random: Generator) -> list[tuple[BitExpression, Packed]]:
    """Three to sixteen vectors in one to six groups, each plain or inverted."""
    bits = int(random.choice([1, 100, 4096, 5000]))
    groups = int(random.integers(1, 7))
    often_inverted = random.random()
    placed: list[tuple[BitExpression, Packed]] = []
    for _ in range(random.integers(3, 17)):
        rows = random.random(bits) < random.random()
        inverse = bool(random.random() < often_inverted)
        (vector,) = drive.group(f"group {random.integers(groups)}").write([rows], inverse=inverse)
        placed.append((vector, np.packbits(rows, bitorder="little")))
    return placed


#: Operators in the drive and in NumPy.
OPERATORS: list[tuple[Callable[..., BitExpression], Callable[[tuple[Packed, ...]], Packed]]] = [
    (lambda *operands: reduce(and_, operands), np.bitwise_and.reduce),
    (lambda *operands: reduce(or_, operands), np.bitwise_or.reduce),
    (lambda *operands: reduce(xor, operands), np.bitwise_xor.reduce),
    (bitline.nand, lambda operands: ~np.bitwise_and.reduce(operands)),
    (bitline.nor, lambda operands: ~np.bitwise_or.reduce(operands)),
    (bitline.xnor, lambda operands: ~np.bitwise_xor.reduce(operands)),
    (lambda first, *_: ~first, lambda operands: ~operands[0]),
]


def _expressions(
    random: Generator, placed: list[tuple[BitExpression, Packed]]
) -> Iterator[tuple[BitExpression, Packed]]:
    """What the drive is asked, and what NumPy says.

    Each is an operator over two to five vectors or earlier expressions, so that they share their parts.
    """
    recent: deque[tuple[BitExpression, Packed]] = deque(placed, maxlen=40)
    # Drawn ahead, since one at a time takes longer than what it is for.
    kinds = random.integers(len(OPERATORS), size=EXPRESSIONS).tolist()
    widths = random.integers(2, 6, size=EXPRESSIONS).tolist()
    chosen = random.random((EXPRESSIONS, 5)).tolist()
    fresh = (random.random(EXPRESSIONS) < 0.3).tolist()
    for number in range(EXPRESSIONS):
        known = placed if fresh[number] else recent
        parts = [known[int(choice * len(known))] for choice in chosen[number][: widths[number]]]
        ask, compute = OPERATORS[kinds[number]]
        asked, expected = zip(*parts, strict=True)
        found = ask(*asked), compute(expected)
        if found[0]._node.operand_count <= OPERANDS and found[0]._node.depth <= DEPTH:
            recent.append(found)
        yield found


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_equal_numpy(seed: int) -> None:
    random = np.random.default_rng(seed)
    with _drive(random) as drive:
        placed = _place(drive, random)
        bits = len(placed[0][0])
        # Nothing is said of the bits of the last byte that are past the end.
        mask = np.packbits(np.ones(bits, np.bool_), bitorder="little")
        for number, (asked, expected) in enumerate(_expressions(random, placed)):
            result = asked.read_packed()
            assert result == (expected & mask).tobytes(), f"seed {seed}, {number}: {asked.explain()}"
