"""The command `image`, and drives in images from the command line."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from command_line import Run, fails
from conftest import SMALL, SMALL_OPTIONS

import bitline


def test_images_are_made_described_and_checked(run: Run) -> None:
    assert run("image", "create", "an.img", *SMALL_OPTIONS).code == 0
    with bitline.open(path="an.img") as drive:
        drive.write(3, bytes(5 * 4096))
        drive.group("9").write([b"abc", b"def"])
    found = run("image", "info", "an.img", "--json").json
    assert (found["mapped_pages"], found["used_bytes"], found["vectors"]) == (5, 5 * 4096, 2)
    # Four logical pages a flash page use what they hold, not four flash pages.
    small = ("--set", "ftl.mapping_unit_bytes=1024", "--set", "frontend.block_bytes=512")
    assert run("image", "create", "small.img", *SMALL_OPTIONS, *small).code == 0
    with bitline.open(path="small.img") as drive:
        drive.write(0, bytes(5 * 4096))
    told = run("image", "info", "small.img", "--json").json
    assert (told["mapped_pages"], told["used_bytes"]) == (4 * 5, 5 * 4096)
    assert found["groups"] == [
        {"group": "9", "vectors": 2, "names": "0, 1", "bits": 24, "first_die": 0, "dies": 0}
    ]
    # A page and a wordline each; three TLC pages would go into the same cells. The group has a block for each
    # of the two strings' worth of chunks that a vector of one page needs: one.
    assert (found["vector_pages"], found["vector_bytes"]) == (2, 2 * 4096)
    assert found["vector_bytes_as_data"] == 3 * 2 * 4096
    assert found["vector_bytes_given_up"] == 2 * 2 * 4096
    assert (found["vector_blocks"], found["vector_blocks_as_data"]) == (1, 3 * 2 * 4 * 4096)
    assert found["vector_blocks_percent"] == round(100 / found["vector_blocks_max"], 2)
    told = run("image", "info", "an.img").out
    assert "Bit vectors" in told
    assert re.search(r"would hold as data, 3 bits a cell +24\.0 KiB", told)
    assert re.search(r"Written by the host +[0-9.]+ kB", told)
    checked = run("image", "check", "an.img", "--json")
    assert checked.code == 0
    pages = checked.json["flash_pages"]
    assert pages >= 2 + 5
    records = {
        "file": "an.img",
        "flash_pages": pages,
        "flash_pages_damaged": None,
        "record_copies_damaged": 0,
        "back_at_last_flush": False,
    }
    without_data = run("image", "check", "an.img", "--no-data", "--json").json
    assert without_data == records
    assert checked.json == {
        **records,
        "flash_pages_damaged": 0,
        # Vectors are blocks, too, and the catalogue: two copies of a superblock and two commits.
        "blocks_read": 5 + 2 + 2 + 2,
        "blocks_lost": 0,
        "first_lost": None,
        "vectors_read": 2,
        "vectors_lost": 0,
    }
    assert tomllib.loads(run("show", "--image", "an.img").out)["nand"]["geometry"]["channels"] == 2


def test_a_check_tells_what_is_damaged_and_looking_changes_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "an.img"
    with bitline.open(path=path, set=SMALL) as drive:
        drive.write(0, b"\xab" * 4096)
    intact = path.read_bytes()
    for command in ("info", "check"):
        assert run("image", command, "an.img").code == 0
        assert path.read_bytes() == intact
    data = bytearray(intact)
    data[data.index(b"\xab" * 4096) + 100] ^= 1
    path.write_bytes(data)
    done = run("image", "check", "an.img")
    assert done.code == 3
    assert "an.img: 1 block, the first at 0, and 0 vectors cannot be read" in done.err
    assert run("image", "check", "an.img", "--no-data").code == 0
    header = bytearray(intact)
    header[60] ^= 1
    path.write_bytes(header)
    done = run("image", "check", "an.img")
    assert done.code == 3
    assert "1 record damaged in one of two copies; opening the drive mends that" in done.err
    assert path.read_bytes() == header
    bitline.open(path=path).close()
    assert run("image", "check", "an.img").code == 0


def test_images_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader" * 1000)
    fails(run("image", "create", "letter.txt"), 2, "exists already")
    fails(run("image", "info", "no.img"), 2, "no.img: cannot open the image: No such file")
    fails(run("image", "check", "letter.txt"), 3, "letter.txt: not a Bitline image")
    fails(run("image", "create", "an.img", "--set", "data.storage=memory"), 2, "data.storage")
    assert run("image", "create", "long.img", *SMALL_OPTIONS).code == 0
    with (tmp_path / "long.img").open("ab") as file:
        file.write(b"more")
    fails(run("image", "check", "long.img"), 3, "long.img: too long: it has", "something was appended")
    with bitline.open(path="used.img", set=SMALL):
        fails(run("image", "info", "used.img"), 3, "in use by another drive")


def test_a_pipe_or_a_folder_is_no_image(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    # In a process of its own: one that waits for a pipe hears no signal.
    program = [sys.executable, "-m", "bitline", "image", "info", "pipe"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "pipe: cannot open the image: it is a folder, pipe or device" in done.stderr
    for command in ("info", "check"):
        fails(run("image", command, "folder"), 2, "folder: cannot open the image")


def test_a_drive_error_exits_with_3(run: Run) -> None:
    fails(run("demo", *SMALL_OPTIONS, "--scale", 0.1), 3, "fc_write: Vector Group Full")
