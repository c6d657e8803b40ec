"""Questions to a table whose columns are bits on a drive: how many, which, and how much?

PyArrow's own answers are the judge.
"""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bitline

ROWS = 500_000

random = np.random.default_rng(1)
days = np.datetime64("2024-01-01") + random.integers(731, size=ROWS)
table = pa.table(
    {
        "day": pa.array(days, pa.date32()),
        "colour": np.asarray(["red", "green", "blue", "grey"])[random.integers(4, size=ROWS)],
        "size": pa.array(random.integers(100, size=ROWS, dtype=np.int8), mask=random.random(ROWS) < 0.02),
        "cents": random.integers(100_000, size=ROWS),
    }
)

with bitline.open("flash-cosmos") as drive:
    index = drive.bitmap_index(table, name="orders")
    for column in index.values():
        print(f"{column.name:8}{column.type!s:10}{len(column.vectors):>4} vectors, {column.encoding}")

    summer = index["day"].between(datetime.date(2024, 6, 1), datetime.date(2024, 8, 31))
    wanted = summer & (index["colour"] != "grey") & ~(index["size"] >= 90)
    print(wanted)

    expected = pc.and_(
        pc.and_(
            pc.and_(
                pc.greater_equal(table["day"], datetime.date(2024, 6, 1)),
                pc.less_equal(table["day"], datetime.date(2024, 8, 31)),
            ),
            pc.not_equal(table["colour"], "grey"),
        ),
        # A null is not below 90, and what is not known to be at least 90 is not below it either.
        pc.less(table["size"], 90),
    )
    rows = table.filter(expected)
    for platform in bitline.PLATFORMS:
        before = drive.statistics
        assert wanted.count(platform) == rows.num_rows
        spent = drive.statistics.since(before)
        print(f"{platform:14}{spent.elapsed!s:>10}{spent.flash.senses:>6} senses{spent.energy!s:>12}")

    assert index["cents"].sum(where=wanted) == pc.sum(rows["cents"]).as_py()
    assert index["size"].max(where=wanted) == pc.max(rows["size"]).as_py()
    assert wanted.take(table).equals(rows)
    print(f"{rows.num_rows:,} of {ROWS:,} rows, {index['cents'].sum(where=wanted) / 100:,.2f} in all")
