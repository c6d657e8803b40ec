"""Flash-Cosmos (MICRO 2022): its workloads at full size, its figures, and the table of deviations.

```python
from bitline.repro.flash_cosmos import BitmapIndex, measure

point = measure(Task(BitmapIndex(months=36), "flash-cosmos"))
point.elapsed, point.energy
```
"""

from bitline.repro.flash_cosmos.published import Published, published
from bitline.repro.flash_cosmos.runs import Point, Task, measure, measure_all, on_all
from bitline.repro.flash_cosmos.workloads import (
    BitmapIndex,
    CliqueStars,
    ImageSegmentation,
    Workload,
    evaluated,
)

__all__ = [
    "BitmapIndex",
    "CliqueStars",
    "ImageSegmentation",
    "Point",
    "Published",
    "Task",
    "Workload",
    "evaluated",
    "measure",
    "measure_all",
    "on_all",
    "published",
]
