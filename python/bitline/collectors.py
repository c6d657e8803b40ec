"""Collectors: cameras and sensors that feed the drive over ports, without the host (TH-iSSD 3.2).

```python
drive.collectors.allocate("frames", 64 << 20)
with drive.collectors.attach(0, "frames", source=frames, rate=50e6) as camera:
    camera.run()
    print(camera.status())
```
"""

import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from numpy.typing import NDArray

from bitline.arguments import DWORD_MAX, NUMBER_MAX, plain_bytes, whole_number
from bitline.errors import UsageError
from bitline.packets import frames as frames
from bitline.packets import rows as rows
from bitline.placed import MountedFile, PlacedRow
from bitline.units import Duration, Size

if TYPE_CHECKING:
    from bitline._bitline import Collectors as NativeCollectors
    from bitline.drive import Drive

#: What a collector sends at a time.
Packet: TypeAlias = bytes | bytearray | memoryview | NDArray[Any]

#: What becomes of packets for which there is no room.
Policy = Literal["stall", "drop newest", "drop oldest"]
POLICIES = ("stall", "drop newest", "drop oldest")

#: Seconds between packets, or for which none are sent, at most: a day.
INTERVAL_MAX = 86_400

#: Bytes a second of a source, at most.
RATE_MAX = 1e15
#: Bytes by which an object grows at a time, at most.
GROWTH_MAX = 1 << 48

#: No packet.
_NONE = object()

#: 10 Gigabit Ethernet: bytes a second, bytes that a frame carries, and what it adds (IEEE 802.3: preamble,
#: header, checksum and the gap between frames).
ETHERNET = (1_250_000_000, 1500, 38)


@dataclass(frozen=True)
class Wire:
    """The wire between a collector and its port."""

    rate: int = ETHERNET[0]
    """Bytes a second, overhead included."""
    packet_size: int = ETHERNET[1]
    """Bytes that a packet of its protocol carries, at most."""
    overhead: int = ETHERNET[2]
    """Bytes that the protocol adds to each packet."""


@dataclass(frozen=True)
class Collected:
    """What the drive tells of a collection."""

    port: int
    """The port from which it comes."""
    state: Literal["collecting", "over", "failed"]
    """Whether it goes on; `over` for one that a power cut has ended."""
    object: int
    """The number of the object that it goes to; 0 for none."""
    size: Size
    """Bytes there: on flash, in order, without holes, and known to be, whatever becomes of the power. Of
    one that is connected to the host: written, and durable when it is detached."""
    room: Size
    """Bytes that its object has room for; 0, as all that follows, of one that a power cut has ended."""
    packets: int
    """Packets taken in."""
    taken: Size
    """Bytes of these."""
    dropped_newest: int
    """Packets dropped as they came, for want of room."""
    dropped_newest_size: Size
    """Bytes of these."""
    dropped_oldest: int
    """Packets dropped after they had waited, for want of room for newer ones."""
    dropped_oldest_size: Size
    """Bytes of these."""
    lost: Size
    """Bytes taken in for which its object had no room when it ended."""
    unread: Size
    """Bytes taken in for streams only, and taken by none."""
    stalled: Duration
    """How long packets were held back on their wire."""


