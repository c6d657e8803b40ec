"""Figures as a reader of a paper sees them: names and units instead of keys, looks that differ."""

import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import Run
from conftest import SMALL

import bitline
from bitline import UsageError
from bitline.figures import PLATFORM_LOOKS, look, number, on_axis
from bitline.metrics import axis, labelled, metric
from bitline.plot import plot as draw_run
from bitline.quantities import BYTES, COUNT, TIME, quantity_of
from bitline.sweep import plot as sweep_plot
from bitline.timeline import Lane, Slice, Timeline

_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)


def texts(svg: Path) -> list[str]:
    """Every text of a figure; what is set as mathematics is in pieces."""
    return [re.sub(r"<[^>]*>", "", found).strip() for found in _TEXT.findall(svg.read_text())]


def reads_well(svg: Path) -> list[str]:
    """The texts of a figure, none of which is a raw key, or a number that a program would write."""
    found = texts(svg)
    assert len(found) > 5
    for text in found:
        assert not re.search(r"[a-z]_[a-z]|[a-z]\.[a-z]{2}|\d[eE][+-]?\d", text), text
    return found


def _swept() -> pa.Table:
    rows = [
        {
            "point": depth,
            "workload": "reads",
            "flow": "flow",
            "seed": seed,
            "ftl.mode": mode,
            "flow.arrival.depth": depth,
            "nand.geometry.page_bytes": 4096 * depth,
            "read.p99_ns": 1e5 * depth + seed,
            "energy_pj": int(1e11) * depth,
            "requests_per_second": 1e5 * depth,
            "utilization.die": 0.1 * depth,
            "error": None,
        }
        for seed in (1, 2)
        for mode in ("slc", "tlc")
        for depth in (1, 2, 4)
    ]
    return pa.Table.from_pylist(rows)


_AXES = ["ftl.mode", "flow.arrival.depth"]


def test_a_sweep_of_several_metrics_has_names_units_and_a_legend(tmp_path: Path) -> None:
    metrics = ["read.p99_ns", "energy_pj", "requests_per_second", "utilization.die"]
    path = tmp_path / "sweep.svg"
    sweep_plot.plot(_swept(), _AXES, path, metric=metrics, over="flow.arrival.depth", title="a sweep")
    found = reads_well(path)
    for words in (
        "Read latency, 99th percentile (µs)",
        "Energy (mJ)",
        "Requests per second (k IOPS)",
        "Dies busy, mean (%)",
        "Queue depth",
        "SLC",
        "TLC",
        "a sweep",
    ):
        assert words in found, words
    assert "Means of 2 seeds; bands: from least to most" in " ".join(found)


def test_many_lines_leave_the_axes_their_room(tmp_path: Path) -> None:
    """Matplotlib warns when a legend takes all of a figure, and a warning is an error here."""
    rows = [
        {**row, "workload": f"a workload with a long name, number {number}", "flow": flow}
        for row in _swept().to_pylist()
        for number in range(5)
        for flow in ("log", "tables")
    ]
    path = tmp_path / "many.svg"
    over = "flow.arrival.depth"
    sweep_plot.plot(pa.Table.from_pylist(rows), _AXES, path, metric="energy_pj", over=over)
    assert sum("a workload with a long name" in text for text in texts(path)) == 20
    many = [{**row, "ftl.mode": str(number)} for row in rows for number in range(5)]
    with pytest.raises(UsageError, match="at most 20 can be told apart"):
        sweep_plot.plot(pa.Table.from_pylist(many), _AXES, path, metric="energy_pj", over=over)


