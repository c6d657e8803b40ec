"""Names and values that the drive searches for itself: `drive.search` makes, opens and lists them."""

from bitline.search.graph import Graph
from bitline.search.key_value import KeyValue
from bitline.search.searches import Searches
from bitline.search.store import Counters
from bitline.search.table import Table

__all__ = ["Counters", "Graph", "KeyValue", "Searches", "Table"]
