"""How the explanation of an expression is shown: what it takes, and the steps of its plan."""

from typing import TYPE_CHECKING

from bitline.display.formats import Value, duration, energy
from bitline.display.result import Branch, Column, Fact, Result, Table, Tree
from bitline.explanation import ConstantPart, PagePart, VectorPart
from bitline.platforms import PLATFORM_NAMES
from bitline.records import plain
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from bitline.explanation import Estimate, Explanation, PlanPart, Step

#: Characters of a latch's contents that are shown on a line.
_SHOWN = 100
#: Times of an estimate, and whose they are.
_PARTS = {
    "array": "busiest die, sensing",
    "channel": "busiest channel",
    "accelerator": "accelerator",
    "link": "link to the host",
    "host": "host",
}


def summary(told: "Explanation", title: str | None = None, *, count: bool | None = None) -> Result:
    """A plan with its estimate; `count` says in JSON that the result is counted, where it was asked for."""
    estimate, chunks = told.estimate, counted(told.chunks, "page")
    name = PLATFORM_NAMES[told.platform]
    return Result(
        title or f"{quoted(told.expression)}: evaluated by {name}",
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
        {"times": _times(estimate), "energy": _energies(estimate)},
        f"The plan is the same for all {chunks}. A command's time is that of one die, its energy that of one "
        "plane.",
        {"root": Tree(_branch(told.root), plain(told.root))},
    )


def _platform(value: Value) -> str:
    return PLATFORM_NAMES.get(str(value), str(value))


def _bottleneck(value: Value) -> str:
    return _PARTS.get(str(value), str(value))


def _times(estimate: "Estimate") -> Table:
    columns = [Column("part", "Busy"), Column("time_ns", "Time", duration)]
    times = [(part, getattr(estimate, name).ns) for name, part in _PARTS.items()]
    return Table(columns, [{"part": part, "time_ns": time} for part, time in times if time])


def _energies(estimate: "Estimate") -> Table:
    columns = [
        Column("component", "Energy"),
        Column("cause", "spent on"),
        Column("energy_pj", "Amount", energy),
    ]
    return Table(columns, plain(estimate.energy_by))


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
