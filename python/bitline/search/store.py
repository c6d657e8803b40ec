"""A store of names and values on the drive, by its name: what `KeyValue`, `Table` and `Graph` are made of.

The drive is reached through a `SearchGlue`, the `Search` of the extension module, so that tests can put
something simpler in its place. The bytes of a store's schema are JSON that tells what it is.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bitline.arguments import whole_number
from bitline.errors import NvmeError, UsageError
from bitline.explanation import Estimate
from bitline.records import made
from bitline.search.service import Service

if TYPE_CHECKING:
    from bitline.drive import Drive

#: A condition on the names of one search region: which, the bits it is about, what they are, which count.
Term: TypeAlias = tuple[int, int, bytes, bytes]
#: What is looked for: entries that match all terms of any group.
Terms: TypeAlias = list[list[Term]]
#: Parts of values: the first byte and how many.
Parts: TypeAlias = list[tuple[int, int]]

#: The most terms of a query, and the most parts of values (the vendor commands' `Query`).
TERMS_MAX = 1024
PARTS_MAX = 256
#: The most bytes of a query; of these beside its patterns, at most: numbers, and parts of 8 bytes each.
QUERY_BYTES_MAX = 1 << 18
_BESIDE_PATTERNS = 4 + 8 * PARTS_MAX
#: Bytes of a pattern beside name and mask, if it is a group of its own.
_BESIDE_NAME = 6
#: The most entries that a store can have.
ENTRIES_MAX = (1 << 32) - 1
#: The most bytes of a schema, which are 16 bits in the catalogue.
SCHEMA_BYTES_MAX = 65_535
#: Bytes of records that are handed over at once.
BATCH_BYTES = 16 << 20

_MARK = "bitline"


class SearchGlue(Protocol):
    """The drive's commands of name-value lookup, on stores by their names."""

    def create(
        self, name: str, entries: int, value_bytes: int, names: list[tuple[int, bool]], schema: bytes
    ) -> None:
        """Make one with room for so many entries; of each search region a name's bits and whether ternary."""

    def open(self, name: str) -> tuple[int, int, list[tuple[int, bool]], bytes]:
        """Entries that there is room for, bytes of a value, search regions, schema."""

    def names(self) -> list[str]:
        """All stores."""

    def remove(self, name: str) -> None:
        """Remove one."""

    def append(self, name: str, records: bytes, count: int) -> int:
        """Append records; the number of the first."""

    def lookup(
        self, name: str, groups: Terms, parts: Parts, numbers: bool = False, pages: bool = False
    ) -> tuple[bytes, bytes]:
        """Parts of the values that match, ascending, and if asked the numbers of their entries."""

    def count(self, name: str, groups: Terms) -> int:
        """How many match."""

    def estimate(
        self, name: str, groups: Terms, parts: Parts, matches: int, pages: int | None, count: bool
    ) -> str:
        """What a lookup that finds so many entries would take, or a count, as JSON."""

    def delete(self, name: str, groups: Terms) -> int:
        """Delete what matches; how many."""

    def update(self, name: str, groups: Terms | None, records: bytes, count: int) -> tuple[int, int]:
        """Delete and append as one; the first number and how many were deleted."""

    def report(self, name: str) -> str:
        """Its search regions, as JSON."""


class Files(Protocol):
    """Bytes by name, beside stores."""

    def write(self, name: str, data: bytes) -> None:
        """Write them, or replace them."""

    def read(self, name: str, offset: int = 0, size: int | None = None) -> bytes:
        """A part of them.

        Raises:
            KeyError: There are none of this name.
        """

    def remove(self, name: str) -> None:
        """Remove them, if they are there."""

    def __contains__(self, name: object) -> bool:
        """Whether there are some of this name."""

    def rename(self, old: str, new: str) -> None:
        """Give a store, or such bytes, another name."""


@dataclass
class Counters:
    """What was asked of the drive, and what came back, since the drive was opened here."""

    lookups: int = 0
    """Lookups that returned records."""
    counts: int = 0
    """Lookups that returned their number alone."""
    terms: int = 0
    """Patterns in all of these."""
    records: int = 0
    """Records returned."""
    bytes: int = 0
    """Bytes of them."""
    dropped: int = 0
    """Records that the host looked at again and dropped: found by less than was asked, or by mistake."""


