"""Goes through a page from top to bottom as its reader would: `walk.py PAGE FOLDER`.

It runs in namespaces of its own, with /mnt and /run that are empty and all ports free, so that everything is
done to the letter. A block of commands is typed into a terminal. If its last one serves a drive, that goes on
in this terminal, and the next block is typed into another one. It is ended by `umount`, where a later block
speaks of Ctrl-C, or at the end of the page.
What is to be done in the guest is done in one by crates/attach/tests/guest.rs.
"""

import fcntl
import io
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import FrameType

from blocks import Block, agrees, blocks

#: What stands above commands for a virtual machine.
GUEST = "In the guest"
#: Seconds that a page may take.
PATIENCE = 120
_SERVES = re.compile(r"bitline (attach|serve)\b[^;|]*$")
#: What a server says when it serves.
_READY = {"attach": " ends it\n", "serve": "nvme+tcp://"}
_CTRL_C = re.compile(r"^#.*\bCtrl-C\b.*\n", re.MULTILINE)


class Server:
    """A command that serves, in a terminal of its own."""

    def __init__(self, command: str, said: Path) -> None:
        self.command, self._said = command, said
        with said.open("wb") as output:
            # A terminal sends Ctrl-C to all of a command's processes, and to no others.
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], stdout=output, stderr=output, start_new_session=True
            )
        served = _SERVES.match(command)
        assert served is not None
        while _READY[served[1]] not in self.said():
            assert self.process.poll() is None, f"{command}\n{self.said()}"
            time.sleep(0.02)

    def said(self) -> str:
        """All that it has said."""
        return self._said.read_text()

    def interrupt(self) -> None:
        """Ctrl-C, and what comes of it."""
        self.process.send_signal(signal.SIGINT)
        self.ended()

    def ended(self) -> None:
        """Wait until it has ended, as it should."""
        assert self.process.wait() == 0, f"{self.command}\n{self.said()}"

    def end_by_force(self) -> None:
        """Leave nothing behind of a page that failed."""
        for wait in (5, 10):
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(wait)
        self.process.kill()


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
                if block.heading != GUEST:
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
        return came

    def _typed(self, source: str) -> str:
        lines = source.splitlines()
        serves = lines.pop() if lines and _SERVES.match(lines[-1]) else None
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"it ended with {done.returncode}\n{done.stdout}"
        unmounted = {line.split()[-1] for line in lines if line.startswith("umount ")}
        for server in list(self._servers):
            if unmounted & {*server.command.split()}:
                server.ended()
                self._servers.remove(server)
        if serves is None:
            return done.stdout
        number = len([*self._logs.iterdir()])
        self._servers.append(Server(serves, self._logs / f"{number}.txt"))
        return done.stdout + self._servers[-1].said()

    def _ctrl_c(self) -> None:
        while self._servers:
            self._servers[-1].interrupt()
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
