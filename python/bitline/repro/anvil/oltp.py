"""TPC-C: customers looked up by their last names, in a hash index of the host and on the drive (Figure 13).

The CUSTOMER table of 100 warehouses, with the names that the standard gives (4.3.2.3: syllables of a number,
the first thousand customers of a district each number once, the others NURand(255, 0, 999)), and the
queries that it asks by them (2.5.1.2). The index in host memory is that of DBx1000, which the paper ran:
chains of the customers whose `custNPKey` is the same, which that of other names and districts may be, too. It
tells where customers are, not who they are: each page of a chain is read, one after the other, and looked at.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline.repro.anvil.drives import PAGE_BYTES, ROW_NAMES, Bench, Cost, Groups, Region

#: TPC-C 1.2: districts of a warehouse, customers of a district; the paper's scale factor.
DISTRICTS, CUSTOMERS, WAREHOUSES = 10, 3_000, 100
#: Bytes of a customer (TPC-C 1.3, as the tables of DBx1000 have them).
VALUE_BYTES = 703
#: Bits of a name, 12 B as in 5.1: warehouse, district, the customer's number, last name, and the beginning of
#: the first name.
NAME_BITS = 96
#: Transactions of the paper's trace; how many of them are by last name follows from TPC-C.
QUERIES = 1_000_000

#: Updates that are timed.
_UPDATES = 40
#: Syllables of last names (TPC-C 4.3.2.3).
_SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
#: What a query leaves open: the customer's number (bytes 2 and 3) and the first name.
_MASK = b"\xff\xff\0\0\xff\xff\xff" + bytes(5)

Numbers = NDArray[np.int64]


def nurand(
    random: np.random.Generator, most: int, first: int, last: int, count: int, constant: int
) -> Numbers:
    """Non-uniform numbers as TPC-C 2.1.6 defines them."""
    either = random.integers(0, most + 1, count) | random.integers(first, last + 1, count)
    return (either + constant) % (last - first + 1) + first


def index_key(last: int, warehouse: int, district: int) -> int:
    """The key of a customer in DBx1000's index by last name (its `custNPKey`)."""
    return _name_key(last) + warehouse * DISTRICTS + district


