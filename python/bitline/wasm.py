"""What a WebAssembly module asks for and offers: its imports and exports, read from the file's sections."""

from collections.abc import Iterator
from typing import NamedTuple

#: What every module begins with: its magic number, and version 1 of the binary format.
_MAGIC = b"\0asm\1\0\0\0"

#: Numbers of sections (WebAssembly 2.0, 5.5.2).
_IMPORTS, _EXPORTS = 2, 7

#: What is imported and exported, by the number that says so (5.5.5, 5.5.10).
KINDS = ("function", "table", "memory", "global", "tag")


class Import(NamedTuple):
    """Something that a module needs from whoever runs it."""

    module: str
    name: str
    kind: str
    """One of `KINDS`."""


class Export(NamedTuple):
    """Something that a module offers."""

    name: str
    kind: str
    """One of `KINDS`."""


class _Reader:
    """Bytes, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("the module ends in the middle of something")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise ValueError("the module ends in the middle of something")
        self.at += size
        return taken

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def name(self) -> str:
        return self.take(self.number()).decode()

    def limits(self) -> None:
        """Of a table or memory: the least, and the most if there is one."""
        flags = self.number()
        self.number()
        if flags & 1:
            self.number()


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of a module or object file: number and content.

    Raises:
        ValueError: It is no WebAssembly module, or its end is missing.
    """
    if not module.startswith(_MAGIC):
        raise ValueError("no WebAssembly module of version 1")
    reader = _Reader(module)
    reader.take(len(_MAGIC))
    while reader.at < len(module):
        number = reader.byte()
        yield number, reader.take(reader.number())


def imports(module: bytes) -> list[Import]:
    """What a module needs, in its order. Of an object file, functions of others are those of module "env"."""
    return [
        found for number, content in sections(module) if number == _IMPORTS for found in _imports(content)
    ]


def exports(module: bytes) -> list[Export]:
    """What a module offers, in its order."""
    return [
        found for number, content in sections(module) if number == _EXPORTS for found in _exports(content)
    ]


def _imports(section: bytes) -> Iterator[Import]:
    reader = _Reader(section)
    for _ in range(reader.number()):
        module, name, kind = reader.name(), reader.name(), KINDS[reader.byte()]
        if kind == "function":
            reader.number()
        elif kind == "table":
            reader.byte()
            reader.limits()
        elif kind == "memory":
            reader.limits()
        else:  # a global's type and whether it changes; a tag's attribute and type
            reader.byte()
            reader.number()
        yield Import(module, name, kind)


def _exports(section: bytes) -> Iterator[Export]:
    reader = _Reader(section)
    for _ in range(reader.number()):
        name, kind = reader.name(), KINDS[reader.byte()]
        reader.number()
        yield Export(name, kind)
