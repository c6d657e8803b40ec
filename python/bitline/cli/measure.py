"""What `run` and `replay` share: their options, running workloads, and the files that they leave."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import bitline
from bitline.cli.options import destination, distinct, in_range
from bitline.cli.output import emit
from bitline.cli.progress import progress
from bitline.display.report import summary
from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.media import history_plan
from bitline.opening import Setting
from bitline.report import Report
from bitline.workload import LatencyChunk, default_of
from bitline.workload_file import GroupTable

Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="FILE", help="Write a trace for Perfetto (ui.perfetto.dev), prefilling included."
    ),
]
Latencies = Annotated[
    Path | None,
    typer.Option(
        "--latencies",
        metavar="FILE",
        help="Write one row a request or query; FILE.parquet or FILE.csv, as it ends.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw what every part did in the busiest two milliseconds, and how latencies are distributed; "
        "the suffix names the format.",
    ),
]
Series = Annotated[
    Path | None,
    typer.Option(
        "--series",
        metavar="FILE",
        help="Write the run interval by interval: rows as FILE.parquet or FILE.csv, or a figure of rates, "
        "latencies, write amplification and wear, FILE.png and so on.",
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SECONDS",
        help="Simulated length of the intervals [so that there are 20 to 100].",
    ),
]
Image = Annotated[
    Path | None,
    typer.Option("--image", metavar="FILE", help="Run on the drive in this image file, which it changes."),
]
History = Annotated[
    str | None,
    typer.Option(
        "--precondition",
        metavar="HISTORY",
        help="Set up at once what earlier writes would have left: sequential, random:OVERWRITES, "
        "steady_state or mqsim. Flows then write nothing beforehand.",
    ),
]
Occupied = Annotated[
    float | None,
    typer.Option(
        "--occupied", metavar="SHARE", help="Of the logical pages, how many --precondition fills, 0 to 1 [1]."
    ),
]
KeepGoing = Annotated[
    bool,
    typer.Option(
        "--keep-going",
        help="Count requests and queries that the drive fails, instead of ending at the first.",
    ),
]


def interval_ns(seconds: float | None) -> int:
    """The nanoseconds that --interval asks for; 0 without it.

    Raises:
        UsageError: It makes no sense.
    """
    if seconds is None:
        return 0
    in_range("--interval", seconds, 1e-6, 1e6)
    return round(seconds * 1e9)


_Taker: TypeAlias = Callable[[LatencyChunk], object]


def precondition(history: str | None, occupied: float | None) -> Mapping[str, Any] | None:
    """The arguments of `Media.precondition` that the two options ask for, if they do.

    Raises:
        UsageError: They make no sense.
    """
    if history is None:
        if occupied is not None:
            raise UsageError("--occupied says how much --precondition fills; give that, too")
        return None
    in_range("--occupied", 1 if occupied is None else occupied, 0, 1)
    if history == "random":
        # An option has no other place for the overwrites.
        history = "random:"
    history_plan("--precondition", history)
    return {"history": history, "occupied": 1.0 if occupied is None else occupied}


def amount(option: str, text: str) -> float:
    """A number in an option.

    Raises:
        UsageError: It is none.
    """
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is no number") from None


@dataclass(frozen=True)
class Outputs:
    """Files that a run leaves."""

    trace: Path | None = None
    latencies: Path | None = None
    plot: Path | None = None
    series: Path | None = None
    interval_ns: int = 0
    """Of the series; 0 for one that follows the run's length."""

    def check(self, *inputs: tuple[str, Path | None]) -> None:
        """Refuse files that cannot be written, or are what is read, before any work is done.

        Args:
            inputs: What is read, by option.

        Raises:
            UsageError: One cannot be.
        """
        distinct(*inputs, *self.named())
        for option, path in self.named():
            destination(option, path)
        # Half a second of imports; other runs do without.
        if self.plot is not None:
            from bitline.figures import check_format

            check_format(f"--plot {self.plot}", self.plot.suffix)
        if self.latencies is not None:
            from bitline.latencies import check_suffix

            check_suffix(f"--latencies {self.latencies}", self.latencies.suffix)
        if self.series is not None:
            from bitline import series

            series.check_suffix(f"--series {self.series}", self.series.suffix)

    def named(self) -> list[tuple[str, Path]]:
        """Those that are asked for, by option."""
        named = (
            ("--trace", self.trace),
            ("--latencies", self.latencies),
            ("--plot", self.plot),
            ("--series", self.series),
        )
        return [(option, path) for option, path in named if path is not None]


