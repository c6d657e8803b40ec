"""Columns as vectors of bits, against what PyArrow says of the same table."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import ROOMY
from numpy.random import Generator

import bitline
from bitline import Drive
from bitline.columns import BitmapIndex, Column, Predicate

SEEDS = range(24)
PREDICATES = 12

#: Predicates beside Arrow's own answer: true, false or null of every row.
Asked = tuple[Predicate, pa.Array]


@pytest.fixture
def roomy() -> Iterator[Drive]:
    with bitline.open(set=ROOMY) as drive:
        yield drive


# Random tables, of every type


def _integers(kind: pa.DataType, random: Generator, rows: int) -> list[Any]:
    width = kind.bit_width
    least, largest = (
        (-(1 << width - 1), (1 << width - 1) - 1)
        if pa.types.is_signed_integer(kind)
        else (0, (1 << width) - 1)
    )
    # All of the range, few values far apart, or some in a row.
    span = [largest - least, 5, 300][random.integers(3)]
    begin = (
        least
        if span == largest - least
        else least + int(random.integers(1 << 60)) % max(largest - least - span, 1)
    )
    step = 1 if random.random() < 0.7 else max((largest - begin) // 8, 1)
    values = [
        begin + step * (int(random.integers(1 << 62)) % (span + 1) if span > 8 else int(random.integers(6)))
        for _ in range(rows)
    ]
    return [min(max(value, least), largest) for value in values]


def _texts(random: Generator, rows: int) -> list[str]:
    words = ["", "a", "ab", "b", "z", "Ä", "zebra", "\U0001f600"][: int(random.integers(1, 9))]
    if random.random() < 0.2:
        words = [f"word {number}" for number in range(90)]
    return [words[at] for at in random.integers(len(words), size=rows)]


def _column(kind: pa.DataType, random: Generator, rows: int) -> pa.Array:
    types = pa.types
    if types.is_boolean(kind):
        values: list[Any] = (random.random(rows) < 0.3).tolist()
    elif types.is_integer(kind):
        values = _integers(kind, random, rows)
    elif types.is_decimal(kind):
        values = [Decimal(int(at)).scaleb(-kind.scale) for at in random.integers(-2000, 3000, rows)]
    elif types.is_string(kind) or types.is_binary(kind):
        values = _texts(random, rows)
        values = values if types.is_string(kind) else [value.encode() for value in values]
    elif types.is_dictionary(kind):
        words = pa.array(["red", None, "green", "blue", "red", "unused"])
        indices = pa.array(random.integers(5, size=rows), pa.int8())
        return pa.DictionaryArray.from_arrays(indices, words)
    else:
        numbers = random.integers(0, [4, 1000, 80_000][random.integers(3)], rows)
        if types.is_date64(kind):
            numbers *= 86_400_000
        if not types.is_time(kind):
            numbers -= 300 * (86_400_000 if types.is_date64(kind) else 1)
        if getattr(kind, "unit", None) == "ns":
            # Python's own times, which the oracle gives, have no nanoseconds.
            numbers *= 1000
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(numbers.astype(storage.to_pandas_dtype())).view(kind)
    return pa.array(values, kind)


TYPES = [
    pa.bool_(),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ns")),
    *(pa.time32("ms"), pa.time64("us"), pa.duration("ms"), pa.decimal128(15, 2), pa.decimal128(38, 0)),
    *(pa.string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())),
]


def _with_nulls(column: pa.Array, random: Generator) -> pa.Array:
    share = [0, 0, 0.2, 0.9, 1][random.integers(5)]
    return pc.if_else(pa.array(random.random(len(column)) < share), pa.scalar(None, column.type), column)


def _table(random: Generator) -> pa.Table:
    rows = int(random.integers(1, 6000))
    kinds = [TYPES[at] for at in random.choice(len(TYPES), 5, replace=False)]
    columns = [_with_nulls(_column(kind, random, rows), random) for kind in kinds]
    table = pa.table(
        {f"{number} {kind}": column for number, (kind, column) in enumerate(zip(kinds, columns, strict=True))}
    )
    # In pieces, as tables are that come from several files.
    cut = int(random.integers(rows + 1))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _constant(column: pa.ChunkedArray, random: Generator) -> pa.Scalar:
    """A value of the column, or, of a type that lets us, one beside it."""
    present = _plain(column).drop_null()
    if len(present) == 0:
        present = _plain(pa.chunked_array([_column(column.type, random, 9)])).drop_null()
    value = present[int(random.integers(len(present)))]
    if pa.types.is_integer(value.type) and random.random() < 0.3:
        beside = value.as_py() + int(random.integers(-2, 3))
        try:
            return pa.scalar(beside, value.type)
        except (OverflowError, pa.ArrowInvalid):
            return value
    return value


COMPARISONS: list[tuple[Callable[[Column, pa.Scalar], Predicate], Callable[..., pa.Array]]] = [
    (lambda column, value: column == value, pc.equal),
    (lambda column, value: column != value, pc.not_equal),
    (lambda column, value: column < value, pc.less),
    (lambda column, value: column <= value, pc.less_equal),
    (lambda column, value: column > value, pc.greater),
    (lambda column, value: column >= value, pc.greater_equal),
]


def _leaf(index: BitmapIndex, table: pa.Table, random: Generator) -> Asked:
    name = table.column_names[random.integers(table.num_columns)]
    column, values = index[name], _plain(table[name])
    constants = [_constant(table[name], random) for _ in range(int(random.integers(1, 6)))]
    kind = int(random.integers(len(COMPARISONS) + 3))
    if kind < len(COMPARISONS):
        ours, arrows = COMPARISONS[kind]
        return ours(column, constants[0]), arrows(values, constants[0])
    if kind == len(COMPARISONS):
        low, high = constants[0], constants[-1]
        inside = pc.and_kleene(pc.greater_equal(values, low), pc.less_equal(values, high))
        return column.between(low, high), inside
    if kind == len(COMPARISONS) + 1:
        found = [pc.equal(values, constant) for constant in constants]
        either = found[0]
        for other in found[1:]:
            either = pc.or_kleene(either, other)
        return column.isin(constants), either
    return column.is_null(), pc.is_null(values)


def _predicate(index: BitmapIndex, table: pa.Table, random: Generator, depth: int = 0) -> Asked:
    kind = random.random()
    if depth == 4 or kind < 0.4:
        return _leaf(index, table, random)
    left, expected = _predicate(index, table, random, depth + 1)
    if kind < 0.55:
        return ~left, pc.invert(expected)
    right, other = _predicate(index, table, random, depth + 1)
    if kind < 0.8:
        return left & right, pc.and_kleene(expected, other)
    return left | right, pc.or_kleene(expected, other)


def _true(expected: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(pc.fill_null(expected, False))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_predicates_find_what_arrow_finds(roomy: Drive, seed: int) -> None:
    random = np.random.default_rng(seed)
    table = _table(random)
    encoding = {
        name: random.choice(["bitmap", "planes"]) for name in table.column_names if random.random() < 0.3
    }
    few = {
        name: kind for name, kind in encoding.items() if kind == "planes" or len(table[name].unique()) < 100
    }
    index = roomy.bitmap_index(table, encoding=few)
    for number in range(PREDICATES):
        predicate, expected = _predicate(index, table, random)
        true = _true(expected)
        platform = bitline.PLATFORMS[number % 4]
        assert predicate.count(platform) == true.sum(), predicate
        assert np.array_equal(predicate.read(platform), true), predicate
        mask = predicate.mask(platform)
        assert mask.equals(pa.array(true)), predicate
        _same_aggregates(index, table, predicate, pa.array(true), platform, random)


def _same_aggregates(
    index: BitmapIndex,
    table: pa.Table,
    predicate: Predicate,
    mask: pa.Array,
    platform: bitline.Platform,
    random: Generator,
) -> None:
    name = table.column_names[random.integers(table.num_columns)]
    column, values = index[name], _plain(table[name]).filter(mask)
    assert column.count(predicate, platform) == len(values) - values.null_count
    present = sorted(values.drop_null().to_pylist())
    assert column.min(predicate, platform) == (present[0] if present else None)
    assert column.max(predicate, platform) == (present[-1] if present else None)
    if (
        pa.types.is_boolean(column.type)
        or pa.types.is_integer(column.type)
        or pa.types.is_decimal(column.type)
    ):
        assert column.sum(predicate, platform) == (sum(present) if present else None)
    if pa.types.is_integer(column.type):
        expected = sum(present) / len(present) if present else None
        assert column.mean(predicate, platform) == expected


def test_a_drive_without_data_has_no_index() -> None:
    refused = pytest.raises(bitline.UsageError, match=r"data.storage = none: .* keeps only time")
    with bitline.open(data="none", set=ROOMY) as drive, refused:
        drive.bitmap_index(pa.table({"a": [1, 2]}))


def test_a_column_of_bools_is_a_predicate(roomy: Drive) -> None:
    vip, age = [True, False, None, True, False], [1, 2, 3, 4, 5]
    index = roomy.bitmap_index(pa.table({"vip": vip, "other": [True] * 3 + [False] * 2, "age": age}))
    for predicate, rows in [
        (~index["vip"], [1, 4]),
        (~~index["vip"], [0, 3]),
        (index["vip"] & (index["age"] > 1), [3]),
        ((index["age"] > 1) & index["vip"], [3]),
        (index["vip"] | index["other"], [0, 1, 2, 3]),
        (index["vip"] & ~index["other"], [3]),
        (index["vip"].predicate, [0, 3]),
    ]:
        assert np.flatnonzero(predicate.read()).tolist() == rows, predicate
    for wrong in (lambda: ~index["age"], lambda: index["vip"] & index["age"], lambda: index["vip"] & 1):
        with pytest.raises(TypeError, match=r"is no predicate|is combined with another"):
            wrong()
