"""`bitline serve`: a drive that hosts connect to over NVMe/TCP, until Ctrl-C."""

import json
from pathlib import Path
from typing import Annotated

import typer

from bitline import _bitline
from bitline.cli.endpoint import address, endpoint
from bitline.cli.live import Shown, Snapshot, prometheus
from bitline.cli.options import Config, Preset, Set, destination, distinct, settings
from bitline.cli.signals import counted
from bitline.errors import InternalError, UsageError
from bitline.opening import to_attach

#: Seconds between two looks at the drive.
_INTERVAL_S = 1.0
#: Seconds that Ctrl-C may have to wait.
_PATIENCE_S = 0.2


def serve(
    image: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="The drive's image, which is made if it does not exist; without one the drive is in memory.",
            show_default=False,
        ),
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Where to listen; may be given several times. Port 0 is any that is free.",
            show_default="127.0.0.1:4420",
        ),
    ] = None,
    anywhere: Annotated[
        bool,
        typer.Option("--listen-anywhere", help="Let --listen be an address that others can reach: no TLS."),
    ] = False,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="FILE", help="Listen at a Unix-domain socket besides."),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NQN", help="A host that may connect, by its name; all may without."),
    ] = None,
    nqn: Annotated[
        str | None, typer.Option("--nqn", metavar="NQN", help="What the drive's subsystem is called.")
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
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object a second, one a line, instead of a table.")
    ] = False,
) -> None:
    """Serve a drive over NVMe/TCP, to Linux and to `bitline.connect`, until Ctrl-C or SIGTERM.

    There is no encryption (TLS), and a host's name is no proof of who it is: whoever reaches the address can
    read and write the drive.
    """
    places = listen or ["127.0.0.1:4420"]
    for text in places:
        address("--listen", text, "read and write the drive", anywhere=anywhere)
    if anywhere and not listen:
        raise UsageError("--listen-anywhere says where --listen may be; give that, too")
    where = None if metrics is None else address("--metrics", metrics, "read this", anywhere=metrics_anywhere)
    if metrics_anywhere and metrics is None:
        raise UsageError("--metrics-anywhere says where --metrics may be; give that, too")
    distinct(("the image", image), ("--trace", trace))
    if trace is not None:
        destination("--trace", trace)
    wanted = to_attach(preset, config, settings(set_), image)
    shown = Shown(f"{image or 'a drive in memory'}, pace {pace}", as_json=as_json)
    with counted() as signals:
        server = _bitline.Server(
            places, wanted, image, socket=socket, pace=pace, hosts=hosts, nqn=nqn, trace=trace
        )
        try:
            with endpoint(where, lambda: prometheus(_snapshot(server))) as url, shown.going() as show:
                for place in server.addresses():
                    shown.say(f"nvme+tcp://{place}")
                if socket is not None:
                    shown.say(f"listening at {socket}")
                if url is not None:
                    shown.say(f"figures at {url}")
                waited = 0.0
                while not signals.count:
                    if not server.wait(_PATIENCE_S):
                        raise InternalError(
                            "a thread of the server has ended by a bug of Bitline, as told above"
                        )
                    waited += _PATIENCE_S
                    if waited >= _INTERVAL_S:
                        show(_snapshot(server))
                        waited = 0.0
                show(_snapshot(server))
        finally:
            server.stop()
    if trace is not None:
        shown.say(f"wrote {trace}")


def _snapshot(server: _bitline.Server) -> Snapshot:
    found: Snapshot = json.loads(server.snapshot())
    return found
