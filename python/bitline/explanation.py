"""How an expression would be evaluated, and what that would take: what `BitExpression.explanation` gives."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from bitline.display import Displayed, Result
from bitline.platforms import Platform, within_sentence
from bitline.records import plain
from bitline.units import Duration, Energy, counted


@dataclass(frozen=True)
class Step:
    """One command to a plane, and what the latches hold after it."""

    command: Literal["sense", "xor"]
    """Which: a sense of wordlines, or the XOR of the latches."""
    action: str
    """What happens in the latches."""
    blocks: int
    """Blocks that the sense selects."""
    wordlines: int
    """Wordlines that the sense selects, in all blocks."""
    s: str
    """What the sensing latch holds afterwards."""
    c: str
    """What the cache latch holds afterwards."""
    time: Duration
    """What it takes in the die."""
    energy: Energy
    """What it spends in a plane."""


@dataclass(frozen=True)
class ConstantPart:
    """All zeros or all ones, without touching the array."""

    kind: ClassVar[Literal["constant"]] = "constant"
    value: bool
    """Which."""


@dataclass(frozen=True)
class PagePart:
    """A page that the array computes."""

    kind: ClassVar[Literal["page"]] = "page"
    computation: int
    """Number of the computation; a page in several places is computed once."""
    steps: tuple[Step, ...]
    """The commands; none where the page is named again."""


@dataclass(frozen=True)
class VectorPart:
    """A vector that the host reads."""

    kind: ClassVar[Literal["vector"]] = "vector"
    vector: str
    """Its name, `GROUP:VECTOR`."""


@dataclass(frozen=True)
class CombinedPart:
    """The inverse of the one part, or the AND, OR or XOR of several."""

    kind: ClassVar[Literal["combined"]] = "combined"
    operator: Literal["not", "and", "or", "xor"]
    """Which."""
    parts: "tuple[PlanPart, ...]"
    """The operands."""


PlanPart: TypeAlias = ConstantPart | PagePart | VectorPart | CombinedPart
"""A part of a plan: a page from the array, or what is made of others. `kind` says which."""


@dataclass(frozen=True)
class EstimatedEnergy:
    """What one part would spend on one thing."""

    component: str
    """The part, such as `"nand"`."""
    cause: str
    """On what, such as `"sense"`."""
    energy: Energy
    """How much."""


@dataclass(frozen=True)
class Estimate:
    """What an evaluation or a lookup would take, on a drive that does nothing else."""

    time: Duration
    """From the host's doorbell to its completion."""
    array: Duration
    """How long the busiest die senses."""
    channel: Duration
    """How long the busiest channel is occupied."""
    accelerator: Duration
    """How long the accelerator is at work."""
    link: Duration
    """How long the link to the host is occupied."""
    cores: Duration
    """How long the drive's cores work, all of them together."""
    dram: Duration
    """How long the drive's DRAM moves data."""
    host: Duration
    """How long the host computes."""
    bottleneck: Literal["array", "channel", "accelerator", "link", "cores", "dram", "host"]
    """What is waited for."""
    energy: Energy
    """Spent by everything."""
    energy_by: tuple[EstimatedEnergy, ...] = field(metadata={"key": "energy"})
    """The same by component and cause."""


@dataclass(frozen=True, repr=False)
class Explanation(Displayed):
    """A plan and its estimate."""

    platform: Platform
    """Who was asked to evaluate."""
    chosen: Platform
    """Who evaluates: the platform, or what was chosen for one that leaves the choice."""
    expression: str
    """The expression, vectors as `GROUP:VECTOR`."""
    bits: int
    """Length of the vectors, in bits."""
    chunks: int
    """Pages a vector takes; all are evaluated alike."""
    senses: int
    """Senses for each chunk."""
    page_transfers: int
    """Pages that leave the array for each chunk."""
    controller_pages: int
    """Operand pages that the controller's accelerator takes in for each chunk."""
    root: PlanPart
    """How the result comes about."""
    estimate: Estimate
    """What it takes."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, each with its unit in its name; the same names as in the Rust crate."""
        told: dict[str, Any] = plain(self)
        return told

    def _shown(self) -> Result:
        from bitline.display.explanation import summary

        return summary(self)

    def _line(self) -> str:
        senses = counted(self.senses, "sense")
        spent = f"{self.estimate.time}, {self.estimate.energy}"
        return f"{self.expression} by {within_sentence(self.platform)}: {senses} a page, {spent}"

    def _rows(self) -> list[dict[str, Any]]:
        from bitline.display.arrow import energies, numbers

        told = self.to_dict()
        estimate = told["estimate"]
        head = {"expression": self.expression, "platform": self.platform}
        return [{**head, **dict(numbers({**told, "root": {}})), **energies(estimate["energy"])}]
