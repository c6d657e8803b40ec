"""Packages that only a part of Bitline needs: what to install where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from bitline.errors import UsageError

#: Which extra of the wheel brings a package.
_EXTRAS = {"matplotlib": "plot", "distributed": "sweep", "pandas": "pandas", "polars": "polars"}


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Around imports of optional packages: says what to install for `what` where one is missing.

    Raises:
        UsageError: A package of an extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(package)
        if extra is None:
            raise
        raise UsageError(
            f"{what}: needs {package}, which is not installed: pip install 'bitline[{extra}]'"
        ) from None
