"""The host's twin of csv_filter.c: the same query by PyArrow."""

import io
import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

Files = dict[str, tuple[bytes, str]]

#: Digits after the point of the columns that are filtered and added up.
_DIGITS = 2

#: Of the file: group, filter, value.
_NAMES = ("item", "city", "quantity", "price")
_GROUP, _FILTER, _VALUE = 1, 2, 3


def case(size: int, seed: int) -> tuple[Files, bytes]:
    """Sales of about so many bytes, some names in quotes: files and arguments."""
    random = np.random.default_rng(seed)
    cities = ["Oslo", '"Paris, France"', '"The ""Big Apple"""', "Kraków", "Lagos", '"two\nlines"']
    rows = size // 32 + 2
    chosen = random.integers(0, len(cities), rows)
    quantities, prices = random.integers(-500, 5000, rows), random.integers(-99_999, 9_999_999, rows)
    lines = [",".join(_NAMES)]
    lines += [
        f"{number},{cities[city]},{quantity / 100:.2f},{price / 100:.1f}"
        for number, (city, quantity, price) in enumerate(zip(chosen, quantities, prices, strict=True))
    ]
    data = "\r\n".join(lines).encode()
    return {"sales": (data, "r")}, struct.pack("<4i2qi", 0, _GROUP, _FILTER, _VALUE, 1000, 3000, _DIGITS)


def twin(files: Files, arguments: bytes) -> tuple[bytes, dict[str, bytes]]:
    """What the task should return, and leave in the files that it writes: none here."""
    file, group, by, value, low, high, digits = struct.unpack("<4i2qi", arguments)
    decimal = pa.decimal128(18, digits)
    data = list(files.values())[file][0]
    table = csv.read_csv(
        io.BytesIO(data),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types={_NAMES[by]: decimal, _NAMES[value]: decimal}),
    )
    group_column, by_column, value_column = (table[number] for number in (group, by, value))
    plain = pa.table({"group": group_column, "by": _units(by_column), "value": _units(value_column)})
    plain = plain.filter((pc.field("by") >= low) & (pc.field("by") <= high))
    wanted = [("value", "count"), ("value", "sum"), ("value", "min"), ("value", "max")]
    result = plain.group_by("group", use_threads=False).aggregate(wanted)
    result = result.rename_columns(["group", "count", "sum", "min", "max"])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    return sink.getvalue(), {}


def same(returned: bytes, expected: bytes) -> bool:
    """Whether two streams hold the same table; their bytes may differ."""
    ours, theirs = (pa.ipc.open_stream(stream).read_all() for stream in (returned, expected))
    ours.validate(full=True)
    return ours.cast(theirs.schema).equals(theirs)


def _units(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals as whole numbers, in units of their last digit."""
    units = [int(number.as_py().scaleb(column.type.scale)) for number in column]
    return pa.chunked_array([pa.array(units, pa.int64())])
