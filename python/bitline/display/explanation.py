"""How the explanation of an expression is shown: what it takes, and the steps of its plan."""

from typing import TYPE_CHECKING

from bitline.display.formats import Value, duration, energy
from bitline.display.result import Branch, Column, Fact, Result, Table, Tree
from bitline.explanation import ConstantPart, PagePart, VectorPart
from bitline.platforms import PLATFORM_NAMES, within_sentence
from bitline.records import plain
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bitline.explanation import Estimate, Explanation, PlanPart, Step

#: Characters of a latch's contents that are shown on a line.
_SHOWN = 100
#: Times of an estimate, and whose they are.
_PARTS = {
    "array": "busiest die, sensing",
    "channel": "busiest channel",
    "accelerator": "accelerator",
    "link": "link to the host",
    "cores": "controller cores",
    "dram": "DRAM of the drive",
    "host": "host",
}


def summary(
    told: "Explanation",
    title: str | None = None,
    *,
    count: bool | None = None,
    compared: "Sequence[Explanation]" = (),
    senses: bool = True,
) -> Result:
    """A plan with its estimate, beside those of other platforms.

    `count` says in JSON that the result is counted, where it was asked for. People see the plan, and where
    time and energy go, if `senses` are to be shown.
    """
    estimate, chunks = told.estimate, counted(told.chunks, "page")
    tables = {"platforms": _comparison(told, compared)} if compared else {}
    note = (
        f"The plan is the same for all {chunks}. A command's time is that of one die, its energy that of one "
        "plane."
        if senses
        else "--senses shows the plan, command by command, and where time and energy go."
    )
    return Result(
        title or f"{quoted(told.expression)}: evaluated by {within_sentence(told.platform)}",
        {
            "expression": Fact(None, told.expression),
            "platform": Fact(None, told.platform),
            "chosen": Fact("Evaluated by", told.chosen, _platform),
            "bits": Fact("Bits of each vector", told.bits),
            "chunks": Fact("  in pages", told.chunks),
            **({} if count is None else {"count": Fact(None, count)}),
            "senses": Fact("Senses for each page", told.senses),
            "page_transfers": Fact("Pages over the channels for each page", told.page_transfers),
            "controller_pages": Fact("Pages to the accelerator for each page", told.controller_pages),
            "time_ns": Fact("Time (estimate)", estimate.time.ns, duration),
            "bottleneck": Fact("  longest at work", estimate.bottleneck, _bottleneck),
            "energy_pj": Fact("Energy (estimate)", estimate.energy.pj, energy),
        },
        {**tables, "times": _times(estimate, shown=senses), "energy": _energies(estimate, shown=senses)},
        note,
        {"root": Tree(_branch(told.root) if senses else None, plain(told.root))},
    )


def _comparison(told: "Explanation", compared: "Sequence[Explanation]") -> Table:
    """What each platform would take, after what was asked for: why that is chosen."""
    columns = [
        Column("platform", "Platform", _platform),
        Column("senses", "Senses"),
        Column("page_transfers", "Pages out", rank=1),
        Column("time_ns", "Time", duration),
        Column("bottleneck", "Longest at work", _bottleneck),
        Column("energy_pj", "Energy", energy),
    ]
    return Table(
        columns,
        [
            {
                "platform": each.platform,
                "senses": each.senses,
                "page_transfers": each.page_transfers,
                "time_ns": each.estimate.time.ns,
                "bottleneck": each.estimate.bottleneck,
                "energy_pj": each.estimate.energy.pj,
            }
            for each in [told, *(other for other in compared if other.platform != told.platform)]
        ],
    )


def _platform(value: Value) -> str:
    return PLATFORM_NAMES.get(str(value), str(value))


def _bottleneck(value: Value) -> str:
    return _PARTS.get(str(value), str(value))


def _times(estimate: "Estimate", *, shown: bool) -> Table:
    columns = [Column("part", "Busy"), Column("time_ns", "Time", duration)]
    times = [(part, getattr(estimate, name).ns) for name, part in _PARTS.items()]
    rows = [{"part": part, "time_ns": time} for part, time in times if time]
    return Table(columns if shown else _unseen(columns), rows)


def _energies(estimate: "Estimate", *, shown: bool) -> Table:
    columns = [
        Column("component", "Energy"),
        Column("cause", "spent on"),
        Column("energy_pj", "Amount", energy),
    ]
    return Table(columns if shown else _unseen(columns), plain(estimate.energy_by))


def _unseen(columns: "Sequence[Column]") -> "list[Column]":
    """The same, in JSON only."""
    return [Column(column.key, None) for column in columns]


def _branch(part: "PlanPart") -> Branch:
    match part:
        case ConstantPart():
            return Branch(f"all {int(part.value)}, without touching the array")
        case VectorPart():
            return Branch(f"read {part.vector}")
        case PagePart():
            return _page(part)
    operator = part.operator.upper()
    return Branch(
        f"{operator} of {counted(len(part.parts), 'part')}", [_branch(below) for below in part.parts]
    )


def _page(part: PagePart) -> Branch:
    if not part.steps:
        return Branch(f"page {part.computation} again")
    senses = sum(step.command == "sense" for step in part.steps)
    return Branch(
        f"page {part.computation}: {counted(senses, 'sense')}",
        [
            Branch(
                f"{step.action}    {_cost(step)}",
                [Branch(f"S: {_short(step.s)}"), Branch(f"C: {_short(step.c)}")],
            )
            for step in part.steps
        ],
    )


def _cost(step: "Step") -> str:
    cost = f"{step.time}, {step.energy}"
    if step.command == "xor":
        return cost
    return f"{counted(step.wordlines, 'wordline')} of {counted(step.blocks, 'block')}, {cost}"


def _short(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} ... {text[-half:]}"
