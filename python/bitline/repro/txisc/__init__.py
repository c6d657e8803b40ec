"""TxISC (DATE 2025): its microbenchmark and applications on its drive, and the table of deviations.

```python
from bitline.repro.txisc import bandwidths

points = bandwidths(emulated=True, percents=(0,), depths=(1,), requests=100, file_bytes=4 << 20)
assert 0.99 < points[0].bandwidth / points[1].bandwidth < 1.01
```
"""

from pathlib import Path

from bitline.repro.published import Published
from bitline.repro.published import published as read
from bitline.repro.txisc.bandwidth import Point, bandwidths
from bitline.repro.txisc.memory import entry_bytes

__all__ = ["FOLDER", "Point", "Published", "bandwidths", "entry_bytes", "published"]

#: Where the published numbers are, in a checkout and in an installed package.
FOLDER = Path(__file__).parent / "data"


def published(folder: Path = FOLDER) -> list[Published]:
    """All published numbers, by figure.

    Raises:
        ConfigError: There are no such files, or one is malformed.
    """
    return read(folder)
