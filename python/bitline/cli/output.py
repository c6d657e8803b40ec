"""Results of commands: one data structure, shown as text and tables or printed as one JSON object.

Values are plain numbers and strings in the unit that their key ends in (`time_ns`, `energy_pj`,
`link_bytes`). JSON has them as they are; people see them rounded with a fitting unit.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table as RichTable

Value = bool | int | float | str | None
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
        if not isinstance(value, int | float):
            return plain(value)
        amount, unit = float(value), 0
        # 999.95 would round to 1000 of a unit; it is 1 of the next.
        while abs(amount) >= step * 0.99995 and unit < len(units) - 1:
            amount, unit = amount / step, unit + 1
        if unit == 0 and isinstance(value, int):
            return f"{value} {units[0]}"
        digits = 2 if abs(amount) < 10 else 1 if abs(amount) < 100 else 0
        return f"{amount:.{digits}f} {units[unit]}"

    return show


#: Nanoseconds, as ns, µs, ms or s.
duration = _scaled(1000, ("ns", "µs", "ms", "s"))
#: Picojoules, as pJ to J.
energy = _scaled(1000, ("pJ", "nJ", "µJ", "mJ", "J"))
#: Bytes, as B to TiB.
size = _scaled(1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def ratio(value: Value) -> str:
    """A factor, such as 12.3x."""
    return f"{plain(value)}x" if isinstance(value, int | float) else plain(value)


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in JSON, its heading for people, and how a value is shown."""

    key: str
    heading: str
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
    """One value that stands outside of any table."""

    label: str
    value: Value
    show: Format = plain


@dataclass(frozen=True)
class Result:
    """Everything that a command found, under its keys in JSON."""

    title: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints."""
        facts = {key: fact.value for key, fact in self.facts.items()}
        tables = {key: [dict(row) for row in table.rows] for key, table in self.tables.items()}
        return {**facts, **tables}

    def show(self, console: Console) -> None:
        """Print it for people."""
        console.print(self.title, style="bold", soft_wrap=True, highlight=False)
        width = max((len(fact.label) for fact in self.facts.values()), default=0)
        for fact in self.facts.values():
            console.print(
                f"  {fact.label:<{width}}  {fact.show(fact.value)}",
                soft_wrap=True,
                highlight=False,
                markup=False,
            )
        for table in self.tables.values():
            console.print(_rich(table))


def emit(result: Result, *, as_json: bool) -> None:
    """Print a result to the standard output, as one JSON object or for people."""
    if as_json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        result.show(Console())


def _rich(table: Table) -> RichTable:
    shown = RichTable(header_style="bold", box=None, pad_edge=True, padding=(0, 2))
    for column in table.columns:
        values = [row[column.key] for row in table.rows]
        text = any(isinstance(value, str) for value in values)
        shown.add_column(column.heading, justify="left" if text else "right", overflow="fold")
    for row in table.rows:
        shown.add_row(*(column.show(row[column.key]) for column in table.columns))
    return shown
