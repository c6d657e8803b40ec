"""`bitline lifetime`: wrong results of in-flash computing as a drive wears and its data ages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitline.cli.options import Config, Json, Preset, Set, Wide, destination, distinct, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, emit
from bitline.cli.progress import progress
from bitline.opening import configuration

if TYPE_CHECKING:
    from bitline.lifetime import Point

#: How soon columns of cycles give way in a narrow table.
_RANKS = {15_000: 3, 2_000: 2, 1_000: 1}
#: Below the table.
_MEANING = "Shares of wrong bits; in parentheses the raw bit error rate of what the array cannot compute on."


def lifetime(
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    operands: Annotated[
        int, typer.Option("--operands", metavar="COUNT", help="Vectors that meet in one AND.")
    ] = 16,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Save the figure: wrong results over cycles and over years."
        ),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Save all points in a Parquet file.")
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Count wrong results of ANDs in the flash, over 0 to 20,000 cycles and 0 to 5 years.

    Vectors are programmed as SLC and with additional steps (ESP), drives made older, results compared with
    NumPy's. MLC, which the array cannot compute on, is calculated. The table is of one year.
    """
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
