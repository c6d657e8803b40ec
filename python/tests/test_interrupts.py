"""Ctrl-C: every call that takes long ends within half a second, and the drive is what it says it is."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

#: From the signal to the exception, in seconds of a processor: on a machine with nothing else to do, these
#: are seconds of the clock. A call that goes on for ever is killed after a while.
_MOST_SECONDS = 0.5
_KILLED_AFTER = 60
#: What a program does afterwards, such as a power-up during a format, may take longer.
_KILLED_AFTER_THE_REST = 300

#: What the parts have in common: a drive, and a call that says when it begins and how it ended.
_PREAMBLE = """
import os, signal, sys, time
import numpy as np
import bitline

# Python leaves it alone where it was ignored before, as it is in jobs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = {
    "nand.geometry.channels": 2, "nand.geometry.chips_per_channel": 2, "nand.geometry.blocks_per_plane": 64,
    "ftl.gc.threshold_blocks": 4, "nand.geometry.page_bytes": 16384,
}

#: Erasing takes as many rounds as a plane has blocks.
MANY_BLOCKS = {
    **SMALL, "nand.geometry.blocks_per_plane": 8192, "nand.geometry.strings_per_block": 1,
    "nand.geometry.cells_per_string": 8,
}

# A name of the package is looked up before the call that is interrupted, for its module is imported then:
# where Ctrl-C comes while that runs code from a string, as dataclasses do, Python ends by it, caught or not.
def interrupted(call):
    print("begins", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", os.times().user, flush=True)
        return
    print("was done already", flush=True)
"""


def _processor_seconds(process: int) -> float:
    """What a process itself has used so far, as its own `os.times().user` tells it.

    Without the system's share: what fresh memory takes there differs by several times from run to run.
    """
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[11]) / os.sysconf("SC_CLK_TCK")


def _interrupt(body: str, tmp_path: Path, delay: float = 0.1) -> tuple[float, str]:
    """Runs a program and sends SIGINT after it says that it begins; seconds that took, and what it said."""
    program = tmp_path / "program.py"
    program.write_text(_PREAMBLE + textwrap.dedent(body))
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "image")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # NumPy's own threads spin for a while when they begin, and would be counted.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as running:
        assert running.stdout is not None
        guard = threading.Timer(_KILLED_AFTER, running.kill)
        guard.start()
        said = running.stdout.readline()
        assert said == "begins\n", said + running.stdout.read()
        time.sleep(delay)
        sent = _processor_seconds(running.pid)
        running.send_signal(signal.SIGINT)
        end = running.stdout.readline()
        guard.cancel()
        guard = threading.Timer(_KILLED_AFTER_THE_REST, running.kill)
        guard.start()
        said = end + running.stdout.read()
        guard.cancel()
    assert running.returncode == 0, said
    word, _, at = end.partition(" ")
    assert word == "interrupted", said
    return float(at) - sent, said


_CALLS = {
    "read": """
        drive = bitline.open(data="none")
        interrupted(lambda: drive.read(0, 900_000))
        drive.verify(0, 10)
    """,
    "write": """
        drive = bitline.open(data="none")
        data = bytes(1 << 30)
        def for_ever():
            while True:
                drive.write(0, data)
        interrupted(for_ever)
        drive.flush()
    """,
    "format": """
        drive = bitline.open(data="none", set={**SMALL, "nand.geometry.blocks_per_plane": 2048})
        drive.media.precondition()
        interrupted(lambda: drive.admin.format(4096))
        # The drive ends what it began; until then it says so.
        for _ in range(1000):
            try:
                drive.write(0, bytes(4096))
                break
            except bitline.NvmeError as error:
                assert error.status == "Format In Progress", error
        drive.power_cut()
        drive.power_up()
        drive.write(0, bytes(4096))
    """,
    "sanitize": """
        drive = bitline.open(data="none", set=MANY_BLOCKS)
        drive.media.precondition()
        interrupted(drive.admin.sanitize)
        try:
            drive.write(0, bytes(4096))
        except bitline.NvmeError as error:
            assert error.status == "Sanitize In Progress", error
        else:
            raise AssertionError("it is over already")
    """,
    "power_up": """
        drive = bitline.open(data="none", set={**SMALL, "nand.geometry.blocks_per_plane": 512})
        drive.media.precondition()
        drive.power_cut()
        interrupted(drive.power_up)
        try:
            drive.read(0)
        except bitline.UsageError as error:
            assert "no power" in str(error), error
        else:
            raise AssertionError("it has power")
    """,
    "open": """

        with bitline.open(path=sys.argv[1], set={**SMALL, "nand.geometry.blocks_per_plane": 64}) as drive:
            drive.media.precondition()
        interrupted(lambda: bitline.open(path=sys.argv[1]))
    """,
    "flush": """
        cache = {"cache.mode": "write", "cache.write_back": "lazy", "cache.capacity_bytes": 1 << 31}
        drive = bitline.open(data="none", set={**SMALL, **cache})
        data = bytes(1 << 28)
        def for_ever():
            while True:
                drive.write(0, data)
                drive.flush()
        interrupted(for_ever)
        drive.verify(0, 1)
    """,
    "close": """
        drive = bitline.open(data="none", set=MANY_BLOCKS)
        drive.media.precondition()
        def ring(*_):
            raise TimeoutError
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            drive.admin.sanitize()
        except TimeoutError:
            pass
        # It goes on in the background; closing waits for its end.
        interrupted(drive.close)
        assert drive.now.ns > 0
    """,
    "run": """
        drive = bitline.open(data="none", set=SMALL)
        interrupted(lambda: drive.measure(bitline.Flow(requests=10**9)))
        drive.verify(0, 1)
    """,
    "read_packed": """
        drive = bitline.open(data="none")
        # A result that is there is copied to the end; this one is a quarter of a GiB.
        vectors = drive.group("g").place(2, bits=1 << 31)
        def for_ever():
            while True:
                (vectors[0] & vectors[1]).read_packed()
        interrupted(for_ever)
        drive.verify(0, 1)
    """,
    "advise": """
        terms = [" & ".join(f"v{(7 * term + i) % 400}" for i in range(8)) for term in range(200)]
        asked = [" | ".join(f"({term})" for term in terms), " | ".join(f"({term})" for term in terms[3:90])]
        advise = bitline.advise
        interrupted(lambda: advise(asked))
    """,
    "write_trace": """
        drive = bitline.open(data="none", set=SMALL)
        drive.tracing.restart()
        drive.measure(bitline.Flow(requests=300_000))
        interrupted(lambda: drive.tracing.write(sys.argv[1]))
        drive.verify(0, 1)
    """,
}


@pytest.mark.parametrize("name", [*_CALLS])
def test_control_c_ends_a_call_within_half_a_second(name: str, tmp_path: Path) -> None:
    took, said = _interrupt(_CALLS[name], tmp_path)
    assert took < _MOST_SECONDS, f"{name} took {took:.2f} s: {said}"


def test_what_was_acknowledged_before_is_there_and_later_writes_win(tmp_path: Path) -> None:
    """A write that was interrupted does not go on behind the back of the next one."""
    _interrupt(
        """
        drive = bitline.open(set={**SMALL, "nand.geometry.blocks_per_plane": 256})
        rng = np.random.default_rng(1)
        kept = rng.bytes(1 << 20)
        blocks = len(kept) // 4096
        drive.write(drive.blocks - blocks, kept)
        old, new = b"o" * (256 << 20), b"n" * (1 << 20)
        def for_ever():
            while True:
                drive.write(0, old)
        interrupted(for_ever)
        drive.write(0, new)
        # Whatever was in flight has come to its end by then.
        for _ in range(50):
            drive.verify(0, blocks)
        assert drive.read(0, blocks) == new
        assert drive.read(drive.blocks - blocks, blocks) == kept
        drive.power_cut()
        drive.power_up()
        assert drive.read(drive.blocks - blocks, blocks) == kept
        """,
        tmp_path,
    )


def test_an_interrupted_power_up_loses_nothing(tmp_path: Path) -> None:
    _interrupt(
        """
        drive = bitline.open(path=sys.argv[1], set={"nand.geometry.page_bytes": 4096})
        kept = np.random.default_rng(2).bytes(4 << 20)
        drive.write(0, kept)
        def for_ever():
            while True:
                drive.power_cut()
                drive.power_up()
        interrupted(for_ever)
        drive.power_up()
        assert drive.read(0, len(kept) // 4096) == kept
        """,
        tmp_path,
    )
