"""The bitmap index: for every value of an attribute, one bit a row that says whether the row has it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitline.demo.rows import LineItems


@dataclass(frozen=True)
class Attribute:
    """An indexed attribute of a row, with a fixed range of integer values."""

    name: str
    values: range
    column: Callable[[LineItems], NDArray[np.integer]]

    def bitmaps(self, rows: LineItems) -> Iterator[NDArray[np.bool_]]:
        """One equality bitmap for each value, in order, each as long as there are rows.

        Raises:
            ValueError: A row has a value outside the range, so that no bitmap would hold it.
        """
        column = self.column(rows)
        if len(column) and not (self.values[0] <= column.min() and column.max() <= self.values[-1]):
            raise ValueError(
                f"{self.name} runs from {column.min()} to {column.max()}, "
                f"the index from {self.values[0]} to {self.values[-1]}"
            )
        for value in self.values:
            yield column == value


SHIP_MONTH = Attribute("ship_month", range(84), lambda rows: rows.ship_month)
DISCOUNT = Attribute("discount", range(11), lambda rows: rows.discount)
QUANTITY = Attribute("quantity", range(1, 51), lambda rows: rows.quantity)

#: Everything that is indexed: 84 ship months from January 1992, 11 discounts in percent, 50 quantities.
ATTRIBUTES = (SHIP_MONTH, DISCOUNT, QUANTITY)
