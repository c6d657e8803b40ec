"""Files that are no objects of a drive's volume: a file system on the drive says where they lie."""

import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

from bitline.units import Size

if TYPE_CHECKING:
    from bitline._bitline import MountedFile as NativeFile

#: Bytes, and runs of blocks: the first, and how many.
PlacedRow: TypeAlias = tuple[int, list[tuple[int, int]]]


class MountedFile:
    """A file of a mounted file system that is registered: it stays where it is on the drive until `settle`.

    `Mounted.read`, `write` and `create` give it, and tasks, streams and collectors take it in place of an
    object's name. A `with` statement settles it at its end, and takes what was written as good if nothing was
    raised.
    """

    def __init__(self, native: "NativeFile") -> None:
        self._native = native
        path, self.writable, (size, extents) = native.row()
        self.path = path
        """Its path."""
        self.size = Size(size)
        """Its length in bytes."""
        self.extents = extents
        """Where it lies: the first of each run of logical blocks, and how many, in its order."""
        self._settled = False
        # Nobody waits for a file that nobody has any more.
        weakref.finalize(self, native.forget)

    def __repr__(self) -> str:
        return f"<MountedFile {self.path!r}{', settled' if self._settled else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._settled:
            self.settle(good=error is None)

    @property
    def is_settled(self) -> bool:
        """Whether its registration has ended."""
        return self._settled

    def settle(self, good: bool = True) -> None:
        """End its registration: everybody who reads the file sees what the drive has written.

        Args:
            good: Whether what was written counts, as of a run that has committed. A new file gets its name
                then, and is gone if not.

        Raises:
            UsageError: It is not where it was, or somebody has it mapped, with what of it that affects; it is
                settled.
            OSError: What the operating system refuses.
        """
        self._settled = True
        self._native.settle(good)

    def placed(self) -> PlacedRow:
        """Where it lies, for the extension.

        Raises:
            UsageError: It is settled: it may be elsewhere by now.
        """
        return self._native.row()[2]
