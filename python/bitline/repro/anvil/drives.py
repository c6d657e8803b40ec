"""The drives of Table 1, and what single commands take on them: the unit costs of all figures.

Drives keep time and no data. Names are on flash before anything is timed: a row that is not full yet is
searched in the drive's memory, which takes another time.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

import bitline
from bitline import _bitline
from bitline.opening import Setting

#: The two drives of Table 1, by the paper's names, and SSD-B with 20 channels (8.3).
PRESETS: Mapping[str, str] = {"SSD-A": "anvil-ssd-a", "SSD-B": "anvil-ssd-b", "SSD-C": "anvil-ssd-b"}
SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "SSD-A": MappingProxyType({}),
    "SSD-B": MappingProxyType({}),
    "SSD-C": MappingProxyType({"nand.geometry.channels": 20}),
}
#: A page of flash (Table 1).
PAGE_BYTES = 16_384
#: Names of a row: bits of a page (Table 1: 128 k names).
ROW_NAMES = 8 * PAGE_BYTES

#: Bytes of records in one append.
_APPEND_BYTES = 16 << 20
#: What an idle drive may have to do before it is quiet, in commands that pass the time.
_QUIET = 8

Groups = list[list[tuple[int, int, bytes, bytes]]]


@dataclass(frozen=True)
class Cost:
    """What commands take: the mean of some, or the sum."""

    ns: float = 0.0
    """Time, from the command to its completion."""
    channel_bytes: float = 0.0
    """Data over the channels (FE-BE)."""
    link_bytes: float = 0.0
    """Data over the link, both ways (CPU-FE)."""
    activations: float = 0.0
    """Blocks activated: one for each plane that senses, for a read or a search."""
    searches: float = 0.0
    """Of these, for a search."""
    dropped_bytes: float = 0.0
    """Of the data over the channels, what their controllers drop: bursts of match vectors without a match
    (5.2), less the tags of those that they keep."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(one + two for one, two in zip(self.values(), other.values(), strict=True)))

    def __sub__(self, other: "Cost") -> "Cost":
        return self + -1.0 * other

    def __rmul__(self, factor: float) -> "Cost":
        return Cost(*(factor * one for one in self.values()))

    def values(self) -> tuple[float, ...]:
        """All of them, in order."""
        flash = (self.activations, self.searches, self.dropped_bytes)
        return (self.ns, self.channel_bytes, self.link_bytes, *flash)

    @property
    def moved_bytes(self) -> float:
        """Data from the flash to the firmware: what controllers of channels drop is left out."""
        return self.channel_bytes - self.dropped_bytes


@dataclass(frozen=True)
class Table1:
    """What Table 1 says of a drive."""

    dies: int
    """How many."""
    planes: int
    """How many: rows that are searched at once."""
    channel_bytes_per_ns: float
    """Of all channels together."""
    read_ns: float
    """A sense for a read."""
    search_ns: float
    """A sense for a search."""


