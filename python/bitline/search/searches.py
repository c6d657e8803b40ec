"""What is searched on a drive, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from bitline.arguments import is_unicode, new_name
from bitline.errors import BitlineError, UsageError
from bitline.search import graph, key_value, table
from bitline.search.compaction import COPY, finish_copy, is_copy_alone
from bitline.search.graph import Edges, Graph
from bitline.search.key_value import KeyValue
from bitline.search.layout import listed
from bitline.search.sources import Source
from bitline.search.store import Context, Counters, header_of, unmade
from bitline.search.table import Table

#: What a query gives.
Answer = TypeVar("Answer")

#: What there is of them.
Searched: TypeAlias = KeyValue | Table | Graph

_OPENED: dict[str, Callable[[Context, str], Searched]] = {
    key_value.KIND: KeyValue,
    table.KIND: Table,
    graph.KIND: Graph,
}


#: Names on the drive have 255 bytes; the longest one of a part has these behind.
_NAME_BYTES_MAX = 255 - len("/long/copy")


class Searches(Mapping[str, Searched]):
    """The names and values that a drive searches, by name: a mapping of what there is, in the order of names.

    What is made here is kept in the drive's volume. `del drive.search["name"]` removes it from the drive.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def __repr__(self) -> str:
        try:
            return f"<Searches {', '.join(self) or 'none'}>"
        except BitlineError:
            return "<Searches that cannot be listed now>"

    @property
    def counters(self) -> Counters:
        """What was asked of the drive through here, and what came back."""
        return self._context.counters

    def run(self, query: Callable[[], Answer]) -> Answer:
        """Run a query of an engine, DuckDB or Polars, over tables of the drive: `run(lambda: ...)`.

        Engines ask for rows from threads of their own, and a drive is used in the one that opened it. So the
        query is run in another thread, and this one does what it asks for until it is done.

        Args:
            query: What is called, without arguments, such as `frame.collect`.

        Returns:
            What the query gives.

        Raises:
            UsageError: This is not the thread that opened the drive, or a query runs another one.
        """
        return self._context.service.run(query)

    def _kind(self, name: str) -> str | None:
        """What has this name; None if nothing has, or nothing that is searched."""
        finish_copy(self._context, name)
        return self._kind_of(name) if name in self._context.glue.names() else None

    def _kind_of(self, name: str) -> str | None:
        """What a store is."""
        header = header_of(self._context.glue.open(name)[3])
        kind: str | None = header.get("kind") if header.get("of", name) == name else None
        return kind if kind in _OPENED else None

    def __iter__(self) -> Iterator[str]:
        # What a power cut left as a copy alone has the name that it is a copy for.
        stores = set(self._context.glue.names())
        for name in [store.removesuffix(COPY) for store in stores if store.endswith(COPY)]:
            if is_copy_alone(self._context, name, stores):
                finish_copy(self._context, name)
        return iter(sorted(name for name in self._context.glue.names() if self._kind_of(name) is not None))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and is_unicode(name) and self._kind(name) is not None

    def __getitem__(self, name: str) -> Searched:
        """One that there is.

        Raises:
            KeyError: There is none of this name.
        """
        kind = self._kind(name) if name in self else None
        if kind is None:
            raise KeyError(
                f"nothing that is searched is called {name!r}; there is {', '.join(self) or 'none'}"
            )
        return _OPENED[kind](self._context, name)

    def __delitem__(self, name: str) -> None:
        """Remove one from the drive, with all it has.

        Raises:
            KeyError: There is none of this name.
        """
        if name not in self:
            self[name]
        unmade(self._context, name)

    def key_value(
        self,
        name: str,
        *,
        entries: int | None = None,
        name_bytes: int | None = None,
        value_bytes: int | None = None,
    ) -> KeyValue:
        """A mapping from bytes to bytes, which is made if there is none of this name.

        What is given of one that is there has to be what it was made with, but for `entries`, of which it may
        have more.

        Args:
            name: Its name on the drive.
            entries: Entries that there is room for, at least; 65,536 by default. The volume has to have room
                for full rows of as many as a flash page has bits. Where none is left, what was replaced or
                deleted gives its own.
            name_bytes: Bytes of names that are searched for, 1 to 1,022; 29 by default. A name of up to so
                many is found by one pattern of 8 * (name_bytes + 2) bits: by default 248, which fit 512
                wordlines (ANVIL 4.3). Longer names are found by their hash.
            value_bytes: Bytes of name and value, and four more, that an entry takes, by default 232; longer
                items take several. At least name_bytes + 4.

        Raises:
            UsageError: Sizes that cannot be; a name that is taken by something else.
        """
        if self._is_there(name, key_value.KIND):
            found = KeyValue(self._context, name)
            has = {"entries": found.entries, "name_bytes": found.name_bytes, "value_bytes": found.value_bytes}
            _check_alike(name, has, entries=entries, name_bytes=name_bytes, value_bytes=value_bytes)
            return found
        return KeyValue.create(
            self._context,
            name,
            entries=key_value.ENTRIES if entries is None else entries,
            name_bytes=key_value.NAME_BYTES if name_bytes is None else name_bytes,
            value_bytes=key_value.VALUE_BYTES if value_bytes is None else value_bytes,
        )

    def table(
        self,
        name: str,
        source: Source | None = None,
        *,
        indexes: Sequence[str | Sequence[str]] = (),
        capacity: int | None = None,
        text_bytes: Mapping[str, int] | None = None,
        prefix_bytes: Mapping[str, int] | None = None,
        ranges: Mapping[str, tuple[Any, Any]] | None = None,
    ) -> Table:
        """A table whose rows the drive finds by some of their columns, made of `source`, or opened.

        Args:
            name: Its name on the drive.
            source: A table of Arrow, record batches, or the path of a Parquet file; without it, the table of
                this name is opened. Columns are bools, numbers, decimals, dates, times, durations, strings,
                bytes, and dictionaries of strings or bytes, whose values are settled for good.
            indexes: What is in names, a search region each: a column, or several that share a name, such as
                `["orderkey", ("returnflag", "quantity")]`. Numbers take as many bits as their type, one more
                if they may be null (fields of the schema say so), dictionaries as few as there are values.
            capacity: Rows that there is room for, at least, as `entries` of `key_value`; those of `source` by
                default.
            text_bytes: Room for strings or bytes, by column; by default for the longest one.
            prefix_bytes: How many bytes of them are in names, by column; 16 by default. What is longer is
                found by its beginning, and looked at again.
            ranges: The least and the largest value of whole numbers, decimals, dates and times, by column, so
                that names have fewer bits; others are refused.

        Raises:
            UsageError: What cannot be, as it says; a name that is taken; without `source`, one that is not
                there.
            NvmeError: What the drive reports.
            OSError: The file cannot be read.
        """
        is_there = self._is_there(name, table.KIND)
        if source is None:
            if not is_there:
                raise UsageError(f"there is no table {name!r}: give what it is to be made of")
            opened = Table(self._context, name)
            layout = opened.layout
            numbers = {column: layout.ends(column, ends) for column, ends in (ranges or {}).items()}
            for option, columns in (
                ("text_bytes", text_bytes),
                ("prefix_bytes", prefix_bytes),
                ("ranges", numbers),
            ):
                for column, value in (columns or {}).items():
                    told = f"{option} of column {column!r}"
                    _check_alike(name, {told: layout.has(option, column)}, **{told: value})
            has = {"capacity": opened.capacity, "indexes": opened.indexes}
            _check_alike(name, has, capacity=capacity, indexes=listed(indexes) or None)
            return opened
        if is_there:
            raise UsageError(
                f"there is a table {name!r}: open it by its name, delete it, or take another name"
            )
        return Table.create(
            self._context,
            name,
            source,
            indexes=indexes,
            capacity=capacity,
            text_bytes=text_bytes or {},
            prefix_bytes=prefix_bytes or {},
            ranges=ranges or {},
        )

    def graph(
        self,
        name: str,
        edges: Edges | None = None,
        *,
        vertices: int | None = None,
        edges_per_region: int | None = None,
        heavy_degree: int | None = None,
    ) -> Graph:
        """A graph whose edges the drive finds by the vertex that they lead from, made of `edges`, or opened.

        Args:
            name: Its name on the drive.
            edges: An array of sources and one of targets, vertices from 0 on, and if they have some one of
                weights; a table of Arrow with columns `source`, `target` and perhaps `weight`, in any order;
                or a sparse matrix of SciPy, row by row. Without them, the graph of this name is opened.
            vertices: How many; by default as many as edges tell.
            edges_per_region: Edges that share a search region, at most: as many as names lie side by side in
                a flash block, the bits of a page (ANVIL 6.2), 131,072 by default.
            heavy_degree: From how many edges on a vertex has an edge list instead; `edges_per_region` by
                default.

        Raises:
            UsageError: What makes no graph; a name that is taken; without `edges`, one that is not there, or
                a graph that was not finished.
            NvmeError: What the drive reports.
        """
        is_there = self._is_there(name, graph.KIND)
        if edges is None:
            if not is_there:
                raise UsageError(f"there is no graph {name!r}: give the edges it is to be made of")
            found = Graph(self._context, name)
            given = {"edges_per_region": edges_per_region, "heavy_degree": heavy_degree}
            _check_alike(name, found.options, vertices=vertices, **given)
            return found
        if is_there:
            raise UsageError(
                f"there is a graph {name!r}: open it by its name, delete it, or take another name"
            )
        return Graph.create(
            self._context,
            name,
            edges,
            vertices=vertices,
            edges_per_region=graph.EDGES_PER_REGION if edges_per_region is None else edges_per_region,
            heavy_degree=heavy_degree,
        )

    def _is_there(self, name: str, kind: str) -> bool:
        """Whether one of this kind has the name; refuses a name that another kind has."""
        found = self._kind(new_name(name))
        if found not in (None, kind):
            raise UsageError(f"{name!r} is a {found}, no {kind}: take another name")
        if found is None:
            self._check_free(name)
        return found is not None

    def _check_free(self, name: str) -> None:
        """Refuses a name that a part of something has, or what others made, or that parts cannot add to."""
        if name in self._context.glue.names():
            of = header_of(self._context.glue.open(name)[3]).get("of")
            what = "a store that something else has made" if of is None else f"a part of {of!r}"
            raise UsageError(f"{name!r} is {what}: take another name")
        if len(name.encode()) > _NAME_BYTES_MAX:
            raise UsageError(
                f"a name of {len(name.encode())} bytes: at most {_NAME_BYTES_MAX}, so that parts have theirs"
            )


def _check_alike(name: str, has: Mapping[str, Any], **given: Any) -> None:  # noqa: ANN401 (options of any type)
    """Refuses options of what is there that it does not have; room may be more than is asked for."""
    for option, value in given.items():
        if value is None or option not in has or has[option] == value:
            continue
        if option in ("entries", "capacity") and isinstance(value, int) and 0 < value <= has[option]:
            continue
        raise UsageError(
            f"{name!r} is there, with {option} = {has[option]!r} and not {value!r}: leave that out to open "
            "it, or delete it and make it anew"
        )
