"""Measurements: each workload on each platform, on a fresh drive, in a process of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import bitline
from bitline.bits import PLATFORMS, Platform
from bitline.drive import Setting
from bitline.repro.flash_cosmos.workloads import Workload
from bitline.units import Duration, Energy

#: The drive of Table 1. Vectors of 270 GB in strings of one bit a cell take most of its blocks.
PRESET = "flash-cosmos"
SETTINGS: Mapping[str, Setting] = {"data.storage": "none", "bits.compute_blocks_percent": 80}


@dataclass(frozen=True)
class Point:
    """What one workload took on one platform."""

    workload: Workload
    """The workload and its input."""
    platform: Platform
    """Who evaluated it."""
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


def measure(
    workload: Workload,
    platform: Platform,
    settings: Mapping[str, Setting] | None = None,
) -> Point:
    """Place a workload's vectors on a drive of Table 1 and evaluate it.

    Args:
        workload: What is evaluated.
        platform: By whom.
        settings: Keys of the drive that differ.
    """
    with bitline.open(PRESET, set={**SETTINGS, **(settings or {})}) as drive:
        query = workload.place(drive)
        before = drive.statistics
        workload.run(query, platform)
        spent = drive.statistics.since(before)
    accounts = ((f"{entry.component}, {entry.cause}", entry.energy) for entry in spent.energy_by)
    return Point(
        workload,
        platform,
        spent.elapsed,
        spent.energy,
        tuple((name, energy) for name, energy in accounts if energy.pj > 0),
        spent.flash.senses,
        int(spent.channel_bytes),
        int(spent.link_up_bytes),
    )


def measure_all(
    workloads: Iterable[Workload],
    platforms: Sequence[Platform] = PLATFORMS,
    *,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Point]:
    """Measure all workloads on all platforms, the longest first, on as many cores as there are.

    Args:
        workloads: What is evaluated.
        platforms: By whom.
        workers: Processes; 1 measures in this one.
        progress: Called with the number of points that are done.

    Returns:
        The points, in the order of workloads and platforms.
    """
    tasks = [(workload, platform) for workload in workloads for platform in platforms]
    workers = min(workers or _cores(), len(tasks))
    points: dict[tuple[Workload, Platform], Point] = {}
    told = progress or (lambda done: None)
    if workers == 1:
        for task in tasks:
            points[task] = measure(*task)
            told(len(points))
        return [points[task] for task in tasks]
    # A fresh interpreter each: threads of the caller are no business of the workers.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = {pool.submit(measure, *task): task for task in sorted(tasks, key=_work, reverse=True)}
        try:
            for future in as_completed(futures):
                points[futures[future]] = future.result()
                told(len(points))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [points[task] for task in tasks]


def _work(task: tuple[Workload, Platform]) -> int:
    """How long a measurement will take, relatively: pages sensed and moved."""
    workload, platform = task
    senses = 1 if platform == "flash-cosmos" else workload.operands
    return workload.result_bits * senses


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
