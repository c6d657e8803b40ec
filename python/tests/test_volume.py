"""Named arrays, files and tables: kept on the drive, found again by name, in another process too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import SMALL

import bitline
from bitline import Drive, NotFoundError, UsageError


def test_arrays_files_and_tables(drive: Drive) -> None:
    volume = drive.volume
    assert (len(volume), volume.blocks, list(volume)) == (0, 0, [])
    array = np.arange(24.0).reshape(2, 3, 4)
    volume["array"] = array
    volume["file"] = b"abc"
    volume.write_table("table", b"12345", b"a: int8")
    np.testing.assert_array_equal(volume["array"], array)
    assert (volume["file"], volume["table"]) == (b"abc", b"12345")
    volume["file"] = b"abcd"
    drive.power_cut()
    drive.power_up()
    assert volume["file"] == b"abcd"
    assert list(volume) == ["array", "file", "table"]
    found = {each.name: each for each in volume.objects()}
    assert (found["array"].kind, found["array"].dtype, found["array"].shape) == ("array", "<f8", (2, 3, 4))
    assert (found["table"].schema, found["table"].size) == (b"a: int8", 5)
    [(first, blocks)] = found["file"].extents
    assert drive.read(first, blocks)[:4] == b"abcd"
    free = volume.free_blocks
    del volume["file"]
    assert volume.free_blocks == free + blocks
    assert "file" not in volume
    volume.rename("table", "file")
    assert volume["file"] == b"12345"


def test_what_a_volume_refuses(drive: Drive) -> None:
    drive.group("g").write([b"a"])
    drive.volume["file"] = b"abc"
    with pytest.raises(UsageError, match=r"drive.group\('g'\) has its vectors"):
        drive.volume["g"]
    for missing in (lambda: drive.volume["no"], lambda: drive.volume.__delitem__("no")):
        with pytest.raises(KeyError, match="no"):
            missing()
    with pytest.raises(TypeError, match="not a str"):
        drive.volume["text"] = "abc"
    with pytest.raises(UsageError, match='"file" is a file, not an array'):
        drive.volume["file"] = np.zeros(3)
    with pytest.raises(UsageError, match='"file" is a file, not a group'):
        drive.group("file").write([b"a"])
    with pytest.raises(UsageError, match="blocks are needed"):
        drive.volume["large"] = bytes(drive.volume.free_blocks * drive.block_bytes + 1)
    with pytest.raises(UsageError, match="is no name of an object"):
        drive.volume[""] = b"abc"
    assert drive.volume["file"] == b"abc"


def test_plain_writes_leave_the_catalogue_alone(drive: Drive) -> None:
    [vector] = drive.group("g").write([bytes(drive.block_bytes)])
    drive.volume["file"] = b"abc"
    block = b"x" * drive.block_bytes
    [(first, _)] = vector.extents
    catalogue, free = drive.blocks - drive.volume.blocks, drive.blocks - 4
    pending = drive.submit_write(catalogue, block)
    refused = (
        lambda: drive.write(catalogue, block),
        lambda: drive.write_zeroes(catalogue, 1),
        lambda: drive.deallocate(catalogue, 1),
        lambda: drive.copy([(0, 1)], catalogue),
        lambda: drive.write_uncorrectable(catalogue, 1),
        pending.result,
    )
    for call in refused:
        with pytest.raises(UsageError, match=r"catalogue of the drive's volume.*before block"):
            call()
    with pytest.raises(UsageError, match="free blocks of the drive's volume"):
        drive.write(free, block)
    drive.deallocate(free, 4)
    drive.write(first, block)
    assert (vector.count(), drive.volume["file"]) == (4 * len(block), b"abc")


def test_a_format_leaves_no_names(drive: Drive) -> None:
    drive.volume["file"] = b"abc"
    drive.admin.format(4096)
    assert list(drive.volume) == list(drive.groups) == []
    drive.volume["file"] = b"abcd"
    assert drive.volume["file"] == b"abcd"


CHILD = """
import sys, bitline
with bitline.open(path=sys.argv[1]) as drive:
    red, green = drive.groups["colours"]
    print(red.name, green.name, (red & green).count(), drive.volume["notes"].decode())
    drive.group("more").write([b"x"])
