"""What the drive gains on the baseline by how much is computed for each byte, which the paper does not say.

```python
from bitline.repro.th_issd import intensity

points = intensity.scanned(queries=(1,), size=8 << 20)
assert points[0].ratio > 0.9
```

Where nothing is computed, links and flash decide; where much is, the accelerator, which all systems share.
The figure shows where on the way from one to the other the published numbers lie.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bitline.repro.th_issd import edge
from bitline.repro.th_issd.systems import BASELINE, INFORMATION_RETRIEVAL, OURS, SERIAL, SYSTEMS, fill, opened
from bitline.repro.th_issd.workloads import Workload, module, scan_params

#: Queries that are asked together, so that a byte of the index is multiplied as often.
QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Vectors, and layers, that a byte of a frame meets.
STACKS = ((1, 1), (4, 1), (16, 1), (64, 1), (128, 2), (128, 8), (128, 32))
#: Bytes of the index, and of a frame; frames of a batch.
INDEX_BYTES, FRAME_BYTES, FRAMES = 1 << 30, 256 << 10, 8
_FEATURE_BYTES = 128


@dataclass(frozen=True)
class Point:
    """A baseline at an intensity."""

    experiment: str
    """`scan` or `frames`."""
    system: str
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
) -> list[Point]:
    """An index of so many bytes scanned for more and more queries at once."""
    seconds: dict[tuple[str, int], float] = {}
    for system, (where, _) in SYSTEMS.items():
        with opened(INFORMATION_RETRIEVAL, system) as drive:
            fill(drive, "index", size)
            for count in (queries[0], *queries):  # the first once more: the module is loaded
                begin = drive.now.s
                with drive.streams.open(
                    "index",
                    task=module("scan"),
                    params=scan_params(count, _FEATURE_BYTES),
                    piece_size=256 << 10,
                    where=where,
                ) as stream:
                    stream.read()
                seconds[system, count] = drive.now.s - begin
                progress(len(seconds))
    return [
        Point(
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
) -> list[Point]:
    """Frames recorded with larger and larger networks."""
    compared: Mapping[str, edge.System] = {OURS: edge.OURS, BASELINE: edge.BASELINE, SERIAL: edge.SERIAL}
    rates: dict[tuple[str, tuple[int, int]], float] = {}
    for vectors, layers in stacks:
        workload = _Stack.of(vectors, layers)
        for system, name in compared.items():
            rates[system, (vectors, layers)] = edge.recorded(name, workload, FRAMES, rounds)[1]
            progress(len(rates))
    return [
        Point(
            "frames",
            system,
            _Stack.of(*stack).macs / FRAME_BYTES,
            rates[OURS, stack] / rates[system, stack],
            rates[OURS, stack] * FRAME_BYTES / 1e9,
        )
        for system in (BASELINE, SERIAL)
        for stack in stacks
    ]


@dataclass(frozen=True)
class _Stack(Workload):
    """A network of given layers and vectors."""

    shape: tuple[int, int] = (1, 1)

    @classmethod
    def of(cls, vectors: int, layers: int) -> "_Stack":
        weights = layers * 768**2
        stack = cls("stack", FRAME_BYTES, "", vectors * weights, weights, "")
        return replace(stack, shape=(vectors, layers))

    @property
    def params(self) -> bytes:
        vectors, layers = self.shape
        return struct.pack("<3I", layers, vectors, self.feature_bytes)
