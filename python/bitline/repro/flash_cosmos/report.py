"""The figures of Flash-Cosmos, regenerated: files, measured numbers, and the table of deviations."""

from collections.abc import Callable, Iterable, Mapping

from bitline.repro.comparison import Comparison, Measured, Settings, held, keep, wanted_of
from bitline.repro.flash_cosmos import chips, placements, plots
from bitline.repro.flash_cosmos.assumptions import assumptions
from bitline.repro.flash_cosmos.chips import Chart
from bitline.repro.flash_cosmos.observations import observations
from bitline.repro.flash_cosmos.powers import power
from bitline.repro.flash_cosmos.ratios import NAMES, ratios
from bitline.repro.flash_cosmos.runs import Point, measure_all, on_all
from bitline.repro.flash_cosmos.sensitivity import Moved, sensitivity
from bitline.repro.flash_cosmos.timelines import SHOWN, timings, trace
from bitline.repro.flash_cosmos.workloads import evaluated
from bitline.repro.flash_cosmos.writes import MODES, overheads

#: The file of what changed assumptions do to Figures 17 and 18.
ASSUMPTIONS = "assumptions.parquet"
#: The file of what changed estimates do to the figures.
SENSITIVITY = "sensitivity.parquet"

Make = Callable[[Settings], dict[str, Measured]]


def figure_7(settings: Settings) -> dict[str, Measured]:
    """Timelines of three platforms."""
    traced = {}
    for done, platform in enumerate(SHOWN):
        settings.progress("Figure 7", done, len(SHOWN))
        traced[platform] = trace(platform)
    measured = timings(traced)
    said = settings.values()
    note = ", ".join(
        f"{name} {measured[key].value:.1f} µs (published {said[key]:g})"
        for name, key in (("tDMA", "figure07.dma_us"), ("tEXT", "figure07.ext_us"))
        if key in said
    )
    plots.timelines(settings.out / "figure-07.png", traced, note)
    rows = [
        {
            "platform": SHOWN[platform],
            "part": lane.name,
            "what": piece.name,
            "begin_ns": piece.begin_ns,
            "end_ns": piece.end_ns,
        }
        for platform, one in traced.items()
        for lane in one.lanes
        for piece in lane.slices
    ]
    keep(settings.out / "figure-07.parquet", rows)
    return measured


def chip_figure(number: int, of: Callable[[], Chart]) -> Make:
    """What makes one of the figures of the chips."""

    def make(settings: Settings) -> dict[str, Measured]:
        settings.progress(f"Figure {number}", 0, 1)
        chart = of()
        name = f"figure-{number:02}"
        plots.curves(settings.out / f"{name}.png", chart, settings.values())
        rows = [
            {"line": line, chart.x_label: x, chart.y_label: y}
            for line, (xs, ys) in chart.lines.items()
            for x, y in zip(xs, ys, strict=True)
        ]
        keep(settings.out / f"{name}.parquet", rows)
        return chart.measured

    return make


def figures_17_and_18(settings: Settings) -> dict[str, Measured]:
    """Speedup and energy efficiency of all workloads, and what assumptions change of them."""
    evaluations = on_all(evaluated(quick=settings.quick))
    variants = assumptions(quick=settings.quick)
    tasks = evaluations + [task for variant in variants for tasks in variant.tasks() for task in tasks]
    total = len(set(tasks))
    found = measure_all(
        tasks,
        workers=settings.workers,
        progress=lambda done: settings.progress("Figures 17 and 18", done, total),
    )
    points = found[: len(evaluations)]
    for number, metric, title in (
        (17, "time", "Speedup over outside-storage processing"),
        (18, "energy", "Energy efficiency over outside-storage processing"),
    ):
        path, said = settings.out / f"figure-{number}.png", settings.values()
        plots.bars(path, points, metric, title, said, quick=settings.quick)
        keep(settings.out / f"figure-{number}.parquet", [_row(point) for point in points])
    by_task = dict(zip(tasks, found, strict=True))
    rows = [variant.row(by_task, settings.values()) for variant in variants]
    keep(settings.out / ASSUMPTIONS, rows)
    return ratios(points) | observations(points)


def section_83(settings: Settings) -> dict[str, Measured]:
    """What ESP costs: bandwidth of writes, time and capacity."""
    settings.progress("Section 8.3", 0, 1)
    found = overheads(writes_measured(quick=settings.quick))
    heights = {mode.upper(): found[f"write.{mode}"].value for mode in MODES}
    title = "Sequential writes by programming mode"
    said = {key.removeprefix("write.").upper(): value for key, value in settings.values().items()}
    plots.columns(
        settings.out / "section-8.3.png",
        heights,
        said,
        title=title,
        y_label="Bandwidth (GB/s)",
        quick=settings.quick,
    )
    rows = [{"mode": mode, "gigabytes_per_second": value} for mode, value in heights.items()]
    keep(settings.out / "section-8.3.parquet", rows)
    return found


def writes_measured(*, quick: bool) -> int:
    """Requests of 256 KiB for a bandwidth of section 8.3."""
    return 4_000 if quick else 32_000


def section_63(settings: Settings) -> dict[str, Measured]:
    """Senses by where operands lie."""
    settings.progress("Section 6.3", 0, 1)
    found = placements.senses()
    keep(
        settings.out / "section-6.3.parquet",
        [{"key": key, "senses": one.value} for key, one in found.items()],
    )
    return found


#: What makes each figure or section, by the name people call it.
FIGURES: Mapping[str, Make] = {
    "7": figure_7,
    "8": chip_figure(8, chips.error_rates),
    "11": chip_figure(11, chips.effort),
    "12": chip_figure(12, chips.intra_block),
    "13": chip_figure(13, chips.inter_block),
    "14": chip_figure(14, power),
    "17": figures_17_and_18,
    "18": figures_17_and_18,
    "6.3": section_63,
    "8.3": section_83,
}


def reproduce(figures: Iterable[str], settings: Settings) -> list[Comparison]:
    """Make figures and compare what they measure with what is published.

    Args:
        figures: Names of `FIGURES`.
        settings: How, where, and what is published.

    Returns:
        The comparisons, in the order of the published numbers. They are in `table.parquet`, too.

    Raises:
        UsageError: There is no such figure.
        OSError: A file cannot be written.
    """
    wanted = wanted_of(figures, FIGURES)
    settings.out.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Measured] = {}
    for make in dict.fromkeys(FIGURES[name] for name in wanted):
        measured |= make(settings)
    return held(wanted, settings, measured)


def lean(figures: Iterable[str], settings: Settings) -> list[Moved]:
    """How the published numbers of figures move with the drive's estimates; in `sensitivity.parquet`, too.

    Args:
        figures: Names of `FIGURES`.
        settings: How, where, and what is published.

    Returns:
        The furthest moves first.

    Raises:
        OSError: The file cannot be written.
    """
    found = sensitivity(
        figures,
        settings.known,
        quick=settings.quick,
        workers=settings.workers,
        progress=settings.progress,
    )
    keep(settings.out / SENSITIVITY, [one.row() for one in found])
    return found


def _row(point: Point) -> dict[str, object]:
    return {
        "workload": point.workload.short,
        "input": point.workload.label,
        "platform": NAMES[point.platform],
        "operands": point.workload.operands,
        "result_bits": point.workload.result_bits,
        "time_ns": point.elapsed.ns,
        "energy_pj": point.energy.pj,
        "senses": point.senses,
        "channel_bytes": point.channel_bytes,
        "link_bytes": point.link_bytes,
        **{f"energy {account}, pj": energy.pj for account, energy in point.energy_by},
    }
