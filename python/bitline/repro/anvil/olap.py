"""TPC-H: scans of LINEITEM on the host, and lookups of what matches on the drive (Figure 14).

At scale factor 100 the names of LINEITEM are 4,578 rows. Time is made of unit costs, each measured by
commands on the drive: searches of up to two waves of rows (a wave is one in every plane), and the values of
some thousand matches at each locality. A lookup goes on where the host's buffer was full, as those of the
host library do; each command after the first searches anew the two waves that were under way.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitline.repro.anvil.drives import PAGE_BYTES, ROW_NAMES, Bench, Cost, Groups, Region

#: LINEITEM at scale factor 100 (what DBGEN makes; 6,001,215 at 1 in TPC-H 4.2.5).
RECORDS = 600_037_902
#: Bytes of a record: the paper's page holds about 117 of them.
VALUE_BYTES = 140
PAGE_RECORDS = PAGE_BYTES // VALUE_BYTES
PAGES = -(-RECORDS // PAGE_RECORDS)
#: Bits of a name. The text has no length; of 98 pairs of cells 57 leave the share unused that 8.4 states,
#: which is therefore no number to compare with.
NAME_BITS = 56
NAME_BYTES = NAME_BITS // 8
#: What is swept (8.2: selectivities from 0.01 to 1 % with 0.04 %, localities from 0 to 100 %).
SELECTIVITIES = (0.0001, 0.0004, 0.001, 0.004, 0.01)
LOCALITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: What the paper's own database has.
DEFAULT = (0.0004, 0.0)

#: TPC-H's Query 6: 1994 among the days of l_shipdate, which begin with 1992-01-02; discounts of 5 to 7 %;
#: quantities below 24.
_YEAR, _DISCOUNTS, _QUANTITIES = (730, 1094), (5, 7), (0, 23)
#: Buffers of the host library: the first, how many times as long each is as the one before, the longest.
_BUFFERS = (1 << 16, 4, 4 << 20)
#: Rows of values that matches are fetched from.
_VALUE_ROWS = 8
#: Matches that are fetched of them, at each locality.
_MATCHES = 8_000


@dataclass(frozen=True)
class Point:
    """A combination of selectivity and locality, and what it takes at scale factor 100."""

    drive: str
    """Which."""
    query: int
    """1: one pattern; 2: as many as the ranges of TPC-H's Query 6 are."""
    selectivity: float
    """Share of the records that match."""
    locality: float
    """0: each on a page of its own; 1: as few pages as can be."""
    lookup: Cost
    """On the drive."""
    scan: Cost
    """On the host."""

    @property
    def speedup(self) -> float:
        """Of the drive over a scan."""
        return self.scan.ns / self.lookup.ns


@dataclass(frozen=True)
class Units:
    """What a drive's scans and lookups are made of."""

    drive: str
    """Which."""
    wave: int
    """Rows that are searched at once: one in each plane."""
    searches: tuple[tuple[int, tuple[Cost, Cost]], ...]
    """Searches of some rows, up to two waves, by each query's patterns."""
    match: tuple[Cost, ...]
    """A match at each locality, on average."""
    scan: Cost
    """A page of a scan."""

    def point(self, query: int, selectivity: float, locality: float) -> Point:
        """What a combination takes at scale factor 100."""
        matches = round(selectivity * RECORDS)
        again = 2 * self.wave * (commands(matches * VALUE_BYTES) - 1)
        search = self.search(rows() + again, query)
        # Beyond one match a page none is on a page of its own.
        pages = min(pages_of(matches, locality), PAGES) / matches
        known = [pages_of(1, one) for one in LOCALITIES]
        columns = zip(*(one.values() for one in self.match), strict=True)
        each = Cost(*(float(np.interp(pages, known[::-1], column[::-1])) for column in columns))
        return Point(self.drive, query, selectivity, locality, search + matches * each, PAGES * self.scan)

    def search(self, count: int, query: int = 1) -> Cost:
        """A search of so many rows, no values: measured, or, of more than two waves, in proportion."""
        known = [one for one, _ in self.searches]
        costs = [both[query - 1] for _, both in self.searches]
        if count > known[-1]:
            return costs[-1] + (count - known[-1]) / self.wave * (costs[-1] - costs[-2])
        columns = zip(*(cost.values() for cost in costs), strict=True)
        return Cost(*(float(np.interp(count, known, column)) for column in columns))

    def points(self) -> list[Point]:
        """The whole sweep, both queries."""
        return [
            self.point(query, selectivity, locality)
            for query in (1, 2)
            for selectivity in SELECTIVITIES
            for locality in LOCALITIES
        ]


