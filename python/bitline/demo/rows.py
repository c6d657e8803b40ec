"""TPC-H `lineitem` rows: the four columns that query 6 names."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitline._bitline import generate_line_items

#: Ship dates start in January of this year (TPC-H 4.2.3).
FIRST_YEAR = 1992

#: The least and the greatest scale factor that `generate` accepts.
SCALES = (0.0001, 10)


@dataclass(frozen=True)
class LineItems:
    """Columns of `lineitem`, one entry a row, as exact integers."""

    ship_date: NDArray[np.datetime64]
    """Days."""
    quantity: NDArray[np.uint8]
    """Pieces, 1 to 50."""
    discount: NDArray[np.uint8]
    """Percent, 0 to 10."""
    extended_price: NDArray[np.int64]
    """Cents."""

    def __len__(self) -> int:
        return len(self.quantity)

    @property
    def ship_month(self) -> NDArray[np.int64]:
        """Months since January 1992, 0 to 83."""
        months: NDArray[np.int64] = self.ship_date.astype("datetime64[M]").astype(np.int64)
        return months - (FIRST_YEAR - 1970) * 12

    def table(self) -> pa.Table:
        """The same rows as an Arrow table with TPC-H's own names and decimal types."""
        return pa.table(
            {
                "l_shipdate": pa.array(self.ship_date, pa.date32()),
                "l_quantity": _decimal(self.quantity.astype(np.int64) * 100),
                "l_discount": _decimal(self.discount.astype(np.int64)),
                "l_extendedprice": _decimal(self.extended_price),
            }
        )


def generate(scale: float, progress: Callable[[int], object] | None = None) -> LineItems:
    """Generate the benchmark's rows; the same scale always gives the same rows.

    Args:
        scale: The scale factor, 0.0001 to 10; 0.1 gives 600,572 rows.
        progress: Called with the number of rows so far.

    Returns:
        The rows, in the benchmark's order.

    Raises:
        ValueError: The scale is out of range.
    """
    ship_date, quantity, discount, extended_price = generate_line_items(scale, progress)
    return LineItems(
        ship_date=np.frombuffer(ship_date, "<i4").astype("datetime64[D]"),
        quantity=np.frombuffer(quantity, np.uint8),
        discount=np.frombuffer(discount, np.uint8),
        extended_price=np.frombuffer(extended_price, "<i8"),
    )


def _decimal(hundredths: NDArray[np.int64]) -> pa.Array:
    """Non-negative integers of 1/100 as decimals with two digits, without going through a float."""
    words = np.zeros((len(hundredths), 2), "<i8")
    words[:, 0] = hundredths
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(hundredths), [None, pa.py_buffer(words)])
