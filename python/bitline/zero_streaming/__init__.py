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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitline.arguments import whole_number
from bitline.cc import compile_task
from bitline.collectors import Wire
from bitline.errors import NotFoundError, UsageError
from bitline.networks import Int8, Network, items_of
from bitline.tasks import TaskResult
from bitline.units import Duration

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Bytes of a piece of frames: what `label.c` has room for.
_PIECE_BYTES = 256 << 10
_LABEL = struct.Struct("<Ii")


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


@cache
def _module(name: str) -> bytes:
    with TemporaryDirectory(prefix="bitline-zero-streaming-") as folder:
        source = Path(__file__).parent / f"{name}.c"
        return compile_task([source], Path(folder) / f"{name}.wasm").path.read_bytes()


class ZeroStreaming:
    """Recordings of cameras in a drive, which can be asked what they show."""

    def __init__(self, drive: "Drive", network: Network, *, every: int = 30, name: str = "cameras") -> None:
        """Recordings that are kept as objects of the volume.

        Args:
            drive: Where they are.
            network: What tells frames apart: its input is a frame, and it has an output for each label.
            every: One frame of so many gets a label as it comes.
            name: Objects are called `name/camera/frames` and `name/camera/labels`.

        Raises:
            UsageError: Frames larger than the tasks have room for.
        """
        if network.input_size > _PIECE_BYTES:
            raise UsageError(f"frames of {network.input_size} bytes; the most is {_PIECE_BYTES}")
        self._drive = drive
        self._network = network
        self._every = whole_number("every", every, 1, 1 << 20)
        self._name = name
        self._counts: dict[str, int] = {}
        self._label, self._score = (drive.tasks.load(_module(task)) for task in ("label", "score"))

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
            UsageError: Frames that are no such array, or a camera that was recorded before.
            StreamError: Labels could not be made; the frames are there.
        """
        size = self._network.input_size
        known = {camera: items_of(frames, size) for camera, frames in cameras.items()}
        for camera, frames in known.items():
            if camera in self._counts:
                raise UsageError(f"camera {camera!r} was recorded before")
            if not len(frames):
                raise UsageError(f"camera {camera!r} sends no frames")
        params = self._network.params + struct.pack("<I", self._every)
        running = []
        for port, (camera, frames) in enumerate(known.items()):
            recording, labels = self._object(camera, "frames"), self._object(camera, "labels")
            self._drive.collectors.allocate(recording, frames.size)
            self._drive.collectors.allocate(labels, -(-len(frames) // self._every) * _LABEL.size)
            collector = self._drive.collectors.attach(
                port, recording, source=(frame.tobytes() for frame in frames), rate=rate, wire=wire
            )
            each = max(1, (16 << 10) // size)
            labelling = self._drive.streams.open(
                collector,
                task=self._label,
                params=params,
                to=labels,
                piece_size=max(each, -(-512 // size)) * size,
                elements=1,
            )
            running.append((camera, collector, labelling))
        for _, collector, _ in running:
            collector.run()
        results = {}
        for camera, collector, labelling in running:
            collector.detach()
            with labelling:
                results[camera] = labelling.result
            self._counts[camera] = len(known[camera])
        return results

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
            UsageError: There is no such label.
        """
        whole_number("label", label, 0, self._network.output_size - 1)
        whole_number("steps", steps, 1, 1 << 20)
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
            asked = struct.pack("<2I", label, len(pairs)) + b"".join(
                struct.pack("<2I", *pair) for pair in pairs
            )
            result = self._drive.tasks.run(
                self._score, {self._object(camera, "frames"): "r"}, self._network.params + asked
            )
            if not result:
                raise UsageError(f"scoring camera {camera!r} {result.status}: {result.reason}")
            scores = iter(np.frombuffer(result.value, "<i4").tolist())
            for first, frames in pairs:
                for number in range(first, first + frames):
                    yield Frame(next(scores), camera, number)

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
