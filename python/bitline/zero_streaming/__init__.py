"""Cameras into a drive whose frames stay there: labels as they come, scores when somebody asks, best first.

```python
import numpy as np

import bitline
from bitline.networks import trained
from bitline.zero_streaming import ZeroStreaming

rng = np.random.default_rng(1)
frames = rng.integers(0, 17, (600, 256), dtype=np.int8)
network = trained(frames, rng.integers(0, 3, 600), sizes=(16,))
with bitline.open("th-issd", data="memory", set={"nand.geometry.blocks_per_plane": 64}) as drive:
    cameras = ZeroStreaming(drive, network)
    cameras.record({"door": frames[:300], "street": frames[300:]})
    *_, last = cameras.query(2)
    assert last.scored == 600
    picture = cameras.fetch(last.best[0])
```

After TH-iSSD (TECS 2023), 4.2: what crosses the link are labels, scores, and frames that somebody fetches.
"""

import struct
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitline.arguments import whole_number
from bitline.cc import compiled
from bitline.collectors import Collector, Wire
from bitline.errors import BitlineError, NotFoundError, NvmeError, UsageError
from bitline.networks import Int8, Network, items_of
from bitline.streams import Stream, StreamError
from bitline.tasks import TaskResult
from bitline.units import Duration

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Bytes of a piece of frames: what `label.c` has room for.
_PIECE_BYTES = 256 << 10
_LABEL = struct.Struct("<Ii")
#: What `score.c` takes before runs of frames, and of each run.
_ASKED, _RUN = struct.Struct("<2I"), struct.Struct("<2I")
#: Scores, of 4 bytes, that a run of a task tells at most.
_SCORES = (64 << 10) // 4


@dataclass(frozen=True, order=True)
class Frame:
    """A frame that was scored."""

    score: int
    """How much it looks like what was asked for."""
    camera: str
    """Which camera it is of."""
    number: int
    """Which of its frames, from 0 on."""


@dataclass(frozen=True)
class Step:
    """What is known after a step of a query: of all frames that were scored so far."""

    best: tuple[Frame, ...]
    """Best first; of equal ones by camera and number."""
    scored: int
    """Frames that were scored."""
    frames: int
    """Frames that there are."""
    time: Duration
    """Simulated time since the query began."""


def _module(name: str) -> bytes:
    return compiled(Path(__file__).with_name(f"{name}.c"))


def _quietly(undo: Callable[..., object], *what: object) -> None:
    """Undo something after an error, which is what is told, and not that it cannot be undone."""
    with suppress(BitlineError, KeyError):
        undo(*what)


