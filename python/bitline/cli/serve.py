"""`bitline serve`: a drive that hosts connect to over NVMe/TCP, until Ctrl-C."""

from collections.abc import Iterator
from contextlib import contextmanager
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
from bitline.cli.signals import counted
from bitline.errors import InternalError, UsageError
from bitline.opening import served_configuration


def serve(
    image: NewImage = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Where to listen; may be given several times. Port 0 is any that is free.",
            show_default="127.0.0.1:4420, unless there is a --socket",
        ),
    ] = None,
    anywhere: Annotated[
        bool,
        typer.Option("--listen-anywhere", help="Let --listen be an address that others can reach: no TLS."),
    ] = False,
    socket: Annotated[
        Path | None,
        typer.Option(
            "--socket",
            metavar="FILE",
            help="Listen at a Unix-domain socket, and at no address unless there is a --listen.",
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NQN", help="A host that may connect, by its name; all may without."),
    ] = None,
    nqn: Annotated[
        str | None, typer.Option("--nqn", metavar="NQN", help="What the drive's subsystem is called.")
    ] = None,
    pace: Pace = "none",
    trace: Trace = None,
    metrics: Metrics = None,
    metrics_anywhere: MetricsAnywhere = False,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    as_json: JsonLines = False,
) -> None:
    """Serve a drive over NVMe/TCP, to Linux and to `bitline.connect`, until Ctrl-C or SIGTERM.

    There is no encryption (TLS), and a host's name is no proof of who it is: whoever reaches the address can
    read and write the drive. A new drive has logical pages of 4 KiB, as file systems have blocks, unless
    ftl.mapping_unit_bytes is given.
    """
    places = listen or ([] if socket else ["127.0.0.1:4420"])
    for text in places:
        may_listen(text, anywhere=anywhere)
    if anywhere and not listen:
        raise UsageError("--listen-anywhere says where --listen may be; give that, too")
    place = metrics_place(metrics, anywhere=metrics_anywhere)
    check_files(image, trace)
    wanted = served_configuration(preset, config, settings(set_), image)
    shown = Shown(f"{image or 'a drive in memory'}, pace {pace}", as_json=as_json)
    allow_connections()
    with counted() as signals:
        with _options_by_name():
            server = _bitline.Server(
                places, wanted, image, socket=socket, pace=pace, hosts=hosts, nqn=nqn, trace=trace
            )
        try:
            show_until_ended(_Listening(server, socket), shown, signals, place)
        finally:
            server.stop()
    if trace is not None:
        shown.say(f"wrote {trace}")


@contextmanager
def _options_by_name() -> Iterator[None]:
    """Have errors call options what they are called here."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        for theirs, ours in (("allowed_hosts = ", "--host "), ("subsystem_nqn = ", "--nqn ")):
            text = text.replace(theirs, ours)
        raise UsageError(text) from error


@dataclass(frozen=True)
class _Listening:
    """A drive that hosts connect to, as a `ServedDrive`."""

    server: _bitline.Server
    socket: Path | None

    def snapshot(self) -> str:
        return self.server.snapshot()

    def greeting(self) -> Iterator[str]:
        yield from (f"nvme+tcp://{at}" for at in self.server.addresses())
        if self.socket is not None:
            yield f"listening at {self.socket}"

    def wait(self, seconds: float) -> bool:
        """Wait; it is served as long as nobody stops it."""
        if not self.server.wait(seconds):
            raise InternalError("a thread of the server has ended by a bug of Bitline, as told above")
        return True
