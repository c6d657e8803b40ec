"""Progress bars, on the standard error so that results can be piped; silent where nobody looks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(
    description: str, total: int | None, *, first: str | None = None, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar that runs to `total`; the yielded function is called with how much is done.

    Without a total it only counts; one that turns out to be too small grows. Until something is done, it says
    `first`, if given. Shown only on a terminal, and not when `quiet`.
    """
    # Needed where something runs, not for help.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(first or description, total=total)

        def advance(done: int) -> None:
            shown = description if done else first or description
            grown = None if total is None else max(total, done)
            bar.update(task, completed=done, total=grown, description=shown)

        yield advance
