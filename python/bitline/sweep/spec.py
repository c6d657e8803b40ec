"""What a sweep varies, read from TOML, and the points that it stands for.

```toml
seeds = [1, 2, 3]            # the key `seed` of the drive; [1] if there is none

[drive]                      # what all drives have in common
preset = "mqsim-default"     # or config = "FILE.toml"
set = { "data.storage" = "none" }

[grid]                       # one axis a line: keys of the drive, "preset", or keys of flows after "flow."
"nand.geometry.channels" = [4, 8]
"flow.arrival.depth" = [1, 16]

[[workload]]
name = "reads"
flow = [{ requests = 10_000 }]
```
"""

import copy
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bitline.drive import Setting, configuration
from bitline.errors import BitlineError, ConfigError, UsageError
from bitline.sweep.point import Point

#: Axes that begin so are keys of every flow of a workload.
_FLOW = "flow."
#: No sweep has more points: each is a file.
POINTS_MAX = 1_000_000


@dataclass(frozen=True)
class Workload:
    """Flows that run side by side on one drive."""

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
        data = tomllib.loads(text)
        _known("a sweep", data, "drive", "grid", "workload", "seeds")
        drive = _table("drive", data.get("drive", {}))
        _known("drive", drive, "preset", "config", "set")
        config = drive.get("config")
        seeds = data.get("seeds", [1])
        if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
            raise UsageError("seeds must be a list of whole numbers")
        grid = {axis: _values(axis, values) for axis, values in _table("grid", data.get("grid", {})).items()}
        spec = cls(
            preset=drive.get("preset"),
            config=None if config is None else folder / config,
            settings={"data.storage": "none", **_table("drive.set", drive.get("set", {}))},
            grid=grid,
            workloads=_workloads(data.get("workload")),
            seeds=tuple(dict.fromkeys(seeds)),
        )
        spec._check()
        return spec

    def _check(self) -> None:
        if "seed" in self.grid or "seed" in self.settings:
            raise UsageError("the key seed is what seeds = [...] sets; leave it out elsewhere")
        if "preset" in self.grid and (self.preset or self.config):
            raise UsageError("preset is an axis of the grid; leave it out of [drive]")
        if len(self) > POINTS_MAX:
            raise UsageError(f"this makes {len(self):,} points; a sweep has at most {POINTS_MAX:,}")

    def __len__(self) -> int:
        count = len(self.workloads) * len(self.seeds)
        for values in self.grid.values():
            count *= len(values)
        return count

    def points(self) -> Iterator[Point]:
        """All points, in the order of the axes, workloads and seeds.

        A point whose configuration makes no drive carries the error.

        Raises:
            ConfigError: No point makes a drive.
        """
        first: ConfigError | None = None
        made = False
        for number, (values, workload, seed) in enumerate(self._combinations()):
            axes = dict(zip(self.grid, values, strict=True))
            config, error = "", None
            try:
                config = self._config(axes, seed)
                made = True
            except ConfigError as wrong:
                first, error = first or wrong, wrong
                if number == len(self) - 1 and not made:
                    raise first from None
            yield Point(
                number=number,
                axes=axes,
                workload=workload.name,
                seed=seed,
                config=config,
                flows=tuple(_with_keys(flow, axes) for flow in workload.flows),
                error=None if error is None else str(error),
            )

    def _combinations(self) -> Iterator[tuple[tuple[Setting, ...], Workload, int]]:
        return itertools.product(itertools.product(*self.grid.values()), self.workloads, self.seeds)

    def _config(self, axes: Mapping[str, Setting], seed: int) -> str:
        keys = {key: value for key, value in axes.items() if not key.startswith(_FLOW)}
        preset = keys.pop("preset", self.preset)
        if preset is not None and not isinstance(preset, str):
            raise UsageError(f"grid: preset = {preset} must be a name")
        try:
            return configuration(preset, self.config, {**self.settings, **keys, "seed": seed}).to_toml()
        except BitlineError:
            raise
        except (TypeError, ValueError) as error:
            raise UsageError(f"grid: {error}") from error


def _known(what: str, table: Mapping[str, Any], *keys: str) -> None:
    for key in table:
        if key not in keys:
            raise UsageError(f"{what} has no key {key!r}; it has {', '.join(keys)}")


def _table(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table")
    return value


def _values(axis: str, values: object) -> tuple[Setting, ...]:
    if isinstance(values, dict):
        raise UsageError(f'grid: write the key {axis}... in quotes: "{axis}.KEY" = [...]')
    if not isinstance(values, list) or not values:
        raise UsageError(f"grid: {axis} must be a list of values")
    if any(values.count(value) > 1 for value in values):
        raise UsageError(f"grid: {axis} has the same value twice")
    return tuple(values)


def _workloads(value: object) -> tuple[Workload, ...]:
    if not isinstance(value, list) or not value:
        raise UsageError("a sweep needs at least one [[workload]]")
    found = []
    for number, table in enumerate(value):
        _known("a workload", table, "name", "flow")
        flows = table.get("flow", [{}])
        if not isinstance(flows, list) or not flows or not all(isinstance(flow, dict) for flow in flows):
            raise UsageError(f"workload {number}: flow must be a list of tables")
        found.append(Workload(str(table.get("name", f"workload {number}")), tuple(flows)))
    if len({workload.name for workload in found}) < len(found):
        raise UsageError("two workloads have the same name")
    return tuple(found)


def _with_keys(flow: Mapping[str, Any], axes: Mapping[str, Setting]) -> dict[str, Any]:
    """The flow with the axes that are keys of flows."""
    made = copy.deepcopy(dict(flow))
    for axis, value in axes.items():
        if axis.startswith(_FLOW):
            *tables, key = axis.removeprefix(_FLOW).split(".")
            table = made
            for name in tables:
                table = table.setdefault(name, dict(_DEFAULTS.get(name, {})))
            table[key] = value
    return made


#: What a table of a flow is when an axis sets a key in it and the flow has none.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"arrival": {"kind": "closed", "depth": 32}}
