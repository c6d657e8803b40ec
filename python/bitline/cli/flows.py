"""What the options of `run` say of flows, as the keys of `bitline.Flow`."""

import tomllib
from collections.abc import Mapping
from typing import Any

import typer

from bitline import _bitline, toml_text
from bitline.cli.measure import amount
from bitline.cli.options import in_range
from bitline.cli.output import duration
from bitline.errors import UsageError
from bitline.platforms import PLATFORM_NAMES, PLATFORMS
from bitline.workload import Queries

#: The rates that a flow accepts, a second (`RATE_MIN` and `RATE_MAX` of `bitline::workload`).
_RATES = (1e-4, 1e11)
#: The most requests outstanding, and the most blocks of one: those of an NVMe queue and of a command.
DEPTH_MAX = 65_535
_BLOCKS_MAX = 65_536


def pattern(text: str) -> object:
    """A value of --pattern.

    Raises:
        typer.BadParameter: It is no pattern.
    """
    name, colon, rest = text.partition(":")
    name = name.replace("-", "_")
    if name in ("random", "sequential") and not colon:
        return name
    if name == "zipf":
        return {"kind": "zipf", "theta": amount(f"--pattern {text}", rest) if colon else 0.99}
    if name == "hot_cold":
        parts = rest.split(":")
        if len(parts) == 2:
            hot, traffic = (amount(f"--pattern {text}", part) for part in parts)
            return {"kind": "hot_cold", "range_percent": hot, "traffic_percent": traffic}
    raise typer.BadParameter(
        f"{text}: it must be random, sequential, zipf, zipf:THETA or hot_cold:RANGE:TRAFFIC in per "
        "cent, such as hot_cold:20:80"
    )


def checked_pattern(text: str | None) -> str | None:
    """The value of --pattern, once it is seen to be one; for Typer, which then names the command.

    Raises:
        typer.BadParameter: It is no pattern.
    """
    if text is not None:
        pattern(text)
    return text


def blocks(text: str) -> object:
    """A value of --blocks.

    Raises:
        UsageError: It is no size, or not one of a command.
    """
    if text.startswith("normal:"):
        parts = text.split(":")[1:]
        if len(parts) == 2:
            mean, deviation = (amount(f"--blocks {text}", part) for part in parts)
            return {"kind": "normal", "mean": mean, "deviation": deviation}
    elif ":" not in text:
        return _size(f"--blocks {text}", text)
    else:
        pairs = [part.split(":") for part in text.split(",")]
        if all(len(pair) == 2 for pair in pairs):
            sizes = [
                (_size(f"--blocks {text}", size), amount(f"--blocks {text}", weight))
                for size, weight in pairs
            ]
            return {"kind": "weighted", "sizes": sizes}
    raise UsageError(
        f"--blocks {text}: it must be a number such as 8, sizes and their weights such as 1:70,8:30, or "
        "normal:MEAN:DEVIATION"
    )


def _size(option: str, text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is no whole number") from None
    if not 1 <= found <= _BLOCKS_MAX:
        raise UsageError(f"--blocks is {text}; it must be from 1 to {_BLOCKS_MAX}")
    return found


def arrival(rate: float | None, depth: int | None, shape: str | None) -> dict[str, object]:
    """What --rate, --depth and --arrivals say.

    Raises:
        UsageError: A number out of range, or a shape without a rate.
    """
    if rate is None:
        if shape is not None:
            raise UsageError("--arrivals is for requests that come at a --rate; give that, too")
        return {"kind": "closed", "depth": depth or _bitline.CLOSED_DEPTH}
    in_range("--rate", rate, *_RATES)
    open_loop = {"requests_per_second": rate, "outstanding_max": depth or _bitline.OPEN_DEPTH}
    name, colon, number = (shape or "random").partition(":")
    if name == "bursts" and number.isdecimal():
        return {"kind": "bursts", "burst": int(number), **open_loop}
    kinds = {"random": "open", "paced": "paced"}
    if name not in kinds or colon:
        raise UsageError(f"--arrivals {shape}: it must be random, paced or bursts:REQUESTS")
    return {"kind": kinds[name], **open_loop}


def several(texts: list[str], base: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flows of --flow, each with what the other options say of all.

    Raises:
        UsageError: One is no TOML.
    """
    found = []
    for number, text in enumerate(texts, 1):
        try:
            keys = toml_text.loads(f"flow = {{ {text} }}")["flow"]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(
                f"--flow {text}: expected KEY=VALUE, KEY=VALUE as in a TOML file, texts in quotes: {error}"
            ) from error
        found.append({"name": f"flow {number}", **base, **keys})
    return found


def title(flows: list[Mapping[str, Any]]) -> str:
    """What flows are, in a few words."""
    if len(flows) != 1:
        return f"{len(flows)} workloads side by side, simulated"
    (flow,) = flows
    if "path" in flow:
        return f"{flow['path']}, replayed"
    stop = flow.get("stop_ns", 0)
    if "expression" in flow:
        length = f"{duration(stop)} of queries" if stop else f"{flow.get('requests', 1000):,} queries"
        platform = str(flow.get("platform", Queries.platform))
        by = PLATFORM_NAMES.get(platform, platform)
        # What is no name is no word to begin with a capital amid a line.
        by = by if platform in PLATFORMS else by.lower()
        return f"{length}, {flow.get('answer', 'count')} by {by}"
    share = flow.get("read_fraction", 1.0)
    kind = "reads" if share == 1 else "writes" if share == 0 else f"{share:.0%} reads"
    where = flow.get("pattern", "random")
    name = where["kind"] if isinstance(where, Mapping) else where
    length = f"{duration(stop)} of requests" if stop else f"{flow.get('requests', 10_000):,} requests"
    return f"{length}, {kind}, {name}"
