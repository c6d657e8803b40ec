"""Writes the pages that are generated from the Python package: its API, its figures' names, its command line.

Usage: scripts/reference.py (with the Python of .venv). A test fails when a page is not what this writes; with
BITLINE_BLESS=1 it writes them itself.
"""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import bitline
from bitline import metrics
from bitline.cli.app import COMMANDS, app

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

_GENERATED = "Generated from the package by `scripts/reference.py`: do not edit."
#: How Python writes a function: with its address, which is another one in each process.
_FUNCTION = re.compile(r"<function (.+?) at 0x[0-9a-f]+>")
#: Modules whose public names are not all of `bitline` itself, in the order of the page.
_MODULES = (
    "columns",
    "statistics",
    "counts",
    "search",
    "advice",
    "workload",
    "display",
    "sweep",
    "lifetime",
    "cells",
    "plot",
    "latencies",
    "units",
    "metrics",
    "streams",
    "collectors",
    "packets",
    "networks",
    "retrieval",
    "zero_streaming",
)


def python() -> str:
    """The page of the API: every public class and function with what its docstring says."""
    lines = ["# The Python package", "", _GENERATED, "", inspect.cleandoc(bitline.__doc__ or ""), ""]
    seen: set[object] = set()
    lines += ["## `bitline`", ""]
    for name in sorted(bitline.__all__, key=str.lower):
        found = getattr(bitline, name)
        if not isinstance(found, ModuleType):
            seen.add(_key(found))
            lines += _entry(name, found)
    for module in _MODULES:
        home = importlib.import_module(f"bitline.{module}")
        names = getattr(home, "__all__", [name for name in vars(home) if not name.startswith("_")])
        entries = []
        for name in sorted(names, key=str.lower):
            found = getattr(home, name)
            theirs = getattr(found, "__module__", "").startswith(f"bitline.{module}")
            if theirs and (inspect.isclass(found) or inspect.isfunction(found)) and _key(found) not in seen:
                seen.add(_key(found))
                entries += _entry(name, found)
        if entries:
            lines += [f"## `bitline.{module}`", "", *_words(inspect.getdoc(home)), "", *entries]
    return "\n".join(lines).rstrip() + "\n"


def _key(found: object) -> object:
    return found if callable(found) else repr(found)


def _entry(name: str, found: object) -> list[str]:
    if inspect.isclass(found):
        return _class(name, found)
    if inspect.isfunction(found):
        return [f"### `{name}{_signature(found)}`", "", *_words(inspect.getdoc(found)), ""]
    return [f"### `{name}`", "", f"`{str(found)[:200]}`", ""]


def _class(name: str, found: type) -> list[str]:
    bases = [base.__name__ for base in found.__bases__ if base.__module__.startswith("bitline")]
    shown = [base for base in bases if not base.startswith("_")]
    lines = [
        f"### class `{name}{f'({chr(44).join(shown)})' if shown else ''}`",
        "",
        *_words(inspect.getdoc(found)),
    ]
    lines += ["", *_fields(found), *_members(found)]
    return [*lines, ""] if lines[-1] else lines


def _fields(found: type) -> list[str]:
    """Fields of a dataclass with types, defaults, and the docstrings that stand below them."""
    if not dataclasses.is_dataclass(found):
        return []
    told = _field_docs(found)
    lines = []
    for field in dataclasses.fields(found):
        if not field.name.startswith("_"):
            kind = field.type if isinstance(field.type, str) else _type(field.type)
            given = "" if field.default is dataclasses.MISSING else f" = {_default(field.default)}"
            meaning = " ".join(told.get(field.name, "").split())
            lines.append(f"- `{field.name}: {kind}{given}`{': ' + meaning if meaning else ''}")
    return [*lines, ""] if lines else []


def _field_docs(found: type) -> dict[str, str]:
    source = inspect.cleandoc(inspect.getsource(found))
    pattern = re.compile(r'^    (\w+):[^\n]*(?:\n        [^\n]*|\n    \))*\n    """(.*?)"""', re.M | re.S)
    return dict(pattern.findall(source))


