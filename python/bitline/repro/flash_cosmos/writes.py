"""Section 8.3: what ESP costs: bandwidth of sequential writes, time of a program, and capacity."""

import bitline
from bitline.opening import Setting
from bitline.repro.comparison import Measured
from bitline.repro.flash_cosmos.runs import PRESET, UNCHANGED, Changes
from bitline.workload import Closed, Flow

#: Modes, as `ftl.mode` names them.
MODES = ("slc", "esp", "mlc", "tlc")
#: The drive: what it holds does not matter.
SETTINGS: dict[str, Setting] = {"data.storage": "none"}

#: Blocks of 4 KiB of a request: 256 KiB, as large sequential writes are.
_BLOCKS = 64
#: Requests at the same time: enough to keep every plane at work.
_DEPTH = 128
_PAGE = 16384


def write_bandwidth(mode: str, requests: int, changed: Changes = UNCHANGED) -> float:
    """Bandwidth of a blank drive that programs all data in one mode, in GB (10^9) per second."""
    with bitline.open(PRESET, set={**SETTINGS, "ftl.mode": mode, **changed}) as drive:
        flow = Flow(
            read_fraction=0.0,
            blocks=_BLOCKS,
            requests=requests,
            arrival=Closed(depth=_DEPTH),
            pattern="sequential",
            range_blocks=requests * _BLOCKS,
            prefill=False,
        )
        report = drive.measure(flow)
    return int(report.written_bytes) / report.elapsed.ns


def program_time_ns(mode: str, changed: Changes = UNCHANGED) -> float:
    """How long the array of a die programs one page."""
    with bitline.open(PRESET, set={**SETTINGS, "ftl.mode": mode, **changed}) as drive:
        before = drive.statistics
        drive.write(0, bytes(_PAGE))
        drive.flush()
        spent = drive.statistics.since(before)
    return sum(spent.die_utilizations) * spent.elapsed.ns / spent.flash.page_programs


def capacity_bytes(mode: str, changed: Changes = UNCHANGED) -> int:
    """Capacity of a drive that programs all data in one mode, none kept for computing."""
    with bitline.open(
        PRESET, set={**SETTINGS, "ftl.mode": mode, **changed, "bits.compute_blocks_percent": 0}
    ) as drive:
        return drive.capacity_bytes


def overheads(requests: int = 32_000, changed: Changes = UNCHANGED) -> dict[str, Measured]:
    """Everything that section 8.3 compares, by key; `requests` writes of 256 KiB each for a bandwidth."""
    found = {mode: write_bandwidth(mode, requests, changed) for mode in MODES}
    numbers = {
        **found,
        **{f"esp_over_{mode}": found["esp"] / found[mode] for mode in MODES if mode != "esp"},
        "program_esp_over_slc": program_time_ns("esp", changed) / program_time_ns("slc", changed),
        "capacity_mlc_over_esp": capacity_bytes("mlc", changed) / capacity_bytes("esp", changed),
    }
    return {f"write.{key}": Measured(value) for key, value in numbers.items()}
