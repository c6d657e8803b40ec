"""`bitline image`: image files, which keep a drive's bits across processes."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline import _bitline
from bitline.cli.options import Config, Image, Json, Place, Preset, Set, Wide, settings
from bitline.cli.output import Column, Fact, Result, Table, Value, emit, of, plain, size
from bitline.cli.progress import progress
from bitline.display.health import smart, space
from bitline.drive import Drive
from bitline.errors import ImageError, MediaError, UsageError
from bitline.media import VectorSpace
from bitline.opening import open_or_connect
from bitline.units import counted

#: Names of vectors that a line has room for.
_NAMES_SHOWN = 6

app = typer.Typer(
    help="Make, describe and check image files, which keep a drive's bits across processes.",
    add_completion=False,
    rich_markup_mode=None,
)

#: Logical blocks that one read of a check asks for.
_BLOCKS_PER_READ = 4096


@app.command()
def create(
    file: Image, preset: Preset = None, config: Config = None, set_: Set = None, as_json: Json = False
) -> None:
    """Make an image file for a blank drive. It is sparse: a 2 TB drive takes what is written to it.

    For file systems, let `bitline attach` or `serve` make it: with a cache of what is written, and logical
    pages of 4 KiB, without which no task runs over files of a mount.
    """
    if file.exists():
        raise UsageError(f"{file} exists already; remove it first, or choose another name")
    with bitline.open(preset, file, config=config, set=settings(set_)) as drive:
        facts = _facts(drive)
    emit(Result(f"{file}: a blank drive", {"file": Fact(None, str(file)), **facts}), as_json=as_json)


@app.command()
def info(file: Place, wide: Wide = False, as_json: Json = False) -> None:
    """Tell what a drive in an image or at an address holds: its space, wear, vectors."""
    with open_or_connect(file, read_only=True) as drive:
        # Before the look does anything that the drive would count.
        health = drive.admin.health()
        inventory = drive.media.inventory()
        facts = {
            "file": Fact(None, file),
            **_file_bytes(drive, file),
            **_facts(drive),
            "used_bytes": Fact("Used by blocks", inventory.mapped_pages * inventory.logical_page_bytes, size),
            "mapped_pages": Fact(
                "  logical pages with data", inventory.mapped_pages, of(inventory.data_pages)
            ),
            "data_pages": Fact(None, inventory.data_pages),
            **space(inventory),
            "vectors": Fact("Bit vectors", inventory.vectors),
            **_vector_space(inventory.vector_space, shown=inventory.vectors),
            **smart(health),
        }
        tables = {"groups": _groups(drive)} if inventory.vectors or as_json else {}
        if len(drive.volume) or as_json:
            tables["objects"] = _objects(drive)
    emit(Result(file, facts, tables), as_json=as_json, wide=wide)


def _file_bytes(drive: Drive, file: str) -> dict[str, Fact]:
    """What the image takes; nothing of a drive at an address."""
    if drive.address is not None:
        return {}
    return {"file_bytes": Fact("Disk space of the file", Path(file).stat().st_blocks * 512, size)}


@app.command()
def check(
    file: Image,
    data: Annotated[
        bool, typer.Option("--data/--no-data", help="Whether data is read, or only the records of it.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Look for damage in an image, without writing it: in its records, and in all data it holds.

    Exits with 3 if something is damaged or cannot be read any more. What is damaged in one copy of a record
    is mended by the next drive on the image.
    """
    pages, damaged, copies, rolled_back = _bitline.check_image(file, data)
    facts = {
        "file": Fact(None, str(file)),
        "flash_pages": Fact("Flash pages with data", pages),
        "flash_pages_damaged": Fact("  damaged", len(damaged) if data else None),
        "record_copies_damaged": Fact("Damaged copies of records, the other one whole", copies),
        "back_at_last_flush": Fact("Went back to its last flush, for its host lost power", rolled_back),
    }
    with bitline.open(path=file, read_only=True) as drive:
        lost, lost_vectors = [], 0
        if data:
            lost = _unreadable_blocks(drive, quiet=as_json)
            vectors = [vector for group in drive.groups for vector in group]
            with progress("Reading vectors", len(vectors), quiet=as_json) as advance:
                for number, vector in enumerate(vectors, 1):
                    lost_vectors += _is_lost(vector.read_packed)
                    advance(number)
            facts |= {
                "blocks_read": Fact(
                    "Logical blocks read", sum(blocks for _, blocks in drive._native.mapped_runs())
                ),
                "blocks_lost": Fact("  unreadable", len(lost)),
                "first_lost": Fact(None, lost[0] if lost else None),
                "vectors_read": Fact("Bit vectors read", len(vectors)),
                "vectors_lost": Fact("  unreadable", lost_vectors),
            }
    emit(Result(f"{file}: checked", facts), as_json=as_json)
    _raise_if_damaged(file, damaged, copies, lost, lost_vectors)


