"""Workloads, and what they measured. Mirrors `bitline::workload` of the Rust crate.

```python
import bitline
from bitline.workload import Flow, Open, Zipf

flow = Flow(read_fraction=0.7, pattern=Zipf(0.99), arrival=Open(50_000), requests=5_000)
with bitline.open(set={"data.storage": "none"}) as drive:
    print(drive.measure(flow).flows[0].read)
```
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitline import _bitline, workload_hints
from bitline.errors import UsageError
from bitline.expression_tree import tree
from bitline.platforms import Platform
from bitline.units import quoted

TraceFormat: TypeAlias = Literal["mqsim", "msr", "alibaba", "blkparse", "fio", "cloudphysics"]

#: Requests that completed, in columns of equal length: `arrival_ns` and `latency_ns` (float64), `kind`
#: (uint8, a place in `REQUEST_KINDS`), `lba` (uint64), `blocks` (uint32), `bytes` (uint64), `flow` (uint32,
#: its place in the run), `namespace` (uint32) and `status` (uint16, the NVMe status field; zero is success).
LatencyChunk: TypeAlias = dict[str, NDArray[Any]]

#: What the requests of flows and traces are; their report has a field for each.
FLOW_KINDS = ("read", "write", "deallocate", "flush")
#: What the numbers in the column `kind` stand for.
REQUEST_KINDS = (*FLOW_KINDS, "query")

#: The columns of a `LatencyChunk` and their types.
LATENCY_COLUMNS: Mapping[str, np.dtype[Any]] = {
    "arrival_ns": np.dtype("<f8"),
    "latency_ns": np.dtype("<f8"),
    "kind": np.dtype("u1"),
    "lba": np.dtype("<u8"),
    "blocks": np.dtype("<u4"),
    "bytes": np.dtype("<u8"),
    "flow": np.dtype("<u4"),
    "namespace": np.dtype("<u4"),
    "status": np.dtype("<u2"),
}


def _chunk(columns: Mapping[str, bytes]) -> LatencyChunk:
    return {name: np.frombuffer(columns[name], kind) for name, kind in LATENCY_COLUMNS.items()}


def _told(latencies: Callable[[LatencyChunk], object]) -> Callable[[dict[str, bytes]], object]:
    return lambda columns: latencies(_chunk(columns))


class _Kind:
    """One of several alternatives, which its `kind` names."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the Rust crate names them."""
        return {"kind": self.kind, **dataclasses.asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Closed(_Kind):
    """So many requests outstanding at any time."""

    kind: ClassVar[str] = "closed"
    depth: int = _bitline.CLOSED_DEPTH


@dataclass(frozen=True)
class Thinking(_Kind):
    """So many users, each of whom thinks for a while when a request is done."""

    kind: ClassVar[str] = "thinking"
    users: int
    think_ns: int


@dataclass(frozen=True)
class Open(_Kind):
    """At random (exponential gaps), so many a second on average, whether or not earlier ones are done.

    At most `outstanding_max` are in flight; what comes then waits, and that counts.
    """

    kind: ClassVar[str] = "open"
    requests_per_second: float
    outstanding_max: int = _bitline.OPEN_DEPTH


@dataclass(frozen=True)
class Paced(_Kind):
    """As `Open`, at equal gaps."""

    kind: ClassVar[str] = "paced"
    requests_per_second: float
    outstanding_max: int = _bitline.OPEN_DEPTH


@dataclass(frozen=True)
class Bursts(_Kind):
    """As `Open`, `burst` requests at the same instant; the rate is that of requests."""

    kind: ClassVar[str] = "bursts"
    requests_per_second: float
    burst: int
    outstanding_max: int = _bitline.OPEN_DEPTH


@dataclass(frozen=True)
class HotCold(_Kind):
    """So much of the traffic to the beginning of the range, the rest behind it, both uniformly."""

    kind: ClassVar[str] = "hot_cold"
    range_percent: float
    traffic_percent: float


@dataclass(frozen=True)
class Zipf(_Kind):
    """The place of rank k with a probability that falls as k to the power of -theta; ranks are scattered."""

    kind: ClassVar[str] = "zipf"
    theta: float = 0.99


@dataclass(frozen=True)
class Normal(_Kind):
    """Normally distributed sizes in blocks, rounded up, at least one."""

    kind: ClassVar[str] = "normal"
    mean: float
    deviation: float


@dataclass(frozen=True)
class Weighted(_Kind):
    """A few sizes: pairs of blocks and weight."""

    kind: ClassVar[str] = "weighted"
    sizes: Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Scaled(_Kind):
    """With every gap of the trace multiplied by a factor: 0.5 is twice as fast."""

    kind: ClassVar[str] = "scaled"
    factor: float


@dataclass(frozen=True)
class AsFastAsPossible(_Kind):
    """As soon as fewer than `depth` are outstanding, in the trace's order."""

    kind: ClassVar[str] = "as_fast_as_possible"
    depth: int = 32


Answer: TypeAlias = Literal["count", "count_by_host", "read", "stream"]
"""What the host is told of a query's result.

- `"count"`: the number of ones, counted where the expression is evaluated (`BitExpression.count`).
- `"count_by_host"`: the same, counted by the host as the result arrives.
- `"read"`: the result as a whole (`BitExpression.read`).
- `"stream"`: the result batch by batch, each dropped when it has arrived.
"""

Arrival: TypeAlias = Closed | Thinking | Open | Paced | Bursts
Pattern: TypeAlias = Literal["random", "sequential"] | HotCold | Zipf
Timing: TypeAlias = Literal["original"] | Scaled | AsFastAsPossible


def as_json(what: str, plain: object) -> str:
    """Plain values as the compiled part takes them; errors begin with `what` they are.

    Raises:
        UsageError: A number that is not finite, or a value that is not plain.
    """
    try:
        for name, value in _numbers_of(plain):
            if not math.isfinite(value):
                raise UsageError(f"{what}: {name} = {value} must be a finite number")
        return json.dumps(plain, allow_nan=False)
    except RecursionError:
        raise UsageError(f"{what}: its lists or tables nest too deep") from None
    except UsageError:
        raise
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what}: {error}") from error


