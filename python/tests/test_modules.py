"""How the package's modules lean on each other: each can be imported alone, and none in a circle.

Importing each alone covers every order: modules of a circle are loaded together, by the first asked for.
"""

import ast
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bitline

_ROOT = Path(bitline.__file__).parent


def _modules() -> list[str]:
    """Every module of the package but the one of `python -m bitline`, which tests of the command line run."""
    found = pkgutil.walk_packages([str(_ROOT)], "bitline.")
    return ["bitline", *(info.name for info in found if info.name != "bitline.__main__")]


#: Loads, once, what others made, then imports each module named on its input in a copy of this fresh process.
_EACH_ALONE = """
import importlib, json, os, sys

for slow in ("numpy", "pyarrow", "pyarrow.compute", "typer", "rich"):
    importlib.import_module(slow)
failed = {}
for name in json.load(sys.stdin):
    assert not any(loaded.partition(".")[0] == "bitline" for loaded in sys.modules)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        message = b""
        try:
            importlib.import_module(name)
        except BaseException as error:
            message = f"{type(error).__name__}: {error}".encode()
        os.write(tell, message)
        os._exit(1 if message else 0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    with os.fdopen(told, "rb") as pipe:
        message = pipe.read().decode()
    if status:
        failed[name] = message or f"ended with status {status}"
json.dump(failed, sys.stdout)
"""


def _fails_alone(names: Iterable[str], path: Path) -> dict[str, str]:
    """Which of the modules cannot be imported first, in a process that has none of the package, and why."""
    done = subprocess.run(
        [sys.executable, "-c", _EACH_ALONE],
        input=json.dumps(list(names)),
        env={"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    failed: dict[str, str] = json.loads(done.stdout)
    return failed


def test_every_module_can_be_imported_first() -> None:
    names = _modules()
    assert len(names) > 80, "only so many modules were seen"
    assert _fails_alone(names, _ROOT.parent) == {}


def test_a_module_that_cannot_be_imported_first_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "bitline"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from bitline.two import TWO\nONE = 1\n")
    (package / "two.py").write_text("TWO = 2\nimport bitline.one\nONE = bitline.one.ONE\n")
    failed = _fails_alone(["bitline.one", "bitline.two", "bitline"], tmp_path)
    assert set(failed) == {"bitline.one"}
    assert "circular import" in failed["bitline.one"]


# Circles, by name


def _imported(module: str, source: str, is_package: bool, known: set[str]) -> set[str]:
    """The package's modules that a module imports as it is loaded: not in functions, not for types alone."""
    found: set[str] = set()
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                parts = module.split(".")
                base = parts[: len(parts) - node.level + (1 if is_package else 0)]
                home = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                within = f"{home}.{alias.name}"
                found.add(within if within in known else home)
        left.extend(ast.iter_child_nodes(node))
    # A package is loaded before what is in it; that one of its modules is imported by the package is its job.
    return {name for name in found if name in known and not module.startswith(f"{name}.") and name != module}


def _circle(modules: dict[str, str], packages: set[str]) -> list[str]:
    """Modules that import each other in turn, the first again at the end; none if there are none."""
    graph = {name: _imported(name, text, name in packages, set(modules)) for name, text in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    texts: dict[str, str] = {}
    packages = set()
    for path in sorted(_ROOT.rglob("*.py")):
        parts = path.relative_to(_ROOT.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
            packages.add(".".join(parts))
        texts[".".join(parts)] = path.read_text()
    assert {"bitline", "bitline.drive", "bitline.cli"} <= set(texts)
    assert _circle(texts, packages) == []


@pytest.mark.parametrize(
    ("one", "two", "is_circle"),
    [
        ("from p.two import TWO", "import p.one", True),
        ("from . import two", "from .one import ONE", True),
        ("try:\n    import p.two\nexcept ImportError:\n    pass", "class A:\n    from p import one", True),
        ("from p.two import TWO", "def late():\n    import p.one", False),
        ("from p.two import TWO", "if TYPE_CHECKING:\n    import p.one", False),
        ("from p.two import TWO", "import json", False),
    ],
)
def test_circles_are_seen(one: str, two: str, is_circle: bool) -> None:
    circle = _circle({"p": "", "p.one": one, "p.two": two}, {"p"})
    assert (set(circle) == {"p.one", "p.two"}) == is_circle
