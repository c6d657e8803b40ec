"""What commands that serve a drive share: their options, and what they do until somebody ends them."""

import json
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Protocol

import typer

from bitline.cli.endpoint import address, check_free, endpoint
from bitline.cli.live import Shown, Snapshot, prometheus
from bitline.cli.options import destination, distinct
from bitline.cli.signals import Signals
from bitline.errors import UsageError

#: 2,048 connections, and what else is open.
_FILES = 2048 + 64
#: Seconds between two looks at the drive.
_INTERVAL_S = 1.0
#: Seconds that Ctrl-C may have to wait.
_PATIENCE_S = 0.2

NewImage = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="The drive's image, which is made if it does not exist; without one the drive is in memory.",
        show_default=False,
    ),
]
Pace = Annotated[
    str,
    typer.Option(
        "--pace",
        metavar="PACE",
        help="none: as fast as it can be simulated; real: requests end when their simulated time has"
        " passed; or a factor such as 10x.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write a trace for Perfetto (ui.perfetto.dev) at the end; memory grows with every request.",
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="ADDRESS:PORT", help="Serve figures for Prometheus there, at /metrics."
    ),
]
MetricsAnywhere = Annotated[
    bool, typer.Option("--metrics-anywhere", help="Let --metrics be an address that others can reach.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print a JSON object a second, one a line, instead of a table.")
]


class ServedDrive(Protocol):
    """A drive that is served, as a file or to hosts."""

    def snapshot(self) -> str:
        """What it has done since it is served, as JSON."""

    def greeting(self) -> Iterable[str]:
        """What is said once it is served: where it is."""

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds or less; whether it is still served."""


def may_listen(text: str, *, anywhere: bool | None) -> None:
    """Refuse a place for hosts that is no address, that others reach unasked, or that is taken.

    Raises:
        UsageError: It is that.
    """
    place = address("--listen", text, "read and write the drive", anywhere=anywhere)
    # Told before an image is made.
    check_free("--listen", place)


def metrics_place(metrics: str | None, *, anywhere: bool) -> tuple[str, int] | None:
    """Where figures are to be served, if anywhere.

    Raises:
        UsageError: It is no address, none of this machine alone although it has to be, or taken.
    """
    if metrics is not None:
        place = address("--metrics", metrics, "read this", anywhere=anywhere)
        # Told before anything is made.
        check_free("--metrics", place)
        return place
    if anywhere:
        raise UsageError("--metrics-anywhere says where --metrics may be; give that, too")
    return None


def check_files(image: Path | None, trace: Path | None) -> None:
    """Refuse a trace that cannot be written, or that would be written over the image.

    Raises:
        UsageError: It is that.
    """
    distinct(("the image", image), ("--trace", trace))
    if trace is not None:
        destination("--trace", trace)


def allow_connections() -> None:
    """Let this process have a file open for each connection, as far as it may: often 1,024 are allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def show_until_ended(
    served: ServedDrive, shown: Shown, signals: Signals, metrics: tuple[str, int] | None
) -> None:
    """Show what a drive does until there is a signal, or it is not served any more.

    Args:
        served: The drive.
        shown: Where it is shown.
        signals: Those that end it.
        metrics: Where figures are served meanwhile, if anywhere.
    """

    def snapshot() -> Snapshot:
        found: Snapshot = json.loads(served.snapshot())
        return found

    with endpoint(metrics, lambda: prometheus(snapshot())) as url, shown.going() as show:
        for line in served.greeting():
            shown.say(line)
        if url is not None:
            shown.say(f"figures at {url}")
        waited = 0.0
        while not signals.count and served.wait(_PATIENCE_S):
            waited += _PATIENCE_S
            if waited >= _INTERVAL_S:
                show(snapshot())
                waited = 0.0
        show(snapshot())
