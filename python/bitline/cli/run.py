"""`bitline run`: flows of requests, and what they measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bitline import _bitline
from bitline.cli import flows
from bitline.cli.measure import (
    History,
    Image,
    Interval,
    Job,
    KeepGoing,
    Latencies,
    Occupied,
    Outputs,
    Plot,
    Series,
    Trace,
    interval_ns,
    measure,
    open_drive,
    precondition,
)
from bitline.cli.options import Config, Json, Preset, Set, Wide, distinct, in_range, settings
from bitline.errors import UsageError
from bitline.workload import default_of
from bitline.workload_file import DriveTable, WorkloadFile

_REQUESTS = 100_000
#: The most that a flow can count: requests and blocks are numbers of 64 bits.
_COUNT_MAX = 2**63 - 1
#: The longest --seconds: what the drive's clock of 64 bits of picoseconds holds, by far.
_SECONDS_MAX = 1e6


def run(
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            metavar="COUNT",
            help=f"How many requests [{_REQUESTS}].",
            min=1,
            max=_COUNT_MAX,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="SECONDS",
            help="Instead: no request arrives after so much simulated time.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="COUNT",
            help=f"Requests outstanding at any time [{_bitline.CLOSED_DEPTH}]; with --rate the most "
            f"[{_bitline.OPEN_DEPTH}].",
            min=1,
            max=flows.DEPTH_MAX,
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
    arrivals: Annotated[
        str | None,
        typer.Option(
            "--arrivals",
            metavar="SHAPE",
            help="How requests of --rate come: random, paced or bursts:REQUESTS [random].",
        ),
    ] = None,
    read_fraction: Annotated[
        float | None,
        typer.Option(
            "--read-fraction",
            metavar="SHARE",
            help="Share of reads, 0 to 1; the rest are writes [1].",
            show_default=False,
        ),
    ] = None,
    blocks: Annotated[
        str | None,
        typer.Option(
            "--blocks",
            metavar="SIZES",
            help="Logical blocks of each request: 8; 1:70,8:30, sizes and weights; or normal:MEAN:DEVIATION "
            "[1].",
        ),
    ] = None,
    align: Annotated[
        int | None,
        typer.Option(
            "--align",
            metavar="BLOCKS",
            help="Requests begin at multiples of so many blocks.",
            min=1,
            max=2**32 - 1,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="PATTERN",
            callback=flows.checked_pattern,
            help="Where requests go: random, sequential, zipf, zipf:THETA or hot_cold:RANGE:TRAFFIC in per "
            "cent, such as hot_cold:20:80 [random].",
        ),
    ] = None,
    range_: Annotated[
        int | None,
        typer.Option(
            "--range",
            metavar="BLOCKS",
            help="Logical blocks that requests go to; 0 is the whole namespace [0].",
            min=0,
            max=_COUNT_MAX,
        ),
    ] = None,
    no_prefill: Annotated[
        bool,
        typer.Option(
            "--no-prefill", help="Do not write the range first; reads of blocks never written touch no flash."
        ),
    ] = False,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="KEYS",
            help="One of several flows side by side: keys of a flow as in a workload file, such as "
            "'name=\"log\", read_fraction=0, queue=1'. What it leaves out, the other options say. Repeat it.",
        ),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option(
            "--workload",
            metavar="FILE",
            help="Run what a TOML file says: [[flow]], [[replay]], [[group]], [[queries]], [drive].",
        ),
    ] = None,
    history: History = None,
    occupied: Occupied = None,
    keep_going: KeepGoing = False,
    latencies: Latencies = None,
    trace: Trace = None,
    plot: Plot = None,
    series: Series = None,
    interval: Interval = None,
    image: Image = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Run flows of reads and writes; print latencies, rates, flash work, utilization, energy and wear.

    All times are simulated. The drive keeps time but no data (data.storage = none), which changes no result;
    --set data.storage=memory keeps data, too.
    """
    outputs = Outputs(trace, latencies, plot, series, interval_ns(interval))
    outputs.check(("--workload", workload), ("--config", config), ("--image", image))
    before = precondition(history, occupied)
    given = {
        "--requests": requests,
        "--seconds": seconds,
        "--depth": depth,
        "--rate": rate,
        "--arrivals": arrivals,
        "--read-fraction": read_fraction,
        "--blocks": blocks,
        "--align": align,
        "--pattern": pattern,
        "--range": range_,
        "--no-prefill": no_prefill or None,
        "--flow": flow,
    }
    if workload is not None:
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"--workload says what runs; leave {option} out, or --workload")
        file = WorkloadFile.read(workload)
        asked, before = file.drive, before or file.precondition
        parts: Sequence[Mapping[str, Any]] = file.workloads
        groups = file.groups
    else:
        asked, groups = DriveTable(), ()
        base = _flow(given, prefill=not no_prefill and before is None)
        parts = flows.several(flow, base) if flow else [base]
    traces = [("the trace", Path(part["path"])) for part in parts if "path" in part]
    distinct(*traces, *outputs.named())
    if preset is None and config is None and image is None:
        preset, config = asked.preset, asked.config
    with open_drive(preset, config, {**(asked.settings or {}), **settings(set_)}, image) as drive:
        title, total = flows.title(list(parts)), _total(parts)
        job = Job(title, parts, total, before, keep_going, groups, workload)
        measure(drive, job, outputs, as_json=as_json, wide=wide)


def _flow(given: Mapping[str, Any], *, prefill: bool) -> dict[str, Any]:
    """The flow that options describe."""
    read_fraction, seconds = given["--read-fraction"], given["--seconds"]
    found: dict[str, Any] = {
        "requests": given["--requests"] or (_COUNT_MAX if seconds is not None else _REQUESTS),
        "arrival": flows.arrival(given["--rate"], given["--depth"], given["--arrivals"]),
        "prefill": prefill,
    }
    if read_fraction is not None:
        in_range("--read-fraction", read_fraction, 0, 1)
        found["read_fraction"] = read_fraction
    if seconds is not None:
        in_range("--seconds", seconds, 1e-9, _SECONDS_MAX)
        found["stop_ns"] = round(seconds * 1e9)
    if given["--blocks"] is not None:
        found["blocks"] = flows.blocks(given["--blocks"])
    if given["--pattern"] is not None:
        found["pattern"] = flows.pattern(given["--pattern"])
    for option, key in (("--align", "align_blocks"), ("--range", "range_blocks")):
        if given[option] is not None:
            found[key] = given[option]
    return found


def _total(parts: Sequence[Mapping[str, Any]]) -> int | None:
    """Requests and queries of all workloads, if their number ends them."""
    if any("path" in part or part.get("stop_ns") for part in parts):
        return None
    counts = [part.get("requests", default_of(part, "requests")) for part in parts]
    return sum(counts) if all(isinstance(count, int) for count in counts) else None
