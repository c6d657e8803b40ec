"""A table on a drive, whose rows the drive finds by the columns that are in names (ANVIL 6.1)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bitline.arguments import whole_number
from bitline.errors import BitlineError, UsageError
from bitline.explanation import Estimate
from bitline.search import plan as plans
from bitline.search import sql
from bitline.search.arrow_expression import from_arrow
from bitline.search.binder import Binder
from bitline.search.compaction import compacted, finish_copy, no_room
from bitline.search.condition import Condition, Known
from bitline.search.finish import Asked, filtered, finished, kept_rows, meant_rows, parts_of, plain
from bitline.search.layout import Layout, options_for
from bitline.search.plan import DELETION, Limit, Plan, in_commands, patterns_needed, planned, too_many
from bitline.search.sources import Source, read
from bitline.search.store import ENTRIES_MAX, TERMS_MAX, Context, Store, files_of, is_part
from bitline.units import counted

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from polars import LazyFrame

KIND = "table"

#: What rows are asked for: a text as in SQL, or an expression of PyArrow.
Where: TypeAlias = str | pc.Expression
#: Patterns of one query, if nothing else is said. Each is a search of all names.
TERMS = 256


class Table:
    """A table on a drive, made or opened by `drive.search.table`.

    The drive holds rows as values of equal size, in the order in which they were appended, and searches the
    columns that are in names: those of each index in a search region of their own, several of one index fused
    into one name. `where` has it find rows by them and send the columns that are wanted. The rest of a
    condition is finished with PyArrow, and all of it is looked at again, as names may be found by mistake.
    """

    def __init__(self, context: Context, name: str) -> None:
        finish_copy(context, name)
        self.name = name
        """Its name on the drive."""
        self._context = context
        self._store = Store(context, name)
        if self._store.header.get("kind") != KIND:
            raise UsageError(f"{name!r} is no table that is searched")
        self._layout = Layout.of_header(self._store.header)
        self._binder = Binder({field.name: field.type for field in self._layout.schema})
        self._terms_max = TERMS

    @classmethod
    def create(
        cls,
        context: Context,
        name: str,
        source: Source,
        *,
        indexes: Sequence[str | Sequence[str]],
        capacity: int | None,
        text_bytes: Mapping[str, int],
        prefix_bytes: Mapping[str, int],
        ranges: Mapping[str, tuple[Any, Any]],
    ) -> "Table":
        """Make one, as `Searches.table` says."""
        table = read(source)
        names = table.column_names
        if not names or len(set(names)) < len(names):
            raise UsageError("a table has at least one column, and columns of different names")
        layout = Layout(table.schema, options_for(table, indexes, text_bytes, prefix_bytes, ranges))
        room = max(table.num_rows, 1) if capacity is None else capacity
        whole_number("capacity", room, max(table.num_rows, 1), ENTRIES_MAX)
        # It has its name when all rows are there; what a power cut leaves is made anew.
        files, making = files_of(context), f"{name}/making"
        if is_part(context, making, name):
            context.glue.remove(making)
        store = Store.create(
            context,
            making,
            entries=room,
            value_bytes=layout.rows.bytes,
            regions=[(bits, False) for bits in layout.bits],
            header={"kind": KIND, "of": name, **layout.header()},
        )
        try:
            _append(store, layout, table)
            context.made[name] += 1
            files.rename(making, name)
        except (BitlineError, KeyboardInterrupt):
            # A part of the rows is of no use; where it has its name, it is whole.
            if making in context.glue.names():
                context.glue.remove(making)
            raise
        return cls(context, name)

    def __repr__(self) -> str:
        try:
            rows = f"of {counted(len(self), 'row')}"
        except BitlineError:
            # Its drive is closed, has no power, or has it no more.
            rows = "that cannot be read now"
        return f"<Table {self.name!r} {rows}: {', '.join(self.schema.names)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a table lives on a drive in this process and cannot be pickled; open it by its name")

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self._layout.schema

    @property
    def indexes(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each index."""
        return self._layout.options.indexes

    @property
    def layout(self) -> Layout:
        """How its rows and names are kept."""
        return self._layout

    @property
    def capacity(self) -> int:
        """Rows that there is room for."""
        return self._store.report()[0]["capacity"]

    @property
    def terms_max(self) -> int:
        """Patterns that a condition may become, 1 to 1,024, by default 256; each is a search of all names.

        Where a condition needs more, such as an IN of more values, patterns near each other are merged and
        find more rows than are meant, which the host drops; `delete` takes several commands then, and
        `replace`, which is one, is refused. Long names fill a query before there are so many patterns.
        """
        return self._terms_max

    @terms_max.setter
    def terms_max(self, most: int) -> None:
        self._terms_max = whole_number("terms_max", most, 1, TERMS_MAX)

    def __len__(self) -> int:
        return self._store.report()[0]["live"]

    def __bool__(self) -> bool:
        return True

    # Questions

    def where(self, condition: Where | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of which a condition is true, in the order in which they were appended.

        Args:
            condition: As in SQL, `"returnflag = 'R' and quantity < 24"`, or an expression of PyArrow;
                None for all rows.
            columns: The columns that are wanted; all by default.

        Raises:
            UsageError: No condition on these columns; columns that there are not.
            NvmeError: What the drive reports.
        """
        return self._found(self.asked(condition), columns)

    def count(self, condition: Where | None = None, *, check: bool = True) -> int:
        """Of how many rows a condition is true.

        Args:
            condition: As in `where`.
            check: Look at the columns of what was found. If not, and names tell all of the condition, the
                drive counts, and nothing comes over the link but the number.

        Raises:
            UsageError: As `where`.
            NvmeError: What the drive reports.
        """
        asked = self.asked(condition)
        plan = self._plan(asked.condition)
        if plan.exact and not check:
            return self._store.count(plan.groups)
        return int(self._found(asked, sorted(asked.condition.columns())[:1], plan).num_rows)

    def estimate(
        self,
        condition: Where | None = None,
        columns: Sequence[str] | None = None,
        *,
        rows: int,
        pages: int | None = None,
        count: bool = False,
    ) -> Estimate | None:
        """What a question would take of the drive as it is now, if it does nothing else.

        Nothing is carried out. Time and energy are those of the commands, from the first doorbell to the last
        completion; the host's own work is none of it.

        Args:
            condition: As in `where`.
            columns: As in `where`.
            rows: How many rows the drive finds, which is not known before: those that the host drops
                afterwards included, so more than are meant where `explain` says so. They are taken to lie
                evenly in the table. Where the drive is asked for all rows, it finds these.
            pages: In how many logical pages they lie, where that is known: those of a page side by side.
            count: Of `count(..., check=False)`, not of `where`, and so without columns.

        Returns:
            The estimate; None if the drive is asked nothing, as no row can be meant.

        Raises:
            UsageError: As `where`; names do not tell all of what is to be counted; columns of a count.
            NvmeError: What the drive reports.
        """
        if count and columns is not None:
            raise UsageError("a count returns no columns: leave out columns, or count")
        asked = self.asked(condition)
        plan = self._plan(asked.condition)
        if count and not plan.exact:
            raise UsageError(f"names do not tell all of {asked.condition.words()}: rows are read to count it")
        return self._estimated(asked, columns, plan, (rows, pages), count=count)

    def _estimated(
        self,
        asked: Asked,
        columns: Sequence[str] | None,
        plan: Plan,
        found: tuple[int, int | None],
        *,
        count: bool = False,
    ) -> Estimate | None:
        if not (plan.groups or plan.is_everything):
            return None
        needed = self._needed(asked, columns) or self.schema.names[:1]
        groups = plan.groups
        if plan.is_everything and not count:
            # All rows are found, however many are meant; the drive knows how many there are.
            groups, found = self._store.everything(), (ENTRIES_MAX, None)
        rows, pages = whole_number("rows", found[0], 0, ENTRIES_MAX), found[1]
        parts = None if count else self._layout.rows.parts(needed)
        return self._store.estimate(groups, parts, rows, pages, count=count)

    def explain(
        self,
        condition: Where | None = None,
        columns: Sequence[str] | None = None,
        *,
        rows: int = 1,
        pages: int | None = None,
    ) -> str:
        """What of a question the drive is asked, and what is left to the host. Nothing is carried out.

        `estimate` tells more of what it would take if the drive finds so many rows, in so many pages; where
        it is asked for all rows, it finds these.
        """
        asked = self.asked(condition)
        plan, parts = self._plan(asked.condition), self._layout.rows.parts(self._needed(asked, columns))
        told = [
            f"condition: {asked.condition.words()}",
            f"drive: {plans.told_of(plan, self.indexes)}",
            f"returned: {sum(size for _, size in parts):,} of {self._layout.rows.bytes:,} bytes of each row",
        ]
        whole = asked.condition
        open_ = [one for one in parts_of(whole) if not (plan if one is whole else self._plan(one)).exact]
        if open_:
            told.append(f"host, what names do not tell: {' and '.join(part.words() for part in open_)}")
        else:
            told.append("host: looks again whether each row is meant")
        estimate = self._estimated(asked, columns, plan, (rows, pages))
        if estimate is not None:
            found = "all rows" if plan.is_everything else f"{counted(rows, 'row')} found"
            told.append(f"estimate for {found}: {estimate.time}, {estimate.energy}")
        return "\n".join(told)

    # Changes

    def append(self, source: Source) -> int:
        """Append rows; of those that one command carries, a power cut leaves all or none.

        Returns:
            How many.

        Raises:
            UsageError: Other columns, what columns cannot have, or no room.
            NvmeError: What the drive reports.
        """
        table = self._fitting(read(source))
        self._make_room(table.num_rows)
        _append(self._store, self._layout, table)
        return int(table.num_rows)

    def compact(self) -> None:
        """Give back the room of rows that were deleted, which `append` and `replace` do when there is none.

        What is there is copied to a new store, which takes the name when it is whole: the volume has to have
        room for both.

        Raises:
            UsageError: Something else has the name of the copy.
            NvmeError: What the drive reports.
        """
        rows = self.where()

        def copied(copy: Store) -> None:
            _append(copy, self._layout, rows.cast(self.schema))

        self._store = compacted(self._context, self._store, of=self.name, copied=copied)

    def _make_room(self, rows: int) -> None:
        """Compact it if so many rows have no room otherwise.

        Raises:
            UsageError: Nor have they so.
        """
        region = self._store.report()[0]
        if region["live"] + rows > region["capacity"]:
            raise no_room(self._store, "capacity", "rows")
        if region["entries"] + rows > region["capacity"]:
            self.compact()

    def delete(self, condition: Where) -> int:
        """Delete the rows of which a condition is true, which names have to tell exactly.

        One command does it, all or nothing. A condition of more than `terms_max` patterns takes several, one
        after the other: each is all or nothing, and one that fails, or a power cut, leaves those before it
        done. `delete("true")` deletes all rows.

        Returns:
            How many.

        Raises:
            TypeError: It is no condition; None is none, so that none that was forgotten deletes nothing.
            UsageError: Names do not tell all of the condition, or not with 65,536 patterns.
            NvmeError: What the drive reports.
        """
        plan = self._exactly(condition, "deleted", DELETION)
        commands = in_commands(plan.groups, self._patterns_max)
        return sum(map(self._store.delete, commands))

    def replace(self, condition: Where, source: Source) -> int:
        """Delete rows as `delete` does and append others: a power cut leaves both done, or neither.

        Returns:
            How many were deleted.

        Raises:
            UsageError: As `delete` and `append`; more than `terms_max` patterns; more rows than one command
                carries.
            NvmeError: What the drive reports.
        """
        of_query = f"terms_max is {self._terms_max:,}"
        limit = Limit(self._patterns_max, of_query, settable=self._store.terms_max)
        plan = self._exactly(condition, "replaced", limit)
        table = self._fitting(read(source))
        if not plan.groups or not table.num_rows:
            raise UsageError(
                "nothing can be meant by the condition, or no rows are given: delete() or append()"
            )
        region = self._store.report()[0]
        if region["live"] + table.num_rows > region["capacity"]:
            return self._rewritten(condition, table, region["capacity"])
        self._make_room(table.num_rows)
        return self._store.update(plan.groups, self._layout.records(table), table.num_rows)

    def _rewritten(self, condition: Where, table: pa.Table, room: int) -> int:
        """Replace rows where there is no room beside them: a copy has the other rows and the new ones.

        Raises:
            UsageError: These do not fit, either.
        """
        rows, asked = self.where(), self.asked(condition)
        numbers = pa.array(range(rows.num_rows), pa.int64())
        meant = meant_rows(plain(rows), asked)
        kept = rows.filter(pc.invert(pc.is_in(numbers, value_set=meant)))
        if kept.num_rows + table.num_rows > room:
            raise no_room(self._store, "capacity", "rows")

        def copied(copy: Store) -> None:
            _append(copy, self._layout, kept.cast(self.schema))
            _append(copy, self._layout, table)

        self._store = compacted(self._context, self._store, of=self.name, copied=copied, changed=True)
        return int(rows.num_rows - kept.num_rows)

    # Hooks

    def dataset(self) -> "ds.Dataset":
        """The table for DuckDB, for `connection.register("t", table.dataset())`.

        DuckDB asks from threads of its own: run `drive.search.run(lambda: connection.sql(...).fetchall())`.
        DuckDB hands over the columns that a query needs and the comparisons, IN and IS NULL of its condition,
        which `EXPLAIN` shows as Filters of the scan. Dictionaries are given as their values.
        """
        from bitline.search.dataset import SearchedDataset

        return SearchedDataset(self)

    def lazy(self) -> "LazyFrame":
        """The table for Polars, a lazy frame whose filters and columns are pushed to the drive.

        Polars asks from threads of its own: collect the frame by `drive.search.run(frame.collect)`.

        Raises:
            UsageError: Polars is not installed.
        """
        from bitline.search.frames import lazy_frame

        return lazy_frame(self)

    # What hooks build on

    @property
    def binder(self) -> Binder:
        """Makes conditions on its columns."""
        return self._binder

    def asked(self, condition: Where | None) -> Asked:
        """A condition, and how PyArrow finishes it."""
        if condition is None:
            return Asked(Known(True), lambda table: table)
        if isinstance(condition, pc.Expression):
            found = from_arrow(condition, self._binder)
            return Asked(found, lambda table: filtered(table, condition))
        if not isinstance(condition, str):
            raise TypeError(
                f"a condition is a str or an expression of PyArrow, not a {type(condition).__name__}"
            )
        parsed = sql.condition(condition, self._binder)
        return Asked(parsed, lambda table: kept_rows(table, parsed))

    def rows(self, asked: Asked, columns: Sequence[str] | None) -> pa.Table:
        """The rows that are asked for, with dictionaries as their values; of other threads, too (`run`)."""
        return self._context.service.call(lambda: plain(self._found(asked, columns)))

    def _found(self, asked: Asked, columns: Sequence[str] | None, plan: Plan | None = None) -> pa.Table:
        # A table of Arrow has as many rows as a column of it, so that one is read where none is wanted.
        needed = self._needed(asked, columns) or self.schema.names[:1]
        plan = self._plan(asked.condition) if plan is None else plan
        parts = self._layout.rows.parts(needed)
        records = self._store.lookup(self._store.everything() if plan.is_everything else plan.groups, parts)
        found = self._layout.rows.decode(records, parts, needed)
        meant = finished(found, asked)
        if plan.exact:
            self._store.dropped(found.num_rows - meant.num_rows)
        return meant if columns is None else meant.select(columns)

    def _needed(self, asked: Asked, columns: Sequence[str] | None) -> list[str]:
        """The columns that are wanted or looked at, in the order of the table."""
        if columns is not None and len(set(columns)) < len(columns):
            raise UsageError(f"columns {', '.join(columns)}: each column once")
        wanted = set(self.schema.names if columns is None else columns)
        for column in wanted | asked.condition.columns():
            self._binder.kind(column)
        return [name for name in self.schema.names if name in wanted | asked.condition.columns()]

    @property
    def _patterns_max(self) -> int:
        return min(self._terms_max, self._store.terms_max)

    def _plan(self, condition: Condition) -> Plan:
        return planned(condition.cover(self._layout, True), self._layout, self._patterns_max)

    def _exactly(self, condition: Where, done: str, limit: Limit) -> Plan:
        """What finds the rows of which a condition is true and no others, with at most so many patterns."""
        if condition is None:
            raise TypeError(
                f'a condition says which rows are {done}, and None is none: "true" means all rows'
            )
        asked = self.asked(condition)
        found = asked.condition.cover(self._layout, True)
        plan = planned(found, self._layout, limit.most)
        if plan.exact:
            return plan
        if found.exact:
            needed = patterns_needed(found, self._layout)
            raise UsageError(too_many(needed, limit, f"so no row is {done}", asked.condition.words()))
        raise UsageError(
            f"names do not tell all of {asked.condition.words()}, so no row is {done}: indexes are of "
            f"{'; '.join(', '.join(index) for index in self.indexes)} (see explain)"
        )

    def _fitting(self, table: pa.Table) -> pa.Table:
        if set(table.column_names) != set(self.schema.names):
            raise UsageError(
                f"columns {', '.join(table.column_names)}, but the table has {', '.join(self.schema.names)}"
            )
        found = table.select(self.schema.names)
        try:
            return found.cast(self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise UsageError(f"rows of other types than the table has: {error}") from None


def _append(store: Store, layout: Layout, table: pa.Table) -> None:
    for begin in range(0, table.num_rows, store.batch):
        some = table.slice(begin, store.batch)
        store.append(layout.records(some), some.num_rows)