"""


def test_another_process_finds_everything_by_name(tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.group("colours").write([b"\x0f", b"\x3c"], names=["red", "green"])
        drive.volume["notes"] = b"of this run"
    command = [sys.executable, "-c", CHILD, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == "red green 2 of this run\n"
    with bitline.open(path=path) as drive:
        assert [group.name for group in drive.groups] == ["colours", "more"]
        assert [vector.name for vector in drive.groups["colours"]] == ["red", "green"]


def test_what_is_submitted_is_in_flight_together(drive: Drive) -> None:
    rows = np.random.default_rng(1).random((3, 100_000)) < 0.5
    a, b, c = drive.group("g").write(rows)
    drive.write(0, b"x" * drive.block_bytes)
    begin = drive.now
    one_by_one = ((a & b).count(), (a | c).read(), drive.read(0, 1))
    alone = drive.now - begin
    begin = drive.now
    counted, either, block = (a & b).submit(count=True), (a | c).submit(), drive.submit_read(0, 1)
    assert not counted.done
    assert drive.now == begin
    assert (counted.result(), block.result()) == (one_by_one[0], one_by_one[2])
    np.testing.assert_array_equal(either.result(), one_by_one[1])
    assert drive.now - begin < alone
    assert max(counted.took, either.took, block.took) == drive.now - begin
    written = drive.submit_write(1, b"y" * drive.block_bytes)
    assert written.result() is None
    assert counted.done
    assert counted.result() == one_by_one[0], "it can be asked again"
    assert drive.read(1, 1) == b"y" * drive.block_bytes
    missing, late = (a & c).submit(), (a & b).submit(count=True)
    outside = drive.submit_read(drive.blocks, 1)
    c.delete()
    with pytest.raises(UsageError, match="outside"):
        outside.result()
    with pytest.raises(UsageError, match="outside"):
        _ = outside.took
    np.testing.assert_array_equal(missing.result(), rows[0] & rows[2])
    cut = (a & b).submit()
    drive.power_cut()
    with pytest.raises(UsageError, match="the power was cut before this had ended"):
        cut.result()
    drive.power_up()
    assert late.result() == one_by_one[0], "it had ended before the cut"


def test_parts_of_objects(drive: Drive) -> None:
    drive.volume["file"] = bytes(range(256)) * 40
    stored = drive.volume.handle("file")
    assert (stored.size, len(stored), stored.info.kind) == (10_240, 10_240, "file")
    assert stored.read(10_000, 3) == bytes([16, 17, 18])
    assert stored.read(10_239) == stored.read(10_239, 1) == b"\xff"
    assert stored.submit_read(0, 2).result() == b"\x00\x01"
    stored.write(4090, b"in the middle of two")
    assert drive.volume["file"][4088:4112] == b"\xf8\xf9in the middle of two\x0e\x0f"
    stored.append(np.arange(3, dtype="<u2"))
    pending = [stored.submit_append(b"x"), stored.submit_write(0, b"yz")]
    assert [each.result() for each in pending] == [None, None]
    assert stored.read(10_240) == b"\0\0\1\0\2\0x"
    stored.truncate(3)
    assert drive.volume["file"] == b"yz\x02"
    for call in (lambda: stored.read(2, 2), lambda: stored.write(3, b"a"), lambda: stored.truncate(4)):
        with pytest.raises(UsageError, match=r'beyond the end of "file", which has 3: append'):
            call()
    drive.volume["array"] = np.zeros((2, 3))
    drive.volume.handle("array").append(np.ones(3))
    np.testing.assert_array_equal(drive.volume["array"], [[0] * 3, [0] * 3, [1] * 3])
    with pytest.raises(UsageError, match=r'"array" would have 73 bytes, and its rows are of 24'):
        drive.volume.handle("array").append(b"a")
    with pytest.raises(KeyError, match="no object 'no'"):
        drive.volume.handle("no")
    del drive.volume["file"]
    with pytest.raises(NotFoundError, match='no object "file"'):
        stored.read(0, 1)
    with pytest.raises(NotFoundError, match="no object 'file'"):
        _ = stored.size


def test_parts_of_arrays_are_of_their_type(drive: Drive) -> None:
    drive.volume["a"] = held = np.arange(8).reshape(2, 4)
    stored = drive.volume.handle("a")
    for wrong in (np.arange(4.0), np.arange(4, dtype=">i8"), np.arange(4, dtype="i4"), np.float64(1)):
        for call in (stored.append, stored.submit_append):
            with pytest.raises(
                UsageError, match=r"for 'a', whose items are of <i8: convert them with astype"
            ):
                call(wrong)
        for write in (stored.write, stored.submit_write):
            with pytest.raises(
                UsageError, match=r"for 'a', whose items are of <i8: convert them with astype"
            ):
                write(0, wrong)
    for rows in (np.arange(4).reshape(4, 1), np.arange(8), np.arange(8).reshape(1, 2, 4), np.int64(3)):
        with pytest.raises(UsageError, match=r"no row of 'a', nor several: a row is of shape \(4,\)"):
            stored.append(rows)
    with pytest.raises(UsageError, match="offset = 3 is within an item: those of 'a' are of 8 bytes"):
        stored.write(3, np.arange(2))
    np.testing.assert_array_equal(drive.volume["a"], held)
    stored.append(held)
    stored.submit_append(held[0]).result()
    stored.write(8, np.arange(2) + 70)
    stored.write(0, b"\x63")
    np.testing.assert_array_equal(
        drive.volume["a"], [[99, 70, 71, 3], [4, 5, 6, 7], *held.tolist(), [0, 1, 2, 3]]
    )


def test_an_array_without_rows_is_appended_to(drive: Drive) -> None:
    for name, dtype in (("float", "<f4"), ("text", "<U3"), ("time", "<M8[ns]"), ("bool", "bool")):
        rows = np.zeros((3, 2), dtype)
        drive.volume[name] = rows[:0]
        drive.volume.handle(name).append(rows)
        found = drive.volume[name]
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, rows)
        drive.volume.handle(name).truncate(0)
        drive.volume.handle(name).append(rows[0])
        assert drive.volume.handle(name).info.shape == (1, 2)


def test_names_that_cannot_be_are_not_there(drive: Drive) -> None:
    name = "a\udc80"
    [vector] = drive.group("g").write([[True]])
    drive.volume["file"] = b""
    group = vector.group
    assert name not in drive.volume
    assert name not in drive.groups
    assert name not in group
    for find in (drive.volume.handle, drive.volume.__getitem__, drive.groups.__getitem__, group.__getitem__):
        with pytest.raises(KeyError, match=r"no (object|group|vector) 'a\\+udc80'"):
            find(name)
    with pytest.raises(KeyError, match="no object"):
        del drive.volume[name]
    for give in (
        lambda: drive.group(name),
        lambda: group.rename(name),
        lambda: group.write([[True]], names=[name]),
        lambda: group.submit_write([[True]], names=[name]),
        lambda: group.place(1, bits=1, names=[name]),
        lambda: drive.volume.__setitem__(name, b""),
        lambda: drive.volume.submit_write(name, b""),
        lambda: drive.volume.write_table(name, b"", b""),
        lambda: drive.volume.rename("file", name),
        lambda: drive.volume.rename(name, "file"),
        lambda: drive.bitmap_index(pa.table({"x": [1]}), name=name),
    ):
        with pytest.raises(UsageError, match=r"'a\\udc80.*' is no name: it has half of a surrogate pair"):
            give()


def test_no_vectors_are_submitted_as_they_are_written(drive: Drive) -> None:
    pending = drive.group("g").submit_write([])
    assert (drive.group("g").write([]), pending.done, pending.result()) == ([], True, [])
    assert pending.took.ps == 0
    assert "g" not in drive.groups
    for write in (drive.group("g").write, drive.group("g").submit_write):
        with pytest.raises(UsageError, match="1 name for 0 vectors"):
            write([], names=["a"])


@pytest.mark.parametrize("unit", [0, 4096])
def test_what_was_cut_off_is_nowhere_on_the_drive(unit: int) -> None:
    secret = b"SECRET!!"
    with bitline.open(set={**SMALL, "ftl.mapping_unit_bytes": unit}) as drive:
        drive.volume["file"] = secret * 10_000
        [(first, blocks)] = drive.volume.handle("file").info.extents
        drive.volume.handle("file").truncate(12)
        [(new, some)] = drive.volume.handle("file").info.extents
        raw = drive.read(new, some)
        assert (raw[:12], raw.strip(b"\0")) == (b"SECRET!!SECR", b"SECRET!!SECR")
        assert secret not in drive.read(first, blocks)
        drive.volume.handle("file").append(b"x")
        drive.flush()
        assert drive.volume["file"] == b"SECRET!!SECRx"


def test_writes_of_groups_and_objects_are_submitted() -> None:
    rows = np.random.default_rng(2).random((2, 4, 200_000)) < 0.5
    times = []
    for together in (False, True):
        with bitline.open(set={**SMALL, "bits.compute_blocks_percent": 40}) as drive:
            drive.volume["first"] = b"makes the volume"
            begin = drive.now
            pending = []
            for die, of_group in enumerate(rows):
                written = drive.group(f"g{die}", first_die=die, dies=1).submit_write(of_group)
                pending.append(written if together else written.result())
            written = [each.result() for each in pending] if together else pending
            times.append(drive.now - begin)
            for of_group, vectors in zip(rows, written, strict=True):
                assert [vector.number for vector in vectors] == [0, 1, 2, 3]
                np.testing.assert_array_equal(vectors[2].read(), of_group[2])
            table = drive.volume.submit_write("table", np.arange(4))
            vector = written[0][0].submit_overwrite(rows[1][0])
            assert table.result() is None
            np.testing.assert_array_equal(drive.volume["table"], np.arange(4))
            np.testing.assert_array_equal(vector.result().read(), rows[1][0])
            wrong = drive.group("g0").submit_write([b"a"])
            with pytest.raises(UsageError, match="have 200000 bits, not 8"):
                wrong.result()
    assert times[1].ps < 0.7 * times[0].ps


def test_errors_tell_what_is_not_there_by_more_than_words(drive: Drive) -> None:
    a, b = drive.group("g").write([b"a", b"b"])
    a.delete()
    with pytest.raises(NotFoundError, match=r"does not hold g:0$") as raised:
        (a & b).count()
    assert raised.value.vector == a._id
    assert "0" not in drive.group("g")
    assert "1" in drive.group("g")
    with pytest.raises(KeyError, match="no vector 0"):
        drive.group("g")[0]
    assert drive.group("g")[1].name == "1"


def test_where_data_is_and_may_be(drive: Drive) -> None:
    assert 0 < drive.data_blocks < drive.blocks
    assert drive.media.mapped_runs() == []
    drive.write(8, b"x" * drive.block_bytes)
    [(first, blocks)] = drive.media.mapped_runs()
    assert first <= 8 < first + blocks