@dataclass(frozen=True)
class Context:
    """What stores have in common: the way to the drive, and what went over it."""

    glue: SearchGlue
    files: Files | None = None
    counters: Counters = field(default_factory=Counters)
    service: Service = field(default_factory=Service)
    made: Counter[str] = field(default_factory=Counter)
    """How often a store of a name was made here: what was opened before one is of another."""
    names_bytes_max: int = 16 << 20
    """Bytes of names that one command brings, at most (`search.buffer_bytes`)."""
    link_table_bytes: int = 4 << 20
    """Bytes that say where names and values are, of all stores (`search.link_table_bytes`)."""
    transfer_bytes_max: int = 1 << 28
    """Bytes that one command transfers, at most: 65,536 logical blocks."""


def context_of(glue: SearchGlue, files: Files, drive: "Drive") -> Context:
    """The context of what is searched on a drive."""
    limits = tomllib.loads(drive.config)
    pages = limits["frontend"]["max_data_transfer"]
    transferred = drive.block_bytes << 16
    return Context(
        glue,
        files,
        names_bytes_max=limits["search"]["buffer_bytes"],
        link_table_bytes=limits["search"]["link_table_bytes"],
        transfer_bytes_max=min(transferred, 4096 << pages) if pages else transferred,
    )


def files_of(context: Context) -> Files:
    """The files beside stores.

    Raises:
        UsageError: There is no volume for them.
    """
    if context.files is None:
        raise UsageError("there is no volume here, in which stores have names and files lie beside them")
    return context.files


