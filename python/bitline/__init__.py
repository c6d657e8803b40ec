"""A whole computational SSD in software: real data, simulated time, computing inside the NAND array.

`open` gives a `Drive`: blocks are read and written, vectors of bits are combined inside the flash,
workloads are measured, and `statistics` tells what that took in time, bytes and energy. `drive.admin`,
`drive.media` and `drive.tracing` are what it says of itself, what its media holds, and what its parts do.
"""

from bitline import cells
from bitline._bitline import __version__
from bitline.admin import Admin, Health, Identity
from bitline.advice import Advice, advise
from bitline.bits import BitExpression, BitVector, nand, nor, xnor
from bitline.drive import Drive
from bitline.errors import (
    BitlineError,
    ConfigError,
    DisagreementError,
    ImageError,
    InternalError,
    MediaError,
    NotFoundError,
    NvmeError,
    UsageError,
    WrongResultError,
)
from bitline.explanation import (
    CombinedPart,
    ConstantPart,
    Estimate,
    EstimatedEnergy,
    Explanation,
    PagePart,
    PlanPart,
    Step,
    VectorPart,
)
from bitline.groups import Group, Groups
from bitline.media import DriveAge, Inventory, Media, Preconditioned, VectorSpace
from bitline.opening import open, presets  # noqa: A004 (bitline.open, as gzip.open)
from bitline.pending import Pending
from bitline.platforms import PLATFORMS, Platform
from bitline.statistics import EnergyEntry, Served, Statistics, TenantEntry
from bitline.symbols import Formula
from bitline.timeline import Timeline
from bitline.tracing import Tracing
from bitline.units import Duration, Energy, Size
from bitline.volume import StoredObject, Volume, VolumeObject
from bitline.workload import Flow, FlowReport, Latency, Queries, QueriesReport, Replay, Report, TraceReport

__all__ = [
    "PLATFORMS",
    "Admin",
    "Advice",
    "BitExpression",
    "BitVector",
    "BitlineError",
    "CombinedPart",
    "ConfigError",
    "ConstantPart",
    "DisagreementError",
    "Drive",
    "DriveAge",
    "Duration",
    "Energy",
    "EnergyEntry",
    "Estimate",
    "EstimatedEnergy",
    "Explanation",
    "Flow",
    "FlowReport",
    "Formula",
    "Group",
    "Groups",
    "Health",
    "Identity",
    "ImageError",
    "InternalError",
    "Inventory",
    "Latency",
    "Media",
    "MediaError",
    "NotFoundError",
    "NvmeError",
    "PagePart",
    "Pending",
    "PlanPart",
    "Platform",
    "Preconditioned",
    "Queries",
    "QueriesReport",
    "Replay",
    "Report",
    "Served",
    "Size",
    "Statistics",
    "Step",
    "StoredObject",
    "TenantEntry",
    "Timeline",
    "TraceReport",
    "Tracing",
    "UsageError",
    "VectorPart",
    "VectorSpace",
    "Volume",
    "VolumeObject",
    "WrongResultError",
    "__version__",
    "advise",
    "cells",
    "nand",
    "nor",
    "open",
    "presets",
    "xnor",
]