def check(workloads: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what are no flows, replays and queries, as far as that can be said without a drive.

    Raises:
        UsageError: An unknown key, or a value of the wrong kind.
    """
    _bitline.check_workloads(workloads_as_json(workloads))


def default_of(workload: Mapping[str, Any], key: str) -> object:
    """What a workload has for a key that it leaves out; None if there is no such key."""
    kind = Replay if "path" in workload else Queries if "expression" in workload else Flow
    return getattr(kind, key, None)


def workloads_as_json(workloads: Sequence[Mapping[str, Any]]) -> str:
    """Workloads as the compiled part takes them.

    Raises:
        UsageError: As `as_json`; the text of an expression that is none.
    """
    return as_json("workload", [_spelled_out(workload) for workload in workloads])


def _spelled_out(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """A workload with the text of its expression as a tree; what has no right form is refused."""
    workload_hints.check(workload)
    if "expression" not in workload:
        return workload
    expression = workload["expression"]
    if isinstance(expression, str):
        try:
            expression = tree(expression)
        except UsageError as error:
            name = workload.get("name", Queries.name)
            raise UsageError(f"workload: queries {quoted(json.dumps(name))}: {error}") from None
    elif not isinstance(expression, Mapping):
        raise UsageError(
            f"workload: expression = {quoted(repr(expression))}: it must be a text, such as g:0 | g:1"
        )
    return {**workload, "expression": expression}


def _numbers_of(plain: object, name: str = "") -> Iterator[tuple[str, float]]:
    """All floats in plain values, each with its key."""
    if isinstance(plain, float):
        yield name, plain
    elif isinstance(plain, Mapping):
        for key, value in plain.items():
            yield from _numbers_of(value, str(key))
    elif isinstance(plain, Sequence) and not isinstance(plain, str | bytes):
        for each in plain:
            yield from _numbers_of(each, name)


class _Workload:
    """Something that a drive can be made to do."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the Rust crate names them."""
        names = [entry.name for entry in dataclasses.fields(self)]  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, _Kind):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


