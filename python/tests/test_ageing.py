"""Drives that grow older: what becomes of vectors and of blocks, and what SMART says of it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bitline
from bitline import cells
from bitline.cli.app import app
from bitline.errors import MediaError, UsageError
from bitline.opening import Setting, configuration

#: One channel of one die; vectors take 128 KiB of bits a page.
SMALL: dict[str, Setting] = {
    "nand.geometry.channels": 1,
    "nand.geometry.chips_per_channel": 1,
    "nand.geometry.blocks_per_plane": 64,
    "ftl.overprovisioning": 0.2,
}
#: ESP programmed no longer than SLC.
WEAK: dict[str, Setting] = {**SMALL, "nand.latency.program_esp_ns": 200_000}
#: Flash-Cosmos's worst case: 10,000 cycles and a year at 30 degrees.
WORST = {"days": 365.0, "temperature_celsius": 30.0, "pe_cycles": 10_000}

ROWS = np.random.default_rng(5).random((4, 500_000)) < 0.5


def test_lookups_miss_and_match_falsely_as_expected() -> None:
    def found(*, enhanced: bool = False, tuned: bool = False, **more: int) -> cells.LookupErrors:
        return cells.lookup_errors(enhanced=enhanced, tuned=tuned, names=400_000, **more)

    plain = found(pe_cycles=2_500)
    assert plain == found(pe_cycles=2_500) != found(pe_cycles=2_500, seed=1)
    assert (plain.raise_steps, plain.is_enough, plain.names) == (0, False, 400_000)
    for counted, expected in (
        (plain.misses, plain.expected_misses),
        (plain.false_matches, plain.expected_false_matches),
    ):
        assert math.isclose(counted / plain.names, expected, rel_tol=0.2)
    # What the closed form says of a name of 97 cells follows from the rate of one, within blocks' qualities.
    worn = found(pe_cycles=20_000)
    assert worn.misses > plain.misses
    tuned = found(pe_cycles=20_000, tuned=True)
    assert (tuned.raise_steps, tuned.misses) == (15, 0)
    assert tuned.false_matches / tuned.names > worn.false_matches / worn.names
    # A finer step is not enough, a coarser one takes fewer.
    coarse = configuration(settings={"nand.mws.raise_step_mv": 400})
    enough = cells.lookup_errors(enhanced=False, tuned=True, names=400_000, config=coarse)
    assert enough.is_enough
    assert 0 < enough.raise_steps < 15
    strong = found(enhanced=True, tuned=True, pe_cycles=20_000)
    assert strong.is_enough
    assert (strong.raise_steps, strong.misses, strong.false_matches) == (0, 0, 0)
    # Millions of reads raise low cells: then even these are tuned.
    disturbed = found(enhanced=True, tuned=True, pe_cycles=10_000, reads=30_000_000)
    assert disturbed.raise_steps > 0
    assert disturbed.is_enough
    for wrong in ({"names": 0}, {"name_bytes": 0}, {"pe_cycles": -1}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            cells.lookup_errors(enhanced=False, tuned=False, **wrong)


def test_weakly_programmed_vectors_give_wrong_results_and_always_the_same() -> None:
    with bitline.open(set=WEAK) as drive:
        a, b, c, d = drive.group("weak").write(ROWS)
        expected = ROWS.all(axis=0)
        drive.media.grow_older(**WORST)
        result = (a & b & c & d).read()
        wrong = int((result != expected).sum())
        # The rate of one vector is about 2.7e-3; an AND of four shows a part of that.
        assert 100 < wrong < 6000
        np.testing.assert_array_equal((a & b & c & d).read(), result)
        singles = np.stack([vector.read() for vector in (a, b, c, d)])
        np.testing.assert_array_equal(singles.all(axis=0), result, "an AND of what the cells show")
        drive.media.grow_older(days=365)
        assert ((a & b & c & d).read() != expected).sum() > wrong


def test_vectors_programmed_with_twice_the_effort_stay_right() -> None:
    with bitline.open(set=SMALL) as drive:
        a, b, c, d = drive.group("strong").write(ROWS)
        drive.media.grow_older(**WORST)
        np.testing.assert_array_equal(((a & b) | (c & ~d)).read(), (ROWS[0] & ROWS[1]) | (ROWS[2] & ~ROWS[3]))


def test_blocks_are_read_again_with_other_references_and_then_lost() -> None:
    data = np.random.default_rng(6).bytes(4096 * 400)
    with bitline.open(set=SMALL) as drive:
        drive.write(0, data)
        assert drive.read(0, 400) == data
        fresh = drive.statistics
        assert (fresh.flash.pages_retried, fresh.flash.read_retries) == (0, 0)
        took = -drive.now.s
        assert drive.read(0, 400) == data
        took += drive.now.s

        drive.media.grow_older(**WORST)
        before, begin = drive.statistics, drive.now.s
        assert drive.read(0, 400) == data
        flash = drive.statistics.since(before).flash
        assert flash.pages_retried > 0
        assert flash.pages_given_up == 0
        assert flash.read_retries >= flash.pages_retried
        # Each retry is a sense of its own.
        assert flash.senses == flash.page_reads + flash.read_retries
        assert drive.now.s - begin > took
        assert drive.admin.health().media_errors == 0

        drive.media.grow_older(days=3650, temperature_celsius=55, pe_cycles=20_000)
        before = drive.statistics
        with pytest.raises(MediaError, match="Unrecovered Read Error"):
            drive.read(0, 400)
        assert drive.statistics.since(before).flash.pages_given_up > 0
        assert drive.admin.health().media_errors == 1
        # A write of part of a lost page cannot keep the rest; a page that is written whole reads well.
        with pytest.raises(MediaError):
            drive.write(0, data[:4096])
        drive.write(0, data[:16384])
        assert drive.read(0, 4) == data[:16384]


def test_a_lost_page_stays_lost_and_brings_nothing_old_back() -> None:
    with bitline.open(set=SMALL) as drive:
        drive.write(0, b"old " * 4096)
        drive.write(0, b"new " * 4096)
        drive.write(8, b"gone" * 4096)
        drive.deallocate(8, 4)
        drive.media.grow_older(days=3650, temperature_celsius=55, pe_cycles=20_000)
        drive.power_cut()
        drive.power_up()
        with pytest.raises(MediaError):
            drive.read(0, 4)
        assert drive.read(8, 4) == bytes(16384)


def test_an_image_remembers_its_age_and_smart_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "old.img"
    with bitline.open(path=path, set=WEAK) as drive:
        (a, *_) = drive.group("g").write(ROWS)
        new = drive.admin.health()
        age = drive.media.grow_older(days=100, temperature_celsius=55, pe_cycles=600)
        assert age == drive.media.age
        aged = a.read()
    with bitline.open(path=path) as drive:
        assert drive.media.age == age
        assert (age.hours, age.cycles, age.celsius) == (2400.0, 600, 55.0)
        assert age.effective_hours > 20 * 2400
        health = drive.admin.health()
        assert health.power_on_hours - new.power_on_hours == 2400
        assert health.percentage_used - new.percentage_used == 20  # 600 of 3,000 rated
        assert health.temperature_kelvin == 328
        np.testing.assert_array_equal(drive.group("g").vectors()[0].read(), aged)
        assert (aged != ROWS[0]).any()


def test_two_drives_have_different_weak_cells_and_one_seed_the_same() -> None:
    def aged(seed: int) -> np.ndarray:
        with bitline.open(set={**WEAK, "seed": seed}) as drive:
            (vector,) = drive.group("0").write(ROWS[:1])
            drive.media.grow_older(**WORST)
            return vector.read()

    np.testing.assert_array_equal(aged(1), aged(1))
    assert (aged(1) != aged(2)).any()


def test_nothing_is_lost_where_errors_are_off() -> None:
    with bitline.open(set={**WEAK, "nand.cells.errors": "none"}) as drive:
        (vector,) = drive.group("0").write(ROWS[:1])
        drive.write(0, bytes(4096))
        drive.media.grow_older(days=36_500, pe_cycles=100_000)
        np.testing.assert_array_equal(vector.read(), ROWS[0])
        assert drive.read(0) == bytes(4096)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"days": -1}, "days is -1; it must be 0 to 365250"),
        ({"days": math.nan}, "days is nan"),
        ({"days": 1, "temperature_celsius": 400}, "temperature is 400; it must be -50 to 150"),
        ({"pe_cycles": 10_000_001}, "cycles is 10000001"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, float], said: str) -> None:
    with bitline.open(set=SMALL) as drive:
        with pytest.raises(UsageError, match=said):
            drive.media.grow_older(**arguments)
        assert drive.media.age.hours == 0


def test_rates_are_refused_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match='there is no mode "plc"; it must be slc, esp, mlc, tlc or qlc'):
        cells.rber("plc")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"effort is 0\.5; it must be from 1 to 10"):
        cells.rber("esp", effort=0.5)
    with pytest.raises(UsageError, match="it belongs to mode esp, not to slc"):
        cells.rber("slc", effort=2.0)
    with pytest.raises(UsageError, match="1 to 4 can be sensed at once"):
        cells.sense_power(blocks=5)
    with pytest.raises(UsageError, match="wordlines is 0"):
        cells.sense_time(wordlines=0)


def test_the_effort_is_the_drives_unless_given() -> None:
    worn = {"pe_cycles": 10_000.0, "retention_days": 365.0}
    assert cells.rber("esp", **worn) == cells.rber("esp", effort=2.0, **worn) < 1e-15
    weak = configuration(settings=WEAK)
    assert cells.rber("esp", **worn, config=weak) == cells.rber("esp", effort=1.0, **worn) > 1e-3


def test_wrong_results_grow_with_operands() -> None:
    assert cells.wrong_results(0.0, 48) == 0
    assert cells.wrong_results(8.6e-4, 1) == pytest.approx(8.6e-4)
    assert cells.wrong_results(1e-6, 1000) == pytest.approx(1 - (1 - 1e-6) ** 1000)


def test_the_command_makes_an_image_older(tmp_path: Path) -> None:
    path = tmp_path / "a.img"
    bitline.open(path=path, set=WEAK).close()
    runner = CliRunner()
    done = runner.invoke(app, ["age", str(path), "--years", "1", "--cycles", "10000", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["hours"], found["cycles"], found["power_on_hours"]) == (8760, 10_000, 8760)
    rates = {row["mode"]: row["after"] for row in found["error_rates"]}
    assert 1e-3 < rates["esp"] < 1e-2 < rates["tlc"]
    alone = runner.invoke(app, ["age", str(path), "--temperature", "90"])
    assert isinstance(alone.exception, UsageError)
    again = json.loads(runner.invoke(app, ["age", str(path), "--json"]).stdout)
    assert again["hours"] == 8760
    assert [row["before"] for row in again["error_rates"]] == list(rates.values())
