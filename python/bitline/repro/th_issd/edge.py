"""Frames of 4.2: cameras write them, and a network labels them as they come.

```python
from bitline.repro.th_issd import edge

points = edge.measured(workloads=["object-detection"], batches=(4,), rounds=4)
assert points[0].throughput > points[1].throughput
```

Ours has cameras at the drive's ports: frames go to flash and to the elements. The baseline's host writes
frames to the drive, reads them for the accelerator, and writes the labels (TH-iSSD, Figure 2). Between them
lies ISP-SC: the host writes frames, and the drive computes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import bitline
from bitline.collectors import Collector
from bitline.repro.th_issd.systems import EDGE, SYSTEMS, WIRE, System, opened
from bitline.repro.th_issd.workloads import BATCHES, WORKLOADS, Workload, module
from bitline.streams import Stream, Where

#: Batches that follow one another where throughput is measured.
ROUNDS = 32
#: Instances of the network: one moves its operands while the other has the accelerator.
_ELEMENTS = 2
#: Bytes of a frame's label.
_LABEL_BYTES = 8


@dataclass(frozen=True)
class Recording:
    """What frames take."""

    system: System
    """One of `SYSTEMS`."""
    workload: str
    """A key of `WORKLOADS`: what a frame is, and the network."""
    batch: int
    """Frames that are handed over together."""
    latency_ns: float
    """From the first byte of a batch on its wire until the host has its labels; nothing else goes on."""
    throughput: float
    """Frames a second, batch after batch."""


def measured(
    *,
    workloads: Iterable[str] = tuple(WORKLOADS),
    batches: Sequence[int] = BATCHES,
    systems: Iterable[System] = SYSTEMS,
    rounds: int = ROUNDS,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Recording]:
    """Frames recorded and labelled, by workload, size of the batch and system in this order.

    Args:
        workloads: Keys of `WORKLOADS`.
        batches: Frames that are handed over together.
        systems: Of `SYSTEMS`.
        rounds: Batches that follow one another where throughput is measured.
        progress: Told how many points are done.
    """
    found: list[Recording] = []
    systems = list(systems)
    for name in workloads:
        for batch in batches:
            for system in systems:
                latency, throughput = recorded(system, WORKLOADS[name], batch, rounds)
                found.append(Recording(system, name, batch, latency, throughput))
                progress(len(found))
    return found


def recorded(system: System, workload: Workload, batch: int, rounds: int) -> tuple[float, float]:
    """Latency of a batch in nanoseconds, and frames a second of so many batches."""
    with opened(EDGE, system) as drive:
        if not system.through_host:
            return _by_itself(drive, workload, batch, rounds)
        forwarder = _Forwarder(drive, system, workload, batch)
        forwarder.finish(forwarder.begin())  # the module is loaded, and the card is up
        begin = drive.now.ns
        forwarder.finish(forwarder.begin())
        latency = drive.now.ns - begin
        begin, before = drive.now.ns, forwarder.begin()
        for _ in range(rounds - 1):
            now = forwarder.begin()
            forwarder.finish(before)
            before = now
        forwarder.finish(before)
        return latency, rounds * batch * 1e9 / (drive.now.ns - begin)


def _label(
    drive: bitline.Drive, frames: str | Collector, workload: Workload, *, where: Where, to: str | None = None
) -> Stream:
    return drive.streams.open(
        frames,
        task=module("network"),
        params=workload.params[:8] + _LABEL_BYTES.to_bytes(4, "little"),
        to=to,
        piece_size=workload.item_bytes,
        elements=_ELEMENTS,
        where=where,
    )


def _by_itself(drive: bitline.Drive, workload: Workload, batch: int, rounds: int) -> tuple[float, float]:
    """The drive records and labels what a camera sends; the host does nothing."""
    each = workload.item_bytes
    drive.collectors.allocate("batch", batch * each)
    with drive.collectors.attach(0, "batch", wire=WIRE) as camera:
        labelling = _label(drive, camera, workload, where="drive")
        begin = drive.now.ns
        drive.collectors.generate(camera, batch * each, packet_size=each, rate=1e12)
        camera.run()
        labelling.read(batch * _LABEL_BYTES)
        latency = drive.now.ns - begin
    labelling.close()
    frames = rounds * batch
    drive.collectors.allocate("frames", frames * each)
    drive.collectors.allocate("labels", frames * _LABEL_BYTES)
    begin = drive.now.ns
    with drive.collectors.attach(0, "frames", wire=WIRE) as camera:
        labelling = _label(drive, camera, workload, where="drive", to="labels")
        drive.collectors.generate(camera, frames * each, packet_size=each, rate=1e12)
        camera.run()
    assert labelling.result.status == "committed"
    return latency, frames * 1e9 / (drive.now.ns - begin)


class _Forwarder:
    """A host that writes batch after batch to the drive, while the labels of earlier ones are being made."""

    def __init__(self, drive: bitline.Drive, system: System, workload: Workload, batch: int) -> None:
        self._drive = drive
        self._where = system.where
        self._workload = workload
        self._batch = batch
        self._begun = self._finished = 0
        drive.collectors.allocate("labels", _LABEL_BYTES << 20)

    def begin(self) -> Stream:
        """Record a batch; its labels are being made."""
        each = self._workload.item_bytes
        frames = f"frames/{self._begun}"
        self._begun += 1
        collectors = self._drive.collectors
        collectors.allocate(frames, self._batch * each)
        camera = collectors.attach(0, frames, wire=WIRE, through_host=True)
        collectors.generate(camera, self._batch * each, packet_size=each, rate=1e12)
        camera.run()
        camera.detach()
        return _label(self._drive, frames, self._workload, where=self._where)

    def finish(self, labelling: Stream) -> None:
        """Wait until the labels of a batch are in the drive."""
        labels = labelling.read()
        labelling.close()
        self._drive.volume.handle("labels").write(self._finished * len(labels), labels)
        self._finished += 1
