"""Logical blocks from Python: bytes and NumPy arrays, an image file, a power cut."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import bitline

with TemporaryDirectory() as folder:
    image = Path(folder) / "drive.img"

    # An image file keeps the drive's bits; it is sparse, so 2 TB cost what is written.
    with bitline.open("flash-cosmos", image) as drive:
        table = np.arange(1_000_000, dtype=np.float32).reshape(1000, 1000)
        drive.write(0, table)
        drive.write(5000, b"a block".ljust(drive.block_bytes, b"\0"))

        drive.power_cut()
        drive.power_up()
        print(f"recovered, {drive.now} after the drive was made")

    # Closed and opened again: the same drive, without naming its preset.
    with bitline.open(path=image) as drive:
        again = drive.read_array(0, table.shape, table.dtype)
        assert np.array_equal(again, table)
        assert drive.read(5000).startswith(b"a block")

        drive.deallocate(0, 1000)
        assert not drive.read_array(0, (100,), np.float32).any()
        print(f"{image.stat().st_blocks * 512 / 1e6:.0f} MB on disk for {drive.capacity_bytes / 1e12:.2f} TB")
        print(drive.statistics)
