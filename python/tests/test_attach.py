"""Drives that Linux mounts. Where nothing can be mounted, these tests say so and are skipped."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from letters import SWAP, module
from mounts import mounting
from servers import Server

import bitline
from bitline.cli.attach import _stop
from bitline.cli.endpoint import address
from bitline.cli.live import facts, json_line, log_line, prometheus, table
from bitline.errors import BusyError, ImageError, UsageError
from bitline.opening import Setting, served_configuration

#: Roomy enough for the file systems, and quick to make them on.
OPTIONS = [
    text
    for pair in ("nand.geometry.blocks_per_plane=16", "ftl.gc.threshold_blocks=3")
    for text in ("--set", pair)
]


class Attached(Server):
    """`bitline attach` in a process of its own."""

    def __init__(self, at: Path, image: Path, *options: str) -> None:
        at.mkdir(exist_ok=True)
        self.at, self.image = at, image
        command = [sys.executable, "-m", "bitline", "attach", str(at), str(image), *options]
        if not image.exists():
            command += OPTIONS
        # Records of its own: another server would undo what is left of this one when it is killed.
        runtime = at.parent / "runtime"
        runtime.mkdir(exist_ok=True)
        super().__init__(command, at.parent, {**os.environ, "XDG_RUNTIME_DIR": str(runtime)})

    def ready(self) -> "Attached":
        """Wait until it serves."""
        self.until(lambda: " ends it" in self.errors())
        return self


@contextmanager
def attached(at: Path, image: Path, *options: str) -> Iterator[Attached]:
    """A server whose file or mount is there; ended with Ctrl-C."""
    server = Attached(at, image, *options)
    try:
        yield server.ready()
    except BaseException:
        server.end_by_force()
        raise
    server.end()


def left_behind(where: Path) -> list[str]:
    """What is mounted, or on a loop device, below a folder or of a server that ran there."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in mounts if str(where) in line]


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def check(image: Path, kind: str, tmp_path: Path) -> None:
    """Has the file system's own checker look at it, without the journal being needed."""
    with attached(tmp_path / "check", image):
        device = run(
            "losetup", "--direct-io=on", "--sector-size", 4096, "--find", "--show", tmp_path / "check/drive"
        ).strip()
        try:
            if kind == "ext4":
                run("e2fsck", "-fn", device)
            else:
                run("xfs_repair", "-n", device)
        finally:
            run("losetup", "--detach", device)
            run("udevadm", "settle") if shutil.which("udevadm") else time.sleep(0.2)


