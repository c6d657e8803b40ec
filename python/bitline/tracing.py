"""What a drive's parts do, event by event: `drive.trace` and `drive.tracing`.

```python
with bitline.open() as drive:
    with drive.trace("trace.json"):
        drive.write(0, bytes(4096))
```
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bitline import _bitline
from bitline.timeline import Timeline


class Tracing:
    """The trace of a drive. See `Drive.tracing`. A drive records none until `start`."""

    __slots__ = ("_native",)

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native

    def start(self, *, busiest: bool = False) -> None:
        """Record a trace from now on, until `stop` or a power cut. An earlier one is gone.

        Nothing that the drive does or counts changes. The trace takes memory with every event.

        Args:
            busiest: Keep only the busiest two milliseconds, for `busiest()`: memory stays bounded.

        Raises:
            UsageError: A trace is recorded already: traces do not nest.
        """
        self._native.start_trace(busiest)

    def stop(self) -> None:
        """End the trace. It can be had until another begins.

        Raises:
            UsageError: None was begun.
        """
        self._native.stop_trace()

    def restart(self, *, busiest: bool = False) -> None:
        """Restart the drive and record a trace from then on: on a used drive it begins with the recovery.

        Counts begin at zero.

        Args:
            busiest: As for `start`.

        Raises:
            UsageError: A trace is recorded already: traces do not nest.
        """
        self._native.restart_traced(busiest)

    def busiest(self) -> Timeline | None:
        """What happened in the busiest two milliseconds of the trace.

        Workloads count from the moment at which their ranges are filled.

        Returns:
            The timeline, for `bitline.plot`; None if nothing happened, or without a trace.
        """
        return Timeline._from_json(self._native.busiest())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as JSON in the trace-event format, for Perfetto and other viewers.

        The file appears whole or not at all. A trace that is still recorded is written as far as it is.

        Raises:
            UsageError: There is none: `start` has it begin.
            OSError: The file cannot be written.
        """
        self._native.write_trace(Path(path))

    @contextmanager
    def _section(self, path: str | os.PathLike[str], recovery: bool) -> Iterator[None]:
        """What `Drive.trace` gives."""
        target = Path(path)
        if target.is_dir() or not target.parent.is_dir():
            # Before anything is done for a file that cannot be written.
            number = errno.EISDIR if target.is_dir() else errno.ENOENT
            raise OSError(number, os.strerror(number), str(target))
        self.restart() if recovery else self.start()
        try:
            yield
        except BaseException as error:
            try:
                self._end(target)
            except Exception as failed:
                error.add_note(f"the trace is not in {target}: {failed}")
            raise
        self._end(target)

    def _end(self, path: Path) -> None:
        self.stop()
        self.write(path)
