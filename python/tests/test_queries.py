"""Streams of queries: against queries asked one by one, by text, beside flows, from files and in sweeps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL
from typer.testing import CliRunner

import bitline
from bitline import PLATFORMS, BitExpression, Drive, Flow, Platform, Queries, UsageError
from bitline.cli.app import app
from bitline.expression_tree import tree
from bitline.sweep import Spec, live, run, table
from bitline.workload import REQUEST_KINDS, Answer, Closed, LatencyChunk, Paced
from bitline.workload_file import WorkloadFile

BITS = 300_000


def placed(drive: Drive) -> Drive:
    """The drive with six days and two named flags."""
    drive.group("days").place(6, bits=BITS)
    drive.group("flags").place(2, bits=BITS, names=["cheap", "new"])
    return drive


@pytest.fixture
def stored(drive: Drive) -> Drive:
    """A small drive that holds them."""
    return placed(drive)


def _alone(drive: Drive, expression: BitExpression, platform: Platform, answer: Answer) -> float:
    """What a query takes by itself, in nanoseconds."""
    begin = drive.now.ps
    match answer:
        case "count":
            expression.count(platform)
        case "count_by_host":
            expression.count(platform, where="host")
        case "read":
            expression.read(platform)
        case "stream":
            expression.stream(platform)
    return (drive.now.ps - begin) / 1000


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("answer", ["count", "count_by_host", "read", "stream"])
def test_a_query_takes_what_it_takes_by_itself(platform: Platform, answer: Answer) -> None:
    with placed(bitline.open(set=SMALL)) as drive:
        days, flags = drive.group("days"), drive.group("flags")
        asked = (days[0] & days[1] & days[2] & days[3] & days[4] & days[5]) | ~flags["new"]
        expected = [_alone(drive, asked, platform, answer) for _ in range(3)]
    chunks: list[LatencyChunk] = []
    with placed(bitline.open(set=SMALL)) as drive:
        queries = Queries("and(days) | ~flags:new", platform=platform, answer=answer, requests=3)
        report = drive.measure(queries, latencies=chunks.append)
    (told,) = report.queries
    latencies = np.concatenate([chunk["latency_ns"] for chunk in chunks])
    np.testing.assert_allclose(latencies, expected, rtol=0, atol=1e-6)
    assert told.queries_per_second == pytest.approx(3e9 / sum(expected))
    assert (told.platform, told.answer, told.queries, told.failed) == (platform, answer, 3, 0)
    assert (told.operands, told.bits, told.operand_bits) == (7, BITS, 3 * 7 * BITS)
    assert told.latency is not None
    assert told.latency.max.ns == pytest.approx(max(expected))


def test_flows_beside_queries_get_slower_and_counts_sum(stored: Drive) -> None:
    flow = Flow(requests=400, range_blocks=256, arrival=Closed(4))
    queries = Queries("and(days)", name="scan", requests=40, arrival=Closed(2))
    quiet = stored.measure(flow).flows[0].read
    chunks: list[LatencyChunk] = []
    told: list[int] = []
    report = stored.measure([queries, flow], told.append, latencies=chunks.append)
    busy = report.flows[0].read
    assert quiet is not None
    assert busy is not None
    assert busy.mean > quiet.mean
    assert told[-1] == 440
    rows = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    asked = rows["kind"] == REQUEST_KINDS.index("query")
    assert (asked.sum(), (~asked).sum()) == (report.queries[0].queries, report.flows[0].requests) == (40, 400)
    np.testing.assert_array_equal(rows["flow"], np.where(asked, 0, 1))
    assert set(rows["bytes"][asked]) == {6 * BITS // 8}


def test_queries_end_by_time_and_may_come_by_the_clock(stored: Drive) -> None:
    endless = Queries("or(days)", requests=1 << 40, stop_ns=20_000_000, arrival=Paced(500))
    (told,) = stored.measure(endless).queries
    assert told.queries == 10
    assert 20e6 <= told.elapsed.ns < 23e6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("days:0", {"vector": ["days", "0"]}),
        ("flags:cheap", {"vector": ["flags", "cheap"]}),
        ("and(days)", {"all": "days"}),
        ("nor(days)", {"not": {"any": "days"}}),
        ("xnor(a, b:1)", {"not": {"xor": [{"parity": "a"}, {"vector": ["b", "1"]}]}}),
        ("and(days, or(flags), ~a:0)", {"and": [
            {"all": "days"}, {"any": "flags"}, {"not": {"vector": ["a", "0"]}}
        ]}),
        ("a:0 & a:1 & a:2", {"and": [{"vector": ["a", str(number)]} for number in range(3)]}),
        ("~~a:0 ^ 7:x", {"xor": [{"vector": ["a", "0"]}, {"vector": ["7", "x"]}]}),
    ],
)  # fmt: skip
def test_expressions_are_trees_of_names(text: str, expected: dict[str, Any]) -> None:
    assert tree(text) == expected


def test_a_tree_may_have_any_names(drive: Drive) -> None:
    drive.group("mein Büro").place(2, bits=8, names=["a:b", "&"])
    either = {"or": [{"vector": ["mein Büro", "a:b"]}, {"not": {"vector": ["mein Büro", "&"]}}]}
    report = drive.measure(Queries(either, requests=1))
    assert report.queries[0].expression == "mein Büro:a:b | ~mein Büro:&"
    assert report.queries[0].operands == 2


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        (Queries("and(days"), r'queries "queries": expression .* expected an operator, a comma or \)'),
        (Queries("days", name="scan"), r'queries "scan": expression: days is the name of a group: days:0 is'),
        (Queries("and(days, weeks)"), 'expression: the drive has no group "weeks" with vectors'),
        (Queries("days:9 & days:0"), 'group "days" has no vector "9"; it has 0, 1, 2, 3, 4, 5$'),
        (Queries("flags:0"), 'group "flags" has no vector "0"; it has cheap, new$'),
        (Queries("days:0", queue=99), "queue = 99 must be below"),
        (Queries("days:0", arrival=Closed(0)), "depth = 0 must be"),
        (Queries("days:0", platform="gpu"), 'platform = "gpu"'),
        (Queries("days:0", answer="all"), 'answer = "all"'),
        ({"expression": 5}, "expression = 5: it must be a text"),
        ({"expression": {"nand": []}}, "expression = .*nand"),
        ({"expression": {"and": []}}, "the expression is empty"),
        ({"expression": "days:0", "depth": 3}, 'a stream of queries has no key "depth"'),
    ],
)
def test_queries_that_make_no_sense(stored: Drive, queries: Queries | dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        stored.measure(queries)


def test_operators_nest_as_deep_as_can_be_handed_over(drive: Drive) -> None:
    drive.group("a").place(2, bits=8)

    def deep(levels: int) -> Queries:
        text = "a:0"
        for level in range(levels):
            text = f"a:1 {'&|'[level % 2]} ({text})"
        return Queries(text, requests=1)

    assert drive.measure(deep(60)).queries[0].queries == 1
    with pytest.raises(UsageError, match="operators nest 61 levels deep; at most 60 are taken"):
        drive.measure(deep(61))


def test_vectors_of_other_lengths_do_not_combine(stored: Drive) -> None:
    stored.group("short").place(1, bits=8)
    with pytest.raises(UsageError, match="vectors of 300000 and 8 bits do not combine"):
        stored.measure(Queries("and(days, short)"))


# Files

FILE = f"""
[drive.set]
{chr(10).join(f'"{key}" = {value}' for key, value in SMALL.items())}

