"""The examples run: Python and commands in the pages, as read from top to bottom, and the programs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: In pages whose commands need nothing but what their Python makes.
COMMANDS = {"workloads.md"}
ANY_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a block of Python prints, where that stands right behind it.
PRINTED = re.compile(r"\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    """The Python blocks of a page, each moved down to its own line so that errors name it."""
    return ["\n" * page.count("\n", 0, found.start(1)) + found[1] for found in BLOCK.finditer(page)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page.read_text())], ids=lambda page: page.name
)
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text()
    python = iter(blocks(text))
    for block in ANY_BLOCK.finditer(text):
        if block[1] == "python":
            capsys.readouterr()
            exec(compile(next(python), str(page), "exec"), names)
            if (printed := PRINTED.match(text, block.end())) is not None:
                assert capsys.readouterr().out.rstrip("\n") == printed[1].rstrip("\n")
        elif page.name in COMMANDS:
            for line in block[2].replace("\\\n", " ").splitlines():
                _run_command(line)


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
    exec(first, names)
    with pytest.raises(NameError) as error:
        exec(compile(second, "page", "exec"), names)
    assert names["b"] == 1
    assert error.traceback[-1].lineno + 1 == 10
