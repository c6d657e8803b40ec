"""ANVIL (ISCA 2025): its workloads on its two drives, its figures, and the table of deviations.

```python
from bitline.repro.anvil import Bench, numbered

with Bench("SSD-A") as bench:
    region = bench.region(bits=96, value_bytes=128, rows=1)
    region.append(numbered(131_072, 12))
    bench.settle()
    cost = region.costs([region.exactly(bytes(12))])
    assert 1.5 < cost.ns / bench.read().ns < 2
```
"""

from pathlib import Path

from bitline.repro.anvil.drives import Bench, Cost, Region, numbered
from bitline.repro.published import Published
from bitline.repro.published import published as read

__all__ = ["FOLDER", "Bench", "Cost", "Published", "Region", "numbered", "published"]

#: Where the published numbers are, in a checkout and in an installed package.
FOLDER = Path(__file__).parent / "data"


def published(folder: Path = FOLDER) -> list[Published]:
    """All published numbers, by figure.

    Raises:
        ConfigError: There are no such files, or one is malformed.
    """
    return read(folder)
