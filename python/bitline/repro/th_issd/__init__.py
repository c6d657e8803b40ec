"""TH-iSSD (TECS 2023): its two systems beside what they are compared with, and the table of deviations.

```python
from bitline.repro.th_issd import WORKLOADS

assert WORKLOADS["remote-sensing"].items > 1_700_000
```
"""

from pathlib import Path

from bitline.repro.published import Published
from bitline.repro.published import published as read
from bitline.repro.th_issd.workloads import WORKLOADS, Workload

__all__ = ["FOLDER", "WORKLOADS", "Published", "Workload", "published"]

#: Where the published numbers are, in a checkout and in an installed package.
FOLDER = Path(__file__).parent / "data"


def published(folder: Path = FOLDER) -> list[Published]:
    """All published numbers, by figure.

    Raises:
        ConfigError: There are no such files, or one is malformed.
    """
    return read(folder)
