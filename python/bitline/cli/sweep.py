"""`bitline sweep`: a grid of configurations, workloads and seeds, each point in a process of its own."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitline.cli.options import Json, Wide, destination, distinct
from bitline.cli.output import Column, Fact, Result, Table, emit
from bitline.cli.progress import progress
from bitline.display.sweep import METRICS, measured
from bitline.errors import UsageError, WrongResultError
from bitline.sweep import Outcome, Spec, run, table
from bitline.units import counted

if TYPE_CHECKING:
    import pyarrow as pa

#: Failed points that people are shown.
_SHOWN = 10
#: Rows of what was measured that people are shown.
_ROWS = 40
#: What a figure shows where nothing else is asked for.
_METRICS = ["requests_per_second"]


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="What is varied.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where results are kept, point by point; run again to resume. [SPEC.results]",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet", metavar="FILE", help="One row a point and flow. [results.parquet in the folder]"
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="A Dask scheduler, such as tcp://10.0.0.1:8786, instead of this machine alone.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="COUNT",
            help="Processes on this machine; as many as cores if not given.",
            min=1,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="A figure of one metric; the suffix names its format."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="COLUMN",
            help="What the figure shows, such as read.p99_ns; may be repeated, a panel each. "
            "[requests_per_second]",
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option("--over", metavar="AXIS", help="What runs to the right; the first axis if not given."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="AXIS", help="What runs upwards: a heat map instead of lines."),
    ] = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Run every point of a grid on all cores and gather what they measured in one Parquet file.

    A sweep that was interrupted goes on where it was; points that failed are tried again. The same
    spec gives the same results however many processes run it. Exits with 1 if a point failed.
    """
    distinct(("SPEC.toml", spec), ("--parquet", parquet), ("--plot", plot))
    folder = out or spec.with_suffix(".results")
    if plot is not None:
        destination("--plot", plot)
        from bitline.figures import check_format

        check_format(f"--plot {plot}", plot.suffix)
    if parquet is not None:
        destination("--parquet", parquet)
    if scheduler is not None and workers is not None:
        raise UsageError("--workers is for this machine; the scheduler has workers of its own")
    read = Spec.read(spec)
    options = {"--metric": metric, "--over": over, "--by": by}
    if plot is None and (given := [option for option, value in options.items() if value]):
        raise UsageError(f"{given[0]} says what a figure shows; give --plot FILE, too")
    check, wanted = None, _METRICS
    if plot is not None:
        from bitline.sweep.plot import check_axes, check_metrics

        check_axes(list(read.grid), over=over, by=by)
        wanted = check_metrics(metric or _METRICS)
        check = _MetricCheck(read, folder, wanted)
    with progress("Running points", len(read), quiet=as_json) as advance:

        def told(done: int) -> None:
            advance(done)
            if check is not None:
                check(done)

        outcome = run(read, folder, scheduler=scheduler, workers=workers, progress=told)
    rows = table(folder, outcome.points)
    # Half a second of import; other commands do without.
    import pyarrow.parquet as pq

    written = parquet or folder / "results.parquet"
    pq.write_table(rows, written, compression="zstd")
    failures = [row for row in rows.to_pylist() if row["error"] is not None]
    result = _result(spec, outcome, written, plot, failures)
    if not as_json:
        result = _with_measured(result, rows, list(read.grid), [*wanted, *METRICS])
    emit(result, as_json=as_json, wide=wide)
    if plot is not None:
        from bitline.sweep.plot import plot as draw

        draw(rows, list(read.grid), plot, metric=wanted, over=over, by=by, title=spec.stem)
    if failures:
        raise WrongResultError(
            f"{counted(len(failures), 'point')} of {len(outcome.points):,} failed; the first, number "
            f"{failures[0]['point']}: {failures[0]['error']}"
        )


def _with_measured(result: Result, rows: "pa.Table", axes: list[str], metrics: list[str]) -> Result:
    """A result with what was measured, for people; JSON has the name of the Parquet file."""
    found = [row for row in rows.to_pylist() if row["error"] is None]
    if not found:
        return result
    shown = measured(found, axes, list(dict.fromkeys(metrics)))
    note = "" if len(shown.rows) <= _ROWS else f"The first {_ROWS} of {len(shown.rows):,} rows."
    tables = {"measured": Table(shown.columns, shown.rows[:_ROWS]), **result.tables}
    return replace(result, tables=tables, verdict=note)


class _MetricCheck:
    """Refuses a metric that no point can have as soon as one is done, not when all are."""

    def __init__(self, spec: "Spec", folder: Path, metrics: list[str]) -> None:
        self._spec, self._folder, self._metrics = spec, folder, metrics
        # A point that failed says nothing of what points measure; then it is looked at twice as many.
        self._next: float = 1

    def __call__(self, done: int) -> None:
        if done < self._next:
            return
        self._next = 2 * done
        rows = table(self._folder, tuple(self._spec.points()))
        if None in rows["error"].to_pylist():
            from bitline.sweep.plot import check_metric

            for metric in self._metrics:
                check_metric(rows, metric, complete=False)
            self._next = math.inf


def _result(
    spec: Path, outcome: Outcome, parquet: Path, plot: Path | None, failures: list[dict[str, Any]]
) -> Result:
    facts = {
        "points": Fact("Points", len(outcome.points)),
        "resumed": Fact("  done by an earlier run", outcome.resumed),
        "failed": Fact("  failed", len(failures)),
        "parquet": Fact("Results", str(parquet)),
    }
    if plot is not None:
        facts["plot"] = Fact("Figure", str(plot))
    tables = {}
    if failures:
        columns = [Column("point", "Failed"), Column("error", "Because")]
        shown = failures if len(failures) <= _SHOWN else failures[:_SHOWN]
        tables["failures"] = Table(
            columns, [{"point": row["point"], "error": str(row["error"])} for row in shown]
        )
    return Result(f"{spec}: a sweep", facts, tables)
