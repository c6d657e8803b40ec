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
from bitline.cli.stored import StoredVectors, as_operand, refuse_with_image
from bitline.display.explanation import summary
from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.formula import names, parse, written
from bitline.platforms import ALL, PLATFORMS, Platform, within_sentence
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
    senses: Annotated[
        bool, typer.Option("--senses", help="Show the plan, command by command, and what each part takes.")
    ] = False,
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
    """Show how an expression would be evaluated, and what that would take on every platform of the drive.

    With --senses its plan is shown: senses, latches, the controller's work, and where time and energy go.
    Nothing is carried out. Without an image, names are vectors of a blank drive, placed as the options say.
    """
    if image is None:
        settled = {"data.storage": "none", **settings(set_)}
        with bitline.open(preset, config=config, set=settled) as drive:
            vectors = _placed(drive, names(expression), group, inverse)
            asked = parse(expression, lambda name: as_operand(vectors[name]))
            length = bits or _stripe_bits(drive)
            if length > drive.capacity_bytes * 8:
                raise UsageError(f"--bits {length}: the whole drive holds {drive.capacity_bytes * 8} bits")
            result = _result(
                asked,
                expression,
                platform,
                length,
                count,
                {vector._id: written(name) for name, vector in vectors.items()},
                senses,
            )
    else:
        drives = {"--preset": preset, "--config": config, "--set": set_}
        refuse_with_image({"--group": group, "--inverse": inverse, **drives})
        with bitline.open(path=image, create=False, read_only=True) as drive:
            asked = parse(expression, StoredVectors(drive, image))
            words = {vector: written(label) for vector, label in asked._node.labels().items()}
            result = _result(asked, expression, platform, bits, count, words, senses)
    emit(result, as_json=as_json, wide=wide)


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
    senses: bool,
) -> Result:
    known: dict[str, Platform] = {name: name for name in ALL}
    if platform not in known:
        raise UsageError(f"--platform {platform}: it must be one of {', '.join(ALL)}")
    told = asked._explanation(known[platform], bits, count, words)
    compared = [asked._explanation(other, bits, count, words) for other in PLATFORMS]
    by = f"{within_sentence(platform)} on the drive {asked.drive._config.name}"
    return summary(told, f"{quoted(text)}: evaluated by {by}", count=count, compared=compared, senses=senses)