[precondition]
history = "sequential"
occupied = 0.05

[[group]]
name = "days"
vectors = 6
bits = {BITS}

[[group]]
name = "flags"
vectors = 2
bits = {BITS}
inverse = true
first_die = 1
dies = 1

[[flow]]
name = "reads"
requests = 300
range_blocks = 64
prefill = false
arrival = {{ kind = "closed", depth = 2 }}

[[queries]]
name = "scan"
expression = "and(days) & or(flags)"
requests = 20
"""

Runs = Callable[..., dict[str, Any]]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """Runs a workload file with `bitline run`, and gives what `--json` prints."""

    def runs(text: str, *arguments: object) -> dict[str, Any]:
        path = tmp_path / "file.toml"
        path.write_text(text)
        options = ["run", "--workload", str(path), "--json", *map(str, arguments)]
        done = CliRunner().invoke(app, options, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.output)
        return found

    return runs


def test_a_file_has_groups_and_queries(runs: Runs, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    found = runs(FILE, "--latencies", rows, "--plot", tmp_path / "run.svg")
    (told,) = found["queries"]
    assert (told["name"], told["expression"], told["queries"]) == ("scan", "and(days) & or(flags)", 20)
    assert (told["operands"], told["bits"]) == (8, BITS)
    assert (found["requests"], found["queries_answered"], found["queries_failed"]) == (300, 20, 0)
    assert found["operand_bits"] == 20 * 8 * BITS
    assert [(row["flow"], row["kind"], row["count"]) for row in found["latencies"]] == [
        ("reads", "read", 300),
        ("scan", "query", 20),
    ]
    lines = rows.read_text().splitlines()[1:]
    assert (len(lines), sum(line.startswith('"scan","query"') for line in lines)) == (320, 20)
    assert "scan: query" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("vectors = 6", "vectors = 3"),
        (f"bits = {BITS}", f"bits = {2 * BITS}"),
        ("inverse = true", "inverse = false"),
        ("first_die = 1", "first_die = 2"),
        ("\ndies = 1", "\ndies = 2"),
        ('"and(days) & or(flags)"', '"and(days) | or(flags)"'),
        ("requests = 20", "requests = 10"),
        ("requests = 20", "requests = 20\nstop_ns = 100_000"),
        ("requests = 20", 'requests = 20\nplatform = "parabit"'),
        ("requests = 20", 'requests = 20\nanswer = "stream"'),
        ("requests = 20", 'requests = 20\narrival = { kind = "closed", depth = 4 }'),
        ("requests = 20", "requests = 20\nqueue = 1"),
    ],
)
def test_every_key_has_an_effect(runs: Runs, key: str, other: str) -> None:
    assert key in FILE
    before = runs(FILE)
    assert runs(FILE.replace(key, other)) != before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "days"', "", 'a group needs a name, such as name = "months"'),
        ("vectors = 6", "", "group 'days' needs the key vectors"),
        ("vectors = 6", "vectors = 0", "group 'days': vectors = 0 must be from 1 to"),
        ("vectors = 6", "vectors = true", "group 'days': vectors = True must be from 1 to"),
        ("inverse = true", "inverse = 1", "group 'flags': inverse = 1 must be true or false"),
        ("first_die = 1", "first_die = 99", "first_die = 99: this drive has dies 0 to 3"),
        ("vectors = 6", "vectors = 6\nvector = 1", "group 'days' has no key 'vector'; it has name, vectors"),
        ('name = "flags"', 'name = "days"', "two groups have the name 'days'"),
        ("vectors = 6", "vectors = 60_000", "group 'days', placing 60,000 vectors"),
        ('expression = "and(days) & or(flags)"', "", "queries need an expression, such as"),
        ('"and(days) & or(flags)"', '"and(days"', r'queries "scan": expression'),
        ('"and(days) & or(flags)"', '"and(weeks)"', 'the drive has no group "weeks"'),
        ("requests = 300", 'requests = 300\nexpression = "g:0"', r"\[\[flow\]\] has no expression; write"),
        ("requests = 20", "request = 20", 'a stream of queries has no key "request"'),
        ("requests = 20", 'platform = "gpu"', 'platform = "gpu"'),
    ],
)
def test_errors_say_file_table_and_key(runs: Runs, old: str, new: str, words: str) -> None:
    assert old in FILE
    with pytest.raises(UsageError, match=f"file.toml: .*{words}"):
        runs(FILE.replace(old, new, 1))


def test_a_group_that_is_there_is_not_added_to(runs: Runs, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with bitline.open(path=image, set=SMALL) as drive:
        drive.group("flags").place(1, bits=8)
    table = FILE.split("[precondition]")[0].split("[drive.set]")[0]
    tables = "[[group]]" + FILE.split("[[group]]", 1)[1]
    with pytest.raises(UsageError, match="group 'flags': the drive holds a group of this name already"):
        runs(table + tables, "--image", image)


def test_people_see_queries_in_eighty_columns(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(
        FILE.replace('name = "scan"', 'name = "scan"\nplatform = "flash-cosmos"\nanswer = "count_by_host"')
    )
    done = CliRunner().invoke(app, ["run", "--workload", str(path)], catch_exceptions=False)
    lines = done.output.splitlines()
    assert max(map(len, lines[lines.index("") :])) <= 80  # of the tables
    queries = next(line for line in lines if line.strip().startswith("scan") and "Flash-Cosmos" in line)
    assert queries.split() == ["scan", "Flash-Cosmos", "count_by_host", "20", *queries.split()[4:]]
    alone = FILE[: FILE.index("[[flow]]")] + FILE[FILE.index("[[queries]]") :]
    path.write_text(alone)
    done = CliRunner().invoke(app, ["run", "--workload", str(path)], catch_exceptions=False)
    assert done.output.startswith("20 queries, count by whoever is fastest\n")
    assert "Requests" not in done.output


def test_a_file_is_what_the_calls_do(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(FILE)
    file = WorkloadFile.read(path)
    with bitline.open(set={**SMALL, "data.storage": "none"}) as drive:
        drive.media.precondition("sequential", occupied=0.05)
        for group in file.groups:
            group.place(drive)
        from_file = drive.measure(file.workloads)
    with bitline.open(set={**SMALL, "data.storage": "none"}) as drive:
        drive.media.precondition("sequential", occupied=0.05)
        drive.group("days").place(6, bits=BITS)
        drive.group("flags", first_die=1, dies=1).place(2, bits=BITS, inverse=True)
        flow = Flow(name="reads", requests=300, range_blocks=64, prefill=False, arrival=Closed(2))
        queries = Queries("and(days) & or(flags)", name="scan", requests=20)
        here = drive.measure([flow, queries])
    # Looking for groups of the same names takes time before; shares of time are rounded otherwise then.
    for part in ("flows", "queries", "elapsed", "energy_by", "flash_page_reads", "wear"):
        assert getattr(here, part) == getattr(from_file, part), part


# Sweeps


def test_sweeps_vary_groups_and_queries(tmp_path: Path) -> None:
    drive, rest = FILE.split("[[flow]]")
    flow, queries = rest.split("[[queries]]")
    spec = f"""
{drive}
[grid]
"group.vectors" = [2, 4]
"queries.arrival.depth" = [1, 2]
[[workload]]
[[workload.flow]]{flow}
[[workload.queries]]{queries}
"""
    parsed = Spec.parse(spec)
    points = list(parsed.points())
    assert len(points) == 4
    report = live(points[3]).report
    assert report is not None
    assert report["queries"][0]["operands"] == 8
    run(parsed, tmp_path, workers=1)
    rows = table(tmp_path, tuple(points)).to_pylist()
    assert [row["flow"] for row in rows] == ["reads", "scan"] * 4
    asked = [row for row in rows if row["flow"] == "scan"]
    assert [row["operands"] for row in asked] == [4, 4, 8, 8]
    assert all(row["error"] is None and row["queries"] == 20 for row in asked)
    assert asked[0]["latency.mean_ns"] < asked[1]["latency.mean_ns"]
    assert all(row["latency.mean_ns"] is None and row["read.mean_ns"] > 0 for row in rows if row not in asked)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ('"group.vectors" = [1]', r"group.vectors is a key of a group, and there is no \[\[group\]\]"),
        (
            '"queries.requests" = [1]',
            "queries.requests is a key of queries, and no workload has queries",
        ),
    ],
)
def test_an_axis_is_a_key_of_something(axis: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Spec.parse(f"[grid]\n{axis}\n[[workload]]\nflow = [{{}}]")


def test_a_point_whose_group_cannot_be_carries_the_error() -> None:
    spec = Spec.parse(
        '[grid]\n"group.vectors" = [1, 0]\n[[group]]\nname = "g"\nbits = 8\n[[workload]]\n'
        'queries = [{ expression = "g:0", requests = 1 }]\n'
    )
    good, bad = spec.points()
    assert good.error is None
    assert bad.error == "group 'g': vectors = 0 must be from 1 to 4294967295"


def test_queries_go_to_whoever_is_fastest_if_nothing_is_said(stored: Drive) -> None:
    assert Queries("and(days)").platform == "fastest"
    by_file = stored.measure({"expression": "and(days)", "requests": 3})
    assert by_file.queries[0].platform == "fastest"
