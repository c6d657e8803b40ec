"""`bitline health`: what the SMART page of an image's drive says, how worn it is and how old."""

import bitline
from bitline.cli.options import Image, Json
from bitline.cli.output import Fact, Result, emit
from bitline.display.health import smart, space, verdict, with_unit


def health(file: Image, as_json: Json = False) -> None:
    """Tell the health of the drive in an image: SMART page, wear and age. The file is not written."""
    with bitline.open(path=file, read_only=True) as drive:
        page, inventory, age = drive.admin.health(), drive.media.inventory(), drive.media.age
    facts = {
        "file": Fact(None, str(file)),
        **smart(page),
        **space(inventory),
        "hours": Fact("Time that passed unused", age.hours, with_unit("h")),
        "cycles": Fact("Cycles of every block, besides its erases", age.cycles),
        "celsius": Fact("Temperature of the last hours", age.celsius, with_unit("°C")),
    }
    emit(Result(f"{file}: {verdict(page)}", facts), as_json=as_json)
