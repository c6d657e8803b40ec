"""A whole computational SSD in software: real data, simulated time, computing inside the NAND array.

`open` gives a `Drive`: blocks are read and written, vectors of bits are combined inside the flash, and
`statistics` tells what that took in time, bytes and energy.
"""

from bitline import cells
from bitline._bitline import __version__
from bitline.advice import Advice, advise
from bitline.bits import PLATFORMS, BitExpression, BitVector, Group, Groups, Platform, nand, nor, xnor
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
from bitline.statistics import EnergyEntry, Statistics
from bitline.symbols import Formula
from bitline.units import Duration, Energy, Size
from bitline.volume import Volume, VolumeObject
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
    "Groups",
    "ImageError",
    "InternalError",
    "Latency",
    "MediaError",
    "NvmeError",
    "Platform",
    "Replay",
    "Report",
    "Size",
    "Statistics",
    "TraceReport",
    "UsageError",
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
