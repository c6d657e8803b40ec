"""What collectors send: from when on, in which order, and what becomes of sources that fail."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from test_cc import compiles
from test_collectors import DATA, echo, packets

import bitline
from bitline import Duration, UsageError


def attached(drive: bitline.Drive, port: int, name: str, **options: object) -> bitline.Collector:
    drive.collectors.allocate(name, 1 << 20)
    return drive.collectors.attach(port, name, **options)  # type: ignore[arg-type]


def test_cameras_send_side_by_side(drive: bitline.Drive) -> None:
    cameras = [
        attached(drive, port, f"camera {port}", source=packets(1000), rate=rate)
        for port, rate in enumerate((10e6, 20e6, 30e6))
    ]
    begun = drive.now
    drive.collectors.run()
    took = (drive.now - begun).ms
    assert 29 < took < 31, "as long as the slowest takes"
    assert [camera.detach() for camera in cameras] == 3 * [len(DATA)]
    drive.collectors.run()


def test_a_source_is_asked_when_its_packet_is_due(drive: bitline.Drive) -> None:
    asked = []

    def source() -> Iterator[bytes]:
        for packet in packets(10_000):
            asked.append(len(asked))
            yield packet

    camera = attached(drive, 0, "frames", source=source(), rate=10e6)
    drive.wait(Duration.from_ns(5e6))
    assert not asked, "it was not started"
    camera.start()
    drive.wait(Duration.from_ns(5.5e6))
    assert len(asked) == 7, "one each millisecond, and the next that waits for its time"
    with pytest.raises(UsageError, match="was started"):
        camera.run(packets=3)
    camera.run()
    assert camera.detach() == len(DATA)
    assert drive.volume["frames"] == DATA


def test_what_is_sent_follows_what_was_sent_before(drive: bitline.Drive) -> None:
    camera = attached(drive, 0, "frames", rate=10e6, share=1 << 16)
    begun = drive.now
    for part in (packets(1000)[:100], packets(1000)[100:150], [DATA[150_000:]]):
        camera.send(part)
    camera.run()
    took = (drive.now - begun).ms
    assert 29 < took < 36, "at its rate, and the last packet has more than the switch takes at once"
    assert camera.detach() == len(DATA)
    assert drive.volume["frames"] == DATA


@pytest.mark.parametrize("error", [OSError("unplugged"), KeyboardInterrupt()])
def test_a_source_that_raises_loses_nothing(drive: bitline.Drive, error: BaseException) -> None:
    class Source:
        """Raises once."""

        def __init__(self) -> None:
            self.rest = packets(1000)
            self.raises = True

        def __iter__(self) -> Iterator[bytes]:
            return self

        def __next__(self) -> bytes:
            if len(self.rest) == 200 and self.raises:
                self.raises = False
                raise error
            if not self.rest:
                raise StopIteration
            return self.rest.pop(0)

    camera = attached(drive, 0, "frames", source=Source(), rate=50e6)
    with pytest.raises(type(error)):
        camera.run()
    assert camera.status().taken == len(packets(1000)[:-200]) * 1000
    camera.run()
    assert camera.detach() == len(DATA)
    assert drive.volume["frames"] == DATA


def test_what_is_no_packet_is_told(drive: bitline.Drive) -> None:
    camera = attached(drive, 0, "frames", source=[b"ab", np.arange(3, dtype=np.uint8), None, b"cd"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not a NoneType"):
        camera.run()
    camera.run()
    with pytest.raises(TypeError, match="a source is packets"):
        camera.send(b"bytes")  # type: ignore[arg-type]
    for source in (5, b"bytes"):
        with pytest.raises(TypeError):
            drive.collectors.attach(1, None, source=source)  # type: ignore[arg-type]
    assert [one.port for one in drive.collectors.list()] == [0], "nothing else is attached"
    camera.detach()
    assert drive.volume["frames"] == b"ab\0\1\2cd"
    with pytest.raises(UsageError, match="grow"):
        drive.collectors.attach(1, None, grow=-1)
    with pytest.raises(UsageError, match="wire"):
        drive.collectors.attach(1, None, wire=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="rate"):
        drive.collectors.attach(1, None, rate=10**400)


def test_a_source_that_uses_its_drive_is_told(drive: bitline.Drive) -> None:
    def source() -> Iterator[bytes]:
        yield str(drive.now).encode()

    camera = attached(drive, 0, "frames", source=source())
    with pytest.raises(bitline.BitlineError):
        camera.run()
    assert camera.detach() == 0


@compiles
def test_streams_take_what_their_collector_sends(drive: bitline.Drive, tmp_path: Path) -> None:
    task = echo(tmp_path)
    with bitline.open("flash-cosmos", data="none") as other:
        theirs = other.collectors.attach(0, None)
        with pytest.raises(UsageError, match="of another drive"):
            drive.streams.open(theirs, task=task)
    at_host = attached(drive, 0, "host", through_host=True)
    with pytest.raises(UsageError, match="connected to the host"):
        drive.streams.open(at_host, task=task)
    camera = drive.collectors.attach(0, None, source=[b"nobody"])
    camera.run()
    assert (camera.status().unread, camera.status().lost) == (6, 0)
    camera.detach()
    drive.collectors.attach(0, None)
    with pytest.raises(UsageError, match="detached"):
        drive.streams.open(camera, task=task)


def test_a_drive_that_is_closed_lets_its_image_go(tmp_path: Path) -> None:
    image = tmp_path / "an.img"
    small = {"nand.geometry.blocks_per_plane": 64}
    drive = bitline.open("th-issd", image, set=small)
    camera = attached(drive, 0, "frames", source=[b"abc"])
    camera.run()
    drive.close()
    with pytest.raises(UsageError, match="closed"):
        camera.detach()
    with bitline.open(path=image) as again:
        kept = again.collectors.settle(0)
        assert again.volume["frames"] == b"abc"[:kept]


def test_a_handle_of_before_a_power_cut_ends_nothing_of_after(drive: bitline.Drive) -> None:
    old = attached(drive, 0, "frames", source=[DATA], rate=1e9)
    old.run()
    drive.power_cut()
    drive.power_up()
    (over,) = drive.collectors.list()
    new = drive.collectors.attach(0, "frames", source=[DATA[over.size :]], rate=1e9, resume=True)
    for call in (old.status, old.detach, old.run):
        with pytest.raises(UsageError):
            call()
    new.run()
    assert new.detach() == len(DATA)
    assert drive.volume["frames"] == DATA
