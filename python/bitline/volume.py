"""The named objects of a drive: arrays, files and tables, which every process that opens it finds again.

```python
drive.volume["prices"] = np.arange(1000.0)
drive.volume["notes"] = b"of the third run"
prices = drive.volume["prices"]
```
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitline.errors import UsageError
from bitline.units import Size

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Name, kind, bytes, type, shape, schema, extents.
ObjectRow: TypeAlias = tuple[str, str, int, str | None, list[int], bytes | None, list[tuple[int, int]]]


@dataclass(frozen=True)
class VolumeObject:
    """What a volume says of an object."""

    name: str
    """Its name."""
    kind: Literal["group", "array", "file", "table"]
    """What it is."""
    size: Size
    """Its length in bytes; 0 for a group, whose vectors have theirs."""
    dtype: str | None
    """The type of an array's items."""
    shape: tuple[int, ...]
    """The shape of an array."""
    schema: bytes | None
    """What the bytes of a table mean, to whoever wrote it."""
    extents: list[tuple[int, int]]
    """Where it lies: first logical block and number of blocks of each run, as `drive.read` takes them."""


class Volume(MutableMapping[str, "bytes | NDArray[Any]"]):
    """The named arrays, files and tables of a drive, as a mapping from names to what they hold.

    An object is replaced as a whole: a power cut leaves what was there before, or what was to be there.
    """

    def __init__(self, drive: "Drive") -> None:
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Volume of {self._drive!r}>"

    def objects(self) -> list[VolumeObject]:
        """All objects, groups included, by name."""
        return [_object(row) for row in self._drive._names.objects()]

    def _names(self) -> list[str]:
        return [found.name for found in self.objects() if found.kind != "group"]

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __setitem__(self, name: str, value: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write an array or a file, or replace one.

        Raises:
            TypeError: Something else, such as a str or a list.
            UsageError: A name that is none, or of an object of another kind; a full volume.
            NvmeError: What the drive reports.
        """
        if isinstance(value, bytes | bytearray | memoryview):
            self._drive._names.write_object(name, "file", bytes(value))
            return
        if not isinstance(value, np.ndarray | np.generic):
            raise TypeError(f"a volume holds bytes or NumPy arrays, not a {type(value).__name__}")
        array = np.asarray(value)
        if array.dtype.fields is not None or array.dtype.names is not None:
            raise UsageError(f"an array of {array.dtype} cannot be stored: write its fields, one by one")
        if array.dtype.hasobject or array.dtype.itemsize == 0 or np.dtype(array.dtype.str) != array.dtype:
            raise UsageError(
                f"an array of {array.dtype} cannot be stored: its items are no plain numbers or bytes"
            )
        if isinstance(array, np.ma.MaskedArray) or isinstance(value, np.ma.MaskedArray):
            raise UsageError("a masked array cannot be stored: write filled() and the mask, one by one")
        self._drive._names.write_object(name, "array", array.tobytes(), array.dtype.str, list(array.shape))

    def write_table(self, name: str, data: bytes, schema: bytes) -> None:
        """Write a table or replace one: bytes, and a schema of up to 65,535 bytes that says what they mean.

        Raises:
            UsageError: As for arrays and files; too long a schema.
        """
        self._drive._names.write_object(name, "table", bytes(data), schema=bytes(schema))

    def __getitem__(self, name: str) -> "bytes | NDArray[Any]":
        """The bytes of a file or table, or an array.

        Raises:
            KeyError: There is no such object.
            UsageError: It is a group: `drive.group(name)` has its vectors.
        """
        self._check(name)
        row, data = self._drive._names.read_object(name)
        found = _object(row)
        if found.dtype is None:
            return data
        return np.frombuffer(bytearray(data), found.dtype).reshape(found.shape)

    def __delitem__(self, name: str) -> None:
        """Remove an object.

        Raises:
            KeyError: There is no such object.
            UsageError: It is a group: `drive.group(name).delete()`.
        """
        self._check(name)
        self._drive._names.remove_object(name)

    def _check(self, name: str) -> None:
        if name in self._drive.groups:
            raise UsageError(f"{name!r} is a group: drive.group({name!r}) has its vectors")
        if name not in self:
            raise KeyError(f"the volume has no object {name!r}; it has {', '.join(self) or 'none'}")

    def rename(self, old: str, new: str) -> None:
        """Give an object another name.

        Raises:
            UsageError: There is no such object; the name is taken, or is none.
        """
        self._drive._names.rename_object(old, new)

    @property
    def blocks(self) -> int:
        """Its logical blocks, catalogue included; 0 before anything was named."""
        return self._drive._names.volume_usage()[1]

    @property
    def free_blocks(self) -> int:
        """Its logical blocks that no object has."""
        return self._drive._names.volume_usage()[2]


def _object(row: ObjectRow) -> VolumeObject:
    name, kind, length, dtype, shape, schema, extents = row
    known: dict[str, Literal["group", "array", "file", "table"]]
    known = {"group": "group", "array": "array", "file": "file", "table": "table"}
    schema = None if schema is None else bytes(schema)
    return VolumeObject(name, known[kind], Size(length), dtype, tuple(shape), schema, extents)
