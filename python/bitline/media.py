"""What a drive's media holds and has been through: `drive.media`.

```python
with bitline.open() as drive:
    drive.media.precondition("steady_state", occupied=0.5)
    drive.media.grow_older(days=365)
    print(drive.media.inventory().erase_count_mean, drive.media.age.hours)
```
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from bitline import _bitline
from bitline.arguments import DWORD_MAX, whole_number
from bitline.errors import UsageError
from bitline.records import made
from bitline.units import Size, quoted
from bitline.workload import as_json

_HISTORIES = ("sequential", "random", "steady_state", "mqsim")


@dataclass(frozen=True)
class VectorSpace:
    """The space that vectors take, and what it would hold otherwise.

    A vector is programmed with one bit a cell (ESP), other data with as many as the drive's mode has
    (Flash-Cosmos, section 8.3).
    """

    pages: int
    """Pages that vectors occupy, one wordline each."""
    bytes: Size
    """Their bytes."""
    data_bits_per_cell: int
    """Bits that a cell holds of ordinary data."""
    bytes_as_data: Size
    """Bytes of ordinary data that the same cells would hold."""
    bytes_given_up: Size
    """What ESP costs: the difference."""
    blocks: int
    """Flash blocks that hold vectors and nothing else. Wordlines of theirs that are free, or whose vector was
    overwritten, are not among `pages`."""
    blocks_as_data: Size
    """Bytes of ordinary data that these blocks would hold."""
    blocks_max: int
    """Flash blocks that vectors may occupy."""


@dataclass(frozen=True)
class Inventory:
    """What the media holds, and how worn it is."""

    page_bytes: Size
    """Bytes of a flash page, without its spare bytes."""
    logical_page_bytes: Size
    """Bytes of a logical page: of a flash page, or of a part of it (`ftl.mapping_unit_bytes`)."""
    logical_pages: int
    """Logical pages exported."""
    data_pages: int
    """Of these, how many are for ordinary data: beyond them there is room for vectors only while nothing else
    takes it."""
    mapped_pages: int
    """How many hold data, vectors and the table of them not counted."""
    vectors: int
    """Vectors stored."""
    vector_space: VectorSpace
    """The space that vectors take."""
    flash_blocks: int
    """Flash blocks."""
    flash_blocks_used: int
    """Of these, how many hold something."""
    flash_blocks_unusable: int
    """Of these, how many were marked bad or must be erased before use."""
    erase_count_min: int
    """The least erases of a block."""
    erase_count_mean: float
    """The mean."""
    erase_count_max: int
    """The most."""


@dataclass(frozen=True)
class DriveAge:
    """How old a drive is, beyond what was done to it in simulated time."""

    hours: float
    """Hours passed."""
    effective_hours: float
    """What they amount to at the reference temperature of retention, in hours."""
    cycles: int
    """Program and erase cycles of every block besides its erases."""
    celsius: float | None
    """The temperature of the last hours, in degrees Celsius; None if none passed."""


@dataclass(frozen=True)
class Preconditioned:
    """What was set up at once."""

    mapped_pages: int
    """Logical pages that hold data."""
    flash_pages: int
    """Flash pages programmed, those that are not needed any more included."""
    blocks: int
    """Flash blocks in use."""


class Media:
    """The media of a drive, seen and set up from outside of simulated time. See `Drive.media`."""

    __slots__ = ("_native",)

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native

    @property
    def age(self) -> DriveAge:
        """How old the drive is, beyond what was done to it in simulated time."""
        return made(DriveAge, json.loads(self._native.age()))

    def grow_older(
        self, *, days: float = 0, temperature_celsius: float = 30.0, pe_cycles: int = 0
    ) -> DriveAge:
        """Make the drive older at once: time passes at a temperature, and blocks have been through cycles.

        It takes no simulated time. Data stays where it is and may lose bits: what is computed on shows them,
        what is read back is corrected, read again, or lost (docs/errors.md). An image remembers its age.

        Args:
            days: Days that pass.
            temperature_celsius: At this temperature; warmth makes cells leak faster (Arrhenius).
            pe_cycles: Program and erase cycles of every block before it was last programmed.

        Returns:
            As `age`.

        Raises:
            UsageError: A number that cannot be.
        """
        if not 0 <= days <= 365_250:
            raise UsageError(f"days is {quoted(days)}; it must be 0 to 365250 (1,000 years)")
        if isinstance(temperature_celsius, int) and abs(temperature_celsius) > 1000:
            # Maybe too large for a float.
            raise UsageError(f"temperature_celsius is {quoted(temperature_celsius)}; it must be -50 to 150")
        hours, cycles = 24 * float(days), whole_number("pe_cycles", pe_cycles, 0, DWORD_MAX)
        return made(DriveAge, json.loads(self._native.grow_older(hours, float(temperature_celsius), cycles)))

    def inventory(self) -> Inventory:
        """What the media holds and how worn it is; takes no simulated time."""
        return made(Inventory, json.loads(self._native.inventory()))

    def mapped_runs(self) -> list[tuple[int, int]]:
        """The logical blocks that hold data: first block and number of blocks of each run, in order.

        They are whole pages of the first namespace; it takes no simulated time.
        """
        return self._native.mapped_runs()

    def precondition(
        self,
        history: str = "sequential",
        *,
        overwrites: float | None = None,
        occupied: float = 1.0,
        working_set: float = 1.0,
        progress: Callable[[float], object] | None = None,
    ) -> Preconditioned:
        """Set up at once what earlier writes would have left, on a drive that was never written.

        Mapping, needed and replaced pages and worn blocks are constructed; it takes no simulated time, and
        a power cut right after it loses nothing. The pages read as zeroes.

        Args:
            history: What the writes were: `"sequential"`, each page once, in order; `"random"`, then
                overwritten at random, `overwrites` times each on average, also written `"random:2"`;
                `"steady_state"`, overwritten at random for ever; `"mqsim"`, the same as MQSim sets it up.
            overwrites: How often each page was overwritten on average, of `"random"`; any number from 0 on.
            occupied: Share of the logical pages that hold data, 0 to 1.
            working_set: They are drawn from the first part of the logical pages, of this share.
            progress: Called now and then with the share of the drive that is set up, 0 to 1. An exception
                in it, or Ctrl-C, leaves the rest of the drive blank.

        Raises:
            UsageError: Another history, a share that makes no sense, or the drive was written before.
        """
        kind = history_plan("precondition: history", history, overwrites)
        plan = {"history": kind, "occupied": occupied, "working_set": working_set}
        told = self._native.precondition(as_json("precondition", plan), progress)
        return made(Preconditioned, json.loads(told))


def history_plan(what: str, history: object, overwrites: float | None = None) -> dict[str, object]:
    """What earlier writes were, as the Rust crate names it.

    Args:
        what: What the history is the value of, for errors.
        history: A history; `"random:2"` says how often, too.
        overwrites: How often, of `"random"`.

    Raises:
        UsageError: There is no such history, or no number of overwrites where one is needed, or one too many.
    """
    name, colon, number = history.partition(":") if isinstance(history, str) else ("", "", "")
    wrong = UsageError(
        f"{what} {quoted(str(history))}: it must be sequential, random:OVERWRITES (such as random:2), "
        "steady_state or mqsim"
    )
    if name not in _HISTORIES or (colon and not (name == "random" and number)):
        raise wrong
    if colon:
        if overwrites is not None:
            raise UsageError(f"{what} {quoted(str(history))}: it says the overwrites already: leave them out")
        try:
            overwrites = float(number)
        except ValueError:
            raise UsageError(f"{what} {quoted(str(history))}: {quoted(repr(number))} is no number") from None
    if (overwrites is not None) != (name == "random"):
        raise UsageError(
            f'{what} {name}: overwrites, such as overwrites=2, belong to "random", also written "random:2"'
        )
    return {"kind": name} if overwrites is None else {"kind": name, "overwrites": overwrites}
