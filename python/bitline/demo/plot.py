"""The main job's figure: time, energy and data movement of each platform."""

from pathlib import Path

from bitline.demo.race import Race
from bitline.extras import needed_for
from bitline.figures import INK, PLATFORM_LOOKS, WIDTH, drawing, dress
from bitline.platforms import PLATFORM_NAMES
from bitline.quantities import BYTES, ENERGY, TIME, Quantity

with needed_for("figures"):
    from matplotlib.axes import Axes
    from matplotlib.ticker import FuncFormatter, LogLocator


def plot(race: Race, rows: int, path: Path) -> None:
    """Save the figure of a race over `rows` rows; the file's suffix names its format.

    Raises:
        OSError: The file cannot be written.
    """
    works = [entrant.work for entrant in race.entrants]
    moved = [int(work.channel_bytes) + int(work.link_up_bytes) + int(work.link_down_bytes) for work in works]
    quantities: list[tuple[str, Quantity, list[float]]] = [
        ("Simulated time", TIME, [work.elapsed.ns for work in works]),
        ("Energy", ENERGY, [float(work.energy.pj) for work in works]),
        ("Bytes over channels and PCIe", BYTES, [float(size) for size in moved]),
    ]
    title = f"TPC-H Q6's predicate over {rows:,} rows: one drive, four ways"
    with drawing(
        path, title, (WIDTH, 2.4), "logarithmic scales; in parentheses: how many times less"
    ) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, (name, quantity, values) in zip(panels, quantities, strict=True):
            _bars(axes, race, name, quantity, values)


def _bars(axes: Axes, race: Race, name: str, quantity: Quantity, values: list[float]) -> None:
    for place, (entrant, value) in enumerate(zip(race.entrants, values, strict=True)):
        axes.barh(place, value, height=0.66, **PLATFORM_LOOKS[entrant.platform].area())
        label = quantity.show(value)
        if value < values[0]:
            label += f"  ({values[0] / value:.3g}x)"
        axes.annotate(label, (value, place), (4, 0), textcoords="offset points", va="center", color=INK)
    axes.set_xscale("log")
    # A decade of room on the left gives the least bar a length, two on the right the labels room.
    axes.set_xlim(min(values) / 10, max(values) * 400)
    # Bytes have other round numbers.
    axes.xaxis.set_major_locator(LogLocator(32 if quantity is BYTES else 100))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: quantity.show(value).replace(".00 ", " ").replace(".0 ", " "))
    )
    axes.minorticks_off()
    axes.set_yticks(range(len(values)), [PLATFORM_NAMES[entrant.platform] for entrant in race.entrants])
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_title(name)
    dress(axes, grid="x")
