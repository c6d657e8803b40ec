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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import bitline
from bitline.opening import Setting
from bitline.repro.th_issd.systems import INFORMATION_RETRIEVAL
from bitline.repro.th_issd.workloads import module
from bitline.workload import Flow, Open

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

#: Bytes of a host read, and of the file that the stream reads; what it writes is a quarter (`quarter.c`).
_READ_BYTES = 4_096
_FILE_BYTES = 1 << 30
_WRITTEN_PART = 4
#: Blocks that host reads go to: 256 MiB.
_RANGE_BLOCKS = 65_536
#: The stream fills its buffers before anything is measured.
_WARM_READS = 256

#: What is the same for all: no cache, so that reads reach the dies, and blocks of 4 KiB.
_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {"cache.mode": "off", "frontend.block_bytes": _READ_BYTES}
)


@dataclass(frozen=True)
class HostReads:
    """What was measured beside a stream, under a policy at a rate."""

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

    def latency_us(self, quantile: str) -> float:
        """One of `QUANTILES`."""
        value: float = getattr(self, f"{quantile}_us")
        return value


def measured(
    *,
    rates: Sequence[int] = RATES,
    reads: int = READS,
    policies: Mapping[str, Mapping[str, Setting]] = POLICIES,
    progress: Callable[[int], object] = lambda _: None,
) -> list[HostReads]:
    """Host reads beside a stream, by policy and rate in this order.

    Args:
        rates: Host reads a second.
        reads: Host reads of a point.
        policies: What sets each policy, by name.
        progress: Told how many points are done.
    """
    found: list[HostReads] = []
    for policy, settings in policies.items():
        with bitline.open(INFORMATION_RETRIEVAL, data="none", set={**_SETTINGS, **settings}) as drive:
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


def _point(drive: bitline.Drive, policy: str, rate: int, reads: int) -> HostReads:
    if rate == 0:
        with drive.streams.open("read", task=module("quarter"), to="written") as stream:
            return HostReads(policy, 0, 0.0, 0, 0.0, 0.0, 0.0, _FILE_BYTES / stream.result.time.us)
    reads = min(reads, int(rate * _SECONDS_MAX))
    with drive.streams.open("read", task=module("quarter"), to="written"):
        drive.measure(_flow("warm", rate, reads=_WARM_READS))
        before = drive.statistics.streams.input_bytes
        report = drive.measure(_flow("host", rate, reads=reads))
        streamed = drive.statistics.streams.input_bytes - before
        latency = report.flows[0].read
        assert latency is not None, "the flow reads"
        seconds = report.elapsed.s
        return HostReads(
            policy,
            rate,
            reads / seconds,
            latency.count,
            latency.p50.us,
            latency.p99.us,
            latency.p999.us,
            streamed / seconds / 1e6,
        )


def on_front(points: Sequence[HostReads], quantile: str) -> dict[tuple[str, int], bool]:
    """Whether each point with host reads is on the Pareto front of its rate, by policy and rate.

    It is, unless another policy has there a latency as short and a stream as fast, and one of both better.

    Args:
        points: Of several policies.
        quantile: One of `QUANTILES`.
    """

    def worth(point: HostReads) -> tuple[float, float]:
        return -point.latency_us(quantile), point.stream_mbps

    def beats(one: HostReads, other: HostReads) -> bool:
        (latency, speed), (others_latency, others_speed) = worth(one), worth(other)
        return latency >= others_latency and speed >= others_speed and worth(one) != worth(other)

    with_reads = [point for point in points if point.rate > 0]
    return {
        (point.policy, point.rate): not any(beats(one, point) for one in with_reads if one.rate == point.rate)
        for point in with_reads
    }
