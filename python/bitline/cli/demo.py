"""`bitline demo`: TPC-H query 6's predicate, four ways on one drive, checked against PyArrow."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bitline
from bitline.cli.options import Config, Json, Preset, Set, Wide, destination, in_range, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, duration, emit, energy, ratio, size
from bitline.cli.progress import progress
from bitline.display.report import platform
from bitline.drive import Drive
from bitline.errors import UsageError, WrongResultError
from bitline.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bitline.demo import Answer, Race

#: Rows of `lineitem` at scale 1, about.
_ROWS_AT_SCALE_1 = 6_001_215
#: Where the figure goes if nothing else is asked for.
_FIGURE = "bitline-demo.png"


def demo(
    scale: Annotated[
        float,
        typer.Option(
            "--scale",
            metavar="FACTOR",
            help="TPC-H scale factor, 0.0001 to 10; 0.1 has 600,572 rows.",
        ),
    ] = 0.1,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Where the figure goes; the suffix names its format. [bitline-demo.png, with Matplotlib]",
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Answer TPC-H Q6's predicate inside the NAND array, beside three other ways.

    Generates TPC-H lineitem rows, writes a bitmap for each ship month, discount and quantity into the drive,
    and evaluates the predicate (shipped in 1994, discount 5 to 7 %, quantity below 24) in the host, in the
    drive's accelerator, with ParaBit and with Flash-Cosmos. Count and revenue of each must equal what PyArrow
    computes from the same rows; exits with 1 if one does not.
    """
    # PyArrow and Matplotlib take half a second to import; help does without.
    from bitline.demo import BITMAPS, SCALES, generate, race, write_index

    in_range("--scale", scale, *SCALES)
    path, draw = _figure(plot)
    with bitline.open(preset, config=config, set=settings(set_)) as drive:
        _check(tomllib.loads(drive.config))
        with progress("Generating rows", int(_ROWS_AT_SCALE_1 * scale), quiet=as_json) as advance:
            rows = generate(scale, advance)
        with progress("Writing bitmaps", BITMAPS, quiet=as_json) as advance:
            index = write_index(drive, rows, advance)
        with progress("Evaluating", len(bitline.PLATFORMS), quiet=as_json) as advance:
            found = race(drive, rows, index, advance)
        result = _result(drive, scale, len(rows), found, path)
    emit(result, as_json=as_json, wide=wide)
    # A wrong answer outweighs a figure that cannot be written.
    if not found.correct:
        wrong = [entrant.platform for entrant in found.entrants if not found.is_correct(entrant)]
        raise WrongResultError(
            f"wrong answer from {', '.join(wrong)}: count and revenue differ from PyArrow's"
        )
    if path is not None and draw is not None:
        draw(found, len(rows), path)


def _figure(plot: Path | None) -> "tuple[Path | None, Callable[[Race, int, Path], object] | None]":
    """Where the figure goes and what draws it; none if nobody asks for it and Matplotlib is not installed."""
    path = plot or Path(_FIGURE)
    destination("--plot", path)
    try:
        from bitline.demo.plot import plot as draw
        from bitline.figures import check_format
    except UsageError:
        if plot is not None:
            raise
        return None, None
    check_format(f"--plot {path}", path.suffix)
    return path, draw


def _check(config: dict[str, Any]) -> None:
    """Refuses a drive that cannot do it."""
    if config["data"]["storage"] == "none":
        raise UsageError("data.storage = none: the demo checks its answers, so the drive must keep data")
    if config["bits"]["compute_blocks_percent"] == 0:
        raise UsageError(
            f"bits.compute_blocks_percent = 0: the drive {config['name']} keeps no blocks for computing in "
            "the array; give it some with --set bits.compute_blocks_percent=10"
        )


def _result(drive: Drive, scale: float, rows: int, found: "Race", plot: Path | None) -> Result:
    index = found.index
    return Result(
        f"TPC-H Q6's predicate, four ways on one drive ({tomllib.loads(drive.config)['name']})",
        {
            "scale": Fact("Scale factor", scale),
            "rows": Fact("Rows", rows),
            "bitmaps": Fact("Bitmaps written", index.bitmaps),
            "bitmap_bytes": Fact("  bytes", index.bitmap_bytes, size),
            "write_time_ns": Fact("  simulated time", index.write_time.ns, duration),
            "operands": Fact("Bitmaps in the predicate", len(index.predicate.vectors)),
            "reference": Fact("PyArrow's answer", _plain(found.reference), _answer),
            "correct": Fact(None, found.correct),
            "plot": Fact("Figure", None if plot is None else str(plot), _drawn),
        },
        {"platforms": _table(found)},
        _verdict(found),
    )


def _table(found: "Race") -> Table:
    # Answers that are all PyArrow's would only repeat it; the table fits a narrow terminal without.
    wrong = not found.correct
    columns = [
        Column("platform", "Platform", platform),
        Column("simulated_time_ns", "Time", duration),
        Column("speedup_over_host", "Speedup", ratio),
        Column("channel_bytes", "Channels", size, rank=1),
        Column("pcie_bytes", "PCIe", size),
        Column("pcie_up_bytes", None),
        Column("pcie_down_bytes", None),
        Column("senses", "Senses"),
        Column("energy_pj", "Energy", energy),
        Column("energy_ratio_over_host", "Of host", ratio, rank=2),
        Column("count", "Count" if wrong else None),
        Column("revenue", "Revenue" if wrong else None, _dollars),
        Column("correct", "Correct" if wrong else None, lambda value: "yes" if value else "NO"),
    ]
    host = found.entrants[0].work
    rows: list[dict[str, Value]] = []
    for entrant in found.entrants:
        work = entrant.work
        rows.append(
            {
                "platform": entrant.platform,
                **_plain(entrant.answer),
                "correct": found.is_correct(entrant),
                "simulated_time_ns": work.elapsed.ns,
                "channel_bytes": int(work.channel_bytes),
                "pcie_bytes": work.link_up_bytes + work.link_down_bytes,
                "pcie_up_bytes": int(work.link_up_bytes),
                "pcie_down_bytes": int(work.link_down_bytes),
                "senses": work.flash.senses,
                "energy_pj": work.energy.pj,
                "speedup_over_host": host.elapsed / work.elapsed,
                "energy_ratio_over_host": work.energy / host.energy,
            }
        )
    return Table(columns, rows)


def _plain(answer: "Answer") -> dict[str, Value]:
    return {"count": answer.count, "revenue": float(answer.revenue)}


def _answer(value: Value) -> str:
    return f"{value['count']:,} rows, revenue {_dollars(value['revenue'])}" if isinstance(value, dict) else ""


def _drawn(value: Value) -> str:
    return str(value or "none: Matplotlib is not installed (pip install 'bitline[plot]')")


def _dollars(value: Value) -> str:
    return f"${value:,.4f}" if isinstance(value, float) else str(value)


def _verdict(found: "Race") -> str:
    if not found.correct:
        return "WRONG: an answer differs from PyArrow's."
    host, best = found.entrants[0].work, found.entrants[-1].work
    return (
        "All answers equal PyArrow's. Inside the array the predicate takes "
        f"{counted(best.flash.senses, 'sense')} instead of {host.flash.senses:,}, "
        f"{best.elapsed} instead of {host.elapsed} ({host.elapsed / best.elapsed:.3g} times less) "
        f"and {best.energy} instead of {host.energy} ({host.energy / best.energy:.3g} times less)."
    )
