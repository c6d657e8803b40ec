"""Signals that end a command which serves a drive: what it has set up is undone first."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Signals:
    """Counts requests to end: Ctrl-C, SIGTERM and SIGHUP."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Note one, as the handler of signals."""
        self.count += 1


@contextmanager
def counted() -> Iterator[Signals]:
    """Count signals that end programs otherwise, while the block runs."""
    signals = Signals()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signals.note) for number in numbers]
    try:
        yield signals
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
