"""Goes through a page from top to bottom as its reader would: `walk.py PAGE FOLDER`.

It runs in namespaces of its own, with /mnt and /run that are empty and all ports free, so that everything is
done to the letter. A block of commands is typed into a terminal. If its last one serves a drive, that goes on
in this terminal, and the next block is typed into another one. It is ended by `umount`, where a later block
speaks of Ctrl-C, or at the end of the page.
Other tests do what is to be done elsewhere: crates/attach/tests/guest.rs in the guest, and
test_leveldb_mounted.py with LevelDB, which is built first.
"""

import fcntl
import io
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

from blocks import Block, agrees, blocks
from servers import Server

#: What stands above commands for other tests.
ELSEWHERE = {"In the guest", "LevelDB, compacted by its drive"}
#: Seconds that a page may take.
PATIENCE = 120
_SERVES = re.compile(r"bitline (attach|serve)\b[^;|]*$")
_CTRL_C = re.compile(r"^#.*\bCtrl-C\b.*\n", re.MULTILINE)


class Walk:
    """Somebody who goes through a page, in the working folder."""

    def __init__(self, page: Path, logs: Path) -> None:
        self._page, self._logs = page, logs
        self._servers: list[Server] = []
        self._names: dict[str, object] = {"__name__": "__main__"}

    def go(self) -> None:
        """Do all of it."""
        try:
            for block in blocks(self._page.read_text()):
                if block.heading not in ELSEWHERE:
                    self._do(block)
            self._ctrl_c()
        except BaseException:
            for server in self._servers:
                server.end_by_force()
            raise

    def _do(self, block: Block) -> None:
        print(f"{self._page.name}:{block.line + 1}\n{block.source}", flush=True)
        came = self._python(block) if block.language == "python" else self._commands(block)
        print(came, flush=True)
        assert block.shown is None or agrees(block.shown, came), f"shown is:\n{block.shown}"

    def _python(self, block: Block) -> str:
        with redirect_stdout(io.StringIO()) as came:
            exec(compile(block.moved, str(self._page), "exec"), self._names)
        return came.getvalue()

    def _commands(self, block: Block) -> str:
        """What a terminal shows of them."""
        before, *after = _CTRL_C.split(block.source)
        came = self._typed(before)
        for part in after:
            self._ctrl_c()
            came += self._typed(part)
        if not _SERVES.match(block.source.splitlines()[-1]):
            return came
        # It serves when it has said all that the page shows.
        server, shown = self._servers[-1], block.shown
        assert shown is not None, "what it says when it serves is not shown"
        server.until(lambda: agrees(shown, came + server.errors()))
        return came + server.errors()

    def _typed(self, source: str) -> str:
        lines = source.splitlines()
        serves = lines.pop() if lines and _SERVES.match(lines[-1]) else None
        assert not any(map(_SERVES.match, lines)), "what serves would be in the way of what comes after it"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"it ended with {done.returncode}\n{done.stdout}"
        unmounted = {line.split()[-1] for line in lines if line.startswith("umount ")}
        for server in list(self._servers):
            if unmounted & {*server.command}:
                server.ended()
                self._servers.remove(server)
        if serves is not None:
            self._servers.append(Server(shlex.split(serves), self._logs))
        return done.stdout

    def _ctrl_c(self) -> None:
        while self._servers:
            self._servers[-1].end()
            self._servers.pop()


def main(page: Path, folder: Path) -> None:
    """Go through a page, in an empty folder."""
    _own_places(folder)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(PATIENCE)
    Walk(page, folder / "logs").go()


def _own_places(folder: Path) -> None:
    """Have an empty /mnt and /run, a network with all ports, and a command `bitline`."""
    for name in ("mnt", "logs", "bin", "run", "home"):
        (folder / name).mkdir()
    # Records and sockets of servers are in /run/bitline.
    for name in ("mnt", "run"):
        subprocess.run(["mount", "--bind", str(folder / name), f"/{name}"], check=True)
    os.environ.pop("XDG_RUNTIME_DIR", None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        # SIOCSIFFLAGS: the loopback device is up (IFF_UP).
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))
    command = folder / "bin/bitline"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bitline "$@"\n')
    command.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([str(command.parent), os.environ["PATH"], "/usr/sbin", "/sbin"])
    os.chdir(folder / "home")


def _late(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"it takes longer than {PATIENCE} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
