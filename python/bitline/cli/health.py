"""`bitline health`: what the SMART page of an image's drive says, how worn it is and how old."""

import bitline
from bitline.admin import Health
from bitline.cli.options import Image, Json
from bitline.cli.output import Fact, Format, Result, Value, emit, of, plain
from bitline.media import Inventory
from bitline.units import scaled

#: Of one unit in which SMART counts what the host read and wrote (NVMe Base 2.1, 5.1.12.1.3).
_UNIT_BYTES = 512_000


def health(file: Image, as_json: Json = False) -> None:
    """Tell the health of the drive in an image: SMART page, wear and age. The file is not written."""
    with bitline.open(path=file, read_only=True) as drive:
        page, inventory, age = drive.admin.health(), drive.media.inventory(), drive.media.age
    facts = {
        "file": Fact(None, str(file)),
        **smart(page),
        **space(inventory),
        "hours": Fact("Time that passed unused", age.hours, _with("h")),
        "cycles": Fact("Cycles of every block, besides its erases", age.cycles),
        "celsius": Fact("Temperature of the last hours", age.celsius, _with("°C")),
    }
    emit(Result(f"{file}: {_verdict(page)}", facts), as_json=as_json)


def _verdict(page: Health) -> str:
    if page.critical_warnings:
        return f"the drive warns of {', '.join(page.critical_warnings)}"
    return "healthy" if not page.media_errors else "no warnings, but media errors"


def smart(page: Health) -> dict[str, Fact]:
    """What a drive's SMART page says."""
    return {
        "critical_warnings": Fact("Critical warnings", ", ".join(page.critical_warnings) or "none"),
        "percentage_used": Fact("Life used", page.percentage_used, _percent),
        "available_spare_percent": Fact("Spare left", page.available_spare_percent, _percent),
        "spare_threshold_percent": Fact("  warning below", page.spare_threshold_percent, _percent),
        "temperature_kelvin": Fact("Temperature", page.temperature_kelvin, _celsius),
        "data_units_written": Fact("Written by the host", page.data_units_written, _units),
        "data_units_read": Fact("  read", page.data_units_read, _units),
        "host_writes": Fact("Commands that wrote", page.host_writes),
        "host_reads": Fact("  that read", page.host_reads),
        "power_cycles": Fact("Power cycles", page.power_cycles),
        "unsafe_shutdowns": Fact("  that ended without a shutdown", page.unsafe_shutdowns),
        "power_on_hours": Fact("Power-on time", page.power_on_hours, _with("h")),
        "media_errors": Fact("Media errors", page.media_errors),
        "error_entries": Fact("Commands that failed", page.error_entries),
    }


def space(inventory: Inventory) -> dict[str, Fact]:
    """How many of the flash blocks are in use, and how worn they are."""
    return {
        "flash_blocks_used": Fact(
            "Flash blocks in use", inventory.flash_blocks_used, of(inventory.flash_blocks)
        ),
        "flash_blocks": Fact(None, inventory.flash_blocks),
        "flash_blocks_unusable": Fact("  unusable", inventory.flash_blocks_unusable),
        "erase_count_mean": Fact("Erases of a block, mean", inventory.erase_count_mean),
        "erase_count_min": Fact("  least", inventory.erase_count_min),
        "erase_count_max": Fact("  most", inventory.erase_count_max),
    }


def _with(unit: str) -> Format:
    return lambda value: plain(value) if value is None else f"{plain(value)} {unit}"


def _percent(value: Value) -> str:
    return f"{plain(value)} %"


def _celsius(kelvin: Value) -> str:
    return f"{kelvin - 273} °C" if isinstance(kelvin, int) else plain(kelvin)


def _units(units: Value) -> str:
    """What is counted in thousands of 512 bytes, rounded up, as decimal bytes."""
    return scaled(units * _UNIT_BYTES, 1000, ("B", "kB", "MB", "GB", "TB")) if isinstance(units, int) else "-"
