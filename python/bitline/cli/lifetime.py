"""`bitline lifetime`: wrong results as a drive wears and its data ages, and how many runs a workload has."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitline.cli.measure import open_drive
from bitline.cli.options import Config, Json, Preset, Set, Wide, destination, distinct, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, emit
from bitline.cli.progress import progress
from bitline.display.formats import Format, duration, plain, rate, size
from bitline.errors import UsageError
from bitline.opening import configuration
from bitline.workload_file import WorkloadFile

if TYPE_CHECKING:
    from bitline.lifetime import Endurance, Point

#: How soon columns of cycles give way in a narrow table.
_RANKS = {15_000: 3, 2_000: 2, 1_000: 1}
#: Below the table.
_MEANING = "Shares of wrong bits; in parentheses the raw bit error rate of what the array cannot compute on."


def lifetime(
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    operands: Annotated[
        int | None,
        typer.Option(
            "--operands",
            metavar="COUNT",
            help="Vectors that meet in one AND [16].",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Save the figure: wrong results over cycles and over years."
        ),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Save all points in a Parquet file.")
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option(
            "--workload",
            metavar="FILE",
            help="Instead: how often what a workload file says can run until the rated erases are used up.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", help="Runs of --workload that are measured, after a first one [3].", min=1, max=1000
        ),
    ] = None,
    per_day: Annotated[
        float | None,
        typer.Option("--per-day", metavar="RUNS", help="Tell years for so many runs of --workload a day."),
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Count wrong results of ANDs in the flash, over 0 to 20,000 cycles and 0 to 5 years.

    Vectors are programmed as SLC and with additional steps (ESP), drives made older, results compared with
    NumPy's. MLC, which the array cannot compute on, is calculated. The table is of one year.

    With --workload: what a run of a file wears, as measured, and how many runs, bytes and years that leaves.
    A rebuild of an index is such a run. Give the file a [precondition], so that collection copies as on a
    drive in use.
    """
    if workload is not None:
        for option, value in (("--operands", operands), ("--plot", plot), ("--parquet", parquet)):
            if value is not None:
                raise UsageError(f"{option} is of wrong results; leave it out, or --workload")
        return _of_workload(
            workload, preset, config, set_, 3 if runs is None else runs, per_day, as_json=as_json
        )
    for option, given in (("--runs", runs), ("--per-day", per_day)):
        if given is not None:
            raise UsageError(f"{option} is of a workload; give --workload, too")
    operands = 16 if operands is None else operands
    distinct(("--plot", plot), ("--parquet", parquet))
    for option, path in (("--plot", plot), ("--parquet", parquet)):
        if path is not None:
            destination(option, path)
    if plot is not None:
        from bitline.figures import check_format

        check_format(f"--plot {plot}", plot.suffix)
    # Needs NumPy; help does without.
    from bitline.lifetime import CYCLES, EFFORTS, measure

    chosen = configuration(preset, config, settings(set_))
    with progress("Ageing drives", len(EFFORTS) * len(CYCLES), quiet=as_json) as advance:
        points = measure(chosen, operands=operands, progress=advance)
    rows = [_row(point) for point in points]
    if parquet is not None:
        # Half a second of import; other commands do without.
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), parquet, compression="zstd")
    if plot is not None:
        from bitline.lifetime.plot import plot as draw

        draw(plot, points, f"{chosen.name}: wrong results over a lifetime")
    facts = {"operands": Fact("Operands of each AND", operands)}
    if plot is not None:
        facts["plot"] = Fact("Figure", str(plot))
    if parquet is not None:
        facts["parquet"] = Fact("Points", str(parquet))
    if as_json:
        columns = [Column(key, key) for key in rows[0]]
        return emit(Result("", facts, {"points": Table(columns, rows)}), as_json=True)

    def of(cycles: int) -> "dict[str, Point]":
        shown = [point for point in points if (point.pe_cycles, point.years) == (cycles, 1.0)]
        return {_name(point): point for point in shown}

    names = list(of(CYCLES[0]))
    table = [{"mode": name, **{str(cycles): _share(of(cycles)[name]) for cycles in CYCLES}} for name in names]
    columns = [
        Column("mode", "Mode"),
        *(Column(str(cycles), f"{cycles:,}", rank=_RANKS.get(cycles, 0)) for cycles in CYCLES),
    ]
    title = f"{chosen.name}: wrong results by P/E cycles, after a year"
    emit(Result(title, facts, {"year": Table(columns, table)}, _MEANING), as_json=False, wide=wide)
    return None


def _of_workload(
    path: Path,
    preset: str | None,
    config: Path | None,
    set_: list[str] | None,
    runs: int,
    per_day: float | None,
    *,
    as_json: bool,
) -> None:
    """How often what a file says can be repeated."""
    from bitline.lifetime import endurance

    file = WorkloadFile.read(path)
    if preset is None and config is None:
        preset, config = file.drive.preset, file.drive.config
    with open_drive(preset, config, {**(file.drive.settings or {}), **settings(set_)}, None) as drive:
        try:
            if file.precondition is not None:
                drive.media.precondition(**file.precondition)
            for group in file.groups:
                group.place(drive)
            with progress("Running the workload", runs, quiet=as_json) as advance:
                found = endurance(drive, file.workloads, runs=runs, progress=advance)
            facts = _endurance(found, per_day)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
    emit(Result(f"{path}: how often it can be repeated", facts), as_json=as_json)


def _endurance(found: "Endurance", per_day: float | None) -> dict[str, Fact]:
    def open_end(show: Format) -> Format:
        return lambda value: "no end: it wears nothing" if value is None else show(value)

    pace = "one after another" if per_day is None else f"at {per_day:g} a day"
    percent = 100 * found.wear_erases / (found.rated_erases * found.blocks)
    return {
        "runs_measured": Fact("Runs measured", found.runs_measured),
        "elapsed_ns": Fact("  time of one", found.elapsed.ns, duration),
        "written_bytes": Fact("  written by the host", int(found.written_bytes), size),
        "page_programs": Fact("  pages programmed", found.page_programs, rate),
        "block_erases": Fact("  blocks erased", found.block_erases, rate),
        "write_amplification": Fact("  write amplification", found.write_amplification, plain),
        "wear_erases": Fact("  erases that it costs in the long run", found.wear_erases, rate),
        "wear_from": Fact("    told by its", found.wear_from),
        "wear_percent": Fact("  of the drive's life, percent", percent, plain),
        "rated_erases": Fact("Rated erases of a block", found.rated_erases),
        "used_erases": Fact("  used before", found.used_erases, plain),
        "blocks": Fact("Blocks", found.blocks),
        "runs": Fact("Runs until they are used up", found.runs, open_end(rate)),
        "bytes_left": Fact("  written by the host until then", found.bytes_left, open_end(size)),
        "years": Fact(f"  years, {pace}", found.years(per_day), open_end(rate)),
    }


def _row(point: "Point") -> dict[str, Value]:
    return {
        "mode": point.mode,
        "effort": point.effort,
        "pe_cycles": point.pe_cycles,
        "years": point.years,
        "operands": point.operands,
        "result_bits": point.result_bits,
        "wrong_bits": point.wrong_bits,
        "bit_error_rate": point.bit_error_rate,
        "expected_share": point.expected,
    }


def _name(point: "Point") -> str:
    return f"ESP x{point.effort:g}" if point.mode == "esp" else point.mode.upper()


def _share(point: "Point") -> str:
    if not point.result_bits:
        return f"({point.expected:.1e})"
    return f"{point.wrong_bits / point.result_bits:.1e}" if point.wrong_bits else "0"
