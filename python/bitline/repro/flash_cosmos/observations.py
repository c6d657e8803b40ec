"""What sections 8.1 and 8.2 observe of Figures 17 and 18, as numbers that can come out otherwise.

An observation is 1 if it holds and 0 if not, or the ratio that it is about.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

from bitline.opening import configuration
from bitline.platforms import Platform
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.ratios import METRICS, by_input, ratios
from bitline.repro.flash_cosmos.runs import PRESET, Point
from bitline.repro.flash_cosmos.workloads import Workload, evaluated

_Inputs = Mapping[str, Mapping[Platform, Point]]


def observations(points: Sequence[Point]) -> dict[str, Measured]:
    """All of them, by key; `points` are those of all workloads and inputs on all platforms."""
    workloads: dict[str, dict[str, Mapping[Platform, Point]]] = {}
    for (short, label), by in by_input(points).items():
        workloads.setdefault(short, {})[label] = by
    index, images, stars = (workloads[short] for short in ("BMI", "IMS", "KCS"))
    means = {key: one.value for key, one in ratios(points).items()}
    found = {
        **_fourth(index, stars, means),
        **_fifth(index, images, stars),
        **_sixth(images),
        **_of_energy(index, images, stars, means),
    }
    return {key: Measured(value) for key, value in found.items()}


def _fourth(index: _Inputs, stars: _Inputs, means: Mapping[str, float]) -> dict[str, float]:
    """Fourth of 8.1: what becomes of the speedups with more operands."""
    senses = [_senses_of_a_page(by["parabit"]) for by in index.values()]
    speedup = _ratio("time", "parabit", "host")
    others = max(means[f"time.{short}.fc_over_osp"] for short in ("ims", "kcs"))
    longest, shorter = (index[label]["parabit"] for label in ("m=36", "m=12"))
    return {
        "time.fourth.operands_min": min(senses),
        "time.fourth.operands_max": max(senses),
        **_rising("time.fourth", "time", index, stars),
        "time.fourth.bmi_over_others": means["time.bmi.fc_over_osp"] / others,
        "time.fourth.pb_linear": (longest.elapsed.ps / longest.workload.operands)
        / (shorter.elapsed.ps / shorter.workload.operands),
        "time.fourth.pb_kcs_64_over_16": speedup(stars["k=64"]) / speedup(stars["k=16"]),
    }


def _fifth(index: _Inputs, images: _Inputs, stars: _Inputs) -> dict[str, float]:
    """Fifth of 8.1: what becomes of them with longer operands; and how long these are (sixth, too)."""
    over_parabit = _ratio("time", "flash-cosmos", "parabit")

    def sent(inputs: _Inputs, unit: float) -> float:
        points = [by["flash-cosmos"] for by in inputs.values()]
        return max(point.link_bytes * _shortened(point.workload) for point in points) / unit

    return {
        "time.fifth.bmi_over_kcs": over_parabit(index["m=1"]) / over_parabit(stars["k=32"]),
        "time.fifth.bmi_result_mb": sent(index, 1e6),
        "time.fifth.kcs_result_gb": sent(stars, 1e9),
        "time.sixth.ims_result_gib": sent(images, 1 << 30),
    }


def _sixth(images: _Inputs) -> dict[str, float]:
    """Sixth of 8.1: image segmentation."""
    pairs = [(by["flash-cosmos"], by["parabit"]) for by in images.values()]
    return {
        "time.sixth.senses": sum(slow.senses / fast.senses for fast, slow in pairs) / len(pairs),
        "time.sixth.link_share": min(point.link_share for pair in pairs for point in pair),
    }


def _of_energy(
    index: _Inputs, images: _Inputs, stars: _Inputs, means: Mapping[str, float]
) -> dict[str, float]:
    """Second and third of 8.2."""
    gains = [_ratio("energy", "flash-cosmos", "host")(by) for by in images.values()]
    return {
        **_rising("energy.second", "energy", index, stars),
        "energy.second.ims_longest_over_shortest": gains[-1] / gains[0],
        "energy.third.over_time": means["energy.all.fc_over_osp"] / means["time.all.fc_over_osp"],
        "energy.ims.saved_over_pb": 1 - 1 / means["energy.ims.fc_over_pb"],
    }


def _rising(prefix: str, metric: str, index: _Inputs, stars: _Inputs) -> dict[str, float]:
    """Whether Flash-Cosmos gains on OSP with every step to more operands."""
    gain = _ratio(metric, "flash-cosmos", "host")
    found = {}
    for key, inputs in (("bmi_rises", index), ("kcs_rises", stars)):
        steps = pairwise(gain(by) for by in inputs.values())
        found[f"{prefix}.{key}"] = float(all(one < more for one, more in steps))
    return found


def _ratio(metric: str, better: Platform, worse: Platform) -> Callable[[Mapping[Platform, Point]], float]:
    of = METRICS[metric]
    return lambda by: of(by[worse]) / of(by[better])


def _senses_of_a_page(point: Point) -> float:
    pages = -(-point.workload.result_bits // (8 * _page_bytes()))
    return point.senses / pages


@cache
def _page_bytes() -> int:
    return int(tomllib.loads(configuration(PRESET).to_toml())["nand"]["geometry"]["page_bytes"])


def _shortened(workload: Workload) -> float:
    """How many times shorter its vectors are than the paper's."""
    full = {(one.short, one.label): one.result_bits for one in evaluated()}
    return full[workload.short, workload.label] / workload.result_bits
