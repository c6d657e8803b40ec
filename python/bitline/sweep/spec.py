"""What a sweep varies, read from TOML, and the points that it stands for.

```toml
seeds = [1, 2, 3]            # the key `seed` of the drive; [1] if there is none

[drive]                      # what all drives have in common
preset = "mqsim-default"     # or config = "FILE.toml"
set = { "data.storage" = "none" }

[grid]                       # one axis a line: keys of the drive, "preset", "flow.KEY", "replay.KEY",
"nand.geometry.channels" = [4, 8]   # "queries.KEY" or "group.KEY"
"flow.arrival.depth" = [1, 16]

[precondition]               # the keys of `Media.precondition`; drives are blank if there is none
history = "steady_state"

[[group]]                    # vectors that all drives hold, as in a workload file
name = "months"
vectors = 12
bits = 1_000_000

[[workload]]                 # flows, replays and queries side by side, with the keys of `Drive.measure`
name = "reads"
flow = [{ requests = 10_000 }]
queries = [{ expression = "and(months)", requests = 100 }]
```
"""

import copy
import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bitline import toml_text
from bitline.errors import BitlineError, ConfigError, UsageError
from bitline.opening import Setting, configuration
from bitline.sweep.point import Point
from bitline.workload import check
from bitline.workload_file import (
    PARTS,
    GroupTable,
    drive_table,
    group_tables,
    known,
    part_of,
    precondition_table,
    table,
    workloads,
)

#: Axes that begin so are keys of every table of the kind: of a workload, or groups.
_GROUP = "group."
_TABLES = (_GROUP, *(f"{part}." for part in PARTS))
#: No sweep has more points: each is a file.
POINTS_MAX = 1_000_000


@dataclass(frozen=True)
class Workload:
    """Flows, replays and queries that run side by side on one drive."""

    name: str
    flows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Spec:
    """What a sweep varies."""

    preset: str | None
    """The drive that all points start from."""
    config: Path | None
    """The same, from a TOML file."""
    settings: Mapping[str, Setting]
    """Keys that all points share."""
    precondition: Mapping[str, Any] | None
    """What drives held before."""
    groups: tuple[Mapping[str, Any], ...]
    """`[[group]]` tables: vectors that all drives hold."""
    grid: Mapping[str, tuple[Setting, ...]]
    """Values by axis."""
    workloads: tuple[Workload, ...]
    seeds: tuple[int, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The spec in a TOML file; files that it names are looked for beside it.

        Raises:
            UsageError: It is no spec; the message says where.
            OSError: It cannot be read.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"), path.parent)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path}: this is no TOML: {error}") from error
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str, folder: Path = Path()) -> Self:
        """The spec in TOML text; files that it names are looked for in `folder`.

        Raises:
            UsageError: It is no spec.
        """
        data = toml_text.loads(text)
        known("a sweep", data, "drive", "precondition", "group", "grid", "workload", "seeds")
        drive = drive_table(data.get("drive", {}), folder)
        seeds = data.get("seeds", [1])
        if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
            raise UsageError("seeds must be a list of whole numbers")
        grid = {axis: _values(axis, values) for axis, values in table("grid", data.get("grid", {})).items()}
        spec = cls(
            preset=drive.preset,
            config=drive.config,
            settings={"data.storage": "none", **(drive.settings or {})},
            precondition=precondition_table(data.get("precondition")),
            groups=tuple(group_tables(data)),
            grid=grid,
            workloads=_workloads(data.get("workload"), folder),
            seeds=tuple(dict.fromkeys(seeds)),
        )
        spec._check()
        return spec

    def _check(self) -> None:
        if "seed" in self.grid or "seed" in self.settings:
            raise UsageError("the key seed is what seeds = [...] sets; leave it out elsewhere")
        if "preset" in self.grid and (self.preset or self.config):
            raise UsageError("preset is an axis of the grid; leave it out of [drive]")
        for axis in self.grid:
            if axis.startswith(_GROUP) and not self.groups:
                raise UsageError(f"grid: {axis} is a key of a group, and there is no [[group]]")
            if axis.startswith(_TABLES[1:]) and not any(
                axis.startswith(f"{part_of(part)}.") for workload in self.workloads for part in workload.flows
            ):
                what = axis.partition(".")[0]
                what = what if what == "queries" else f"a {what}"
                raise UsageError(f"grid: {axis} is a key of {what}, and no workload has {what}")
        if len(self) > POINTS_MAX:
            raise UsageError(f"this makes {len(self):,} points; a sweep has at most {POINTS_MAX:,}")

    def __len__(self) -> int:
        count = len(self.workloads) * len(self.seeds)
        for values in self.grid.values():
            count *= len(values)
        return count

    def points(self) -> Iterator[Point]:
        """All points, in the order of the axes, workloads and seeds.

        A point whose configuration makes no drive, or whose workload is none, carries the error.

        Raises:
            ConfigError: No point makes a drive.
            UsageError: No point makes a workload.
        """
        first: ConfigError | UsageError | None = None
        made = False
        for number, (values, workload, seed) in enumerate(self._combinations()):
            axes = dict(zip(self.grid, values, strict=True))
            flows = tuple(_with_keys(flow, axes, part_of(flow)) for flow in workload.flows)
            groups = tuple(_with_keys(group, axes, "group") for group in self.groups)
            config, error = "", None
            try:
                config = self._config(axes, seed)
                check(flows)
                for group in groups:
                    GroupTable.of(group)
                made = True
            except (ConfigError, UsageError) as wrong:
                first, error = first or wrong, wrong
                if number == len(self) - 1 and not made:
                    raise first from None
            yield Point(
                number=number,
                axes=axes,
                workload=workload.name,
                seed=seed,
                config=config,
                flows=flows,
                precondition=self.precondition,
                groups=groups,
                error=None if error is None else str(error),
            )

    def _combinations(self) -> Iterator[tuple[tuple[Setting, ...], Workload, int]]:
        return itertools.product(itertools.product(*self.grid.values()), self.workloads, self.seeds)

    def _config(self, axes: Mapping[str, Setting], seed: int) -> str:
        keys = {key: value for key, value in axes.items() if not key.startswith(_TABLES)}
        preset = keys.pop("preset", self.preset)
        if preset is not None and not isinstance(preset, str):
            raise UsageError(f"grid: preset = {preset} must be a name")
        try:
            return configuration(preset, self.config, {**self.settings, **keys, "seed": seed}).to_toml()
        except BitlineError:
            raise
        except (TypeError, ValueError) as error:
            raise UsageError(f"grid: {error}") from error


