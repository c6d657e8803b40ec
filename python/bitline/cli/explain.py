"""`bitline explain`: what an expression would take, before anything is written or evaluated."""

import itertools
import tomllib
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline.bits import BITS_MAX, BitExpression, BitVector
from bitline.cli.options import Config, Json, Preset, Set, Wide, settings
from bitline.cli.output import Result, emit
from bitline.display.explanation import summary
from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.formula import names, parse
from bitline.platforms import ALL, PLATFORM_NAMES, Platform
from bitline.units import quoted


def explain(
    expression: Annotated[
        str,
        typer.Argument(
            metavar="EXPR",
            help="Names with & | ^ ~, parentheses, and the words and, or, xor, not, nand, nor, xnor.",
            show_default=False,
        ),
    ],
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="A,B,...",
            help="Vectors that share strings, in the order of their wordlines; may be repeated [all in one].",
        ),
    ] = None,
    inverse: Annotated[
        str | None, typer.Option("--inverse", metavar="A,B,...", help="Vectors that are stored inverted.")
    ] = None,
    bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            metavar="COUNT",
            help="Length of the vectors, for time and energy [a page of every plane].",
            min=1,
            max=BITS_MAX,
        ),
    ] = None,
    platform: Annotated[
        str, typer.Option("--platform", metavar="NAME", help=f"Who evaluates it: {', '.join(ALL)}.")
    ] = "fastest",
    count: Annotated[bool, typer.Option("--count", help="The result is counted, not read.")] = False,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="FILE",
            help="Vectors of an image, named as GROUP:VECTOR; instead of --group and --inverse.",
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Show how an expression would be evaluated: senses, latches, the controller's work, time and energy.

    Nothing is carried out. Without an image, names are vectors of a blank drive, placed as the options say.
    """
    if image is None:
        settled = {"data.storage": "none", **settings(set_)}
        with bitline.open(preset, config=config, set=settled) as drive:
            vectors = _placed(drive, names(expression), group, inverse)
            asked = parse(expression, lambda name: _as_operand(vectors[name]))
            length = bits or _stripe_bits(drive)
            if length > drive.capacity_bytes * 8:
                raise UsageError(f"--bits {length}: the whole drive holds {drive.capacity_bytes * 8} bits")
            result = _result(
                asked,
                expression,
                platform,
                length,
                count,
                {vector._id: name for name, vector in vectors.items()},
            )
    else:
        drives = {"--preset": preset, "--config": config, "--set": set_}
        for option, value in {"--group": group, "--inverse": inverse, **drives}.items():
            if value is not None:
                raise UsageError(f"{option} does not go with --image, which says what is where")
        with bitline.open(path=image, create=False) as drive:
            stored: dict[str, dict[str, BitVector]] = {}
            asked = parse(expression, lambda name: _as_operand(_stored(drive, image, name, stored)))
            result = _result(asked, expression, platform, bits, count, {})
    emit(result, as_json=as_json, wide=wide)


def _as_operand(vector: BitVector) -> BitExpression:
    """A vector as what its operators give."""
    return vector


def _placed(
    drive: Drive, named: list[str], groups: list[str] | None, inverse: str | None
) -> dict[str, BitVector]:
    """A vector for each name, where the options say."""
    members = [_listed("--group", group) for group in groups] if groups else [named]
    inverted = _listed("--inverse", inverse) if inverse is not None else []
    placed: dict[str, BitVector] = {}
    known = dict.fromkeys(name for group in members for name in group)
    for name in inverted:
        if name not in known:
            there = quoted(", ".join(known)) or "none"
            raise UsageError(f"--inverse {quoted(inverse)}: {name} is in no group; there are {there}")
    inverted_names = {*inverted}
    for number, group in enumerate(members):
        words, seen = quoted(",".join(group)), {*placed}
        for name in group:
            if name in seen:
                raise UsageError(f"--group {words}: {name} is named twice; a vector is in one place")
            seen.add(name)
        on_drive = drive.group(str(number))
        for inverse_too, run in itertools.groupby(group, inverted_names.__contains__):
            rows = [*run]
            written = on_drive.write([b"\0"] * len(rows), inverse=inverse_too, names=rows)
            placed.update(zip(rows, written, strict=True))
    for name in named:
        if name not in placed:
            raise UsageError(f"{name} is in no --group; add it to one, or give none to have all in one")
    return placed


def _listed(option: str, text: str) -> list[str]:
    found = [name.strip() for name in text.split(",")]
    for name in found:
        if names(name) != [name]:
            raise UsageError(
                f"{option} {quoted(text)}: {name!r} is no name; expected names with commas between, as a,b,c"
            )
    return found


def _stored(drive: Drive, image: Path, name: str, known: dict[str, dict[str, BitVector]]) -> BitVector:
    """The vector of an image that GROUP:VECTOR names; each group is listed once, and then `known`."""
    group, colon, vector = name.partition(":")
    if not colon:
        raise UsageError(f"{name}: a vector of an image is named by its group and its own name, as {name}:0")
    if group not in known:
        known[group] = {vector.name: vector for vector in drive.group(group).vectors()}
    stored = known[group]
    if vector in stored:
        return stored[vector]
    held = f"vectors {', '.join([*stored][:8])}" if stored else "no vectors"
    raise UsageError(f"{name}: {image} has {held} in group {group!r}")


def _stripe_bits(drive: Drive) -> int:
    """Bits of a page of every plane."""
    geometry = tomllib.loads(drive.config)["nand"]["geometry"]
    counts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "page_bytes")
    bits = 8
    for count in counts:
        bits *= geometry[count]
    return bits


def _result(
    asked: BitExpression,
    text: str,
    platform: str,
    bits: int | None,
    count: bool,
    words: dict[tuple[int, int], str],
) -> Result:
    known: dict[str, Platform] = {name: name for name in ALL}
    if platform not in known:
        raise UsageError(f"--platform {platform}: it must be one of {', '.join(ALL)}")
    told = asked._explanation(known[platform], bits, count, words)
    by = f"{PLATFORM_NAMES[platform]} on the drive {asked.drive._config.name}"
    return summary(told, f"{quoted(text)}: evaluated by {by}", count=count)
