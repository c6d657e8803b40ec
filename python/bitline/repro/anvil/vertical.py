"""Values stored vertically, too: what a lookup takes in an array that is all columns (Figures 3 and 4).

In-memory search (IMS) finds a match by one search, but a value of n bits then lies in n pages of a block,
which are read one after the other. *Conv* reads all names and values, *Dual* searches names and reads the one
page that has the value: the ideal that ANVIL is made after. Nothing waits for anything else.
"""

from dataclasses import dataclass

from bitline.opening import Setting
from bitline.repro.anvil.drives import PAGE_BYTES, ROW_NAMES, Bench, Cost
from bitline.repro.anvil.olap import Units

#: Bytes of names and values of Figure 3's three sizes, as the text has the first of them (20 B in all).
SIZES = ((4, 16), (4, 64), (4, 256))
#: Names and values that Figure 4 has (8.4 M tuples).
TUPLES = 8_400_000
#: Bytes of names of Figure 4, each less than SSD-A's native name size.
NAMES = (4, 8, 12)

#: A drive with nothing beside the block that is read.
_ONE_PLANE: dict[str, Setting] = {
    "nand.geometry.channels": 1,
    "nand.geometry.dies_per_chip": 1,
    "nand.geometry.planes_per_die": 1,
}


@dataclass(frozen=True)
class Parts:
    """What the three ways are made of, on one drive."""

    units: Units
    """Scans and searches."""
    read: Cost
    """A page read by itself."""
    bit: Cost
    """A page of a block, read after others of it."""

    def conventional(self, tuples: float, tuple_bytes: int) -> float:
        """Nanoseconds to read all tuples."""
        return tuples * tuple_bytes / PAGE_BYTES * self.units.scan.ns

    def vertical(self, tuples: float, value_bytes: int) -> float:
        """Nanoseconds of a search and of the reads of a value's bits."""
        return self._search(tuples) + 8 * value_bytes * self.bit.ns

    def dual(self, tuples: float) -> float:
        """Nanoseconds of a search and of the read of a value's page."""
        return self._search(tuples) + self.read.ns

    def _search(self, tuples: float) -> float:
        return self.units.search(-(-int(tuples) // ROW_NAMES)).ns


def measured(bench: Bench, units: Units) -> Parts:
    """The parts, on the drive that the units are of."""
    with Bench(bench.name, _ONE_PLANE) as plane:
        return Parts(units, bench.read(), plane.pages_of_a_block())
