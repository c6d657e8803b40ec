"""Counts the instructions that the simulator takes for a request, which no other work on the machine changes.

The benchmark is run twice under valgrind's callgrind for each rate, with requests of two numbers: the
difference has nothing of what goes before. It is the release build without a profile. How many pages a write
has programmed depends on which addresses are drawn: a comparison looks at both figures.

Usage: scripts/instructions.py [--rate NAME]... [--profile FOLDER] [--json] [BINARY]

With --profile, callgrind's files stay in FOLDER, for callgrind_annotate. BINARY is a benchmark
that was built before (target/release/deps/bitline-*), to compare with.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What `cargo bench -p bitline` calls its rates, and the most instructions for a request, where that is set.
RATES: dict[str, int | None] = {"read_ideal": 3_000, "read_cached": None, "write_gc": 9_000}
#: The bench profile is the release profile.
BUILD = ("bench", "-p", "bitline", "--no-run", "--locked", "--message-format=json", "--bench")
#: Requests of the two runs: with the first, caches and blocks have come into the state that lasts.
SHORT, LONG = 120_000, 180_000


def build(name: str) -> Path:
    """Builds a benchmark and gives where it lies."""
    told = subprocess.run(
        ["cargo", *BUILD, name],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for line in told.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == name and message.get("executable"):
            return Path(message["executable"])
    raise SystemExit(f"cargo named no benchmark {name} among what it built")


def count(binary: Path, rate: str, requests: int, profile: Path) -> tuple[int, int]:
    """Instructions of a run of so many requests, and pages programmed; callgrind's file goes to `profile`."""
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", binary, rate, str(requests)],
        capture_output=True,
        text=True,
    )
    collected = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or collected is None:
        raise SystemExit(f"instructions: {rate} of {binary} failed under valgrind:\n{ran.stderr}")
    return int(collected[1]), int(ran.stdout)


def main() -> None:
    """Counts, and prints a line for each rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("binary", nargs="?", type=Path, help="a benchmark that was built before")
    parser.add_argument("--rate", action="append", choices=list(RATES), help="only this one; may be repeated")
    parser.add_argument("--profile", type=Path, help="folder for callgrind's files")
    parser.add_argument("--json", action="store_true", help="print the counts as one JSON object")
    wanted = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("instructions: valgrind is not installed (apt-get install valgrind)")
    binary = (wanted.binary or build("bitline")).resolve()
    if wanted.profile is not None:
        wanted.profile.mkdir(parents=True, exist_ok=True)
    counts: dict[str, tuple[int, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rate in wanted.rate or RATES:
            print(f"{rate} ...", file=sys.stderr)
            kept = Path(folder) if wanted.profile is None else wanted.profile
            short = count(binary, rate, SHORT, kept / f"callgrind.{rate}.short")
            long = count(binary, rate, LONG, kept / f"callgrind.{rate}.long")
            instructions, programs = ((b - a) / (LONG - SHORT) for a, b in zip(short, long, strict=True))
            counts[rate] = (round(instructions), round(programs, 2))
    if wanted.json:
        keys = ("instructions", "page_programs")
        print(json.dumps({rate: dict(zip(keys, each, strict=True)) for rate, each in counts.items()}))
        return
    for rate, (instructions, programs) in counts.items():
        most = f" (at most {RATES[rate]:,})" if RATES[rate] else ""
        pages = f", {programs:.2f} pages programmed" if programs > 0 else ""
        print(f"{rate:<12} {instructions:>7,} instructions a request{most}{pages}")


if __name__ == "__main__":
    main()
