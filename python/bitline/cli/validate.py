"""`bitline validate`: results held against those of other simulators."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bitline import _bitline
from bitline.cli.errors import Exit
from bitline.cli.options import Json
from bitline.cli.output import Value
from bitline.cli.progress import progress
from bitline.errors import ConfigError

app = typer.Typer(
    help="Hold this drive's results against those of other simulators.",
    no_args_is_help=True,
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
            help="A case (ssdconfig.xml, workload.xml and reference.json), or a folder of cases.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Import cases of MQSim, run them on this drive, and compare.

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
        _show(rows, list(notes))
    if not all(row["ok"] for row in rows):
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


def _show(rows: Sequence[Row], notes: Sequence[str]) -> None:
    """Notes, then a table; as wide as it needs where nobody looks."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    for note in notes:
        console.print(Text.assemble(("note: ", "bold"), note), soft_wrap=True)
    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 1))
    for heading in ("Case", "Quantity"):
        table.add_column(heading, overflow="fold")
    for heading in ("Ours", "Theirs", "Deviation"):
        table.add_column(heading, justify="right")
    table.add_column("OK")
    last = None
    for row in rows:
        case = str(row["case"])
        table.add_row(
            case if case != last else "",
            str(row["quantity"]),
            f"{row['ours']:,}",
            f"{row['theirs']:,}",
            _percent(row["deviation"]),
            Text("yes") if row["ok"] else Text("NO", style="bold red"),
        )
        last = case
    console.print(table)
    wrong = sum(not row["ok"] for row in rows)
    verdict = "all agree" if not wrong else f"{wrong} of {len(rows)} do not agree"
    console.print(f"\n{len(rows)} quantities compared: {verdict}", highlight=False)


def _percent(value: Value) -> str:
    return f"{value * 100:+.2f} %" if isinstance(value, float | int) else "-"