def _name_key(last: int) -> int:
    name = "".join(_SYLLABLES[last // 10**place % 10] for place in (2, 1, 0))
    key = 0
    for letter in name:
        key = (key << 2) + ord(letter) - ord("A")
    return key << 3


@dataclass(frozen=True)
class Customers:
    """The table, the index and the queries."""

    warehouses: int = WAREHOUSES
    """How many warehouses."""
    queries: int = QUERIES
    """How many lookups by last name."""
    seed: int = 2025
    """Of random numbers."""

    @property
    def count(self) -> int:
        """How many customers."""
        return self.warehouses * DISTRICTS * CUSTOMERS

    @cached_property
    def _drawn(self) -> tuple[NDArray[np.int64], Numbers, Numbers, Numbers]:
        """Last names of all customers; warehouses, districts and last names that are asked for."""
        random = np.random.default_rng(self.seed)
        constant = int(random.integers(0, 256))
        shape = (self.warehouses, DISTRICTS, CUSTOMERS)
        last = np.empty(shape, np.int64)
        last[..., :1000] = np.arange(1000)
        more = self.warehouses * DISTRICTS * (CUSTOMERS - 1000)
        last[..., 1000:] = nurand(random, 255, 0, 999, more, constant).reshape(*shape[:2], -1)
        warehouse = random.integers(0, self.warehouses, self.queries)
        district = random.integers(0, DISTRICTS, self.queries)
        return last, warehouse, district, nurand(random, 255, 0, 999, self.queries, constant)

    @cached_property
    def _chains(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct keys of the index, and how many pages the customers of each lie in."""
        last, *_ = self._drawn
        keys = np.array([_name_key(name) for name in range(1000)])[last]
        keys += np.arange(1, self.warehouses + 1)[:, None, None] * DISTRICTS
        keys += np.arange(1, DISTRICTS + 1)[None, :, None]
        pages = np.arange(self.count) // (PAGE_BYTES // VALUE_BYTES)
        # Customers of a key on the same page are read with it.
        pairs = np.unique(np.stack([keys.reshape(-1), pages], axis=1), axis=0)
        found, counts = np.unique(pairs[:, 0], return_counts=True)
        return found, counts

    @cached_property
    def pages(self) -> Numbers:
        """Pages that the host reads for each query."""
        _, warehouse, district, name = self._drawn
        keys = np.array([_name_key(last) for last in range(1000)])[name]
        keys += (warehouse + 1) * DISTRICTS + district + 1
        found, counts = self._chains
        pages: Numbers = counts[np.searchsorted(found, keys)]
        return pages

    @cached_property
    def matches(self) -> Numbers:
        """Customers that each query is about."""
        last, warehouse, district, name = self._drawn
        flat = last.reshape(-1, CUSTOMERS) + 1000 * np.arange(self.warehouses * DISTRICTS)[:, None]
        counts = np.bincount(flat.reshape(-1), minlength=1000 * self.warehouses * DISTRICTS)
        matches: Numbers = counts[(warehouse * DISTRICTS + district) * 1000 + name]
        return matches

    def names(self) -> NDArray[np.uint8]:
        """Names of all customers, and of as many that nobody asks for as fill the last row."""
        last, *_ = self._drawn
        rows = -(-self.count // ROW_NAMES)
        names = np.full((rows * ROW_NAMES, NAME_BITS // 8), 0xFF, np.uint8)
        warehouse, district, customer = np.indices(last.shape).reshape(3, -1)
        fields = [warehouse, district, customer >> 8, customer & 0xFF]
        flat = last.reshape(-1)
        fields += [flat // 100, flat // 10 % 10, flat % 10]
        for byte, field in enumerate(fields):
            names[: self.count, byte] = field
        random = np.random.default_rng(self.seed)
        names[: self.count, 7:] = random.integers(ord("a"), ord("z") + 1, (self.count, 5))
        return names

    def table(self) -> pa.Table:
        """All customers: warehouse, district, number, and the number that the last name is made of."""
        last, *_ = self._drawn
        columns = (*np.indices(last.shape).reshape(3, -1), last.reshape(-1))
        names = ("warehouse", "district", "customer", "last")
        return pa.table(
            {name: pa.array(column, pa.int32()) for name, column in zip(names, columns, strict=True)}
        )

    def asked(self, number: int) -> tuple[int, int, int]:
        """Warehouse, district and last name of one of the queries."""
        _, *asked = self._drawn
        warehouse, district, last = (int(one[number]) for one in asked)
        return warehouse, district, last

    def query(self, number: int) -> Groups:
        """What one of the queries asks the drive."""
        warehouse, district, last = self.asked(number)
        digits = bytes([last // 100, last // 10 % 10, last % 10])
        name = bytes([warehouse, district, 0, 0]) + digits + bytes(5)
        return [[(0, NAME_BITS, name, _MASK)]]


@dataclass(frozen=True)
class Transactions:
    """What the queries take on one drive."""

    drive: str
    """Which."""
    read: Cost
    """A page read."""
    lookup: Cost
    """A lookup, the mean of all queries."""
    one: Cost
    """A lookup that finds one customer."""
    by_matches: tuple[tuple[int, float], ...]
    """Time of a lookup in nanoseconds by the customers that it finds, as sampled."""
    baseline: Cost
    """The host's chain, the mean of all queries."""
    crossover: int
    """The fewest pages of a chain from which on the drive is faster."""
    beyond: float
    """Share of the queries whose chains have so many."""
    write: Cost
    """A write of a page."""
    update: Cost
    """An update of a customer on the drive."""

    @property
    def speedup(self) -> float:
        """Of all queries together."""
        return self.baseline.ns / self.lookup.ns

    def with_updates(self, share: float) -> float:
        """The speedup where so many of the queries write what they found (Figure 20)."""
        host = self.baseline.ns + share * self.write.ns
        return host / (self.lookup.ns + share * self.update.ns)

    @property
    def update_crossover(self) -> float:
        """The share of updates from which on the host is faster."""
        return (self.baseline.ns - self.lookup.ns) / (self.update.ns - self.write.ns)


def stored(bench: Bench, customers: Customers) -> Region:
    """The table on a drive."""
    region = bench.region(NAME_BITS, VALUE_BYTES, -(-customers.count // ROW_NAMES) + 1)
    region.append(customers.names())
    bench.settle()
    return region


def transactions(bench: Bench, region: Region, customers: Customers, sample: int) -> Transactions:
    """Time a sample of the queries on the drive, and weigh all of them by what these take."""
    read = bench.read()
    by: dict[int, list[Cost]] = {}
    for number in range(sample):
        by.setdefault(int(customers.matches[number]), []).append(region.costs([customers.query(number)]))
    found = sorted(by)
    means = [(1 / len(by[count])) * sum(by[count], Cost()) for count in found]
    lookups = Cost(*(_weighed(customers.matches, found, column) for column in _columns(means)))
    times = np.interp(customers.matches, found, [mean.ns for mean in means])
    crossover = next(
        pages
        for pages in range(1, int(customers.pages.max()) + 1)
        if (at := times[customers.pages == pages]).size and pages * read.ns > at.mean()
    )
    return Transactions(
        bench.name,
        read,
        lookups,
        means[0],
        tuple((count, mean.ns) for count, mean in zip(found, means, strict=True)),
        float(customers.pages.mean()) * read,
        crossover,
        float((customers.pages >= crossover).mean()),
        bench.write(),
        _update(bench, region, customers),
    )


def _update(bench: Bench, region: Region, customers: Customers) -> Cost:
    """An update, the mean of some."""
    names = customers.names()
    who = np.random.default_rng(customers.seed).integers(0, customers.count, _UPDATES)
    found = [names[at].tobytes() for at in who]
    return bench.cost(*(lambda name=name: region.update(name) for name in found))


def _columns(costs: list[Cost]) -> list[list[float]]:
    return [list(column) for column in zip(*(cost.values() for cost in costs), strict=True)]


def _weighed(matches: Numbers, found: list[int], column: list[float]) -> float:
    """The mean over all queries of what was measured for some numbers of matches."""
    return float(np.interp(matches, found, column).mean())
