"""What was kept to be found by content is there when a drive is opened again."""

from pathlib import Path

import numpy as np
import pytest
from test_cc import compiles

import bitline
from bitline.networks import trained
from bitline.retrieval import Retrieval
from bitline.zero_streaming import ZeroStreaming

ITEMS = np.random.default_rng(1).integers(0, 17, (300, 64), dtype=np.int8)
NETWORK = trained(ITEMS, np.random.default_rng(2).integers(0, 3, 300), sizes=(16,))
SMALL = {"nand.geometry.blocks_per_plane": 64}


@compiles
def test_an_index_outlives_its_drive(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with bitline.open("th-issd", image, set=SMALL) as drive:
        index = Retrieval(drive, NETWORK)
        index.add(ITEMS)
        before = index.query(ITEMS[:4], k=5)
    with bitline.open("th-issd", image, set=SMALL) as drive:
        index = Retrieval(drive, NETWORK)
        assert len(index) == len(ITEMS)
        assert np.array_equal(index.query(ITEMS[:4], k=5).numbers, before.numbers)
        assert len(Retrieval(drive, NETWORK, name="another")) == 0
        other = trained(ITEMS[:, :32], np.random.default_rng(2).integers(0, 3, 300), sizes=(16,))
        with pytest.raises(bitline.UsageError, match="they are not items of 32"):
            Retrieval(drive, other)


@compiles
def test_recordings_outlive_their_drive(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with bitline.open("th-issd", image, set=SMALL) as drive:
        cameras = ZeroStreaming(drive, NETWORK)
        cameras.record({"door": ITEMS[:100], "street": ITEMS[100:]}, rate=1e9)
        *_, before = cameras.query(1)
    with bitline.open("th-issd", image, set=SMALL) as drive:
        cameras = ZeroStreaming(drive, NETWORK)
        assert cameras.cameras == {"door": 100, "street": 200}
        *_, last = cameras.query(1)
        assert last.best == before.best
        with pytest.raises(bitline.UsageError, match="recorded before"):
            cameras.record({"door": ITEMS})
