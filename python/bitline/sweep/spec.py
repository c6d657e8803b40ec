"""What a sweep varies, read from TOML, and the points that it stands for.

```toml
seeds = [1, 2, 3]            # the key `seed` of the drive; [1] if there is none

[drive]                      # what all drives have in common
preset = "mqsim-default"     # or config = "FILE.toml"
set = { "data.storage" = "none" }

[grid]                       # one axis a line: keys of the drive, "preset", "flow.KEY" or "replay.KEY"
"nand.geometry.channels" = [4, 8]
"flow.arrival.depth" = [1, 16]

[precondition]               # the keys of `Media.precondition`; drives are blank if there is none
history = "steady_state"

[[workload]]                 # flows and replays side by side, with the keys of `Drive.measure`
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

from bitline import toml_text
from bitline.drive import Setting, configuration
from bitline.errors import BitlineError, ConfigError, UsageError
from bitline.sweep.point import Point
from bitline.workload import check
from bitline.workload_file import drive_table, known, precondition_table, table, workloads

#: Axes that begin so are keys of every flow, or every replay, of a workload.
_FLOW, _REPLAY = "flow.", "replay."
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
    precondition: Mapping[str, Any] | None
    """What drives held before."""
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
        known("a sweep", data, "drive", "precondition", "grid", "workload", "seeds")
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
            if axis.startswith((_FLOW, _REPLAY)) and not any(
                _is_of(axis, part) for workload in self.workloads for part in workload.flows
            ):
                what = axis.partition(".")[0]
                raise UsageError(f"grid: {axis} is a key of a {what}, and no workload has a {what}")
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
            flows = tuple(_with_keys(flow, axes) for flow in workload.flows)
            config, error = "", None
            try:
                config = self._config(axes, seed)
                check(flows)
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
                error=None if error is None else str(error),
            )

    def _combinations(self) -> Iterator[tuple[tuple[Setting, ...], Workload, int]]:
        return itertools.product(itertools.product(*self.grid.values()), self.workloads, self.seeds)

    def _config(self, axes: Mapping[str, Setting], seed: int) -> str:
        keys = {key: value for key, value in axes.items() if not key.startswith((_FLOW, _REPLAY))}
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
        known("a workload", each, "name", "flow", "replay")
        tables = each if "flow" in each or "replay" in each else {"flow": [{}]}
        flows = workloads(f"workload {number}", tables, folder)
        found.append(Workload(str(each.get("name", f"workload {number}")), flows))
    if len({workload.name for workload in found}) < len(found):
        raise UsageError("two workloads have the same name")
    return tuple(found)


def _with_keys(flow: Mapping[str, Any], axes: Mapping[str, Setting]) -> dict[str, Any]:
    """The flow or replay with the axes that are its keys."""
    made = copy.deepcopy(dict(flow))
    for axis, value in axes.items():
        if _is_of(axis, flow):
            _, *tables, key = axis.split(".")
            place = made
            for name in tables:
                place = place.setdefault(name, dict(_DEFAULTS.get(name, {})))
            place[key] = value
    return made


def _is_of(axis: str, part: Mapping[str, Any]) -> bool:
    """Whether an axis is a key of this flow or replay."""
    return axis.startswith(_REPLAY if "path" in part else _FLOW)


#: What a table of a flow is when an axis sets a key in it and the flow has none.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "arrival": {"kind": "closed", "depth": 32},
    "timing": {"kind": "as_fast_as_possible", "depth": 32},
}
