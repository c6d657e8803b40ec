"""`bitline attach`: a drive as a file of Linux, or mounted, until Ctrl-C or `umount`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bitline import _bitline
from bitline.cli.endpoint import address, endpoint
from bitline.cli.live import Shown, Snapshot, prometheus
from bitline.cli.options import Config, Preset, Set, destination, distinct, settings
from bitline.cli.signals import Signals, counted
from bitline.display.formats import size
from bitline.errors import BusyError, InternalError, UsageError
from bitline.opening import to_attach

#: Seconds between two looks at the drive.
_INTERVAL_S = 1.0
#: Seconds that Ctrl-C may have to wait.
_PATIENCE_S = 0.2


def attach(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where it is to be: an existing folder.", show_default=False)
    ],
    image: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="The drive's image, which is made if it does not exist; without one the drive is in memory.",
            show_default=False,
        ),
    ] = None,
    mount: Annotated[
        str | None,
        typer.Option(
            "--mount",
            metavar="FILESYSTEM",
            help="Mount ext4 or xfs there, made if the drive is blank, instead of the drive's file.",
        ),
    ] = None,
    pace: Annotated[
        str,
        typer.Option(
            "--pace",
            metavar="PACE",
            help="none: as fast as it can be simulated; real: requests end when their simulated time has"
            " passed; or a factor such as 10x.",
        ),
    ] = "none",
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write a trace for Perfetto (ui.perfetto.dev) at the end; memory grows with every request.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", metavar="ADDRESS:PORT", help="Serve figures for Prometheus there, at /metrics."
        ),
    ] = None,
    metrics_anywhere: Annotated[
        bool, typer.Option("--metrics-anywhere", help="Let --metrics be an address that others can reach.")
    ] = False,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Let hosts of this machine connect over NVMe/TCP besides, to run tasks on files"
            " (bitline.mounted); may be given several times.",
            show_default=False,
        ),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="FILE", help="The same, at a Unix-domain socket."),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a second, one a line, instead of a table.")
    ] = False,
) -> None:
    """Serve a drive to Linux: DIR/drive is its data, on which a loop device carries any file system.

    With --mount, all steps are done, and undone at the end. It ends with Ctrl-C, SIGTERM, or `umount DIR`.
    Needs root, or fusermount3 without --mount.
    """
    where = None if metrics is None else address("--metrics", metrics, "read this", anywhere=metrics_anywhere)
    if metrics_anywhere and metrics is None:
        raise UsageError("--metrics-anywhere says where --metrics may be; give that, too")
    for text in listen or ():
        address("--listen", text, "read and write the drive", anywhere=None)
    distinct(("the image", image), ("--trace", trace))
    if trace is not None:
        destination("--trace", trace)
    wanted = to_attach(preset, config, settings(set_), image)
    shown = Shown(f"{image or 'a drive in memory'} at {folder}, pace {pace}", as_json=as_json)
    with counted() as signals:
        attachment = _bitline.Attachment(
            folder, wanted, image, pace=pace, mount=mount, trace=trace, listen=listen or (), socket=socket
        )
        try:
            with endpoint(where, lambda: prometheus(_snapshot(attachment))) as url, shown.going() as show:
                for line in attachment.notes():
                    shown.say(line)
                what = folder if mount else attachment.file()
                shown.say(f"{what}: {size(attachment.bytes())}; Ctrl-C or umount {folder} ends it")
                for place in attachment.addresses():
                    shown.say(f"nvme+tcp://{place}")
                if url is not None:
                    shown.say(f"figures at {url}")
                _watch(attachment, shown, show, signals)
        finally:
            _stop(attachment, shown, signals)
            for line in attachment.notes():
                shown.say(line)
    if trace is not None:
        shown.say(f"wrote {trace}")


def _snapshot(attachment: _bitline.Attachment) -> Snapshot:
    found: Snapshot = json.loads(attachment.snapshot())
    return found


def _watch(
    attachment: _bitline.Attachment, shown: Shown, show: Callable[[Snapshot], None], signals: Signals
) -> None:
    """Show what the drive does until somebody ends it."""
    state, waited = "attached", 0.0
    while not signals.count:
        state = attachment.wait(_PATIENCE_S)
        waited += _PATIENCE_S
        for line in attachment.notes():
            shown.say(line)
        if state != "attached":
            break
        if waited >= _INTERVAL_S:
            show(_snapshot(attachment))
            waited = 0.0
    if state == "ended":
        raise InternalError("the drive's thread has ended by a bug of Bitline, of which it has told above")
    if state == "unmounted":
        shown.say("it was unmounted")
    show(_snapshot(attachment))


def _stop(attachment: _bitline.Attachment, shown: Shown, signals: Signals) -> None:
    """Undo everything. What somebody uses is waited for, until there is another signal."""
    seen, has_told = signals.count, False
    while True:
        try:
            attachment.stop(force=signals.count > seen)
        except BusyError as error:
            if signals.count > seen:
                raise
            if not has_told:
                shown.say(f"{error}: waiting until not; Ctrl-C again unmounts all the same")
                has_told = True
        else:
            return
