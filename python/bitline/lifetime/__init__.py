"""How many results of in-flash computing are wrong as a drive wears and its data ages.

Small drives are made older, vectors programmed with more or less care, and ANDs of them compared with
NumPy's. What the drive cannot compute on, MLC, is calculated from its error rate. And how often
a workload can be repeated until a drive is worn out (`endurance`).
"""

from bitline.lifetime.endurance import Endurance, endurance
from bitline.lifetime.measure import CYCLES, EFFORTS, YEARS, Point, measure

__all__ = ["CYCLES", "EFFORTS", "YEARS", "Endurance", "Point", "endurance", "measure"]