class Collector:
    """A collector that is attached. It is detached when a `with` statement ends."""

    def __init__(
        self,
        native: "NativeCollectors",
        handle: int,
        port: int,
        source: Iterator[Packet],
        rate: float,
        is_through_host: bool,
    ) -> None:
        self._native = native
        self._handle = handle
        self._port = port
        self._source = source
        self._rate = rate
        self._is_through_host = is_through_host
        self._is_started = False
        # What is sent one after the other, and the packet that is on its way.
        self._sources: deque[Iterator[Packet]] = deque()
        self._is_sending = False
        self._packet: object = _NONE
        self._raised: BaseException | None = None
        self._ended: Collected | None = None

    def __del__(self) -> None:
        self._native.forget(self._handle)

    def __repr__(self) -> str:
        return f"<Collector at port {self._port}{'' if self._ended is None else ', detached'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()

    @property
    def port(self) -> int:
        """Its port."""
        return self._port

    @property
    def is_attached(self) -> bool:
        """Whether it was not detached."""
        return self._ended is None

    def check_feeds(self, drive: "Drive") -> None:
        """That streams of a drive can take what it sends.

        Raises:
            UsageError: It is detached, of another drive, or connected to the host.
        """
        if self._ended is not None:
            raise UsageError(f"the collector at port {self._port} is detached")
        if self._native is not drive._collectors:
            raise UsageError(f"the collector at port {self._port} is of another drive")
        if self._is_through_host:
            raise UsageError(
                f"the collector at port {self._port} is connected to the host: a stream reads its object, "
                "once it is detached"
            )
        self._native.status(self._handle)

    def start(self) -> None:
        """Send what its source has from now on, as time passes, with `run` and other calls of the drive.

        The source is asked for a packet when that is due. It must not use the drive.
        """
        if not self._is_started:
            self._is_started = True
            self._send(self._source)

    def send(self, packets: Iterable[Packet]) -> None:
        """Send packets at its pace, as time passes, behind what it was given to send before."""
        self._send(iter([_bytes(packet, self._rate) for packet in _packets(packets)]))

    def _send(self, packets: Iterator[Packet]) -> None:
        self._sources.append(packets)
        if not self._is_sending:
            self._native.send(self._handle, self._due())
            self._is_sending = True

    def _due(self) -> Iterator[bytes]:
        """Packets as they are sent; what their source raises is raised by who waits for it."""
        try:
            while self._sources:
                if self._packet is _NONE:
                    self._packet = next(self._sources[0], _NONE)
                if self._packet is _NONE:
                    self._sources.popleft()
                    continue
                yield _bytes(self._packet, self._rate)
                self._packet = _NONE
        except GeneratorExit:
            raise
        except (TypeError, UsageError) as error:
            # It can never be sent.
            self._packet, self._raised = _NONE, error
        except BaseException as error:
            self._raised = error
        finally:
            self._is_sending = False

    def run(self, packets: int | None = None) -> None:
        """Let time pass until everything is sent that its source has, and that `send` was given.

        What streams make of it meanwhile is fetched, so that they go on, and kept for who reads it later.
        Other collectors go on sending if they were started.

        Args:
            packets: Packets of its source to send, at most; all of them, without.

        Raises:
            UsageError: Packets are held back for ever, as the object is full and does not grow; the collector
                is detached, or the power was cut; a number of packets of a source that was started.
        """
        if packets is None:
            self.start()
        elif self._is_started:
            raise UsageError(f"packets = {packets}: its source was started, and sends all that it has")
        else:
            self._send(islice(self._source, packets))
        if self._sources and not self._is_sending:
            # An error, or Ctrl-C, broke off what was being sent.
            self._native.send(self._handle, self._due())
            self._is_sending = True
        self._native.run(self._handle)
        self._raise()

    def _raise(self) -> None:
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def status(self) -> Collected:
        """What the drive tells of it; of one that is detached, what it told at the end."""
        return self._ended or _collected(self._native.status(self._handle))

    def detach(self) -> Size:
        """End the collection: its object has what was collected, for good, and no more bytes; how many.

        What its source has not sent by then is not sent. What the object had no room for is
        `status().lost` then. What fails can be tried again; what Ctrl-C breaks off goes on, and the next
        call tells of it.

        Raises:
            UsageError: A stream of a card has the object open, and needs it as it is; the power was cut, of
                a collector at the host.
            NvmeError: Internal Error, if what came could not be written.
        """
        if self._ended is None:
            self._ended = _collected(self._native.detach(self._handle))
            self._raise()
        return self._ended.size


def _target(path: "str | MountedFile | None") -> "tuple[str, PlacedRow | None] | None":
    if not isinstance(path, MountedFile):
        return None if path is None else (path, None)
    if not path.writable:
        raise UsageError(f"{path.path!r} was registered to be read only")
    return path.path, path.placed()


