"""Cells of the flash: how many bits they lose, and what senses of many of them take.

```python
from bitline import cells

worst = cells.rber("esp", effort=1.6, pe_cycles=10_000, retention_days=365, randomized=False)
```

The model behind it, and what it was held against, is in docs/errors.md.
"""

import math
import tomllib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bitline import _bitline
from bitline.errors import UsageError
from bitline.opening import configuration
from bitline.units import quoted

#: The most operands for which wrong results are told.
_OPERANDS_MAX = 10**12

Mode: TypeAlias = Literal["slc", "esp", "mlc", "tlc", "qlc"]
"""How cells are programmed; `"esp"` is SLC with additional programming steps."""

Block: TypeAlias = Literal["best", "median", "worst", "average"]
"""Which of many blocks: the best or worst of some thousands, one as good as most, or the mean over all."""


def rber(
    mode: Mode,
    *,
    effort: float | None = None,
    pe_cycles: float = 0,
    retention_days: float = 0,
    temperature_celsius: float = 30.0,
    reads: float = 0,
    randomized: bool = True,
    block: Block = "average",
    config: _bitline.Config | None = None,
) -> float:
    """The raw bit error rate: the share of bits that read wrong, before any correction.

    Args:
        mode: How the cells were programmed.
        effort: Time of the program in SLC programs, of `"esp"` alone (Flash-Cosmos Figure 11): 1.0 to 10;
            that of the drive if not given, which is 2.0 by default. Beyond 2.0 nothing is gained.
        pe_cycles: Program and erase cycles before that.
        retention_days: Days since.
        temperature_celsius: Temperature during these (Arrhenius).
        reads: Reads of the block since.
        randomized: Whether the data looks random.
        block: Which block.
        config: The drive; the default preset's if none. See `bitline.opening.configuration`.

    Returns:
        From 0 to 0.5.

    Raises:
        UsageError: A mode or block that there is not, a number that makes no sense, or an effort of another
            mode.
    """
    native = config or configuration()
    if effort is None:
        effort = _effort(native) if mode == "esp" else 1.0
    elif mode != "esp":
        raise UsageError(f"effort is {effort}: it belongs to mode esp, not to {mode}")
    for name, value, least, most in (
        ("effort", effort, 1.0, 10.0),
        ("pe_cycles", pe_cycles, 0.0, 1e7),
        ("retention_days", retention_days, 0.0, 365_250.0),
        ("temperature_celsius", temperature_celsius, -50.0, 150.0),
        ("reads", reads, 0.0, 1e12),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} is {quoted(value)}; it must be from {least:g} to {most:g}")
    hours = 24 * retention_days
    cells = (mode, effort, pe_cycles, hours, temperature_celsius, reads, randomized, block)
    return _bitline.raw_bit_error_rate(native, *cells)


def _effort(config: _bitline.Config) -> float:
    """Time of an ESP program of a drive in its SLC programs; none shorter counts."""
    latency = tomllib.loads(config.to_toml())["nand"]["latency"]
    return max(float(latency["program_esp_ns"] / latency["program_slc_ns"]), 1.0)


def sense_time(*, wordlines: int = 1, blocks: int = 1, config: _bitline.Config | None = None) -> float:
    """How long a sense takes, in times of a page read (tMWS / tR; Flash-Cosmos Figures 12 and 13).

    Args:
        wordlines: Wordlines selected in each string, from 1.
        blocks: Blocks selected, from 1; more than a command can address are calculated all the same.
        config: The drive; the default preset's if none.

    Raises:
        UsageError: A number below 1.
    """
    for name, value in (("wordlines", wordlines), ("blocks", blocks)):
        if not 1 <= value <= 1_000_000:
            raise UsageError(f"{name} is {quoted(value)}; it must be from 1 to 1,000,000")
    return _bitline.sense_time(config or configuration(), blocks, wordlines)


def sense_power(*, blocks: int, config: _bitline.Config | None = None) -> float:
    """Power of a sense in so many blocks, in times of a page read's (Flash-Cosmos Figure 14).

    Raises:
        UsageError: More blocks than can be sensed at once.
    """
    if not 1 <= blocks <= 1_000_000:
        raise UsageError(f"blocks is {quoted(blocks)}; it must be from 1 to 1,000,000")
    return _bitline.sense_power(config or configuration(), blocks)


@dataclass(frozen=True)
class LookupErrors:
    """How lookups of names fare, each by its own key (ANVIL Figure 9)."""

    raise_steps: int
    """Steps of `nand.mws.raise_step_mv` by which firmware raised the read voltage of searches."""
    is_enough: bool
    """Whether that is enough for no name to be missed, as far as the firmware's model of the cells tells."""
    names: int
    """Names whose weak cells were looked at; a part of them where very many cells read wrong."""
    misses: int
    """Of these, names that their own key did not find."""
    false_matches: int
    """Times that one of them was found by the key of another."""
    expected_misses: float
    """Share of names that are expected to be missed, over blocks of all qualities."""
    expected_false_matches: float
    """False matches expected for each name."""


def lookup_errors(
    *,
    enhanced: bool,
    tuned: bool,
    pe_cycles: int = 0,
    retention_days: float = 0,
    reads: int = 0,
    names: int = 33_000_000,
    name_bytes: int = 12,
    seed: int = 0,
    config: _bitline.Config | None = None,
) -> LookupErrors:
    """Looks up names in cells of the drive, each once: by the cells that are weak, and by what is expected.

    Names are numbered from 0, and a name is its number. So keys that differ from it in one bit are looked up,
    too, one for each bit that numbers differ in, and a name matches one of them falsely if the high cell that
    tells them apart reads as low. Deterministic; some seconds for 33 million names.

    Args:
        enhanced: Whether names are programmed as ESP, or as plain SLC.
        tuned: Whether firmware raises the read voltage of searches so that no name is missed (false-negative
            voltage tuning, ANVIL 5.1).
        pe_cycles: Program and erase cycles before that.
        retention_days: Days since, at 30 degrees.
        reads: Reads of each block since.
        names: How many.
        name_bytes: Bytes of each.
        seed: Which cells are weak.
        config: The drive; the default preset's if none.

    Raises:
        UsageError: A number that makes no sense.
    """
    for name, value, least, most in (
        ("pe_cycles", pe_cycles, 0, 10**7),
        ("retention_days", retention_days, 0, 365_250),
        ("reads", reads, 0, 2**31),
        ("names", names, 1, 10**10),
        ("name_bytes", name_bytes, 1, 1024),
        ("seed", seed, 0, 2**64 - 1),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} is {quoted(value)}; it must be from {least:,} to {most:,}")
    cells = (pe_cycles, round(24 * retention_days), reads)
    return LookupErrors(
        *_bitline.name_lookups(config or configuration(), enhanced, tuned, *cells, names, name_bytes, seed)
    )


def wrong_results(bit_error_rate: float, operands: int) -> float:
    """The share of result bits that are wrong when so many operand bits meet in each.

    That at least one of the operands' bits reads wrong, which an AND or OR shows unless others hide it: an
    upper bound.

    Raises:
        UsageError: A rate that is none, or no operands.
    """
    if not 0 <= bit_error_rate <= 1 or not 1 <= operands <= _OPERANDS_MAX:
        raise UsageError(
            f"an error rate of {quoted(bit_error_rate)} over {quoted(operands)} operands makes no sense; "
            f"a rate is 0 to 1, operands 1 to {_OPERANDS_MAX}"
        )
    return -math.expm1(operands * math.log1p(-bit_error_rate)) if bit_error_rate < 1 else 1.0
