"""Forms of texts, as SQL's LIKE writes them."""

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Like:
    """A form: % stands for any characters, _ for one, everything else for itself."""

    pattern: str

    @cached_property
    def regex(self) -> str:
        """The same as a regular expression over the whole text, for PyArrow."""
        return (
            "(?s)^" + "".join({"%": ".*", "_": "."}.get(each, _quoted(each)) for each in self.pattern) + "$"
        )

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(
            "".join({"%": ".*", "_": "."}.get(each, re.escape(each)) for each in self.pattern), re.S
        )

    def matches(self, text: bytes) -> bool:
        """Whether a text has the form."""
        return self._compiled.fullmatch(text.decode()) is not None

    @property
    def beginning(self) -> bytes:
        """What all texts of the form begin with."""
        return re.split("[%_]", self.pattern, maxsplit=1)[0].encode()

    @property
    def is_beginning(self) -> bool:
        """Whether all texts that begin so have the form."""
        known = len(re.split("[%_]", self.pattern, maxsplit=1)[0])
        return known < len(self.pattern) and set(self.pattern[known:]) == {"%"}


def _quoted(each: str) -> str:
    """A character that stands for itself in a regular expression of RE2."""
    return f"\\{each}" if not each.isalnum() and each.isascii() and each.isprintable() else each
