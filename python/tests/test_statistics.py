"""Statistics and units: nothing that Rust counts is missing, differences are exact."""

import json
import re
from collections.abc import Iterator

import pytest
from conftest import SMALL

import bitline
from bitline import Drive, Duration, Energy, Size
from bitline.metrics import metric


def _leaves(data: object, name: str = "") -> dict[str, object]:
    """Every number and text of nested dicts and lists, under its path."""
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    else:
        return {name: data}
    return {path: leaf for key, value in items for path, leaf in _leaves(value, f"{name}.{key}").items()}


def test_everything_that_rust_counts_is_there(drive: Drive) -> None:
    drive.write(0, bytes(4096))
    drive.group("1").write([b"abc"])[0].count()
    drive.search.key_value("kv", name_bytes=8, value_bytes=40)[b"a"] = b"1"
    raw = _leaves(json.loads(drive._native.statistics()))
    shown = _leaves(drive.statistics.to_dict())
    assert shown.keys() == raw.keys()
    for key, value in raw.items():
        assert shown[key] == (pytest.approx(value) if isinstance(value, float) else value), key


def test_everything_that_a_report_has_is_there(drive: Drive) -> None:
    report = drive.measure({"requests": 50, "range_blocks": 64, "read_fraction": 0.5})
    raw = report.to_dict()
    flow = report.flows[0]
    for kind, latency in (("read", flow.read), ("write", flow.write)):
        times = {f"{name}_ns" for name in ("mean", "min", "p50", "p99", "p999", "p9999", "max")}
        assert raw["flows"][0][kind].keys() == times | {"count"}
        assert latency is not None
        assert latency.p999.ns == pytest.approx(raw["flows"][0][kind]["p999_ns"], abs=1e-3)


def test_a_difference_is_what_was_done_in_between(drive: Drive) -> None:
    drive.write(0, bytes(4096))
    before, then = drive.statistics, drive.now
    drive.write(1, bytes(3 * 4096))
    drive.read(0, 2)
    work = drive.statistics.since(before)
    assert work.elapsed == drive.now - then
    assert work.commands.commands == 2
    assert (work.flash.page_programs, work.flash.page_reads) == (3, 2)
    assert work.link_up_bytes >= 2 * 4096
    assert work.link_down_bytes >= 3 * 4096
    assert work.energy == sum((entry.energy for entry in work.energy_by), Energy(0))
    assert 0 < work.die_utilization < 1
    nothing = drive.statistics.since(drive.statistics)
    assert nothing.elapsed == Duration(0)
    assert nothing.energy == Energy(0)
    assert nothing.die_utilization == 0


def test_utilization_of_an_interval_counts_that_interval_only(drive: Drive) -> None:
    drive.write(0, bytes(4096))
    busy = drive.statistics
    first = busy.since(busy)
    drive.measure({"requests": 200, "range_blocks": 64, "prefill": False, "read_fraction": 0})
    both = drive.statistics
    later = both.since(busy)
    expected = both.die_utilization * both.elapsed.s - busy.die_utilization * busy.elapsed.s
    assert later.die_utilization * later.elapsed.s == pytest.approx(expected)
    assert later.die_utilization > busy.die_utilization > first.die_utilization == 0


def test_snapshots_of_different_lives_have_no_difference(drive: Drive) -> None:
    before = drive.statistics
    drive.write(0, bytes(4096))
    after = drive.statistics
    with pytest.raises(ValueError, match="in order"):
        before.since(after)
    drive.power_cut()
    drive.power_up()
    with pytest.raises(ValueError, match="no power-up in between"):
        drive.statistics.since(before)


def test_snapshots_of_different_drives_have_no_difference(drive: Drive) -> None:
    with bitline.open(set=SMALL) as other:
        assert other.statistics == drive.statistics
        with pytest.raises(ValueError, match="of different drives"):
            other.statistics.since(drive.statistics)


