"""Results as text of a given width: which columns a table has there, where long lines are folded.

A table that is too wide loses columns, those of the highest rank first, and says which; only then is text
folded. Numbers are never folded.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bitline.display.result import Branch, Column, Result, Table

#: Columns of a page, where nobody says how wide it is.
PAGE = 80
#: Before everything but titles, and between columns.
_INDENT = _GAP = "  "
#: The least that a text is folded to; and of prose, before other columns give way to it.
_FOLDED_MIN, _PROSE_MIN = 12, 30
#: Words that are no longer than this are not broken.
_WORD_MAX = 44
#: Of a title and headings, on terminals that show it.
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True)
class Page:
    """Where text goes."""

    width: int | None = PAGE
    """Columns of the page; None for as many as it takes."""
    fold: bool = True
    """Whether lines that are longer are folded: not where a program may read them."""
    bold: bool = False
    """Whether titles and headings are set in bold, by the escape sequences of terminals."""
    more: str = ""
    """Where the columns are that a table has no room for."""

    def strong(self, text: str) -> str:
        """A title or heading."""
        return f"{_BOLD}{text}{_PLAIN}" if self.bold and text else text

    def folded(self, text: str, first: str = "", then: str | None = None) -> list[str]:
        """A text as lines that begin with `first`, and `then` from the second on."""
        then = first if then is None else then
        if self.width is None or not self.fold or len(first) + len(text) <= self.width:
            return [(first + text).rstrip()]
        room = max(self.width, len(then) + _FOLDED_MIN)
        return textwrap.wrap(text, room, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def render(result: Result, page: Page) -> str:
    """A result for people, without a line break at its end."""
    blocks = [[*_strong(page.folded(result.title), page), *_facts(result, page)]]
    roots = [tree.root for tree in result.trees.values() if tree.root]
    blocks += [list(_tree(root, page, _INDENT, _INDENT)) for root in roots]
    blocks += [_table(table, page) for table in result.tables.values()]
    if result.verdict:
        blocks.append([line for text in result.verdict.splitlines() for line in page.folded(text)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _strong(lines: Sequence[str], page: Page) -> list[str]:
    return [page.strong(line) for line in lines if line]


def _facts(result: Result, page: Page) -> list[str]:
    facts = [(fact.label, fact.show(fact.value)) for fact in result.facts.values() if fact.label]
    width = max((len(label) for label, _ in facts), default=0)
    lines = []
    for label, value in facts:
        first = f"{_INDENT}{label:<{width}}{_GAP}"
        lines += page.folded(value, first, " " * len(first))
    return lines


def _tree(branch: Branch, page: Page, first: str, then: str) -> Iterator[str]:
    """The lines of a branch: the first begins with `first`, what hangs on it with `then`."""
    last = len(branch.branches) - 1
    yield from page.folded(branch.text, first, then + ("│ " if branch.branches else "  "))
    for number, below in enumerate(branch.branches):
        elbow, beside = ("└── ", "    ") if number == last else ("├── ", "│   ")
        yield from _tree(below, page, then + elbow, then + beside)


@dataclass(frozen=True)
class _Shown:
    """A column with its cells as text."""

    column: Column
    cells: Sequence[str]
    text: bool

    @property
    def heading(self) -> str:
        return self.column.heading or ""

    @property
    def width(self) -> int:
        return max(map(len, (self.heading, *self.cells)))

    @property
    def word(self) -> int:
        """The width of its longest word, as far as words are not broken."""
        words = [len(word) for cell in self.cells for word in cell.split()]
        return min(max(words, default=0), _WORD_MAX)

    @property
    def least(self) -> int:
        """The width that it needs beside others."""
        return min(self.width, max(_PROSE_MIN, self.word)) if self.text else self.width


def _table(table: Table, page: Page) -> list[str]:
    shown = [_column(table, column) for column in table.columns if column.heading is not None]
    if not shown:
        return []
    kept = list(shown)
    while page.width is not None and _width([each.least for each in kept]) > page.width:
        ranked = [each for each in kept if each.column.rank]
        if not ranked:
            break
        # Of several of a rank, the last one.
        first = max(reversed(ranked), key=lambda each: each.column.rank)
        pair = first.column.pair
        kept = [each for each in kept if each is not first and not (pair and each.column.pair == pair)]
    widths = _folded_widths(kept, page)
    lines = _strong(["\n".join(_cells(kept, [each.heading for each in kept], widths, page))], page)
    for cells in zip(*(each.cells for each in kept), strict=True):
        lines += _cells(kept, cells, widths, page)
    missing = [each.heading for each in shown if each not in kept]
    if missing:
        more = f"; {page.more}" if page.more else ""
        lines += page.folded(f"(without {', '.join(missing)}{more})", _INDENT)
    return lines


def _column(table: Table, column: Column) -> _Shown:
    values = [row[column.key] for row in table.rows]
    text = any(isinstance(value, str) for value in values)
    return _Shown(column, [" ".join(column.show(value).split()) for value in values], text)


def _width(widths: Sequence[int]) -> int:
    return len(_INDENT) + sum(widths) + len(_GAP) * (len(widths) - 1)


def _folded_widths(shown: Sequence[_Shown], page: Page) -> list[int]:
    """The width of each column, texts folded until the table fits or none can be narrower."""
    widths = [each.width for each in shown]
    if page.width is None or not page.fold:
        return widths
    over = _width(widths) - page.width
    while over > 0:
        folding = [n for n, each in enumerate(shown) if each.text and widths[n] > max(_FOLDED_MIN, each.word)]
        if not folding:
            break
        # The widest gives way first, down to the next.
        widest = max(folding, key=lambda n: widths[n])
        widths[widest] -= 1
        over -= 1
    return widths


def _cells(shown: Sequence[_Shown], cells: Sequence[str], widths: Sequence[int], page: Page) -> list[str]:
    """The lines of a row."""
    folded = [
        textwrap.wrap(cell, width, break_on_hyphens=False) if page.fold and len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    lines = []
    for number in range(max(map(len, folded))):
        parts = []
        for each, column, width in zip(folded, shown, widths, strict=True):
            part = each[number] if number < len(each) else ""
            parts.append(f"{part:<{width}}" if column.text else f"{part:>{width}}")
        lines.append((_INDENT + _GAP.join(parts)).rstrip())
    return lines
