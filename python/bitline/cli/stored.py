"""Vectors of an image, as expressions on the command line name them."""

from collections.abc import Mapping
from pathlib import Path

from bitline.bits import BitExpression, BitVector
from bitline.drive import Drive
from bitline.errors import UsageError


class StoredVectors:
    """The vectors that `GROUP:VECTOR` names in the image at `path`; each group is listed once."""

    def __init__(self, drive: Drive, path: Path) -> None:
        self._drive = drive
        self._path = path
        self._known: dict[str, dict[str, BitVector]] = {}

    def __call__(self, name: str) -> BitExpression:
        """The vector of a name.

        Raises:
            UsageError: There is none.
        """
        group, colon, vector = name.partition(":")
        if not colon:
            raise UsageError(
                f"{name}: a vector of an image is named by its group and its own name, as {name}:0"
            )
        if group not in self._known:
            self._known[group] = {vector.name: vector for vector in self._drive.group(group).vectors()}
        stored = self._known[group]
        if vector in stored:
            return stored[vector]
        held = f"vectors {', '.join([*stored][:8])}" if stored else "no vectors"
        raise UsageError(f"{name}: {self._path} has {held} in group {group!r}")


def as_operand(vector: BitVector) -> BitExpression:
    """A vector as what its operators give."""
    return vector


def refuse_with_image(options: Mapping[str, object]) -> None:
    """Refuse options that were given beside `--image`.

    Raises:
        UsageError: One was.
    """
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option} does not go with --image, which says what is where")
