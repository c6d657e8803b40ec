"""A whole computational SSD in software: real data, simulated time, computing inside the NAND array.

`open` gives a `Drive`: blocks are read and written, vectors of bits are combined inside the flash, and
`statistics` tells what that took in time, bytes and energy.
"""

from bitline import cells
from bitline._bitline import __version__
from bitline.advice import Advice, advise
from bitline.bits import PLATFORMS, BitExpression, BitVector, Group, Platform, nand, nor, xnor
from bitline.drive import Drive, open, presets  # noqa: A004 (bitline.open, as gzip.open)
from bitline.errors import (
    BitlineError,
    ConfigError,
    DisagreementError,
    ImageError,
    InternalError,
    MediaError,
    NvmeError,
    UsageError,
    WrongResultError,
)
from bitline.statistics import EnergyEntry, Served, Statistics, TenantEntry
from bitline.symbols import Formula
from bitline.units import Duration, Energy, Size
from bitline.workload import Flow, FlowReport, Latency, Replay, Report, TraceReport

__all__ = [
    "PLATFORMS",
    "Advice",
    "BitExpression",
    "BitVector",
    "BitlineError",
    "ConfigError",
    "DisagreementError",
    "Drive",
    "Duration",
    "Energy",
    "EnergyEntry",
    "Flow",
    "FlowReport",
    "Formula",
    "Group",
    "ImageError",
    "InternalError",
    "Latency",
    "MediaError",
    "NvmeError",
    "Platform",
    "Replay",
    "Report",
    "Served",
    "Size",
    "Statistics",
    "TenantEntry",
    "TraceReport",
    "UsageError",
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
