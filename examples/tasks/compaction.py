"""The host's twin of compaction.c: LevelDB's table files in Python, and what a compaction keeps of them."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

Files = dict[str, tuple[bytes, str]]

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER_BYTES = 48
_PLAIN, _SNAPPY = 0, 1
_DELETION, _VALUE = 0, 1

#: The arguments, `struct asked` in C.
_ASKED = struct.Struct("<2I2QI3Bx")


class Entry(NamedTuple):
    """A version of a key."""

    user: bytes
    sequence: int
    kind: int
    """0 for a deletion, 1 for a value."""
    value: bytes

    @property
    def key(self) -> bytes:
        """The internal key."""
        return self.user + struct.pack("<Q", self.sequence << 8 | self.kind)


class Output(NamedTuple):
    """What the task says of a file that it wrote."""

    size: int
    entries: int
    smallest: bytes
    largest: bytes


class Asked(NamedTuple):
    """What a compaction is asked for; compaction.c says what the fields mean."""

    inputs: int
    outputs: int
    smallest_snapshot: int = (1 << 56) - 1
    output_bytes_max: int = 2 << 20
    block_bytes: int = 4096
    is_base_level: bool = True
    is_compressed: bool = True
    bits_per_key: int = 0

    def packed(self) -> bytes:
        """As the task takes it."""
        return _ASKED.pack(*self)


def entries(table: bytes) -> Iterator[Entry]:
    """The entries of a table file, every block's sum checked."""
    footer = table[-_FOOTER_BYTES:]
    assert footer[-8:] == _MAGIC, "no table file"
    at = _handle(footer, 0)[1]
    for _, value in _block(table, *_handle(footer, at)[0]):
        for key, content in _block(table, *_handle(value, 0)[0]):
            (tag,) = struct.unpack("<Q", key[-8:])
            yield Entry(key[:-8], tag >> 8, tag & 0xFF, content)


def filters(table: bytes) -> bytes | None:
    """The Bloom filters of a table file, None if it has none."""
    metaindex = _block(table, *_handle(table[-_FOOTER_BYTES:], 0)[0])
    found = dict(metaindex).get(b"filter.leveldb.BuiltinBloomFilter2")
    if found is None:
        return None
    offset, size = _handle(found, 0)[0]
    return table[offset : offset + size]


def table_of(kept: Sequence[Entry], *, block_bytes: int = 4096, is_compressed: bool = False) -> bytes:
    """A table file of entries, which are in order."""
    out, index, block = bytearray(), [], []
    for number, entry in enumerate(kept):
        block.append((entry.key, entry.value))
        if sum(len(key) + len(value) for key, value in block) >= block_bytes or number + 1 == len(kept):
            handle = _append(out, _built(block, 16), is_compressed)
            index.append((entry.key, handle))
            block = []
    footer = _append(out, _built([], 1), False) + _append(out, _built(index, 1), is_compressed)
    return bytes(out) + footer.ljust(_FOOTER_BYTES - 8, b"\0") + _MAGIC


def compacted(tables: Sequence[bytes], asked: Asked) -> list[Entry]:
    """What a compaction keeps, in order (DBImpl::DoCompactionWork)."""
    merged = sorted((e for table in tables for e in entries(table)), key=lambda e: (e.user, -e.sequence))
    kept, user, last = [], None, 0
    for entry in merged:
        newer = last if entry.user == user else 1 << 64
        user, last = entry.user, entry.sequence
        is_shadowed = newer <= asked.smallest_snapshot
        is_gone = entry.kind == _DELETION and last <= asked.smallest_snapshot and asked.is_base_level
        if not is_shadowed and not is_gone:
            kept.append(entry)
    return kept


def outputs(value: bytes) -> list[Output]:
    """What the task returned."""
    found = []
    while value:
        size, count, smallest, largest = struct.unpack_from("<2Q2I", value)
        keys = value[24 : 24 + smallest + largest]
        found.append(Output(size, count, keys[:smallest], keys[smallest:]))
        value = value[24 + smallest + largest :]
    return found