def _raise_if_damaged(
    file: Path, damaged: list[tuple[int, int]], copies: int, lost: list[int], lost_vectors: int
) -> None:
    if lost or lost_vectors:
        where = f", the first at {lost[0]}" if lost else ""
        blocks, vectors_lost = counted(len(lost), "block"), counted(lost_vectors, "vector")
        raise ImageError(f"{file}: {blocks}{where}, and {vectors_lost} cannot be read")
    if damaged:
        block, page = damaged[0]
        pages = counted(len(damaged), "flash page")
        where = f"the first is page {page} of block {block}"
        raise ImageError(f"{file}: {pages} damaged, {where}; nothing that can be read was in them")
    if copies:
        records = counted(copies, "record")
        raise ImageError(f"{file}: {records} damaged in one of two copies; opening the drive mends that")


def _facts(drive: Drive) -> dict[str, Fact]:
    config = tomllib.loads(drive.config)
    return {
        "preset": Fact("Drive", config["name"]),
        "description": Fact("  models", config["description"]),
        "capacity_bytes": Fact("Capacity", drive.capacity_bytes, size),
        "blocks": Fact("  logical blocks", drive.blocks),
        "block_bytes": Fact("  bytes of each", drive.block_bytes),
    }


def _vector_space(space: VectorSpace, *, shown: int) -> dict[str, Fact]:
    """What vectors take, and what ESP's one bit a cell costs."""
    bits = space.data_bits_per_cell
    used = 100 * space.blocks / space.blocks_max if space.blocks_max else 0.0
    facts = {
        "vector_pages": Fact("  flash pages", space.pages),
        "vector_bytes": Fact("  bytes of these", space.bytes, size),
        "vector_bytes_as_data": Fact(
            f"  would hold as data, {counted(bits, 'bit')} a cell", space.bytes_as_data, size
        ),
        "vector_bytes_given_up": Fact("  given up for ESP", space.bytes_given_up, size),
        "vector_blocks": Fact("  flash blocks", space.blocks, of(space.blocks_max)),
        "vector_blocks_max": Fact(None, space.blocks_max),
        "vector_blocks_percent": Fact(None, round(used, 2)),
        "vector_blocks_as_data": Fact("  these would hold as data", space.blocks_as_data, size),
    }
    return {key: fact if shown else Fact(None, fact.value) for key, fact in facts.items()}


def _groups(drive: Drive) -> Table:
    columns = [
        Column("group", "Group", str),
        Column("vectors", "Vectors"),
        Column("names", "Names", str, rank=1),
        Column("bits", "Bits of each"),
        Column("first_die", "First die", rank=3),
        Column("dies", "Dies", lambda dies: plain(dies) if dies else "all", rank=2),
    ]
    rows: list[dict[str, Value]] = []
    for group in drive.groups:
        first_die, dies = group.home
        placed: dict[str, Value] = {"first_die": first_die, "dies": dies}
        names = [vector.name for vector in group]
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        row: dict[str, Value] = {"group": group.name, "vectors": len(names), "names": shown}
        rows.append({**row, "bits": group.bits, **placed})
    return Table(columns, rows)


def _objects(drive: Drive) -> Table:
    columns = [
        Column("name", "Name", str),
        Column("kind", "Kind", str),
        Column("bytes", "Size", size),
        Column("dtype", "Type", str, rank=1),
        Column("shape", "Shape", str, rank=2),
    ]
    rows: list[dict[str, Value]] = []
    for found in drive.volume.objects():
        if found.kind != "group":
            array = {"dtype": found.dtype or "", "shape": " x ".join(map(str, found.shape))}
            rows.append({"name": found.name, "kind": found.kind, "bytes": int(found.size), **array})
    return Table(columns, rows)


def _unreadable_blocks(drive: Drive, *, quiet: bool) -> list[int]:
    """Reads every logical block that holds data; those that cannot be read, ascending."""
    runs = drive._native.mapped_runs()
    lost, done = [], 0
    with progress("Reading blocks", sum(blocks for _, blocks in runs), quiet=quiet) as advance:
        for first, blocks in runs:
            for lba in range(first, first + blocks, _BLOCKS_PER_READ):
                count = min(_BLOCKS_PER_READ, first + blocks - lba)
                if _is_lost(drive.read, lba, count):
                    lost += [block for block in range(lba, lba + count) if _is_lost(drive.read, block)]
                done += count
                advance(done)
    return lost


def _is_lost(read: Callable[..., bytes], *arguments: int) -> bool:
    try:
        read(*arguments)
    except MediaError:
        return True
    return False
