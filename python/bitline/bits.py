"""Vectors of bits that are stored on a drive, and expressions over them that the drive evaluates.

```python
group = drive.group("colours")
red, green = group.write([red_rows, green_rows])
either = red | green          # nothing happens yet
rows = either.read()          # evaluated inside the NAND array
```
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_, or_, xor
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bitline.errors import DisagreementError, NotFoundError, UsageError
from bitline.explanation import Explanation
from bitline.expression import Node
from bitline.formula import written
from bitline.packing import Vector, packed_bits
from bitline.pending import Pending
from bitline.platforms import Platform
from bitline.records import made
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from bitline.drive import Drive
    from bitline.groups import Group

#: The longest vector, in bits.
BITS_MAX = (1 << 48) - 1

#: Name, number, length in bits, whether inverted, what it is called in expressions, extents.
VectorRow: TypeAlias = tuple[str, int, int, bool, tuple[int, int], list[tuple[int, int]]]


class BitExpression:
    """A bitwise expression over stored vectors: `&`, `|`, `^` and `~` build it, reading it evaluates it.

    Evaluation happens in simulated time, on the drive that holds the vectors. All vectors of an expression
    are on one drive and equally long. An operator raises UsageError where they are not, and beyond 4,096
    operands, 4,096 operators, or 64 levels of operators in each other; a chain of one operator is one level.
    """

    __slots__ = ("_drive", "_length", "_node")

    #: NumPy shall not take a vector for one item of an array, but leave an operator with one to `__rand__`.
    __array_ufunc__ = None

    def __init__(self, drive: "Drive", length: int, node: Node) -> None:
        self._drive = drive
        self._length = length
        self._node = node

    def __len__(self) -> int:
        return self._length

    def __and__(self, other: "BitExpression") -> "BitExpression":
        return self._with("&", other)

    def __or__(self, other: "BitExpression") -> "BitExpression":
        return self._with("|", other)

    def __xor__(self, other: "BitExpression") -> "BitExpression":
        return self._with("^", other)

    def __rand__(self, other: object) -> NoReturn:
        raise TypeError(_not_combined(other))

    __ror__ = __rxor__ = __rand__

    def __invert__(self) -> "BitExpression":
        return BitExpression(self._drive, self._length, self._node.inverted())

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a vector is no single truth value: combine vectors with & | ^ ~, or count() the ones"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node.words()} of {counted(self._length, 'bit')}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "vectors live on a drive in this process and cannot be pickled; pickle what read() gives"
        )

    @property
    def drive(self) -> "Drive":
        """The drive that holds the vectors."""
        return self._drive

    @property
    def vectors(self) -> list[str]:
        """The distinct vectors named, each as `group:vector`."""
        return list(self._node.labels().values())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("what a drive holds is read into a new array; copy=False cannot be had")
        return self.read().astype(dtype or np.bool_, copy=False)

    def __iter__(self) -> Iterator[np.bool_]:
        return iter(self.read())

    @overload
    def __getitem__(self, index: int) -> np.bool_: ...
    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> NDArray[np.bool_]: ...
    def __getitem__(self, index: Any) -> Any:
        """Bits of the result, which is evaluated as a whole."""
        return self.read()[index]

    def read(self, platform: Platform = "fastest", *, check: bool = False) -> NDArray[np.bool_]:
        """Evaluate the expression and read the result.

        Args:
            platform: Who evaluates it.
            check: Have the drive evaluate it a second time by another plan, which senses every wordline by
                itself, and compare. That finds what goes wrong in sensing and in the latches; a cell that has
                lost its bit looks the same to both.

        Returns:
            One bool a bit, shape `(len(self),)`; all False if the drive keeps no data.

        Raises:
            UsageError: No such platform; a vector that was deleted; a check on `"host"`, which has no second
                way.
            NvmeError: What the drive reports.
            DisagreementError: The two results of a check differ.
        """
        return self._unpacked(self.read_packed(platform, check=check))

    def read_packed(self, platform: Platform = "fastest", *, check: bool = False) -> bytes:
        """As `read`, eight bits a byte: bit i is bit i % 8 (least significant first) of byte i // 8."""
        native, code = self._drive._native, self._node.code()
        with self._named_errors():
            if not check:
                return native.evaluate(code, platform)
            result, differing = native.evaluate_checked(code, platform)
        self._agreed(differing)
        return result

    def read_into(
        self, buffer: "bytearray | memoryview | NDArray[np.uint8]", platform: Platform = "fastest"
    ) -> None:
        """As `read_packed`, into memory of yours, so that no result needs fresh memory.

        Args:
            buffer: A bytearray, a memoryview or a contiguous NumPy array of as many bytes as the result has.
            platform: Who evaluates it.

        Raises:
            UsageError: As `read`; before anything happens, memory of another size or that is read-only.
            NvmeError: As `read`.
        """
        # Arrays are buffers, too, which their types tell from Python 3.12 on.
        view = memoryview(buffer)  # type: ignore[arg-type]
        needed = -(-self._length // 8)
        if view.readonly or not view.c_contiguous or view.nbytes != needed:
            kind = "read-only" if view.readonly else "writable" if view.c_contiguous else "scattered"
            raise UsageError(
                f"{view.nbytes} {kind} bytes are no room for this result: give "
                f"{needed} contiguous bytes that can be written"
            )
        with self._named_errors():
            self._drive._native.evaluate_into(self._node.code(), platform, view.cast("B"))

    def count(
        self,
        platform: Platform = "fastest",
        *,
        where: Literal["drive", "host"] = "drive",
        check: bool = False,
    ) -> int:
        """Evaluate the expression and count the ones of its result.

        Args:
            platform: Who evaluates it.
            where: Who counts: the drive's controller, so that only the number crosses the link; or the host,
                batch by batch as the result arrives (Flash-Cosmos, section 7). With platform `"host"` it is
                always the host.
            check: As `read`; the drive counts then.

        Raises:
            UsageError: As `read`; a check of what the host counts.
            NvmeError: As `read`.
            DisagreementError: As `read`.
        """
        if where not in ("drive", "host"):
            raise UsageError(f"where = {where!r}: who counts is 'drive' or 'host'")
        if check and where == "host":
            raise UsageError("check = True: a check is made where the drive counts, with where = 'drive'")
        native, code = self._drive._native, self._node.code()
        with self._named_errors():
            if not check:
                return native.count_ones(code, platform, where == "host")
            ones, differing = native.count_ones_checked(code, platform)
        self._agreed(differing)
        return ones

    def stream(self, platform: Platform = "fastest") -> None:
        """Evaluate the expression and have the result sent to the host in batches, where it is dropped.

        For the time and energy of results that are too long to keep; `read` keeps them.

        Raises:
            UsageError: As `read`.
            NvmeError: As `read`.
        """
        with self._named_errors():
            self._drive._native.stream(self._node.code(), platform)

    @overload
    def submit(
        self, platform: Platform = "fastest", *, count: Literal[False] = False
    ) -> Pending[NDArray[np.bool_]]: ...
    @overload
    def submit(self, platform: Platform = "fastest", *, count: Literal[True]) -> Pending[int]: ...
    def submit(self, platform: Platform = "fastest", *, count: bool = False) -> Pending[Any]:
        """Begin to evaluate the expression, and go on: other queries and I/O are in flight with it.

        ```python
        pending = [(a & b).submit(count=True), (a | c).submit(), drive.submit_read(0, 8)]
        ones, either, block = (each.result() for each in pending)
        ```

        Args:
            platform: Who evaluates it.
            count: Count the ones, as `count` does, instead of reading the result.

        Returns:
            A handle; its `result()` is what `read()` or `count()` would give.

        Raises:
            UsageError: No such platform.
        """
        native = self._drive._native.submit_query(self._node.code(), platform, count)
        if count:
            return Pending(native, int, self._named_errors)
        return Pending(native, self._unpacked, self._named_errors)

    def _unpacked(self, packed: bytes) -> NDArray[np.bool_]:
        bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=self._length, bitorder="little")
        return bits.view(np.bool_)

    def explain(self, platform: Platform = "fastest") -> str:
        """How the expression would be evaluated, in words: the senses of the array, for every page alike.

        Nothing is carried out.
        """
        with self._named_errors():
            return self._drive._native.explain(self._node.code(), platform)

    def explanation(
        self, platform: Platform = "fastest", *, bits: int | None = None, count: bool = False
    ) -> Explanation:
        """How the expression would be evaluated, and what that would take, as `bitline explain` tells it.

        Nothing is carried out. Time and energy are estimates for a drive that does nothing else: energy is
        what the accounts would say, time what a simulation of the same senses, channels and link takes.

        Args:
            platform: Who evaluates it.
            bits: Length of the vectors that times and energies are for; by default that which they have.
            count: Of `count()`, not of `read()`.

        Returns:
            The plan as nested parts, `root`, and what they are estimated to take, `estimate`.

        Raises:
            UsageError: No such platform, or no bits.
            NvmeError: As `read`.
        """
        words = {vector: written(label) for vector, label in self._node.labels().items()}
        return self._explanation(platform, bits, count, words)

    def _explanation(
        self, platform: Platform, bits: int | None, count: bool, labels: dict[tuple[int, int], str]
    ) -> Explanation:
        """The same with vectors called as `labels` says."""
        if bits is not None and not 1 <= bits <= BITS_MAX:
            raise UsageError(f"bits = {quoted(bits)}: a vector has from 1 to {BITS_MAX} bits")
        with self._named_errors():
            told = self._drive._native.explanation(self._node.code(), platform, bits, count, labels)
        return made(Explanation, json.loads(told))

    def _agreed(self, differing: int) -> None:
        """Raises DisagreementError unless a check found both results to be the same."""
        if differing:
            raise DisagreementError(
                f"two plans for {self!r} differ in {counted(differing, 'bit')}", differing
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """An error about a vector that is not there says which."""
        try:
            yield
        except NotFoundError as error:
            label = self._node.labels().get(error.vector) if error.vector else None
            if label is None:
                raise
            raise NotFoundError(f"the drive does not hold {label}", error.vector) from None

    def _with(self, operator: Literal["&", "|", "^"], other: "BitExpression") -> "BitExpression":
        if not isinstance(other, BitExpression):
            raise TypeError(_not_combined(other))
        if other._drive is not self._drive:
            raise UsageError("these vectors are on different drives; an expression is evaluated on one")
        if other._length != self._length:
            raise UsageError(f"vectors of {self._length:,} and {other._length:,} bits do not combine")
        return BitExpression(self._drive, self._length, Node(operator, (self._node, other._node)))


def nand(first: BitExpression, *others: BitExpression) -> BitExpression:
    """1 where not all operands are: the inverse of the AND of all of them. Of one operand, its inverse.

    Raises:
        UsageError: As the operators of `BitExpression`.
    """
    return ~reduce(and_, _operands(first, *others))


def nor(first: BitExpression, *others: BitExpression) -> BitExpression:
    """1 where no operand is: the inverse of the OR of all of them. Of one operand, its inverse.

    Raises:
        UsageError: As the operators of `BitExpression`.
    """
    return ~reduce(or_, _operands(first, *others))


def xnor(first: BitExpression, *others: BitExpression) -> BitExpression:
    """1 where an even number of operands are: the inverse of the XOR of all of them. Of one, its inverse.

    Of two operands it is 1 where they are equal; of more, `xnor(a, b, c)` is not `xnor(xnor(a, b), c)`.

    Raises:
        UsageError: As the operators of `BitExpression`.
    """
    return ~reduce(xor, _operands(first, *others))


def _operands(*operands: BitExpression) -> tuple[BitExpression, ...]:
    for operand in operands:
        if not isinstance(operand, BitExpression):
            kind = type(operand).__name__
            raise TypeError(
                f"operands are vectors and expressions over them, one after the other; not a {kind}"
            )
    return operands


class BitVector(BitExpression):
    """A vector of bits stored on a drive.

    It is an array of bools to NumPy, and knows where it lies: `drive.read` of its `extents` gives its packed
    bits.
    """

    __slots__ = ("_id", "group", "inverse", "name", "number")

    def __init__(self, group: "Group", row: VectorRow) -> None:
        name, number, length, inverse, vector, _ = row
        super().__init__(group.drive, length, Node.of_vector(vector, f"{group.name}:{name}"))
        self._id = vector
        self.group = group
        """The group it belongs to."""
        self.name = name
        """Its name in the group; its number, if it was given none."""
        self.number = number
        """Its number in the group."""
        self.inverse = inverse
        """Whether its inverse is what is stored. Reading gives what was written, all the same."""

    @property
    def extents(self) -> list[tuple[int, int]]:
        """Where it lies now: first logical block and number of blocks of each run, as `drive.read` takes it.

        Raises:
            UsageError: The drive does not hold it any more.
        """
        with self._named_errors():
            return self.drive._volume.vector_called(self._id)[-1]

    @overload
    def __getitem__(self, index: int) -> np.bool_: ...
    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> NDArray[np.bool_]: ...
    def __getitem__(self, index: Any) -> Any:
        """Bits of the vector. For one bit, or a range, only the blocks are read that they lie in."""
        if isinstance(index, bool | np.bool_) or not isinstance(index, int | np.integer | slice):
            return self.read()[index]
        wanted = range(len(self))[index]
        places = wanted if isinstance(wanted, range) else range(wanted, wanted + 1)
        if len(places) == 0:
            return np.empty(0, np.bool_)
        block_bits = 8 * self.drive.block_bytes
        first, last = (place // block_bits for place in sorted((places[0], places[-1])))
        [(begin, _)] = self.extents
        packed = np.frombuffer(self.drive.read(begin + first, last - first + 1), np.uint8)
        bits = np.unpackbits(packed, bitorder="little").view(np.bool_)
        offset = first * block_bits
        if not isinstance(wanted, range):
            return bits[wanted - offset]
        low, high = min(places[0], places[-1]) - offset, max(places[0], places[-1]) - offset + 1
        return bits[low:high][:: places.step] if places.step > 0 else bits[low:high][::-1][:: -places.step]

    def overwrite(self, bits: Vector, *, inverse: bool | None = None) -> "BitVector":
        """Give it other bits, as many as it has. A power cut leaves the old ones or the new ones.

        Args:
            bits: An array of bools, or packed bytes, as `Group.write` takes them.
            inverse: Whether the inverse is stored from now on; as it was if not given.

        Returns:
            The vector as it is then: it lies elsewhere.

        Raises:
            UsageError: Another number of bits; it is not there any more.
            NvmeError: What the drive reports.
        """
        packed, _ = packed_bits(bits, len(self))
        with self._named_errors():
            return BitVector(self.group, self.drive._volume.overwrite_vector(self._id, inverse, packed))

    def submit_overwrite(self, bits: Vector, *, inverse: bool | None = None) -> "Pending[BitVector]":
        """Begin to give it other bits, as `overwrite` does, and go on.

        Whoever evaluates it meanwhile sees the old ones.

        Raises:
            UsageError: Another number of bits; the rest is told by `result()` of the handle.
        """
        packed, _ = packed_bits(bits, len(self))
        native = self.drive._volume.submit_overwrite(self._id, inverse, packed)
        return Pending(native, lambda rows: BitVector(self.group, rows[0]), self._named_errors)

    def delete(self) -> None:
        """Delete it from the drive.

        Raises:
            UsageError: It is not there any more.
        """
        with self._named_errors():
            self.drive._volume.delete_vector(self._id)


def _not_combined(other: object) -> str:
    kind = "NumPy array" if isinstance(other, np.ndarray) else type(other).__name__
    return (
        f"a vector on a drive does not combine with a {kind}: "
        "write that into a group first, or read() the vector"
    )
