"""Small networks of int8 numbers, for tasks that make features and labels of items inside a drive.

```python
import numpy as np

from bitline.networks import trained

rng = np.random.default_rng(1)
items = rng.integers(0, 17, (200, 16), dtype=np.int8)
labels = (items[:, :8].sum(axis=1) > items[:, 8:].sum(axis=1)).astype(int)
network = trained(items, labels, sizes=(8,))
assert (network.labels(items) == labels).mean() > 0.9
```

A network is trained here, in NumPy, and sent to tasks as their parameters (`params`); `networks/network.h`
is what a task in C takes it from. What it makes of items has the same bits here, on an accelerator and on a
core.
"""

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitline.errors import UsageError

#: Where `network.h` is.
FOLDER = Path(__file__).parent
#: Rounds of training, and how far each goes.
_ROUNDS, _RATE, _MOMENTUM = 400, 0.1, 0.9
#: Numbers of int8.
_MOST = 127

Int8 = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights times numbers, plus a bias, shifted to the right; cut off at 0 or not."""

    weights: Int8
    """Of shape [rows, columns]."""
    bias: NDArray[np.int32]
    """Of shape [rows]."""
    shift: int
    """Bits by which sums are shifted, rounded to nearest with halves to even, and saturated to int8."""
    cut: bool
    """Whether what is below 0 becomes 0 (ReLU)."""

    def apply(self, items: Int8) -> Int8:
        """What it makes of items, of shape [items, columns]: [items, rows]."""
        sums = items.astype(np.int64) @ self.weights.T.astype(np.int64) + self.bias
        # Exact: the sums are those of 32 bits, and a power of two divides them.
        shifted = np.rint(sums / 2.0**self.shift)
        numbers = np.clip(shifted, -_MOST - 1, _MOST).astype(np.int8)
        return np.maximum(numbers, 0) if self.cut else numbers

    def encode(self) -> bytes:
        """As `network.h` has it."""
        rows, columns = self.weights.shape
        weights = self.weights.astype(np.int8).tobytes()
        padding = bytes(-len(weights) % 4)
        head = struct.pack("<4I", rows, columns, self.shift, self.cut)
        return head + weights + padding + self.bias.astype("<i4").tobytes()


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, one after the other."""

    layers: tuple[Layer, ...]
    """At most eight."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.layers) <= 8:
            raise UsageError(f"a network of {len(self.layers)} layers; it has 1 to 8")
        for before, after in zip(self.layers, self.layers[1:], strict=False):
            if after.weights.shape[1] != before.weights.shape[0]:
                raise UsageError(
                    f"a layer of {after.weights.shape[1]} columns after one of {before.weights.shape[0]} rows"
                )

    @property
    def input_size(self) -> int:
        """Numbers, and bytes, of an item."""
        return int(self.layers[0].weights.shape[1])

    @property
    def output_size(self) -> int:
        """Numbers, and bytes, of what it makes of an item."""
        return int(self.layers[-1].weights.shape[0])

    @property
    def params(self) -> bytes:
        """Itself, as tasks take it."""
        return struct.pack("<I", len(self.layers)) + b"".join(layer.encode() for layer in self.layers)

    def apply(self, items: Int8) -> Int8:
        """What it makes of items, of shape [items, input_size]: [items, output_size]."""
        checked = items_of(items, self.input_size)
        for layer in self.layers:
            checked = layer.apply(checked)
        return checked

    def labels(self, items: Int8) -> NDArray[np.intp]:
        """Which of its outputs is the largest for each item; of equal ones the first."""
        found: NDArray[np.intp] = np.argmax(self.apply(items), axis=1)
        return found

    def without_last(self) -> "Network":
        """The same without its last layer: features, and not what they are told apart by."""
        return Network(self.layers[:-1])


def items_of(items: object, size: int) -> Int8:
    """Items as rows of so many int8 numbers.

    Raises:
        UsageError: They are no such array.
    """
    array = np.asarray(items)
    if array.ndim != 2 or array.shape[1] != size:
        raise UsageError(f"items of shape {array.shape}: each is a row of {size} numbers")
    if array.dtype not in (np.int8, np.uint8) or (array.size and int(array.max()) > _MOST):
        raise UsageError(f"items of {array.dtype}: their numbers are int8, or uint8 up to {_MOST}")
    return np.ascontiguousarray(array, dtype=np.int8)


def trained(items: Int8, labels: Sequence[int] | NDArray[np.intp], *, sizes: Sequence[int]) -> Network:
    """A network that tells items apart by their labels, from examples.

    Gradient descent over all examples at once, from weights that are drawn with a fixed seed, rounded to
    int8.

    Args:
        items: Examples, of shape [examples, numbers].
        labels: The label of each, from 0 on.
        sizes: Numbers of each layer before the last, which has one for each label.

    Raises:
        UsageError: There is not one label for each item.
    """
    wanted = np.asarray(labels, dtype=np.intp)
    if wanted.shape != items.shape[:1] or not wanted.size:
        raise UsageError(f"{wanted.size} labels for {len(items)} items")
    scale = float(max(1, int(items.max())))
    floats = _descended(items / scale, wanted, sizes)
    layers: list[Layer] = []
    numbers, at_scale = items, scale
    for place, (weights, bias) in enumerate(floats):
        is_last = place == len(floats) - 1
        weight_scale = 2.0 ** np.floor(np.log2(_MOST / np.abs(weights).max()))
        layer = Layer(
            np.rint(weights * weight_scale).astype(np.int8),
            np.rint(bias * weight_scale * at_scale).astype(np.int32),
            0,
            not is_last,
        )
        sums = numbers.astype(np.int64) @ layer.weights.T.astype(np.int64) + layer.bias
        # Few results are cut off at 127.
        large = max(1.0, float(np.quantile(np.abs(sums), 0.999)))
        shift = max(0, int(np.ceil(np.log2(large / _MOST))))
        layer = Layer(layer.weights, layer.bias, shift, layer.cut)
        layers.append(layer)
        numbers, at_scale = layer.apply(numbers), at_scale * weight_scale / 2.0**shift
    return Network(tuple(layers))


def _descended(
    items: NDArray[np.float64], labels: NDArray[np.intp], sizes: Sequence[int]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Weights and biases of each layer."""
    rng = np.random.default_rng(0)
    widths = [items.shape[1], *sizes, int(labels.max()) + 1]
    layers = [
        (rng.normal(0, np.sqrt(2 / before), (after, before)), np.zeros(after))
        for before, after in itertools.pairwise(widths)
    ]
    speeds = [(np.zeros_like(weights), np.zeros_like(bias)) for weights, bias in layers]
    wanted = np.eye(widths[-1])[labels]
    for _ in range(_ROUNDS):
        seen = [items]
        for place, (weights, bias) in enumerate(layers):
            sums = seen[-1] @ weights.T + bias
            seen.append(sums if place == len(layers) - 1 else np.maximum(sums, 0))
        chances = np.exp(seen[-1] - seen[-1].max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        error = (chances - wanted) / len(items)
        for place in reversed(range(len(layers))):
            (weights, bias), (speed, bias_speed) = layers[place], speeds[place]
            slope, bias_slope = error.T @ seen[place], error.sum(axis=0)
            error = (error @ weights) * (seen[place] > 0)
            speeds[place] = (_MOMENTUM * speed - _RATE * slope, _MOMENTUM * bias_speed - _RATE * bias_slope)
            layers[place] = (weights + speeds[place][0], bias + speeds[place][1])
    return layers
