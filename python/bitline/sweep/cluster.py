"""Runs the points of a sweep on a Dask cluster and keeps what is done, so that it can be resumed.

The folder of a sweep holds `sweep.json`, which says what it was made from, and `points/`, a JSON file for
each point that is done. A file appears whole or not at all.
"""

import hashlib
import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitline.display import Displayed, Result
from bitline.errors import UsageError
from bitline.extras import needed_for
from bitline.sweep.point import Point, PointResult, live
from bitline.sweep.spec import Spec
from bitline.units import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client

#: Points handed to the cluster at a time, for each of its threads.
_AHEAD = 3


@dataclass(frozen=True, repr=False)
class Outcome(Displayed):
    """How a sweep went, and where what it measured is."""

    folder: Path
    """The folder of its results."""
    points: tuple[Point, ...]
    """All of its points."""
    resumed: int
    """Points that an earlier run had done."""
    failed: tuple[int, ...]
    """Numbers of the points that ended with an error."""

    def to_arrow(self) -> "pa.Table":
        """All figures: a row for each point and flow, in the order of the points (`bitline.sweep.table`)."""
        from bitline.sweep.rows import table

        return table(self.folder, self.points)

    def _shown(self) -> Result:
        from bitline.display.sweep import summary

        return summary(self)

    def _line(self) -> str:
        return f"{counted(len(self.points), 'point')}, {len(self.failed)} failed, in {self.folder}"

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows


def run(
    spec: Spec,
    folder: Path,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Outcome:
    """Run what is not done yet of a sweep.

    The processes of a cluster on this machine import the program's main module, so a program calls this under
    `if __name__ == "__main__":`.

    Args:
        spec: What to run.
        folder: Where results are kept. Made if it does not exist; resumed if it is of the same spec.
        scheduler: The address of a Dask scheduler, such as `tcp://10.0.0.1:8786`; its workers need this
            version of Bitline. Without one, a cluster is started on this machine and ended afterwards.
        workers: Processes of the cluster on this machine; as many as it has cores by default.
        progress: Called now and then with the number of points that are done.

    Returns:
        How it went. Points that ended with an error are tried again by the next run.

    Raises:
        UsageError: The folder is of another spec, or there is no such scheduler.
        OSError: The folder cannot be written.
    """
    points = tuple(spec.points())
    kept = _Folder(folder, points)
    left = [point for point in points if not kept.is_done(point)]
    resumed = len(points) - len(left)
    done = resumed
    failed = []
    if progress:
        progress(done)
    if left:
        with _client(scheduler, min(workers or _cores(), len(left))) as client:
            for point, result in _results(client, left):
                kept.keep(point, result)
                done += 1
                if result.report is None:
                    failed.append(point.number)
                if progress:
                    progress(done)
    return Outcome(folder, points, resumed, tuple(sorted(failed)))


def results(folder: Path, points: tuple[Point, ...]) -> Iterator[tuple[Point, PointResult]]:
    """What the folder holds of the points: their reports or errors."""
    for point in points:
        path = _path(folder, point)
        if path.exists():
            yield point, PointResult(**json.loads(path.read_text(encoding="utf-8")))


def _path(folder: Path, point: Point) -> Path:
    return folder / "points" / f"{point.number:06}-{point.key()}.json"


class _Folder:
    def __init__(self, folder: Path, points: tuple[Point, ...]) -> None:
        self._folder = folder
        keys = "\n".join(point.key() for point in points)
        made_from = {"spec": hashlib.sha256(keys.encode()).hexdigest(), "points": len(points)}
        (folder / "points").mkdir(parents=True, exist_ok=True)
        guard = folder / "sweep.json"
        if not guard.exists():
            _write(guard, made_from)
        elif json.loads(guard.read_text(encoding="utf-8")) != made_from:
            raise UsageError(
                f"{folder} has results of another sweep, or of another version of Bitline; "
                "choose another folder or remove it"
            )

    def is_done(self, point: Point) -> bool:
        path = _path(self._folder, point)
        return path.exists() and "report" in json.loads(path.read_text(encoding="utf-8"))

    def keep(self, point: Point, result: PointResult) -> None:
        _write(_path(self._folder, point), result.to_dict())


def _write(path: Path, data: object) -> None:
    """Writes a JSON file that appears whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
    partial.replace(path)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator["Client"]:
    # A second of imports, which other commands do without.
    with needed_for("sweeps"):
        from distributed import Client, LocalCluster

    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(f"there is no Dask scheduler at {scheduler}: {error}") from error
        with client:
            yield client
        return
    with _ignoring_interrupts():
        started = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    with started as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile ignore Ctrl-C.

    A terminal sends it to all of them; only this one is to act on it, and ends the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _results(client: "Client", points: list[Point]) -> Iterator[tuple[Point, PointResult]]:
    """The results of all points, as they come in; a few are handed out at a time."""
    from distributed import as_completed

    waiting = iter(points)
    under_way = {}
    completed = as_completed(loop=client.loop)

    def hand_out(count: int) -> None:
        for _, point in zip(range(count), waiting, strict=False):
            # Not pure: a point is lived anew when it failed before.
            future = client.submit(live, point, pure=False)
            under_way[future.key] = point
            completed.add(future)

    threads = max(1, sum(client.nthreads().values()))
    hand_out(threads * _AHEAD)
    for future in completed:
        point = under_way.pop(future.key)
        if future.status == "finished":
            yield point, future.result()
        elif future.status == "error":
            # A bug of Bitline, or a worker that died of this point several times.
            error = future.exception()
            yield point, PointResult(error=f"{type(error).__name__}: {error}")
        else:
            raise UsageError("the Dask scheduler went away; what is done is kept, run the sweep again")
        future.release()
        hand_out(1)
