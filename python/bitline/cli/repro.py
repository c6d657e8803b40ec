"""`bitline repro`: the results of papers, simulated anew and held against what was published."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from bitline.cli.options import Json, Wide
from bitline.cli.output import Column, Fact, Result, Table, Value, emit
from bitline.cli.progress import progress
from bitline.errors import UsageError, WrongResultError
from bitline.units import counted

if TYPE_CHECKING:
    from bitline.repro.comparison import Comparison
    from bitline.repro.flash_cosmos.sensitivity import Moved
    from bitline.repro.published import Published

app = typer.Typer(
    help="Regenerate the figures of papers, and hold their numbers against the published ones.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the figures go, as PNG and Parquet.")]
Numbers = Annotated[
    Path | None,
    typer.Option(
        "--published",
        metavar="DIR",
        help="The published numbers; those that come along if not given.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if a number is beyond the aim.")]


def _only(section: str) -> OptionInfo:
    """The option that names figures of a paper, with a section as an example."""
    option: OptionInfo = typer.Option(
        "--figure", metavar="N", help=f"Only this figure, or section ({section}); may be repeated."
    )
    return option


#: Before a number that is a bound.
_SIGNS = {"": "", "at_most": "≤ ", "at_least": "≥ ", "above": "> ", "below": "< "}


@app.callback()
def _repro() -> None:
    pass


@app.command("flash-cosmos")
def flash_cosmos(
    figure: Annotated[list[str] | None, _only("8.3")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter vectors: seconds, and less exact ratios.")
    ] = False,
    out: Out = Path("repro-flash-cosmos"),
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="COUNT", help="Processes; as many as cores if not given.", min=1),
    ] = None,
    published: Numbers = None,
    strict: Strict = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Also measure how the numbers move with every estimate of the drive: some 30 times as long.",
        ),
    ] = False,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Flash-Cosmos (MICRO 2022): its figures at full size, and a table of published and measured numbers.

    A number that deviates from the published one is no error, unless it is asked for with --strict.
    """
    # A second of imports; other commands do without.
    from bitline.repro.comparison import Settings
    from bitline.repro.flash_cosmos import report
    from bitline.repro.flash_cosmos.published import FOLDER
    from bitline.repro.flash_cosmos.published import published as read

    _check_folder(out)
    known = read(published or FOLDER)
    wanted = figure or list(report.FIGURES)
    with _bars(quiet=as_json) as told:
        settings = Settings(out, quick, workers, known, told)
        found = report.reproduce(wanted, settings)
        moved = report.lean(wanted, settings) if sensitivity else None
    variants = None
    if {"17", "18"} & set(wanted):
        import pyarrow.parquet as pq

        variants = pq.read_table(out / report.ASSUMPTIONS).to_pylist()
    more = {} if moved is None else {"sensitivity": _sensitivity(moved, everything=as_json)}
    if variants is not None:
        more = {"assumptions": _assumptions(variants), **more}
    title = f"Flash-Cosmos, reproduced{' (quick: shorter vectors than the paper has)' if quick else ''}"
    said = "Quick: vectors are shorter than the paper's, so that ratios deviate more." if quick else ""
    emit(_result(title, found, more, out, said, quick=quick), as_json=as_json, wide=wide, prose=True)
    _check(found, strict=strict)


