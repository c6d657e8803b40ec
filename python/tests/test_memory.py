"""Memory of a drive that its programs and the host share."""

from collections.abc import Iterator

import pytest
from test_tasks import COUNT, ECHO, FAIL, SPACIOUS

import bitline
from bitline import Drive, NvmeError, UsageError


@pytest.fixture
def drive() -> Iterator[Drive]:
    with bitline.open(set={**SPACIOUS, "local_memory.bytes": 1 << 20}) as drive:
        yield drive


def test_bytes_are_what_was_written_until_the_power_goes(drive: Drive) -> None:
    memory = drive.memory
    assert (len(memory), memory.size) == (1 << 20, 1 << 20)
    assert memory.read(0, 8) == bytes(8)
    memory.write(4, b"abcdefgh")
    memory.copy(4, 12, 8)
    assert memory.read(0, 20) == bytes(4) + b"abcdefgh" * 2
    drive.power_cut()
    drive.power_up()
    assert drive.memory.read(0, 20) == bytes(20)


def test_objects_and_blocks_are_copied_both_ways(drive: Drive) -> None:
    data = bytes(range(256)) * 40
    drive.volume["from"] = data
    drive.volume["to"] = bytes(len(data))
    assert drive.memory.copy_from_object("from", 4096) == len(data)
    assert drive.memory.read(4096, len(data)) == data
    assert drive.memory.copy_to_object(4096, "to") == len(data)
    assert drive.volume["to"] == data
    with pytest.raises(bitline.NotFoundError):
        drive.memory.copy_from_object("neither", 0)


def test_runs_of_blocks_are_copied_in_their_order(drive: Drive) -> None:
    size = drive.block_bytes
    written = {lba: bytes([lba]) * size for lba in (3, 4, 9)}
    for lba, block in written.items():
        drive.write(lba, block)
    assert drive.memory.copy_from_extents([(9, 1), (3, 2)], to=size) == 3 * size
    assert drive.memory.read(0, 5 * size) == bytes(size) + written[9] + written[3] + written[4] + bytes(size)
    with pytest.raises(bitline.UsageError):
        drive.memory.copy_from_extents([(0, 1)], to=drive.memory.size - size + 4)


@pytest.mark.parametrize(
    ("range_", "why"),
    [
        ((0, 6), r"range \(0, 6\): both are multiples of 4"),
        ((8, 4), r"range \(8, 4\): it is where it begins and where it ends"),
        ((4, 4), "and has bytes"),
        ((0, (1 << 20) + 4), r"the memory has 1048576 bytes \(local_memory.bytes\)"),
    ],
)
def test_ranges_that_are_none_say_why(drive: Drive, range_: tuple[int, int], why: str) -> None:
    for call in (drive.memory.create_ranges, lambda ranges: drive.memory.run(b"", ranges)):
        with pytest.raises(bitline.UsageError, match=why):
            call([range_])
    with pytest.raises(bitline.UsageError, match="they are two numbers"):
        drive.memory.run(b"", [(0, 4)], parameters=(1,))  # type: ignore[arg-type]


def test_programs_see_ranges_as_files(drive: Drive) -> None:
    memory = drive.memory
    memory.write(8, b"abcd")
    ranges = memory.create_ranges([(8, 16)])
    assert memory.range_sets == {ranges: [(8, 16)]}
    assert memory.run(COUNT, ranges) == int.from_bytes(b"bbcd", "little")
    assert memory.run(COUNT, [(8, 16)]) == int.from_bytes(b"cbcd", "little")
    assert memory.read(8, 4) == b"cbcd"
    assert memory.run(drive.tasks.load(ECHO), [(0, 4)], b"12345") == int.from_bytes(b"12345", "little")
    memory.delete_ranges(ranges)
    assert memory.range_sets == {}
    with pytest.raises(NvmeError):
        memory.run(COUNT, ranges)


def test_what_cannot_be_is_refused_with_why(drive: Drive) -> None:
    memory = drive.memory
    with pytest.raises(NvmeError, match="7"):
        memory.run(FAIL, [(0, 16)])
    for start, size in ((2, 4), (0, 6), (1 << 20, 4)):
        with pytest.raises(UsageError):
            memory.read(start, size)
    with pytest.raises(UsageError):
        memory.copy(0, 4, 8)
    with pytest.raises(NvmeError):
        memory.create_ranges([(0, 8), (4, 12)])
    with bitline.open(set={**SPACIOUS, "local_memory.bytes": 0}) as without:
        assert len(without.memory) == 0
        with pytest.raises(bitline.BitlineError):
            without.memory.read(0, 4)
