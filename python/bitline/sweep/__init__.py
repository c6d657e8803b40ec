"""Sweeps: many drives, one a point of a grid of configurations, workloads and seeds.

`Spec` says what is varied, `run` lives every point in a process of its own and leaves a folder that can be
resumed, `table` makes one Arrow table of what it holds.
"""

from bitline.sweep.cluster import Outcome, run
from bitline.sweep.point import Point, PointResult, live
from bitline.sweep.rows import table
from bitline.sweep.spec import Spec

__all__ = ["Outcome", "Point", "PointResult", "Spec", "live", "run", "table"]