def _packets(packets: Iterable[Packet]) -> Iterable[Packet]:
    if isinstance(packets, bytes | bytearray | memoryview | str):
        raise TypeError(f"a source is packets, such as a list of bytes, not {type(packets).__name__}")
    return packets


def _bytes(packet: object, rate: float) -> bytes:
    """A packet's bytes.

    Raises:
        TypeError: It has none.
        UsageError: It would take too long.
    """
    data = plain_bytes(packet, "a collector sends")
    _check_interval(len(data), rate)
    return data


def _collected(
    row: "tuple[int, str, int, int, int, list[int], list[int], list[int], list[int], int]",
) -> Collected:
    port, state, number, size, room, taken, newest, oldest, lost, stalled = row
    return Collected(
        port=port,
        state=state,  # type: ignore[arg-type]
        object=number,
        size=Size(size),
        room=Size(room),
        packets=taken[0],
        taken=Size(taken[1]),
        dropped_newest=newest[0],
        dropped_newest_size=Size(newest[1]),
        dropped_oldest=oldest[0],
        dropped_oldest_size=Size(oldest[1]),
        lost=Size(lost[0]),
        unread=Size(lost[1]),
        stalled=Duration.from_ns(stalled),
    )


class Collectors:
    """The collectors of a drive. See `Drive.collectors`."""

    def __init__(self, drive: "Drive") -> None:
        self._native = drive._collectors
        self._drive = drive

    def __repr__(self) -> str:
        return f"<Collectors of {self._drive!r}>"

    def allocate(self, path: str, size: int) -> None:
        """Set an object of the volume aside that has room for `size` bytes, all zero (fallocate).

        Raises:
            UsageError: There is one of that name, or no space.
        """
        self._native.allocate(path, whole_number("size", size, 0, NUMBER_MAX))

    def attach(
        self,
        port: int,
        path: "str | MountedFile | None",
        *,
        source: Iterable[Packet] = (),
        rate: float = 100e6,
        jitter: float = 0.0,
        burst: tuple[float, float] | None = None,
        wire: Wire | None = None,
        policy: Policy = "stall",
        share: int = 0,
        grow: int = 0,
        low: int = 0,
        resume: bool = False,
        through_host: bool = False,
    ) -> Collector:
        """Attach a collector to a port: what it sends is collected from now on.

        Args:
            port: The port, from 0 on (`collector.ports`).
            path: The object of the volume that it goes to, which `allocate` has set aside; or a file that
                `Mounted.write` or `create` gives; `None`, if it is for a stream only.
            source: Packets to send, such as `frames` or `rows` give, as bytes or arrays; one with more bytes
                than its share of the drive's memory has room for goes in parts. It is sent from `start` or
                `run` on.
            rate: Bytes a second that it sends, overhead aside; a packet takes a day at most.
            jitter: How far intervals differ from that: 0.1 for up to a tenth less or more, at random.
            burst: For how many seconds it sends, and for how many it does not then; always, without.
            wire: Its wire; 10 Gigabit Ethernet, without.
            policy: What becomes of packets for which there is no room: `"stall"` holds them back on their
                wire, `"drop newest"` drops them, `"drop oldest"` those that have waited the longest. A packet
                that is being cut into pages stays: a share has to have room for several, or there is nothing
                older to drop.
            share: Bytes that it may have in the drive's memory; 0 is the drive's choice.
            grow: Bytes by which the object grows when there is little room left, in whole pages; 0: it does
                not.
            low: Bytes of room that are little; half of `grow`, without.
            resume: Go on where the last collection into this object ended at this port, by a power cut. One
                that is not to go on is to be settled first.
            through_host: Connect it to the host instead, to compare with: what it sends comes into the
                host's memory (`host.receiver` of the configuration), and the host writes it to the drive.
                The port is one of the host's, packets for which there is no room are held back, and the
                object does not grow.

        Raises:
            NotFoundError: There is no such object.
            UsageError: A port or wire that the drive does not have; an object that is no file, or that
                another collector fills; nothing to go on with, or something that was not settled.
            NvmeError: What the drive reports: Collector In Use, Collector Limit Reached.
        """
        packets = iter(_packets(source))
        if wire is not None and not isinstance(wire, Wire):
            raise UsageError(f"wire = {wire!r}: it is a Wire")
        wire = wire or Wire()
        grow = whole_number("grow", grow, 0, GROWTH_MAX)
        if policy not in POLICIES:
            raise UsageError(f"policy = {policy!r}: there are {', '.join(map(repr, POLICIES))}")
        growth = whole_number("low", low or min(grow // 2, DWORD_MAX), 0, DWORD_MAX)
        handle = self._native.attach(
            whole_number("port", port, 0, 0xFFFF),
            _target(path),
            (
                whole_number("wire.rate", wire.rate, 1, NUMBER_MAX),
                whole_number("wire.packet_size", wire.packet_size, 1, DWORD_MAX),
                whole_number("wire.overhead", wire.overhead, 0, DWORD_MAX),
            ),
            policy,
            whole_number("share", share, 0, DWORD_MAX),
            (growth, grow),
            resume,
            through_host,
            _pace(rate, jitter, burst),
        )
        collector = Collector(self._native, handle, port, packets, rate, through_host)
        self._drive._attached.append(weakref.ref(collector))
        return collector

    def run(self) -> None:
        """Let time pass until all collectors that are attached have sent everything, side by side.

        Raises:
            UsageError: As `Collector.run`.
        """
        known = [collector for reference in self._drive._attached if (collector := reference()) is not None]
        collectors = [collector for collector in known if collector.is_attached]
        self._drive._attached = [weakref.ref(collector) for collector in collectors]
        for collector in collectors:
            collector.start()
        for collector in collectors:
            collector.run()

    def generate(
        self,
        collector: Collector,
        size: int,
        *,
        packet_size: int = 4096,
        rate: float = 100e6,
        jitter: float = 0.0,
        burst: tuple[float, float] | None = None,
    ) -> None:
        """Have a collector send `size` random bytes, drawn from the drive's seed, as time passes.

        Args:
            collector: Which.
            size: Bytes in all.
            packet_size: Bytes of each packet.
            rate: Bytes a second.
            jitter: As of `attach`.
            burst: As of `attach`.
        """
        packet = whole_number("packet_size", packet_size, 1, DWORD_MAX)
        size = whole_number("size", size, 0, NUMBER_MAX)
        _check_interval(packet, rate)
        self._native.generate(collector._handle, _pace(rate, jitter, burst), packet, size)

    def list(self) -> "list[Collected]":
        """What the drive tells of its collections: those that go on, and those that a power cut has ended."""
        return [_collected(row) for row in self._native.list()]

    def settle(self, port: int) -> Size:
        """End a collection that a power cut has ended: its object has what is there, and no more bytes.

        If the object was removed, there are none.

        Raises:
            UsageError: None has ended at that port; a stream of a card has the object open.
        """
        return Size(self._native.settle(whole_number("port", port, 0, 0xFFFF)))


def _pace(rate: float, jitter: float, burst: tuple[float, float] | None) -> tuple[float, float, float, float]:
    if not isinstance(rate, int | float) or not 0 < rate <= RATE_MAX:
        raise UsageError(f"rate = {rate}: it is bytes a second, more than 0, and at most {RATE_MAX:g}")
    if not 0 <= jitter <= 1:
        raise UsageError(f"jitter = {jitter}: it is a share of an interval, 0 to 1")
    spans = (0.0, 0.0) if burst is None else tuple(burst) if isinstance(burst, Iterable) else ()
    if len(spans) != 2 or not all(0 <= span <= INTERVAL_MAX for span in spans):
        raise UsageError(f"burst = {burst}: it is two numbers of seconds, 0 to {INTERVAL_MAX}")
    on, off = spans
    return float(rate), float(jitter), on * 1e9, off * 1e9


def _check_interval(size: int, rate: float) -> None:
    if size / rate > INTERVAL_MAX:
        raise UsageError(f"{size} bytes at a rate of {rate} a second: a packet takes a day at most")
