"""LevelDB's own db_bench on a mounted drive, with its compactions in the drive.

    bitline attach --mount ext4 /mnt/drive drive.img --set ftl.mapping_unit_bytes=4096
    python examples/leveldb/db_bench.py /mnt/drive --benchmarks=fillrandom,overwrite,readrandom,stats

Builds LevelDB if that is still to be done (Makefile), and passes on all options but its own. db_bench flushes its
memtables itself; where it would merge table files it asks here (in_drive.cc), and ../tasks/compaction.c does so in the
drive, on the files where they lie.
"""

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import bitline
from bitline.cc import compiled

HERE = Path(__file__).resolve().parent
TASKS = HERE.parent / "tasks"
DB_BENCH = HERE.parents[1] / "target" / "leveldb" / "db_bench"
sys.path.append(str(TASKS))

from compaction import Asked, outputs  # noqa: E402 (where examples of tasks are)


class Compactor:
    """Compacts in the drive, and counts."""

    def __init__(self, mount: bitline.Mounted) -> None:
        self.mount, self.task = mount, compiled(TASKS / "compaction.c")
        self.by_drive = self.by_host = self.read_bytes = self.written_bytes = 0
        self.simulated_ms = 0.0

    def serve(self, channel: socket.socket) -> None:
        """Answers until the other side is closed."""
        with channel, channel.makefile("rwb") as lines:
            for line in lines:
                value = self.compact(**json.loads(line))
                lines.write(struct.pack("<q", -1) if value is None else struct.pack("<q", len(value)) + value)
                lines.flush()

    def compact(self, inputs: list[str], outputs: dict[str, int], asked: dict[str, Any]) -> bytes | None:
        """Makes table files out of others; what the task returned, or None, which leaves it to the host.

        Args:
            inputs: Table files.
            outputs: Files that it may make, and the room that each gets.
            asked: Further fields of `Asked`.
        """
        args = Asked(len(inputs), len(outputs), **asked).packed()
        try:
            result = self.mount.run(self.task, inputs, outputs=outputs, args=args)
        except (OSError, bitline.BitlineError) as error:
            return self._left_to_host(str(error))
        if not result:
            return self._left_to_host(f"{result.status}, {result.reason} {result.log}")
        self._cut(list(outputs), result.value)
        self.by_drive += 1
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


def main() -> None:
    """Runs db_bench, and says who has compacted what."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mount", type=Path, help="where the drive is mounted; the database is the folder db there")
    known, options = parser.parse_known_args()
    subprocess.run(["make", "-C", HERE, "-j2", "--quiet"], check=True)
    ours, theirs = socket.socketpair()
    with bitline.mounted(known.mount) as mount:
        compactor = Compactor(mount)
        environment = {**os.environ, "COMPACTION_SOCKET": str(theirs.fileno())}
        command = [DB_BENCH, f"--db={known.mount.resolve()}/db", *options]
        with theirs, subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()]) as bench:
            theirs.close()
            compactor.serve(ours)
    print(
        f"compactions: {compactor.by_drive} in the drive, {compactor.by_host} by the host; "
        f"{compactor.read_bytes / 1e6:.1f} MB of tables became {compactor.written_bytes / 1e6:.1f} MB "
        f"in {compactor.simulated_ms:.0f} ms of the drive's time"
    )
    sys.exit(bench.returncode)


if __name__ == "__main__":
    main()
