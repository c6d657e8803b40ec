"""Items, a name and its value each, as entries of equal size.

An entry begins with the hash of the name, the entry's number and the length of the whole in bytes, so that
what the drive gives can be told apart and checked; then its part of the whole: the length of the name, the
name, the value.
"""

import hashlib
import struct
from typing import NamedTuple

_HEAD = struct.Struct("<16sII")
_WHOLE = struct.Struct("<I")

#: Bytes of an entry before its part of the whole, where the number lies in them, and before the name.
HEAD_BYTES = _HEAD.size
NUMBER = (16, 4)
NAME_LENGTH_BYTES = _WHOLE.size
BEFORE_NAME = HEAD_BYTES + NAME_LENGTH_BYTES


class Item(NamedTuple):
    """A name and its value."""

    name: bytes
    value: bytes


def digest(name: bytes) -> bytes:
    """128 bits of BLAKE2b, which stand for a name that is too long: no two names are known to share them."""
    return hashlib.blake2b(name, digest_size=16).digest()


def entry_count(item: Item, entry_bytes: int) -> int:
    """How many entries an item has."""
    return -(-(_WHOLE.size + len(item.name) + len(item.value)) // (entry_bytes - HEAD_BYTES))


def entries_of(item: Item, entry_bytes: int) -> list[bytes]:
    """The entries of an item."""
    whole = _WHOLE.pack(len(item.name)) + item.name + item.value
    slot, name = entry_bytes - HEAD_BYTES, digest(item.name)
    return [
        (_HEAD.pack(name, number, len(whole)) + whole[begin : begin + slot]).ljust(entry_bytes, b"\0")
        for number, begin in enumerate(range(0, len(whole), slot))
    ]


def items_of(records: bytes, entry_bytes: int) -> tuple[list[Item], int]:
    """The items whose entries these are, and how many entries are of none that is there as a whole."""
    pieces: dict[bytes, dict[int, bytes]] = {}
    lengths: dict[bytes, int] = {}
    for begin in range(0, len(records), entry_bytes):
        name, number, length = _HEAD.unpack_from(records, begin)
        pieces.setdefault(name, {})[number] = records[begin + HEAD_BYTES : begin + entry_bytes]
        lengths[name] = length
    slot, items, stray = entry_bytes - HEAD_BYTES, list[Item](), 0
    for name, found in pieces.items():
        if len(found) == -(-lengths[name] // slot):
            whole = b"".join(found[number] for number in range(len(found)))[: lengths[name]]
            middle = _WHOLE.size + _WHOLE.unpack_from(whole)[0]
            items.append(Item(whole[_WHOLE.size : middle], whole[middle:]))
        else:
            stray += len(found)
    return items, stray


def names_of(records: bytes, record_bytes: int) -> list[bytes]:
    """The names that the beginnings of entries tell; these are long enough for any name."""
    found = []
    for begin in range(0, len(records), record_bytes):
        _, number, _ = _HEAD.unpack_from(records, begin)
        if number == 0:
            [length] = _WHOLE.unpack_from(records, begin + HEAD_BYTES)
            found.append(records[begin + BEFORE_NAME : begin + BEFORE_NAME + length])
    return found
