"""The examples run: Python and commands in the pages, as read from top to bottom, and the programs."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import agrees, blocks
from mounts import LACKS, NO_COMPILER, lacking

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: In pages whose commands need nothing but what their Python makes.
COMMANDS = {"workloads.md"}
#: Pages that serve drives, of which `walk.py` does all that they say; and what a machine may lack for that.
SERVED = {
    "attach.md": [*LACKS, *lacking("curl")],
    "mounted.md": [*LACKS, *NO_COMPILER],
    "nvme-tcp.md": [],
    "remote.md": [],
    "security.md": NO_COMPILER,
}
#: Seconds that such a page may take.
PATIENCE = 180


def _has_python(page: Path) -> bool:
    return any(block.language == "python" for block in blocks(page.read_text()))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in SERVED and _has_python(page)],
    ids=lambda page: page.name,
)
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text()):
        if block.language == "python":
            capsys.readouterr()
            exec(compile(block.moved, str(page), "exec"), names)
            if block.shown is not None:
                assert capsys.readouterr().out.rstrip("\n") == block.shown.rstrip("\n")
        elif page.name in COMMANDS:
            for line in block.source.replace("\\\n", " ").splitlines():
                _run_command(line)


@pytest.mark.parametrize("name", SERVED)
def test_pages_are_gone_through(name: str, tmp_path: Path) -> None:
    if SERVED[name]:
        pytest.skip(f"SKIPPED: what {name} says cannot be done without {SERVED[name]}")
    apart = ["unshare", "--mount", "--net", *(["--map-root-user"] if os.geteuid() != 0 else [])]
    try:
        subprocess.run([*apart, "true"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"SKIPPED: no namespaces for {name}: {getattr(error, 'stderr', error)}")
    page = ROOT / "docs" / name
    walk = [*apart, sys.executable, str(Path(__file__).with_name("walk.py")), str(page), str(tmp_path)]
    done = subprocess.run(walk, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout


def _run_command(line: str) -> None:
    command = [sys.executable, "-m", *shlex.split(line)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), line
    assert done.stdout


@pytest.mark.parametrize("program", sorted(ROOT.glob("examples/*.py")), ids=lambda program: program.name)
def test_programs_run(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_blocks_keep_their_line_numbers() -> None:
    page = "text\n```python\na = 1\n```\n```rust\nlet a;\n```\n```python\nb = a\nfail()\n```\n"
    first, second = blocks(page)
    names: dict[str, object] = {}
    exec(first.moved, names)
    with pytest.raises(NameError) as error:
        exec(compile(second.moved, "page", "exec"), names)
    assert names["b"] == 1
    assert error.traceback[-1].lineno + 1 == 10


def test_blocks_have_headings_and_output() -> None:
    page = "# One\n```console\n# none\n```\n\n```text\na\n```\n## Two\n```python\n1\n```\n```text\nb\n```\n"
    found = [(block.heading, block.language, block.shown) for block in blocks(page)]
    assert found == [("One", "console", "a\n"), ("Two", "python", None)]


def test_output_is_compared() -> None:
    assert agrees("a\nb\n", "a\nb")
    assert agrees("a ... (c)\n...\n", "a b (c)\nd\ne\n")
    assert not agrees("a ... c\n", "a b\n")
    assert not agrees("a ... c\n", "a b\nb c\n")
    assert not agrees("a\n...\n", "a b\nc\n")
    assert not agrees("a\n", "a\nb\n")
