"""What transactions take of a controller's core: `[cores.work]` of the preset txisc, by counted instructions.

The benchmark `transactions` writes and reads pages within the drive, one after the other: as transactions, as
files without them, as raw blocks. Each is run twice under valgrind's callgrind with two numbers of requests:
the difference has nothing of what comes before, and no other work on the machine changes it. It is the
release build without a profile. What transactions take is what a request has more than the same of a file.

Usage: python scripts/transactions.py [--write] [--check] [BINARY]

Needs valgrind. With --write it renews docs/reference/transaction-cycles.md; with --check it fails if a write
of a transaction takes over 5 % more than one of a file. BINARY is the benchmark, built before
(target/release/deps/transactions-*).
"""

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from instructions import build

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "scripts" / "transactions.md"
PAGE = ROOT / "docs" / "reference" / "transaction-cycles.md"

#: What the benchmark calls the architectures of TxISC's evaluation.
WAYS = {"TxISC": "snapshot", "FileISC": "file", "BlockISC": "block"}
KINDS = ("writes", "reads")
#: Requests of the two runs, whole transactions of 4,096.
SHORT, LONG = 40_960, 81_920
#: How much more of a write a transaction may take.
MOST = 1.05

#: What a commit is, and what of it a write of a file does, too: the entry of the mapping table changes, and
#: the block of the former page has one less that is needed.
COMMIT = "device::tx::transaction::Transaction::commit::{{closure}}"
MAPPING = "device::ftl::write::<impl device::ftl::Ftl>::replace"


class Counts(NamedTuple):
    """Instructions of a run, or of a request."""

    all: float
    commit: float
    """Those of commits, with what they call."""
    mapping: float
    """Those that change the mapping table, with what they call."""


def inclusive(lines: Iterable[str]) -> Counter[str]:
    """Instructions by function of one of callgrind's files, with all that it calls."""
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    function = ""
    for line in lines:
        if named := re.match(r"c?fn=(\(\d+\))(?: (.*))?", line):
            number, name = named.groups()
            if name:
                names[number] = re.sub(r"'\d+$", "", name)
            if line.startswith("fn="):
                function = names[number]
        elif cost := re.match(r"[+\-*\d]\S* (\d+)$", line):
            found[function] += int(cost[1])
    return found


def count(binary: Path, way: str, kind: str, requests: int, file: Path) -> Counts:
    """Counts a run of so many requests."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}"]
    ran = subprocess.run([*valgrind, binary, way, kind, str(requests)], capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or collected is None:
        raise SystemExit(f"transactions: {way} {kind} of {binary} failed under valgrind:\n{ran.stderr}")
    with file.open() as lines:
        functions = inclusive(lines)
    return Counts(int(collected[1]), functions[COMMIT], functions[MAPPING])


def measure(binary: Path) -> dict[tuple[str, str], Counts]:
    """Instructions of a request, by architecture and kind."""
    measured = {}
    with tempfile.TemporaryDirectory(prefix="transactions-") as folder:
        for kind in KINDS:
            for name, way in WAYS.items():
                print(f"{kind} of {name} ...", file=sys.stderr)
                runs = (count(binary, way, kind, amount, Path(folder) / "out") for amount in (SHORT, LONG))
                less, more = runs
                each = ((b - a) / (LONG - SHORT) for a, b in zip(less, more, strict=True))
                measured[name, kind] = Counts(*each)
    if not measured["TxISC", "writes"].commit or not measured["TxISC", "writes"].mapping:
        raise SystemExit(f"transactions: callgrind has no {COMMIT} or no {MAPPING}")
    return measured


def keys(measured: dict[tuple[str, str], Counts]) -> dict[str, int]:
    """What `[cores.work]` is to say, an instruction a cycle."""
    (own, others), (own_read, others_read) = (
        (measured["TxISC", kind], measured["FileISC", kind]) for kind in KINDS
    )
    commit = own.commit - own.mapping
    return {
        "find_version_cycles": round(own_read.all - others_read.all),
        "take_page_cycles": round(own.all - others.all - commit),
        "commit_page_cycles": round(commit),
    }


def page(measured: dict[tuple[str, str], Counts]) -> str:
    """The page with the table and where it comes from."""
    rows = []
    for name in WAYS:
        each = [measured[name, kind].all for kind in KINDS]
        over = [count / measured["FileISC", kind].all - 1 for count, kind in zip(each, KINDS, strict=True)]
        cells = [f"{count:,.0f} | {100 * more:+.1f} %" for count, more in zip(each, over, strict=True)]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    own = measured["TxISC", "writes"]
    return TEMPLATE.read_text().format(
        keys="\n".join(f"{key} = {value}" for key, value in keys(measured).items()),
        rows="\n".join(rows),
        commit=own.commit,
        mapping=own.mapping,
        short=SHORT,
        long=LONG,
        date=datetime.date.today().isoformat(),
        versions=versions(),
    )


def versions() -> str:
    """What was measured with, a line each."""
    lines = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]
        for command in (["rustc", "--version"], ["valgrind", "--version"], ["uname", "-m"])
    )
    return "\n".join(f"- {line}" for line in lines)


def main() -> None:
    """Measures and tells; with --write, into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("binary", nargs="?", type=Path, help="the benchmark, built before")
    parser.add_argument("--write", action="store_true", help=f"renew {PAGE.relative_to(ROOT)}")
    parser.add_argument("--check", action="store_true", help="fail if writes take over 5 %% more")
    wanted = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("transactions: valgrind is not installed (apt-get install valgrind)")
    measured = measure((wanted.binary or build("transactions")).resolve())
    text = page(measured)
    if wanted.write:
        PAGE.write_text(text)
    else:
        print(text, end="")
    ratio = measured["TxISC", "writes"].all / measured["FileISC", "writes"].all
    if wanted.check and ratio > MOST:
        raise SystemExit(f"transactions: a write takes {ratio:.3f} of what one of a file takes")


if __name__ == "__main__":
    main()
