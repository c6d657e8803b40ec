"""What reports, statistics, explanations and their like have in common: how they are shown and exported."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from bitline.display.result import Result
from bitline.extras import needed_for

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Displayed:
    """Something measured or computed: `print` shows a page of it, a notebook a table; tables export it."""

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Result:
        """What is shown of it."""

    @abstractmethod
    def _line(self) -> str:
        """It in a few words."""

    @abstractmethod
    def _rows(self) -> list[dict[str, Any]]:
        """Its numbers as rows of a table."""

    def __str__(self) -> str:
        from bitline.display.text import Page, render

        return render(self._shown(), Page(more="to_dict() has all"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._line()}>"

    def _repr_html_(self) -> str:
        from bitline.display.html import render

        return render(self._shown())

    def to_arrow(self) -> "pa.Table":
        """Its numbers as an Arrow table, each column with its unit in its name."""
        from bitline.display.arrow import table

        return table(self._rows())

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas data frame.

        Raises:
            UsageError: pandas is not installed; the message says how to install it.
        """
        with needed_for("to_pandas"):
            import pandas as pd  # noqa: F401 (PyArrow's own error would not say what to install)
        return self.to_arrow().to_pandas()
