"""Figure 7: what the dies of a channel, the channel and the link do while A OR B OR C is computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import bitline
from bitline.errors import InternalError
from bitline.opening import Setting
from bitline.platforms import Platform
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.runs import PRESET, UNCHANGED, Changes
from bitline.timeline import Lane, Timeline

#: The drive of Figure 7(a): four dies a channel, and a tR of 60 us.
SETTINGS: Mapping[str, Setting] = {
    "data.storage": "none",
    "nand.geometry.chips_per_channel": 4,
    "nand.latency.read_slc_ns": 60_000,
    "nand.latency.mws_ns": 60_000,
    "bits.compute_blocks_percent": 20,
    "host.batch_bytes": 1 << 20,
}

#: Bits of a vector of 1 MiB, which is a page of each plane.
_BITS = 8 << 20

#: The platforms of Figure 7(b) to (d), as it calls them.
SHOWN: Mapping[Platform, str] = {"host": "OSP", "in-storage": "ISP", "parabit": "IFP"}


@dataclass(frozen=True)
class Traced:
    """One platform's evaluation."""

    platform: Platform
    """The platform."""
    lanes: tuple[Lane, ...]
    """The dies of channel 0, channel 0 itself, and the link to the host; instants from the query on."""
    elapsed_ns: float
    """From the query to its result."""
    shares: Mapping[str, float]
    """Of that time, how much the busiest channel (`internal`), the link (`external`) and the busiest die's
    array (`sensing`) were at work."""

    @property
    def bottleneck(self) -> str:
        """What was at work longest."""
        return max(self.shares, key=lambda part: self.shares[part])


def trace(platform: Platform, changed: Changes = UNCHANGED) -> Traced:
    """Evaluate on a fresh drive, and take from its trace what happened."""
    with bitline.open(PRESET, set={**SETTINGS, **changed}) as drive:
        vectors = drive.group("operands").place(3, bits=_BITS)
        drive.tracing.start(busiest=True)
        begin = drive.now
        reduce(or_, vectors).stream(platform)
        end = drive.now
        timeline = drive.tracing.busiest()
    if timeline is None:
        raise InternalError("the trace of an evaluation is empty")
    span = end - begin
    return Traced(platform, _lanes(timeline, begin.ns), span.ns, _shares(timeline, begin.ns, span.ns))


def timings(traced: Mapping[Platform, Traced]) -> dict[str, Measured]:
    """What section 3.1 says of Figure 7, by key."""
    host = traced["host"]
    channel = next(lane for lane in host.lanes if lane.group == "channels")
    link = next(lane for lane in host.lanes if lane.group == "link")
    page = next(piece for piece in channel.slices if piece.name == "data")
    message = next(piece for piece in link.slices if piece.name == "data")
    bound = {
        "figure07.osp_external_bound": traced["host"].bottleneck == "external",
        "figure07.isp_internal_bound": traced["in-storage"].bottleneck == "internal",
        "figure07.ifp_sensing_bound": traced["parabit"].bottleneck == "sensing",
    }
    return {
        "figure07.dma_us": Measured(2 * (page.end_ns - page.begin_ns) / 1e3),
        "figure07.ext_us": Measured((message.end_ns - message.begin_ns) / 1e3),
        **{key: Measured(float(is_so)) for key, is_so in bound.items()},
    }


def _lanes(timeline: Timeline, begin_ns: float) -> tuple[Lane, ...]:
    """The parts of one channel, in the order of the figure."""
    dies = [lane for lane in timeline.of("dies") if lane.name in {f"die {die}" for die in range(4)}]
    channel = [lane for lane in timeline.of("channels") if lane.name == "channel 0"]
    link = [lane for lane in timeline.of("link") if lane.name == "drive to host"]
    return tuple(_from(lane, begin_ns) for lane in (*dies, *channel, *link))


def _from(lane: Lane, begin_ns: float) -> Lane:
    """What a lane did from `begin_ns` on, which becomes zero: before, the host made itself known."""
    shifted = (
        type(piece)(piece.name, piece.begin_ns - begin_ns, piece.end_ns - begin_ns)
        for piece in lane.slices
        if piece.begin_ns >= begin_ns
    )
    return Lane(lane.group, lane.name, tuple(shifted))


def _shares(timeline: Timeline, begin_ns: float, elapsed_ns: float) -> dict[str, float]:
    def busiest(group: str) -> float:
        lanes = [_from(lane, begin_ns) for lane in timeline.of(group) if lane.name != "host to drive"]
        return max(sum(piece.end_ns - piece.begin_ns for piece in lane.slices) for lane in lanes) / elapsed_ns

    return {"sensing": busiest("dies"), "internal": busiest("channels"), "external": busiest("link")}
