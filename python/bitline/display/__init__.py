"""How results are shown: as text that fits a terminal, as HTML in notebooks, as JSON, as Arrow tables.

`result` is what everything shown is made of: facts, trees and tables under the keys that they have in JSON.
`text` and `html` render it, `objects` is what reports, statistics and their like have in common.
"""

from bitline.display.formats import Value
from bitline.display.objects import Displayed
from bitline.display.result import Branch, Column, Fact, Result, Table, Tree

__all__ = ["Branch", "Column", "Displayed", "Fact", "Result", "Table", "Tree", "Value"]
