"""LevelDB's own db_bench on a mounted drive, with its compactions in the drive.

    bitline attach --mount ext4 /mnt/drive drive.img
    python examples/leveldb/db_bench.py /mnt/drive --benchmarks=fillrandom,overwrite,readrandom

With --host the host merges tables, to compare; other options are db_bench's. LevelDB is built when that is
still to be done (Makefile). It flushes its memtables itself; where it would merge tables it asks here
(in_drive.cc), and examples/tasks/compaction.c merges them in the drive, where they lie.
"""

import argparse
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bitline
from bitline.cc import compiled

HERE = Path(__file__).resolve().parent
TASKS = HERE.parent / "tasks"
DB_BENCH = HERE.parents[1] / "target" / "leveldb" / "db_bench"
sys.path.append(str(TASKS))

from compaction import Asked, outputs  # noqa: E402 (only now is it found)


class Compactor:
    """Merges tables of a database in the drive that it is mounted from, and counts."""

    def __init__(self, mount: bitline.Mounted) -> None:
        self.mount, self.task = mount, compiled(TASKS / "compaction.c")
        self.in_drive = self.by_host = self.read_bytes = self.written_bytes = 0
        self.simulated_ms = 0.0

    def __str__(self) -> str:
        mb = f"{self.read_bytes / 1e6:.1f} MB of tables became {self.written_bytes / 1e6:.1f} MB"
        return (
            f"compactions: {self.in_drive} in the drive, {self.by_host} by the host; "
            f"{mb} in {self.simulated_ms:.0f} ms of simulated time"
        )

    def serve(self, channel: socket.socket) -> None:
        """Answers until the other side is closed."""
        with channel, channel.makefile("rwb") as lines:
            for line in lines:
                value = self.compact(**json.loads(line))
                lines.write(struct.pack("<q", -1) if value is None else struct.pack("<q", len(value)) + value)
                lines.flush()

    def compact(self, inputs: list[str], outputs: dict[str, int], asked: dict[str, Any]) -> bytes | None:
        """Merges tables; what the task returned, or None if it is refused, which leaves it to the host.

        Args:
            inputs: Tables.
            outputs: Files that may become the new ones, and the room that each gets.
            asked: Other fields of `Asked`.

        Raises:
            ConnectionError: The drive is gone; LevelDB has an error then, as of any disk.
        """
        args = Asked(len(inputs), len(outputs), **asked).packed()
        try:
            result = self.mount.run(self.task, inputs, outputs=outputs, args=args)
        except bitline.UsageError as error:
            return self._left_to_host(str(error))
        if not result:
            return self._left_to_host(f"{result.status}: {result.reason} {result.log}")
        self._cut(list(outputs), result.value)
        self.in_drive += 1
        self.read_bytes += sum(Path(name).stat().st_size for name in inputs)
        self.simulated_ms += result.time.ms
        return result.value

    def _cut(self, names: list[str], value: bytes) -> None:
        """Has files be as long as what was written, and those that were not needed be gone."""
        written = outputs(value)
        for name, output in zip(names, written, strict=False):
            os.truncate(name, output.size)
            self.written_bytes += output.size
        for name in names[len(written) :]:
            Path(name).unlink()

    def _left_to_host(self, reason: str) -> None:
        self.by_host += 1
        print(f"left to the host: {reason}", file=sys.stderr)


def build() -> None:
    """Builds db_bench, unless it is built; one process at a time."""
    with (HERE / "Makefile").open() as makefile:
        fcntl.flock(makefile, fcntl.LOCK_EX)
        subprocess.run(["make", "-C", HERE, "-j2", "--quiet"], check=True)


def run_on_host(database: Path, options: Sequence[str]) -> int:
    """Runs db_bench, which merges its tables itself; its exit status."""
    return subprocess.run([DB_BENCH, *options, f"--db={database}"], check=False).returncode


def run(compactor: Compactor, database: Path, options: Sequence[str]) -> int:
    """Runs db_bench to its end; its exit status."""
    ours, theirs = socket.socketpair()
    environment = {**os.environ, "COMPACTION_SOCKET": str(theirs.fileno())}
    command = [DB_BENCH, *options, f"--db={database}"]
    with theirs, subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()]) as bench:
        theirs.close()
        compactor.serve(ours)
    return bench.returncode


def main() -> None:
    """Builds LevelDB, runs db_bench, and says who has merged what."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mount", type=Path, help="where a drive is mounted; the database is its folder db")
    parser.add_argument("--host", action="store_true", help="have the host merge tables, to compare")
    known, options = parser.parse_known_args()
    database = known.mount.resolve() / "db"
    build()
    if known.host:
        sys.exit(run_on_host(database, options))
    with bitline.mounted(known.mount) as mount:
        compactor = Compactor(mount)
        code = run(compactor, database, options)
    print(compactor)
    sys.exit(code)


if __name__ == "__main__":
    main()
