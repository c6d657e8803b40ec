"""How a published number is drawn, in the figures of every paper."""

from typing import Any

from bitline.figures import BLACK

#: Over whatever is measured, and told from it without colour: keywords of Matplotlib's lines.
PUBLISHED_MARK: dict[str, Any] = {
    "color": BLACK,
    "marker": "D",
    "linestyle": "none",
    "markersize": 4.2,
    "markerfacecolor": "white",
    "markeredgewidth": 1.1,
}