def _members(found: type) -> list[str]:
    lines = []
    for name, member in vars(found).items():
        if name.startswith("_"):
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(member, property):
            lines.append(f"- `.{name}`: {_first(inspect.getdoc(member))}")
        elif inspect.isfunction(function):
            lines.append(f"- `.{name}{_signature(function)}`: {_first(inspect.getdoc(function))}")
    return [*lines, ""] if lines else []


def _signature(function: Callable[..., object]) -> str:
    found = inspect.signature(function)
    parameters = [each for each in found.parameters.values() if each.name not in ("self", "cls")]
    shown = [each.replace(annotation=_type(each.annotation)) for each in parameters]
    text = str(found.replace(parameters=shown, return_annotation=_type(found.return_annotation)))
    text = _FUNCTION.sub(lambda match: _named(match[1]), text)
    return text.replace("'", "") if "'" in text else text


def _default(value: object) -> str:
    return _FUNCTION.sub(lambda match: _named(match[1]), repr(value))


def _named(function: str) -> str:
    """A function in the place of a default: by its name, or as an ellipsis if it has none."""
    return "..." if "<lambda>" in function else function.rpartition(".")[2]


def _type(annotation: object) -> object:
    if annotation in (inspect.Parameter.empty, inspect.Signature.empty):
        return annotation
    if inspect.isclass(annotation) and not getattr(annotation, "__args__", None):
        return annotation.__qualname__
    text = str(annotation).replace("typing.", "").replace("collections.abc.", "")
    return re.sub(r"\b(?:bitline|numpy|pathlib|os)(?:\.\w+)*\.(\w+)", r"\1", text)


def _first(doc: str | None) -> str:
    """The first paragraph of a docstring, in a line."""
    return " ".join((doc or "").split("\n\n")[0].split())


def _words(doc: str | None) -> Iterator[str]:
    """A docstring as Markdown: sections as lists, examples as text, which tests run where they stand."""
    inside, listed = False, False
    for line in (doc or "").replace("```python", "```text").splitlines():
        if re.fullmatch(r"(Args|Returns|Raises|Attributes|Yields):", line):
            yield f"**{line[:-1]}**"
            yield ""
            # What is returned is one thing; the others are lists of names.
            inside, listed = True, line not in ("Returns:", "Yields:")
        elif inside and re.match(r"    \S", line):
            yield f"- {line.strip()}" if listed else line.strip()
        elif inside and line.startswith("     "):
            yield f"  {line.strip()}"
        else:
            inside = inside and not line.strip()
            yield line


def names() -> str:
    """The page of figures: what each key is called and its unit."""
    lines = [
        "# Names and units of figures",
        "",
        _GENERATED,
        "",
        "Keys are those of `--json`, `to_dict()` and the columns of sweeps; tables and figures show the",
        "names. Those of a drive's statistics stand behind `statistics.` in sweeps and have the same names;",
        "energies are under `energy.COMPONENT.CAUSE_pj`.",
        "",
        "| key | name | unit of the number | units of axes |",
        "| -- | -- | -- | -- |",
    ]
    for each in metrics.labelled():
        units = ", ".join(unit for _, unit in each.quantity.scales if unit)
        lines.append(f"| `{each.key}` | {each.label} | {each.quantity.unit} | {units} |")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """The page of the command: the help of each subcommand, as on a terminal of 80 columns."""
    from typer.testing import CliRunner

    runner = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    lines = ["# The command line", "", _GENERATED, ""]
    nested = {
        "image": ("create", "info", "check"),
        "validate": ("mqsim",),
        "repro": ("flash-cosmos", "anvil", "txisc"),
        "task": ("run", "load", "list", "unload"),
        "file": ("put", "get", "list", "rm"),
    }
    calls = [(name, *rest) for name in COMMANDS for rest in ((), *((each,) for each in nested.get(name, ())))]
    for call in [(), *calls]:
        done = runner.invoke(app, [*call, "--help"], prog_name="bitline")
        title = " ".join(["bitline", *call])
        text = "\n".join(line.rstrip() for line in done.output.strip().splitlines())
        lines += [f"## `{title}`", "", "```text", text, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "python.md": python,
    "metrics.md": names,
    "command-line.md": command_line,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
