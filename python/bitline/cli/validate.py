"""`bitline validate`: results held against those of other simulators."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bitline import _bitline
from bitline.cli.errors import Exit
from bitline.cli.options import Json, Wide
from bitline.cli.output import Column, Result, Table, Value, emit
from bitline.cli.progress import progress
from bitline.errors import ConfigError

app = typer.Typer(
    help="Hold this drive's results against those of other simulators.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Row = Mapping[str, Value]


@app.callback()
def _validate() -> None:
    pass


@app.command()
def mqsim(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="A case (ssdconfig.xml, workload.xml and, to be compared with, reference.json), or a folder "
            "of cases.",
        ),
    ],
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Import cases of MQSim, run them on this drive, and compare with what MQSim reported, if that is there.

    Ends with 1 if a quantity deviates by more than it may, with 2 if a file cannot be used.
    """
    cases = _cases(folders)
    totals = [_bitline.mqsim_requests(case) for case in cases]
    rows: list[Row] = []
    notes: dict[str, None] = {}
    with progress("requests", sum(totals), first="preparing", quiet=as_json) as advance:
        done = 0
        for case, total in zip(cases, totals, strict=True):

            def told(requests: int, before: int = done) -> None:
                advance(before + requests)

            result = json.loads(_bitline.validate_mqsim(case, told))
            done += total
            rows += result["comparisons"]
            notes.update(dict.fromkeys(result["notes"]))
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        emit(_show(rows, list(notes), wide=wide), as_json=False, wide=wide)
    if any(row["ok"] is False for row in rows):
        raise SystemExit(Exit.WRONG)


def _cases(folders: Sequence[Path]) -> list[Path]:
    """The cases that the folders are, or hold."""
    cases: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder")
        if (folder / "ssdconfig.xml").exists() or (folder / "workload.xml").exists():
            cases.append(folder)
            continue
        within = sorted(path.parent for path in folder.glob("*/ssdconfig.xml"))
        if not within:
            raise ConfigError(f"{folder}: no case is here: there is no ssdconfig.xml in it or in its folders")
        cases += within
    return cases


def _show(rows: Sequence[Row], notes: Sequence[str], *, wide: bool) -> Result:
    """What was compared; each note once, however many cases have it."""
    columns = [
        Column("case", "Case"),
        Column("quantity", "Quantity"),
        Column("ours", "Ours"),
        Column("theirs", "Theirs", _known, rank=1),
        Column("deviation", "Deviation", _percent),
        Column("ok", "OK", lambda ok: "-" if ok is None else "yes" if ok else "NO"),
    ]
    told, last = [], None
    for row in rows:
        shown = {column.key: row[column.key] for column in columns}
        told.append({**shown, "case": "" if row["case"] == last else row["case"]})
        last = row["case"]
    wrong = sum(row["ok"] is False for row in rows)
    compared = sum(row["theirs"] is not None for row in rows)
    verdict = "all agree" if not wrong else f"{wrong} of {compared} do not agree"
    lines = [f"note: {note}" for note in _distinct(notes, wide=wide)]
    if compared:
        lines.append(f"{compared} quantities compared: {verdict}")
    if compared < len(rows):
        lines.append(f"{len(rows) - compared} quantities without a reference.json, compared with nothing")
    return Result(
        "MQSim's cases, ours beside theirs",
        tables={"comparisons": Table(columns, told)},
        verdict="\n".join(lines),
    )


def _distinct(notes: Sequence[str], *, wide: bool) -> list[str]:
    """Notes; without the files and lines that they are of, each of them once."""
    if wide:
        return list(notes)
    return list(dict.fromkeys(re.sub(r"^\S+\.xml:\d+: ", "", note) for note in notes))


def _known(value: Value) -> str:
    return "-" if value is None else str(value)


def _percent(value: Value) -> str:
    return f"{value * 100:+.2f} %" if isinstance(value, float | int) else "-"
