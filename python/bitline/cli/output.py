"""How commands print what they found: for people, as wide as their terminal, or as one JSON object."""

import json
import os
import shutil
import sys

from bitline.cli.errors import Exit
from bitline.display.formats import (
    Format,
    Value,
    duration,
    energy,
    of,
    percent,
    plain,
    rate,
    ratio,
    size,
)
from bitline.display.result import Branch, Column, Fact, Result, Table, Tree
from bitline.display.text import PAGE, Page, render

__all__ = [
    "Branch",
    "Column",
    "Fact",
    "Format",
    "Result",
    "Table",
    "Tree",
    "Value",
    "duration",
    "emit",
    "energy",
    "of",
    "percent",
    "plain",
    "rate",
    "ratio",
    "size",
]


def emit(result: Result, *, as_json: bool, wide: bool = False, prose: bool = False) -> None:
    """Print a result to the standard output, as one JSON object or for people.

    Args:
        result: What was found.
        as_json: Whether as JSON.
        wide: Whether tables keep all of their columns, however wide the terminal is.
        prose: Whether long lines are folded in a pipe, too, as much of it is sentences.

    Raises:
        SystemExit: Nobody reads it any more.
    """
    if as_json:
        text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    else:
        text = render(result, page(wide=wide, prose=prose))
    say(text)


def say(text: str) -> None:
    """Print text to the standard output.

    Raises:
        SystemExit: Nobody reads it any more.
    """
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would be tried again, and fail again, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(Exit.PIPE) from None


def page(*, wide: bool = False, prose: bool = False) -> Page:
    """The page that the standard output is.

    Tables have the columns that the terminal has room for, in a pipe or file as many as a page of 80 has; the
    variable COLUMNS says otherwise. Long lines are folded on a terminal alone, unless they are `prose`: who
    reads a pipe reads lines.
    """
    terminal = sys.stdout.isatty()
    width = None if wide else shutil.get_terminal_size((PAGE, 24)).columns
    if not terminal and not wide and not os.environ.get("COLUMNS"):
        width = PAGE
    bold = terminal and os.environ.get("TERM") != "dumb"
    return Page(width, fold=(terminal or prose) and not wide, bold=bold, more="--wide shows all")
