"""The figures of TxISC, regenerated: files, measured numbers, and the table of deviations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict

from bitline.repro.comparison import Comparison, Measured, Settings, held, keep, wanted_of
from bitline.repro.txisc import applications, bandwidth, insertions, memory, plots

Numbers = dict[str, float]
Make = Callable[[Settings], Numbers]

#: Of a quick run: shares of reads, requests in flight, requests, bytes of the file.
_QUICK_PERCENTS, _QUICK_DEPTHS = (0, 50, 100), (1, 4, 32)
_QUICK_REQUESTS, _QUICK_FILE_BYTES = 300, 16 << 20
#: Insertions into LevelDB.
_INSERTS, _QUICK_INSERTS = 1_000_000, 250_000
#: Writes for which room is looked for, in full and in quick runs.
_WRITES, _QUICK_WRITES = 512, 64


def figure_3(settings: Settings) -> Numbers:
    """Bandwidth of random requests, and what transactions take of it."""
    quick = settings.quick
    percents = _QUICK_PERCENTS if quick else bandwidth.PERCENTS
    depths = _QUICK_DEPTHS if quick else bandwidth.DEPTHS
    fewer = {"requests": _QUICK_REQUESTS, "file_bytes": _QUICK_FILE_BYTES} if quick else {}
    half = len(percents) * len(depths) * len(bandwidth.ARCHITECTURES)
    points: list[bandwidth.Point] = []
    for emulated in (True, False):

        def told(done: int, before: int = len(points)) -> None:
            settings.progress("Figure 3", before + done, 2 * half)

        points += bandwidth.bandwidths(
            emulated=emulated, percents=percents, depths=depths, progress=told, **fewer
        )
    keep(
        settings.out / "figure-03.parquet",
        [asdict(one) | {"megabytes_per_second": one.bandwidth} for one in points],
    )
    plots.bandwidths(settings.out / "figure-03.png", points, quick=quick)
    plots.overheads(settings.out / "figure-03-ratios.png", points, settings.values(), quick=quick)
    measured: Numbers = {}
    for over, name in (("FileISC", "file"), ("BlockISC", "block")):
        found = bandwidth.ratios(points, over)
        measured |= {
            f"figure03.emulated_{name}": min(one for (emulated, _, _), one in found.items() if emulated),
            f"figure03.direct_{name}_100": found[False, 0, 1],
            f"figure03.direct_{name}_50": found[False, 50, 1],
            f"figure03.deep_{name}": min(
                one for (emulated, _, depth), one in found.items() if not emulated and depth == depths[-1]
            ),
            f"figure03.reads_{name}": min(one for (_, percent, _), one in found.items() if percent == 100),
        }
    return measured


def section_52(settings: Settings) -> Numbers:
    """Memory of delta mappings."""
    writes = _QUICK_WRITES if settings.quick else _WRITES
    found: dict[str, float] = {}
    for done, (name, stride) in enumerate(memory.STRIDES.items()):
        settings.progress("Delta mappings", done, len(memory.STRIDES))
        found[name] = memory.share(stride, writes)
    settings.progress("Delta mappings", len(found), len(memory.STRIDES))
    rows = [{"writes": name, "requests": writes, "percent_of_data": share} for name, share in found.items()]
    keep(settings.out / "section-5.2.parquet", rows)
    plots.memory(settings.out / "section-5.2.png", found, settings.values())
    entry = found["scattered"] / 100 * bandwidth.BLOCK_BYTES
    return {f"section52.{name}": share for name, share in found.items()} | {"section52.entry": entry}


def figures_4_and_5(settings: Settings) -> Numbers:
    """Applications: throughput, and what their time is."""
    total = len(applications.APPLICATIONS) * len(applications.COMPARED)
    found = applications.runs(
        quick=settings.quick, progress=lambda done: settings.progress("Applications", done, total)
    )
    keep(settings.out / "figure-04.parquet", [asdict(one) | {"io_share": one.io_share} for one in found])
    plots.times(settings.out / "figure-04.png", found, settings.values(), quick=settings.quick)
    plots.shares(settings.out / "figure-05.png", found, settings.values(), quick=settings.quick)
    by_name = {(one.example, one.architecture): one for one in found}
    measured: Numbers = {}
    for example in applications.APPLICATIONS:
        mine, base, host = (by_name[example, name] for name in applications.COMPARED)
        measured[f"figure04.{example}_file"] = base.ns / mine.ns
        measured[f"figure04.{example}_host"] = host.ns / mine.ns
        measured[f"figure05.io_{example}"] = 100 * mine.io_share
        measured[f"figure05.io_{example}_host"] = 100 * host.io_share
    return measured


def insertions_beside_compaction(settings: Settings) -> Numbers:
    """Insertions into LevelDB while the host or the drive compacts."""
    count = _QUICK_INSERTS if settings.quick else _INSERTS
    found = []
    for done, name in enumerate(insertions.COMPACTED):
        settings.progress("Insertions", done, len(insertions.COMPACTED))
        found.append(insertions.fill(name, count))
    settings.progress("Insertions", len(found), len(found))
    rows = [
        {"compacted": one.compacted, "percentile": percent, "latency_ns": one.percentile(percent)}
        for one in found
        for percent in insertions.PERCENTILES
    ]
    keep(settings.out / "insertions.parquet", rows)
    plots.insertions(settings.out / "insertions.png", found, settings.values(), quick=settings.quick)
    mine, host = (one.percentile(99) for one in found)
    return {"figure04.insertions_p99": mine / host}


#: What makes each figure or section, by the name people call it.
FIGURES: Mapping[str, tuple[Make, ...]] = {
    "3": (figure_3,),
    "4": (figures_4_and_5, insertions_beside_compaction),
    "5": (figures_4_and_5,),
    "5.2": (section_52,),
}


def reproduce(figures: Iterable[str], settings: Settings) -> list[Comparison]:
    """Make figures and compare what they measure with what is published.

    Args:
        figures: Names of `FIGURES`.
        settings: How, where, and what is published.

    Returns:
        The comparisons, in the order of the published numbers. They are in `table.parquet`, too.

    Raises:
        UsageError: There is no such figure, or no C compiler.
        OSError: A file cannot be written.
    """
    wanted = wanted_of(figures, FIGURES)
    settings.out.mkdir(parents=True, exist_ok=True)
    measured: Numbers = {}
    for make in dict.fromkeys(make for name in wanted for make in FIGURES[name]):
        measured |= make(settings)
    return held(wanted, settings, {key: Measured(value) for key, value in measured.items()})
