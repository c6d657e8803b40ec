"""Section 8.3: the bandwidth of sequential writes by programming mode."""

import bitline
from bitline.repro.flash_cosmos.ratios import Measured
from bitline.repro.flash_cosmos.runs import PRESET
from bitline.workload import Closed, Flow

#: Modes, as `ftl.mode` names them.
MODES = ("slc", "esp", "mlc", "tlc")

#: Blocks of 4 KiB of a request: 256 KiB, as large sequential writes are.
_BLOCKS = 64
#: Requests at the same time: enough to keep every plane at work.
_DEPTH = 128


def write_bandwidth(mode: str, requests: int) -> float:
    """Bandwidth of a blank drive that programs all data in one mode, in GB (10^9) per second."""
    with bitline.open(PRESET, set={"data.storage": "none", "ftl.mode": mode}) as drive:
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


def bandwidths(requests: int = 32_000) -> dict[str, Measured]:
    """All modes' by key; `requests` writes of 256 KiB each."""
    return {f"write.{mode}": Measured(write_bandwidth(mode, requests)) for mode in MODES}