def manifest(written: Sequence[tuple[int, Output]], level: int, last_sequence: int) -> bytes:
    """A database's MANIFEST with table files by number, all on one level (LevelDB's doc/log_format.md)."""
    number = max((number for number, _ in written), default=0) + 1
    record = bytearray(b"\x01" + _with_length(b"leveldb.BytewiseComparator"))
    record += (
        b"\x02" + _as_varint(number) + b"\x03" + _as_varint(number + 1) + b"\x04" + _as_varint(last_sequence)
    )
    for number, output in written:
        record += b"\x07" + _as_varint(level) + _as_varint(number) + _as_varint(output.size)
        record += _with_length(output.smallest) + _with_length(output.largest)
    assert len(record) < 32768 - 7, "one record of a log takes no more files than that"
    whole = b"\x01" + bytes(record)
    return struct.pack("<IH", _masked(whole), len(record)) + whole


def case(size: int, seed: int) -> tuple[Files, bytes]:
    """Four tables of about so many bytes together, with deletions and old versions: files and arguments."""
    random = np.random.default_rng(seed)
    count = size // 60
    made: list[list[Entry]] = [[] for _ in range(4)]
    for sequence in range(1, count + 1):
        user = f"user{random.integers(0, count):06}".encode() * int(random.integers(1, 3))
        kind = _DELETION if random.random() < 0.2 else _VALUE
        value = b"" if kind == _DELETION else random.bytes(4) * int(random.integers(0, 60))
        made[sequence * 4 // (count + 1)].append(Entry(user, sequence, kind, value))
    files: Files = {}
    for number, part in enumerate(made):
        part.sort(key=lambda entry: (entry.user, -entry.sequence))
        files[f"in{number}"] = (table_of(part, is_compressed=number % 2 == 0), "r")
    room = sum(len(table) for table, _ in files.values()) * 2 + 4096
    files |= {f"out{number}": (bytes(room), "w") for number in range(8)}
    asked = Asked(4, 8, count * 3 // 4, size // 6 + 1, 1024, seed % 2 == 0, seed % 3 != 0)
    return files, asked.packed()


def check(value: bytes, left: dict[str, bytes], files: Files, arguments: bytes) -> None:
    """Holds what the task returned and left against what a compaction keeps."""
    asked = Asked(*_ASKED.unpack(arguments))
    before = [data for data, _ in files.values()][: asked.inputs]
    written = outputs(value)
    found = []
    for output, table in zip(written, list(left.values())[asked.inputs :], strict=False):
        own = list(entries(table[: output.size]))
        assert (own[0].key, own[-1].key, len(own)) == (output.smallest, output.largest, output.entries)
        found += own
    assert found == compacted(before, asked)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _with_length(data: bytes) -> bytes:
    return _as_varint(len(data)) + data


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _block(table: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    content, kind = table[offset : offset + size], table[offset + size]
    (sum_,) = struct.unpack_from("<I", table, offset + size + 1)
    assert sum_ == _masked(table[offset : offset + size + 1]), "a block is damaged"
    if kind == _SNAPPY:
        content = pa.decompress(content, _varint(content, 0)[0], codec="snappy", asbytes=True)
    (restarts,) = struct.unpack("<I", content[-4:])
    at, end, key = 0, len(content) - 4 - 4 * restarts, b""
    while at < end:
        shared, at = _varint(content, at)
        own, at = _varint(content, at)
        length, at = _varint(content, at)
        key = key[:shared] + content[at : at + own]
        yield key, content[at + own : at + own + length]
        at += own + length


def _built(pairs: Sequence[tuple[bytes, bytes]], interval: int) -> bytes:
    out, restarts, last = bytearray(), [0], b""
    for number, (key, value) in enumerate(pairs):
        shared = 0
        if number % interval:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        elif number:
            restarts.append(len(out))
        out += (
            _as_varint(shared) + _as_varint(len(key) - shared) + _as_varint(len(value)) + key[shared:] + value
        )
        last = key
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _append(out: bytearray, content: bytes, is_compressed: bool) -> bytes:
    kind = bytes([_SNAPPY if is_compressed else _PLAIN])
    if is_compressed:
        content = pa.compress(content, codec="snappy", asbytes=True)
    handle = _as_varint(len(out)) + _as_varint(len(content))
    out += content + kind + struct.pack("<I", _masked(content + kind))
    return handle


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC_TABLE = _crc_table()


def _masked(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
