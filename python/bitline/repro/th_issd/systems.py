"""The systems that are compared: the drive by itself, and an accelerator that the host forwards data to."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import bitline
from bitline.collectors import Wire
from bitline.opening import Setting
from bitline.streams import Where


@dataclass(frozen=True)
class System:
    """Who computes, and which way data take."""

    name: str
    """In files and figures of what lies in the drive (4.1.2)."""
    edge_name: str
    """In files and figures of what cameras record (Figure 2)."""
    where: Where
    """Who computes."""
    through_host: bool
    """Whether the host takes what cameras send and writes it to the drive."""
    pieces: int = 8
    """How many the host has on their way to the card at a time."""


OURS = System("TH-iSSD", "TH-iSSD", where="drive", through_host=False)
#: The host writes what cameras send, and the drive computes.
FORWARDED = System("ISP-SC", "ISP-SC", where="drive", through_host=True)
#: The compute-centric baseline, whose host CPU forwards data between the drive and an accelerator: several
#: pieces on their way at a time, as a program of today does.
BASELINE = System("baseline", "Non-ISP", where="card", through_host=True)
#: The baseline where one piece follows the other.
SERIAL = System(
    "baseline, one at a time", "Non-ISP, one at a time", where="card", through_host=True, pieces=1
)
#: All systems, ours first.
SYSTEMS = (OURS, FORWARDED, BASELINE, SERIAL)
#: Those that differ where data lie in the drive: there, ISP-SC is as ours.
RETRIEVING = (OURS, BASELINE, SERIAL)

#: A camera's wire: 100 Gigabit Ethernet.
WIRE = Wire(12_500_000_000, 9000, 38)
#: The platforms of 4.1.1 and 4.2.1.
INFORMATION_RETRIEVAL, EDGE = "th-issd", "th-issd-edge"

#: Room for the weights of the largest network in 1 GB of DRAM, of which the mapping table has half: no
#: lookups, and fewer page buffers. Streams have buffers of 4 MiB each, for pieces as large as pictures.
#: Ports take what 100 Gigabit Ethernet brings, so that what is measured is what stands behind them.
_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "task.memory_bytes": 128 << 20,
        "task.dram_bytes": 384 << 20,
        "task.cycles_max": 10**15,
        "search.buffer_bytes": 1 << 20,
        "memory.page_buffers": 4096,
        "stream.streams_max": 4,
        "collector.port_megabytes_per_second": 12_500,
    }
)


#: The other platform has 16 GB, which its elements share.
_EDGE_SETTINGS: Mapping[str, Setting] = MappingProxyType({"task.dram_bytes": 4 << 30})


def opened(preset: str, system: System) -> bitline.Drive:
    """A drive that keeps time and no data, before a host and a card as of a system."""
    more = _EDGE_SETTINGS if preset == EDGE else {}
    return bitline.open(preset, data="none", set={**_SETTINGS, **more, "host.card.pieces": system.pieces})


def fill(drive: bitline.Drive, name: str, size: int) -> None:
    """Write an object of so many bytes, as fast as the drive takes them."""
    drive.collectors.allocate(name, size)
    with drive.collectors.attach(0, name, wire=WIRE) as source:
        drive.collectors.generate(source, size, packet_size=1 << 16, rate=1e12)
        source.run()
