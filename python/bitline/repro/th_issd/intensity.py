"""What the drive gains on the baseline by how much is computed for each byte, which the paper does not say.

```python
from bitline.repro.th_issd import intensity

points = intensity.scanned(queries=(1,), size=8 << 20)
assert points[0].ratio > 0.9
```

Where nothing is computed, links and flash decide; where much is, the accelerator, which all systems share.
The figure shows where on the way from one to the other the published numbers lie.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bitline.repro.th_issd import edge
from bitline.repro.th_issd.systems import (
    BASELINE,
    INFORMATION_RETRIEVAL,
    OURS,
    RETRIEVING,
    SERIAL,
    System,
    fill,
    opened,
)
from bitline.repro.th_issd.workloads import CHANNELS, Workload, module, scan_params

#: Queries that are asked together, so that a byte of the index is multiplied as often.
QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Vectors, and layers, that a byte of a frame meets.
STACKS = ((1, 1), (4, 1), (16, 1), (64, 1), (128, 2), (128, 8), (128, 32))
#: Bytes of the index, and of a frame; frames of a batch.
INDEX_BYTES, FRAME_BYTES, FRAMES = 1 << 30, 256 << 10, 8
_FEATURE_BYTES = 128


@dataclass(frozen=True)
class Gain:
    """What ours gains on a baseline at an intensity."""

    experiment: str
    """`scan` or `frames`."""
    system: System
    """The baseline."""
    macs_per_byte: float
    """Multiplications and additions for each byte of what is scanned or recorded."""
    ratio: float
    """Throughput of ours over the baseline's."""
    gigabytes_per_second: float
    """What ours takes in a second."""


def scanned(
    *,
    queries: Sequence[int] = QUERIES,
    size: int = INDEX_BYTES,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Gain]:
    """An index of so many bytes scanned for more and more queries at once."""
    seconds: dict[tuple[System, int], float] = {}
    for system in RETRIEVING:
        with opened(INFORMATION_RETRIEVAL, system) as drive:
            fill(drive, "index", size)
            for count in (queries[0], *queries):  # the first once more: the module is loaded
                begin = drive.now.s
                with drive.streams.open(
                    "index",
                    task=module("scan"),
                    params=scan_params(count, _FEATURE_BYTES),
                    piece_size=256 << 10,
                    where=system.where,
                ) as stream:
                    stream.read()
                seconds[system, count] = drive.now.s - begin
                progress(len(seconds))
    return [
        Gain(
            "scan",
            system,
            count,
            seconds[system, count] / seconds[OURS, count],
            size / seconds[OURS, count] / 1e9,
        )
        for system in (BASELINE, SERIAL)
        for count in queries
    ]


def recorded(
    *,
    stacks: Sequence[tuple[int, int]] = STACKS,
    rounds: int = edge.ROUNDS,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Gain]:
    """Frames recorded with larger and larger networks."""
    rates: dict[tuple[System, tuple[int, int]], float] = {}
    for stack in stacks:
        workload = network(*stack)
        for system in RETRIEVING:
            rates[system, stack] = edge.recorded(system, workload, FRAMES, rounds)[1]
            progress(len(rates))
    return [
        Gain(
            "frames",
            system,
            network(*stack).macs / FRAME_BYTES,
            rates[OURS, stack] / rates[system, stack],
            rates[OURS, stack] * FRAME_BYTES / 1e9,
        )
        for system in (BASELINE, SERIAL)
        for stack in stacks
    ]


def network(vectors: int, layers: int) -> Workload:
    """A network of given layers, each of which multiplies so many vectors."""
    weights = layers * CHANNELS**2
    return Workload("stack", FRAME_BYTES, "", vectors * weights, weights, "")
