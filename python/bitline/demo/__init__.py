"""The main job: TPC-H query 6's predicate over a bitmap index, checked against PyArrow.

`rows`, `bitmaps` and `query` know no drive; `race` runs them on one, `plot` draws what came out.
"""

from bitline.demo.bitmaps import ATTRIBUTES, Attribute
from bitline.demo.query import Answer, answer_of_rows, predicate, reference
from bitline.demo.race import BITMAPS, Entrant, Index, Race, race, write_index
from bitline.demo.rows import SCALES, LineItems, generate

__all__ = [
    "ATTRIBUTES",
    "BITMAPS",
    "SCALES",
    "Answer",
    "Attribute",
    "Entrant",
    "Index",
    "LineItems",
    "Race",
    "answer_of_rows",
    "generate",
    "predicate",
    "race",
    "reference",
    "write_index",
]
