"""`bitline serve`, and hosts that connect to it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL_OPTIONS
from numpy.typing import NDArray

import bitline
from bitline.errors import BitlineError, UsageError


@contextmanager
def served(
    *options: str | Path, listen: tuple[str, ...] = ("--listen", "127.0.0.1:0")
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own process, and the first place that it says it listens at."""
    command = [sys.executable, "-m", "bitline", "serve", *listen, *map(str, options)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as server:
        assert server.stderr is not None
        told = server.stderr.readline().strip()
        try:
            places = ("nvme+tcp://127.0.0.1:", "listening at ")
            assert told.startswith(places), told + server.stderr.read()
            yield server, told
        finally:
            if server.poll() is None:
                server.kill()


def end(server: subprocess.Popen[str]) -> str:
    """Ctrl-C; what it has printed."""
    server.send_signal(signal.SIGINT)
    printed, said = server.communicate(timeout=60)
    assert server.returncode == 0, said
    return printed


def bits(byte: int) -> NDArray[np.bool_]:
    """A vector of 512 bytes that are all the same."""
    return np.unpackbits(np.full(512, byte, np.uint8)).astype(bool)


def test_a_drive_is_used_from_another_process_and_kept(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with served(image, *SMALL_OPTIONS) as (server, address):
        with bitline.connect(address) as drive:
            drive.write(3, b"x" * 4096)
            drive.flush()
            columns = drive.group("columns").write([bits(0x0F), bits(0x3C)])
            assert drive.read(3, 1) == b"x" * 4096
            assert (columns[0] & columns[1]).count() == 512 * 2
        # Another host finds what the first has left.
        with bitline.connect(address) as drive:
            assert drive.read(3, 1) == b"x" * 4096
        end(server)
    with bitline.open(path=image, create=False) as drive:
        assert drive.read(3, 1) == b"x" * 4096


def ports(process: int) -> set[str]:
    """At which ports a process listens, as the kernel's tables have them."""
    sockets = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            sockets.add(os.readlink(descriptor))
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
    ]
    # TCP_LISTEN is 0A; the tenth column is the socket's number.
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def test_a_server_at_a_socket_has_no_port(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    at_socket = served("--socket", place, *SMALL_OPTIONS, listen=())
    with served(*SMALL_OPTIONS) as (at_port, _), at_socket as (server, told):
        assert told == f"listening at {place}"
        assert place.stat().st_mode & 0o777 == 0o600
        with bitline.connect(f"nvme+unix://{place}") as drive:
            drive.write(1, b"x" * 4096)
            assert drive.read(1, 1) == b"x" * 4096
        assert len(ports(at_port.pid)) == 1
        assert not ports(server.pid)


def test_what_was_flushed_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with served(image, *SMALL_OPTIONS) as (server, address):
        drive = bitline.connect(address)
        drive.write(0, b"kept" * 1024)
        drive.flush()
        server.kill()
        server.wait()
        with pytest.raises((BitlineError, ConnectionError)):
            drive.read(0, 1)
    with bitline.open(path=image, create=False) as drive:
        assert drive.read(0, 1) == b"kept" * 1024


def test_lines_and_a_trace_tell_what_hosts_do(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with served("--json", "--trace", trace, *SMALL_OPTIONS) as (server, address):
        with bitline.connect(address) as drive:
            drive.write(0, bytes(8192))
            drive.read(0, 2)
            time.sleep(1.5)
        printed = end(server)
    last = json.loads(printed.splitlines()[-1])
    kinds = {kind["kind"]: kind for kind in last["kinds"]}
    assert kinds["write"]["bytes"] >= 8192
    assert kinds["read"]["latency"]["p50_us"] > 0
    assert last["server"]["connects_refused"] == 0
    assert json.loads(trace.read_text())["traceEvents"]


def test_only_hosts_of_the_list_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "nqn.2026-11.io.example:somebody"
    with served("--host", name, *SMALL_OPTIONS) as (_, address):
        with pytest.raises((BitlineError, ConnectionError), match=r"Connect Invalid Host .*BITLINE_HOST_NQN"):
            bitline.connect(address)
        with monkeypatch.context() as change:
            change.setenv("BITLINE_HOST_NQN", name)
            with bitline.connect(address) as drive:
                assert drive.read(0, 1) == bytes(4096)
        with bitline.connect(address, host_nqn=name) as drive:
            assert drive.read(0, 1) == bytes(4096)
        with pytest.raises(ConnectionError, match="is there a drive of that name"):
            bitline.connect(f"{address}/nqn.2026-11.io.example:other", host_nqn=name)


@pytest.mark.parametrize("option", ["--host", "--nqn"])
def test_names_that_are_none_are_refused_by_the_name_of_the_option(option: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bitline", "serve", option, "somebody", *SMALL_OPTIONS],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2
    assert run.stderr.startswith(f'error: {option} "somebody": an NVMe qualified name')


@pytest.mark.parametrize("place", ["0.0.0.0:4420", "nowhere", "127.0.0.1", "127.0.0.1:99999", "host:1"])
def test_places_that_others_reach_or_that_are_none_are_refused(place: str) -> None:
    from bitline.cli.endpoint import address

    with pytest.raises(UsageError, match="--listen"):
        address("--listen", place, "read and write the drive", anywhere=False)


def test_a_server_is_no_place_for_a_drive_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "no.img").write_bytes(b"no image" * 100)
    command = [sys.executable, "-m", "bitline", "serve", str(tmp_path / "no.img")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "no.img" in done.stderr
