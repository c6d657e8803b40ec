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
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitline.arguments import whole_number
from bitline.errors import UsageError

if TYPE_CHECKING:
    from bitline.drive import Drive

#: Where `network.h` is.
FOLDER = Path(__file__).parent
#: As `network.h` has it: the most layers, and bytes that a task has for its arguments.
_LAYERS, _ARGUMENT_BYTES = 8, 1 << 20
#: Rounds of training, and how far each goes.
_ROUNDS, _RATE, _MOMENTUM = 400, 0.1, 0.9
#: Numbers of int8, and the largest sum of int32.
_MOST, _SUM_MOST = 127, (1 << 31) - 1

Int8 = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights times numbers, plus a bias, shifted to the right; cut off at 0 or not.

    It has copies of what it is made of, which cannot be written to.

    Raises:
        UsageError: Numbers that int8 or int32 does not hold, or whose sums it may not hold: those of a row's
            sizes, times 128, plus that of its bias; shapes or a shift that cannot be.
    """

    weights: Int8
    """Of shape [rows, columns]."""
    bias: NDArray[np.int32]
    """Of shape [rows]."""
    shift: int
    """Bits by which sums are shifted, 0 to 31, rounded to nearest with halves to even, and saturated to
    int8."""
    cut: bool
    """Whether what is below 0 becomes 0 (ReLU)."""

    def __post_init__(self) -> None:
        weights = _whole_numbers("weights", self.weights, "[rows, columns]", np.int8)
        bias = _whole_numbers("bias", self.bias, "[rows]", np.int32)
        if len(bias) != len(weights):
            raise UsageError(f"a bias of {len(bias)} numbers for weights of {len(weights)} rows")
        sizes = np.abs(weights.astype(np.int64)).sum(axis=1)
        sums = sizes * (_MOST + 1) + np.abs(bias.astype(np.int64))
        row = int(np.argmax(sums))
        if sums[row] > _SUM_MOST:
            raise UsageError(
                f"row {row}: weights whose sizes are {sizes[row]} together, times numbers of up to "
                f"{_MOST + 1}, and a bias of {bias[row]}: sums of up to {sums[row]}; int32 holds {_SUM_MOST}"
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "shift", whole_number("shift", self.shift, 0, 31))

    def apply(self, items: Int8) -> Int8:
        """What it makes of items, of shape [items, columns]: [items, rows]."""
        known = items_of(items, self.weights.shape[1])
        sums = known.astype(np.int64) @ self.weights.T.astype(np.int64) + self.bias
        # Exact: the sums are those of 32 bits, and a power of two divides them.
        shifted = np.rint(sums / 2.0**self.shift)
        numbers = np.clip(shifted, -_MOST - 1, _MOST).astype(np.int8)
        return np.maximum(numbers, 0) if self.cut else numbers

    def encode(self) -> bytes:
        """As `network.h` has it."""
        rows, columns = self.weights.shape
        weights = self.weights.tobytes()
        padding = bytes(-len(weights) % 4)
        head = struct.pack("<4I", rows, columns, self.shift, bool(self.cut))
        return head + weights + padding + self.bias.astype("<i4").tobytes()


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, one after the other.

    Raises:
        UsageError: More than eight, or none; layers that do not fit together; more than 1 MiB as tasks take
            them.
    """

    layers: tuple[Layer, ...]
    """At most eight."""

    def __post_init__(self) -> None:
        _check_size([layer.weights.shape for layer in self.layers])
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
        for layer in self.layers:
            items = layer.apply(items)
        return items

    def labels(self, items: Int8) -> NDArray[np.intp]:
        """Which of its outputs is the largest for each item; of equal ones the first."""
        found: NDArray[np.intp] = np.argmax(self.apply(items), axis=1)
        return found

    def without_last(self) -> "Network":
        """The same without its last layer: features, and not what they are told apart by.

        Raises:
            UsageError: It has one layer only.
        """
        if len(self.layers) == 1:
            raise UsageError("a network of one layer has none before it: it gives no features")
        return Network(self.layers[:-1])

    def check_room(self, drive: "Drive", more: int = 0) -> None:
        """Refuse a drive whose tasks do not have room for it as arguments, and for `more` bytes besides.

        Raises:
            UsageError: They do not.
        """
        found: int = tomllib.loads(drive.config)["task"]["arguments_bytes"]
        size, room = len(self.params) + more, min(found, _ARGUMENT_BYTES)
        if size > room:
            raise UsageError(
                f"a network that takes {size} bytes of a task's arguments; there are {room} "
                f"(task.arguments_bytes = {found})"
            )


