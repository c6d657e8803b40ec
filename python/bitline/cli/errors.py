"""How a command ends: one exit code for each kind of failure, and one line that says what happened."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from rich.console import Console
from rich.text import Text

from bitline.errors import BitlineError, ConfigError, UsageError, WrongResultError


class Exit(IntEnum):
    """Exit codes of every subcommand."""

    OK = 0
    WRONG = 1
    """The command ran, and its result is wrong."""
    USAGE = 2
    """An option, a key or a file cannot be used as given."""
    DRIVE = 3
    """The drive refused or failed a command, or a medium or image is damaged."""


#: The exit code of an exception: that of its first listed base class. Anything else is a bug
#: of Bitline and keeps its traceback.
EXIT_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (WrongResultError, Exit.WRONG),
    (UsageError, Exit.USAGE),
    (ConfigError, Exit.USAGE),
    (BitlineError, Exit.DRIVE),
    (ValueError, Exit.USAGE),
    (OSError, Exit.USAGE),
)


def exit_code(error: BaseException) -> Exit | None:
    """The exit code for an exception, None for one that no user can cause."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), None)


@contextmanager
def reported() -> Iterator[None]:
    """Turn exceptions into one line on the standard error and their exit code."""
    try:
        yield
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        line = Text.assemble(("error: ", "bold red"), _in_words(error))
        Console(stderr=True).print(line, soft_wrap=True)
        raise SystemExit(code) from error


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