def test_heat_maps_name_units_and_axes(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    sweep_plot.plot(_swept(), _AXES, path, metric="energy_pj", over="flow.arrival.depth", by="ftl.mode")
    found = reads_well(path)
    assert {"Energy (mJ)", "Queue depth", "Cell mode", "400", "100"} <= set(found)


def test_an_axis_of_bytes_is_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pages.svg"
    over = "nand.geometry.page_bytes"
    sweep_plot.plot(_swept(), [over, *_AXES], path, metric="energy_pj", over=over)
    assert {"4 KiB", "8 KiB", "16 KiB", "NAND: page"} <= set(reads_well(path))


def test_too_many_or_no_metrics_are_refused(tmp_path: Path) -> None:
    for wanted, words in (([], "from 1 to 6 metrics, not 0"), ([str(n) for n in range(7)], "not 7")):
        with pytest.raises(UsageError, match=words):
            sweep_plot.plot(_swept(), _AXES, tmp_path / "no.svg", metric=wanted)


def test_the_figure_of_a_run_reads_well_and_ends_with_it(run: Run, tmp_path: Path) -> None:
    options = ("--requests", 20, "--range", 4096, "--read-fraction", 0.5)
    assert run("run", *options, "--plot", "run.svg").code == 0
    found = reads_well(tmp_path / "run.svg")
    (title,) = [text for text in found if text.startswith("What the parts did")]
    assert "all of the run" in title
    # Programs of TLC take 0.7 ms; nothing is idle at the end.
    assert not title.startswith("What the parts did: all of the run, 2.00 ms")
    assert {"Simulated time (µs)", "Requests within", "Latency", "read", "write", "data", "program"} <= set(
        found
    )


def test_a_window_is_cut_to_what_was_done() -> None:
    lanes = (
        Lane("dies", "die 0", (Slice("read", 90.0, 200.0),)),
        Lane("dies", "die 1", (Slice("read", 150.0, 300.0),)),
    )
    timeline = Timeline(100.0, 2_000_100.0, lanes, ())
    assert (timeline.trimmed().begin_ns, timeline.trimmed().end_ns) == (100.0, 300.0)
    long = Timeline(120.0, 250.0, lanes, ())
    assert long.trimmed() == long
    assert Timeline(0.0, 1.0, (), ()).trimmed() == Timeline(0.0, 1.0, (), ())


def test_computations_are_told_from_reads_and_commands_on_channels_from_both(tmp_path: Path) -> None:
    def legend(*lanes: Lane) -> set[str]:
        draw_run(tmp_path / "run.svg", Timeline(0.0, 300.0, lanes, ()), [], "a run")
        return {"page read", "computation", "command, control", "data"} & set(texts(tmp_path / "run.svg"))

    sense, read = Slice("multi-wordline sense", 0.0, 100.0), Slice("inverse read", 100.0, 200.0)
    assert legend(Lane("dies", "die 0", (sense, read))) == {"computation", "page read"}
    assert legend(Lane("channels", "channel 0", (sense, read))) == {"command, control"}
    assert legend(Lane("link", "drive to host", (Slice("data", 0.0, 10.0),))) == {"data"}


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    lanes = (Lane("dies", "die 0", (Slice("erase", 0.0, 200.0),)),)
    for name in ("one.svg", "two.svg", "one.pdf", "two.pdf", "one.png", "two.png"):
        draw_run(tmp_path / name, Timeline(0.0, 300.0, lanes, ()), [], "a run")
    for suffix in ("svg", "pdf", "png"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_figures_of_papers_have_published_numbers_and_say_when_they_are_quick(
    run: Run, tmp_path: Path
) -> None:
    from bitline.repro.flash_cosmos import chips, plots, powers, published

    known = {each.key: each.value for each in published()}
    for draw in (chips.error_rates, chips.effort, chips.intra_block, chips.inter_block, powers.power):
        chart = draw()
        assert {mark.key for mark in chart.marks} <= known.keys()
        plots.curves(tmp_path / "chart.svg", chart, known)
        assert any("published" in text for text in reads_well(tmp_path / "chart.svg")), chart.title
        plots.curves(tmp_path / "chart.svg", chart, {})
        assert "published" not in texts(tmp_path / "chart.svg"), "what is not known is not drawn"
    for quick in (True, False):
        path = tmp_path / "columns.svg"
        heights = {"SLC": 6.5, "ESP": 4.8}
        plots.columns(path, heights, {"SLC": 6.4, "ESP": 4.7}, title="t", y_label="GB/s", quick=quick)
        found = texts(path)
        assert {"6.50", "6.40", "published", "ours"} <= set(found)
        assert any(text.startswith("quick") for text in found) == quick


@pytest.mark.filterwarnings("ignore")
def test_demo_and_lifetime_read_well(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--scale", 0.001, "--plot", "demo.svg").code == 0
    assert {"Flash-Cosmos", "In-storage accelerator", "Energy"} <= set(reads_well(tmp_path / "demo.svg"))


def test_series_differ_in_colour_and_in_shape() -> None:
    looks = [look(place) for place in range(32)]
    assert len({(each.colour, each.marker, each.line) for each in looks}) == 32
    first = looks[:8]
    for name in ("colour", "marker", "hatch"):
        assert len({getattr(each, name) for each in first}) == 8, name
    for one, other in combinations(PLATFORM_LOOKS.values(), 2):
        assert one.colour != other.colour
        assert (one.marker, one.line) != (other.marker, other.line)
    # In grey, neighbours still differ: by brightness or by hatch.
    for one, other in combinations(first, 2):
        assert abs(_brightness(one.colour) - _brightness(other.colour)) > 0.02 or one.hatch != other.hatch


def _brightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_numbers_are_written_for_people() -> None:
    assert [number(value) for value in (0, 0.25, 12.5, 1234567)] == ["0", "0.25", "12.5", "1,234,567"]
    assert number(2e-9) == "2·10$^{-9}$"
    assert on_axis(65536, BYTES) == "64 KiB"
    assert on_axis(2500, TIME) == "2.50 µs"
    assert [on_axis(value, COUNT) for value in (7, 50_000, True, "zipf")] == ["7", "50 k", "yes", "zipf"]


def test_every_figure_of_a_sweep_has_a_name_and_a_unit() -> None:
    with bitline.open(set=SMALL) as drive:
        drive.group("g").write([b"abc", b"def"])
        report = drive.measure(
            [
                {"requests": 50, "range_blocks": 64, "read_fraction": 0.5},
                {"expression": "g:0 & g:1", "requests": 3},
            ]
        )
        names = [*report.to_arrow().column_names, *drive.statistics.to_arrow().column_names]
    listed = {each.key for each in labelled()}
    for name in names:
        label = metric(name).label
        assert label[:1].isupper(), name
        assert not re.search(r"[a-z]_[a-z]|[a-z]\.[a-z]", label), label
        if name.endswith(("_ns", "_pj", "_bytes", "_per_second")):
            assert metric(name).quantity is not COUNT, name
    ours = [name for name in report.to_arrow().column_names if not name.startswith("energy.")]
    counts = {f"{kind}.count" for kind in ("read", "write", "latency")}
    assert set(ours) - {"flow", "draw"} - counts <= listed, "reports have names of their own"
    for key in ("ftl.gc.policy", "nand.latency.read_slc_ns", "flow.arrival.depth", "schedule.piece_max_us"):
        assert "." not in axis(key).label
        assert "_" not in axis(key).label
    assert quantity_of("nand.latency.read_slc_ns") is TIME


def test_what_is_missing_is_named_with_what_to_install(tmp_path: Path) -> None:
    """Without Matplotlib and Dask, as after a plain `pip install bitline`."""
    spec = "[[workload]]\nflow = [{ requests = 10, range_blocks = 64 }]\n"
    (tmp_path / "spec.toml").write_text(spec)
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['matplotlib', 'distributed'])); "
        "from bitline.cli import main; main()"
    )

    def bitline_without(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    short = ("--requests", "10", "--range", "64")
    for arguments, package, extra in (
        (("run", *short, "--plot", "run.png"), "matplotlib", "plot"),
        (("demo", "--scale", "0.001", "--plot", "demo.png"), "matplotlib", "plot"),
        (("lifetime", "--plot", "life.png"), "matplotlib", "plot"),
        (("repro", "flash-cosmos", "--figure", "14"), "matplotlib", "plot"),
        (("sweep", "spec.toml"), "distributed", "sweep"),
    ):
        done = bitline_without(*arguments)
        assert done.returncode == 2, arguments
        assert f"needs {package}, which is not installed: pip install 'bitline[{extra}]'" in done.stderr
    assert bitline_without("run", *short).returncode == 0
    done = bitline_without("demo", "--scale", "0.001")
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'bitline[plot]'" in done.stdout
