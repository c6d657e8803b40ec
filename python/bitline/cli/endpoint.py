"""An HTTP endpoint with the figures of a served drive, which Prometheus reads."""

import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bitline.errors import BitlineError, UsageError

#: What the text format of Prometheus is called over HTTP.
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def address(option: str, text: str, risk: str, *, anywhere: bool | None) -> tuple[str, int]:
    """Host and port of an option such as 127.0.0.1:9100 or [::1]:9100.

    Args:
        option: Its name.
        text: What it was given.
        risk: What others could do, if they reached that.
        anywhere: Whether they may; None if no option says so.

    Raises:
        UsageError: It is no address, or none of this machine alone although it has to be.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        example = text if text.isdecimal() else "9100"
        raise UsageError(f"{option} {text}: give an address and a port, such as 127.0.0.1:{example}")
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise UsageError(f"{option} {text}: {host!r} is no IP address, such as 127.0.0.1") from None
    if not is_loopback and not anywhere:
        otherwise = "" if anywhere is None else f", or {option}-anywhere"
        raise UsageError(f"{option} {text}: others could {risk}; give 127.0.0.1 or the like{otherwise}")
    return host, int(port)


def check_free(option: str, where: tuple[str, int]) -> None:
    """Refuse an address that cannot be had.

    Args:
        option: The name of the option that says it.
        where: Host and port.

    Raises:
        UsageError: It cannot.
    """
    try:
        with socket.socket(_family(where[0])) as probe:
            # As the server does.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        raise _refused(option, where, error) from error


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _refused(option: str, where: tuple[str, int], error: OSError) -> UsageError:
    hint = "; give another port, or 0 for any that is free" if error.errno == errno.EADDRINUSE else ""
    return UsageError(f"{option} {where[0]}:{where[1]}: {error.strerror or error}{hint}")


@contextmanager
def endpoint(where: tuple[str, int] | None, text: Callable[[], str]) -> Iterator[str | None]:
    """Serve `text()` at /metrics while the block runs; yields the address, None if nothing is asked for.

    Raises:
        UsageError: The address cannot be had.
    """
    if where is None:
        yield None
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.split("?")[0] != "/metrics":
                self.send_error(HTTPStatus.NOT_FOUND, "the figures are at /metrics")
                return
            try:
                body = text().encode()
            except BitlineError as error:
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "the drive is gone", str(error))
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", _CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not a line for every look."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    host, port = where
    Server.address_family = _family(host)
    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise _refused("--metrics", where, error) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_address[1]}/metrics"
        server.shutdown()
        thread.join()
