"""The real LevelDB, by its C interface (leveldb/c.h) in the system's library."""

import ctypes
import ctypes.util
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

PACKAGE = "libleveldb1d"

_NO_COMPRESSION, _SNAPPY = 0, 1


def library() -> Any:  # noqa: ANN401 (a library's functions are found by name)
    """The library, None where it is not installed."""
    for name in ("libleveldb.so.1d", ctypes.util.find_library("leveldb")):
        try:
            found = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if found is not None:
            return found
    return None


class LevelDb(AbstractContextManager["LevelDb"]):
    """An open database.

    Args:
        path: Its folder.
        create: Whether it may be new.
        compress: Whether blocks are compressed by Snappy.
        write_buffer_bytes: What goes into a table file of level 0.
        bits_per_key: Of Bloom filters in table files; 0: none.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        compress: bool = True,
        write_buffer_bytes: int = 16 << 20,
        bits_per_key: int = 0,
    ) -> None:
        self._library = library()
        for name in ("options_create", "open", "readoptions_create", "writeoptions_create"):
            self._function(name).restype = ctypes.c_void_p
        for name in ("create_iterator", "iter_key", "iter_value"):
            self._function(name).restype = ctypes.c_void_p
        self._function("iter_valid").restype = ctypes.c_ubyte
        options = ctypes.c_void_p(self._function("options_create")())
        self._function("options_set_create_if_missing")(options, ctypes.c_ubyte(create))
        self._function("options_set_paranoid_checks")(options, ctypes.c_ubyte(1))
        self._function("options_set_compression")(options, _SNAPPY if compress else _NO_COMPRESSION)
        self._function("options_set_write_buffer_size")(options, ctypes.c_size_t(write_buffer_bytes))
        if bits_per_key:
            self._function("filterpolicy_create_bloom").restype = ctypes.c_void_p
            bloom = self._function("filterpolicy_create_bloom")(ctypes.c_int(bits_per_key))
            self._function("options_set_filter_policy")(options, ctypes.c_void_p(bloom))
        self._reads = ctypes.c_void_p(self._function("readoptions_create")())
        self._function("readoptions_set_verify_checksums")(self._reads, ctypes.c_ubyte(1))
        self._writes = ctypes.c_void_p(self._function("writeoptions_create")())
        self._database = ctypes.c_void_p(self._checked("open", options, str(path).encode()))

    def __exit__(self, *_: object) -> None:
        self._function("close")(self._database)

    def put(self, key: bytes, value: bytes) -> None:
        """Sets a key's value."""
        sizes = (ctypes.c_size_t(len(key)), ctypes.c_size_t(len(value)))
        self._checked("put", self._database, self._writes, key, sizes[0], value, sizes[1])

    def delete(self, key: bytes) -> None:
        """Removes a key."""
        self._checked("delete", self._database, self._writes, key, ctypes.c_size_t(len(key)))

    def get(self, key: bytes) -> bytes | None:
        """A key's value, None if it has none."""
        size = ctypes.c_size_t()
        self._function("get").restype = ctypes.c_void_p
        length = ctypes.c_size_t(len(key))
        value = self._checked("get", self._database, self._reads, key, length, ctypes.byref(size))
        if value is None:
            return None
        found = ctypes.string_at(value, size.value)
        self._function("free")(ctypes.c_void_p(value))
        return found

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys in order, with their values."""
        at = ctypes.c_void_p(self._function("create_iterator")(self._database, self._reads))
        self._function("iter_seek_to_first")(at)
        while self._function("iter_valid")(at):
            size = ctypes.c_size_t()
            key = ctypes.string_at(self._function("iter_key")(at, ctypes.byref(size)), size.value)
            value = ctypes.string_at(self._function("iter_value")(at, ctypes.byref(size)), size.value)
            yield key, value
            self._function("iter_next")(at)
        error = ctypes.c_char_p()
        self._function("iter_get_error")(at, ctypes.byref(error))
        self._function("iter_destroy")(at)
        if error.value is not None:
            raise OSError(error.value.decode())

    def _function(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._library, f"leveldb_{name}")

    def _checked(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        error = ctypes.c_char_p()
        result = self._function(name)(*arguments, ctypes.byref(error))
        if error.value is not None:
            raise OSError(error.value.decode())
        return result
