"""What the paper's workloads are made of, where it does not say: bytes of an item, operations of a feature.

TH-iSSD names three kinds of data (4.1.2: remote sensing, object detection or medical imaging, natural
language) and the size of the whole, 350 GB. The rest is stated here, each number with a public source.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bitline.cc import compiled

#: Bytes of all items (4.1.2).
DATASET_BYTES = 350_000_000_000
#: Queries, or frames, that are handed over together.
BATCHES = (1, 2, 4, 8, 16)
#: Items that a query gives.
KEPT = 10
#: Bytes of such an item's place in what `scan.c` emits.
_HIT = struct.Struct("<iI")
#: Rows and columns of a layer's matrix.
CHANNELS = 768


@dataclass(frozen=True)
class Workload:
    """Items of one kind, and the network that makes features of them."""

    name: str
    """As the paper calls it."""
    item_bytes: int
    """Bytes of an item."""
    item_source: str
    """Where that is from."""
    macs: float
    """Multiplications and additions for a feature."""
    parameters: float
    """Weights of the network, a byte each."""
    network: str
    """The network, and where its numbers are from."""
    feature_bytes: int = 128
    """Bytes of a feature: 128 bits, each an int8 of +1 or -1 (deep hashing; the paper's [37], CVPRW 2015)."""

    @property
    def items(self) -> int:
        """How many there are."""
        return DATASET_BYTES // self.item_bytes

    @property
    def index_bytes(self) -> int:
        """Bytes of the features of all."""
        return self.items * self.feature_bytes

    @property
    def layers(self) -> int:
        """Layers of a stack with as many weights."""
        return round(self.parameters / CHANNELS**2)

    @property
    def vectors(self) -> int:
        """Vectors that each layer multiplies, so that there are as many operations."""
        return round(self.macs / (self.layers * CHANNELS**2))

    @property
    def params(self) -> bytes:
        """What `network.c` is told."""
        return struct.pack("<3I", self.layers, self.vectors, self.feature_bytes)


#: By the names that files and options use.
WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        "remote-sensing": Workload(
            name="Remote sensing",
            item_bytes=256 * 256 * 3,
            item_source="NWPU-RESISC45 (Cheng et al., Proc. IEEE 2017): scenes of 256 x 256, RGB",
            macs=3.8e9,
            parameters=25.6e6,
            network="ResNet-50: 3.8e9 multiply-adds (He et al., CVPR 2016, Table 1), 25.6 M parameters",
        ),
        "object-detection": Workload(
            name="Object detection",
            item_bytes=300 * 300 * 3,
            item_source="MLPerf Inference (ISCA 2020), Table I: COCO, 300 x 300, RGB",
            macs=1.235e9,
            parameters=6.91e6,
            network="SSD-MobileNet-v1: 2.47 GOPs an input, 6.91 M parameters (MLPerf Inference, Table I)",
        ),
        "natural-language": Workload(
            name="Natural language",
            item_bytes=3_800,
            item_source="English Wikipedia (its page on its own size, 2023): 4.3e9 words, 6.7e6 articles",
            macs=11.25e9,
            parameters=85e6,
            network="BERT-base, 128 tokens: 22.5e9 operations (TinyBERT, EMNLP 2020, Table 1), 12 x 7.1 M",
        ),
    }
)


def module(name: str) -> bytes:
    """A task of this folder (`network`, `quarter`, `scan`), compiled.

    Raises:
        UsageError: There is no C compiler; the message says what to install.
    """
    return compiled(Path(__file__).with_name(f"{name}.c"))


def scan_params(queries: int, feature_bytes: int, features: bytes = b"") -> bytes:
    """What `scan.c` is told; features of zeroes, where none are given."""
    features = features or bytes(queries * feature_bytes)
    return struct.pack("<2I", queries, feature_bytes) + features


def hits(emitted: bytes, queries: int) -> list[list[tuple[int, int]]]:
    """The largest products of each query and the numbers of their items, of what the elements emitted.

    Largest first; of equal ones that with the lower number.
    """
    each = queries * KEPT * _HIT.size
    found: list[list[tuple[int, int]]] = [[] for _ in range(queries)]
    for begin in range(0, len(emitted), each):
        pairs = list(_HIT.iter_unpack(emitted[begin : begin + each]))
        for query in range(queries):
            found[query] += pairs[query * KEPT : (query + 1) * KEPT]
    kept = [[pair for pair in one if pair[0] > -(2**31)] for one in found]
    return [sorted(one, key=lambda pair: (-pair[0], pair[1]))[:KEPT] for one in kept]
