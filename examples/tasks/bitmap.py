"""The host's twin of bitmap.c: Word-Aligned Hybrid code by NumPy, in both directions."""

import struct

import numpy as np
from numpy.typing import NDArray

Files = dict[str, tuple[bytes, str]]

#: Bits of a group, and groups of a piece: eight groups are 31 whole bytes.
_GROUP = 31
_PIECE = 8 << 15

_IS_FILL, _IS_SET, _COUNT = 1 << 31, 1 << 30, (1 << 30) - 1


def compress(bitmap: bytes) -> bytes:
    """WAH's words of a bitmap; bit i is bit i % 8 of byte i / 8."""
    if not bitmap:
        return b""
    groups = np.concatenate([_groups(bitmap[at : at + _PIECE // 8 * _GROUP]) for at in _pieces(len(bitmap))])
    is_fill = (groups == 0) | (groups == _IS_FILL - 1)
    begins = np.ones(groups.size, bool)
    begins[1:] = ~is_fill[1:] | (groups[1:] != groups[:-1])
    first = np.flatnonzero(begins)
    lengths = np.diff(np.append(first, groups.size))
    assert lengths.max() <= _COUNT, "a fill is longer than a word can count"
    value = groups[first]
    fills = _IS_FILL | np.where(value == 0, 0, _IS_SET) | lengths
    return np.where(is_fill[first], fills, value).astype("<u4").tobytes()


def decompress(words: bytes, size: int) -> bytes:
    """The bitmap of so many bytes that WAH's words stand for."""
    if not size:
        return b""
    word = np.frombuffer(words, "<u4").astype(np.int64)
    is_fill = word >= _IS_FILL
    lengths = np.where(is_fill, word & _COUNT, 1)
    value = np.where(is_fill, np.where(word & _IS_SET, _IS_FILL - 1, 0), word)
    ends = np.cumsum(lengths)
    pieces = []
    for at in range(0, -(-size * 8 // _GROUP), _PIECE):
        numbers = np.arange(at, min(at + _PIECE, int(ends[-1])))
        pieces.append(_bytes(value[np.searchsorted(ends, numbers, side="right")]))
    return b"".join(pieces)[:size]


def case(size: int, seed: int) -> tuple[Files, bytes]:
    """A bitmap of so many bytes, a twentieth random and the rest runs: it shrinks to about a sixteenth."""
    random = np.random.default_rng(seed)
    bitmap = np.repeat(random.integers(0, 2, size // 1024 + 1, np.uint8) * 255, 1024)[:size]
    busy = np.repeat(random.random(size // 1024 + 1) < 1 / 20, 1024)[:size]
    bitmap[busy] = random.integers(0, 256, int(busy.sum()), np.uint8)
    files = {"in": (compress(bitmap.tobytes()), "r"), "out": (bytes(size), "w")}
    return files, struct.pack("<2i", 0, 1)


def twin(files: Files, arguments: bytes) -> tuple[bytes, dict[str, bytes]]:
    """What the task should return, and leave in the files that it writes."""
    source, target = (list(files)[number] for number in struct.unpack("<2i", arguments))
    size = len(files[target][0])
    return struct.pack("<q", size), {target: decompress(files[source][0], size)}


def _pieces(size: int) -> range:
    return range(0, size, _PIECE // 8 * _GROUP)


def _groups(piece: bytes) -> NDArray[np.int64]:
    bits = np.unpackbits(np.frombuffer(piece, np.uint8), bitorder="little")
    padded = np.zeros((-(-bits.size // _GROUP), _GROUP), np.uint8)
    padded.reshape(-1)[: bits.size] = bits
    words = np.packbits(np.pad(padded, ((0, 0), (0, 1))), axis=1, bitorder="little")
    return words.view("<u4").reshape(-1).astype(np.int64)


def _bytes(groups: NDArray[np.int64]) -> bytes:
    octets = groups.astype("<u4").reshape(-1, 1).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little")[:, :_GROUP]
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()
