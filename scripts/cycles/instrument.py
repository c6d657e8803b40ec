"""Rewrites a WebAssembly module so that it counts the instructions that it executes, by class.

The classes are those of `[task.cycles]` (crates/device/src/task/costs.rs). Each straight run of
instructions is preceded by additions to counters, which are exported globals called `count_CLASS`.
"""

from collections.abc import Callable, Iterator

from bitline.wasm import sections

CLASSES = (
    "local",
    "simple",
    "multiply",
    "divide",
    "load",
    "store",
    "branch",
    "call",
    "float",
    "float_divide",
    "vector",
)

#: Instructions after which something else may go on: a run ends.
_ENDS_RUN = {0x00, 0x02, 0x03, 0x04, 0x05, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11}

_GLOBALS, _EXPORTS, _CODE = 6, 7, 10


class _Reader:
    """Bytes of a section, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        """A LEB128 number as it comes, of which the sign does not matter here."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def skip(self, size: int) -> None:
        self.at += size


def unsigned(value: int) -> bytes:
    """A number as LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    """A number that is not negative as signed LEB128."""
    out = bytearray()
    while value >= 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def instrumented(module: bytes) -> bytes:
    """The module with counters. It has to be one of its own globals, and to import none."""
    out = bytearray(module[:8])
    first = 0
    for number, content in sections(module):
        if number == _GLOBALS:
            reader = _Reader(content)
            first = reader.number()
            counters = b"\x7e\x01\x42\x00\x0b" * len(CLASSES)  # mutable i64s that begin at 0
            content = unsigned(first + len(CLASSES)) + content[reader.at :] + counters
        elif number == _EXPORTS:
            reader = _Reader(content)
            count = reader.number()
            content = unsigned(count + len(CLASSES)) + content[reader.at :]
            for index, name in enumerate(CLASSES):
                named = f"count_{name}".encode()
                content += unsigned(len(named)) + named + b"\x03" + unsigned(first + index)
        elif number == _CODE:
            content = _bodies(content, first)
        if number != 0:
            out += bytes([number]) + unsigned(len(content)) + content
    return bytes(out)


def _bodies(section: bytes, first: int) -> bytes:
    reader = _Reader(section)
    count = reader.number()
    out = bytearray(unsigned(count))
    for _ in range(count):
        size = reader.number()
        body = _body(section[reader.at : reader.at + size], first)
        reader.skip(size)
        out += unsigned(len(body)) + body
    return bytes(out)


def _body(body: bytes, first: int) -> bytes:
    reader = _Reader(body)
    for _ in range(reader.number()):
        reader.number()
        reader.skip(1)
    out = bytearray(body[: reader.at])
    for start, end, classes in _runs(body, reader.at):
        for index, name in enumerate(CLASSES):
            if amount := classes.count(name):
                counter = unsigned(first + index)
                out += b"\x23" + counter + b"\x42" + signed(amount) + b"\x7c\x24" + counter
        out += body[start:end]
    return bytes(out)


def _runs(body: bytes, at: int) -> Iterator[tuple[int, int, list[str]]]:
    """Straight runs: where each begins and ends, and the classes of its instructions."""
    reader = _Reader(body)
    start = reader.at = at
    classes: list[str] = []
    while reader.at < len(body):
        opcode = body[reader.at]
        reader.skip(1)
        prefixed = reader.number() if opcode in (0xFC, 0xFD) else 0
        found = _class(opcode, prefixed)
        if found:
            classes.append(found)
        _skip_immediates(reader, opcode, prefixed)
        if opcode in _ENDS_RUN:
            yield start, reader.at, classes
            start, classes = reader.at, []


def _skip_immediates(reader: _Reader, opcode: int, prefixed: int) -> None:
    if opcode == 0x0E:
        for _ in range(reader.number() + 1):
            reader.number()
    elif opcode == 0x1C:
        for _ in range(reader.number()):
            reader.skip(1)
    elif opcode == 0xFC:
        for _ in range({8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 14: 2}.get(prefixed, 1 if prefixed > 8 else 0)):
            reader.number()
    elif opcode == 0xFD:
        _skip_vector_immediates(reader, prefixed)
    elif opcode == 0x11 or 0x28 <= opcode <= 0x3E:
        reader.number()
        reader.number()
    elif opcode in (0x43, 0x44):
        reader.skip(4 if opcode == 0x43 else 8)
    elif opcode in (0x02, 0x03, 0x04, 0x0C, 0x0D, 0x10, 0x3F, 0x40, 0x41, 0x42) or 0x20 <= opcode <= 0x26:
        reader.number()


def _skip_vector_immediates(reader: _Reader, prefixed: int) -> None:
    if prefixed in (12, 13):
        reader.skip(16)
    elif 21 <= prefixed <= 34:
        reader.skip(1)
    elif prefixed <= 11 or 84 <= prefixed <= 93:
        reader.number()
        reader.number()
        reader.skip(84 <= prefixed <= 91)


#: Of instructions of one byte, by where a range of their opcodes begins: the class of all up to the next.
_RANGES: tuple[tuple[int, str], ...] = (
    (0x00, ""),
    (0x04, "branch"),
    (0x05, ""),
    (0x0C, "branch"),
    (0x0F, ""),
    (0x10, "call"),
    (0x1A, ""),
    (0x1B, "simple"),
    (0x20, "local"),
    (0x23, "load"),
    (0x24, "store"),
    (0x28, "load"),
    (0x36, "store"),
    (0x3F, "call"),
    (0x41, "local"),
    (0x45, "simple"),
    (0x5B, "float"),
    (0x67, "simple"),
    (0x6C, "multiply"),
    (0x6D, "divide"),
    (0x71, "simple"),
    (0x7E, "multiply"),
    (0x7F, "divide"),
    (0x83, "simple"),
    (0x8B, "float"),
    (0xA7, "simple"),
    (0xA8, "float"),
    (0xAC, "simple"),
    (0xAE, "float"),
    (0xC0, "simple"),
)

#: Divisions and square roots of f32 and f64, and of vectors of them.
_FLOAT_DIVISIONS = {0x91, 0x95, 0x9F, 0xA3}
_VECTOR_DIVISIONS = {0xE3, 0xE7, 0xEF, 0xF3}


def _class(opcode: int, prefixed: int) -> str:
    """The class of an instruction; empty for what makes no code."""
    if opcode == 0xFC:
        return "float" if prefixed < 8 else "call"
    if opcode == 0xFD:
        return _vector_class(prefixed)
    if opcode in _FLOAT_DIVISIONS:
        return "float_divide"
    within: Callable[[tuple[int, str]], bool] = lambda entry: entry[0] <= opcode  # noqa: E731
    return [name for _, name in filter(within, _RANGES)][-1]


def _vector_class(prefixed: int) -> str:
    if prefixed <= 10 or 84 <= prefixed <= 87 or prefixed in (92, 93):
        return "load"
    if prefixed == 11 or 88 <= prefixed <= 91:
        return "store"
    if prefixed == 12:
        return "local"
    return "float_divide" if prefixed in _VECTOR_DIVISIONS else "vector"