@dataclass(frozen=True)
class Flow(_Workload):
    """A synthetic stream of requests."""

    name: str = "flow"
    """Names the flow, and its random numbers."""
    read_fraction: float = 1.0
    """Share of reads among the requests, 0 to 1; the rest are writes."""
    blocks: int | Normal | Weighted = 1
    """Logical blocks of each request."""
    align_blocks: int = 0
    """Requests begin at multiples of so many blocks; 0 means their size if all have the same, else 1."""
    requests: int = 10_000
    """How many."""
    stop_ns: int = 0
    """Nothing arrives later than so many nanoseconds after the flow began; 0 means no end but `requests`."""
    arrival: Arrival = field(default_factory=Closed)
    """When requests arrive."""
    pattern: Pattern = "random"
    """Where they go."""
    first_block: int = 0
    """First logical block that they go to."""
    range_blocks: int = 0
    """Logical blocks of the range; 0 means all that follow."""
    working_set_percent: float = 100.0
    """Of the range, the first so many per cent are used."""
    namespace: int = 1
    """Which namespace, counted from one."""
    queue: int = 0
    """Which queue pair carries them, counted from zero."""
    prefill: bool = True
    """Write what is empty of the range once before anything is measured, so that reads find data: all of it
    up to 65,536 blocks, of more the pages that requests will touch."""


@dataclass(frozen=True)
class Replay(_Workload):
    """A block trace to be replayed."""

    path: str | os.PathLike[str]
    """The file, as it is or compressed with gzip or zstd."""
    name: str = "trace"
    """Names the replay in reports."""
    format: TraceFormat | None = None
    """Its format; found out from its first lines if not given."""
    blkparse_action: Literal["queued", "issued"] = "queued"
    """For the text of `blkparse`: which event is a request's arrival, Q or D."""
    bad_lines_max: int = 0
    """Bad lines that are passed over and counted; the next one ends the replay."""
    timing: Timing = "original"
    """When requests arrive."""
    outstanding_max: int = 65_535
    """Bound of the requests in flight when they arrive by the clock; waiting counts as latency."""
    repeat: int = 1
    """The trace is replayed so many times, one after another."""
    requests_max: int | None = None
    """Only so many requests are replayed."""
    first_block: int = 0
    """First logical block of the range that requests are folded into."""
    range_blocks: int = 0
    """Logical blocks of the range; 0 means all that follow."""
    namespace: int = 1
    """The namespace that all devices of the trace are merged into, counted from one."""
    devices: Mapping[str, int] = field(default_factory=dict)
    """Namespaces of single devices, by name; if there are any, requests to other devices are left out."""
    queue: int = 0
    """Which queue pair carries them, counted from zero."""
    prefill: bool = False
    """Write the range of the first namespace once before anything is measured, so that reads find data."""


@dataclass(frozen=True)
class Queries(_Workload):
    """A stream of queries, each of which evaluates the same expression over stored vectors."""

    expression: str | Mapping[str, Any]
    """What is asked, in the language of `bitline.formula`: vectors are named `group:vector`, and
    `and(group)`, `or(group)`, `xor(group)` and their inverses combine all vectors of a group. Names that the
    language has not go into plain values: `{"or": [{"vector": ["my group", "0"]}, {"all": "days"}]}`."""
    name: str = "queries"
    """Names them, and their random numbers."""
    platform: Platform = "fastest"
    """Who answers."""
    answer: Answer = "count"
    """What the host is told."""
    requests: int = 1000
    """How many queries."""
    stop_ns: int = 0
    """None arrives later than so many nanoseconds after the workload began; 0 means no end but `requests`."""
    arrival: Arrival = field(default_factory=lambda: Closed(depth=1))
    """When they arrive. A query may be many commands; it is one outstanding."""
    queue: int = 0
    """Which queue pair carries them, counted from zero."""
