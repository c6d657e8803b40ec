"""Measurements: each workload on each platform, on a fresh drive, in a process of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import bitline
from bitline.opening import Setting
from bitline.platforms import PLATFORMS, Platform
from bitline.repro.flash_cosmos.workloads import Workload
from bitline.units import Duration, Energy

#: The drive of Table 1. Vectors of 270 GB in strings of one bit a cell take most of its blocks.
PRESET = "flash-cosmos"
SETTINGS: Mapping[str, Setting] = {"data.storage": "none", "bits.compute_blocks_percent": 80}

Changes: TypeAlias = Mapping[str, Setting]
"""Keys of a drive that are changed, and their values."""

#: Nothing is changed.
UNCHANGED: Changes = MappingProxyType({})


@dataclass(frozen=True)
class Task:
    """A measurement to be made."""

    workload: Workload
    """The workload and its input."""
    platform: Platform
    """Who evaluates it."""
    settings: tuple[tuple[str, Setting], ...] = ()
    """Keys of the drive that differ from Table 1's."""


@dataclass(frozen=True)
class Point:
    """What one workload took on one platform."""

    task: Task
    """The measurement."""
    elapsed: Duration
    """From the query to its result in the host."""
    energy: Energy
    """Of drive, link and host."""
    energy_by: tuple[tuple[str, Energy], ...]
    """The same by account."""
    senses: int
    """Senses of one plane."""
    channel_bytes: int
    """Data over all channels."""
    link_bytes: int
    """Data to the host."""
    link_share: float
    """Share of the time in which the link carried data to the host."""

    @property
    def workload(self) -> Workload:
        """The workload and its input."""
        return self.task.workload

    @property
    def platform(self) -> Platform:
        """Who evaluated it."""
        return self.task.platform


def measure(task: Task) -> Point:
    """Place a workload's vectors on a fresh drive and evaluate it."""
    with bitline.open(PRESET, set={**SETTINGS, **dict(task.settings)}) as drive:
        query = task.workload.place(drive)
        before = drive.statistics
        task.workload.run(query, task.platform)
        spent = drive.statistics.since(before)
    accounts = ((f"{entry.component}, {entry.cause}", entry.energy) for entry in spent.energy_by)
    return Point(
        task,
        spent.elapsed,
        spent.energy,
        tuple((name, energy) for name, energy in accounts if energy.pj > 0),
        spent.flash.senses,
        int(spent.channel_bytes),
        int(spent.link_up_bytes),
        spent.link_up_utilization,
    )


def on_all(workloads: Iterable[Workload], changed: tuple[tuple[str, Setting], ...] = ()) -> list[Task]:
    """Each workload on each platform; with keys of the drive changed, if there are some."""
    return [Task(workload, platform, changed) for workload in workloads for platform in PLATFORMS]


def measure_all(
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Point]:
    """Make many measurements, the longest first, on as many cores as there are.

    Args:
        tasks: What is measured; what is there twice is measured once.
        workers: Processes; 1 measures in this one.
        progress: Called with the number of measurements that are made.

    Returns:
        The points, in the order of the tasks.
    """
    distinct = sorted(dict.fromkeys(tasks), key=_work, reverse=True)
    workers = min(workers or _cores(), len(distinct))
    points: dict[Task, Point] = {}
    told = progress or (lambda done: None)
    if workers == 1:
        for task in distinct:
            points[task] = measure(task)
            told(len(points))
        return [points[task] for task in tasks]
    # A fresh interpreter each: threads of the caller are no business of the workers.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = {pool.submit(measure, task): task for task in distinct}
        try:
            for future in as_completed(futures):
                points[futures[future]] = future.result()
                told(len(points))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [points[task] for task in tasks]


def _work(task: Task) -> int:
    """How long a measurement will take, relatively: pages sensed and moved."""
    senses = 1 if task.platform == "flash-cosmos" else task.workload.operands
    return task.workload.result_bits * senses


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
