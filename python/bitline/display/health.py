"""How a drive's SMART page, and what its media holds, are shown."""

from typing import TYPE_CHECKING

from bitline.display.formats import Format, Value, of, plain
from bitline.display.result import Fact, Result
from bitline.units import scaled

if TYPE_CHECKING:
    from bitline.admin import Health
    from bitline.media import Inventory

#: Of one unit in which SMART counts what the host read and wrote (NVMe Base 2.1, 5.1.12.1.3).
_UNIT_BYTES = 512_000


def verdict(page: "Health") -> str:
    """A SMART page in a few words."""
    if page.critical_warnings:
        return f"the drive warns of {', '.join(page.critical_warnings)}"
    return "healthy" if not page.media_errors else "no warnings, but media errors"


def health(page: "Health") -> Result:
    """A SMART page."""
    return Result(f"SMART: {verdict(page)}", smart(page))


def smart(page: "Health") -> dict[str, Fact]:
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
        "power_on_hours": Fact("Power-on time", page.power_on_hours, with_unit("h")),
        "media_errors": Fact("Media errors", page.media_errors),
        "error_entries": Fact("Commands that failed", page.error_entries),
    }


def space(inventory: "Inventory") -> dict[str, Fact]:
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


def with_unit(unit: str) -> Format:
    """A number with its unit behind it."""
    return lambda value: plain(value) if value is None else f"{plain(value)} {unit}"


def _percent(value: Value) -> str:
    return f"{plain(value)} %"


def _celsius(kelvin: Value) -> str:
    return f"{kelvin - 273} °C" if isinstance(kelvin, int) else plain(kelvin)


def _units(units: Value) -> str:
    """What is counted in thousands of 512 bytes, rounded up, as decimal bytes."""
    return scaled(units * _UNIT_BYTES, 1000, ("B", "kB", "MB", "GB", "TB")) if isinstance(units, int) else "-"