class ZeroStreaming:
    """Recordings of cameras in a drive, which can be asked what they show."""

    def __init__(self, drive: "Drive", network: Network, *, every: int = 30, name: str = "cameras") -> None:
        """Recordings that are kept as objects of the volume; those that are there can be asked at once.

        Args:
            drive: Where they are.
            network: What tells frames apart: its input is a frame, and it has an output for each label.
            every: One frame of so many gets a label as it comes.
            name: Objects are called `name/camera/frames` and `name/camera/labels`.

        Raises:
            UsageError: Frames or a network larger than the tasks have room for; a network with one output.
        """
        if network.input_size > _PIECE_BYTES:
            raise UsageError(f"frames of {network.input_size} bytes; the most is {_PIECE_BYTES}")
        if network.output_size < 2:
            raise UsageError("a network with one output tells nothing apart: it has one for each label")
        network.check_room(drive, _ASKED.size + _RUN.size)
        self._drive = drive
        self._network = network
        self._every = whole_number("every", every, 1, 1 << 20)
        self._name = name
        self._counts = self._kept()
        self._label, self._score = (drive.tasks.load(_module(task)) for task in ("label", "score"))

    def _kept(self) -> dict[str, int]:
        """Frames of each camera that are in the volume."""
        begin, end = f"{self._name}/", "/frames"
        volume = self._drive.volume
        names = (stored.name for stored in volume.objects())
        frames = (name for name in names if name.startswith(begin) and name.endswith(end))
        cameras = (name[len(begin) : -len(end)] for name in frames)
        return {
            camera: volume.handle(self._object(camera, "frames")).size // self._network.input_size
            for camera in cameras
            if self._object(camera, "labels") in volume
        }

    def __repr__(self) -> str:
        return f"<ZeroStreaming of {len(self._counts)} cameras into {self._drive!r}>"

    @property
    def cameras(self) -> dict[str, int]:
        """Frames of each camera."""
        return dict(self._counts)

    def record(
        self, cameras: Mapping[str, Int8], *, rate: float = 10e6, wire: Wire | None = None
    ) -> dict[str, TaskResult]:
        """Have cameras send frames, all at once, each over a port of its own; labels are made as they come.

        Args:
            cameras: Frames of each, of shape [frames, numbers], int8 or uint8 up to 127.
            rate: Bytes a second that each sends.
            wire: The wire of each; 10 Gigabit Ethernet, without.

        Returns:
            How the labelling of each ended.

        Raises:
            UsageError: Frames that are no such array, a camera that was recorded before, more cameras than
                the drive has streams or ports, no space.
            StreamError: Labels could not be made. As with any error, nothing of the recording is there then.
            NvmeError: What the drive reports, such as Stream Limit Reached where others have streams, too.
        """
        known = {camera: self._frames_of(camera, frames) for camera, frames in cameras.items()}
        self._check_limits(len(known))
        with ExitStack() as undo:
            running = [
                self._begin(undo, port, camera, frames, rate, wire)
                for port, (camera, frames) in enumerate(known.items())
            ]
            for collector, _ in running:
                collector.start()
            for collector, _ in running:
                collector.run()
            results = {
                camera: self._end(camera, *begun) for camera, begun in zip(known, running, strict=True)
            }
            undo.pop_all()
        self._counts.update((camera, len(frames)) for camera, frames in known.items())
        return results

    def _frames_of(self, camera: str, frames: object) -> Int8:
        if camera in self._counts:
            raise UsageError(f"camera {camera!r} was recorded before")
        try:
            known = items_of(frames, self._network.input_size)
        except UsageError as error:
            raise UsageError(f"camera {camera!r}: {error}") from None
        if not len(known):
            raise UsageError(f"camera {camera!r} sends no frames")
        return known

    def _check_limits(self, cameras: int) -> None:
        config = tomllib.loads(self._drive.config)
        streams, ports = config["stream"]["streams_max"], config["collector"]["ports"]
        if cameras > min(streams, ports):
            raise UsageError(
                f"{cameras} cameras at once: each takes a stream and a port, and the drive has {streams} "
                f"streams (stream.streams_max) and {ports} ports (collector.ports); record some after others"
            )

    def _begin(
        self, undo: ExitStack, port: int, camera: str, frames: Int8, rate: float, wire: Wire | None
    ) -> tuple[Collector, Stream]:
        """Have a camera send, and labels made. What there is to be undone is told to `undo`."""
        recording, labels = self._object(camera, "frames"), self._object(camera, "labels")
        size, labelled = self._network.input_size, -(-len(frames) // self._every)
        try:
            for name, room in ((recording, frames.size), (labels, labelled * _LABEL.size)):
                self._drive.collectors.allocate(name, room)
                undo.callback(_quietly, self._drive.volume.__delitem__, name)
            source = (frame.tobytes() for frame in frames)
            collector = self._drive.collectors.attach(port, recording, source=source, rate=rate, wire=wire)
            undo.callback(_quietly, collector.detach)
            labelling = self._drive.streams.open(
                collector,
                task=self._label,
                params=self._network.params + struct.pack("<I", self._every),
                to=labels,
                piece_size=max((16 << 10) // size, -(-512 // size)) * size,
                elements=1,
            )
            undo.callback(_quietly, labelling.close)
        except NvmeError as error:
            raise error.about(f"camera {camera!r}") from None
        return collector, labelling

    def _end(self, camera: str, collector: Collector, labelling: Stream) -> TaskResult:
        """Wait for a camera's labels."""
        collector.detach()
        with labelling:
            result = labelling.result
        if not result:
            error = StreamError(result)
            error.add_note(f"labels of camera {camera!r}")
            raise error
        return result

    def labels(self, camera: str) -> dict[int, int]:
        """The labels of a camera's frames that got one, by number: they cross the link.

        Raises:
            NotFoundError: There is no such camera.
        """
        self._check(camera)
        data = self._drive.volume[self._object(camera, "labels")]
        return dict(_LABEL.iter_unpack(bytes(data)))

    def query(self, label: int, *, steps: int = 8, best: int = 40) -> Iterator[Step]:
        """Score frames in the drive, first those around labels that are what is asked for; best first.

        Args:
            label: What is asked for, an output of the network.
            steps: In how many steps all frames are scored.
            best: Frames that each step tells of, at most.

        Raises:
            UsageError: There is no such label; no step or frame is asked for.
        """
        whole_number("label", label, 0, self._network.output_size - 1)
        whole_number("steps", steps, 1, 1 << 20)
        whole_number("best", best, 1)
        begin, frames = self._drive.now, sum(self._counts.values())
        order = self._order(label)
        each = max(1, -(-len(order) // steps))
        known: list[Frame] = []
        for first in range(0, len(order), each):
            known += self._scored(label, order[first : first + each])
            known.sort(key=lambda frame: (-frame.score, frame.camera, frame.number))
            yield Step(tuple(known[:best]), len(known), frames, self._drive.now - begin)

    def _order(self, label: int) -> list[tuple[str, int]]:
        """Runs of as many frames as share a label: those with the label, their neighbours, others."""
        found = []
        for camera in self._counts:
            labels = self.labels(camera)
            for first in labels:
                near = (labels.get(first + way * self._every) == label for way in (-1, 1))
                rank = 0 if labels[first] == label else 1 if any(near) else 2
                found.append((rank, camera, first))
        return [(camera, first) for _, camera, first in sorted(found)]

    def _scored(self, label: int, runs: list[tuple[str, int]]) -> Iterator[Frame]:
        by_camera: dict[str, list[int]] = {}
        for camera, first in runs:
            by_camera.setdefault(camera, []).append(first)
        for camera, firsts in by_camera.items():
            count = self._counts[camera]
            pairs = [(first, min(self._every, count - first)) for first in firsts]
            for batch in self._batches(pairs):
                asked = _ASKED.pack(label, len(batch)) + b"".join(_RUN.pack(*pair) for pair in batch)
                result = self._drive.tasks.run(
                    self._score, {self._object(camera, "frames"): "r"}, self._network.params + asked
                )
                if not result:
                    raise UsageError(f"scoring camera {camera!r} {result.status}: {result.reason}")
                scores = iter(np.frombuffer(result.value, "<i4").tolist())
                for first, frames in batch:
                    for number in range(first, first + frames):
                        yield Frame(next(scores), camera, number)

    def _batches(self, runs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        """Runs of frames, as many at a time as a task has room for; longer ones in parts."""
        limits = tomllib.loads(self._drive.config)["task"]
        scores = min(_SCORES, limits["return_bytes"] // 4)
        room = min(limits["arguments_bytes"], 1 << 20) - len(self._network.params) - _ASKED.size
        batch: list[tuple[int, int]] = []
        taken = 0
        for first, frames in runs:
            end = first + frames
            while first < end:
                part = min(end - first, scores - taken)
                batch.append((first, part))
                first, taken = first + part, taken + part
                if taken == scores or len(batch) == room // _RUN.size:
                    yield batch
                    batch, taken = [], 0
        if batch:
            yield batch

    def fetch(self, frame: Frame) -> Int8:
        """A frame: it crosses the link."""
        self._check(frame.camera)
        size = self._network.input_size
        whole_number("number", frame.number, 0, self._counts[frame.camera] - 1)
        handle = self._drive.volume.handle(self._object(frame.camera, "frames"))
        return np.frombuffer(handle.read(frame.number * size, size), np.int8)

    def _object(self, camera: str, kind: str) -> str:
        return f"{self._name}/{camera}/{kind}"

    def _check(self, camera: str) -> None:
        if camera not in self._counts:
            raise NotFoundError(
                f"there is no camera {camera!r}; there are {', '.join(self._counts) or 'none'}"
            )


def scores(network: Network, frames: Int8, label: int) -> NDArray[np.int32]:
    """The scores of frames, by NumPy: the network's output for a label, less the largest of the others."""
    made = network.apply(frames).astype(np.int32)
    others = np.delete(made, label, axis=1)
    found: NDArray[np.int32] = made[:, label] - others.max(axis=1)
    return found
