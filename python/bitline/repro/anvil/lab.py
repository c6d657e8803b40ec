"""All that is measured, each once, however many figures need it."""

from collections.abc import Callable
from functools import cached_property

from bitline import cells
from bitline.opening import configuration
from bitline.repro.anvil import graphs, olap, oltp, vertical
from bitline.repro.anvil.drives import PRESETS, Bench

#: The drives of Table 1.
DRIVES = ("SSD-A", "SSD-B")
#: Figure 9: cycles, and the modes by whether cells have margin (E) and the voltage is tuned (F).
CYCLES = (2_500, 5_000, 10_000, 20_000)
MODES = {"S": (False, False), "S+E": (True, False), "S+F": (False, True), "S+E+F": (True, True)}


class Lab:
    """Measurements on the drives of the paper."""

    def __init__(self, progress: Callable[[str, int, int], object], *, quick: bool) -> None:
        self.quick = quick
        """Whether less is measured: fewer queries, and graphs that are smaller than the paper's."""
        self._progress = progress

    @cached_property
    def customers(self) -> oltp.Customers:
        """TPC-C."""
        return oltp.Customers(queries=100_000 if self.quick else oltp.QUERIES)

    @cached_property
    def transactions(self) -> list[oltp.Transactions]:
        """Its queries on both drives."""
        found = []
        for done, drive in enumerate(DRIVES):
            self._progress("TPC-C", done, len(DRIVES))
            with Bench(drive) as bench:
                region = oltp.stored(bench, self.customers)
                sample = 400 if self.quick else 4_000
                found.append(oltp.transactions(bench, region, self.customers, sample))
        self._progress("TPC-C", len(DRIVES), len(DRIVES))
        return found

    @cached_property
    def _databases(self) -> list[tuple[olap.Units, vertical.Parts]]:
        found = []
        steps, done = 9 + 7, 0

        def told() -> None:
            nonlocal done
            done += 1
            self._progress("TPC-H", min(done, steps), steps)

        for drive in DRIVES:
            with Bench(drive) as bench:
                units = olap.measured(bench, told)
                found.append((units, vertical.measured(bench, units)))
        self._progress("TPC-H", steps, steps)
        return found

    @property
    def units(self) -> list[olap.Units]:
        """Searches, matches and scans of both drives."""
        return [units for units, _ in self._databases]

    @property
    def parts(self) -> list[vertical.Parts]:
        """What Figures 3 and 4 are made of, on both drives."""
        return [parts for _, parts in self._databases]

    @cached_property
    def visits(self) -> list[graphs.Visit]:
        """Visits of vertices on all three drives."""
        found = []
        for drive in PRESETS:
            with Bench(drive) as bench:
                found.append(graphs.visits(bench))
        return found

    @cached_property
    def traversals(self) -> list[graphs.Traversal]:
        """All graphs on all three drives."""
        found = []
        made = graphs.evaluated(quick=self.quick)
        for done, graph in enumerate(made):

            def told(share: float, done: int = done) -> None:
                self._progress("Graphs", round(100 * (done + share)), 100 * len(made))

            degrees = graph.degrees(told)
            found += [graphs.traversed(graph.name, degrees, visit) for visit in self.visits]
        return found

    @cached_property
    def errors(self) -> dict[tuple[str, int], cells.LookupErrors]:
        """Lookups of names in cells that are used up, by mode and cycles."""
        names = 1_000_000 if self.quick else 33_000_000
        config = configuration(PRESETS["SSD-A"])
        found = {}
        wanted = [(mode, cycles) for mode in MODES for cycles in CYCLES]
        for done, (mode, cycles) in enumerate(wanted):
            self._progress("Errors of cells", done, len(wanted))
            enhanced, tuned = MODES[mode]
            found[mode, cycles] = cells.lookup_errors(
                enhanced=enhanced, tuned=tuned, pe_cycles=cycles, names=names, config=config
            )
        self._progress("Errors of cells", len(wanted), len(wanted))
        return found
