"""A bitmap index: which rows are red or green, and large, but not sold?

The same question on every platform, with what each needed.
"""

import numpy as np

import bitline

ROWS = 4_000_000
COLOURS = ("red", "green", "blue", "grey")

random = np.random.default_rng(1)
colour = random.integers(len(COLOURS), size=ROWS)
size = random.integers(100, size=ROWS)
sold = random.random(ROWS) < 0.7

with bitline.open("flash-cosmos") as drive:
    # Vectors of a group share strings of cells. Stored inverted, an OR of them is one sense.
    vectors = drive.group("colour").write([colour == i for i in range(len(COLOURS))], inverse=True)
    by_colour = dict(zip(COLOURS, vectors, strict=True))
    large, is_sold = drive.group("flags").write([size >= 50, sold])

    wanted = (by_colour["red"] | by_colour["green"]) & large & ~is_sold
    expected = (colour <= 1) & (size >= 50) & ~sold
    print(wanted.explain())

    print(f"{'':14}{'time':>10}{'senses':>8}{'channels':>12}{'PCIe':>10}{'energy':>10}")
    for platform in bitline.PLATFORMS:
        before = drive.statistics
        count = wanted.count(platform)
        spent = drive.statistics.since(before)
        assert count == expected.sum()
        print(
            f"{platform:14}{spent.elapsed!s:>10}{spent.flash.senses:>8}{spent.channel_bytes!s:>12}"
            f"{spent.link_up_bytes!s:>10}{spent.energy!s:>10}"
        )

    assert np.array_equal(wanted.read(), expected)
    print(f"{expected.sum():,} of {ROWS:,} rows")
