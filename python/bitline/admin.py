"""What a drive's admin commands do: `drive.admin`.

```python
with bitline.open() as drive:
    drive.admin.format(512)
    print(drive.admin.identify().blocks, drive.admin.health().percentage_used)
```
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from bitline import _bitline
from bitline.arguments import DWORD_MAX, whole_number
from bitline.display import Displayed, Result
from bitline.records import made
from bitline.units import Size


@dataclass(frozen=True)
class Identity:
    """What a drive answers to NVMe's Identify."""

    model_number: str
    """Model number."""
    serial_number: str
    """Serial number."""
    firmware_revision: str
    """Firmware revision."""
    nvme_version: str
    """Version of the NVMe base specification, such as `"2.1"`."""
    max_transfer_bytes: Size | None
    """The most bytes of one command; None if unlimited."""
    volatile_write_cache: bool
    """Whether writes complete before they are durable."""
    block_bytes: Size
    """Bytes of a logical block."""
    blocks: int
    """Logical blocks of the namespace."""
    capacity_bytes: Size
    """Bytes of the namespace."""


@dataclass(frozen=True, repr=False)
class Health(Displayed):
    """A drive's SMART / health page (NVMe Base 2.1, 5.1.12.1.3).

    Counts go over all lives of the drive; those since the last orderly shutdown are lost with a power cut,
    but for the power cycles.
    """

    critical_warnings: tuple[str, ...]
    """Warnings in force: `"spare"`, `"temperature"`, `"reliability"`, `"read_only"` and `"backup"`."""
    temperature_kelvin: int
    """Composite temperature, in kelvin."""
    available_spare_percent: int
    """Spare blocks left, in percent."""
    spare_threshold_percent: int
    """Below which that is a warning, in percent."""
    percentage_used: int
    """Life used, in percent of the rated erases."""
    data_units_read: int
    """Thousands of 512-byte units that the host read, rounded up."""
    data_units_written: int
    """Thousands of 512-byte units that the host wrote, rounded up."""
    host_reads: int
    """Commands that read."""
    host_writes: int
    """Commands that wrote."""
    power_cycles: int
    """Times that power came."""
    unsafe_shutdowns: int
    """Times that it went without a shutdown."""
    power_on_hours: int
    """Hours with power, simulated."""
    media_errors: int
    """Commands that failed because data was lost or could not be written."""
    error_entries: int
    """Commands that failed for any reason."""

    def _shown(self) -> Result:
        from bitline.display.health import health

        return health(self)

    def _line(self) -> str:
        from bitline.display.health import verdict

        return f"{verdict(self)}, {self.percentage_used} % used, {self.available_spare_percent} % spare"

    def _rows(self) -> list[dict[str, Any]]:
        return [{**asdict(self), "critical_warnings": ", ".join(self.critical_warnings)}]


class Admin:
    """The admin commands of a drive: what it says of itself, and what erases all of it. See `Drive.admin`.

    Commands take simulated time.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native

    def identify(self) -> Identity:
        """What the drive answers to NVMe's Identify: model, versions, sizes."""
        return made(Identity, json.loads(self._native.identify()))

    def health(self) -> Health:
        """The drive's health, as its SMART page tells it."""
        return made(Health, json.loads(self._native.health()))

    def format(self, block_bytes: int, namespace: int = 1) -> None:
        """Give a namespace blocks of 512, 1024, 2048 or 4096 bytes and erase it (NVMe's Format NVM).

        Args:
            block_bytes: Bytes of a logical block from then on.
            namespace: Which namespace, counted from 1.

        Raises:
            UsageError: A number that cannot be.
            NvmeError: What the drive reports, such as Invalid Format.
        """
        number = whole_number("namespace", namespace, 1, DWORD_MAX)
        self._native.format(number, whole_number("block_bytes", block_bytes, 1, DWORD_MAX))

    def sanitize(self) -> None:
        """Erase everything on the drive, beyond recovery (NVMe's Sanitize), and wait until that is done."""
        self._native.sanitize()