def pages_of(matches: float, locality: float) -> float:
    """Pages of so many matches."""
    return matches * (1 - locality + locality / PAGE_RECORDS)


def commands(result_bytes: int) -> int:
    """Commands that fetch a result: each buffer is longer than the one before."""
    size, growth, most = _BUFFERS
    count = 1
    while result_bytes > size // VALUE_BYTES * VALUE_BYTES:
        result_bytes -= size // VALUE_BYTES * VALUE_BYTES
        size, count = min(size * growth, most), count + 1
    return count


def rows(records: int = RECORDS) -> int:
    """Rows of names."""
    return -(-records // ROW_NAMES)


def prefixes(first: int, last: int) -> int:
    """How many patterns, each of the first bits of numbers, are the numbers from `first` to `last`."""
    count = 0
    while first <= last:
        size = first & -first or 1 << last.bit_length()
        while first + size - 1 > last:
            size >>= 1
        first, count = first + size, count + 1
    return count


def patterns(query: int) -> int:
    """Patterns of a query: each is a sense of all rows."""
    return 1 if query == 1 else prefixes(*_YEAR) * prefixes(*_DISCOUNTS) * prefixes(*_QUANTITIES)


def _marked(seed: int) -> tuple[NDArray[np.uint8], list[int]]:
    """Names whose first byte has a bit for each locality; how many records have each bit."""
    random = np.random.default_rng(seed)
    row_pages = -(-ROW_NAMES // PAGE_RECORDS)
    pages = _VALUE_ROWS * row_pages
    # The last page of a row is not full.
    full = np.flatnonzero(np.arange(pages) % row_pages != row_pages - 1)
    bits = np.zeros((pages, PAGE_RECORDS), np.uint8)
    for number, locality in enumerate(LOCALITIES):
        order = random.permutation(full)
        dense = round(locality * _MATCHES / PAGE_RECORDS)
        bits[order[:dense]] |= np.uint8(1 << number)
        single = _MATCHES - dense * PAGE_RECORDS
        bits[order[dense : dense + single], PAGE_RECORDS // 2] |= np.uint8(1 << number)
    counts = [int((bits >> number & 1).sum()) for number in range(len(LOCALITIES))]
    entries = bits.reshape(_VALUE_ROWS, -1)[:, :ROW_NAMES].reshape(-1)
    names = np.zeros((len(entries), NAME_BYTES), np.uint8)
    names[:, 0] = entries
    return names, counts


def _asked(region: Region, query: int, value: int, mask: int) -> Groups:
    """What finds names by their first byte, with patterns that find nothing, as many as the query has."""
    rest = NAME_BYTES - 1
    groups = region.masked(bytes([value]) + bytes(rest), bytes([mask]) + b"\xff" * rest)
    for at in range(patterns(query) - 1):
        groups += region.masked(bytes([value]) + bytes([1 + at] * rest), bytes([mask]) + b"\xff" * rest)
    return groups


def measured(bench: Bench, told: Callable[[], object]) -> Units:
    """The unit costs of a drive."""
    names, counts = _marked(seed=1)
    values = bench.region(NAME_BITS, VALUE_BYTES, _VALUE_ROWS + 1)
    values.append(names)
    bench.settle()
    told()
    match = []
    for number, count in enumerate(counts):
        groups = _asked(values, 1, 1 << number, 1 << number)
        search = _counted(bench, values, groups)
        found = values.costs([groups])
        match.append((1 / count) * (found - commands(count * VALUE_BYTES) * search))
    searched = bench.region(NAME_BITS, 1, 2 * bench.table.planes + 1)
    searches: list[tuple[int, tuple[Cost, Cost]]] = []
    for count in [1 << power for power in range((2 * bench.table.planes).bit_length())]:
        for _ in range(count - (searches[-1][0] if searches else 0)):
            searched.append(np.zeros((ROW_NAMES, NAME_BYTES), np.uint8))
        bench.settle()
        searches.append((count, (_searched(bench, searched, 1), _searched(bench, searched, 2))))
        told()
    return Units(bench.name, bench.table.planes, tuple(searches), tuple(match), bench.scan())


def _searched(bench: Bench, region: Region, query: int) -> Cost:
    """A search that finds nothing."""
    return _counted(bench, region, _asked(region, query, 0xFF, 0xFF))


def _counted(bench: Bench, region: Region, groups: Groups) -> Cost:
    """A search whose matches are counted."""
    return bench.cost(lambda: region.count(groups))
