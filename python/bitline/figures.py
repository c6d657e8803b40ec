"""How figures look: for a page of a paper, and for readers who tell colours apart differently.

A series has a colour, a marker, a line and a hatch, so that any one of them is enough. Colours are those of
Okabe and Ito (Color Universal Design, 2008), axes name quantity and unit, legends lie outside of the axes.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitline.errors import UsageError
from bitline.extras import needed_for
from bitline.metrics import Metric
from bitline.platforms import Platform
from bitline.quantities import BYTES, COUNT, RATIO, SHARE, TIME, Quantity
from bitline.units import scaled

with needed_for("figures"):
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backend_bases import FigureCanvasBase
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter, FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

WIDTH = 7.1
"""Of both columns of a page, in inches."""
COLUMN = 3.5
"""Of one column."""
INK = "#222831"
"""Of text."""
_QUIET, _GRID = "#9aa3ad", "#dde1e6"

_TITLE_POINTS = 9.5
#: Of notes, about.
_LETTERS_PER_INCH = 16

#: Texts have the size of a paper's captions, in the smallest figure, too; letters stay letters in PDF and
#: SVG; the same figure gives the same bytes.
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": _TITLE_POINTS,
    "figure.titleweight": "bold",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "bitline",
}
_DPI = 250


@dataclass(frozen=True)
class Look:
    """How a series is told from others."""

    colour: str
    """Of its line or area."""
    marker: str = "o"
    """Of its points."""
    line: str | tuple[int, tuple[float, ...]] = "-"
    """The pattern of its line."""
    hatch: str = ""
    """Of its area."""

    def curve(self) -> dict[str, Any]:
        """For `Axes.plot`."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line}

    def area(self) -> dict[str, Any]:
        """For bars and patches: the hatch is drawn in white, so that the colour stays what it is."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": "white", "linewidth": 0.4}


BLUE, RED, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#8a8f98"
_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "||||", "++++", "oooo")

#: Who evaluates, in every figure.
PLATFORM_LOOKS: Mapping[Platform, Look] = {
    "host": Look(GREY, "o", "-", ""),
    "in-storage": Look(SKY, "s", _LINES[1], "////"),
    "parabit": Look(ORANGE, "^", _LINES[2], "...."),
    "flash-cosmos": Look(BLUE, "D", "-", ""),
}

#: A published number beside measured ones.
PUBLISHED = Look(BLACK, "D", "none", "")


def look(number: int) -> Look:
    """The look of a series by its number; 32 of them differ."""
    place, turn = number % len(_COLOURS), number // len(_COLOURS)
    return Look(
        _COLOURS[place],
        _MARKERS[(place + 3 * turn) % len(_MARKERS)],
        _LINES[(place + turn) % len(_LINES)],
        _HATCHES[(place + 3 * turn) % len(_HATCHES)],
    )


#: Formats of figures, which are the suffixes of their files: what Matplotlib writes without other programs.
FORMATS = tuple(sorted(set(FigureCanvasBase.filetypes) - {"pgf"}))


def check_format(option: str, suffix: str) -> None:
    """Refuse a suffix that names no format.

    Raises:
        UsageError: It names none.
    """
    if suffix.removeprefix(".").lower() not in FORMATS:
        raise UsageError(f"{option}: the suffix must be a format of figures: {', '.join(FORMATS)}")


@contextmanager
def drawing(path: Path, title: str, size: tuple[float, float], note: str = "") -> Iterator[Figure]:
    """A figure to draw into, which is saved at the end; the file's suffix names its format.

    Args:
        path: The file.
        title: Above everything.
        size: Width and height in inches.
        note: Below the title: what a reader has to know, such as that the figure is of a quick run. Its lines
            stay lines.

    Raises:
        OSError: The file cannot be written.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        room = int(size[0] * _LETTERS_PER_INCH)
        lines = [line for part in note.splitlines() for line in textwrap.wrap(part, room)]
        # The title takes the room of the note, too, which stands below its one line.
        figure.suptitle(title + "\n" * len(lines))
        below = (_TITLE_POINTS * 1.3 + 4) / 72 / size[1]
        figure.text(0.5, 1 - below, "\n".join(lines), ha="center", va="top", linespacing=1.15)
        yield figure
        # Dates would make every file another one.
        dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "ps": {}, "eps": {}}
        metadata = dated.get(path.suffix.removeprefix(".").lower())
        figure.savefig(path, dpi=_DPI, metadata=metadata)


