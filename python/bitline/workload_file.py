"""Workload files: a drive, what it held before, and the flows and traces that run on it, in TOML.

```toml
[drive]                      # where the command line says nothing else
preset = "mqsim-default"     # or config = "FILE.toml"
set = { "ftl.overprovisioning" = 0.2 }

[precondition]               # the keys of `Media.precondition`
history = "steady_state"

[[flow]]                     # the keys of `bitline.Flow`
name = "readers"
requests = 10_000

[[replay]]                   # the keys of `bitline.Replay`
path = "trace.csv.gz"        # beside this file
```
"""

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bitline import toml_text
from bitline.drive import Setting
from bitline.errors import UsageError
from bitline.media import Media
from bitline.units import quoted

#: What a workload consists of, as names of its lists of tables.
_PARTS = ("flow", "replay")


@dataclass(frozen=True)
class DriveTable:
    """The drive that a file asks for."""

    preset: str | None = None
    """A preset."""
    config: Path | None = None
    """A TOML file instead."""
    settings: Mapping[str, Setting] | None = None
    """Single keys on top."""


@dataclass(frozen=True)
class WorkloadFile:
    """What a workload file says."""

    drive: DriveTable
    """The drive."""
    precondition: Mapping[str, Any] | None
    """Arguments of `Media.precondition`; None leaves the drive blank."""
    workloads: tuple[Mapping[str, Any], ...]
    """Flows and replays, for `Drive.measure`."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The workload in a TOML file; files that it names are looked for beside it.

        Raises:
            UsageError: It is no workload; the message says where.
            OSError: It cannot be read.
        """
        try:
            data = toml_text.loads(path.read_text(encoding="utf-8"))
            known("a workload file", data, "drive", "precondition", *_PARTS)
            return cls(
                drive=drive_table(data.get("drive", {}), path.parent),
                precondition=precondition_table(data.get("precondition")),
                workloads=workloads("a workload file", data, path.parent),
            )
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path}: this is no TOML: {error}") from error
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error


def drive_table(value: object, folder: Path) -> DriveTable:
    """The drive that a `[drive]` table asks for.

    Raises:
        UsageError: It asks for something else.
    """
    drive = table("drive", value)
    known("drive", drive, "preset", "config", "set")
    preset, config = drive.get("preset"), drive.get("config")
    for key, given in (("preset", preset), ("config", config)):
        if given is not None and not isinstance(given, str):
            raise UsageError(f"drive: {key} = {given} must be a text")
    settings = table("drive.set", drive.get("set", {}))
    return DriveTable(preset, None if config is None else folder / config, settings)


def precondition_table(value: object) -> Mapping[str, Any] | None:
    """The arguments of `Media.precondition` in a `[precondition]` table.

    Raises:
        UsageError: A key that it has not.
    """
    if value is None:
        return None
    arguments = table("precondition", value)
    keys = inspect.signature(Media.precondition).parameters.keys() - {"self", "progress"}
    known("precondition", arguments, *sorted(keys))
    return arguments


def workloads(what: str, data: Mapping[str, Any], folder: Path) -> tuple[Mapping[str, Any], ...]:
    """The flows and replays of a table; traces are looked for in `folder`.

    Raises:
        UsageError: There are none, or they are no tables.
    """
    found: list[Mapping[str, Any]] = []
    for part in _PARTS:
        tables = data.get(part, [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            raise UsageError(f"{part} must be a list of tables, each under [[{part}]]")
        for each in tables:
            if part == "flow" and "path" in each:
                raise UsageError(f"a flow has no path; write [[replay]] for the trace {each['path']}")
            if part == "replay" and not isinstance(each.get("path"), str):
                raise UsageError('a replay needs the path of its trace, such as path = "trace.csv.gz"')
            found.append(each if part == "flow" else {**each, "path": str(folder / each["path"])})
    if not found:
        raise UsageError(f"{what} needs at least one [[flow]] or [[replay]]")
    return tuple(found)


def known(what: str, found: Mapping[str, Any], *keys: str) -> None:
    """Refuse a key that is not among `keys`.

    Raises:
        UsageError: There is one.
    """
    for key in found:
        if key not in keys:
            raise UsageError(f"{what} has no key {quoted(repr(key))}; it has {', '.join(keys)}")


def table(name: str, value: object) -> dict[str, Any]:
    """A value that must be a table.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table")
    return value
