"""Calls in flight together: what was submitted goes on while others are waited for."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from bitline._bitline import Pending as NativePending
from bitline.units import Duration

Answer = TypeVar("Answer")


class Answered:
    """What stands for a call of the drive where none was needed."""

    def is_finished(self) -> bool:
        """It has ended."""
        return True

    def was_waited_for(self) -> bool:
        """Nothing is left to be waited for."""
        return True

    def wait(self) -> tuple[None, int]:
        """Nothing, and the picoseconds that it took."""
        return None, 0


class Pending(Generic[Answer]):
    """Something that was submitted to a drive: `result()` waits for it.

    It begins in the instant of simulated time in which it is submitted, and goes on while any call of the
    drive lets time pass. It is dropped when the power goes.
    """

    def __init__(
        self,
        native: NativePending | Answered,
        convert: Callable[[Any], Answer],
        errors: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._native = native
        self._convert = convert
        self._errors = errors
        self._ended: tuple[Answer, Duration] | BaseException | None = None

    def __repr__(self) -> str:
        return f"<Pending{', done' if self.done else ''}>"

    @property
    def done(self) -> bool:
        """Whether it has ended, so that `result()` lets no time pass."""
        return self._ended is not None or self._native.is_finished()

    def result(self) -> Answer:
        """What it gave, after letting simulated time pass until it has ended.

        Raises:
            UsageError: It makes no sense on this drive; the power was cut before it had ended.
            NvmeError: What the drive reports.
        """
        return self._wait()[0]

    @property
    def took(self) -> Duration:
        """The simulated time from when it was submitted until it ended, which is waited for.

        Raises:
            UsageError: As `result`.
            NvmeError: As `result`.
        """
        return self._wait()[1]

    def _wait(self) -> tuple[Answer, Duration]:
        if self._ended is None:
            try:
                with self._errors():
                    answer, picoseconds = self._native.wait()
                self._ended = self._convert(answer), Duration(picoseconds)
            except Exception as error:
                # Where the call was broken off, or the drive was busy, it can be waited for again.
                if self._native.was_waited_for():
                    self._ended = error
                raise
        if isinstance(self._ended, BaseException):
            raise self._ended
        return self._ended
