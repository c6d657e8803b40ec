"""Arguments that many calls share: numbers of a command with their bounds, paths."""

import operator
import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitline.errors import UsageError
from bitline.units import quoted

PathLike: TypeAlias = str | os.PathLike[str]

#: The largest numbers in a command (NVMe Base 2.1): 64-bit block addresses, 32-bit namespaces and counts.
NUMBER_MAX = (1 << 64) - 1
DWORD_MAX = (1 << 32) - 1


def is_unicode(name: str) -> bool:
    """Whether a string can be a name on a drive, which is UTF-8: half of a surrogate pair has no form in it.

    What is no string is refused where it is used.
    """
    return not isinstance(name, str) or not any(0xD800 <= ord(each) < 0xE000 for each in name)


def new_name(name: str) -> str:
    """A name that something is to get.

    Raises:
        TypeError: It is no string.
        UsageError: It has half of a surrogate pair; the drive's library checks the rest.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not a {type(name).__name__}")
    if not is_unicode(name):
        raise UsageError(f"{name!r} is no name: it has half of a surrogate pair, which UTF-8 does not hold")
    return name


def plain_bytes(data: object, who: str) -> bytes:
    """The bytes of data, of an array those of its items.

    Args:
        data: Bytes, or an array.
        who: Who takes them, and how: the beginning of a sentence.

    Raises:
        TypeError: It is neither.
        UsageError: An array of references.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    if not isinstance(data, np.ndarray | np.generic):
        raise TypeError(
            f"{who} bytes or a NumPy array, not a {type(data).__name__}: encode() a text, "
            "make an array of a list with np.array(..., dtype)"
        )
    if data.dtype.hasobject:
        raise UsageError(f"{who} bytes, and an array of {data.dtype} has none: its items are references")
    return data.tobytes()


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


def stored_bytes(data: "bytes | bytearray | memoryview | NDArray[Any]", block_bytes: int) -> bytes:
    """What a drive stores of `data`: an array in C order, filled up with zeroes to whole blocks.

    Raises:
        TypeError: It is neither bytes nor an array of NumPy.
        UsageError: An array of references.
    """
    packed = plain_bytes(data, "a drive stores")
    is_array = isinstance(data, np.ndarray | np.generic)
    return packed + bytes(-len(packed) % block_bytes) if is_array else packed
