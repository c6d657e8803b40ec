"""What a drive's parts do, event by event: `drive.tracing`.

```python
with bitline.open() as drive:
    drive.tracing.restart()
    drive.write(0, bytes(4096))
    drive.tracing.write("trace.json")
```
"""

import os
from pathlib import Path

from bitline import _bitline
from bitline.timeline import Timeline


class Tracing:
    """The trace of a drive. See `Drive.tracing`. A drive records none until `restart`."""

    __slots__ = ("_native",)

    def __init__(self, native: _bitline.Drive) -> None:
        self._native = native

    def restart(self, *, busiest: bool = False) -> None:
        """Restart the drive and record a trace from then on, until the next power cut.

        Counts begin at zero. The trace takes memory with every event, and on a used drive begins with the
        scan that recovers it.

        Args:
            busiest: Keep only the busiest two milliseconds, for `busiest()`: memory stays bounded.
        """
        self._native.restart_traced(busiest)

    def busiest(self) -> Timeline | None:
        """What happened in the busiest two milliseconds since tracing began.

        Workloads count from the moment at which their ranges are filled.

        Returns:
            The timeline, for `bitline.plot`; None if nothing happened, or without tracing.
        """
        return Timeline._from_json(self._native.busiest())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write what was traced as JSON in the trace-event format, for Perfetto and other viewers.

        Raises:
            UsageError: The drive records none: `restart` has it begin.
            OSError: The file cannot be written.
        """
        self._native.write_trace(Path(path))