def _values(axis: str, values: object) -> tuple[Setting, ...]:
    if isinstance(values, dict):
        raise UsageError(f'grid: write the key {axis}... in quotes: "{axis}.KEY" = [...]')
    if not isinstance(values, list) or not values:
        raise UsageError(f"grid: {axis} must be a list of values")
    if any(values.count(value) > 1 for value in values):
        raise UsageError(f"grid: {axis} has the same value twice")
    return tuple(values)


def _workloads(value: object, folder: Path) -> tuple[Workload, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        raise UsageError("a sweep needs at least one [[workload]]")
    found = []
    for number, each in enumerate(value):
        known("a workload", each, "name", *PARTS)
        tables = each if any(part in each for part in PARTS) else {"flow": [{}]}
        flows = workloads(f"workload {number}", tables, folder)
        found.append(Workload(str(each.get("name", f"workload {number}")), flows))
    if len({workload.name for workload in found}) < len(found):
        raise UsageError("two workloads have the same name")
    return tuple(found)


def _with_keys(values: Mapping[str, Any], axes: Mapping[str, Setting], what: str) -> dict[str, Any]:
    """The table of a kind with the axes that are its keys."""
    made = copy.deepcopy(dict(values))
    for axis, value in axes.items():
        if axis.startswith(f"{what}."):
            _, *tables, key = axis.split(".")
            place = made
            for name in tables:
                defaults = _DEFAULTS[name](what) if name in _DEFAULTS else {}
                place = place.setdefault(name, defaults)
            place[key] = value
    return made


#: What a table within one is when an axis sets a key in it and there is none, by the kind of the outer one.
_DEFAULTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "arrival": lambda what: {"kind": "closed", "depth": 1 if what == "queries" else 32},
    "timing": lambda _: {"kind": "as_fast_as_possible", "depth": 32},
}
