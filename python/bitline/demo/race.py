"""The main job on a drive: the bitmap index is written once, the predicate evaluated by each platform."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitline.bits import BitExpression
from bitline.demo.bitmaps import ATTRIBUTES
from bitline.demo.query import Answer, answer_of_rows, predicate, reference
from bitline.demo.rows import LineItems
from bitline.drive import Drive
from bitline.platforms import PLATFORMS, Platform
from bitline.statistics import Statistics
from bitline.units import Duration


@dataclass(frozen=True)
class Index:
    """The bitmap index on a drive."""

    predicate: BitExpression
    """Query 6's predicate over it."""
    bitmaps: int
    """Bitmaps written."""
    bitmap_bytes: int
    """Bytes of all bitmaps together."""
    write_time: Duration
    """Simulated time that writing them took."""


@dataclass(frozen=True)
class Entrant:
    """One platform's answer, and what the drive did for it."""

    platform: Platform
    answer: Answer
    work: Statistics


@dataclass(frozen=True)
class Race:
    """All answers."""

    index: Index
    reference: Answer
    """PyArrow's, from the rows themselves."""
    entrants: list[Entrant]
    """From the host inwards."""

    def is_correct(self, entrant: Entrant) -> bool:
        """Whether a platform's count and revenue are PyArrow's, to the last digit."""
        return entrant.answer == self.reference

    @property
    def correct(self) -> bool:
        """Whether all are."""
        return all(self.is_correct(entrant) for entrant in self.entrants)


#: How many bitmaps the index has.
BITMAPS = sum(len(attribute.values) for attribute in ATTRIBUTES)


def write_index(drive: Drive, rows: LineItems, progress: Callable[[int], object]) -> Index:
    """Write the bitmap index: a group an attribute, stored inverted, so that an OR of values is one sense.

    Args:
        drive: Where to.
        rows: What is indexed.
        progress: Called with the number of bitmaps written.
    """
    before, written = drive.now, 0
    index = {}

    def counted(bitmaps: Iterator[NDArray[np.bool_]]) -> Iterator[NDArray[np.bool_]]:
        nonlocal written
        for bitmap in bitmaps:
            yield bitmap
            written += 1
            progress(written)

    for attribute in ATTRIBUTES:
        group = drive.group(attribute.name)
        index[attribute.name] = group.write(counted(attribute.bitmaps(rows)), inverse=True)
    vectors = {name: list[BitExpression](group) for name, group in index.items()}
    return Index(predicate(vectors), written, written * -(-len(rows) // 8), drive.now - before)


def race(drive: Drive, rows: LineItems, index: Index, progress: Callable[[int], object]) -> Race:
    """Evaluate the predicate on every platform; each result crosses to the host and selects the rows.

    Args:
        drive: The drive that holds the index.
        rows: The rows that were indexed.
        index: The index.
        progress: Called with the number of platforms done.
    """
    entrants = []
    for platform in PLATFORMS:
        before = drive.statistics
        selected = index.predicate.read(platform)
        work = drive.statistics.since(before)
        entrants.append(Entrant(platform, answer_of_rows(rows, selected), work))
        progress(len(entrants))
    return Race(index, reference(rows.table()), entrants)
