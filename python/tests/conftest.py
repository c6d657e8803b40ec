"""What several tests share."""

from collections.abc import Iterator

import pytest

import bitline
from bitline import Drive
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
