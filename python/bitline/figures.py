"""How figures look."""

from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase

from bitline.errors import UsageError

INK = "#222831"
"""Of text."""
COLOURS = (
    "#3d6fb6",
    "#c8553d",
    "#4f9d69",
    "#e0a458",
    "#7d5ba6",
    "#2a9d9d",
    "#b5507a",
    "#8c96a3",
    "#6b4f3a",
    "#1f3b5c",
)
"""Of lines, in order."""

#: Formats of figures, which are the suffixes of their files: what Matplotlib writes without other programs.
FORMATS = tuple(sorted(set(FigureCanvasBase.filetypes) - {"pgf"}))


def check_format(option: str, suffix: str) -> None:
    """Refuse a suffix that names no format.

    Raises:
        UsageError: It names none.
    """
    if suffix.removeprefix(".").lower() not in FORMATS:
        raise UsageError(f"{option}: the suffix must be a format of figures: {', '.join(FORMATS)}")


def dress(axes: Axes) -> None:
    """Quiet axes: two spines, a thin grid."""
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.tick_params(which="minor", length=0)
    axes.grid(color="#d9dee4", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#9aa3ad")
