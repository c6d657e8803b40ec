"""Tests the tests of the firmware: how many of a sample of mutants fail one of them.

All mutants of the sample are built at once into a copy of the tree, to be chosen by an environment variable:
each costs a run of tests and no build. Tests run from the quickest on, and end with the first that fails.

    python3 scripts/mutants.py [--count 80] [--seed 1] [--folders ftl cache bits frontend]

Survivors are listed with their place. A mutant with which a test takes longer than ten times what it takes
without has failed it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/mutants"
TREE = WORK / "tree"
#: Test programs, quick ones first: package, name, words (`FOLDER` is where the mutant is), environment.
TESTS = (
    ("bitline", "nvme", [], {}),
    *(("bitline-tests", "simulation", ["one_seed"], {"BITLINE_SEED": str(seed)}) for seed in range(12)),
    ("bitline-tests", "simulation", ["layout"], {}),
    ("bitline-device", "device", ["FOLDER", "--skip", "optimum"], {}),
    ("bitline-tests", "formulas", [], {}),
    ("bitline", "bits", [], {}),
)


def main() -> int:
    """Plant, build, run, and tell what survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folders", nargs="+", default=["ftl", "cache", "bits", "frontend"])
    parser.add_argument("--again", action="store_true", help="run the tests of the last build")
    asked = parser.parse_args()
    built = WORK / "built.json"
    if not asked.again:
        mutants = plant(asked.count, asked.seed, asked.folders)
        built.write_text(json.dumps([list(mutants.items()), build(mutants)]))
    listed, found = json.loads(built.read_text())
    mutants = dict(listed)
    programs = [(*found[name], words, more) for _, name, words, more in TESTS]
    times = [run(program, 0, "", None)[1] for program in programs]
    survivors = []
    for number, line in mutants.items():
        caught, folder = None, line.split("/")[3]
        for (package, name, *_), program, took in zip(TESTS, programs, times, strict=True):
            if not run(program, number, folder, 10 * took + 20)[0]:
                caught = f"{package} {name}"
                break
        print(f"{number:4} {'killed by ' + caught if caught else 'SURVIVES':32} {line}", flush=True)
        if caught is None:
            survivors.append(line)
    killed = len(mutants) - len(survivors)
    print(f"{killed} of {len(mutants)} killed ({killed / max(1, len(mutants)):.0%}); seed {asked.seed}")
    return 0


def plant(count: int, seed: int, folders: list[str]) -> dict[int, str]:
    """A copy of the tree with mutants, and what each is."""
    shutil.rmtree(TREE, ignore_errors=True)
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, files.split("\0")):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)
    tool = ["cargo", "run", "--quiet", "--target-dir", WORK / "tool"]
    tool += ["--manifest-path", ROOT / "scripts/mutants/Cargo.toml", "--"]
    tool += [TREE / "crates/device", str(count), str(seed), *folders]
    told = subprocess.run(
        list(map(str, tool)), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    found = {}
    for line in told.splitlines():
        number, path, at, what = line.split("\t")
        found[int(number)] = f"{Path(path).relative_to(TREE)}:{at}: {what}"
    return found


def build(mutants: dict[int, str]) -> dict[str, tuple[str, str]]:
    """The test programs by name, with the folders that they run in."""
    cargo = ["cargo", "test", "--no-run", "--locked", "--message-format=json-render-diagnostics"]
    cargo += [word for name in sorted({package for package, *_ in TESTS}) for word in ("-p", name)]
    programs = sorted({name for _, name, *_ in TESTS} - {"device"})
    cargo += ["--lib"] + [word for name in programs for word in ("--test", name)]
    # Apart from the other builds, whose packages have the same names: none of them is to run a mutant.
    flags = {**os.environ, "CARGO_TARGET_DIR": str(WORK / "target")}
    flags["RUSTFLAGS"] = os.environ.get("RUSTFLAGS", "")
    done = subprocess.run(cargo, cwd=TREE, env=flags, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the tree with {len(mutants)} mutants does not compile; see above, and try another seed")
    found = {}
    for message in map(json.loads, done.stdout.splitlines()):
        if message.get("executable") and message["profile"]["test"]:
            folder = str(Path(message["manifest_path"]).parent)
            found[message["target"]["name"]] = (message["executable"], folder)
    return found


def run(
    program: tuple[str, str, list[str], dict[str, str]], mutant: int, of: str, limit: float | None
) -> tuple[bool, float]:
    """Whether tests pass with a mutant, and how long they took, in seconds."""
    path, folder, words, more = program
    began = time.monotonic()
    # As `cargo test` has it, for tests that look for files of their package.
    environment = {
        **os.environ,
        **more,
        "MUTANT": str(mutant),
        "RUST_BACKTRACE": "0",
        "CARGO_MANIFEST_DIR": str(folder),
    }
    try:
        code = subprocess.run(
            [path, *(of if word == "FOLDER" else word for word in words)],
            cwd=folder,
            env=environment,
            timeout=limit,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ).returncode
    except subprocess.TimeoutExpired:
        code = 1
    if mutant == 0 and code:
        sys.exit(f"{Path(path).name} {words} fails without a mutant")
    return code == 0, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
