"""One point of a sweep: a drive, a workload, a seed, and what they measured."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bitline
from bitline.opening import Setting
from bitline.workload_file import GroupTable


@dataclass(frozen=True)
class Point:
    """Everything that one run depends on."""

    number: int
    """Its place in the sweep."""
    axes: Mapping[str, Setting]
    """The values of the grid."""
    workload: str
    """The workload's name."""
    seed: int
    config: str
    """The drive, as complete TOML."""
    flows: tuple[Mapping[str, Any], ...]
    """The workload."""
    precondition: Mapping[str, Any] | None = None
    """What the drive held before."""
    groups: tuple[Mapping[str, Any], ...] = ()
    """Vectors that it holds, as `[[group]]` tables."""
    error: str | None = None
    """Why the axes make no drive."""

    def key(self) -> str:
        """A hash of everything that its result depends on, this version of Bitline included."""
        text = json.dumps([bitline.__version__, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class PointResult:
    """What became of a point: its report, or the error it ended with."""

    report: Mapping[str, Any] | None = None
    """Plain numbers, each with its unit in its name: those of `bitline.Report`, and those of
    `bitline.Statistics` under `statistics`."""
    error: str | None = None
    """The kind of error and its message."""

    def to_dict(self) -> dict[str, Any]:
        """The one of the two that there is, by its name."""
        return {"error": self.error} if self.report is None else {"report": self.report}


def live(point: Point) -> PointResult:
    """Open the point's drive, run its workload, and give its report, or the error it ended with.

    Runs in a process that lives nothing else meanwhile. The same point gives the same result anywhere.
    """
    if point.error is not None:
        return PointResult(error=point.error)
    try:
        return PointResult(_report(point))
    except (bitline.BitlineError, OSError, ValueError, TypeError) as error:
        return PointResult(error=f"{type(error).__name__}: {error}")


def _report(point: Point) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bitline-") as folder:
        path = Path(folder) / "drive.toml"
        path.write_text(point.config, encoding="utf-8")
        drive = bitline.open(config=path)
    with drive:
        if point.precondition is not None:
            drive.media.precondition(**point.precondition)
        for group in point.groups:
            GroupTable.of(group).place(drive)
        report = drive.measure(point.flows).to_dict()
        report["statistics"] = drive.statistics.to_dict()
    return report
