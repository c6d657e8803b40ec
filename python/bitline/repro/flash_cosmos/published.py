"""What Flash-Cosmos says it measured: numbers to compare with, used for nothing else."""

from pathlib import Path

from bitline.repro.published import Bound, Published
from bitline.repro.published import published as read

__all__ = ["FOLDER", "Bound", "Published", "published"]

#: Where the files are, in a checkout and in an installed package.
FOLDER = Path(__file__).parent / "data"


def published(folder: Path = FOLDER) -> list[Published]:
    """All published numbers, by figure.

    Raises:
        ConfigError: There are no such files, or one is malformed.
    """
    return read(folder)
