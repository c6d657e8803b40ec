"""How figures move with the estimates of the drive."""

import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import Run

from bitline.errors import ConfigError
from bitline.repro.flash_cosmos import BitmapIndex, CliqueStars, ImageSegmentation, Workload, published
from bitline.repro.flash_cosmos import sensitivity as module
from bitline.repro.flash_cosmos.estimates import estimates
from bitline.repro.flash_cosmos.runs import Changes
from bitline.repro.flash_cosmos.sensitivity import Moved, sensitivity, told


def _quiet(what: str, done: int, total: int) -> None:
    pass


def test_estimates_are_found_by_the_comments_of_the_preset() -> None:
    found = {estimate.key: estimate for estimate in estimates()}
    host = found["host.active_milliwatts"]
    assert (host.value, host.low, host.high, host.unit) == (45_000, 22_500, 90_000, "mW")
    # What is stated, what is a word or a switch, and what has no half.
    for key in ("nand.latency.read_slc_ns", "ftl.gc.policy", "ftl.gc.copyback", "cores.work.fetch_cycles"):
        assert key not in found
    assert found["cores.count"].low is None
    # Cells are chosen together: a tenth. A list is scaled as a whole.
    assert found["nand.cells.states.mlc_mv"].low == [450.0, 1530.0, 2610.0]
    assert found["nand.energy.erase_power_percent"].low == 181
    # 70 % and a half more would be beyond 100 %.
    assert found["nand.cells.esp.narrowing_percent"].high == 77.0


def _probe(moving: dict[str, float], refused: set[str]) -> Callable[[Changes], dict[str, float]]:
    def look(changed: Changes) -> dict[str, float]:
        if refused & changed.keys():
            raise ConfigError("refused")
        return {"number": 1 + sum(moving.get(key, 0.0) for key in changed)}

    return look


def test_what_moves_is_found_among_much_that_does_not() -> None:
    found = estimates()
    keys = [estimate.key for estimate in found]
    look = _probe({keys[3]: 0.5, keys[40]: 1e-6, keys[41]: -0.25}, {keys[9]})
    looks: list[int] = []

    def counted(changed: Changes) -> dict[str, float]:
        looks.append(len(changed))
        return look(changed)

    outcome = module._probed("", found, frozenset({keys[41]}), counted, {"number": 1.0}, _quiet)
    assert {key for key, _ in outcome} == {keys[3], keys[9], keys[40]}
    assert all((numbers is None) == (key == keys[9]) for (key, _), numbers in outcome.items())
    assert len(looks) < len(found), "fewer than one for each"


def test_cells_move_the_errors_and_nothing_else_does() -> None:
    moved = sensitivity(["11", "12"], published(), quick=True, workers=1, progress=_quiet)
    assert moved
    assert all(one.estimate.key.startswith("nand.cells.") for one in moved)
    assert {one.published.figure for one in moved} == {"figure-11"}
    assert [one.moves for one in moved] == sorted((one.moves for one in moved), reverse=True)
    half = next(one for one in moved if one.estimate.key == "nand.cells.esp.half_percent")
    assert half.turns
    assert half in told(moved)
    assert len(told(moved)) < len(moved)


def test_the_power_of_the_host_moves_energies_and_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(*, quick: bool = False) -> list[Workload]:
        return [
            *(BitmapIndex(months, users=1_000_000) for months in (1, 12, 36)),
            ImageSegmentation(10_000, pixels=100),
            *(CliqueStars(k, vertices=10_000, cliques=64) for k in (16, 32, 64)),
        ]

    few = [one for one in estimates() if one.key in ("host.active_milliwatts", "ftl.gc.choices")]
    monkeypatch.setattr(module, "estimates", lambda: few)
    monkeypatch.setattr(module, "evaluated", small)
    moved = sensitivity(["17", "18"], published(), quick=True, workers=1, progress=_quiet)
    assert {one.estimate.key for one in moved} == {"host.active_milliwatts"}
    by_key: dict[str, Moved] = {one.published.key: one for one in moved}
    assert {one.published.figure for one in moved} == {"figure-18"}
    mean = by_key["energy.all.fc_over_osp"]
    assert mean.at_low is not None
    assert mean.at_high is not None
    # The host combines for OSP and only counts for Flash-Cosmos: its power is most of OSP's energy.
    assert mean.at_low < mean.as_it_is < mean.at_high


def test_the_command_tells_all_moves(run: Run, tmp_path: Path) -> None:
    arguments = ("repro", "flash-cosmos", "--figure", "8", "--sensitivity", "--out", tmp_path)
    rows = run(*arguments, "--json").json["sensitivity"]
    assert {row["figure"] for row in rows} == {"figure-08"}
    for row in rows:
        ends = [row[end] for end in ("at_low", "at_high") if row[end] is not None]
        assert math.isclose(row["moves"], max(abs(end / row["as_it_is"] - 1) for end in ends))
    kept = pq.read_table(tmp_path / "sensitivity.parquet").to_pylist()
    assert [(row["estimate"], row["key"]) for row in kept] == [(row["estimate"], row["key"]) for row in rows]
    done = run(*arguments)
    assert done.code == 0
    assert "nand.cells.states.mlc_sigma_mv" in done.out
