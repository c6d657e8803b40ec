"""What tests of the command line share: what a command printed, and how it ended."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias


class Done:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> dict[str, Any]:
        """The one object on the standard output."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Run: TypeAlias = Callable[..., Done]


def fails(done: Done, code: int, *words: str) -> None:
    """It ended so, with one line that says why and nothing else."""
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err
