"""Operators of tasks: accelerators and cores compute the same bits, and NumPy says that they are right."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_cc import compiles

import bitline
from bitline.cc import compile_task

SOURCE = Path(__file__).parent / "operators.c"

KINDS = {
    name: kind
    for kind, name in enumerate(
        ("product", "convolution", "add", "multiply", "tanh", "sigmoid", "relu", "max", "average", "narrow")
    )
}
Numbers = NDArray[Any]
Of = type[np.generic]

TYPES: tuple[Of, ...] = (np.int8, np.int32, np.float32)


@dataclass
class Case:
    """An operator and its operands."""

    kind: str
    type: int
    shape: tuple[int, ...]
    input: Numbers
    other: Numbers | None
    bias: Numbers | None
    output: Numbers
    """What NumPy makes of it."""

    def encoded(self) -> bytes:
        """As operators.c reads it."""
        operands = [b"" if of is None else of.tobytes() for of in (self.input, self.other, self.bias)]
        head = (
            KINDS[self.kind],
            self.type,
            int(self.bias is not None),
            *map(len, operands),
            self.output.nbytes,
        )
        shape = self.shape + (0,) * (8 - len(self.shape))
        padded = b"".join(operand + bytes(-len(operand) % 4) for operand in operands)
        return struct.pack("<17I", *head, 0, 0, *shape) + padded


def summed(first: Numbers, other: Numbers, start: np.generic | int) -> np.generic:
    """Sums of products, in order: of float32 each rounded, of integers in 32 bits."""
    if first.dtype == np.float32:
        total = np.float32(start)
        for a, b in zip(first.ravel(), other.ravel(), strict=True):
            total = np.float32(total + np.float32(a * b))
        return total
    products = first.astype(np.int64) * other.astype(np.int64)
    wrapped = (int(start) + sum(map(int, products.ravel()))) & 0xFFFFFFFF
    return np.uint32(wrapped).astype(np.int32)


def rounded(numbers: Numbers, of: Of) -> Numbers:
    """To the nearest integer, halves to even, saturated."""
    info = np.iinfo(of)
    return np.clip(np.rint(numbers), info.min, info.max).astype(of)


def shifted(numbers: Numbers, shift: int, of: Of) -> Numbers:
    """To the right, exactly, then rounded and saturated."""
    info = np.iinfo(of)
    whole = [min(max(round(Fraction(int(number), 1 << shift)), info.min), info.max) for number in numbers]
    return np.array(whole, of)


def random(rng: np.random.Generator, of: Of, shape: int | tuple[int, ...], is_small: bool = False) -> Numbers:
    if of is np.float32:
        return rng.normal(0, 2, shape).astype(of)
    info = np.iinfo(of)
    low, high = (-2000, 2000) if is_small and of is np.int32 else (info.min, info.max)
    return rng.integers(low, high, shape, endpoint=True).astype(of)


def cases(seed: int) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    extent = lambda most: int(rng.integers(1, most, endpoint=True))  # noqa: E731
    for number, of in enumerate(TYPES):
        of_sums = np.float32 if of is np.float32 else np.int32
        rows, columns, vectors = extent(20), extent(30), extent(4)
        matrix, items = random(rng, of, (rows, columns)), random(rng, of, (vectors, columns))
        for bias in (None, random(rng, of_sums, rows)):
            starts = [0] * rows if bias is None else list(bias)
            made = [
                [summed(row, item, start) for row, start in zip(matrix, starts, strict=True)]
                for item in items
            ]
            yield Case(
                "product", number, (rows, columns, vectors), items, matrix, bias, np.array(made, of_sums)
            )
        yield convolution(rng, number, of, of_sums)
        yield from point_wise(rng, number, of)
        yield from pools(rng, number, of)
    numbers, shift = random(rng, np.int32, 50), extent(31)
    yield Case("narrow", 1, (50, shift), numbers, None, None, shifted(numbers, shift, np.int8))


def convolution(rng: np.random.Generator, number: int, of: Of, of_sums: Of) -> Case:
    channels, height, width = (int(rng.integers(1, 7)) for _ in range(3))
    kernel = int(rng.integers(1, min(height, width), endpoint=True))
    padding, stride, outputs = int(rng.integers(kernel)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    items = random(rng, of, (channels, height, width))
    kernels = random(rng, of, (outputs, channels, kernel, kernel))
    bias = random(rng, of_sums, outputs)
    down, across = ((size + 2 * padding - kernel) // stride + 1 for size in (height, width))
    made = np.zeros((outputs, down, across), of_sums)
    for out, row, column in np.ndindex(made.shape):
        # What lies over the input, and nothing else: sums of float32 tell a product with 0 from none.
        top, left = row * stride - padding, column * stride - padding
        rows = slice(max(top, 0), min(top + kernel, height))
        columns = slice(max(left, 0), min(left + kernel, width))
        part = kernels[out][:, rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
        made[out, row, column] = summed(items[:, rows, columns], part, bias[out])
    shape = (channels, height, width, outputs, kernel, stride, padding)
    return Case("convolution", number, shape, items, kernels, bias, made)


def point_wise(rng: np.random.Generator, number: int, of: Of) -> Iterator[Case]:
    count = int(rng.integers(1, 60))
    shift = int(rng.integers(0, 8))
    a, b = random(rng, of, count), random(rng, of, count)
    if of is np.float32:
        yield Case("add", number, (count,), a, b, None, a + b)
        yield Case("multiply", number, (count, shift), a, b, None, a * b)
    else:
        info = np.iinfo(of)
        total = np.clip(a.astype(np.int64) + b, info.min, info.max).astype(of)
        yield Case("add", number, (count,), a, b, None, total)
        products = np.array([int(x) * int(y) for x, y in zip(a, b, strict=True)], object)
        yield Case("multiply", number, (count, shift), a, b, None, shifted(products, shift, of))
    yield Case("relu", number, (count,), a, None, None, np.maximum(a, 0).astype(of))
    a = random(rng, of, count, is_small=True)
    real = a if of is np.float32 else a.astype(np.float64) / 2**shift
    for kind, exact in (
        ("tanh", np.tanh(np.float64(real))),
        ("sigmoid", 0.5 + np.tanh(np.float64(real) / 2) / 2),
    ):
        made = exact.astype(np.float32) if of is np.float32 else rounded(exact * 2**shift, of)
        yield Case(kind, number, (count, shift), a, None, None, made)


def pools(rng: np.random.Generator, number: int, of: Of) -> Iterator[Case]:
    channels, height, width = (int(rng.integers(1, 7)) for _ in range(3))
    window, stride = int(rng.integers(1, min(height, width), endpoint=True)), int(rng.integers(1, 4))
    items = random(rng, of, (channels, height, width))
    down, across = ((size - window) // stride + 1 for size in (height, width))
    largest, mean = (np.zeros((channels, down, across), of) for _ in range(2))
    for channel, row, column in np.ndindex(largest.shape):
        part = items[channel, row * stride :, column * stride :][:window, :window]
        largest[channel, row, column] = part.max()
        if of is np.float32:
            mean[channel, row, column] = summed(part, np.ones_like(part), 0) / np.float32(window * window)
        else:
            mean[channel, row, column] = round(Fraction(int(part.astype(np.int64).sum()), window * window))
    shape = (channels, height, width, window, stride)
    yield Case("max", number, shape, items, None, None, largest)
    yield Case("average", number, shape, items, None, None, mean)


def operators_in_c(folder: Path) -> Path:
    """The module of operators.c."""
    made = compile_task([SOURCE], folder / "operators.wasm")
    assert made.diagnostics == ""
    return made.path


@compiles
@pytest.mark.parametrize("seed", range(6))
def test_accelerators_and_cores_compute_what_numpy_does(seed: int, tmp_path: Path) -> None:
    module = operators_in_c(tmp_path)
    all_cases = list(cases(seed))
    values = {}
    for name, preset, arguments in (
        ("accelerator", "th-issd", b""),
        ("core of a drive without", "flash-cosmos", b""),
        ("core of a drive with one", "th-issd", b"1"),
    ):
        drive = bitline.open(preset, data="memory")
        drive.volume["operators"] = b"".join(case.encoded() for case in all_cases)
        result = drive.tasks.run(module, {"operators": "r"}, arguments)
        assert result.status == "committed", result.reason
        values[name] = result.value
        computed = drive.statistics.accelerators.operators
        assert computed == (len(all_cases) if name == "accelerator" else 0)
    value = values["accelerator"]
    assert set(values.values()) == {value}, "the same bits"
    at = 0
    for case in all_cases:
        (answer,) = struct.unpack_from("<i", value, at)
        assert answer == 0, case
        got = np.frombuffer(value, case.output.dtype, case.output.size, at + 4)
        expected = case.output.ravel()
        if case.kind in ("tanh", "sigmoid"):
            # Of fixed-point numbers, what lies next to a half may be rounded the other way.
            most = 2e-7 if case.type == 2 else 1
            assert np.abs(got.astype(np.float64) - expected).max() <= most, case
        else:
            assert got.tobytes() == expected.tobytes(), case
        at += 4 + case.output.nbytes
    assert at == len(value)


@compiles
def test_extremes_have_the_same_bits(tmp_path: Path) -> None:
    """NaNs, infinities, both zeros, the least and the largest numbers."""
    module = operators_in_c(tmp_path)
    floats = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 3e38, -3e38, 0.25, -0.25, 39.9, -81], np.float32
    )
    first, second = (grid.ravel() for grid in np.meshgrid(floats, floats))
    integers = np.array([-(2**31), 2**31 - 1, -1, 0, 1, 127, -128], np.int32)
    many = len(first)
    nothing = np.zeros(many, np.float32)
    all_cases = [
        *(Case(kind, 2, (many, 0), first, second, None, nothing) for kind in ("add", "multiply")),
        *(Case(kind, 2, (many, 0), first, None, None, nothing) for kind in ("tanh", "sigmoid", "relu")),
        Case("product", 2, (many, 1, 1), floats[:1], first, None, nothing),
        Case("product", 2, (1, many, 1), first, second, None, nothing[:1]),
        Case("max", 2, (1, 13, 13, 2, 1), first, None, None, nothing[:144]),
        Case("average", 2, (1, 13, 13, 2, 1), first, None, None, nothing[:144]),
        *(Case(kind, 1, (7, 31), integers, integers, None, integers) for kind in ("add", "multiply")),
        *(Case(kind, 1, (7, 0), integers, None, None, integers) for kind in ("tanh", "sigmoid")),
        Case("narrow", 1, (7, 31), integers, None, None, integers.astype(np.int8)),
    ]
    values = []
    for preset in ("th-issd", "flash-cosmos"):
        drive = bitline.open(preset, data="memory")
        drive.volume["operators"] = b"".join(case.encoded() for case in all_cases)
        result = drive.tasks.run(module, {"operators": "r"})
        assert result.status == "committed", result.reason
        values.append(result.value)
    assert values[0] == values[1]
