"""Memory of a drive that its programs and the host share.

It is Subsystem Local Memory of the NVMe standard; Computational Programs run over ranges of it.

```python
drive.memory.write(0, bytes(range(64)))
number = drive.memory.run("sum.wasm", [(0, 64)])
drive.memory.copy_to_object(0, "result")
```
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bitline.arguments import NUMBER_MAX, PathLike, whole_number
from bitline.errors import UsageError
from bitline.tasks import Program
from bitline.units import Size

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Where a range of the memory begins and ends, in bytes; the end is the first byte behind it.
Range: TypeAlias = tuple[int, int]

_SET_MAX = 0xFFFF


class Memory:
    """Memory of a drive that its programs and the host share. See `Drive.memory`.

    Places and lengths are multiples of 4 bytes. What is in it is gone when the power is, and zero then.
    """

    def __init__(self, drive: "Drive") -> None:
        self._native = drive._memory
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Memory of {self._drive!r}>"

    def __len__(self) -> int:
        return self._native.bytes()

    @property
    def size(self) -> Size:
        """How many bytes there are; 0 if the drive has no such memory."""
        return Size(self._native.bytes())

    def read(self, start: int, size: int) -> bytes:
        """Read bytes; on a drive without data, zeroes.

        Raises:
            UsageError: Bytes that there are not, or parts of 4.
        """
        return self._native.read(_number("start", start), _number("size", size))

    def write(self, start: int, data: bytes) -> None:
        """Write bytes.

        Raises:
            UsageError: Bytes that there are not, or parts of 4.
        """
        self._native.write(_number("start", start), bytes(data))

    def copy(self, source: int, to: int, size: int) -> None:
        """Copy bytes to another place, inside the drive. Neither may reach into the other.

        Raises:
            UsageError: Bytes that there are not, or parts of 4; places that meet.
        """
        self._native.copy(_number("source", source), _number("to", to), _number("size", size))

    def copy_from_blocks(self, lba: int, blocks: int, to: int) -> None:
        """Copy logical blocks of the drive to the memory, inside the drive.

        Raises:
            UsageError: Bytes that there are not.
            NvmeError: What the drive reports, such as LBA Out of Range.
            MediaError: A block is lost.
        """
        self._native.copy_from_blocks(_number("lba", lba), _number("blocks", blocks), _number("to", to))

    def copy_from_extents(self, extents: Iterable[tuple[int, int]], to: int) -> int:
        """Copy runs of logical blocks to the memory, one behind the other, inside the drive.

        Args:
            extents: First logical block and number of blocks of each run, as files of a mount, objects of the
                volume and vectors tell theirs.
            to: Where the first of them goes.

        Returns:
            How many bytes there are now, whole logical blocks.

        Raises:
            UsageError: Bytes that there are not; those of the runs before are copied then.
            NvmeError: What the drive reports, such as LBA Out of Range.
            MediaError: A block is lost.
        """
        end = to
        for first, blocks in extents:
            self.copy_from_blocks(first, blocks, end)
            end += blocks * self._drive.block_bytes
        return end - to

    def copy_to_blocks(self, source: int, lba: int, blocks: int) -> None:
        """Copy bytes of the memory to logical blocks of the drive, inside the drive.

        Raises:
            UsageError: Bytes that there are not; blocks that the volume needs.
            NvmeError: What the drive reports, such as LBA Out of Range.
        """
        self._native.copy_to_blocks(_number("source", source), _number("lba", lba), _number("blocks", blocks))

    def copy_from_object(self, name: str, to: int) -> int:
        """Copy an object of the volume to the memory, inside the drive, with the rest of its last block.

        Returns:
            The object's length in bytes.

        Raises:
            NotFoundError: There is no such object.
            UsageError: It does not fit there.
        """
        return self._native.copy_from_object(name, _number("to", to))

    def copy_to_object(self, source: int, name: str) -> int:
        """Copy the memory to an object of the volume, inside the drive.

        The object keeps its length; what is behind it goes along, up to the end of its last logical block.

        Returns:
            The object's length in bytes.

        Raises:
            NotFoundError: There is no such object.
            UsageError: There are not so many bytes.
        """
        return self._native.copy_to_object(_number("source", source), name)

    def create_ranges(self, ranges: Sequence[Range]) -> int:
        """Make a set of ranges, for several runs to see.

        Returns:
            Its identifier.

        Raises:
            UsageError: None, or more than a set has; one that is none of this memory.
            NvmeError: What the drive reports, such as Overlapping Memory Ranges, or too many sets.
        """
        return self._native.create_ranges(self._checked(ranges))

    def delete_ranges(self, ranges: int) -> None:
        """Remove a set of ranges.

        Raises:
            NvmeError: Invalid Memory Range Set Identifier, or Memory Range Set In Use.
        """
        self._native.delete_ranges(whole_number("ranges", ranges, most=_SET_MAX))

    @property
    def range_sets(self) -> dict[int, list[Range]]:
        """The sets of ranges that there are, by identifier."""
        return dict(self._native.range_sets())

    def run(
        self,
        task: "PathLike | bytes | Program",
        ranges: "Sequence[Range] | int",
        args: bytes = b"",
        *,
        parameters: tuple[int, int] = (0, 0),
    ) -> int:
        """Run a task once over ranges of the memory, and wait for it.

        It sees them as files, in this order, and may write all of them. It is no transaction: what it wrote
        stays, however it ends.

        Args:
            task: A WebAssembly module's file, its bytes, or a program that `Drive.tasks.load` gave.
            ranges: Where each begins and ends, or a set of them.
            args: What `isc_get_args` gives.
            parameters: What `isc_parameter` gives for 0 and for 1.

        Returns:
            The first 8 bytes of what it returned, as a number.

        Raises:
            UsageError: A module that cannot run, and why; ranges that are none, or too many.
            OSError: The module's file cannot be read.
            NvmeError: Program Failed, with why; or what else the drive reports.
        """
        if not isinstance(parameters, Sequence) or len(parameters) != 2:
            raise UsageError(f"parameters={parameters!r}: they are two numbers, such as (56, 0)")
        first, second = (whole_number("parameters", number, most=NUMBER_MAX) for number in parameters)
        if isinstance(ranges, int):
            of_set: int | None = whole_number("ranges", ranges, least=1, most=_SET_MAX)
            these: list[Range] = []
        else:
            of_set, these = None, self._checked(ranges)
        return self._native.run(_what(task), of_set, these, bytes(args), (first, second))

    def _checked(self, ranges: Sequence[Range]) -> list[Range]:
        """Ranges, if they are some of this memory."""
        checked = [(_number("ranges", start), _number("ranges", end)) for start, end in ranges]
        for start, end in checked:
            if start % 4 or end % 4:
                why = "both are multiples of 4 bytes"
            elif start >= end:
                why = "it is where it begins and where it ends, and has bytes"
            elif end > len(self):
                why = f"the memory has {len(self)} bytes (local_memory.bytes)"
            else:
                continue
            raise UsageError(f"range ({start}, {end}): {why}")
        return checked


def _what(task: "PathLike | bytes | Program") -> tuple[int, int] | bytes:
    if isinstance(task, Program):
        return task.index, task.identifier
    return task if isinstance(task, bytes) else Path(task).read_bytes()


def _number(name: str, number: int) -> int:
    return whole_number(name, number, most=NUMBER_MAX)
