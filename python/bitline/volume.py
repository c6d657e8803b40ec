"""The named objects of a drive: arrays, files and tables, which every process that opens it finds again.

```python
drive.volume["prices"] = np.arange(1000.0)
drive.volume["notes"] = b"of the third run"
prices = drive.volume["prices"]
drive.volume.handle("notes").append(b", and what came of it")
```
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from bitline.arguments import is_unicode, new_name, whole_number
from bitline.errors import NotFoundError, UsageError
from bitline.pending import Pending
from bitline.units import Size

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Name, kind, bytes, type, shape, schema, extents.
ObjectRow: TypeAlias = tuple[str, str, int, str | None, list[int], bytes | None, list[tuple[int, int]]]


#: What objects are.
Kind: TypeAlias = Literal["group", "array", "file", "table", "store"]
#: Those whose bytes a volume reads and writes.
_OF_BYTES = ("array", "file", "table")


@dataclass(frozen=True)
class VolumeObject:
    """What a volume says of an object."""

    name: str
    """Its name."""
    kind: Kind
    """What it is; `drive.search` has the stores."""
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


class StoredObject:
    """An array, file or table of a volume, to be read and written in parts. See `Volume.handle`.

    Parts are bytes, of an array too: those of its items in C order. An array that is written or appended to
    one has its type and byte order; bytes are taken for what the items are.
    """

    __slots__ = ("_drive", "name")

    def __init__(self, drive: "Drive", name: str) -> None:
        self._drive = drive
        self.name = name
        """Its name."""

    def __repr__(self) -> str:
        return f"<StoredObject {self.name!r}>"

    def __len__(self) -> int:
        return self.size

    @property
    def info(self) -> VolumeObject:
        """What the volume says of it, as of now.

        Raises:
            NotFoundError: It is not there any more.
        """
        found = self._drive._volume.object(self.name)
        if found is None:
            raise NotFoundError(f"the volume has no object {self.name!r}")
        return _object(found)

    @property
    def size(self) -> Size:
        """Its length in bytes, as of now."""
        return self.info.size

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        """Read `size` bytes from `offset` on, or the rest. Only the blocks that hold them are read.

        Raises:
            UsageError: Bytes beyond its end.
            NotFoundError: It is not there any more.
        """
        return self._drive._volume.read_at(self.name, *self._range(offset, size))

    def submit_read(self, offset: int = 0, size: int | None = None) -> Pending[bytes]:
        """Begin to read, as `read` does, and go on."""
        return Pending(self._drive._volume.submit_read_at(self.name, *self._range(offset, size)), bytes)

    def write(self, offset: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write bytes in place, from `offset` on.

        These are ordinary writes: of those under way a power cut may leave some blocks new and others old.
        Bytes are written as they are. An array that is written to an array is whole items of its type.

        Raises:
            UsageError: Bytes beyond its end: `append` makes it longer; an array of another type than the one
                it is written to, or from within an item on.
            NotFoundError: It is not there any more.
        """
        self._drive._volume.write_at(self.name, *self._part(offset, data))

    def submit_write(
        self, offset: int, data: "bytes | bytearray | memoryview | NDArray[Any]"
    ) -> Pending[None]:
        """Begin to write in place, as `write` does, and go on."""
        native = self._drive._volume.submit_write_at(self.name, *self._part(offset, data))
        return Pending(native, lambda _: None)

    def append(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write bytes behind its end; behind that of an array whole rows, which become part of its shape.

        A power cut leaves it as it was, or with all of them. Bytes are written as they are.

        Raises:
            UsageError: Part of a row; an array of another type than the one it is appended to, or whose rows
                are of another shape; a full volume.
            NotFoundError: It is not there any more.
        """
        self._drive._volume.append(self.name, self._rows(data))

    def submit_append(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> Pending[None]:
        """Begin to append, as `append` does, and go on."""
        return Pending(self._drive._volume.submit_append(self.name, self._rows(data)), lambda _: None)

    def truncate(self, size: int) -> None:
        """Cut it to its first `size` bytes, an array to whole rows. A power cut leaves it as it was, or so.

        What was cut off is in none of its blocks then: the last page is written anew, with zeroes behind the
        end, and what it does not need any more is deallocated.

        Raises:
            UsageError: More bytes than it has; part of a row.
            NotFoundError: It is not there any more.
        """
        self._drive._volume.truncate(self.name, whole_number("size", size))

    def _part(self, offset: int, data: "bytes | bytearray | memoryview | NDArray[Any]") -> tuple[int, bytes]:
        """Where items or bytes go, and their bytes."""
        begin = whole_number("offset", offset)
        if (array := self._items(data)) is not None and begin % array.itemsize:
            raise UsageError(
                f"offset = {begin} is within an item: those of {self.name!r} are of {array.itemsize} bytes"
            )
        return begin, _plain_bytes(data)

    def _rows(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> bytes:
        """The bytes of rows: an array of the other dimensions, or several of them."""
        array = self._items(data)
        row = self.info.shape[1:]
        if array is not None and array.shape != row and array.shape[1:] != row:
            raise UsageError(
                f"an array of shape {array.shape} is no row of {self.name!r}, nor several: a row is of "
                f"shape {row}; reshape the array"
            )
        return _plain_bytes(data)

    def _items(self, data: "bytes | bytearray | memoryview | NDArray[Any]") -> "NDArray[Any] | None":
        """An array that is written to an array, whose items are of the same type; None of anything else."""
        if not isinstance(data, np.ndarray | np.generic):
            return None
        stored = self.info.dtype
        if stored is None:
            return None
        if np.dtype(stored) != data.dtype:
            raise UsageError(
                f"items of {data.dtype.str} for {self.name!r}, whose items are of {stored}: convert them "
                f"with astype({stored!r}), or give their bytes to have them taken for that"
            )
        return np.asarray(data)

    def _range(self, offset: int, size: int | None) -> tuple[int, int]:
        begin = whole_number("offset", offset)
        return begin, max(self.size - begin, 0) if size is None else whole_number("size", size)


class Volume(MutableMapping[str, "bytes | NDArray[Any]"]):
    """The named arrays, files and tables of a drive, as a mapping from names to what they hold.

    An object is replaced as a whole: a power cut leaves what was there before, or what was to be there.
    `handle(name)` reads and writes parts of one.
    """

    def __init__(self, drive: "Drive") -> None:
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Volume of {self._drive!r}>"

    def objects(self) -> list[VolumeObject]:
        """All objects, groups and stores included, by name."""
        return [_object(row) for row in self._drive._volume.objects()]

    def handle(self, name: str) -> StoredObject:
        """An array, file or table, to be read and written in parts.

        Raises:
            KeyError: There is no such object.
            UsageError: It is a group: `drive.group(name)` has its vectors.
        """
        self._check(name)
        return StoredObject(self._drive, name)

    def _stored(self) -> list[str]:
        return [found.name for found in self.objects() if found.kind in _OF_BYTES]

    def __len__(self) -> int:
        return len(self._stored())

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not is_unicode(name):
            return False
        found = self._drive._volume.object(name)
        return found is not None and _object(found).kind in _OF_BYTES

    def __setitem__(self, name: str, value: "bytes | bytearray | memoryview | NDArray[Any]") -> None:
        """Write an array or a file, or replace one.

        Raises:
            TypeError: Something else, such as a str or a list.
            UsageError: A name that is none, or of an object of another kind; a full volume.
            NvmeError: What the drive reports.
        """
        self._drive._volume.write_object(new_name(name), *_content(value))

    def submit_write(
        self, name: str, value: "bytes | bytearray | memoryview | NDArray[Any]"
    ) -> Pending[None]:
        """Begin to write an array or a file, or to replace one, as `volume[name] = value` does, and go on.

        Raises:
            TypeError: Something else, such as a str or a list.
            UsageError: A type that cannot be stored; the rest is told by `result()` of the handle.
        """
        native = self._drive._volume.submit_object(new_name(name), *_content(value))
        return Pending(native, lambda _: None)

    def write_table(self, name: str, data: bytes, schema: bytes) -> None:
        """Write a table or replace one: bytes, and a schema of up to 65,535 bytes that says what they mean.

        Raises:
            UsageError: As for arrays and files; too long a schema.
        """
        self._drive._volume.write_object(new_name(name), "table", bytes(data), schema=bytes(schema))

    def __getitem__(self, name: str) -> "bytes | NDArray[Any]":
        """The bytes of a file or table, or an array.

        Raises:
            KeyError: There is no such object.
            UsageError: It is a group: `drive.group(name)` has its vectors.
        """
        self._check(name)
        row, data = self._drive._volume.read_object(name)
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
        self._drive._volume.remove_object(name)

    def _check(self, name: str) -> None:
        found = self._drive._volume.object(name) if is_unicode(name) else None
        if found is None:
            raise KeyError(f"the volume has no object {name!r}; it has {', '.join(self) or 'none'}")
        if _object(found).kind == "group":
            raise UsageError(f"{name!r} is a group: drive.group({name!r}) has its vectors")
        if _object(found).kind == "store":
            raise UsageError(
                f"{name!r} is a store of names and values: drive.search has it, or what it is of"
            )

    def rename(self, old: str, new: str) -> None:
        """Give an object another name.

        Raises:
            UsageError: There is no such object; the name is taken, or is none; it is a store, which has parts
                with names that begin with its own.
        """
        found = self._drive._volume.object(new_name(old))
        if found is not None and _object(found).kind == "store":
            raise UsageError(
                f"{old!r} is a store of names and values, which keeps the name that it was made with"
            )
        self._drive._volume.rename_object(old, new_name(new))

    @property
    def blocks(self) -> int:
        """Its logical blocks, catalogue included; 0 before anything was named."""
        return self._drive._volume.volume_usage()[1]

    @property
    def free_blocks(self) -> int:
        """Its logical blocks that no object has."""
        return self._drive._volume.volume_usage()[2]


class VolumeFiles:
    """The files of a volume, as what is searched keeps them beside its stores."""

    def __init__(self, volume: Volume) -> None:
        self._volume = volume

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or replace one."""
        self._volume[name] = data

    def read(self, name: str, offset: int = 0, size: int | None = None) -> bytes:
        """A part of a file.

        Raises:
            KeyError: There is none.
        """
        return self._volume.handle(name).read(offset, size)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if name in self._volume:
            del self._volume[name]

    def __contains__(self, name: object) -> bool:
        """Whether there is a file of this name, or something else that is no store."""
        return name in self._volume

    def rename(self, old: str, new: str) -> None:
        """Give a store or a file another name."""
        self._volume._drive._volume.rename_object(old, new)


def _object(row: ObjectRow) -> VolumeObject:
    name, kind, length, dtype, shape, schema, extents = row
    known: dict[str, Kind] = {each: each for each in get_args(Kind)}
    schema = None if schema is None else bytes(schema)
    return VolumeObject(name, known[kind], Size(length), dtype, tuple(shape), schema, extents)


def _content(
    value: "bytes | bytearray | memoryview | NDArray[Any]",
) -> tuple[str, bytes, str, list[int]]:
    """Kind, bytes, type and shape of a file or an array."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "file", bytes(value), "", []
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
    return "array", array.tobytes(), array.dtype.str, list(array.shape)


def _plain_bytes(data: "bytes | bytearray | memoryview | NDArray[Any]") -> bytes:
    """The bytes of data, of an array those of its items."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    return _content(data)[1]
