"""TPC-H query 6: ship date in 1994, discount 5 to 7 percent, quantity below 24.

The predicate is written over bitmaps; the reference answer comes from PyArrow on the rows themselves.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitline.demo.bitmaps import DISCOUNT, QUANTITY, SHIP_MONTH, Attribute
from bitline.demo.rows import FIRST_YEAR, LineItems

_YEAR = 1994
_MONTHS = range((_YEAR - FIRST_YEAR) * 12, (_YEAR - FIRST_YEAR + 1) * 12)
_DISCOUNTS = range(5, 8)
_QUANTITY_BELOW = 24


class Bits(Protocol):
    """What the predicate needs of a bitmap: a NumPy array of bools has it, a vector on a drive has it."""

    def __and__(self, other: Self, /) -> Self:
        """Bits that are set in both."""

    def __or__(self, other: Self, /) -> Self:
        """Bits that are set in either."""


B = TypeVar("B", bound=Bits)


@dataclass(frozen=True)
class Answer:
    """What query 6 asks for, exactly."""

    count: int
    """Selected rows."""
    revenue: Decimal
    """Sum of extended price times discount, in dollars, to four digits."""


def predicate(index: Mapping[str, Sequence[B]]) -> B:
    """Query 6's predicate over the bitmaps of each attribute, by name, in order of value."""
    months = _any(index, SHIP_MONTH, _MONTHS)
    discounts = _any(index, DISCOUNT, _DISCOUNTS)
    quantities = _any(index, QUANTITY, range(QUANTITY.values[0], _QUANTITY_BELOW))
    return months & discounts & quantities


def _any(index: Mapping[str, Sequence[B]], attribute: Attribute, values: Iterable[int]) -> B:
    bitmaps = index[attribute.name]
    return reduce(or_, (bitmaps[value - attribute.values[0]] for value in values))


def answer_of_rows(rows: LineItems, selected: NDArray[np.bool_]) -> Answer:
    """The answer, computed in integers over the rows that a bitmap selects (one bool a row)."""
    prices = rows.extended_price[selected]
    discounts = rows.discount[selected].astype(np.int64)
    # Cents times percent are ten-thousandths of a dollar. 60 million rows at the highest price and
    # discount sum to 6.3e15, well within 64 bits.
    revenue = int(np.dot(prices, discounts))
    return Answer(len(prices), Decimal(revenue).scaleb(-4))


def reference(table: pa.Table) -> Answer:
    """The answer as PyArrow computes it from the rows (see `LineItems.table`), in decimals."""
    date = table["l_shipdate"]
    discount = table["l_discount"]
    selected = [
        pc.greater_equal(date, datetime.date(_YEAR, 1, 1)),
        pc.less(date, datetime.date(_YEAR + 1, 1, 1)),
        pc.greater_equal(discount, Decimal("0.05")),
        pc.less_equal(discount, Decimal("0.07")),
        pc.less(table["l_quantity"], Decimal(_QUANTITY_BELOW)),
    ]
    rows = table.filter(reduce(pc.and_, selected))
    revenue = pc.sum(pc.multiply(rows["l_extendedprice"], rows["l_discount"])).as_py()
    return Answer(rows.num_rows, Decimal(0) if revenue is None else revenue)
