"""What a served drive does, while it is served: a table, lines of a log, JSON lines, Prometheus.

All of them are made from snapshots, as `_bitline.Attachment.snapshot` gives them.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from bitline.display.formats import duration, energy, plain, ratio, size

if TYPE_CHECKING:
    from rich.table import Table

Snapshot: TypeAlias = Mapping[str, Any]
"""What a served drive has done since it is served."""

#: Kinds of requests, as people read them.
_KINDS = {
    "read": "read",
    "write": "write",
    "flush": "flush",
    "discard": "discard",
    "write_zeroes": "write zeroes",
    "task": "task",
    "admin": "admin",
    "other": "other",
}
#: Columns of the live table.
_WIDTH = 80
#: Parts of the drive's own statistics that a line has no room for.
_LISTS = ("channel_utilizations", "die_utilizations", "energy", "tenants")


class Rates:
    """Rates between two snapshots of one drive."""

    def __init__(self, snapshot: Snapshot, before: Snapshot | None) -> None:
        earlier = before or {"wall_s": 0.0, "kinds": [{"bytes": 0, "requests": 0}] * len(snapshot["kinds"])}
        seconds = max(snapshot["wall_s"] - earlier["wall_s"], 1e-9)
        pairs = list(zip(snapshot["kinds"], earlier["kinds"], strict=True))
        self.requests = [(now["requests"] - was["requests"]) / seconds for now, was in pairs]
        self.bytes = [(now["bytes"] - was["bytes"]) / seconds for now, was in pairs]


def table(title: str, snapshot: Snapshot, before: Snapshot | None) -> "Table":
    """The live table, of 80 columns: requests by kind, with their latencies, and lines on the drive."""
    from rich.table import Table
    from rich.text import Text

    rates = Rates(snapshot, before)
    shown = Table(
        title=Text(title), title_justify="left", caption=Text(_caption(snapshot, before)), width=_WIDTH
    )
    shown.caption_justify = "left"
    shown.add_column("")
    for name in ("Requests", "a second", "Bytes/s", "p50", "p99", "p99.9"):
        shown.add_column(name, justify="right")
    for kind, requests, moved in zip(snapshot["kinds"], rates.requests, rates.bytes, strict=True):
        if kind["requests"]:
            latency = kind["latency"]
            quantiles = (_microseconds(latency[name]) for name in ("p50_us", "p99_us", "p999_us"))
            row = (_KINDS[kind["kind"]], plain(kind["requests"]), f"{requests:,.0f}", size(moved), *quantiles)
            shown.add_row(*row)
    return shown


def _caption(snapshot: Snapshot, before: Snapshot | None) -> str:
    """What the table's columns are, and the drive's facts, in lines that break between them."""
    when = "just now" if before else "since the start"
    lines = [f"rates {when}, by the wall clock; latencies simulated, since the start"]
    for fact in _facts(snapshot):
        joined = f"{lines[-1]}; {fact}"
        if len(lines) == 1 or len(joined) > _WIDTH:
            lines.append(fact)
        else:
            lines[-1] = joined
    return "\n".join(lines)


def facts(snapshot: Snapshot) -> str:
    """The drive in a line: clocks, drift, write amplification, energy and what failed."""
    return "; ".join(_facts(snapshot))


def _facts(snapshot: Snapshot) -> list[str]:
    drift, drive = snapshot["drift"], snapshot["drive"]
    parts = [
        f"simulated {duration(snapshot['simulated_s'] * 1e9)} in {duration(snapshot['wall_s'] * 1e9)}",
        f"in flight {plain(snapshot['in_flight'])}",
        f"write amplification {ratio(snapshot['write_amplification'])}",
        f"energy {energy(drive['energy_pj'])}",
    ]
    if drift["max_us"] > 0:
        late = (_microseconds(drift[name]) for name in ("p50_us", "p99_us", "max_us", "behind_us"))
        parts.append("drift p50 {}, p99 {}, max {}; behind {}".format(*late))
    failed = sum(kind["failed"] for kind in snapshot["kinds"])
    if failed:
        parts.append(f"failed {plain(failed)}")
    return parts


def log_line(snapshot: Snapshot, before: Snapshot | None) -> str:
    """A line for a log: rates since the snapshot before, simulated latencies, and the drive's facts."""
    rates = Rates(snapshot, before)
    parts = []
    for kind, requests, moved in zip(snapshot["kinds"], rates.requests, rates.bytes, strict=True):
        if kind["requests"]:
            what = f"{_KINDS[kind['kind']]} {requests:,.0f}/s {size(moved)}/s"
            parts.append(f"{what} p99 {_microseconds(kind['latency']['p99_us'])}")
    return "; ".join([*parts, facts(snapshot)])


