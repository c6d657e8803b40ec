"""What all workloads ask of a drive: capacity, movement and activations (8.4, Figures 18 and 19)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bitline.repro.anvil import graphs, olap, oltp
from bitline.repro.anvil.drives import ROW_NAMES, Cost

#: Bits of a name that a block takes (Table 1): pairs of its wordlines but one.
NATIVE_BITS: Mapping[str, int] = {"SSD-A": 97, "SSD-B": 47}
#: Blocks of a drive: channels, dies, planes and blocks of Table 1.
BLOCKS: Mapping[str, int] = {"SSD-A": 8 * 8 * 2 * 2048, "SSD-B": 4 * 4 * 2 * 2048}
#: Bytes of the link table here: of each region; of each row, the first page of its values, and of each block.
_REGION_BYTES, _PAGE_BYTES, _BLOCK_BYTES = 40, 4, 4


@dataclass(frozen=True)
class Capacity:
    """What the names of a workload take on a drive."""

    workload: str
    """Which."""
    drive: str
    """Which."""
    blocks: int
    """Blocks of names."""
    share: float
    """Of all blocks of the drive."""
    link_table_bytes: int
    """Where rows and values are."""
    unused: float
    """Share of the cells in these blocks that hold no part of a name."""


@dataclass(frozen=True)
class Moved:
    """What a workload takes on a drive, beside the way that the host has."""

    workload: str
    """Which."""
    drive: str
    """Which."""
    anvil: Cost
    """With lookups."""
    baseline: Cost
    """Without."""

    @property
    def flash(self) -> float:
        """Share of the data from flash to firmware that is left, without what channel controllers drop."""
        return self.anvil.moved_bytes / self.baseline.moved_bytes

    @property
    def channels(self) -> float:
        """Share of the data on the channels."""
        return self.anvil.channel_bytes / self.baseline.channel_bytes

    @property
    def link(self) -> float:
        """Share of the data on the link."""
        return self.anvil.link_bytes / self.baseline.link_bytes

    @property
    def activations(self) -> float:
        """Share of the blocks activated."""
        return self.anvil.activations / self.baseline.activations


def blocks(drive: str, rows: int, name_bits: int) -> int:
    """Blocks that so many rows of names take."""
    return rows * -(-name_bits // NATIVE_BITS[drive])


def capacities(kron: tuple[str, int, int, int]) -> Iterator[Capacity]:
    """The three workloads of 8.4 on both drives; of a graph its name, edges, rows and regions."""
    graph, edges, graph_rows, regions = kron
    customers = oltp.WAREHOUSES * oltp.DISTRICTS * oltp.CUSTOMERS
    workloads = (
        ("TPC-C", customers, -(-customers // ROW_NAMES), 1, oltp.NAME_BITS),
        ("TPC-H", olap.RECORDS, olap.rows(), 1, olap.NAME_BITS),
        (graph, edges, graph_rows, regions, graphs.NAME_BITS),
    )
    for drive in NATIVE_BITS:
        for workload, names, rows, tables, bits in workloads:
            count = blocks(drive, rows, bits)
            table = tables * _REGION_BYTES + rows * _PAGE_BYTES + count * _BLOCK_BYTES
            # A bit of each name says whether its entry is there.
            cells = count * (NATIVE_BITS[drive] + 1) * ROW_NAMES
            unused = 1 - names * (bits + 1) / cells
            yield Capacity(workload, drive, count, count / BLOCKS[drive], table, unused)


def moved(
    customers: Sequence[oltp.Transactions],
    units: Sequence[olap.Units],
    traversals: Sequence[graphs.Traversal],
) -> list[Moved]:
    """All workloads on both drives: TPC-H at the selectivity and locality that the paper's database has."""
    found = [Moved("TPC-C", one.drive, one.lookup, one.baseline) for one in customers]
    for unit in units:
        points = [unit.point(query, *olap.DEFAULT) for query in (1, 2)]
        found += [Moved(f"TPC-H Q{one.query}", one.drive, one.lookup, one.scan) for one in points]
    found += [
        Moved(one.graph, one.drive, one.costs["ANVIL-O"], one.costs["OOM"])
        for one in traversals
        if one.drive in NATIVE_BITS
    ]
    return found


def is_database(one: Moved) -> bool:
    """Whether a workload is a database's."""
    return one.workload.startswith("TPC")
