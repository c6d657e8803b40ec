"""TH-iSSD 3.3: host reads beside a stream of the drive, under each policy of the schedule.

```python
from bitline.repro.th_issd.policies import POLICIES, measured

points = measured(rates=(0, 100_000), reads=500)
assert len(points) == 2 * len(POLICIES)
```

Reads of 4 KiB arrive at random instants, at a rate from 0 to more than the drive can serve, while a task
reads a file as a stream and writes a quarter of it into another. What a policy gives the reads it takes from
the stream: a point is on the Pareto front of its rate if no other policy has there a latency as short and a
stream as fast, and one of both better.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import bitline
from bitline.cc import compile_task
from bitline.extras import needed_for
from bitline.figures import BLACK, WIDTH, drawing, dress, legend, log_ticks, look
from bitline.opening import Setting
from bitline.repro.comparison import keep
from bitline.workload import Flow, Open

with needed_for("figures"):
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: The preset of 4.1.1.
PRESET = "th-issd"
#: The policies, and what sets them.
POLICIES: Mapping[str, Mapping[str, Setting]] = MappingProxyType(
    {
        "first come": {"schedule.policy": "first_come"},
        "read priority": {"schedule.policy": "read_priority"},
        "read priority, suspension": {
            "schedule.policy": "read_priority",
            "schedule.suspend.programs": True,
            "schedule.suspend.erases": True,
        },
        "priority-aware": {"schedule.policy": "priority_aware"},
        "priority-aware, suspension": {
            "schedule.policy": "priority_aware",
            "schedule.suspend.programs": True,
            "schedule.suspend.erases": True,
        },
    }
)
#: Of them, that of 3.3.
OURS = "priority-aware"
#: Host reads a second, all of the drive; the last are beyond what it can serve beside a stream.
RATES = (0, 25_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000)
QUICK_RATES = (0, 100_000, 400_000, 700_000)
#: Host reads of a point, and seconds in which they arrive at most: the stream is to last longer.
READS = 20_000
QUICK_READS = 2_000
_SECONDS_MAX = 0.4
#: Latencies that are told.
QUANTILES = ("p50", "p99", "p999")

#: Bytes of a host read, and of the file that the stream reads; what it writes is a quarter.
_READ_BYTES = 4_096
_FILE_BYTES = 1 << 30
_WRITTEN_PART = 4
#: Blocks that host reads go to: 256 MiB.
_RANGE_BLOCKS = 65_536
#: The stream fills its buffers before anything is measured.
_WARM_READS = 256

_TASK = f"""
#include <bitline/isc.h>
static uint8_t piece[1 << 18];
int isc_task(void) {{
  int64_t got;
  while ((got = isc_stream_next(piece, sizeof piece, 0)) > 0) isc_stream_emit(piece, got / {_WRITTEN_PART});
  return 0;
}}
"""

#: What is the same for all: no cache, so that reads reach the dies, and blocks of 4 KiB.
_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {"cache.mode": "off", "frontend.block_bytes": _READ_BYTES}
)


@dataclass(frozen=True)
class Point:
    """What was measured under a policy at a rate."""

    policy: str
    """A key of `POLICIES`."""
    rate: int
    """Host reads that arrive in a second."""
    served: float
    """Of them, how many were served in a second."""
    reads: int
    """Host reads measured."""
    p50_us: float
    p99_us: float
    p999_us: float
    stream_mbps: float
    """What the stream read, in MB/s (10^6 bytes)."""


@cache
def module() -> bytes:
    """The task of the stream, compiled.

    Raises:
        UsageError: There is no C compiler; the message says what to install.
    """
    with tempfile.TemporaryDirectory(prefix="bitline-repro-") as folder:
        source = Path(folder) / "quarter.c"
        source.write_text(_TASK)
        return compile_task([source], Path(folder) / "quarter.wasm").path.read_bytes()


def measured(
    *,
    rates: Sequence[int] = RATES,
    reads: int = READS,
    policies: Mapping[str, Mapping[str, Setting]] = POLICIES,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Point]:
    """Host reads beside a stream, by policy and rate in this order.

    Args:
        rates: Host reads a second.
        reads: Host reads of a point.
        policies: What sets each policy, by name.
        progress: Told how many points are done.
    """
    found: list[Point] = []
    for policy, settings in policies.items():
        with bitline.open(PRESET, data="none", set={**_SETTINGS, **settings}) as drive:
            # Host reads find data, in blocks that are full before the stream writes: one that is being
            # changed cannot be read.
            drive.measure(_flow("prefill", 1, reads=1))
            drive.volume["read"] = bytes(_FILE_BYTES)
            drive.volume["written"] = bytes(_FILE_BYTES // _WRITTEN_PART)
            for rate in rates:
                found.append(_point(drive, policy, rate, reads))
                progress(len(found))
    return found


def _flow(name: str, rate: int, *, reads: int) -> Flow:
    return Flow(name=name, arrival=Open(rate), requests=reads, range_blocks=_RANGE_BLOCKS)


def _point(drive: bitline.Drive, policy: str, rate: int, reads: int) -> Point:
    if rate == 0:
        with drive.streams.open("read", task=module(), to="written") as stream:
            return Point(policy, 0, 0.0, 0, 0.0, 0.0, 0.0, _FILE_BYTES / stream.result.time.us)
    reads = min(reads, int(rate * _SECONDS_MAX))
    with drive.streams.open("read", task=module(), to="written"):
        drive.measure(_flow("warm", rate, reads=_WARM_READS))
        before = drive.statistics.streams.input_bytes
        report = drive.measure(_flow("host", rate, reads=reads))
        streamed = drive.statistics.streams.input_bytes - before
        latency = report.flows[0].read
        assert latency is not None, "the flow reads"
        seconds = report.elapsed.s
        return Point(
            policy,
            rate,
            reads / seconds,
            latency.count,
            latency.p50.us,
            latency.p99.us,
            latency.p999.us,
            streamed / seconds / 1e6,
        )


def on_front(points: Sequence[Point], quantile: str) -> dict[tuple[str, int], bool]:
    """Whether each point with host reads is on the Pareto front of its rate, by policy and rate.

    It is, unless another policy has there a latency as short and a stream as fast, and one of both better.

    Args:
        points: Of several policies.
        quantile: One of `QUANTILES`.
    """

    def worth(point: Point) -> tuple[float, float]:
        return -_latency(point, quantile), point.stream_mbps

    def beats(one: Point, other: Point) -> bool:
        (latency, speed), (others_latency, others_speed) = worth(one), worth(other)
        return latency >= others_latency and speed >= others_speed and worth(one) != worth(other)

    with_reads = [point for point in points if point.rate > 0]
    return {
        (point.policy, point.rate): not any(beats(one, point) for one in with_reads if one.rate == point.rate)
        for point in with_reads
    }


def _latency(point: Point, quantile: str) -> float:
    value: float = getattr(point, f"{quantile}_us")
    return value


def reproduce(
    out: Path, *, quick: bool = False, progress: Callable[[int], object] = lambda _: None
) -> list[Point]:
    """Measure all policies, and keep figure, table and numbers as `th-issd-policies` in a folder.

    Args:
        out: The folder, made if it is not there.
        quick: Fewer rates and reads: seconds, and a rough p99.9.
        progress: Told how many points are done.

    Raises:
        OSError: A file cannot be written.
        UsageError: There is no C compiler for the task; the message says what to install.
    """
    points = measured(
        rates=QUICK_RATES if quick else RATES, reads=QUICK_READS if quick else READS, progress=progress
    )
    out.mkdir(parents=True, exist_ok=True)
    rows = list(_rows(points))
    keep(out / "th-issd-policies.parquet", rows)
    (out / "th-issd-policies.json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(out / "th-issd-policies.png", points, quick=quick)
    return points


def _rows(points: Sequence[Point]) -> Iterator[dict[str, object]]:
    fronts = {quantile: on_front(points, quantile) for quantile in QUANTILES}
    for point in points:
        place = point.policy, point.rate
        yield {
            **asdict(point),
            **{f"on_front_{quantile}": front.get(place) for quantile, front in fronts.items()},
        }


def draw(path: Path, points: Sequence[Point], *, quick: bool) -> None:
    """Draw the latencies of host reads by the throughput of the stream: a panel for each quantile.

    Raises:
        OSError: The file cannot be written.
    """
    title = "4-KiB reads of the host beside a stream, by the rate at which they arrive"
    note = (
        "TH-iSSD's drive (4.1.1); the task reads a file and writes a quarter of it. Rates, in thousands of "
        f"reads a second, beside the points of {OURS}; a ring: not on the Pareto front of its rate."
    )
    with drawing(path, title, (WIDTH, 3.2), note + (" Quick." if quick else "")) as figure:
        panels = figure.subplots(1, len(QUANTILES), squeeze=False)[0]
        for axes, quantile in zip(panels, QUANTILES, strict=True):
            _panel(axes, points, quantile)
        panels[0].set_ylabel("Latency of host reads (µs)")
        lines = [Line2D([], [], **look(place).curve(), label=name) for place, name in enumerate(POLICIES)]
        legend(figure, lines)


def _panel(axes: Axes, points: Sequence[Point], quantile: str) -> None:
    front = on_front(points, quantile)
    for place, policy in enumerate(POLICIES):
        of_policy = [point for point in points if point.policy == policy and point.rate > 0]
        across = [point.stream_mbps / 1e3 for point in of_policy]
        up = [_latency(point, quantile) for point in of_policy]
        axes.plot(across, up, **look(place).curve())
        for point, x, y in zip(of_policy, across, up, strict=True):
            if not front[policy, point.rate]:
                axes.plot([x], [y], marker="o", markersize=8, fillstyle="none", color=BLACK, linewidth=0)
            if policy == OURS:
                axes.annotate(
                    f"{point.rate // 1000}", (x, y), (-3, -8), textcoords="offset points", fontsize=6
                )
    name = {"p50": "Median", "p99": "99th percentile", "p999": "99.9th percentile"}[quantile]
    axes.set(yscale="log", title=name, xlabel="Stream (GB/s)")
    log_ticks(axes.yaxis)
    dress(axes)