def json_line(snapshot: Snapshot) -> str:
    """The snapshot as one line of JSON, without lists by channel, die and tenant."""
    drive = {key: value for key, value in snapshot["drive"].items() if key not in _LISTS}
    return json.dumps({**snapshot, "drive": drive}, allow_nan=False)


def _microseconds(value: float) -> str:
    return duration(value * 1e3)


def prometheus(snapshot: Snapshot) -> str:
    """The figures in the text format of Prometheus, version 0.0.4."""
    lines: list[str] = []

    def add(name: str, kind: str, what: str, values: Mapping[str, float]) -> None:
        lines.append(f"# HELP bitline_{name} {what}")
        lines.append(f"# TYPE bitline_{name} {kind}")
        lines.extend(f"bitline_{name}{labels} {value}" for labels, value in values.items())

    kinds, drift, drive = snapshot["kinds"], snapshot["drift"], snapshot["drive"]
    for field, name, what in (
        ("requests", "requests_total", "Requests that have ended."),
        ("failed", "requests_failed_total", "Requests that have failed."),
        ("bytes", "bytes_total", "Bytes moved by requests that have not failed."),
    ):
        add(name, "counter", what, {f'{{kind="{kind["kind"]}"}}': kind[field] for kind in kinds})
    latencies = {
        f'{{kind="{kind["kind"]}",quantile="{quantile}"}}': kind["latency"][field] / 1e6
        for kind in kinds
        for quantile, field in (("0.5", "p50_us"), ("0.99", "p99_us"), ("0.999", "p999_us"))
    }
    add("latency_seconds", "gauge", "Simulated latencies since the drive is served.", latencies)
    add("in_flight", "gauge", "Requests that are under way.", {"": snapshot["in_flight"]})
    add("wall_seconds", "counter", "Time since the drive is served.", {"": snapshot["wall_s"]})
    add("simulated_seconds", "counter", "Simulated time since then.", {"": snapshot["simulated_s"]})
    late = {f'{{quantile="{q}"}}': drift[f] / 1e6 for q, f in (("0.5", "p50_us"), ("0.99", "p99_us"))}
    add("drift_seconds", "gauge", "How late completions were told.", late)
    add("behind_seconds", "gauge", "How far simulated time is behind.", {"": drift["behind_us"] / 1e6})
    if snapshot["write_amplification"] is not None:
        written = {"": snapshot["write_amplification"]}
        add("write_amplification", "gauge", "Bytes programmed over bytes that hosts wrote.", written)
    add("energy_joules_total", "counter", "Energy spent since power-up.", {"": drive["energy_pj"] / 1e12})
    flash = {f'{{operation="{name}"}}': drive["flash"][f"page_{name}s"] for name in ("read", "program")}
    add("flash_operations_total", "counter", "Pages read and programmed.", flash)
    return "\n".join(lines) + "\n"


class Shown:
    """Shows what a drive does: as a table, JSON lines or lines of a log, whichever fits."""

    def __init__(self, title: str, *, as_json: bool) -> None:
        self._title, self._as_json = title, as_json
        self._before: Snapshot | None = None
        self._live: Any = None
        self._said = 0.0

    @contextmanager
    def going(self) -> Iterator[Callable[[Snapshot], None]]:
        """Show while the block runs; the yielded function is called with snapshots."""
        if self._as_json or not sys.stdout.isatty():
            yield self._line
            return
        from rich.live import Live

        with Live(auto_refresh=False) as self._live:
            yield self._table
        self._live = None

    def say(self, line: str) -> None:
        """Say something besides the figures, on the standard error or above the table."""
        if self._live is not None:
            self._live.console.print(line, soft_wrap=True, markup=False, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def _table(self, snapshot: Snapshot) -> None:
        self._live.update(table(self._title, snapshot, self._before), refresh=True)
        self._before = snapshot

    def _line(self, snapshot: Snapshot) -> None:
        from bitline.cli.output import say

        if self._as_json:
            say(json_line(snapshot))
            return
        # A log is quiet while nothing happens, and says no more than a line in ten seconds.
        was = self._before
        is_same = was is not None and was["kinds"] == snapshot["kinds"]
        if not is_same and time.monotonic() - self._said >= 10:
            say(log_line(snapshot, was))
            self._before, self._said = snapshot, time.monotonic()
