"""How often a workload can be repeated until the rated erases of a drive are used up."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.report import Report
from bitline.units import Duration, Size
from bitline.workload import default_of

#: Bits a cell of each mode of ordinary data.
_BITS_PER_CELL: Mapping[str, int] = {"slc": 1, "esp": 1, "mlc": 2, "tlc": 3, "qlc": 4}
_SECONDS_A_YEAR = 365.25 * 24 * 3600


@dataclass(frozen=True)
class Endurance:
    """What repeating a workload does to a drive. Wear is the mean over all blocks, as SMART has it."""

    runs_measured: int
    """Runs that the figures of one run are the mean of."""
    rated_erases: int
    """Erases that a block is rated for (`frontend.health.rated_erases`)."""
    blocks: int
    """Flash blocks."""
    used_erases: float
    """Erases of a block before the measured runs, cycles that the drive was made older by included."""
    elapsed: Duration
    """Simulated time of a run."""
    written_bytes: Size
    """Bytes that the host writes in a run."""
    page_programs: float
    """Pages programmed in a run."""
    block_erases: float
    """Blocks erased in a run."""
    wear_erases: float
    """Block erases that a run costs in the long run: those measured, or those that its programs will need."""
    wear_from: Literal["erases", "programs"]
    """Which of the two is more. A drive that has room left erases less than it will."""
    write_amplification: float | None
    """Bytes programmed for each byte that the host writes; None if it writes none."""

    @property
    def runs(self) -> float | None:
        """Runs until the rated erases are used up; None if runs wear nothing."""
        if not self.wear_erases:
            return None
        return max(0.0, self.rated_erases - self.used_erases) * self.blocks / self.wear_erases

    @property
    def bytes_left(self) -> float | None:
        """Bytes that the host can write so until then; None if there is no end."""
        return None if self.runs is None else self.runs * self.written_bytes

    def years(self, runs_a_day: float | None = None) -> float | None:
        """Years until then, with so many runs a day or, without, one after another; None if there is no end.

        Raises:
            UsageError: As many do not fit into a day, or there are none.
        """
        most = 86_400 / self.elapsed.s if self.elapsed.ps else float("inf")
        if runs_a_day is not None and not 0 < runs_a_day <= most:
            raise UsageError(
                f"{runs_a_day:g} runs a day: it must be above 0, and at most {most:.3g} fit into a day"
            )
        if self.runs is None:
            return None
        if runs_a_day is None:
            return self.runs * self.elapsed.s / _SECONDS_A_YEAR
        return self.runs / runs_a_day / 365.25


def endurance(
    drive: Drive,
    workloads: Sequence[Mapping[str, Any]],
    *,
    runs: int = 3,
    progress: Callable[[int], object] | None = None,
) -> Endurance:
    """Run a workload once to set up what it needs and fill caches, then so many times more; measure its wear.

    Wear in the long run is the greater of two: the blocks erased, and the blocks that the pages programmed
    take, which must all be erased before they are programmed again. How much collection copies depends on
    what the drive holds: without a history (`Media.precondition`) it is that of a drive with room.

    Args:
        drive: Where; it is worn a little.
        workloads: As `Drive.measure` takes them.
        runs: How many runs are measured.
        progress: Called with the number of runs done.

    Raises:
        UsageError: A workload that makes no sense on this drive; runs that are not 1 to 1000.
        NvmeError: A request or query failed.
    """
    if not 1 <= runs <= 1000:
        raise UsageError(f"{runs} runs: it must be from 1 to 1,000")
    drive.measure(workloads)
    config = tomllib.loads(drive.config)
    before, vectors_before = drive.media.inventory(), drive.statistics.bits.page_programs
    again = [{**part, "prefill": False} if _prefills(part) else part for part in workloads]
    reports: list[Report] = []
    for number in range(runs):
        reports.append(drive.measure(again))
        if progress is not None:
            progress(number + 1)

    def mean(of: Callable[[Report], float]) -> float:
        return sum(map(of, reports)) / runs

    # One bit a cell: vectors, and what goes to the SLC cache.
    single = (drive.statistics.bits.page_programs - vectors_before) / runs
    single += mean(lambda report: report.slc_cache_page_writes)
    programs = mean(lambda report: report.flash_page_programs)
    erases = mean(lambda report: report.flash_block_erases)
    geometry = config["nand"]["geometry"]
    wordlines = geometry["strings_per_block"] * geometry["cells_per_string"]
    needed = single / wordlines
    needed += max(0.0, programs - single) / (wordlines * _BITS_PER_CELL[config["ftl"]["mode"]])
    written = mean(lambda report: report.written_bytes)
    return Endurance(
        runs_measured=runs,
        rated_erases=config["frontend"]["health"]["rated_erases"],
        blocks=before.flash_blocks,
        used_erases=before.erase_count_mean + drive.media.age.cycles,
        elapsed=Duration(round(mean(lambda report: report.elapsed.ps))),
        written_bytes=Size(round(written)),
        page_programs=programs,
        block_erases=erases,
        wear_erases=max(erases, needed),
        wear_from="erases" if erases >= needed else "programs",
        write_amplification=programs * geometry["page_bytes"] / written if written else None,
    )


def _prefills(workload: Mapping[str, Any]) -> bool:
    return bool(workload.get("prefill", default_of(workload, "prefill")))