def open_drive(
    preset: str | None, config: Path | None, settings: Mapping[str, Setting], image: Path | None
) -> Drive:
    """The drive that options ask for; without an image it keeps time but no data.

    Raises:
        UsageError: An image, and another drive.
    """
    if image is None:
        return bitline.open(preset, config=config, set={"data.storage": "none", **settings})
    if preset or config:
        raise UsageError("--image has a configuration of its own; leave --preset and --config out")
    return bitline.open(path=image, set=settings, create=False)


@dataclass(frozen=True)
class Job:
    """What is to be measured."""

    title: str
    """For people."""
    workloads: Sequence[Mapping[str, Any]]
    """Flows, replays and queries, for `Drive.measure`."""
    total: int | None
    """Requests and queries, if that is known."""
    precondition: Mapping[str, Any] | None
    """Arguments of `Media.precondition`."""
    keep_going: bool = False
    """Whether requests that fail are counted."""
    groups: Sequence[GroupTable] = ()
    """Vectors that are there from the beginning."""
    file: Path | None = None
    """The workload file that says so, for errors."""

    def names(self) -> list[str]:
        """The names of its parts, by their number."""
        return [str(part.get("name", default_of(part, "name"))) for part in self.workloads]

    def vectors(self) -> int:
        """Vectors that are set up."""
        return sum(group.vectors for group in self.groups)

    def prefills(self) -> bool:
        """Whether ranges are filled before anything is measured."""
        return any(part.get("prefill", default_of(part, "prefill")) for part in self.workloads)


def _after(before: int, told: Callable[[int], None]) -> Callable[[int], None]:
    """Tells counts that begin after what was done before."""
    return lambda count: told(before + count)


@contextmanager
def _errors_of(file: Path | None) -> Iterator[None]:
    """Has errors begin with the file whose fault they are, if there is one."""
    try:
        yield
    except UsageError as error:
        raise error if file is None else UsageError(f"{file}: {error}") from error


def measure(drive: Drive, job: Job, outputs: Outputs, *, as_json: bool, wide: bool = False) -> Report:
    """Run a job on a drive, print what was measured, and write the files that are asked for."""
    if outputs.trace is not None or outputs.plot is not None:
        drive.tracing.start(busiest=outputs.trace is None)
    if job.precondition is not None:
        with progress("Preconditioning", 100, quiet=as_json) as told:
            drive.media.precondition(**job.precondition, progress=lambda share: told(round(100 * share)))
    if job.groups:
        with _errors_of(job.file), progress("Placing vectors", job.vectors(), quiet=as_json) as told:
            placed = 0
            for group in job.groups:
                group.place(drive, _after(placed, told))
                placed += group.vectors
    first = "Prefilling" if job.precondition is None and job.prefills() else None
    with (
        _taking(outputs, job) as (take, curves),
        progress("Running requests", job.total, first=first, quiet=as_json) as advance,
        _errors_of(job.file),
    ):
        report = drive.measure(
            job.workloads,
            advance,
            latencies=take,
            keep_going=job.keep_going,
            interval_ns=outputs.interval_ns,
        )
    emit(summary(job.title, report, outputs.named()), as_json=as_json, wide=wide)
    if outputs.trace is not None:
        drive.tracing.write(outputs.trace)
    if outputs.plot is not None:
        from bitline.plot import plot

        plot(outputs.plot, drive.tracing.busiest(), curves(), job.title, report.elapsed)
    if outputs.series is not None:
        from bitline import series

        series.save(outputs.series, report, job.title)
    return report


@contextmanager
def _taking(outputs: Outputs, job: Job) -> Iterator[tuple[_Taker | None, Callable[[], Any]]]:
    """What takes single requests, if anything wants them; and the curves of their distribution."""
    takers: list[_Taker] = []
    with ExitStack() as stack:
        if outputs.latencies is not None:
            from bitline.latencies import LatencyFile

            takers.append(stack.enter_context(LatencyFile(outputs.latencies, job.names())).add)
        curves: Callable[[], Any] = list
        if outputs.plot is not None:
            from bitline.latencies import Distribution

            distribution = Distribution(job.names())
            takers.append(distribution.add)
            curves = distribution.curves

        def take(columns: LatencyChunk) -> None:
            for taker in takers:
                taker(columns)

        yield take if takers else None, curves
