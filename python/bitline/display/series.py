"""How a run over time is shown: by `print(report.series)`, in notebooks, and as rows."""

from typing import TYPE_CHECKING, Any

from bitline.display.formats import Value, duration, rate
from bitline.display.result import Column, Result, Table
from bitline.metrics import QUANTILES
from bitline.records import plain as plain_values

if TYPE_CHECKING:
    from bitline.report import Series

#: What a row has of an interval, and of a workload in it.
_OF_INTERVAL = (
    "begin_ns",
    "end_ns",
    "flash_page_programs",
    "flash_block_erases",
    "gc_page_copies",
    "write_amplification",
    "erase_count_mean",
    "erase_count_max",
)
_OF_WORKLOAD = (
    "requests",
    "requests_per_second",
    "megabytes_per_second",
    "read_bytes",
    "written_bytes",
    "outstanding",
)
_LATENCIES = ("latency", "read", "write")


def rows(series: "Series") -> list[dict[str, Any]]:
    """A row for each workload in each interval; what the whole drive did stands in each of them."""
    found = []
    for interval in series.intervals:
        whole = plain_values(interval)
        for workload in whole["workloads"]:
            row = {"workload": workload["name"], **{key: whole[key] for key in _OF_INTERVAL}}
            row |= {key: workload[key] for key in _OF_WORKLOAD}
            for kind in _LATENCIES:
                latency = workload[kind] or {}
                row[f"{kind}.count"] = latency.get("count", 0)
                row |= {f"{kind}.{name}_ns": latency.get(f"{name}_ns") for name in QUANTILES}
            found.append(row)
    return found


def table(series: "Series") -> Table:
    """The rows as a table."""
    several = len({workload.name for each in series.intervals for workload in each.workloads}) > 1
    shown: dict[str, Column] = {
        "end_ns": Column("end_ns", "Until", duration),
        "workload": Column("workload", "Workload" if several else None),
        "requests_per_second": Column("requests_per_second", "IOPS", rate),
        "megabytes_per_second": Column("megabytes_per_second", "MB/s", rate, rank=2),
        "latency.p50_ns": Column("latency.p50_ns", "p50", duration, rank=1),
        "latency.p99_ns": Column("latency.p99_ns", "p99", duration),
        "latency.max_ns": Column("latency.max_ns", "Most", duration, rank=3),
        "outstanding": Column("outstanding", "Waiting", rate),
        "write_amplification": Column("write_amplification", "WA"),
        "erase_count_mean": Column("erase_count_mean", "Erases", rank=1),
    }
    found: list[dict[str, Value]] = rows(series)
    keys = found[0].keys() if found else ()
    order = [*shown, *(key for key in keys if key not in shown)]
    return Table([shown.get(key, Column(key, None)) for key in order], found)


def shown(series: "Series") -> Result:
    """A series as a table."""
    return Result(f"{len(series.intervals)} intervals of {series.interval}", tables={"series": table(series)})
