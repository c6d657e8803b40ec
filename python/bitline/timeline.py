"""What a drive's parts did in a window of time: the part of a trace that a figure shows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Slice:
    """Something that one part did."""

    name: str
    """What, such as `"read"`."""
    begin_ns: float
    """From when."""
    end_ns: float
    """To when."""


@dataclass(frozen=True)
class Lane:
    """One part, such as a die, with what it did."""

    group: str
    """What it belongs to: `"dies"`, `"channels"`, `"link"` or `"host"`."""
    name: str
    """Its name."""
    slices: tuple[Slice, ...]
    """What it did, in order of completion."""


@dataclass(frozen=True)
class Curve:
    """A number that changes, such as how many transactions wait for a die."""

    group: str
    """What it belongs to: `"queues"`."""
    name: str
    """Its name."""
    points: tuple[tuple[float, int], ...]
    """Instants in nanoseconds, and the value from then on."""


@dataclass(frozen=True)
class Timeline:
    """Lanes and curves of a window of time."""

    begin_ns: float
    """Where the window begins, on the drive's clock."""
    end_ns: float
    """Where it ends."""
    lanes: tuple[Lane, ...]
    """The parts that do things."""
    curves: tuple[Curve, ...]
    """The numbers that change."""

    @classmethod
    def _from_json(cls, text: str) -> Self | None:
        data = json.loads(text)
        if data is None:
            return None
        slices: list[list[Slice]] = [[] for _ in data["lines"]]
        for line, name, begin, end in data["slices"]:
            slices[line].append(Slice(name, begin, end))
        points: list[list[tuple[float, int]]] = [[] for _ in data["lines"]]
        for line, at, value in data["counts"]:
            points[line].append((at, value))
        lanes, curves = [], []
        for number, line in enumerate(data["lines"]):
            if line["kind"] == "counter":
                curves.append(Curve(line["group"], line["name"], tuple(points[number])))
            else:
                lanes.append(Lane(line["group"], line["name"], tuple(slices[number])))
        return cls(data["begin_ns"], data["end_ns"], tuple(lanes), tuple(curves))

    def trimmed(self) -> Self:
        """The window without what is idle at its ends: that of a short run is the run itself."""
        pieces = [piece for lane in self.lanes for piece in lane.slices]
        if not pieces:
            return self
        begin = max(self.begin_ns, min(piece.begin_ns for piece in pieces))
        end = min(self.end_ns, max(piece.end_ns for piece in pieces))
        return self if end <= begin else replace(self, begin_ns=begin, end_ns=end)

    def of(self, group: str) -> Sequence[Lane]:
        """The lanes of one group."""
        return [lane for lane in self.lanes if lane.group == group]
