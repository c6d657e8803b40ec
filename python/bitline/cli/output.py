"""Results of commands: one data structure, shown as text and tables or printed as one JSON object.

Values are plain numbers and strings in the unit that their key ends in (`time_ns`, `energy_pj`,
`link_bytes`). JSON has them as they are; people see them rounded with a fitting unit.
"""

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree as RichTree

from bitline.cli.errors import Exit
from bitline.units import scaled

Value = bool | int | float | str | None | Mapping[str, "Value"]
Format = Callable[[Value], str]


def plain(value: Value) -> str:
    """The value itself; whole numbers with separators, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scaled(step: float, units: Sequence[str]) -> Format:
    def show(value: Value) -> str:
        return scaled(value, step, units) if isinstance(value, int | float) else plain(value)

    return show


#: Nanoseconds, as ns, µs, ms or s.
duration = _scaled(1000, ("ns", "µs", "ms", "s"))
#: Picojoules, as pJ to J.
energy = _scaled(1000, ("pJ", "nJ", "µJ", "mJ", "J"))
#: Bytes, as B to TiB.
size = _scaled(1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(value: Value) -> str:
    """A rate: whole from 100 on, with three significant digits below."""
    if not isinstance(value, float):
        return plain(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(value: Value) -> str:
    """A factor, such as 12.3x."""
    return f"{value:.3g}x" if isinstance(value, int | float) else plain(value)


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in JSON, its heading for people, and how a value is shown.

    Without a heading it is only in JSON.
    """

    key: str
    heading: str | None
    show: Format = plain


@dataclass(frozen=True)
class Table:
    """Rows of values by column key."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Value]]

    def __post_init__(self) -> None:
        keys = {column.key for column in self.columns}
        for row in self.rows:
            if row.keys() != keys:
                raise AssertionError(f"a row has {sorted(row)}, the table {sorted(keys)}")


@dataclass(frozen=True)
class Fact:
    """One value that stands outside of any table; without a label it is only in JSON."""

    label: str | None
    value: Value
    show: Format = plain


@dataclass(frozen=True)
class Branch:
    """A line of a tree, and what hangs on it."""

    text: str
    branches: Sequence["Branch"] = ()


@dataclass(frozen=True)
class Tree:
    """A tree for people, and the data that it shows for JSON."""

    root: Branch
    data: object


@dataclass(frozen=True)
class Result:
    """Everything that a command found, under its keys in JSON."""

    title: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    verdict: str = ""
    """The last line, for people only."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    """They stand between facts and tables."""

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints."""
        facts = {key: fact.value for key, fact in self.facts.items()}
        tables = {key: [dict(row) for row in table.rows] for key, table in self.tables.items()}
        trees = {key: tree.data for key, tree in self.trees.items()}
        return {**facts, **trees, **tables}

    def show(self, console: Console) -> None:
        """Print it for people."""
        console.print(self.title, style="bold", soft_wrap=True, highlight=False)
        facts = [(fact.label, fact.show(fact.value)) for fact in self.facts.values() if fact.label]
        width = max((len(label) for label, _ in facts), default=0)
        for label, value in facts:
            console.print(f"  {label:<{width}}  {value}", soft_wrap=True, highlight=False, markup=False)
        for tree in self.trees.values():
            console.print()
            console.print(Padding(_rich_tree(tree.root), (0, 0, 0, 2), expand=False), highlight=False)
        for table in self.tables.values():
            console.print()
            console.print(Padding(_rich(table), (0, 0, 0, 2), expand=False))
        if self.verdict:
            console.print()
            console.print(self.verdict, soft_wrap=True, highlight=False, markup=False)


def emit(result: Result, *, as_json: bool) -> None:
    """Print a result to the standard output, as one JSON object or for people.

    Raises:
        SystemExit: Nobody reads it any more.
    """
    try:
        _print(result, as_json=as_json)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would be tried again, and fail again, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(Exit.PIPE) from None


def _print(result: Result, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = Console()
    if console.is_terminal:
        result.show(console)
        return
    # A pipe or file has no width to fit in; long tables shall not be folded there, nor filled up with blanks.
    wide = Console(width=200, file=io.StringIO(), force_terminal=False)
    with wide.capture() as shown:
        result.show(wide)
    print("\n".join(line.rstrip() for line in shown.get().splitlines()))


def _rich_tree(branch: Branch) -> RichTree:
    shown = RichTree(Text(branch.text))
    for below in branch.branches:
        shown.children.append(_rich_tree(below))
    return shown


def _rich(table: Table) -> RichTable:
    shown = RichTable(header_style="bold", box=None, pad_edge=False, padding=(0, 1))
    columns = [column for column in table.columns if column.heading]
    for column in columns:
        values = [row[column.key] for row in table.rows]
        text = any(isinstance(value, str) for value in values)
        shown.add_column(column.heading or "", justify="left" if text else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(column.show(row[column.key]) for column in columns))
    return shown
