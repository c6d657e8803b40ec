"""A bitmap index over an Arrow table: which rows are red or green, and large, but not sold?

The same question on every platform, with what each needed; Arrow's own answer is the judge.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bitline

ROWS = 4_000_000

random = np.random.default_rng(1)
table = pa.table(
    {
        "colour": pa.DictionaryArray.from_arrays(
            random.integers(4, size=ROWS, dtype=np.int8), ["red", "green", "blue", "grey"]
        ),
        "size": random.integers(100, size=ROWS, dtype=np.int8),
        "sold": random.random(ROWS) < 0.7,
    }
)


def column(name: str) -> pa.Array:
    """A column in one piece."""
    return table[name].combine_chunks()


with bitline.open("flash-cosmos") as drive:
    # A bitmap a colour. Vectors of a group share strings; stored inverted, an OR of them is one sense.
    colours = column("colour").dictionary.to_pylist()
    codes = column("colour").indices.to_numpy()
    bitmaps = drive.group("colour").write([codes == code for code in range(len(colours))], inverse=True)
    by_colour = dict(zip(colours, bitmaps, strict=True))
    # Arrow packs bools as drives pack bits, so a column without nulls goes in as it is.
    sold = column("sold")
    (is_sold,) = drive.group("flags").write([sold.buffers()[1].to_pybytes()[: -(-ROWS // 8)]], bits=ROWS)
    (large,) = drive.group("flags").write([column("size").to_numpy() >= 50])

    wanted = (by_colour["red"] | by_colour["green"]) & large & ~is_sold
    print(wanted.explain())

    is_wanted = pc.and_(
        pc.and_(pc.is_in(table["colour"], pa.array(["red", "green"])), pc.greater_equal(table["size"], 50)),
        pc.invert(table["sold"]),
    )
    expected = pc.sum(is_wanted).as_py()
    print(f"{'':14}{'time':>10}{'senses':>8}{'channels':>12}{'PCIe':>10}{'energy':>10}")
    for platform in bitline.PLATFORMS:
        before = drive.statistics
        count = wanted.count(platform)
        spent = drive.statistics.since(before)
        assert count == expected
        print(
            f"{platform:14}{spent.elapsed!s:>10}{spent.flash.senses:>8}{spent.channel_bytes!s:>12}"
            f"{spent.link_up_bytes!s:>10}{spent.energy!s:>10}"
        )

    # The result is a mask over the table.
    mask = pa.array(wanted.read())
    assert mask.equals(is_wanted.combine_chunks())
    print(table.filter(mask).slice(0, 3).to_pylist())
    print(f"{expected:,} of {ROWS:,} rows")
