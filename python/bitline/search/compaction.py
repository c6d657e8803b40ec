"""Room for a store whose entries were replaced or deleted: the others are copied to one that takes its name.

Numbers of deleted entries are used again only in whole rows of a flash block's bitlines, so a store that is
written again and again is full one day. The copy is part of what it is for until it has the name: whatever a
power cut leaves, either the store is there, with a copy that nobody needs, or a whole copy alone.
"""

from collections.abc import Callable, Collection

from bitline.errors import BitlineError, NvmeError, UsageError
from bitline.search.store import Context, Store, files_of, header_of, is_part

#: What follows a store's name in that of its copy.
COPY = "/copy"


def is_full(error: NvmeError) -> bool:
    """Whether a store has no row left.

    A link table without room is no such thing: it is that of all stores, and a copy takes more of it before
    what it is a copy of goes.
    """
    return error.status == "Search Region Full"


def finish_copy(context: Context, name: str) -> None:
    """Give a copy the name that it is for, where a power cut has left it alone."""
    if is_copy_alone(context, name, context.glue.names()) and context.files is not None:
        context.files.rename(name + COPY, name)


def is_copy_alone(context: Context, name: str, names: Collection[str]) -> bool:
    """Whether of these stores there is a copy for this name, and no store that has it."""
    if name in names or name + COPY not in names:
        return False
    of = header_of(context.glue.open(name + COPY)[3]).get("of")
    return isinstance(of, str) and (name == of or name.startswith(f"{of}/"))


def no_room(store: Store, argument: str, what: str = "entries") -> UsageError:
    """That what is written does not fit, and with which argument there would be more room."""
    region = store.report()[0]
    return UsageError(
        f"{store.owner!r} has room for {region['capacity']:,} {what}, {region['live']:,} of them are taken, "
        f"and what is to be written does not fit: delete some, or make another with more ({argument}=) and "
        "copy what is here"
    )


def compacted(
    context: Context, store: Store, *, of: str, copied: Callable[[Store], None], changed: bool = False
) -> Store:
    """The store with what `copied` writes to a new one; as it is if that is the same and nothing was deleted.

    Raises:
        UsageError: Something else has the name of the copy.
        NvmeError: What the drive reports.
    """
    region = store.report()[0]
    if region["live"] >= region["entries"] and not changed:
        return store
    files, name = files_of(context), store.name + COPY
    if is_part(context, name, of):
        context.glue.remove(name)
    copy = Store.create(
        context,
        name,
        entries=store.entries,
        value_bytes=store.value_bytes,
        regions=store.regions,
        header={**store.header, "of": of},
    )
    try:
        copied(copy)
    except (BitlineError, KeyboardInterrupt):
        context.glue.remove(name)
        raise
    try:
        context.glue.remove(store.name)
        files.rename(name, store.name)
    except KeyboardInterrupt:
        finish_copy(context, store.name)
        raise
    return Store(context, store.name)
