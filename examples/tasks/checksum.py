"""The host's twin of checksum.c: CRC-32 by zlib."""

import struct
import zlib

import numpy as np

Files = dict[str, tuple[bytes, str]]


def case(size: int, seed: int) -> tuple[Files, bytes]:
    """Random input of so many bytes: files with their modes, and arguments."""
    data = np.random.default_rng(seed).bytes(size)
    return {"in": (data, "r"), "out": (bytes(8), "rw")}, struct.pack("<2i", 0, 1)


def twin(files: Files, arguments: bytes) -> tuple[bytes, dict[str, bytes]]:
    """What the task should return, and leave in the files that it writes."""
    source, target = (list(files)[number] for number in struct.unpack("<2i", arguments))
    crc = struct.pack("<I", zlib.crc32(files[source][0]))
    return crc, {target: crc + files[target][0][len(crc) :]}
