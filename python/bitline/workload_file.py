"""Workload files: a drive, what it held before, and the flows, traces and queries that run on it, in TOML.

```toml
[drive]                      # where the command line says nothing else
preset = "mqsim-default"     # or config = "FILE.toml"
set = { "ftl.overprovisioning" = 0.2 }

[precondition]               # the keys of `Media.precondition`
history = "steady_state"

[[group]]                    # vectors that are set up at once, as by `Group.place`
name = "months"
vectors = 12
bits = 1_000_000             # also inverse, first_die, dies

[[flow]]                     # the keys of `bitline.Flow`
name = "readers"
requests = 10_000

[[replay]]                   # the keys of `bitline.Replay`
path = "trace.csv.gz"        # beside this file

[[queries]]                  # the keys of `bitline.Queries`
expression = "and(months)"
```
"""

import inspect
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Self

from bitline import toml_text
from bitline.bits import BITS_MAX
from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.groups import COUNT_MAX
from bitline.media import Media
from bitline.opening import Setting
from bitline.units import quoted
from bitline.workload import check

#: What a workload consists of, as names of its lists of tables.
PARTS = ("flow", "replay", "queries")

#: The key that tells what a table is: of which, of what types it is, and what is wrong without.
_MARKS: Mapping[str, tuple[str, type | UnionType, str]] = {
    "path": ("replay", str, 'a replay needs the path of its trace, such as path = "trace.csv.gz"'),
    "expression": ("queries", str | dict, 'queries need an expression, such as expression = "and(months)"'),
}
#: The most dies that anything of a group can name.
_DIES_MAX = 65_535


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
class GroupTable:
    """Vectors of zeroes that a drive is to hold before anything runs."""

    name: str
    """The group's name."""
    vectors: int
    """How many."""
    bits: int
    """Length of each."""
    inverse: bool = False
    """Whether the inverse of each is stored, which suits ORs."""
    first_die: int | None = None
    """The die of the first page of each, as `Drive.group` has it."""
    dies: int | None = None
    """Over how many dies they are spread; all if not given."""

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """The group that a `[[group]]` table describes.

        Raises:
            UsageError: A key is missing or unknown, or has a value that cannot be.
        """
        if not isinstance(value.get("name"), str):
            raise UsageError('a group needs a name, such as name = "months"')
        what = f"group {quoted(repr(value['name']))}"
        known(what, value, *(field.name for field in fields(cls)))
        for key, least, most in (
            ("vectors", 1, COUNT_MAX),
            ("bits", 1, BITS_MAX),
            ("first_die", 0, _DIES_MAX),
            ("dies", 1, _DIES_MAX),
        ):
            number = value.get(key)
            if number is None and key in ("vectors", "bits"):
                raise UsageError(f"{what} needs the key {key}")
            if number is not None and not (type(number) is int and least <= number <= most):
                raise UsageError(f"{what}: {key} = {quoted(repr(number))} must be from {least} to {most}")
        if not isinstance(value.get("inverse", False), bool):
            raise UsageError(f"{what}: inverse = {quoted(repr(value['inverse']))} must be true or false")
        return cls(**value)

    def place(self, drive: Drive, progress: Callable[[int], object] | None = None) -> None:
        """Set the vectors up at once, as `Group.place` does.

        Args:
            drive: Where.
            progress: Called with the number of vectors that are set up.

        Raises:
            UsageError: The drive has a group of this name already, no such dies, or no room.
        """
        if self.name in drive.groups:
            raise UsageError(f"group {self.name!r}: the drive holds a group of this name already")
        group = drive.group(self.name, first_die=self.first_die, dies=self.dies)
        group.place(self.vectors, bits=self.bits, inverse=self.inverse, progress=progress)


@dataclass(frozen=True)
class WorkloadFile:
    """What a workload file says."""

    drive: DriveTable
    """The drive."""
    precondition: Mapping[str, Any] | None
    """Arguments of `Media.precondition`; None leaves the drive blank."""
    groups: tuple[GroupTable, ...]
    """Vectors that are there from the beginning."""
    workloads: tuple[Mapping[str, Any], ...]
    """Flows, replays and queries, for `Drive.measure`."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The workload in a TOML file; files that it names are looked for beside it.

        Raises:
            UsageError: It is no workload; the message says where.
            OSError: It cannot be read.
        """
        if path.suffix.lower() == ".xml":
            raise UsageError(
                f"{path}: a workload is a TOML file; MQSim's are run by `bitline validate mqsim DIR`, the "
                "folder of ssdconfig.xml and workload.xml"
            )
        try:
            data = toml_text.loads(path.read_text(encoding="utf-8"))
            known("a workload file", data, "drive", "precondition", "group", *PARTS)
            found = workloads("a workload file", data, path.parent)
            check(found)
            return cls(
                drive=drive_table(data.get("drive", {}), path.parent),
                precondition=precondition_table(data.get("precondition")),
                groups=tuple(GroupTable.of(each) for each in group_tables(data)),
                workloads=found,
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


def group_tables(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The `[[group]]` tables of a file.

    Raises:
        UsageError: They are no tables, or two have the same name.
    """
    found = _tables("group", data)
    names = [each.get("name") for each in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two groups have the name {quoted(repr(name))}; write one table for both")
    return found


def workloads(what: str, data: Mapping[str, Any], folder: Path) -> tuple[Mapping[str, Any], ...]:
    """The flows, replays and queries of a table; traces are looked for in `folder`.

    Raises:
        UsageError: There are none, or they are no tables.
    """
    found: list[Mapping[str, Any]] = []
    for part in PARTS:
        for each in _tables(part, data):
            for key, (owner, types, missing) in _MARKS.items():
                if part != owner and key in each:
                    raise UsageError(
                        f"[[{part}]] has no {key}; write [[{owner}]] for {quoted(repr(each[key]))}"
                    )
                if part == owner and not isinstance(each.get(key), types):
                    raise UsageError(missing)
            found.append({**each, "path": str(folder / each["path"])} if part == "replay" else each)
    if not found:
        raise UsageError(f"{what} needs at least one [[flow]], [[replay]] or [[queries]]")
    return tuple(found)


def part_of(workload: Mapping[str, Any]) -> str:
    """Of which kind a workload is, as the name of its list of tables."""
    owners = [owner for key, (owner, _, _) in _MARKS.items() if key in workload]
    return owners[0] if owners else PARTS[0]


def _tables(part: str, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    tables = data.get(part, [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError(f"{part} must be a list of tables, each under [[{part}]]")
    return tables


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