def items_of(items: object, size: int | None = None) -> Int8:
    """Items as rows of so many int8 numbers; of any, without a size.

    Raises:
        UsageError: They are no such array.
    """
    array = _array("items", items)
    if array.ndim != 2 or not array.shape[1] or array.shape[1] != (size or array.shape[1]):
        raise UsageError(f"items of shape {array.shape}: each is a row of {size or 'some'} numbers")
    if array.dtype not in (np.int8, np.uint8):
        raise UsageError(f"items of {array.dtype}: their numbers are int8, or uint8 up to {_MOST}")
    if array.size and int(array.max()) > _MOST:
        raise UsageError(
            f"items of {array.dtype} up to {array.max()}: their numbers are int8, or uint8 up to {_MOST}"
        )
    return np.ascontiguousarray(array, dtype=np.int8)


def _array(name: str, values: object) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise UsageError(f"{name} that are masked: give filled() ones")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{name} are no array: {error}") from None


def _whole_numbers(name: str, values: object, shape: str, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """A copy of whole numbers, of a type that has to hold them all."""
    array, bounds = _array(name, values), np.iinfo(dtype)
    if array.ndim != len(shape.split(",")) or not array.size:
        raise UsageError(f"{name} of shape {array.shape}: the shape is {shape}, at least 1 each")
    if array.dtype.kind not in "iu":
        raise UsageError(f"{name} of {array.dtype}: they are whole numbers, of {bounds.dtype}")
    least, most = int(array.min()), int(array.max())
    if least < bounds.min or most > bounds.max:
        raise UsageError(f"{name} from {least} to {most}: {bounds.dtype} holds {bounds.min} to {bounds.max}")
    kept = np.array(array, dtype=dtype, order="C")
    kept.flags.writeable = False
    return kept


def _check_size(shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuses a network whose layers, of so many rows and columns, are too many or too large."""
    if not 1 <= len(shapes) <= _LAYERS:
        raise UsageError(f"a network of {len(shapes)} layers; it has 1 to {_LAYERS}")
    size = 4 + sum(16 + -(-rows * columns // 4) * 4 + 4 * rows for rows, columns in shapes)
    if size > _ARGUMENT_BYTES:
        raise UsageError(f"a network of {size} bytes, as tasks take it; the most is {_ARGUMENT_BYTES}")


def trained(items: Int8, labels: Sequence[int] | NDArray[np.intp], *, sizes: Sequence[int]) -> Network:
    """A network that tells items apart by their labels, from examples.

    Gradient descent over all examples at once, from weights that are drawn with a fixed seed, rounded to
    int8.

    Args:
        items: Examples, of shape [examples, numbers].
        labels: The label of each, from 0 on.
        sizes: Numbers of each layer before the last, which has one for each label.

    Raises:
        UsageError: There is not one label for each item; examples, labels or sizes that cannot be; a network
            that would be too large.
    """
    items = items_of(items)
    wanted = _labels_of(labels, len(items))
    widths = [items.shape[1]]
    widths += [whole_number(f"sizes[{place}]", size, 1) for place, size in enumerate(sizes)]
    widths.append(int(wanted.max()) + 1)
    _check_size([(after, before) for before, after in itertools.pairwise(widths)])
    scale = float(max(1, int(np.abs(items.astype(np.int64)).max())))
    floats = _descended(items / scale, wanted, widths)
    layers: list[Layer] = []
    numbers, at_scale = items, scale
    for place, (weights, bias) in enumerate(floats):
        is_last = place == len(floats) - 1
        weight_scale = 2.0 ** np.floor(np.log2(_MOST / np.abs(weights).max()))
        layer = Layer(
            np.rint(weights * weight_scale).astype(np.int8),
            np.rint(bias * weight_scale * at_scale).astype(np.int64),
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


def _labels_of(labels: object, count: int) -> NDArray[np.intp]:
    array = _array("labels", labels)
    if array.shape != (count,) or not count:
        raise UsageError(f"{array.size} labels for {count} items")
    if array.dtype.kind not in "iu" or int(array.min()) < 0:
        raise UsageError(f"labels of {array.dtype}, from {array.min()} on: they are whole numbers from 0 on")
    return array.astype(np.intp)


def _descended(
    items: NDArray[np.float64], labels: NDArray[np.intp], widths: Sequence[int]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Weights and biases of each layer, between widths."""
    rng = np.random.default_rng(0)
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
