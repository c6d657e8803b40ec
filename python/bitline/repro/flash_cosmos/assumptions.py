"""Where the paper's assumptions differ from this drive's: ratios with one assumption changed, as evidence.

Each is an ordinary measurement of the same drive with other keys, or of a workload without one of its parts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bitline.opening import Setting
from bitline.platforms import Platform
from bitline.repro.flash_cosmos.ratios import METRICS, NAMES
from bitline.repro.flash_cosmos.runs import Point, Task
from bitline.repro.flash_cosmos.workloads import BitmapIndex, CliqueStars, ImageSegmentation, Workload

_BUFFER: tuple[tuple[str, Setting], ...] = (("bits.accelerator_buffer_bytes", 524_288),)
_FAST: tuple[tuple[str, Setting], ...] = (("channel.megabytes_per_second", 12_000.0),)
_PAYLOAD_ONLY: tuple[tuple[str, Setting], ...] = (("link.packet_overhead_bytes", 0),)


@dataclass(frozen=True)
class Assumption:
    """Something changed, and the ratio that shows what it does."""

    words: str
    """What is changed."""
    key: str
    """The published number that it is about; none if the paper has only a mean."""
    metric: str
    """`"time"` or `"energy"`."""
    better: Platform
    """Whose ratio."""
    worse: Platform
    """Over whom."""
    plain: Workload
    """The workload as it is."""
    changed: Workload
    """The workload measured instead."""
    settings: tuple[tuple[str, Setting], ...] = ()
    """Keys changed for that."""

    def tasks(self) -> tuple[list[Task], list[Task]]:
        """The measurements of both platforms, plain and changed."""
        pair = (self.better, self.worse)
        plain = [Task(self.plain, platform) for platform in pair]
        return plain, [Task(self.changed, platform, self.settings) for platform in pair]

    def row(self, points: Mapping[Task, Point], published: Mapping[str, float]) -> dict[str, object]:
        """The ratio as it is and with the change, beside the published one."""
        of = METRICS[self.metric]

        def ratio(tasks: Sequence[Task]) -> float:
            better, worse = (points[task] for task in tasks)
            return of(worse) / of(better)

        plain, changed = self.tasks()
        return {
            "assumption": self.words,
            "quantity": f"{self.metric}, {self.plain.short} {self.plain.label}: "
            f"{NAMES[self.better]} over {NAMES[self.worse]}",
            "published": published.get(self.key),
            "as_it_is": ratio(plain),
            "changed": ratio(changed),
        }


def assumptions(*, quick: bool = False) -> list[Assumption]:
    """All that are looked at; on shorter vectors if `quick`."""
    users = 800_000_000 // (16 if quick else 1)
    pixels = 800 * 600 // (128 if quick else 1)
    index = BitmapIndex(36, users)
    images = ImageSegmentation(50_000, pixels)
    buffer = "Accelerator with twice the buffer, 512 KiB"
    payload = "Twice the buffer, and a link without packet overhead"
    time = "time"
    found = [
        Assumption(buffer, "time.all.isp_over_osp", time, "in-storage", "host", index, index, _BUFFER),
        Assumption(buffer, "time.bmi.pb_over_isp", time, "parabit", "in-storage", index, index, _BUFFER),
    ]
    stars = CliqueStars(16, vertices=32_000_000 // (128 if quick else 1))
    fast = "Channels ten times as fast, so that no command waits for data"
    found.append(Assumption(fast, "", time, "parabit", "host", stars, stars, _FAST))
    both = _BUFFER + _PAYLOAD_ONLY
    found += [
        Assumption(payload, "time.ims.fc_over_osp", time, "flash-cosmos", "host", images, images, both),
        Assumption(payload, "time.ims.fc_over_isp", time, "flash-cosmos", "in-storage", images, images, both),
    ]
    return found
