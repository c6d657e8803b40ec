"""TPC-H's line items as a table that the drive searches: what is found there, and what of it is sent?

The judge is PyArrow's filter on the same rows.
"""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bitline

#: More than the names of a row, 131,072, which is then programmed into the array.
ROWS = 200_000

random = np.random.default_rng(1)
days = random.integers(0, 2500, ROWS).astype("datetime64[D]") + (
    np.datetime64("1992-01-01") - np.datetime64(0, "D")
)
items = pa.table(
    {
        "orderkey": pa.array(np.arange(ROWS) // 4, pa.int32()),
        "quantity": pa.array(random.integers(1, 51, ROWS), pa.int32()),
        "price": pa.array(random.integers(90_000, 10_000_000, ROWS), pa.int64()),
        "returnflag": pa.array(np.array(["A", "N", "R"])[random.integers(0, 3, ROWS)]).dictionary_encode(),
        "shipdate": pa.array(days),
    }
)
#: No column has nulls, so that none needs a bit for that.
items = items.cast(pa.schema([field.with_nullable(False) for field in items.schema]))

plain = items.set_column(3, "returnflag", items["returnflag"].cast(pa.string()))

with bitline.open() as drive:
    lines = drive.search.table(
        "lineitem",
        items,
        indexes=["orderkey", ("returnflag", "quantity", "shipdate")],
        ranges={"quantity": (1, 50), "shipdate": (datetime.date(1992, 1, 1), datetime.date(1998, 12, 31))},
    )
    # Something else, while the drive programs names.
    drive.measure({"requests": 2000, "range_blocks": 4096, "arrival": {"kind": "closed", "depth": 1}})
    print(f"{lines}\n")

    for where, expected in (
        ("orderkey = 1234", pc.field("orderkey") == 1234),
        (
            "returnflag = 'R' and quantity < 3 and shipdate between date '1994-01-01' and date '1994-12-31'",
            (pc.field("returnflag") == "R")
            & (pc.field("quantity") < 3)
            & (pc.field("shipdate") >= datetime.date(1994, 1, 1))
            & (pc.field("shipdate") <= datetime.date(1994, 12, 31)),
        ),
        ("quantity = 50 and price > 9900000", (pc.field("quantity") == 50) & (pc.field("price") > 9_900_000)),
    ):
        before, sent = drive.statistics, drive.search.counters.bytes
        found = lines.where(where, columns=["orderkey", "price"])
        work, sent = drive.statistics.since(before), drive.search.counters.bytes - sent
        assert work.search.senses > 0
        assert found.equals(plain.filter(expected).select(["orderkey", "price"]).cast(found.schema))
        print(lines.explain(where, columns=["orderkey", "price"]))
        print(f"{found.num_rows} rows in {work.elapsed}: {work.search.senses} senses compared names,")
        print(f"{work.search.value_pages_read} pages of values were read, {sent:,} bytes were sent\n")
