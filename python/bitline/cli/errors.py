"""How a command ends: one exit code for each kind of failure, and one line that says what happened."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer
from typer.exceptions import TyperException

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
    PIPE = 141
    """Whoever read the output went away, as shells report it (128 and SIGPIPE's number)."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report it (128 and SIGINT's number)."""


#: The exit code of an exception: that of its first listed base class. Anything else is a bug
#: of Bitline and keeps its traceback.
EXIT_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (WrongResultError, Exit.WRONG),
    (TyperException, Exit.USAGE),
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
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        raise SystemExit(Exit.INTERRUPTED) from None
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        _say(_in_words(error))
        raise SystemExit(code) from error


def _say(what: str) -> None:
    # Errors alone need it.
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(("error: ", "bold red"), what)
    Console(stderr=True).print(line, soft_wrap=True)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, TyperException):
        return _usage_in_words(error)
    return _without_excerpt(str(error)) or type(error).__name__


def _usage_in_words(error: TyperException) -> str:
    """What Typer says about the command line, and where to read more."""
    message = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    return f"{message}; see '{'bitline' if context is None else context.command_path} --help'"


def _without_excerpt(message: str) -> str:
    """One line instead of several: TOML's parser draws the line that it stumbles over, with a caret."""
    lines = message.splitlines()
    kept = [line.strip() for line in lines if not re.match(r"\s*(\d+ )?\|", line)]
    return ": ".join(line for line in kept if line).replace("TOML parse error at ", "")
