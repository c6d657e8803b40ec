"""Speedups and energy efficiencies of the platforms over each other, for each input and on average."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from bitline.platforms import Platform
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.runs import Point

#: The paper's names.
NAMES: Mapping[Platform, str] = {"host": "OSP", "in-storage": "ISP", "parabit": "PB", "flash-cosmos": "FC"}

#: What of a point is compared.
METRICS: Mapping[str, Callable[[Point], float]] = {
    "time": lambda point: point.elapsed.ps,
    "energy": lambda point: point.energy.pj,
}


def by_input(points: Sequence[Point]) -> dict[tuple[str, str], dict[Platform, Point]]:
    """The points of each workload and input, by platform."""
    found: dict[tuple[str, str], dict[Platform, Point]] = {}
    for point in points:
        key = (point.workload.short, point.workload.label)
        found.setdefault(key, {})[point.platform] = point
    return found


def ratios(points: Sequence[Point]) -> dict[str, Measured]:
    """Means over all inputs and over each workload's, and the ratios where they are largest, by key.

    The paper speaks of averages and does not say of which kind. Its 198.4 for BMI and 32 for all inputs come
    out as geometric means; the arithmetic ones are given beside them.
    """
    inputs = by_input(points)
    measured: dict[str, Measured] = {}
    for metric, of in METRICS.items():
        for better, worse in _pairs():
            each = {key: of(by[worse]) / of(by[better]) for key, by in inputs.items()}
            pair = f"{NAMES[better].lower()}_over_{NAMES[worse].lower()}"
            for scope in ("all", "bmi", "ims", "kcs"):
                values = [ratio for (short, _), ratio in each.items() if scope in ("all", short.lower())]
                if values:
                    measured[f"{metric}.{scope}.{pair}"] = _means(values)
            largest = each.get(("BMI", "m=36"))
            if largest is not None:
                measured[f"{metric}.max.{pair}"] = Measured(largest)
    return measured


def _pairs() -> Iterator[tuple[Platform, Platform]]:
    """Each platform over each that is further from the cells."""
    order: list[Platform] = list(NAMES)
    for number, better in enumerate(order):
        for worse in order[:number]:
            yield better, worse


def _means(values: Sequence[float]) -> Measured:
    geometric = math.exp(sum(math.log(value) for value in values) / len(values))
    return Measured(geometric, sum(values) / len(values))