def dress(axes: Axes, *, grid: str = "both") -> None:
    """Quiet axes: two spines, a thin grid along `grid`."""
    axes.tick_params(which="both", length=0)
    axes.grid(visible=False)
    axes.grid(axis=grid, color=_GRID, linewidth=0.5)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_QUIET)


def legend(figure: Figure, handles: Sequence[Any], columns: int | None = None) -> None:
    """A legend below all axes, where it hides nothing."""
    if handles:
        labels = [str(handle.get_label()) for handle in handles]
        columns = columns or _legend_columns(labels, figure.get_figwidth())
        figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def legend_height(labels: Sequence[str], width: float) -> float:
    """What a legend of these labels takes below the axes of a figure of this width, in inches."""
    rows = -(-len(labels) // _legend_columns(labels, width)) if labels else 0
    return 0.165 * rows


def _legend_columns(labels: Sequence[str], width: float) -> int:
    longest = max(map(len, labels))
    room = int(width * _LETTERS_PER_INCH / (longest + 7))
    return max(1, min(len(labels), room))


def unit_axis(axis: Axis, metric: Metric, values: Iterable[float]) -> float:
    """Label an axis with a figure's name and the unit that suits its values.

    Returns:
        What values have to be divided by.
    """
    factor, unit = metric.quantity.scale(values)
    axis.set_label_text(f"{metric.label} ({unit})" if unit else metric.label)
    plain_ticks(axis)
    return factor


class _Plain(Formatter):
    """Numbers with separators, all of them with as many digits as one of them needs."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return number(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        digits = max((len(f"{value:.6g}".partition(".")[2]) for value in values), default=0)
        small = any(0 < abs(value) < 1e-3 for value in values)
        return [number(value) if small else f"{value:,.{digits}f}" for value in values]


def plain_ticks(axis: Axis) -> None:
    """Numbers as they are, with separators: no factor at the end of the axis."""
    axis.set_major_formatter(_Plain())


def log_ticks(axis: Axis) -> None:
    """Powers of ten as numbers with separators, each with the digits that it needs."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    low, high = sorted(axis.get_view_interval())
    if low <= 0 or high / low > 100:
        axis.set_minor_formatter(NullFormatter())
        return
    # Few powers of ten, or none, are in sight: 2 and 5 are told, too.
    axis.set_minor_formatter(FuncFormatter(lambda value, _: number(value) if _leads(value) in (2, 5) else ""))


def _leads(value: float) -> float:
    return round(value / 10.0 ** math.floor(math.log10(value) + 1e-9), 3) if value > 0 else 0


def number(value: float) -> str:
    """A number on an axis or a bar, with up to four digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-4 else power(value)


def power(value: float) -> str:
    """A very small number, in powers of ten."""
    exponent = math.floor(math.log10(abs(value)))
    lead = value / 10.0**exponent
    ten = f"10$^{{{exponent}}}$"
    return ten if abs(lead - 1) < 0.05 else f"{lead:.2g}·{ten}"


def on_axis(value: object, quantity: Quantity) -> str:
    """A value that a sweep varies, short enough for a tick."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if quantity in (BYTES, TIME):
        return quantity.show(value).replace(".00 ", " ").replace(".0 ", " ")
    if quantity is SHARE:
        return f"{100 * value:g} %"
    if quantity in (COUNT, RATIO) and abs(value) >= 10_000:
        return scaled(float(value), 1000, ("", "k", "M", "G")).replace(".00 ", " ").replace(".0 ", " ")
    return f"{value:g}"


def time_axis(axis: Axis) -> None:
    """A logarithmic axis of nanoseconds, named in ns to s; ticks at 1, 2 and 5 where there is room."""

    def named(value: float, _: object) -> str:
        return scaled(value, 1000, ("ns", "µs", "ms", "s")).replace(".00 ", " ").replace(".0 ", " ")

    low, high = axis.get_view_interval()
    few = high / low < 2000
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(named))
    axis.set_minor_formatter(NullFormatter())


def percent_ticks(axis: Axis) -> None:
    """Shares as percents."""
    axis.set_major_formatter(StrMethodFormatter("{x:.0%}"))