class Store:
    """A data region with its search regions, by its name."""

    def __init__(self, context: Context, name: str) -> None:
        self.name = name
        """Its name."""
        self._context, self._made = context, context.made[name]
        self.entries, self.value_bytes, self.regions, schema = context.glue.open(name)
        self.header = header_of(schema)
        """What its schema says, empty if somebody else made it."""

    @classmethod
    def create(
        cls,
        context: Context,
        name: str,
        *,
        entries: int,
        value_bytes: int,
        regions: Sequence[tuple[int, bool]],
        header: dict[str, Any],
    ) -> "Store":
        """Make one.

        Raises:
            UsageError: A schema that is too long; names of which a row does not fit into memory; a link table
                without room for it; what the drive's library refuses, such as a taken name.
        """
        schema = json.dumps({_MARK: 1, **header}, separators=(",", ":")).encode()
        if len(schema) > SCHEMA_BYTES_MAX:
            raise UsageError(
                f"{name!r}: its schema takes {len(schema):,} bytes, and there is room for "
                f"{SCHEMA_BYTES_MAX:,}: fewer columns, or dictionaries of fewer or shorter values"
            )
        owner = header.get("of", name.removesuffix("/making"))
        try:
            with _linked(context, owner):
                context.glue.create(name, entries, value_bytes, list(regions), schema)
        except NvmeError as error:
            if error.status != "Names Exceed Buffer":
                raise
            names = sum((1 + ternary) * -(-bits // 8) for bits, ternary in regions)
            raise UsageError(
                f"{owner!r}: a row of names that is full, or as many as there are to be, waits in DRAM of "
                f"the drive, and {names:,} bytes of names for each do not fit into search.buffer_bytes = "
                f"{context.names_bytes_max:,}: fewer or shorter indexes, or open the drive with more"
            ) from None
        context.made[name] += 1
        return cls(context, name)

    @property
    def glue(self) -> SearchGlue:
        """The way to it.

        Raises:
            UsageError: What has its name now is another store.
        """
        if self._context.made[self.name] != self._made:
            raise UsageError(f"{self.name!r} was made anew since this was opened: open it again")
        return self._context.glue

    @property
    def record_bytes(self) -> int:
        """Bytes of a record that is appended: names, masks and the value."""
        return sum((1 + ternary) * -(-bits // 8) for bits, ternary in self.regions) + self.value_bytes

    @property
    def owner(self) -> str:
        """The name of what it is of, which is its own or another's."""
        return str(self.header.get("of", self.name))

    @property
    def records_max(self) -> int:
        """Records that one command brings, all of them or none."""
        names = sum((1 + ternary) * -(-bits // 8) for bits, ternary in self.regions)
        # Where a capacitor saves names, one counts at least 4 bytes, and a row 21.
        by_names = (self._context.names_bytes_max - 64) // max(names, 4)
        return min(by_names, self._context.transfer_bytes_max // self.record_bytes)

    @property
    def batch(self) -> int:
        """Records that are appended at once."""
        return max(BATCH_BYTES // self.record_bytes, 1)

    @property
    def terms_max(self) -> int:
        """Patterns that a query can have, whatever they are: long ones fill it before there are 1,024."""
        longest = 2 * -(-max(bits for bits, _ in self.regions) // 8)
        return min(TERMS_MAX, (QUERY_BYTES_MAX - _BESIDE_PATTERNS) // (longest + _BESIDE_NAME))

    def append(self, records: bytes, count: int) -> int:
        """Append records, all or none; the number of the first.

        Raises:
            UsageError: A link table without room for their rows; what the drive's library refuses.
            NvmeError: What the drive reports.
        """
        with _linked(self._context, self.owner):
            return self.glue.append(self.name, records, count)

    def everything(self) -> Terms:
        """What any entry matches."""
        bits = self.regions[0][0]
        size = -(-bits // 8)
        return [[(0, bits, bytes(size), bytes(size))]]

    def lookup(self, groups: Terms, parts: Parts | None = None) -> bytes:
        """The values that match, or these parts of them, one after another; no groups find nothing."""
        if not groups:
            return b""
        parts = parts or []
        records, _ = self.glue.lookup(self.name, groups, parts)
        counters = self._context.counters
        counters.lookups += 1
        counters.terms += sum(map(len, groups))
        counters.bytes += len(records)
        counters.records += len(records) // (sum(size for _, size in parts) or self.value_bytes)
        return records

    def count(self, groups: Terms) -> int:
        """How many match, as the drive counts."""
        if not groups:
            return 0
        self._context.counters.counts += 1
        self._context.counters.terms += sum(map(len, groups))
        return self.glue.count(self.name, groups)

    def estimate(
        self, groups: Terms, parts: Parts | None, matches: int, pages: int | None, *, count: bool
    ) -> Estimate:
        """What `lookup`, or `count`, would take if so many match, in so many logical pages."""
        if pages is not None:
            whole_number("pages", pages, 0, ENTRIES_MAX)
        told = self.glue.estimate(self.name, groups, parts or [], matches, pages, count)
        return made(Estimate, json.loads(told))

    def delete(self, groups: Terms) -> int:
        """Delete what matches; how many."""
        return self.glue.delete(self.name, groups) if groups else 0

    def update(self, groups: Terms | None, records: bytes, count: int) -> int:
        """Delete what matches, or has the records' names in the first region, and append; how many went.

        Raises:
            UsageError: As `append`.
            NvmeError: What the drive reports.
        """
        with _linked(self._context, self.owner):
            return self.glue.update(self.name, groups, records, count)[1]

    def dropped(self, records: int) -> None:
        """Count records that turned out not to be what was asked for."""
        self._context.counters.dropped += records

    def report(self) -> list[dict[str, int]]:
        """Its search regions, as the drive reports them."""
        found: list[dict[str, int]] = json.loads(self.glue.report(self.name))
        return found


@contextmanager
def _linked(context: Context, owner: str) -> Iterator[None]:
    """Tells what helps where the drive's link table has no room for what is made or written.

    Raises:
        UsageError: It has none.
    """
    try:
        yield
    except NvmeError as error:
        if error.status != "Link Table Full":
            raise
        raise UsageError(
            f"{owner!r}: where names and values are is kept in DRAM of the drive, for all that is searched, "
            f"and what is to be written does not fit into search.link_table_bytes = "
            f"{context.link_table_bytes:,} (40 bytes an index, 4 a row of names, 4 a block of them): remove "
            "what is not needed, or open the drive with more"
        ) from None


def header_of(schema: bytes) -> dict[str, Any]:
    """What a schema says; empty if it is not of this library."""
    try:
        found = json.loads(schema)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get(_MARK) == 1 else {}


def is_part(context: Context, name: str, of: str) -> bool:
    """Whether a store is there that was made as part of what has another name.

    Raises:
        UsageError: One of its name is something else, which is not to be touched.
    """
    if name not in context.glue.names():
        return False
    if header_of(context.glue.open(name)[3]).get("of") != of:
        raise UsageError(f"{of!r} would have a part {name!r}, which is something else: rename one of them")
    return True


def unmade(context: Context, name: str) -> None:
    """Remove a store and what is part of it, which goes first: what is left can be removed again."""
    for file in header_of(context.glue.open(name)[3]).get("files", ()):
        if context.files is not None:
            context.files.remove(file)
    for other in context.glue.names():
        if other != name and header_of(context.glue.open(other)[3]).get("of") == name:
            context.glue.remove(other)
    context.glue.remove(name)
