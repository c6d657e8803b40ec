"""`bitline age`: an image's drive grows older without being used."""

from typing import Annotated

import typer

import bitline
from bitline import cells
from bitline.cli.options import Image, Json, in_range
from bitline.cli.output import Column, Fact, Result, Table, Value, emit
from bitline.display.health import smart
from bitline.drive import Drive
from bitline.errors import UsageError

#: What is shown of each mode, with the time of its program in SLC programs where it matters.
_MODES: tuple[cells.Mode, ...] = ("slc", "esp", "mlc", "tlc", "qlc")
#: What of the drive's SMART page age changes.
_SMART = ("percentage_used", "power_on_hours", "temperature_kelvin", "media_errors")


def age(
    file: Image,
    days: Annotated[
        float,
        typer.Option(
            "--days",
            metavar="DAYS",
            help="Days that pass.",
            show_default=False,
        ),
    ] = 0.0,
    years: Annotated[
        float,
        typer.Option(
            "--years",
            metavar="YEARS",
            help="Years that pass.",
            show_default=False,
        ),
    ] = 0.0,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", metavar="CELSIUS", help="Temperature while they pass [30]."),
    ] = None,
    cycles: Annotated[
        int,
        typer.Option(
            "--cycles",
            metavar="COUNT",
            help="Program and erase cycles of every block before it was programmed.",
            show_default=False,
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Make the drive in an image older: time passes at a temperature, blocks have been through cycles.

    Data stays where it is and may lose bits: vectors show them, blocks are corrected, read again with other
    references, or lost (`bitline image check` tells). Without an amount, tells how old the drive is.
    """
    in_range("--days", days, 0, 365_250)
    in_range("--years", years, 0, 1000)
    if temperature is not None:
        in_range("--temperature", temperature, -50, 150)
    in_range("--cycles", cycles, 0, 10_000_000)
    if days and years:
        raise UsageError("--days and --years: give one of them")
    days += 365 * years
    if temperature is not None and not days:
        raise UsageError("--temperature is that of days that pass; give --days or --years, too")
    celsius = 30.0 if temperature is None else temperature
    with bitline.open(path=file, create=False) as drive:
        before = _rates(drive)
        if days or cycles:
            drive.media.grow_older(days=days, temperature_celsius=celsius, pe_cycles=cycles)
        facts = {"file": Fact(None, str(file)), **_facts(drive)}
        rows = [{"mode": mode, "before": before[mode], "after": rate} for mode, rate in _rates(drive).items()]
    columns = [
        Column("mode", "Raw bit errors of", lambda mode: str(mode).upper()),
        Column("before", "before", _rate),
        Column("after", "after", _rate),
    ]
    title = f"{file}: older by {days:g} days and {cycles:,} cycles" if days or cycles else f"{file}: its age"
    emit(Result(title, facts, {"error_rates": Table(columns, rows)}), as_json=as_json)


def _facts(drive: Drive) -> dict[str, Fact]:
    age, health = drive.media.age, drive.admin.health()
    return {
        "hours": Fact("Time passed", age.hours, _hours),
        "effective_hours": Fact("  at the reference temperature", age.effective_hours, _hours),
        "cycles": Fact("Cycles of every block, besides its erases", age.cycles),
        **{key: fact for key, fact in smart(health).items() if key in _SMART},
    }


def _rates(drive: Drive) -> dict[cells.Mode, float]:
    """Raw bit error rates of what was programmed when the drive was new, in a median block."""
    age = drive.media.age
    return {
        mode: cells.rber(
            mode,
            pe_cycles=age.cycles,
            retention_days=age.effective_hours / 24,
            randomized=mode != "esp",
            block="median",
            config=drive._config,
        )
        for mode in _MODES
    }


def _hours(hours: Value) -> str:
    return f"{hours:,.0f} h" if isinstance(hours, int | float) else str(hours)


def _rate(rate: Value) -> str:
    return f"{rate:.1e}"
