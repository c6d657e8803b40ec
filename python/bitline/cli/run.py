"""`bitline run`: a synthetic flow of requests, and what it measured."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import bitline
from bitline.cli.options import Config, Json, Preset, Set, destination, in_range, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, duration, emit, energy
from bitline.cli.output import rate as rate_
from bitline.cli.progress import progress
from bitline.drive import Drive, Setting
from bitline.errors import UsageError
from bitline.workload import Report

#: The bound of requests in flight in an open loop, unless --depth says otherwise.
_OPEN_DEPTH = 1024
_CLOSED_DEPTH = 32

#: The rates that a flow accepts, a second (`RATE_MIN` and `RATE_MAX` of `bitline::workload`).
_RATES = (1e-4, 1e11)
#: The most requests outstanding, and the most blocks of one: those of an NVMe queue and of a command.
_DEPTH_MAX = 65_535
_BLOCKS_MAX = 65_536
#: The most that a flow can count: requests and blocks are numbers of 64 bits.
_COUNT_MAX = 2**63 - 1


class Pattern(StrEnum):
    """Where requests go."""

    RANDOM = "random"
    SEQUENTIAL = "sequential"


def run(
    requests: Annotated[
        int, typer.Option("--requests", help="How many requests.", min=1, max=_COUNT_MAX)
    ] = 100_000,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            help=f"Requests outstanding at any time [{_CLOSED_DEPTH}]; with --rate the most [{_OPEN_DEPTH}].",
            min=1,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="PER_SECOND",
            help="Open loop: requests arrive at random, so many a second on average, whether or not earlier"
            " ones are done. Waiting counts as latency.",
        ),
    ] = None,
    read_fraction: Annotated[
        float, typer.Option("--read-fraction", help="Share of reads, 0 to 1; the rest are writes.")
    ] = 1.0,
    blocks: Annotated[int, typer.Option("--blocks", help="Logical blocks of each request.", min=1)] = 1,
    pattern: Annotated[Pattern, typer.Option("--pattern", help="Where requests go.")] = Pattern.RANDOM,
    range_: Annotated[
        int,
        typer.Option(
            "--range", help="Logical blocks that requests go to; 0 is the whole drive.", min=0, max=_COUNT_MAX
        ),
    ] = 65_536,
    no_prefill: Annotated[
        bool,
        typer.Option(
            "--no-prefill", help="Do not write the range first; reads of blocks never written touch no flash."
        ),
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write a trace for Perfetto (ui.perfetto.dev), prefilling included.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw what every part did in the busiest two milliseconds; the suffix names the format.",
        ),
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image", metavar="FILE", help="Run on the drive in this image file, which it changes."
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    as_json: Json = False,
) -> None:
    """Run a flow of reads and writes and print latencies, rates and energy, in simulated time.

    The drive keeps time but no data (data.storage = none), which changes no result; --set data.storage=memory
    keeps data, too.
    """
    in_range("--read-fraction", read_fraction, 0, 1)
    in_range("--depth", depth or 1, 1, _DEPTH_MAX)
    in_range("--blocks", blocks, 1, _BLOCKS_MAX)
    if rate is not None:
        in_range("--rate", rate, *_RATES)
    if trace is not None:
        destination("--trace", trace)
    if plot is not None:
        destination("--plot", plot)
        # Half a second of import; other runs do without.
        from bitline.figures import check_format

        check_format(f"--plot {plot}", plot.suffix)
    if rate is None:
        arrival: dict[str, object] = {"kind": "closed", "depth": depth or _CLOSED_DEPTH}
    else:
        arrival = {"kind": "open", "requests_per_second": rate, "outstanding_max": depth or _OPEN_DEPTH}
    flow = {
        "requests": requests,
        "arrival": arrival,
        "read_fraction": read_fraction,
        "blocks": blocks,
        "pattern": pattern.value,
        "range_blocks": range_,
        "prefill": not no_prefill,
    }
    with _open(preset, config, settings(set_), image) as drive:
        if trace is not None or plot is not None:
            drive.restart_traced(busiest=trace is None)
        first = None if no_prefill else "Prefilling"
        with progress("Running requests", requests, first=first, quiet=as_json) as advance:
            report = drive.run(flow, advance)
        emit(_result(report, trace, plot), as_json=as_json)
        if trace is not None:
            drive.write_trace(trace)
        if plot is not None:
            from bitline.plot import plot as draw

            draw(plot, drive.busiest(), [], _title(flow))


def _open(
    preset: str | None, config: Path | None, settings: Mapping[str, Setting], image: Path | None
) -> Drive:
    """The drive that the options ask for; without an image it keeps time but no data."""
    if image is None:
        return bitline.open(preset, config=config, set={"data.storage": "none", **settings})
    if preset or config:
        raise UsageError("--image has a configuration of its own; leave --preset and --config out")
    return bitline.open(path=image, set=settings, create=False)


def _title(flow: Mapping[str, Any]) -> str:
    share = flow["read_fraction"]
    kind = "reads" if share == 1 else "writes" if share == 0 else f"{share:.0%} reads"
    return f"{flow['requests']:,} requests, {kind}, {flow['pattern']}"


def _result(report: Report, trace: Path | None, plot: Path | None) -> Result:
    flow = report.flows[0]
    facts = {
        "requests": Fact("Requests", flow.requests),
        "elapsed_ns": Fact("Simulated time", flow.elapsed.ns, duration),
        "requests_per_second": Fact("Requests per second", flow.requests_per_second, rate_),
        "megabytes_per_second": Fact("Megabytes per second", flow.megabytes_per_second, rate_),
        "flash_page_reads": Fact("Flash pages read", report.flash_page_reads),
        "flash_page_programs": Fact("  programmed", report.flash_page_programs),
        "flash_block_erases": Fact("Flash blocks erased", report.flash_block_erases),
        "energy_pj": Fact("Energy", report.energy.pj, energy),
    }
    if trace is not None:
        facts["trace"] = Fact("Trace", str(trace))
    if plot is not None:
        facts["plot"] = Fact("Figure", str(plot))
    return Result(
        "One flow, simulated", facts, {"latencies": _latencies(report), "energy": _energies(report)}
    )


_QUANTILES = {
    "mean": "Mean",
    "min": "Least",
    "p50": "p50",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "Most",
}


def _latencies(report: Report) -> Table:
    columns = [Column("kind", "Latency"), Column("count", "Requests")]
    columns += [Column(f"{key}_ns", heading, duration) for key, heading in _QUANTILES.items()]
    rows: list[dict[str, Value]] = []
    for kind, latency in (("read", report.flows[0].read), ("write", report.flows[0].write)):
        if latency is not None:
            times = {f"{key}_ns": getattr(latency, key).ns for key in _QUANTILES}
            rows.append({"kind": kind, "count": latency.count, **times})
    return Table(columns, rows)


def _energies(report: Report) -> Table:
    columns = [
        Column("component", "Component"),
        Column("cause", "Cause"),
        Column("energy_pj", "Energy", energy),
        Column("events", "Events"),
    ]
    rows: list[dict[str, Value]] = [
        {
            "component": entry.component,
            "cause": entry.cause,
            "energy_pj": entry.energy.pj,
            "events": entry.events,
        }
        for entry in report.energy_by
        if entry.events
    ]
    return Table(columns, rows)
