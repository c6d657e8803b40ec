"""`bitline health`: what the SMART page of an image's drive says, how worn it is and how old."""

from bitline.cli.options import Json, Place
from bitline.cli.output import Fact, Result, emit
from bitline.display.health import smart, space, verdict, with_unit
from bitline.media import DriveAge
from bitline.opening import open_or_connect


def health(file: Place, as_json: Json = False) -> None:
    """Tell the health of a drive in an image or at an address: SMART page, wear, age. Nothing is written.

    The age of a drive at an address only its own process knows.
    """
    with open_or_connect(file, read_only=True) as drive:
        page, inventory = drive.admin.health(), drive.media.inventory()
        age = None if drive.address else drive.media.age
    facts = {
        "file": Fact(None, str(file)),
        **smart(page),
        **space(inventory),
        **({} if age is None else _age(age)),
    }
    emit(Result(f"{file}: {verdict(page)}", facts), as_json=as_json)


def _age(age: DriveAge) -> dict[str, Fact]:
    """What only the process knows that has the drive."""
    return {
        "hours": Fact("Time that passed unused", age.hours, with_unit("h")),
        "cycles": Fact("Cycles of every block, besides its erases", age.cycles),
        "celsius": Fact("Temperature of the last hours", age.celsius, with_unit("°C")),
    }
