"""The main job: TPC-H query 6's predicate over a bitmap index, checked against PyArrow.

This package knows rows, bitmaps and the query; the drive it may run on is the caller's.
"""

from bitline.demo.bitmaps import ATTRIBUTES, Attribute
from bitline.demo.query import Answer, answer_of_rows, predicate, reference
from bitline.demo.rows import LineItems, generate

__all__ = [
    "ATTRIBUTES",
    "Answer",
    "Attribute",
    "LineItems",
    "answer_of_rows",
    "generate",
    "predicate",
    "reference",
]
