"""A whole computational SSD in software: real data, simulated time, computing inside the NAND array.

`open` gives a `Drive`: blocks are read and written, vectors of bits are combined inside the flash,
workloads are measured, and `statistics` tells what that took in time, bytes and energy. `drive.admin`,
`drive.media` and `drive.tracing` are what it says of itself, what its media holds, and what its parts do.
"""

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitline import cells
    from bitline._bitline import __version__
    from bitline.admin import Admin, Health, Identity
    from bitline.advice import Advice, advise
    from bitline.bits import BitExpression, BitVector, nand, nor, xnor
    from bitline.collectors import Collected, Collector, Collectors, Wire
    from bitline.drive import Drive
    from bitline.errors import (
        BitlineError,
        BusyError,
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
    from bitline.memory import Memory
    from bitline.mounting import Mounted, mounted
    from bitline.opening import connect, open, presets  # noqa: A004 (bitline.open, as gzip.open)
    from bitline.pending import Pending
    from bitline.placed import MountedFile
    from bitline.platforms import PLATFORMS, Platform
    from bitline.report import (
        FlowReport,
        Interval,
        Latency,
        QueriesReport,
        Report,
        ReportWarning,
        Series,
        TraceReport,
        WorkloadInterval,
    )
    from bitline.statistics import EnergyEntry, Served, Statistics, TenantEntry
    from bitline.streams import Stream, StreamError, Streams
    from bitline.symbols import Formula
    from bitline.tasks import Program, TaskLimits, TaskResult, Tasks
    from bitline.timeline import Timeline
    from bitline.tracing import Tracing
    from bitline.units import Duration, Energy, Size
    from bitline.volume import StoredObject, Volume, VolumeObject
    from bitline.workload import Flow, Queries, Replay

#: What is here, by the module that it comes from. Modules are loaded when something of theirs is asked for:
#: NumPy and the simulator take longer to import than `bitline --help` takes to print.
_HOMES = {
    "_bitline": "__version__",
    "admin": "Admin Health Identity",
    "advice": "Advice advise",
    "bits": "BitExpression BitVector nand nor xnor",
    "collectors": "Collected Collector Collectors Wire",
    "drive": "Drive",
    "errors": "BitlineError BusyError ConfigError DisagreementError ImageError InternalError MediaError "
    "NotFoundError NvmeError UsageError WrongResultError",
    "explanation": "CombinedPart ConstantPart Estimate EstimatedEnergy Explanation PagePart PlanPart Step "
    "VectorPart",
    "groups": "Group Groups",
    "media": "DriveAge Inventory Media Preconditioned VectorSpace",
    "memory": "Memory",
    "mounting": "Mounted mounted",
    "opening": "connect open presets",
    "pending": "Pending",
    "placed": "MountedFile",
    "platforms": "PLATFORMS Platform",
    "report": "FlowReport Interval Latency QueriesReport Report ReportWarning Series TraceReport "
    "WorkloadInterval",
    "statistics": "EnergyEntry Served Statistics TenantEntry",
    "symbols": "Formula",
    "streams": "Stream StreamError Streams",
    "tasks": "Program TaskLimits TaskResult Tasks",
    "timeline": "Timeline",
    "tracing": "Tracing",
    "units": "Duration Energy Size",
    "volume": "StoredObject Volume VolumeObject",
    "workload": "Flow Queries Replay",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "PLATFORMS",
    "Admin",
    "Advice",
    "BitExpression",
    "BitVector",
    "BitlineError",
    "BusyError",
    "Collected",
    "Collector",
    "Collectors",
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
    "Interval",
    "Inventory",
    "Latency",
    "Media",
    "MediaError",
    "Memory",
    "Mounted",
    "MountedFile",
    "NotFoundError",
    "NvmeError",
    "PagePart",
    "Pending",
    "PlanPart",
    "Platform",
    "Preconditioned",
    "Program",
    "Queries",
    "QueriesReport",
    "Replay",
    "Report",
    "ReportWarning",
    "Series",
    "Served",
    "Size",
    "Statistics",
    "Step",
    "StoredObject",
    "Stream",
    "StreamError",
    "Streams",
    "TaskLimits",
    "TaskResult",
    "Tasks",
    "TenantEntry",
    "Timeline",
    "TraceReport",
    "Tracing",
    "UsageError",
    "VectorPart",
    "VectorSpace",
    "Volume",
    "VolumeObject",
    "Wire",
    "WorkloadInterval",
    "WrongResultError",
    "__version__",
    "advise",
    "cells",
    "connect",
    "mounted",
    "nand",
    "nor",
    "open",
    "presets",
    "xnor",
]


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        found = getattr(importlib.import_module(f"bitline.{_HOME_OF[name]}"), name)
    elif not name.startswith("_") and importlib.util.find_spec(f"bitline.{name}") is not None:
        found = importlib.import_module(f"bitline.{name}")
    else:
        raise AttributeError(f"module 'bitline' has no attribute {name!r}")
    globals()[name] = found  # the next time it is at hand
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
