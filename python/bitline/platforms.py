"""Who evaluates an expression."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Platform: TypeAlias = Literal["fastest", "thriftiest", "flash-cosmos", "parabit", "in-storage", "host"]
"""Who evaluates an expression.

- `"fastest"`: whoever of those below is estimated to take the least time on a drive that does nothing else,
  or what mixture of them inside the drive.
- `"thriftiest"`: the same of what is estimated to spend the least energy, the host's included.
- `"flash-cosmos"`: the array senses many operands at once (multi-wordline sensing), with as few senses as can
  be found.
- `"parabit"`: the array senses one operand after another into its latches.
- `"in-storage"`: the controller's accelerator combines operands read over the channels.
- `"host"`: the host reads every operand over PCIe and combines them.
"""

#: Those that evaluate in one way, from the host inwards.
PLATFORMS: tuple[Platform, ...] = ("host", "in-storage", "parabit", "flash-cosmos")

#: All of them, those that leave the choice to the drive and its host first.
ALL: tuple[Platform, ...] = ("fastest", "thriftiest", *PLATFORMS)

#: As they are written for people.
PLATFORM_NAMES: Mapping[str, str] = {
    "fastest": "Whoever is fastest",
    "thriftiest": "Whoever spends least",
    "host": "Host",
    "in-storage": "In-storage accelerator",
    "parabit": "ParaBit",
    "flash-cosmos": "Flash-Cosmos",
}


def within_sentence(platform: str) -> str:
    """What it is called in the middle of a sentence."""
    name = PLATFORM_NAMES[platform]
    match platform:
        case "fastest" | "thriftiest":
            return name[0].lower() + name[1:]
        case "host" | "in-storage":
            return f"the {name[0].lower()}{name[1:]}"
    return name
