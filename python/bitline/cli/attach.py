"""`bitline attach`: a drive as a file of Linux, or mounted, until Ctrl-C or `umount`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bitline import _bitline
from bitline.cli.live import Shown
from bitline.cli.options import Config, Preset, Set, settings
from bitline.cli.serving import (
    JsonLines,
    Metrics,
    MetricsAnywhere,
    NewImage,
    Pace,
    Trace,
    allow_connections,
    check_files,
    may_listen,
    metrics_place,
    show_until_ended,
)
from bitline.cli.signals import Signals, counted
from bitline.display.formats import size
from bitline.errors import BitlineError, BusyError, InternalError
from bitline.opening import served_configuration


def attach(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where it is to be: an existing folder.", show_default=False)
    ],
    image: NewImage = None,
    mount: Annotated[
        str | None,
        typer.Option(
            "--mount",
            metavar="FILESYSTEM",
            help="Mount ext4 or xfs there, made if the drive is blank, instead of the drive's file.",
        ),
    ] = None,
    pace: Pace = "none",
    trace: Trace = None,
    metrics: Metrics = None,
    metrics_anywhere: MetricsAnywhere = False,
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
    as_json: JsonLines = False,
) -> None:
    """Serve a drive to Linux: DIR/drive is its data, on which a loop device carries any file system.

    With --mount, all steps are done, and undone at the end. It ends with Ctrl-C, SIGTERM, or `umount DIR`.
    Needs root, or fusermount3 without --mount. A new drive has logical pages of 4 KiB, as file systems have
    blocks, unless ftl.mapping_unit_bytes is given.
    """
    place = metrics_place(metrics, anywhere=metrics_anywhere)
    for text in listen or ():
        may_listen(text, anywhere=None)
    check_files(image, trace)
    wanted = served_configuration(preset, config, settings(set_), image)
    shown = Shown(f"{image or 'a drive in memory'} at {folder}, pace {pace}", as_json=as_json)
    if listen or socket:
        allow_connections()
    with counted() as signals:
        attachment = _bitline.Attachment(
            folder, wanted, image, pace=pace, mount=mount, trace=trace, listen=listen or (), socket=socket
        )
        try:
            data = folder if mount else attachment.file()
            show_until_ended(_Attached(attachment, folder, data, shown), shown, signals, place)
        finally:
            _stop(attachment, shown, signals)
            for line in attachment.notes():
                shown.say(line)
    if trace is not None:
        shown.say(f"wrote {trace}")


@dataclass(frozen=True)
class _Attached:
    """A drive that is attached, as a `ServedDrive`."""

    attachment: _bitline.Attachment
    folder: Path
    data: Path
    """Its file, or the folder where that is mounted."""
    shown: Shown

    def snapshot(self) -> str:
        return self.attachment.snapshot()

    def greeting(self) -> Iterator[str]:
        yield from self.attachment.notes()
        yield f"{self.data}: {size(self.attachment.bytes())}; Ctrl-C or umount {self.folder} ends it"
        yield from (f"nvme+tcp://{at}" for at in self.attachment.addresses())

    def wait(self, seconds: float) -> bool:
        """Wait, and say what there is to say; whether it is still attached."""
        state = self.attachment.wait(seconds)
        for line in self.attachment.notes():
            self.shown.say(line)
        if state == "ended":
            raise InternalError("a thread of the drive has ended by a bug of Bitline, as told above")
        if state == "aborted":
            raise BitlineError(
                f"{self.folder}: somebody had the kernel abort its connection, as `umount -f` does"
            )
        if state == "unmounted":
            self.shown.say("it was unmounted")
        return state == "attached"


def _stop(attachment: _bitline.Attachment, shown: Shown, signals: Signals) -> None:
    """Undo everything. What is used is waited for, until there is another signal after that was told."""
    seen, has_told = 0, False
    while True:
        by_force = has_told and signals.count > seen
        try:
            attachment.stop(force=by_force)
        except BusyError as error:
            if by_force:
                raise
            if not has_told:
                seen, has_told = signals.count, True
                shown.say(f"{error}: waiting until not; Ctrl-C again unmounts all the same")
        else:
            return
