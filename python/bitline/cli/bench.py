"""`bitline bench`: how fast this machine simulates."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bitline import _bitline
from bitline.cli.options import Json, Wide
from bitline.cli.output import Column, Fact, Format, Result, Table, Value, emit, plain, rate
from bitline.errors import UsageError


def bench(
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling", help="Also for drives of three sizes and runs of three lengths: minutes, 5 GiB."
        ),
    ] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Compare with an earlier run, whose --json output is in this file.",
        ),
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Measure how fast this machine simulates, beside references measured in the same run.

    Takes some seconds. Rates are per second of real time on one core; the bare executor and the memory's
    bandwidth tell how much of a difference between two machines, or two runs, is the machine's.
    """
    before = None if baseline is None else _read(baseline)
    with _status(quiet=as_json) as tell:
        report = json.loads(_bitline.run_benchmarks(tell, scaling=scaling))
    result = _result(report) if before is None else _compared(report, before, str(baseline))
    emit(result, as_json=as_json, wide=wide)


def _read(path: Path) -> dict[str, Value]:
    """The figures of an earlier run.

    Raises:
        UsageError: The file holds none.
    """
    try:
        found = _leaves(json.loads(path.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, json.JSONDecodeError, AttributeError):
        found = {}
    if _EXECUTOR not in found:
        raise UsageError(f"--baseline {path}: expected what `bitline bench --json` prints")
    return found


def _millions(value: Value) -> str:
    return f"{value / 1e6:.2f} million/s" if isinstance(value, int | float) else plain(value)


def _per_second(value: Value) -> str:
    return f"{value:,.0f} /s" if isinstance(value, int | float) else plain(value)


def _percent(value: Value) -> str:
    return f"{value * 100:.0f} %" if isinstance(value, int | float) else plain(value)


def _with_unit(unit: str) -> Format:
    return lambda value: f"{plain(value)} {unit}"


#: What is measured, in order: heading and format by key; a dot leads into a table of the report.
_SHOWN: dict[str, tuple[str, Format]] = {
    "requests_per_second.read_ideal": ("Random 4-KiB reads, queue depth 32, timing only", _millions),
    "requests_per_second.read_cached": ("  the same through mapping and data cache", _millions),
    "requests_per_second.write_gc": ("Random 8-KiB writes in steady state, greedy collection", _millions),
    "requests_per_second.write_gc_waf": ("  pages programmed for each page written", plain),
    "executor_awaits_per_second": ("Bare executor, awaits", _millions),
    "read_ideal_of_executor": ("  reads per seven of them", _percent),
    "read_cached_of_executor": ("  cached reads per seven of them", _percent),
    "write_gc_of_executor": ("  writes per seven of them", _percent),
    "and48_gbps": ("AND of 48 vectors in the array, with data", _with_unit("GB/s")),
    "or4x48_gbps": ("  OR of four such ANDs", _with_unit("GB/s")),
    "search_gbps": ("Searches of 131,072 names, wordlines selected", _with_unit("GB/s")),
    "append_mbps": ("Values of 128 bytes appended with names, with data", _with_unit("MB/s")),
    "lookups_per_second": ("Lookups of a name among a million, timing only", _per_second),
    "memory_read_gbps": ("Memory read bandwidth of one core", _with_unit("GB/s")),
    "and48_of_memory_read": ("  the AND's share of it", _percent),
    "or4x48_of_memory_read": ("  the OR's", _percent),
    "search_of_memory_read": ("  the searches'", _percent),
    "open_2tb_ms": ("Opening a drive of 2 TB", _with_unit("ms")),
    "open_2tb_mib": ("  memory", _with_unit("MiB")),
    "bytes_per_page": ("Memory of a written page without data", _with_unit("bytes")),
}


#: What tells the speed of the machine itself.
_EXECUTOR = "executor_awaits_per_second"

_SCALING = (
    Column("capacity_gb", "Drive [GB]", rate),
    Column("requests", "Requests"),
    Column("read_ideal", "Reads", _millions),
    Column("write_gc", "Writes in steady state", _millions),
)


def _result(report: Mapping[str, Any]) -> Result:
    """The report as it is in JSON, and for people the figures of `_SHOWN` first, then any others."""
    scaling = report.get("scaling")
    report = {key: value for key, value in report.items() if key != "scaling"}
    facts = {key: Fact(None, value) for key, value in report.items()}
    tables = {} if scaling is None else {"scaling": Table(_SCALING, scaling)}
    shown = _leaves(report)
    known = [(heading, shown.pop(key), show) for key, (heading, show) in _SHOWN.items() if key in shown]
    lines = [(heading, show(value)) for heading, value, show in known]
    lines += [(key, plain(value)) for key, value in shown.items()]
    width = max(len(heading) for heading, _ in lines)
    text = "\n".join(f"  {heading:<{width}}  {value}" for heading, value in lines)
    return Result("The simulator's speed on this machine", facts, tables, verdict=text)


def _compared(report: Mapping[str, Any], before: Mapping[str, Value], baseline: str) -> Result:
    """What has changed since an earlier run, and how much of that is the machine's."""
    facts = {key: Fact(None, value) for key, value in report.items() if key != "scaling"}
    now = _leaves({key: value for key, value in report.items() if key != "scaling"})
    rows: list[dict[str, Value]] = []
    for key, (heading, show) in _SHOWN.items():
        old, new = before.get(key), now.get(key)
        if isinstance(old, int | float) and isinstance(new, int | float):
            change = new / old - 1 if old else None
            told = {"shown_before": show(old), "shown": show(new)}
            rows.append(
                {"key": key, "what": heading.strip(), "before": old, "now": new, "change": change, **told}
            )
    columns = [
        Column("key", None),
        Column("before", None),
        Column("now", None),
        Column("what", "Measured"),
        Column("shown_before", "Before"),
        Column("shown", "Now"),
        Column("change", "Change", _signed),
    ]
    executor = next((row["change"] for row in rows if row["key"] == _EXECUTOR), None)
    verdict = (
        f"The bare executor changed by {_signed(executor)}: as much of the other changes is the machine's."
    )
    tables = {"comparison": Table(columns, rows)}
    return Result(f"The simulator's speed, beside {baseline}", facts, tables, verdict)


def _signed(value: Value) -> str:
    return f"{round(value * 100):+d} %" if isinstance(value, int | float) else plain(value)


def _leaves(report: Mapping[str, Value], prefix: str = "") -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in report.items():
        if isinstance(value, Mapping):
            found.update(_leaves(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found


@contextmanager
def _status(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Tells what is measured, on a terminal."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("measuring") as status:
        yield lambda what: status.update(f"measuring: {what}")
