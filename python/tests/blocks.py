"""The blocks of a page, and whether what they show is what came out."""

import re
from dataclasses import dataclass
from itertools import zip_longest

_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of a page, what it stands under, and what is shown of its output: the text right behind it."""

    heading: str
    language: str
    source: str
    line: int
    shown: str | None

    @property
    def moved(self) -> str:
        """The source, moved down to its own line so that errors name it."""
        return "\n" * self.line + self.source


def blocks(page: str) -> list[Block]:
    """The blocks of Python and commands of a page, from top to bottom."""
    found = list(_BLOCK.finditer(page))
    return [
        Block(
            _heading(page[: block.start()]),
            block[1],
            block[2],
            page.count("\n", 0, block.start(2)),
            _shown(page, block, behind),
        )
        for block, behind in zip_longest(found, found[1:])
        if block[1] != "text"
    ]


def _heading(before: str) -> str:
    titles: list[str] = _HEADING.findall(_BLOCK.sub("", before))
    return titles[-1] if titles else ""


def _shown(page: str, block: re.Match[str], behind: re.Match[str] | None) -> str | None:
    is_output = behind is not None and behind[1] == "text" and page[block.end() : behind.start()] == "\n\n"
    return behind[2] if behind is not None and is_output else None


def agrees(shown: str, came: str) -> bool:
    """Whether output is as shown, where `...` is words of a line, or any lines if it has one to itself."""
    lines = (
        ".*" if line == "..." else re.escape(line).replace(re.escape("..."), "[^\n]*")
        for line in shown.rstrip("\n").split("\n")
    )
    return re.fullmatch("\n".join(lines), came.rstrip("\n"), re.DOTALL) is not None
