"""Query engines ask from threads of their own, and a drive is used in the one that opened it.

That thread runs a query by having another one do so, and meanwhile does what engines ask for.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from bitline.errors import UsageError

_Answer = TypeVar("_Answer")


class Service:
    """What the drive's thread does for others while it runs a query."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        #: What is to be done, and then None; no queue while no query is run.
        self._asked: SimpleQueue[Callable[[], None] | None] | None = None

    def run(self, query: Callable[[], _Answer]) -> _Answer:
        """Run a query in another thread, and do here what it asks for.

        Raises:
            UsageError: This is not the drive's thread, or it runs a query already.
        """
        if threading.get_ident() != self._thread:
            raise UsageError("a query is run in the thread that opened the drive")
        if self._asked is not None:
            raise UsageError("a query is being run already: it cannot run another one")
        asked = self._asked = SimpleQueue[Callable[[], None] | None]()
        answer = Future[_Answer]()

        def runs() -> None:
            _settle(answer, query)
            asked.put(None)

        thread = threading.Thread(target=runs, name="bitline query")
        thread.start()
        ended = False
        try:
            while not ended:
                ended = _next(asked)
        finally:
            # An interrupted query ends when it asks for the next thing, or is done.
            with self._lock:
                self._asked = None
            while not ended:
                ended = _next(asked)
            thread.join()
        return answer.result()

    def call(self, work: Callable[[], _Answer]) -> _Answer:
        """Do something in the drive's thread, which this one is, or which runs a query.

        Raises:
            UsageError: It is another one, which runs none.
        """
        if threading.get_ident() == self._thread:
            return work()
        answer = Future[_Answer]()
        with self._lock:
            if self._asked is None:
                raise UsageError(
                    "a drive is used in the thread that opened it, and this engine asks from another one: "
                    "run the query by drive.search.run(lambda: ...)"
                )
            self._asked.put(lambda: _settle(answer, work))
        return answer.result()


def _next(asked: "SimpleQueue[Callable[[], None] | None]") -> bool:
    """Do what is asked for next; whether that is nothing any more."""
    work = asked.get()
    if work is not None:
        work()
    return work is None


def _settle(answer: "Future[Any]", work: Callable[[], Any]) -> None:
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
