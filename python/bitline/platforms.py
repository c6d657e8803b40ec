"""Who evaluates an expression."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Platform: TypeAlias = Literal["flash-cosmos", "parabit", "in-storage", "host"]
"""Who evaluates an expression.

- `"flash-cosmos"`: the array senses many operands at once (multi-wordline sensing).
- `"parabit"`: the array senses one operand after another into its latches.
- `"in-storage"`: the controller's accelerator combines operands read over the channels.
- `"host"`: the host reads every operand over PCIe and combines them.
"""

#: All of them, from the host inwards.
PLATFORMS: tuple[Platform, ...] = ("host", "in-storage", "parabit", "flash-cosmos")

#: As they are written for people.
PLATFORM_NAMES: Mapping[str, str] = {
    "host": "Host",
    "in-storage": "In-storage accelerator",
    "parabit": "ParaBit",
    "flash-cosmos": "Flash-Cosmos",
}
