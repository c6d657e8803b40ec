"""Results as HTML, for notebooks: all columns, since a cell scrolls."""

import html
from collections.abc import Iterator

from bitline.display.result import Branch, Result, Table

_LEFT, _RIGHT = ' style="text-align:left"', ' style="text-align:right"'


def render(result: Result) -> str:
    """A result as HTML."""
    parts = [f"<p><b>{_safe(result.title)}</b></p>"] if result.title else []
    facts = [(fact.label, fact.show(fact.value)) for fact in result.facts.values() if fact.label]
    if facts:
        rows = "".join(
            # What belongs to the line above is indented in text, too.
            f"<tr><td{_LEFT}>{_safe(label).replace('  ', '&emsp;')}</td><td{_LEFT}>{_safe(value)}</td></tr>"
            for label, value in facts
        )
        parts.append(f"<table><tbody>{rows}</tbody></table>")
    parts += [f"<ul>{''.join(_branch(tree.root))}</ul>" for tree in result.trees.values() if tree.root]
    parts += [_table(table) for table in result.tables.values()]
    parts += [f"<p>{_safe(line)}</p>" for line in result.verdict.splitlines()]
    return "<div>" + "".join(parts) + "</div>"


def _safe(text: str) -> str:
    return html.escape(text, quote=True)


def _branch(branch: Branch) -> Iterator[str]:
    yield f"<li>{_safe(branch.text)}"
    if branch.branches:
        yield "<ul>"
        for below in branch.branches:
            yield from _branch(below)
        yield "</ul>"
    yield "</li>"


def _table(table: Table) -> str:
    columns = [column for column in table.columns if column.heading is not None]
    sides = {
        column.key: _LEFT if any(isinstance(row[column.key], str) for row in table.rows) else _RIGHT
        for column in columns
    }
    head = "".join(f"<th{sides[column.key]}>{_safe(column.heading or '')}</th>" for column in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td{sides[column.key]}>{_safe(column.show(row[column.key]))}</td>" for column in columns)
        + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
