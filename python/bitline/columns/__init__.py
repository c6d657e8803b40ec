"""Columns of Arrow tables as bit vectors on a drive: predicates, counts and sums that its flash evaluates.

`kinds`, `ranges`, `domain` and `encode` know no drive: values become codes, comparisons ranges of codes.
`bitmaps` and `planes` are the two ways to keep codes as bits, `predicate` and `column` what is asked,
`stored` what is on the drive.
"""

from bitline.columns.column import Column
from bitline.columns.index import BitmapIndex
from bitline.columns.predicate import Predicate

__all__ = ["BitmapIndex", "Column", "Predicate"]
