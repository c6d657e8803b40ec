"""How the figures move with the estimates that they lean on.

Each estimate of the drive is put at half and at twice its value, or at the ends of its range (`estimates`),
and the figures are measured again. Which figure leans on which estimate is found by measuring, too: where
many changes at once move nothing, none of them does.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bitline.errors import BitlineError
from bitline.opening import Setting
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos import chips, placements, powers, timelines, writes
from bitline.repro.flash_cosmos.estimates import Estimate, Number, estimates
from bitline.repro.flash_cosmos.observations import observations
from bitline.repro.flash_cosmos.published import Published
from bitline.repro.flash_cosmos.ratios import ratios
from bitline.repro.flash_cosmos.runs import SETTINGS, UNCHANGED, Changes, Task, measure_all, on_all
from bitline.repro.flash_cosmos.workloads import (
    BitmapIndex,
    CliqueStars,
    ImageSegmentation,
    Workload,
    evaluated,
)

Numbers: TypeAlias = Mapping[str, float]
Change: TypeAlias = tuple[str, Setting]
Progress: TypeAlias = Callable[[str, int, int], object]

#: Instants of a trace are read from numbers with so many digits.
_SAME = 1e-9
#: People are told of moves from this on; files have all.
_TOLD = 0.01


@dataclass(frozen=True)
class Moved:
    """A published number, measured with an estimate changed."""

    estimate: Estimate
    """The estimate."""
    published: Published
    """The number."""
    as_it_is: float
    """Measured with the estimate as it is."""
    at_low: float | None
    """Measured with the lower value; none if the drive takes none that is lower."""
    at_high: float | None
    """Measured with the higher one."""

    @property
    def moves(self) -> float:
        """How far it moves at most, as a share of what it is."""
        return max((abs(end / self.as_it_is - 1) for end in self._ends()), default=0.0)

    @property
    def turns(self) -> bool:
        """Whether a change brings it within the aim, or beyond."""
        within = self.published.within
        return any(within(end) != within(self.as_it_is) for end in self._ends())

    def _ends(self) -> list[float]:
        return [end for end in (self.at_low, self.at_high) if end is not None]

    def row(self) -> dict[str, object]:
        """As a row of a table."""
        one, low, high = self.published, self.at_low, self.at_high
        return {
            "figure": one.figure,
            "estimate": self.estimate.key,
            "value": _text(self.estimate.value),
            "low": _text(self.estimate.low),
            "high": _text(self.estimate.high),
            "key": one.key,
            "quantity": one.quantity,
            "published": one.value,
            "at_low": low,
            "as_it_is": self.as_it_is,
            "at_high": high,
            "moves": self.moves,
            "within": one.within(self.as_it_is),
            "within_at_low": None if low is None else one.within(low),
            "within_at_high": None if high is None else one.within(high),
            "source": self.estimate.source,
        }


def told(moved: Sequence[Moved]) -> list[Moved]:
    """What people are told: of each estimate and figure what moves furthest, and all that turns."""
    furthest: dict[tuple[str, str], Moved] = {}
    for one in moved:
        at = (one.estimate.key, one.published.figure)
        furthest[at] = max(furthest.get(at, one), one, key=lambda of: of.moves)
    chosen = set(map(id, furthest.values()))
    return [one for one in moved if one.moves >= _TOLD and (one.turns or id(one) in chosen)]


@dataclass(frozen=True)
class _Subject:
    """A figure that is measured in a moment."""

    name: str
    """Its name."""
    measure: Callable[[Changes], Mapping[str, Measured]]
    """What it measures with keys of the drive changed."""
    kept: frozenset[str] = frozenset()
    """Keys that it sets itself, whatever the preset has."""


def _timelines(changed: Changes) -> Mapping[str, Measured]:
    return timelines.timings({platform: timelines.trace(platform, changed) for platform in timelines.SHOWN})


#: Requests for a bandwidth of section 8.3: it settles after a few pages of every plane.
_WRITES = 1_000

_SUBJECTS = (
    _Subject("7", _timelines, frozenset(timelines.SETTINGS)),
    _Subject("8", lambda changed: chips.error_rates(changed).measured),
    _Subject("11", lambda changed: chips.effort(changed).measured),
    _Subject("12", lambda changed: chips.intra_block(changed).measured),
    _Subject("13", lambda changed: chips.inter_block(changed).measured),
    _Subject("14", lambda changed: powers.power(changed).measured, frozenset(powers.SETTINGS)),
    _Subject("6.3", placements.senses, frozenset(placements.SETTINGS)),
    _Subject("8.3", lambda changed: writes.overheads(_WRITES, changed), frozenset(writes.SETTINGS)),
)


def sensitivity(
    names: Iterable[str], known: Sequence[Published], *, quick: bool, workers: int | None, progress: Progress
) -> list[Moved]:
    """How the published numbers of some figures move, the furthest first.

    Args:
        names: Of the figures.
        known: What is published.
        quick: Whether vectors of Figures 17 and 18 are shorter than the paper's.
        workers: Processes; as many as cores by default.
        progress: Told of every step.

    Returns:
        One for each number and each estimate that moves it at all.
    """
    wanted = set(names)
    found = estimates()
    moved: list[Moved] = []
    for subject in _SUBJECTS:
        if subject.name in wanted:
            moved += _of_subject(subject, found, known, progress)
    folders = {f"figure-{name}" for name in wanted & {"17", "18"}}
    if folders:
        numbers = [one for one in known if one.figure in folders]
        moved += _of_workloads(found, numbers, quick=quick, workers=workers, progress=progress)
    return sorted(moved, key=lambda one: -one.moves)


def _of_subject(
    subject: _Subject, found: Sequence[Estimate], known: Sequence[Published], progress: Progress
) -> Iterator[Moved]:
    def look(changed: Changes) -> Numbers:
        return _values(subject.measure(changed))

    plain = look(UNCHANGED)
    outcome = _probed(f"Estimates, {subject.name}", found, subject.kept, look, plain, progress)
    yield from _all_moves(found, known, plain, outcome)


def _of_workloads(
    found: Sequence[Estimate],
    known: Sequence[Published],
    *,
    quick: bool,
    workers: int | None,
    progress: Progress,
) -> Iterator[Moved]:
    """Figures 17 and 18: parts of them with all changes, then everything with those that move them."""
    parts: list[Workload] = [
        BitmapIndex(1, users=50_000_000),
        ImageSegmentation(10_000, pixels=3_750),
        CliqueStars(8, vertices=250_000, cliques=256),
    ]

    def look(changed: Changes) -> Numbers:
        points = measure_all(on_all(parts, tuple(changed.items())), workers=1)
        times = {f"{number} time": float(point.elapsed.ps) for number, point in enumerate(points)}
        return times | {f"{number} energy": float(point.energy.pj) for number, point in enumerate(points)}

    title = "Estimates, parts of 17 and 18"
    leaning = _probed(title, found, frozenset(SETTINGS), look, look(UNCHANGED), progress)
    sets: dict[Change | None, list[Task]] = {None: on_all(evaluated(quick=quick))}
    for change, moved in leaning.items():
        if moved is not None:
            sets[change] = on_all(evaluated(quick=quick), (change,))
    tasks = [task for each in sets.values() for task in each]

    def done(count: int) -> None:
        progress("Estimates, 17 and 18", count, len(tasks))

    points = dict(zip(tasks, measure_all(tasks, workers=workers, progress=done), strict=True))
    outcome: dict[Change, Numbers | None] = dict(leaning)
    plain: Numbers = {}
    for of, each in sets.items():
        measured = [points[task] for task in each]
        numbers = _values(ratios(measured) | observations(measured))
        if of is None:
            plain = numbers
        else:
            outcome[of] = numbers
    yield from _all_moves(found, known, plain, outcome)


def _probed(
    title: str,
    found: Sequence[Estimate],
    kept: frozenset[str],
    look: Callable[[Changes], Numbers],
    plain: Numbers,
    progress: Progress,
) -> dict[Change, Numbers | None]:
    """The changes that move what is looked at, and what it is then; none if no drive works with it."""
    sides: list[list[Change]] = [[], []]
    for estimate in found:
        if estimate.key not in kept:
            for side, end in zip(sides, _ends(estimate), strict=True):
                if end is not None:
                    side.append((estimate.key, end))
    total = sum(map(len, sides))
    outcome: dict[Change, Numbers | None] = {}
    waiting = [side for side in sides if side]
    while waiting:
        progress(title, total - sum(map(len, waiting)), total)
        changes = waiting.pop()
        try:
            numbers = look(dict(changes))
        except BitlineError:
            # Refused, or cells lose so much that names of vectors cannot be read.
            numbers = None
        if numbers is not None and all(
            math.isclose(numbers[key], plain[key], rel_tol=_SAME) for key in plain
        ):
            continue
        if len(changes) == 1:
            outcome[changes[0]] = numbers
        else:
            middle = len(changes) // 2
            waiting += [changes[:middle], changes[middle:]]
    return outcome


def _all_moves(
    found: Sequence[Estimate],
    known: Sequence[Published],
    plain: Numbers,
    outcome: Mapping[Change, Numbers | None],
) -> Iterator[Moved]:
    for estimate in found:
        ends = [None if end is None else outcome.get((estimate.key, end), plain) for end in _ends(estimate)]
        for number in known:
            if number.key in plain:
                low, high = (None if end is None else end[number.key] for end in ends)
                moved = Moved(estimate, number, plain[number.key], low, high)
                if moved.moves > _SAME:
                    yield moved


def _ends(estimate: Estimate) -> Iterator[Setting | None]:
    """Both values that are put in its place, as keys of tables."""
    for end in (estimate.low, estimate.high):
        yield tuple(end) if isinstance(end, Sequence) else end


def _values(measured: Mapping[str, Measured]) -> Numbers:
    return {key: one.value for key, one in measured.items()}


def _text(value: Number | None) -> str | None:
    if value is None:
        return None
    return str(list(value)) if isinstance(value, Sequence) else f"{value:.10g}"