class Bench:
    """A drive to time commands on. Close it, or use it in a `with` statement."""

    def __init__(self, name: str, settings: Mapping[str, Setting] = MappingProxyType({})) -> None:
        self.name = name
        """The paper's name of the drive."""
        self._drive = bitline.open(PRESETS[name], data="none", set={**SETTINGS[name], **settings})
        # drive.search needs data; on a drive without any the commands take their time nevertheless.
        self._search = _bitline.Search(self._drive._native)
        self._regions = 0
        self.rows = 0.0
        """Rows of names that were appended."""

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self._drive.close()

    def cost(self, *commands: Callable[[], object]) -> Cost:
        """What commands take, one after the other, on average."""
        before = self._counted()
        for command in commands:
            command()
        return (1 / len(commands)) * (self._counted() - before)

    def _counted(self) -> Cost:
        found = self._drive.statistics
        link = found.link_up_bytes + found.link_down_bytes
        dropped = found.search.match_vectors * PAGE_BYTES - found.search.match_vector_bytes
        flash = (found.flash.senses, found.search.senses, dropped)
        return Cost(found.now.ns, int(found.channel_bytes), int(link), *flash)

    def settle(self) -> None:
        """Wait until names of whole rows are on flash and the drive is quiet."""
        quiet = 0
        while quiet < _QUIET:
            # Reads of what was never written, for which no flash is touched.
            self._drive.read(self._drive.blocks - 1024, 1024)
            quiet += self._drive.statistics.search.rows_sealed >= int(self.rows)

    @cached_property
    def table(self) -> "Table1":
        """What the configuration says of the flash and of the channels."""
        config = tomllib.loads(self._drive.config)
        geometry, latency = config["nand"]["geometry"], config["nand"]["latency"]
        dies = math.prod(geometry[part] for part in ("channels", "chips_per_channel", "dies_per_chip"))
        return Table1(
            dies,
            dies * geometry["planes_per_die"],
            geometry["channels"] * config["channel"]["megabytes_per_second"] / 1e3,
            latency["read_slc_ns"],
            latency["mws_ns"],
        )

    @cached_property
    def written(self) -> int:
        """The first of 64 MiB that were written for reads, in the middle of the drive."""
        first = self._drive.blocks // 2
        first -= first % self.blocks_of_page
        # Regions are first, so that none of their pages moves.
        for piece in range(16):
            self._drive.write(first + piece * 1024, bytes(4 << 20))
        self._drive.flush()
        return first

    @property
    def blocks_of_page(self) -> int:
        """Logical blocks of a page of flash."""
        return PAGE_BYTES // self._drive.block_bytes

    def read(self, pages: int = 1) -> Cost:
        """A read of so many pages that follow one another, one command after the other."""
        first, each = self.written, self.blocks_of_page
        starts = [first + (37 * at % 512) * each for at in range(8)]
        return self.cost(*(lambda at=at: self._drive.read(at, pages * each) for at in starts))

    def pages_of_a_block(self, pages: int = 64) -> Cost:
        """A page of so many that are read at once, on a drive of one plane: one after the other there."""
        first = self._drive.blocks // 2 // self.blocks_of_page * self.blocks_of_page
        self._drive.write(first, bytes(pages * PAGE_BYTES))
        self._drive.flush()
        blocks = self.blocks_of_page
        return (1 / pages) * self.cost(lambda: self._drive.read(first, pages * blocks))

    def write(self) -> Cost:
        """A write of one page, completed as the drive completes writes."""
        first, each = self.written, self.blocks_of_page
        data = bytes(PAGE_BYTES)
        starts = [first + (37 * at % 512) * each for at in range(32)]
        return self.cost(*(lambda at=at: self._drive.write(at, data) for at in starts))

    def scan(self) -> Cost:
        """A page of a scan: 64 MiB read in order, by commands of 1 MiB, as many at once as fit."""
        first, blocks = self.written, (1 << 20) // self._drive.block_bytes

        def all_of_it() -> None:
            pending = [self._drive.submit_read(first + at * blocks, blocks) for at in range(64)]
            for one in pending:
                one.result()

        return (PAGE_BYTES / (64 << 20)) * self.cost(all_of_it)

    def region(self, bits: int, value_bytes: int, rows: int) -> "Region":
        """A new region for so many rows of names, with nothing in it."""
        self._regions += 1
        name = f"region {self._regions}"
        self._search.create(name, rows * ROW_NAMES, value_bytes, [(bits, False)], b"")
        return Region(self, name, bits, value_bytes)


class Region:
    """Names and values on a drive that lookups are timed on."""

    def __init__(self, bench: Bench, name: str, bits: int, value_bytes: int) -> None:
        self._bench, self._name = bench, name
        self.bits, self.value_bytes = bits, value_bytes

    def append(self, names: NDArray[np.uint8]) -> None:
        """Append entries: a row of bytes is a name. Values are zeroes."""
        records = np.zeros((len(names), names.shape[1] + self.value_bytes), np.uint8)
        records[:, : names.shape[1]] = names
        most = _APPEND_BYTES // records.shape[1]
        for first in range(0, len(names), most):
            piece = records[first : first + most]
            self._bench._search.append(self._name, piece.tobytes(), len(piece))
        self._bench.rows += len(names) / ROW_NAMES

    def exactly(self, name: bytes) -> Groups:
        """What finds one name."""
        return [[(0, self.bits, name, b"\xff" * len(name))]]

    def masked(self, name: bytes, mask: bytes) -> Groups:
        """What finds names in which the bits of the mask are those."""
        return [[(0, self.bits, name, mask)]]

    def count(self, groups: Groups) -> int:
        """Count what is found."""
        return self._bench._search.count(self._name, groups)

    def lookup(self, groups: Groups) -> int:
        """Get the values found; how many."""
        return len(self._bench._search.lookup(self._name, groups, [])[0]) // self.value_bytes

    def update(self, name: bytes) -> None:
        """Replace the entry of a name by another of the same name."""
        self._bench._search.update(self._name, None, name + bytes(self.value_bytes), 1)

    def costs(self, queries: Sequence[Groups]) -> Cost:
        """What lookups take on average."""
        return self._bench.cost(*(lambda groups=groups: self.lookup(groups) for groups in queries))


def numbered(count: int, name_bytes: int, first: int = 0) -> NDArray[np.uint8]:
    """Names that are numbers, in their first four bytes."""
    names = np.zeros((count, name_bytes), np.uint8)
    names[:, :4] = np.arange(first, first + count, dtype=">u4").view(np.uint8).reshape(count, 4)
    return names


def number(value: int, name_bytes: int) -> bytes:
    """The name of a number."""
    return value.to_bytes(4, "big") + bytes(name_bytes - 4)
