"""Runs a task's module over files in memory, with the calls of `bitline/isc.h`, by the package wasmtime.

An implementation of the interface that shares nothing with the drive's, so that examples are held against
both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

#: Errors of the calls, as the header numbers them.
EBADF, EAGAIN, EACCES, EINVAL, EFBIG, ENOSPC, ENOSYS = 9, 11, 13, 22, 27, 28, 38

#: Limits of a run.
TICKETS, RETURN_BYTES, LOG_BYTES = 64, 64 << 20, 64 << 10


@dataclass
class Done:
    """How a run ended. Files are as the task left them, which is to be seen only where it gave 0."""

    code: int
    value: bytes
    log: str
    files: dict[str, bytes]
    memory_bytes: int
    calls: int
    """Calls of file_read, file_write and the two that submit."""
    fuel: int


@dataclass
class _Host:
    names: Sequence[str]
    files: list[bytearray]
    is_writable: list[bool]
    arguments: bytes
    value: bytearray = field(default_factory=bytearray)
    log: bytearray = field(default_factory=bytearray)
    tickets: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    submitted: int = 0
    calls: int = 0
    memory: Any = None
    store: Any = None

    def get(self, at: int, size: int) -> bytes:
        at, size = at & 0xFFFFFFFF, size & 0xFFFFFFFF
        assert at + size <= self.memory.data_len(self.store), "out of bounds"
        return bytes(self.memory.read(self.store, at, at + size))

    def put(self, at: int, data: bytes) -> None:
        self.memory.write(self.store, data, at & 0xFFFFFFFF)

    def args_size(self) -> int:
        return len(self.arguments)

    def get_args(self, to: int, size: int, offset: int) -> int:
        part = self.arguments[offset : offset + size]
        self.put(to, part)
        return len(part)

    def parameter(self, number: int) -> int:
        return 0

    def put_ret(self, at: int, size: int) -> int:
        if len(self.value) + size > RETURN_BYTES:
            return -ENOSPC
        self.value += self.get(at, size)
        return 0

    def file_count(self) -> int:
        return len(self.files)

    def file_size(self, file: int) -> int:
        return len(self.files[file]) if 0 <= file < len(self.files) else -EBADF

    def file_read(self, file: int, to: int, size: int, offset: int) -> int:
        self.calls += 1
        if not 0 <= file < len(self.files):
            return -EBADF
        part = bytes(self.files[file][offset : offset + size])
        self.put(to, part)
        return len(part)

    def file_write(self, file: int, at: int, size: int, offset: int) -> int:
        self.calls += 1
        if not 0 <= file < len(self.files):
            return -EBADF
        if not self.is_writable[file]:
            return -EACCES
        if offset < 0 or offset + size > len(self.files[file]):
            return -EFBIG
        self.files[file][offset : offset + size] = self.get(at, size)
        return size

    def submit(self, *call: object) -> int:
        if len(self.tickets) >= TICKETS:
            return -EAGAIN
        self.submitted += 1
        self.tickets[self.submitted] = call
        return self.submitted

    def submit_read(self, *call: int) -> int:
        return self.submit(self.file_read, *call)

    def submit_write(self, *call: int) -> int:
        return self.submit(self.file_write, *call)

    def wait(self, ticket: int) -> int:
        # As late as may be: a task that looks before it waits sees what was there before.
        if ticket not in self.tickets:
            return -EINVAL
        function, *call = self.tickets.pop(ticket)
        return function(*call)

    def write_log(self, at: int, size: int) -> int:
        if len(self.log) + size > LOG_BYTES:
            return -ENOSPC
        self.log += self.get(at, size)
        return 0


#: The calls: parameters and result, "i" of 32 bits, "l" of 64.
_TYPES = {
    "args_size": ("", "i"),
    "get_args": ("iii", "i"),
    "put_ret": ("ii", "i"),
    "file_count": ("", "i"),
    "file_size": ("i", "l"),
    "file_read": ("iiil", "l"),
    "file_write": ("iiil", "l"),
    "submit_read": ("iiil", "i"),
    "submit_write": ("iiil", "i"),
    "wait": ("i", "l"),
    "log": ("ii", "i"),
    "evaluate": ("iili", "l"),
    "look_up": ("iiiii", "l"),
    "stream_next": ("iii", "l"),
    "stream_emit": ("ii", "l"),
    "operate": ("ii", "i"),
    "parameter": ("i", "l"),
}


@cache
def _compiled(module: bytes) -> tuple[Any, Any]:
    import wasmtime

    config = wasmtime.Config()
    config.consume_fuel = True
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, module)


def run(module: Path, files: Mapping[str, tuple[bytes, str]], arguments: bytes = b"") -> Done:
    """Runs a module once, over files by name: what they hold, and "r" or "w" or "rw".

    Raises:
        wasmtime.Trap: The task trapped.
    """
    import wasmtime

    host = _Host(
        names=list(files),
        files=[bytearray(data) for data, _ in files.values()],
        is_writable=["w" in mode for _, mode in files.values()],
        arguments=arguments,
    )
    engine, program = _compiled(module.read_bytes())
    store = wasmtime.Store(engine)
    fuel = 1 << 60
    store.set_fuel(fuel)
    linker = wasmtime.Linker(engine)
    types = {"i": wasmtime.ValType.i32(), "l": wasmtime.ValType.i64()}
    for name, (takes, gives) in _TYPES.items():
        function = getattr(host, {"log": "write_log"}.get(name, name), lambda *_: -ENOSYS)
        kind = wasmtime.FuncType([types[t] for t in takes], [types[gives]])
        linker.define_func("isc", name, kind, function)
    instance = linker.instantiate(store, program)
    exports = instance.exports(store)
    host.memory, host.store = exports["memory"], store
    code = exports["isc_main"](store)
    return Done(
        code=code,
        value=bytes(host.value),
        log=host.log.decode(errors="replace"),
        files={name: bytes(data) for name, data in zip(host.names, host.files, strict=True)},
        memory_bytes=host.memory.data_len(store),
        calls=host.calls,
        fuel=fuel - store.get_fuel(),
    )
