"""Commands that serve a drive, in processes of their own."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

#: Seconds that a server has to begin or to end.
PATIENCE = 60


class Server:
    """A command that serves a drive, from its start to its end."""

    def __init__(
        self, command: Sequence[str], logs: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = command
        name = logs / f"server-{time.monotonic_ns()}"
        self._printed, self._said = name.with_suffix(".out"), name.with_suffix(".err")
        with self._printed.open("wb") as printed, self._said.open("wb") as said:
            self._process = subprocess.Popen(command, stdout=printed, stderr=said, env=environment)

    @property
    def number(self) -> int:
        """That of its process."""
        return self._process.pid

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            # What it says last, it may have said after the look.
            assert self._process.poll() is None or holds(), self.errors()
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.02)

    def errors(self) -> str:
        """What it said on the standard error so far, which is all but figures."""
        return self._said.read_text()

    def send(self, number: int = signal.SIGINT) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self, number: int = signal.SIGINT) -> str:
        """Send a signal and wait; what it printed."""
        self.send(number)
        return self.ended()

    def ended(self, code: int = 0) -> str:
        """Wait until it has ended so; what it printed."""
        assert self._process.wait(PATIENCE) == code, f"{self.command}\n{self.errors()}"
        return self._printed.read_text()

    def end_by_force(self) -> None:
        """Have nothing left behind of a test that failed, whoever works there."""
        for patience in (0.5, PATIENCE):
            self.send()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        self.kill()

    def kill(self) -> None:
        """As a crash of it."""
        self._process.kill()
        self._process.wait()
