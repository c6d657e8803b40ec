"""The three workloads of Flash-Cosmos, section 7, over vectors that are on the drive from the beginning."""

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import ClassVar, TypeAlias

from bitline.bits import BitExpression
from bitline.drive import Drive
from bitline.platforms import Platform

#: Days of so many months, 30 for one and 1,095 for 36 (Flash-Cosmos 8.1).
DAYS = {1: 30, 3: 91, 6: 182, 12: 365, 24: 730, 36: 1095}

#: The longest segment that a vector is cut into, in bits. Segments of several operands share strings, so that
#: 48 GB of one operand do not take a block for each four of its pages.
_SEGMENT_BITS = 24_000_000_000


@dataclass(frozen=True)
class BitmapIndex:
    """How many users were active every day of the past months: an AND over days, and a count in the host."""

    short: ClassVar[str] = "BMI"

    months: int
    """One of `DAYS`."""
    users: int = 800_000_000
    """Bits of a vector (800 million)."""

    @property
    def label(self) -> str:
        """What distinguishes it from others of its kind."""
        return f"m={self.months}"

    @property
    def operands(self) -> int:
        """Vectors that are combined."""
        return DAYS[self.months]

    @property
    def result_bits(self) -> int:
        """Bits of the result."""
        return self.users

    def place(self, drive: Drive) -> list[BitExpression]:
        """Put the vectors on the drive; what the query evaluates, one after the other."""
        days = drive.group("days").place(self.operands, bits=self.users)
        return [reduce(and_, days)]

    def run(self, query: list[BitExpression], platform: Platform) -> None:
        """Evaluate on a platform; the host counts the ones meanwhile (Flash-Cosmos 7)."""
        for expression in query:
            expression.count(platform, where="host")


@dataclass(frozen=True)
class ImageSegmentation:
    """Which pixels have which of four colours: an AND over the channels Y, U and V, sent to the host."""

    short: ClassVar[str] = "IMS"
    operands: ClassVar[int] = 3

    images: int
    """Images (10,000 to 200,000)."""
    pixels: int = 800 * 600
    """Pixels of an image."""
    colours: int = 4
    """Colours that are looked for."""

    @property
    def label(self) -> str:
        """What distinguishes it from others of its kind."""
        return f"I={self.images // 1000}k" if self.images >= 1000 else f"I={self.images}"

    @property
    def result_bits(self) -> int:
        """Bits of the result."""
        return self.images * self.pixels * self.colours

    def place(self, drive: Drive) -> list[BitExpression]:
        """Put the vectors on the drive; what the query evaluates, one after the other.

        The long vectors are cut into segments of one length. The three channels of a segment are neighbours
        in the strings of one group, so each segment is one sense.
        """
        segments = -(-self.result_bits // _SEGMENT_BITS)
        bits = -(-self.result_bits // segments)
        vectors = drive.group("yuv").place(3 * segments, bits=bits)
        return [vectors[at] & vectors[at + 1] & vectors[at + 2] for at in range(0, len(vectors), 3)]

    def run(self, query: list[BitExpression], platform: Platform) -> None:
        """Evaluate on a platform; the result goes to the host."""
        for expression in query:
            expression.stream(platform)


@dataclass(frozen=True)
class CliqueStars:
    """The star of each k-clique: an AND over its vertices' neighbours, OR the clique itself; to the host.

    The vectors of all cliques lie side by side: operand i holds the neighbours of each clique's vertex i. The
    cliques are in blocks of their own, so that Flash-Cosmos ANDs and ORs in one sense (section 7).
    """

    short: ClassVar[str] = "KCS"

    k: int
    """Vertices of a clique (8 to 64)."""
    vertices: int = 32_000_000
    """Vertices of the graph."""
    cliques: int = 1024
    """Cliques."""

    @property
    def label(self) -> str:
        """What distinguishes it from others of its kind."""
        return f"k={self.k}"

    @property
    def operands(self) -> int:
        """Vectors that are combined."""
        return self.k + 1

    @property
    def result_bits(self) -> int:
        """Bits of the result."""
        return self.vertices * self.cliques

    def place(self, drive: Drive) -> list[BitExpression]:
        """Put the vectors on the drive; what the query evaluates, one after the other."""
        neighbours = drive.group("neighbours").place(self.k, bits=self.result_bits)
        (clique,) = drive.group("cliques").place(1, bits=self.result_bits)
        return [reduce(and_, neighbours) | clique]

    def run(self, query: list[BitExpression], platform: Platform) -> None:
        """Evaluate on a platform; the result goes to the host."""
        for expression in query:
            expression.stream(platform)


Workload: TypeAlias = BitmapIndex | ImageSegmentation | CliqueStars

#: Inputs, which the paper gives as ranges: BMI's are stated; those of IMS and KCS step through theirs.
MONTHS = tuple(DAYS)
IMAGES = (10_000, 50_000, 100_000, 200_000)
CLIQUES = (8, 16, 32, 64)


def evaluated(*, quick: bool = False) -> list[Workload]:
    """All workloads and inputs of Figures 17 and 18.

    Quick ones have shorter vectors, BMI's by 16 and the others' by 128: enough to fill the drive, too little
    for its ends not to be seen in the results.
    """
    index, long = (16, 128) if quick else (1, 1)
    return [
        *(BitmapIndex(months, users=800_000_000 // index) for months in MONTHS),
        *(ImageSegmentation(images, pixels=800 * 600 // long) for images in IMAGES),
        *(CliqueStars(k, vertices=32_000_000 // long) for k in CLIQUES),
    ]