@app.command("anvil")
def anvil(
    figure: Annotated[list[str] | None, _only("8.4")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer queries and smaller graphs: a minute or two.")
    ] = False,
    out: Out = Path("repro-anvil"),
    published: Numbers = None,
    strict: Strict = False,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """ANVIL (ISCA 2025): its figures on its two drives, and a table of published and measured numbers.

    A number that deviates from the published one is no error, unless it is asked for with --strict.
    """
    # A second of imports; other commands do without.
    from bitline.repro import anvil as paper
    from bitline.repro.anvil import report

    _check_folder(out)
    known = paper.published(published or paper.FOLDER)
    wanted = figure or list(report.FIGURES)
    found = _made(report, wanted, known, out, quick=quick, quiet=as_json)
    title = f"ANVIL, reproduced{' (quick: fewer queries, smaller graphs)' if quick else ''}"
    said, more = _not_measured(known, wanted, found, as_json=as_json)
    emit(_result(title, found, more, out, said, quick=quick), as_json=as_json, wide=wide, prose=True)
    _check(found, strict=strict)


@app.command("txisc")
def txisc(
    figure: Annotated[list[str] | None, _only("5.2")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer requests and smaller files: seconds.")
    ] = False,
    out: Out = Path("repro-txisc"),
    published: Numbers = None,
    strict: Strict = False,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """TxISC (DATE 2025): tasks in its drive with and without transactions, published numbers beside ours.

    It needs the C compiler of `bitline cc`. A number that deviates from the published one is no error,
    unless it is asked for with --strict.
    """
    # A second of imports; other commands do without.
    from bitline.repro import txisc as paper
    from bitline.repro.txisc import report

    _check_folder(out)
    known = paper.published(published or paper.FOLDER)
    wanted = figure or list(report.FIGURES)
    found = _made(report, wanted, known, out, quick=quick, quiet=as_json)
    title = f"TxISC, reproduced{' (quick: fewer requests, smaller files)' if quick else ''}"
    said, more = _not_measured(known, wanted, found, as_json=as_json)
    said += " Not reproduced: what the host alone would take is not modelled." if said else ""
    emit(_result(title, found, more, out, said, quick=quick), as_json=as_json, wide=wide, prose=True)
    _check(found, strict=strict)


@app.command("th-issd")
def th_issd(
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="N",
            help="Only this figure (9, 10, 14, 15), or features, intensity, policies; may be repeated.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer batches and less data: half a minute.")
    ] = False,
    out: Out = Path("repro-th-issd"),
    published: Numbers = None,
    strict: Strict = False,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """TH-iSSD (TECS 2023): retrieval and recording in the drive, beside a compute-centric baseline.

    It needs the C compiler of `bitline cc`. A number that deviates from the published one is no error,
    unless it is asked for with --strict.
    """
    # A second of imports; other commands do without.
    from bitline.repro import th_issd as paper
    from bitline.repro.th_issd import report

    _check_folder(out)
    known = paper.published(published or paper.FOLDER)
    wanted = figure or list(report.FIGURES)
    found = _made(report, wanted, known, out, quick=quick, quiet=as_json)
    title = f"TH-iSSD, reproduced{' (quick: fewer batches, less data)' if quick else ''}"
    said, more = _not_measured(known, wanted, found, as_json=as_json)
    emit(_result(title, found, more, out, said, quick=quick), as_json=as_json, wide=wide, prose=True)
    _check(found, strict=strict)


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: this is no folder")


def _made(
    report: ModuleType, wanted: list[str], known: list["Published"], out: Path, *, quick: bool, quiet: bool
) -> list["Comparison"]:
    """The figures of a paper that one process makes, and their numbers beside the published ones."""
    from bitline.repro.comparison import Settings

    with _bars(quiet=quiet) as told:
        found: list[Comparison] = report.reproduce(wanted, Settings(out, quick, None, known, told))
    return found


def _not_measured(
    known: list["Published"], wanted: list[str], found: list["Comparison"], *, as_json: bool
) -> tuple[str, dict[str, Table]]:
    """What of the published numbers nothing was measured for: in words, and for JSON as a table."""
    from bitline.repro.comparison import folder_of

    folders = {folder_of(name) for name in wanted}
    compared = {one.published.key for one in found}
    missing = [one for one in known if one.figure in folders and one.key not in compared]
    said = f"Not measured: {'; '.join(one.quantity for one in missing)}." if missing else ""
    return said, {"not_measured": _missing(missing)} if missing and as_json else {}


def _check(found: list["Comparison"], *, strict: bool) -> None:
    """Fail if a number is beyond the aim, and that was asked for."""
    missed = sum(not one.within for one in found)
    if strict and missed:
        raise WrongResultError(f"{counted(missed, 'number')} of {len(found)} beyond the aim")


def _missing(numbers: list["Published"]) -> Table:
    """Published numbers that nothing was measured for."""
    columns = [Column("figure", "Fig.", _figure), Column("key", None), Column("quantity", "Quantity")]
    rows = [{"figure": one.figure, "key": one.key, "quantity": one.quantity} for one in numbers]
    return Table(columns, rows)


def _assumptions(variants: list[dict[str, Value]]) -> Table:
    """Ratios with one assumption changed."""
    columns = [
        Column("assumption", "Changed"),
        Column("quantity", "Quantity"),
        Column("published", "Published", _number),
        Column("as_it_is", "As it is", _number),
        Column("changed", "Then", _number),
    ]
    return Table(columns, variants)


@contextmanager
def _bars(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for each thing that is done, one after the other."""
    shown: dict[str, Callable[[int], None]] = {}
    with ExitStack() as stack:

        def told(what: str, done: int, total: int) -> None:
            if what not in shown:
                stack.pop_all().close()
                shown[what] = stack.enter_context(progress(what, total, quiet=quiet))
            shown[what](done)

        yield told


def _result(
    title: str,
    found: list["Comparison"],
    more: dict[str, Table],
    out: Path,
    said: str,
    *,
    quick: bool,
) -> Result:
    """The table, and after it notes and what is `said` of the run."""
    from bitline.repro.comparison import row_of

    columns = [
        Column("figure", "Fig.", _figure),
        Column("key", None),
        Column("quantity", "Quantity"),
        Column("published", None),
        Column("stated", "Paper"),
        Column("measured", "Measured", _number),
        Column("unit", "Unit", lambda unit: str(unit).replace("us", "µs")),
        Column("deviation", "Deviation", _percent),
        Column("tolerance", None),
        Column("bound", None),
        Column("gain", None),
        Column("aim", "Aim", rank=3),
        Column("within", "OK", lambda value: "yes" if value else "NO"),
        Column("arithmetic_mean", "Arithmetic mean", _number, rank=4),
        Column("note", None),
        Column("source", None),
    ]
    rows: list[Mapping[str, Value]] = [
        {key: _plain(value) for key, value in row_of(one).items()}
        | {"stated": f"{_SIGNS[one.published.bound]}{_number(one.published.value)}"}
        for one in found
    ]
    missed = [one for one in found if not one.within]
    facts = {
        "out": Fact("Figures in", str(out)),
        "quick": Fact(None, quick),
        "compared": Fact("Numbers compared", len(found)),
        "within": Fact("  within the aim", len(found) - len(missed)),
    }
    # A note on several numbers is told once.
    notes: dict[str, list[str]] = {}
    for one in missed:
        if one.published.note:
            notes.setdefault(one.published.note, []).append(one.published.quantity)
    lines = [f"{'; '.join(quantities)}: {note}" for note, quantities in notes.items()]
    verdict = "\n\n".join([*lines, said]).strip()
    return Result(title, facts, {"table": Table(columns, rows)} | more, verdict)


def _figure(value: Value) -> str:
    """A folder's name as papers write it: 7 for figure-07, § 8.3 for section-8.3."""
    kind, _, number = str(value).partition("-")
    return number.lstrip("0") if kind == "figure" else f"§ {number}"


def _sensitivity(moved: list["Moved"], *, everything: bool) -> Table:
    """All moves for JSON; for people the furthest of each estimate and figure, and what crosses the aim."""
    from bitline.repro.flash_cosmos.sensitivity import told

    columns = [
        Column("figure", "Figure"),
        Column("estimate", "Estimate"),
        Column("value", "Value"),
        Column("low", "Low"),
        Column("high", "High"),
        Column("key", None),
        Column("quantity", "Quantity"),
        Column("published", "Published", _number),
        Column("at_low", "At low", _number),
        Column("as_it_is", "As it is", _number),
        Column("at_high", "At high", _number),
        Column("moves", None),
        Column("within", None),
        Column("within_at_low", None),
        Column("within_at_high", None),
        Column("source", None),
    ]
    rows = moved if everything else told(moved)
    return Table(columns, [{key: _plain(value) for key, value in one.row().items()} for one in rows])


def _plain(value: object) -> Value:
    return value if isinstance(value, bool | int | float | str) else None


def _number(value: Value) -> str:
    if not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:.2e}" if 0 < abs(value) < 0.01 else f"{value:.4g}"


def _percent(value: Value) -> str:
    return f"{value * 100:+.1f} %" if isinstance(value, int | float) else "-"
