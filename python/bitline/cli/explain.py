"""`bitline explain`: what an expression would take, before anything is written or evaluated."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

import bitline
from bitline.bits import BITS_MAX, PLATFORMS, BitExpression, BitVector, Platform
from bitline.cli.options import Config, Json, Preset, Set, settings
from bitline.cli.output import Branch, Column, Fact, Result, Table, Tree, duration, emit, energy
from bitline.drive import Drive
from bitline.errors import UsageError
from bitline.formula import names, parse
from bitline.units import counted

#: Characters of a latch's contents that are shown on a line.
_SHOWN = 100
#: Times of an estimate, and whose they are.
_PARTS = {
    "array_ns": "busiest die, sensing",
    "channel_ns": "busiest channel",
    "accelerator_ns": "accelerator",
    "link_ns": "link to the host",
    "host_ns": "host",
}


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
            help="Length of the vectors, for time and energy [a page of every plane].",
            min=1,
            max=BITS_MAX,
        ),
    ] = None,
    platform: Annotated[
        str, typer.Option("--platform", help=f"Who evaluates it: {', '.join(PLATFORMS)}.")
    ] = "flash-cosmos",
    count: Annotated[bool, typer.Option("--count", help="The result is counted, not read.")] = False,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="FILE",
            help="Vectors of an image, named as GROUP:NUMBER; instead of --group and --inverse.",
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
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
            result = _result(asked, expression, platform, length, count, _words(vectors))
    else:
        drives = {"--preset": preset, "--config": config, "--set": set_}
        for option, value in {"--group": group, "--inverse": inverse, **drives}.items():
            if value is not None:
                raise UsageError(f"{option} does not go with --image, which says what is where")
        with bitline.open(path=image, create=False) as drive:
            asked = parse(expression, lambda name: _as_operand(_stored(drive, image, name)))
            result = _result(asked, expression, platform, bits, count, {})
    emit(result, as_json=as_json)


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
    known = [name for group in members for name in group]
    for name in inverted:
        if name not in known:
            raise UsageError(
                f"--inverse {inverse}: {name} is in no group; there are {', '.join(known) or 'none'}"
            )
    for number, group in enumerate(members):
        for name in group:
            if name in placed:
                raise UsageError(
                    f"--group {','.join(group)}: {name} is named twice; a vector is in one place"
                )
            (placed[name],) = drive.group(number).write([b"\0"], inverse=name in inverted, bits=8)
    for name in named:
        if name not in placed:
            raise UsageError(f"{name} is in no --group; add it to one, or give none to have all in one")
    return placed


def _listed(option: str, text: str) -> list[str]:
    found = [name.strip() for name in text.split(",")]
    for name in found:
        if names(name) != [name]:
            raise UsageError(
                f"{option} {text}: {name!r} is no name; expected names with commas between, as a,b,c"
            )
    return found


def _stored(drive: Drive, image: Path, name: str) -> BitVector:
    """The vector of an image that GROUP:NUMBER names."""
    group, colon, number = name.partition(":")
    if not colon:
        raise UsageError(f"{name}: a vector of an image is named by its group and number, as {name}:0")
    found = drive.group(group)
    stored = found.vectors()
    for vector in stored:
        if vector.name == number:
            return vector
    held = f"vectors {', '.join(vector.name for vector in stored[:8])}" if stored else "no vectors"
    raise UsageError(f"{name}: {image} has {held} in {found}")


def _stripe_bits(drive: Drive) -> int:
    """Bits of a page of every plane."""
    geometry = tomllib.loads(drive.config)["nand"]["geometry"]
    counts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "page_bytes")
    bits = 8
    for count in counts:
        bits *= geometry[count]
    return bits


def _words(vectors: dict[str, BitVector]) -> dict[tuple[int, int], str]:
    """What the drive calls the vectors, and what the user does."""
    return {vector._id: name for name, vector in vectors.items()}


def _result(
    asked: BitExpression,
    text: str,
    platform: str,
    bits: int | None,
    count: bool,
    words: dict[tuple[int, int], str],
) -> Result:
    known: dict[str, Platform] = {name: name for name in PLATFORMS}
    if platform not in known:
        raise UsageError(f"--platform {platform}: it must be one of {', '.join(PLATFORMS)}")
    # The user's names of vectors instead of the drive's.
    told = asked._explanation(known[platform], bits, count, {**asked._node.labels(), **words})
    estimate = told["estimate"]
    chunks = counted(told["chunks"], "page")
    return Result(
        f"{text}, by {platform} on {asked.drive._config.name}",
        {
            "expression": Fact(None, told["expression"]),
            "platform": Fact(None, told["platform"]),
            "bits": Fact("Length of the vectors, in bits", told["bits"]),
            "chunks": Fact("  pages", told["chunks"]),
            "count": Fact(None, count),
            "senses": Fact("Senses, for each page", told["senses"]),
            "page_transfers": Fact("Pages over the channels, for each page", told["page_transfers"]),
            "controller_pages": Fact("Pages the accelerator takes in, for each", told["controller_pages"]),
            "time_ns": Fact("Time (estimate)", estimate["time_ns"], duration),
            "bound": Fact("  longest at work", estimate["bound"]),
            "energy_pj": Fact("Energy (estimate)", estimate["energy_pj"], energy),
        },
        {"times": _times(estimate), "energy": _energies(estimate)},
        f"The plan is the same for all {chunks}. A command's time is of one die, its energy of one plane.",
        {"root": Tree(_branch(told["root"]), told["root"])},
    )


def _times(estimate: dict[str, Any]) -> Table:
    columns = [Column("part", "Busy"), Column("time_ns", "Time", duration)]
    rows = [{"part": part, "time_ns": estimate[key]} for key, part in _PARTS.items() if estimate[key]]
    return Table(columns, rows)


def _energies(estimate: dict[str, Any]) -> Table:
    columns = [Column("component", "Energy"), Column("cause", "for"), Column("energy_pj", "Amount", energy)]
    return Table(columns, estimate["energy"])


def _branch(part: dict[str, Any]) -> Branch:
    match part["kind"]:
        case "constant":
            return Branch(f"all {int(part['value'])}, without touching the array")
        case "vector":
            return Branch(f"read {part['vector']}")
        case "page":
            return _page(part)
    operator = part["operator"].upper()
    return Branch(
        f"{operator} of {counted(len(part['parts']), 'part')}", [_branch(below) for below in part["parts"]]
    )


def _page(part: dict[str, Any]) -> Branch:
    if not part["steps"]:
        return Branch(f"page {part['program']} again")
    senses = sum(step["command"] == "sense" for step in part["steps"])
    return Branch(
        f"page {part['program']}: {counted(senses, 'sense')}",
        [
            Branch(
                f"{step['action']}    {_cost(step)}",
                [Branch(f"S: {_short(step['s'])}"), Branch(f"C: {_short(step['c'])}")],
            )
            for step in part["steps"]
        ],
    )


def _cost(step: dict[str, Any]) -> str:
    cost = f"{duration(step['time_ns'])}, {energy(step['energy_pj'])}"
    if step["command"] == "xor":
        return cost
    return f"{counted(step['wordlines'], 'wordline')} of {counted(step['blocks'], 'block')}, {cost}"


def _short(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} ... {text[-half:]}"
