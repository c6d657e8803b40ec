"""What several tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Done, Run

import bitline
from bitline import Drive
from bitline.cli.app import main
from bitline.demo import LineItems, generate

#: A drive so small that vectors of a few kilobytes span stripes, strings and blocks, and every call is quick.
SMALL = {
    "nand.geometry.channels": 2,
    "nand.geometry.chips_per_channel": 2,
    "nand.geometry.blocks_per_plane": 32,
    "nand.geometry.strings_per_block": 2,
    "nand.geometry.cells_per_string": 4,
    "nand.geometry.page_bytes": 4096,
    "ftl.gc.threshold_blocks": 3,
    "bits.compute_blocks_percent": 60,
}

#: The same, as options of a command.
SMALL_OPTIONS = [text for key, value in SMALL.items() for text in ("--set", f"{key}={value}")]

#: One with room for many groups of vectors, each of some pages.
ROOMY = {
    **SMALL,
    "nand.geometry.page_bytes": 512,
    "nand.geometry.blocks_per_plane": 192,
    "frontend.block_bytes": 512,
}


@pytest.fixture(scope="session")
def rows() -> LineItems:
    """Some 6,000 rows."""
    return generate(0.001)


@pytest.fixture
def drive() -> Iterator[Drive]:
    """A small drive with its bits in memory."""
    with bitline.open(set=SMALL) as drive:
        yield drive


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `bitline` with arguments, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["bitline", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
        except SystemExit as ending:
            code = int(ending.code or 0)
        else:
            code = 0
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run
