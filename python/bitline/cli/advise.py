"""`bitline advise`: groups and inversions for expressions that will be asked so and so often."""

import re
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline.advice import Advice
from bitline.cli.options import Config, Json, Preset, Set, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, duration, emit, energy, rate
from bitline.errors import UsageError
from bitline.symbols import Formula, parse

#: What looks like the name of a file.
_FILE = re.compile(r"[\w./-]*[./][\w./-]*")

Asked = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|EXPR...",
        help="Expressions such as 'a & (b | ~c)', each alone or as 'EXPR @ TIMES' where it is asked often; "
        "or a file with one of these a line, where # begins a comment.",
        show_default=False,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="NAMES", help="Vectors that share a group now, as a,b,c; may be repeated."
    ),
]
Inverse = Annotated[
    str | None,
    typer.Option("--inverse", metavar="NAMES", help="Vectors that are stored inverted now, as a,b,c."),
]


def advise(
    expressions: Asked,
    group: Groups = None,
    inverse: Inverse = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    as_json: Json = False,
) -> None:
    """Propose which vectors to put into one group and which to store inverted.

    Shows for each expression the senses it takes for a page, as vectors are placed now (all in one group,
    unless told otherwise) and as proposed.
    """
    asked = _lines(expressions)
    advice = bitline.advise(
        asked,
        groups=[_names(names) for names in group or []],
        inverse=_names(inverse or ""),
        preset=preset,
        config=config,
        set=settings(set_),
    )
    emit(_result(advice), as_json=as_json)


def _lines(arguments: list[str]) -> list[tuple[Formula, float]]:
    """The expressions themselves, or those of the one file named."""
    file = Path(arguments[0])
    if len(arguments) != 1 or not file.is_file():
        if len(arguments) == 1 and _FILE.fullmatch(arguments[0]):
            raise UsageError(f"{file}: this is no expression, and there is no such file")
        return [_asked(argument) for argument in arguments]
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: this is no text: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        try:
            found += [_asked(words)] if words else []
        except UsageError as error:
            raise UsageError(f"{file}, line {number}: {error}") from None
    if not found:
        raise UsageError(f"{file}: there is no expression in it")
    return found


def _asked(line: str) -> tuple[Formula, float]:
    """An expression and how often it is asked."""
    expression, at, times = line.rpartition("@")
    if not at:
        return parse(line), 1
    try:
        return parse(expression.strip()), float(times)
    except ValueError:
        raise UsageError(f"{line!r}: {times.strip()!r} is no number; expected EXPR @ TIMES") from None


def _names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _result(advice: Advice) -> Result:
    columns = [
        Column("expression", "Expression"),
        Column("frequency", "Times", rate),
        Column("senses_before", "Senses now"),
        Column("senses", "Proposed"),
        Column("page_transfers_before", "Pages now"),
        Column("page_transfers", "Proposed"),
        Column("time_before_ns", "Time now", duration),
        Column("time_ns", "Proposed", duration),
    ]
    rows: list[dict[str, Value]] = [
        {
            "expression": row.expression,
            "frequency": row.frequency,
            "senses_before": row.senses_before,
            "senses": row.senses,
            "page_transfers_before": row.page_transfers_before,
            "page_transfers": row.page_transfers,
            "time_before_ns": row.time_before.ns,
            "time_ns": row.time.ns,
        }
        for row in advice.expressions
    ]
    groups: list[dict[str, Value]] = [
        {"group": number, "vectors": ", ".join(str(member) for member in members)}
        for number, members in enumerate(advice.groups)
    ]
    again = advice.replacing
    saved = 1 - advice.senses / advice.senses_before if advice.senses_before else 0.0
    facts = {
        "senses_before": Fact("Senses of all, now", advice.senses_before, rate),
        "senses": Fact("  as proposed", advice.senses, rate),
        "saved_percent": Fact("  saved, percent", round(100 * saved, 2)),
        "replaced_vectors": Fact("Vectors to be written anew", again.vectors),
        "replacing_time_ns": Fact("  time of that", again.time.ns, duration),
        "replacing_energy_pj": Fact("  energy of that", again.energy.pj, energy),
        "questions_for_time": Fact("  questions that win the time", again.questions_for_time),
        "questions_for_energy": Fact("  questions that win the energy", again.questions_for_energy),
    }
    tables = {
        "expressions": Table(columns, rows),
        "groups": Table(
            [Column("group", "Group"), Column("vectors", "Vectors; ~ is stored inverted")], groups
        ),
    }
    return Result("Groups and inversions", facts, tables)
