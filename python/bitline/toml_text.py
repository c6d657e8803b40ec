"""TOML that people write, read in time that grows with its length, however it nests."""

import re
import tomllib
from typing import Any

#: The most parts of a dotted key. Reading one takes time with the square of their number.
_PARTS_MAX = 64
_LONG_KEY = re.compile(rf"(?<![\w\"'-])[\w\"'-]++(?:[ \t]*+\.[ \t]*+[\w\"'-]++){{{_PARTS_MAX},}}")


def loads(text: str) -> dict[str, Any]:
    """The tables in a text.

    Raises:
        tomllib.TOMLDecodeError: It is no TOML, or nests too deep.
    """
    if (found := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key of more than {_PARTS_MAX} parts (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables nest too deep") from None