@mounting
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_tree_is_copied_and_found_again(kind: str, tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    source = Path(bitline.__file__).parent
    with attached(at, image, "--mount", kind) as server:
        shutil.copytree(source, at / "tree", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        assert f"made {kind}" in server.errors()
    assert not left_behind(tmp_path)
    check(image, kind, tmp_path)
    with attached(at, image, "--mount", kind) as server:
        assert f"found {kind}" in server.errors()
        run("diff", "-r", "-x", "*.so", "-x", "__pycache__", source, at / "tree")
    assert not left_behind(tmp_path)


@mounting
def test_files_of_a_mount_give_no_rights(tmp_path: Path) -> None:
    with attached(tmp_path / "at", tmp_path / "drive.img", "--mount", "ext4") as server:
        (mount,) = (line for line in left_behind(server.at) if " ext4 " in line)
        assert {"nosuid", "nodev"} <= {*mount.split()[5].split(",")}


@mounting
def test_another_file_system_is_left_as_it_is(tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    with attached(at, image, "--mount", "ext4"):
        (at / "kept").write_text("kept")
    server = Attached(at, image, "--mount", "xfs")
    server.ended(2)
    assert "the drive holds ext4, not xfs: it is left as it is" in server.errors()
    assert not left_behind(tmp_path)
    with attached(at, image, "--mount", "ext4"):
        assert (at / "kept").read_text() == "kept"


@mounting
def test_trimmed_blocks_are_the_drives_again(tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    with attached(at, image, "--mount", "ext4", "--json") as server:
        (at / "large").write_bytes(os.urandom(64 << 20))
        os.sync()
        (at / "large").unlink()
        run("sync", "-f", at)
        run("fstrim", at)
        del server
    with bitline.open(path=image, read_only=True) as drive:
        inventory = drive.media.inventory()
        assert inventory.mapped_pages * inventory.logical_page_bytes < 40 << 20


@mounting
@pytest.mark.parametrize("seed", range(3))
def test_what_is_synced_survives_a_crash_of_the_server(seed: int, tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    moment = random.Random(seed)
    with attached(at, image, "--mount", "ext4"):
        pass
    synced: dict[str, bytes] = {}
    server = Attached(at, image, "--mount", "ext4").ready()
    killed_at = time.monotonic() + 0.1 + moment.random()
    number = 0
    with suppress(OSError):
        while time.monotonic() < killed_at:
            data = moment.randbytes(moment.randrange(1, 100_000))
            name = f"{number % 20}"
            synced.pop(name, None)
            with (at / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.fsync(folder := os.open(at, os.O_RDONLY))
            os.close(folder)
            synced[name] = data
            number += 1
            if time.monotonic() >= killed_at:
                break
    (at / "unsynced").write_bytes(bytes(1000))
    server.kill()
    assert synced
    with attached(at, image, "--mount", "ext4") as server:
        assert "undone: what a server" in server.errors()
        for name, data in synced.items():
            assert (at / name).read_bytes() == data, name
    check(image, "ext4", tmp_path)
    assert not left_behind(tmp_path)


@mounting
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_undoes_everything(number: int, tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    server = Attached(at, image, "--mount", "ext4").ready()
    (at / "written").write_bytes(b"before the signal")
    server.end(number)
    assert not left_behind(tmp_path)
    assert not [
        line for line in run("losetup", "--list").splitlines() if "bitline" in line and "deleted" in line
    ]
    with attached(at, image, "--mount", "ext4"):
        assert (at / "written").read_bytes() == b"before the signal"


@mounting
def test_unmounting_ends_it(tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    server = Attached(at, image, "--mount", "ext4").ready()
    run("umount", at)
    server.ended()
    assert "it was unmounted" in server.errors()
    server = Attached(at, image).ready()
    run("umount", at)
    server.ended()
    assert not left_behind(tmp_path)


@mounting
def test_who_works_there_is_waited_for_and_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    image, at = tmp_path / "drive.img", tmp_path / "at"
    server = Attached(at, image, "--mount", "ext4").ready()
    with (at / "open").open("wb") as file:
        file.write(b"x" * 10_000)
        file.flush()
        server.send()
        server.until(lambda: "Ctrl-C again unmounts all the same" in server.errors())
        server.end()
        with suppress(OSError):
            file.write(b"y")
    assert not left_behind(tmp_path)
    with attached(at, image, "--mount", "ext4"):
        assert (at / "open").read_bytes() == b"x" * 10_000


@mounting
@pytest.mark.skipif(shutil.which("fio") is None, reason="SKIPPED: fio is not installed")
def test_fio_finds_what_it_wrote(tmp_path: Path) -> None:
    with attached(tmp_path / "at", tmp_path / "drive.img") as server:
        run(
            *("fio", "--name=verify", f"--filename={server.at}/drive", "--size=32M", "--rw=randwrite"),
            *("--bsrange=512-128k", "--bs_unaligned", "--iodepth=16", "--ioengine=libaio", "--verify=crc32c"),
            *("--verify_fatal=1", "--verify_state_save=0", "--fallocate=none", "--allow_file_create=0"),
        )


@mounting
def test_tasks_run_on_files_of_the_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where the server has its records.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    letters = bytes(random.Random(5).choices(b"abcdefgh", k=100_000))
    with attached(tmp_path / "m", tmp_path / "drive.img", "--mount", "ext4") as server:
        (server.at / "letters").write_bytes(letters)
        with bitline.mounted(server.at) as mount:
            assert mount.drive.address is not None
            address, _ = mount.drive.address.split("?")
            with pytest.raises(ImageError, match=f"of process [0-9]+; .* {re.escape(address)}$"):
                bitline.open(path=tmp_path / "drive.img")
            swapped = mount.run(module(SWAP), inputs=["letters"], outputs={"copy": len(letters)})
            assert swapped.status == "committed"
            assert (server.at / "copy").read_bytes() == letters.upper()
            assert mount.run(module(SWAP), updates=["letters"]).status == "committed"
        assert (server.at / "letters").read_bytes() == letters.upper()
        run("cmp", server.at / "letters", server.at / "copy")
    check(tmp_path / "drive.img", "ext4", tmp_path)
    assert not left_behind(tmp_path)


def test_new_drives_have_what_file_systems_want(tmp_path: Path) -> None:
    def made(
        preset: str | None, file: Path | None, settings: dict[str, Setting], image: Path | None = None
    ) -> tuple[int, str]:
        made = served_configuration(preset, file, settings, image)
        assert made is not None
        found = tomllib.loads(made.to_toml())
        return found["ftl"]["mapping_unit_bytes"], found["cache"]["mode"]

    def unit(
        preset: str | None, file: Path | None, settings: dict[str, Setting], image: Path | None = None
    ) -> int:
        return made(preset, file, settings, image)[0]

    key = "ftl.mapping_unit_bytes"
    file, image = tmp_path / "drive.toml", tmp_path / "drive.img"
    file.write_text("ftl.mapping_unit_bytes = 8192\n")
    assert unit(None, None, {}) == unit("flash-cosmos", None, {}) == unit(None, None, {}, image) == 4096
    assert unit(None, file, {}) == 8192
    assert unit(None, None, {key: 0}) == unit(None, None, {"ftl": {"mapping_unit_bytes": 0}}) == 0
    # No page of it can be divided so.
    assert unit(None, None, {"nand.geometry.page_bytes": 2048, "frontend.block_bytes": 512}) == 0
    assert made(None, None, {}) == (4096, "write")
    assert made(None, None, {"cache.mode": "off"}) == (4096, "off")
    assert made(None, None, {key: 0, "cache": {"mode": "read"}}) == (0, "read")
    bitline.open(path=image).close()
    assert served_configuration(None, None, {}, image) is None
    assert made("flash-cosmos", None, {}, image) == (0, "off")
    image.unlink()
    bitline.open(path=image, set={key: 4096, "cache.mode": "write"}).close()
    assert made("flash-cosmos", None, {}, image) == (4096, "write")
    assert made("flash-cosmos", None, {"cache.mode": "off"}, image) == (4096, "off")


@mounting
def test_files_with_parts_of_logical_pages_are_refused(tmp_path: Path) -> None:
    pages = ["--set", "ftl.mapping_unit_bytes=0"]
    with attached(tmp_path / "m", tmp_path / "drive.img", "--mount", "ext4", *pages) as server:
        (server.at / "letters").write_bytes(b"a" * 4096)
        with (
            bitline.mounted(server.at) as mount,
            pytest.raises(UsageError, match="mapping_unit_bytes = 4096"),
        ):
            mount.run(module(SWAP), updates=["letters"])
        assert (server.at / "letters").read_bytes() == b"a" * 4096


@mounting
def test_a_format_to_other_blocks_is_told_to_who_has_the_file_open(tmp_path: Path) -> None:
    """Blocks are elsewhere then, and shorter: what is not read or written must not be told to be."""
    with attached(tmp_path / "m", tmp_path / "drive.img") as server:
        control = json.loads((server.at / "about").read_text())["control"]
        file = os.open(server.at / "drive", os.O_RDWR)
        with bitline.connect(f"nvme+unix://{control}") as drive:
            os.pwrite(file, b"S" * (1 << 20), 0)
            drive.admin.format(512)
            for access in (lambda: os.pread(file, 1 << 16, 1 << 20), lambda: os.pwrite(file, b"N" * 4096, 0)):
                with pytest.raises(OSError, match="Input/output"):
                    access()
            drive.admin.format(4096)
            assert os.pread(file, 1 << 16, 0) == bytes(1 << 16)
            assert os.pwrite(file, b"N" * 4096, 8192) == 4096
        os.close(file)


@mounting
def test_json_lines_metrics_and_a_trace(tmp_path: Path) -> None:
    image, at, trace = tmp_path / "drive.img", tmp_path / "at", tmp_path / "trace.json"
    options = ("--json", "--metrics", "127.0.0.1:0", "--trace", str(trace), "--pace", "1000x")
    server = Attached(at, image, *options).ready()
    server.until(lambda: "/metrics" in server.errors())
    with (at / "drive").open("r+b") as file:
        file.write(bytes(8192))
    found = re.search(r"http://\S+/metrics", server.errors())
    assert found
    with urllib.request.urlopen(found[0]) as answer:
        figures = answer.read().decode()
    assert 'bitline_requests_total{kind="write"} ' in figures
    assert "bitline_drift_seconds" in figures
    time.sleep(1.2)
    lines = [json.loads(line) for line in server.end().splitlines()]
    assert len(lines) >= 2
    written = next(kind for kind in lines[-1]["kinds"] if kind["kind"] == "write")
    assert written["bytes"] == 8192
    assert lines[-1]["drift"]["max_us"] > 0
    assert json.loads(trace.read_text())["traceEvents"]


def _snapshot() -> dict[str, object]:
    latency = {"mean_us": 5.0, "p50_us": 4.0, "p99_us": 9.5, "p999_us": 20.0, "max_us": 21.0}
    kinds = [
        {"kind": kind, "requests": count, "failed": 0, "bytes": 4096 * count, "latency": latency}
        for kind, count in (("read", 100), ("write", 20), ("flush", 0))
    ]
    drift = {"mean_us": 1.0, "p50_us": 1.0, "p99_us": 2.0, "max_us": 3.0, "behind_us": 0.0}
    drive = {"energy_pj": 5e9, "flash": {"page_reads": 30, "page_programs": 10}, "die_utilizations": [0.1]}
    clocks = {"wall_s": 2.0, "simulated_s": 0.5, "in_flight": 1, "write_amplification": 1.25}
    return {**clocks, "kinds": kinds, "drift": drift, "drive": drive}


class _Used:
    """An attachment that somebody uses until it is unmounted by force."""

    def __init__(self, error: Exception) -> None:
        self.error, self.asked = error, 0

    def stop(self, force: bool) -> None:
        self.asked += 1
        if not force:
            raise self.error


def test_only_what_is_busy_is_waited_for() -> None:
    signals: Any = SimpleNamespace(count=0)
    told: list[str] = []
    shown: Any = SimpleNamespace(say=lambda line: (told.append(line), setattr(signals, "count", 1)))
    used: Any = _Used(BusyError("/mnt: somebody is there"))
    _stop(used, shown, signals)
    assert used.asked == 2
    assert "/mnt: somebody is there: waiting" in told[0]
    other: Any = _Used(OSError("files there are open, or so it says"))
    with pytest.raises(OSError, match="files there are open"):
        _stop(other, shown, signals)


def test_figures_are_shown() -> None:
    from rich.console import Console

    snapshot = _snapshot()
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table("a drive", snapshot, None))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert "read" in shown
    assert "9.50 µs" in shown
    assert "flush" not in shown
    assert "write amplification 1.25x" in facts(snapshot)
    assert "read 50/s" in log_line(snapshot, None)
    assert "die_utilizations" not in json_line(snapshot)
    assert 'bitline_latency_seconds{kind="read",quantile="0.99"} 9.5e-06' in prometheus(snapshot)


@pytest.mark.parametrize(
    "text", ["9100", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "host:1", "0.0.0.0:1", "[::]:1"]
)
def test_figures_are_for_this_machine_alone(text: str) -> None:
    with pytest.raises(UsageError):
        address("--metrics", text, "read this", anywhere=False)


def test_addresses_are_read() -> None:
    assert address("--metrics", "127.0.0.1:9100", "read this", anywhere=False) == ("127.0.0.1", 9100)
    assert address("--metrics", "[::1]:9100", "read this", anywhere=False) == ("::1", 9100)
    assert address("--metrics", "0.0.0.0:9100", "read this", anywhere=True) == ("0.0.0.0", 9100)
