"""What a synthetic workload measured. Mirrors `bitline::workload::Report` of the Rust crate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bitline.statistics import EnergyEntry
from bitline.units import Duration, Energy


@dataclass(frozen=True)
class Latency:
    """Latencies of one class of requests. Quantiles are good to three digits, the others exact."""

    count: int
    """How many requests."""
    mean: Duration
    min: Duration
    p50: Duration
    """The median."""
    p99: Duration
    """What 99 % do not exceed."""
    p999: Duration
    """What 99.9 % do not exceed."""
    p9999: Duration
    """What 99.99 % do not exceed."""
    max: Duration

    @classmethod
    def _from(cls, data: Mapping[str, Any] | None) -> Self | None:
        if data is None:
            return None
        times = {name: Duration.from_ns(data[f"{name}_ns"]) for name in _TIMES}
        return cls(count=data["count"], **times)


_TIMES = ("mean", "min", "p50", "p99", "p999", "p9999", "max")


@dataclass(frozen=True)
class FlowReport:
    """The result of one flow."""

    name: str
    """The flow's name."""
    requests: int
    """Requests completed."""
    elapsed: Duration
    """From the first arrival to the last completion."""
    requests_per_second: float
    """Requests completed in a simulated second."""
    megabytes_per_second: float
    """Megabytes (10^6 bytes) moved in a simulated second."""
    read: Latency | None
    """Latencies of reads; None if there were none."""
    write: Latency | None
    """Latencies of writes; None if there were none."""

    @classmethod
    def _from(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            name=data["name"],
            requests=data["requests"],
            elapsed=Duration.from_ns(data["elapsed_ns"]),
            requests_per_second=data["requests_per_second"],
            megabytes_per_second=data["megabytes_per_second"],
            read=Latency._from(data["read"]),
            write=Latency._from(data["write"]),
        )


@dataclass(frozen=True)
class Report:
    """The result of running flows. Counts and energy include what filled the range beforehand."""

    flows: tuple[FlowReport, ...]
    """One a flow."""
    flash_page_reads: int
    """Pages sensed by reads."""
    flash_page_programs: int
    """Pages programmed."""
    flash_block_erases: int
    """Blocks erased."""
    energy: Energy
    """Spent by everything."""
    energy_by: tuple[EnergyEntry, ...]
    """The same by component and cause."""
    data: Mapping[str, Any]
    """All of it as plain numbers, each with its unit in its name."""

    @classmethod
    def _from_json(cls, text: str) -> Self:
        data = json.loads(text)
        return cls(
            flows=tuple(FlowReport._from(flow) for flow in data["flows"]),
            flash_page_reads=data["flash_page_reads"],
            flash_page_programs=data["flash_page_programs"],
            flash_block_erases=data["flash_block_erases"],
            energy=Energy(data["energy_pj"]),
            energy_by=tuple(EnergyEntry._from(entry) for entry in data["energy"]),
            data=data,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, each with its unit in its name."""
        return dict(self.data)