def test_two_drives_interleaved_do_not_disturb_each_other() -> None:
    """Each does what it does alone, command by command, though the other lives in between."""

    def steps(seed: int) -> Iterator[tuple[Duration, bytes]]:
        with bitline.open(set={**SMALL, "seed": seed}) as drive:
            (vector,) = drive.group("g").write([bytes([seed]) * 500])
            for number in range(40):
                drive.write(number % 7, bytes([seed, number]) * 2048)
                found = drive.read(number % 5) + (~vector).read_packed()
                drive.measure({"requests": 20, "range_blocks": 64, "read_fraction": 0.5, "name": f"{number}"})
                yield drive.now, found
            yield drive.now, repr(drive.statistics.to_dict()).encode()

    alone = list(steps(1)), list(steps(2))
    together = list(zip(steps(1), steps(2), strict=True))
    assert ([first for first, _ in together], [second for _, second in together]) == alone
    assert alone[0] != alone[1]


def test_statistics_are_readable(drive: Drive) -> None:
    drive.write(0, bytes(4096))
    text = repr(drive.statistics)
    assert re.fullmatch(r"<Statistics: [0-9.]+ µs, \d+ commands, 0 senses, 1 program, [0-9.]+ mJ>", text)
    assert re.search(r"pages programmed +1\n", str(drive.statistics))


def test_lookups_are_counted_and_told(drive: Drive) -> None:
    quiet = str(drive.statistics)
    assert "names" not in quiet
    kv = drive.search.key_value("kv", name_bytes=8, value_bytes=40)
    kv.update({b"%d" % number: bytes(60) for number in range(8)})
    before = drive.statistics
    assert kv[b"5"] == bytes(60)
    work = drive.statistics.since(before).search
    assert (work.lookups, work.entries_found, work.entries_appended) == (1, 2, 0)
    assert work.value_pages_read > 0
    assert isinstance(work.match_vector_bytes, Size)
    del kv[b"5"]
    after = drive.statistics.search
    assert (after.entries_appended, after.entries_deleted) == (16, 2)
    text = str(drive.statistics)
    assert re.search(r"Entries with names appended +16\n    deleted +2\n", text)
    assert re.search(rf"Lookups of names +{after.lookups}\n", text)
    assert re.search(rf"    entries found +{after.entries_found}\n", text)
    [row] = drive.statistics.to_arrow().to_pylist()
    assert row["search.lookups"] == after.lookups
    assert metric("statistics.search.lookups").label == "Lookups of names (since power-up)"


def test_units() -> None:
    duration = Duration.from_ns(22_500)
    assert (duration.ps, duration.ns, duration.us, duration.ms, duration.s) == (
        22_500_000,
        22_500,
        22.5,
        0.0225,
        2.25e-5,
    )
    assert (str(duration), repr(duration)) == ("22.5 µs", "<Duration 22.5 µs>")
    assert duration + duration == Duration(45_000_000)
    assert (duration - duration).ps == 0
    assert duration / Duration(11_250_000) == 2
    assert duration / 2 == Duration(11_250_000)
    assert Duration(1) < Duration(2)
    assert (sum([duration, duration]), 2 * duration, duration * 0.5) == (
        Duration(45_000_000),
        Duration(45_000_000),
        Duration(11_250_000),
    )
    assert (f"{duration:>9}|", f"{sum([Energy(1), Energy(1)]):>7}|") == ("  22.5 µs|", "   2 pJ|")
    energy = Energy(20_500_000)
    assert (energy.nj, energy.uj, energy.mj, energy.j) == (20_500, 20.5, 0.0205, 2.05e-5)
    assert (str(energy), energy / energy, energy + energy - energy) == ("20.5 µJ", 1, energy)
    assert (str(Size(4096)), Size(4096) + 1, f"{Size(10)!r}") == ("4.00 KiB", 4097, "<Size 10 B>")
    with pytest.raises(TypeError):
        _ = duration + energy
    with pytest.raises(TypeError):
        _ = duration < energy
