"""What names may be, as boxes: of some columns the codes, of the others anything.

A cover is an OR of boxes and has the names of all rows that are meant; it is *exact* if it has no others. A
null has code 0 and values come behind it, so that it is one more value.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from bitline.columns.ranges import Ranges, union
from bitline.search.ternary import intersection

#: Codes by column.
Box: TypeAlias = Mapping[str, Ranges]

#: Boxes of a cover, at most: what has more is told in fewer that have more names.
BOXES_MAX = 256


class Cover(NamedTuple):
    """Names that are in any of some boxes."""

    boxes: tuple[Box, ...]
    exact: bool
    """Whether these are the names of no other rows."""


EVERYTHING = Cover(({},), True)
NOTHING = Cover((), True)
#: Where names do not tell.
UNKNOWN = Cover(({},), False)


def both(one: Cover, other: Cover) -> Cover:
    """The names that are in both."""
    if len(one.boxes) * len(other.boxes) > BOXES_MAX:
        one, other = (
            Cover((_hull(cover.boxes),), False) if len(cover.boxes) > 1 else cover for cover in (one, other)
        )
    met = (_met(left, right) for left in one.boxes for right in other.boxes)
    boxes = tuple(box for box in met if box is not None)
    return Cover(boxes, not boxes or (one.exact and other.exact))


def either(*covers: Cover) -> Cover:
    """The names that are in any of some, all at once: joined one by one, many take the square of the time."""
    boxes = _joined([box for cover in covers for box in cover.boxes])
    exact = all(cover.exact for cover in covers)
    if {} in boxes:
        return Cover(({},), exact)
    if len(boxes) > BOXES_MAX:
        return Cover((_hull(boxes),), False)
    return Cover(tuple(boxes), exact)


def hull(cover: Cover) -> Cover:
    """One box that has all of them."""
    return cover if len(cover.boxes) < 2 else Cover((_hull(cover.boxes),), False)


def _met(one: Box, other: Box) -> Box | None:
    box = dict(one)
    for column, codes in other.items():
        box[column] = intersection(box[column], codes) if column in box else codes
        if not box[column]:
            return None
    return box


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """The boxes, those of the same single column as one."""
    found, singles = dict[frozenset[tuple[str, Ranges]], Box](), dict[str, list[tuple[int, int]]]()
    for box in boxes:
        if len(box) == 1:
            [(column, codes)] = box.items()
            singles.setdefault(column, []).extend(codes)
        else:
            found.setdefault(frozenset(box.items()), box)
    return [*({column: union(codes)} for column, codes in singles.items()), *found.values()]


def _hull(boxes: Sequence[Box]) -> Box:
    """Of the columns that all boxes tell something of, the codes of any."""
    shared = [column for column in boxes[0] if all(column in box for box in boxes)]
    return {column: union(each for box in boxes for each in box[column]) for column in shared}
