"""What scripts/profile.sh runs to see which paths are hot: some of everything, most of plain requests.

The compiler takes what is never run here for rarely run, and makes it small instead of fast.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bitline
from bitline import _bitline
from bitline.opening import Setting
from bitline.workload import Flow, HotCold, Open, Replay, Zipf

#: Requests of a flow: the more, the less everything else counts.
REQUESTS = 200_000
TIMING_ONLY: dict[str, Setting] = {"data.storage": "none"}
#: A drive small enough that writes soon meet garbage collection.
SMALL: dict[str, Setting] = {
    **TIMING_ONLY,
    "nand.geometry.blocks_per_plane": 64,
    "ftl.overprovisioning": 0.227,
    "ftl.gc.policy": "greedy",
    "ftl.gc.threshold_blocks": 4,
    "ftl.gc.hard_threshold_blocks": 3,
    "ftl.gc.urgent_threshold_blocks": 3,
}
CACHED: dict[str, Setting] = {
    **TIMING_ONLY,
    "ftl.mapping.kind": "cached",
    "ftl.mapping.cache_entries": 65_536,
    "cache.mode": "read_write",
}


def reads() -> None:
    """Reads through an ideal table, and through caches of mapping and data."""
    with bitline.open(set=TIMING_ONLY) as drive:
        drive.measure(Flow(requests=REQUESTS))
        drive.measure(Flow(requests=REQUESTS // 10, blocks=64, pattern="sequential", prefill=False))
    with bitline.open("mqsim-default", set=CACHED) as drive:
        drive.measure(Flow(requests=REQUESTS, range_blocks=1 << 18))
        drive.measure(Flow(requests=REQUESTS // 4, pattern=Zipf(0.99), read_fraction=0.7, prefill=False))


def writes() -> None:
    """Writes in steady state, with the data cache and without."""
    for mode in ("off", "write"):
        with bitline.open("mqsim-default", set={**SMALL, "cache.mode": mode}) as drive:
            drive.media.precondition("steady_state")
            drive.measure(Flow(read_fraction=0.0, blocks=2, range_blocks=0, requests=REQUESTS, prefill=False))
            flow = Flow(
                read_fraction=0.5,
                range_blocks=0,
                arrival=Open(100_000),
                pattern=HotCold(20, 80),
                requests=REQUESTS // 4,
                prefill=False,
            )
            drive.measure(flow, latencies=lambda _: None)


def files() -> None:
    """What file systems ask of a drive that is attached: blocks here and there, and long runs."""
    with bitline.open(set={"ftl.mapping_unit_bytes": 4096, "cache.mode": "write"}) as drive:
        flow = Flow(read_fraction=0.5, range_blocks=1 << 16, requests=REQUESTS, prefill=False)
        drive.measure(
            Flow(
                read_fraction=0.0,
                blocks=256,
                range_blocks=1 << 16,
                requests=REQUESTS // 256,
                pattern="sequential",
            )
        )
        drive.measure(flow)


def policies() -> None:
    """What can be switched on besides: an SLC cache, suspension, copyback, chips as units, checkpoints."""
    more: dict[str, Setting] = {
        "ftl.mode": "tlc",
        "nand.geometry.strings_per_block": 3,
        "ftl.slc_cache.blocks_per_plane": 4,
        "ftl.gc.copyback": True,
        "ftl.checkpoint.interval_pages": 20_000,
        "schedule.suspend.programs": True,
        "schedule.suspend.erases": True,
        "schedule.policy": "priority_classes",
    }
    for changed in (more, {"compatibility.interleave": "chip", "ftl.gc.policy": "cost_benefit"}):
        with bitline.open("mqsim-default", set={**SMALL, **changed}) as drive:
            drive.media.precondition("sequential", occupied=0.7)
            drive.measure(Flow(read_fraction=0.5, range_blocks=0, requests=REQUESTS // 8, prefill=False))


def traces() -> None:
    """A trace that is replayed."""
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.trace"
        lines = (
            f"{1000 * number} 0 {8 * random.randrange(100_000)} 8 {number % 2}\n"
            for number in range(REQUESTS // 4)
        )
        path.write_text("".join(lines))
        with bitline.open("mqsim-default", set=TIMING_ONLY) as drive:
            drive.measure(Replay(path))


def data() -> None:
    """Blocks that are stored, a power cut, an image, and vectors that are combined in every way."""
    block = np.arange(1 << 20, dtype=np.uint8).tobytes()
    with tempfile.TemporaryDirectory() as folder:
        with bitline.open(path=Path(folder) / "an.img") as drive:
            for place in range(0, 4096, 256):
                drive.write(place, block)
            drive.flush()
            drive.power_cut()
            drive.power_up()
            assert drive.read(256, 256) == block
        with bitline.open(path=Path(folder) / "an.img", create=False) as drive:
            assert drive.read(0, 256) == block
    with bitline.open() as drive:
        bits = np.random.default_rng(1).integers(0, 2, (16, 1 << 20), dtype=bool)
        vectors = drive.group("some").write(bits)
        # As large as those of `bitline bench`: the compiler lays loops out for the lengths that it is shown.
        many = drive.group("many").write([block * 4] * 48)
        every = many[0]
        for vector in many[1:]:
            every = every & vector
        for _ in range(4):
            every.count()
        for platform in bitline.PLATFORMS:
            both = (vectors[0] & vectors[1] & ~vectors[2]) | (vectors[3] ^ vectors[4])
            expected = (bits[0] & bits[1] & ~bits[2]) | (bits[3] ^ bits[4])
            assert both.count(platform=platform) == np.count_nonzero(expected)
            every = vectors[0]
            for vector in vectors[1:]:
                every = every & vector
            assert every.count(platform=platform) == np.count_nonzero(bits.all(axis=0))


def names() -> None:
    """Names that are appended, and looked up by the flash: what is there and what is not."""
    rows = 2 << 17
    records = np.random.default_rng(2).integers(0, 256, (rows, 12 + 128), dtype=np.uint8)
    asked = [records[7919 * number % rows, :12].tobytes() for number in range(REQUESTS // 4)]
    whole = b"\xff" * 12
    drives: tuple[tuple[dict[str, Setting], int], ...] = ((TIMING_ONLY, 1), ({}, 100))
    for settings, share in drives:
        with bitline.open("anvil-ssd-a", set=settings) as drive:
            stores = _bitline.Search(drive._native)
            stores.create("some", rows, 128, [(96, False)], b"")
            stores.append("some", records.tobytes(), rows)
            for name in asked[: len(asked) // share]:
                assert stores.count("some", [[(0, 96, name, whole)]]) == 1
                assert stores.count("some", [[(0, 96, name[::-1], whole)]]) == 0


WORK: tuple[Callable[[], None], ...] = (reads, writes, files, policies, traces, data, names)

if __name__ == "__main__":
    for part in WORK:
        part()
