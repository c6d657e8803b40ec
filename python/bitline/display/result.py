"""What is shown: one structure for people, for notebooks and for JSON.

Values are plain numbers and strings in the unit that their key ends in (`time_ns`, `energy_pj`,
`link_bytes`). JSON has them as they are; people see them rounded with a fitting unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bitline.display.formats import Format, Value, plain


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in JSON, its heading for people, and how a value is shown.

    Without a heading it is only in JSON.
    """

    key: str
    heading: str | None
    show: Format = plain
    rank: int = 0
    """How soon it gives way where the table is wider than the page: 0 never, the highest first."""
    pair: str = ""
    """Columns of the same name here say something only beside each other, and give way together."""


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
    """A tree for people, if they are to see it, and the data that it shows for JSON."""

    root: Branch | None
    data: object


@dataclass(frozen=True)
class Result:
    """Everything that a command found, or that an object holds, under its keys in JSON."""

    title: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    verdict: str = ""
    """The last lines, for people only."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    """They stand between facts and tables."""

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints."""
        facts = {key: fact.value for key, fact in self.facts.items()}
        tables = {key: [dict(row) for row in table.rows] for key, table in self.tables.items()}
        trees = {key: tree.data for key, tree in self.trees.items()}
        return {**facts, **trees, **tables}
