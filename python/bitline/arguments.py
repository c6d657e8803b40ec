"""Arguments that many calls share: numbers of a command with their bounds, paths."""

import operator
import os
from typing import TypeAlias

from bitline.errors import UsageError
from bitline.units import quoted

PathLike: TypeAlias = str | os.PathLike[str]

#: The largest numbers in a command (NVMe Base 2.1): 64-bit block addresses, 32-bit namespaces and counts.
NUMBER_MAX = (1 << 64) - 1
DWORD_MAX = (1 << 32) - 1


def whole_number(name: str, value: int, least: int = 0, most: int = NUMBER_MAX) -> int:
    """An argument that is a whole number, from `least` to `most`.

    Raises:
        UsageError: It is out of range.
        TypeError: It is no whole number.
    """
    number = operator.index(value)
    if not least <= number <= most:
        raise UsageError(f"{name} = {quoted(number)} is out of range; it must be {least} to {most}")
    return number
