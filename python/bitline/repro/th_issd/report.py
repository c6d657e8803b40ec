"""The figures of TH-iSSD, regenerated: files, measured numbers, and the table of deviations."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import prod

from bitline.repro.comparison import Comparison, Measured, Settings, held, keep, wanted_of
from bitline.repro.th_issd import edge, intensity, plots, policies, queries
from bitline.repro.th_issd.systems import BASELINE, OURS, RETRIEVING, SYSTEMS
from bitline.repro.th_issd.workloads import BATCHES, WORKLOADS

Numbers = dict[str, Measured]
Make = Callable[[Settings], Numbers]

#: Of a quick run: batches, rounds, by how much the index is smaller, bytes of an index, items for features.
_QUICK_BATCHES, _QUICK_ROUNDS, _QUICK_SCALE, _QUICK_INDEX, _QUICK_ITEMS = (1, 8), 6, 100, 64 << 20, 30
_ITEMS = 200
#: From where on the throughput counts as that of the largest batch.
_SATURATED = 0.97


def _mean(ratios: Iterable[float]) -> Measured:
    """The geometric mean of ratios, and their arithmetic mean."""
    values = list(ratios)
    return Measured(prod(values) ** (1 / len(values)), sum(values) / len(values))


def retrieval(settings: Settings) -> Numbers:
    """Figures 9 and 10: queries over the features of 350 GB."""
    quick = settings.quick
    batches = _QUICK_BATCHES if quick else BATCHES
    total = len(WORKLOADS) * len(RETRIEVING) * len(batches)
    found = queries.measured(
        batches=batches,
        scale=_QUICK_SCALE if quick else 1,
        progress=lambda done: settings.progress("Figures 9 and 10", done, total),
    )
    rows = [
        asdict(one) | {"system": one.system.name, "latency_ns": one.latency_ns, "throughput": one.throughput}
        for one in found
    ]
    keep(settings.out / "figure-09.parquet", rows)
    keep(settings.out / "figure-10.parquet", rows)
    plots.throughputs(settings.out / "figure-09.png", found, settings.values(), quick=quick)
    plots.latencies(settings.out / "figure-10.png", found, settings.values(), quick=quick)
    of = {(one.workload, one.system, one.batch): one for one in found}

    def gain(name: str, batch: int) -> float:
        return of[name, OURS, batch].throughput / of[name, BASELINE, batch].throughput

    measured = {f"figure09.{name}": Measured(gain(name, batches[0])) for name in WORKLOADS}
    measured["figure09.average"] = _mean(gain(name, batch) for name in WORKLOADS for batch in batches)
    for name in WORKLOADS:
        measured[f"figure10.{name}"] = _mean(1 / gain(name, batch) for batch in batches)
    largest = of["remote-sensing", OURS, batches[-1]].throughput
    saturated = [one for one in batches if of["remote-sensing", OURS, one].throughput >= _SATURATED * largest]
    return measured | {"figure10.saturates": Measured(saturated[0])}


def features(settings: Settings) -> Numbers:
    """Features of items, made in one go; the paper has no number of it."""
    items = _QUICK_ITEMS if settings.quick else _ITEMS
    total = len(WORKLOADS) * len(RETRIEVING)
    found = queries.built(items=items, progress=lambda done: settings.progress("Features", done, total))
    keep(
        settings.out / "features.parquet",
        [
            asdict(one) | {"system": one.system.name, "items_per_second": one.items_per_second}
            for one in found
        ],
    )
    return {}


def streaming(settings: Settings) -> Numbers:
    """Figures 14 and 15: frames recorded and labelled."""
    quick = settings.quick
    batches = _QUICK_BATCHES if quick else BATCHES
    total = len(WORKLOADS) * len(SYSTEMS) * len(batches)
    found = edge.measured(
        batches=batches,
        rounds=_QUICK_ROUNDS if quick else edge.ROUNDS,
        progress=lambda done: settings.progress("Figures 14 and 15", done, total),
    )
    rows = [asdict(one) | {"system": one.system.edge_name} for one in found]
    keep(settings.out / "figure-14.parquet", rows)
    keep(settings.out / "figure-15.parquet", rows)
    plots.recordings(settings.out / "figure-14.png", found, settings.values(), quick=quick)
    plots.recording_latencies(settings.out / "figure-15.png", found, settings.values(), quick=quick)
    of = {(one.workload, one.system, one.batch): one for one in found}
    pairs = [(of[name, OURS, batch], of[name, BASELINE, batch]) for name in WORKLOADS for batch in batches]
    gains = [mine.throughput / other.throughput for mine, other in pairs]
    return {
        "figure14.average": _mean(gains),
        "figure14.least": Measured(min(gains)),
        "figure15.least": Measured(min(mine.latency_ns / other.latency_ns for mine, other in pairs)),
    }


def intensities(settings: Settings) -> Numbers:
    """What is gained by how much is computed for each byte."""
    quick = settings.quick
    counts: Sequence[int] = intensity.QUERIES[::3] if quick else intensity.QUERIES
    stacks = intensity.STACKS[::2] if quick else intensity.STACKS
    scans, frames = len(counts) * len(RETRIEVING), len(stacks) * len(RETRIEVING)

    def told(before: int) -> Callable[[int], object]:
        return lambda done: settings.progress("Intensities", before + done, scans + frames)

    size = _QUICK_INDEX if quick else intensity.INDEX_BYTES
    found = intensity.scanned(queries=counts, size=size, progress=told(0))
    rounds = _QUICK_ROUNDS if quick else edge.ROUNDS
    found += intensity.recorded(stacks=stacks, rounds=rounds, progress=told(scans))
    rows = [asdict(one) | {"system": one.system.name} for one in found]
    keep(settings.out / "intensity.parquet", rows)
    known = settings.values()
    said = {
        "scan": {
            WORKLOADS[name].name: known[f"figure09.{name}"]
            for name in WORKLOADS
            if f"figure09.{name}" in known
        },
        "frames": {"Average": known["figure14.average"]} if "figure14.average" in known else {},
    }
    plots.intensities(settings.out / "intensity.png", found, said, quick=quick)
    return {}


def side_by_side(settings: Settings) -> Numbers:
    """Host reads beside a stream under each policy (3.3); the paper has no number of it."""
    quick = settings.quick
    rates = policies.QUICK_RATES if quick else policies.RATES
    total = len(policies.POLICIES) * len(rates)
    found = policies.measured(
        rates=rates,
        reads=policies.QUICK_READS if quick else policies.READS,
        progress=lambda done: settings.progress("Policies", done, total),
    )
    rows = list(_with_fronts(found))
    keep(settings.out / "th-issd-policies.parquet", rows)
    (settings.out / "th-issd-policies.json").write_text(json.dumps(rows, indent=1) + "\n")
    plots.side_by_side(settings.out / "th-issd-policies.png", found, quick=quick)
    return {}


def _with_fronts(points: Sequence[policies.HostReads]) -> Iterator[dict[str, object]]:
    """Points as rows, and whether each is on the front of its rate, by quantile."""
    fronts = {quantile: policies.on_front(points, quantile) for quantile in policies.QUANTILES}
    for point in points:
        place = point.policy, point.rate
        yield {
            **asdict(point),
            **{f"on_front_{quantile}": front.get(place) for quantile, front in fronts.items()},
        }


#: What makes each figure, by the name people call it.
FIGURES: Mapping[str, tuple[Make, ...]] = {
    "9": (retrieval,),
    "10": (retrieval,),
    "14": (streaming,),
    "15": (streaming,),
    "features": (features,),
    "intensity": (intensities,),
    "policies": (side_by_side,),
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
    return held(wanted, settings, measured)
