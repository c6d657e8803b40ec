"""`bitline replay`: a block trace, and what it measured."""

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bitline.cli.flows import DEPTH_MAX
from bitline.cli.measure import (
    History,
    Image,
    Job,
    KeepGoing,
    Latencies,
    Occupied,
    Outputs,
    Plot,
    Trace,
    amount,
    measure,
    open_drive,
    precondition,
)
from bitline.cli.options import Config, Json, Preset, Set, Wide, settings
from bitline.errors import UsageError
from bitline.workload import TraceFormat

_FORMATS: tuple[str, ...] = get_args(TraceFormat)
_ALL = 2**64 - 1
_COUNT_MAX = 2**63 - 1


def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The trace, as it is or compressed with gzip or zstd.", show_default=False
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Its format: {', '.join(_FORMATS)}; found out from its first lines if not given.",
        ),
    ] = None,
    timing: Annotated[
        str,
        typer.Option(
            "--timing",
            metavar="TIMING",
            help="When requests arrive: original; scaled:FACTOR, gaps so many times as long; fast or "
            "fast:DEPTH, as soon as fewer are outstanding.",
        ),
    ] = "original",
    requests: Annotated[
        int | None,
        typer.Option("--requests", metavar="COUNT", help="Only the first so many.", min=1, max=_COUNT_MAX),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat", metavar="TIMES", help="So many times, one after another.", min=1, max=2**32 - 1
        ),
    ] = 1,
    bad_lines: Annotated[
        str,
        typer.Option(
            "--bad-lines",
            metavar="NUMBER",
            help="Bad lines that are passed over, counted and told; the next one is an error. A number, or "
            "all.",
        ),
    ] = "0",
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="COUNT",
            help=f"The most requests in flight; more wait, and that counts [{DEPTH_MAX}].",
            min=1,
            max=DEPTH_MAX,
        ),
    ] = None,
    first_block: Annotated[
        int,
        typer.Option("--first-block", metavar="BLOCK", help="Where the range begins.", min=0, max=_COUNT_MAX),
    ] = 0,
    range_: Annotated[
        int,
        typer.Option(
            "--range",
            metavar="BLOCKS",
            help="Logical blocks that requests are folded into; 0 is all that follow.",
            min=0,
            max=_COUNT_MAX,
        ),
    ] = 0,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            metavar="NAME=NAMESPACE",
            help="Replay only this device of the trace, on this namespace; may be repeated. Without, all "
            "devices are merged.",
        ),
    ] = None,
    blkparse_action: Annotated[
        str,
        typer.Option(
            "--blkparse-action",
            metavar="NAME",
            help="For the text of blkparse: a request arrives when queued (Q) or issued (D).",
        ),
    ] = "queued",
    prefill: Annotated[
        bool, typer.Option("--prefill", help="Write the whole range first, so that reads find data.")
    ] = False,
    history: History = None,
    occupied: Occupied = None,
    keep_going: KeepGoing = False,
    latencies: Latencies = None,
    trace: Trace = None,
    plot: Plot = None,
    image: Image = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Replay a block trace; print latencies, rates, flash work, utilization, energy and wear.

    The trace is streamed, so memory does not grow with its length. Reads of blocks that nothing wrote
    touch no flash: --precondition sequential or --prefill fills the drive first.
    """
    outputs = Outputs(trace, latencies, plot)
    outputs.check(("FILE", file), ("--config", config), ("--image", image))
    if prefill and history is not None:
        raise UsageError("--precondition and --prefill both fill the drive; leave one out")
    before = precondition(history, occupied)
    if format_ is not None and format_ not in _FORMATS:
        raise UsageError(f"--format {format_}: it must be one of {', '.join(_FORMATS)}")
    part: dict[str, Any] = {
        "path": str(file),
        "name": file.name,
        "format": format_,
        "timing": _timing(timing),
        "requests_max": requests,
        "repeat": repeat,
        "bad_lines_max": _bad_lines(bad_lines),
        "first_block": first_block,
        "range_blocks": range_,
        "devices": _devices(device or []),
        "blkparse_action": blkparse_action,
        "prefill": prefill,
    }
    if depth is not None:
        part["outstanding_max"] = depth
    with open_drive(preset, config, settings(set_), image) as drive:
        job = Job(f"{file}, replayed", [part], requests, before, keep_going)
        measure(drive, job, outputs, as_json=as_json, wide=wide)


def _timing(text: str) -> object:
    name, colon, number = text.partition(":")
    if name == "scaled" and colon:
        return {"kind": "scaled", "factor": amount(f"--timing {text}", number)}
    if name == "fast" and (not colon or number.isdecimal()):
        return {"kind": "as_fast_as_possible", "depth": int(number) if colon else 32}
    if text == "original":
        return text
    raise UsageError(
        f"--timing {text}: it must be original, scaled:FACTOR (such as scaled:0.5), fast or fast:DEPTH"
    )


def _bad_lines(text: str) -> int:
    if text == "all":
        return _ALL
    if not text.isdecimal() or int(text) > _ALL:
        raise UsageError(f"--bad-lines {text}: it must be a number, or all")
    return int(text)


def _devices(pairs: list[str]) -> dict[str, int]:
    found = {}
    for pair in pairs:
        name, equals, number = pair.rpartition("=")
        if not equals or not number.isdecimal():
            raise UsageError(f"--device {pair}: expected NAME=NAMESPACE, such as usr.0=1")
        found[name] = int(number)
    return found
