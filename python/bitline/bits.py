"""Vectors of bits that are stored on a drive, and expressions over them that the drive evaluates.

```python
group = drive.group("colours")
red, green = group.write([red_rows, green_rows])
either = red | green          # nothing happens yet
rows = either.read()          # evaluated inside the NAND array
```
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_, or_, xor
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitline.errors import DisagreementError, NvmeError, UsageError
from bitline.explanation import Explanation
from bitline.expression import Node
from bitline.platforms import Platform
from bitline.records import made
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from bitline.drive import Drive

#: The longest vector, in bits.
BITS_MAX = (1 << 48) - 1
#: The most vectors of a group: their numbers have 32 bits, and the last one means all.
COUNT_MAX = (1 << 32) - 1

Vector: TypeAlias = ArrayLike | bytes | bytearray | memoryview


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
        words = self._drive._with_names(str(self._node.code()))
        return f"<{type(self).__name__} {words} of {counted(self._length, 'bit')}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "vectors live on a drive in this process and cannot be pickled; pickle what read() gives"
        )

    @property
    def drive(self) -> "Drive":
        """The drive that holds the vectors."""
        return self._drive

    @property
    def vectors(self) -> list[tuple[int, int]]:
        """The distinct vectors named, as group and number, ascending."""
        return self._node.code().vectors()

    def read(self, platform: Platform = "flash-cosmos", *, check: bool = False) -> NDArray[np.bool_]:
        """Evaluate the expression and read the result.

        Args:
            platform: Who evaluates it.
            check: Have the drive evaluate it a second time by another plan, which senses every wordline by
                itself, and compare. That finds what goes wrong in sensing and in the latches; a cell that has
                lost its bit looks the same to both.

        Returns:
            One bool a bit, shape `(len(self),)`; all False if the drive keeps no data.

        Raises:
            UsageError: No such platform; a check on `"host"`, which has no second way.
            NvmeError: What the drive reports, such as a vector that was deleted.
            DisagreementError: The two results of a check differ.
        """
        packed = np.frombuffer(self.read_packed(platform, check=check), np.uint8)
        return np.unpackbits(packed, count=self._length, bitorder="little").view(np.bool_)

    def read_packed(self, platform: Platform = "flash-cosmos", *, check: bool = False) -> bytes:
        """As `read`, eight bits a byte: bit i is bit i % 8 (least significant first) of byte i // 8."""
        native, code = self._drive._native, self._node.code()
        with self._named_errors():
            if not check:
                return native.evaluate(code, platform, self._length)
            result, differing = native.evaluate_checked(code, platform, self._length)
        self._agreed(differing)
        return result

    def count(
        self,
        platform: Platform = "flash-cosmos",
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
                return native.count_ones(code, platform, self._length, where == "host")
            ones, differing = native.count_ones_checked(code, platform, self._length)
        self._agreed(differing)
        return ones

    def stream(self, platform: Platform = "flash-cosmos") -> None:
        """Evaluate the expression and have the result sent to the host in batches, where it is dropped.

        For the time and energy of results that are too long to keep; `read` keeps them.

        Raises:
            UsageError: As `read`.
            NvmeError: As `read`.
        """
        with self._named_errors():
            self._drive._native.stream(self._node.code(), platform, self._length)

    def explain(self, platform: Platform = "flash-cosmos") -> str:
        """How the expression would be evaluated, in words: the senses of the array, for every page alike.

        Nothing is carried out.
        """
        return self._drive._with_names(self._drive._native.explain(self._node.code(), platform))

    def explanation(
        self, platform: Platform = "flash-cosmos", *, bits: int | None = None, count: bool = False
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
        if bits is not None and not 1 <= bits <= BITS_MAX:
            raise UsageError(f"bits = {quoted(bits)}: a vector has from 1 to {BITS_MAX} bits")
        told = self._drive._native.explanation(self._node.code(), platform, bits, count)
        return made(Explanation, json.loads(self._drive._with_names(told)))

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
        except NvmeError as error:
            if error.status != "Vector Not Found":
                raise
            stored = {(group, number) for group, number, *_ in self._drive._native.vectors()}
            missing = [f"{group}:{number}" for group, number in self.vectors if (group, number) not in stored]
            where = self._drive._with_names(", ".join(missing[:3]))
            raise error.about(f"the drive does not hold {where}") from None

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
    """A vector of bits stored on a drive."""

    __slots__ = ("group", "inverse", "number")

    def __init__(self, group: "Group", number: int, length: int, inverse: bool) -> None:
        super().__init__(group.drive, length, Node.of_vector(group.number, number))
        self.group = group
        """The group it belongs to."""
        self.number = number
        """Its number in the group."""
        self.inverse = inverse
        """Whether its inverse is what is stored. Reading gives what was written, all the same."""

    def delete(self) -> None:
        """Delete it from the drive.

        Raises:
            NvmeError: It is not there any more.
        """
        try:
            self.drive._native.delete_vectors(self.group.number, self.number)
        except NvmeError as error:
            raise error.about(f"{self.group}, vector {self.number}") from None


class Group:
    """Vectors of equal length that will meet in operations; the drive places them so that they can.

    Vectors of one group share strings of cells: an AND of them is one sense, and so is an OR if they are
    stored inverted. Vectors of different groups lie in different blocks of the same planes: an OR over
    a few groups, each an AND, is one sense too (Flash-Cosmos, section 6).

    A group lies on all dies of the drive unless it was given a home, some of them. Groups of different homes
    do not meet in the latches: the controller combines them, or pages of one are brought to the other's dies,
    whichever is estimated to take less time (`bits.meeting`).
    """

    def __init__(
        self, drive: "Drive", number: int, name: str | None, home: tuple[int, int] | None = None
    ) -> None:
        self.drive = drive
        """The drive."""
        self.number = number
        """Its number on the drive."""
        self.name = name
        """The name it was asked for by, if any."""
        self._wanted_home = home

    @property
    def home(self) -> tuple[int, int]:
        """Where it lies, or will lie: the die of the first page, and how many dies are used (0: all).

        Dies are counted channels first: with eight channels, dies 0 to 7 are the first of each.
        """
        return self.drive._native.home(self.number) or self._wanted_home or (0, 0)

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        return f"<Group {self.number}{name}>"

    def __str__(self) -> str:
        return f"group {self.number if self.name is None else repr(self.name)}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("groups live on a drive in this process and cannot be pickled")

    def write(
        self, vectors: Iterable[Vector], *, inverse: bool = False, bits: int | None = None
    ) -> list[BitVector]:
        """Write vectors, one after the other, under the next free numbers of the group.

        Args:
            vectors: Each a one-dimensional array (or list) of bools; or packed bytes, bit i of the vector in
                bit i % 8 (least significant first) of byte i // 8.
            inverse: Store the inverse of each, which suits ORs: an OR of inverted vectors is one sense.
            bits: Length of packed vectors; 8 bits a byte if not given.

        Returns:
            The vectors, in order. If an error ends the call early, those before it are stored.

        Raises:
            TypeError: Something else than a collection of vectors of bits.
            UsageError: A vector of no bits, or of another length than the group has; `bits` that do not
                fit; a home that the drive has not, or another than the group has.
            NvmeError: What the drive reports, such as a full group.
        """
        flat = isinstance(vectors, np.ndarray) and vectors.ndim < 2
        single = flat or isinstance(vectors, bytes | bytearray | memoryview | str)
        if single or not isinstance(vectors, Iterable):
            raise TypeError("write takes a collection of vectors; for a single one, give a list of it")
        home, stored = self._home_to_write(), self.vectors()
        free = max((vector.number for vector in stored), default=-1) + 1
        return self._write_from(free, vectors, inverse, bits, home, stored[:1])

    def _write_from(
        self,
        first: int,
        vectors: Iterable[Vector],
        inverse: bool,
        bits: int | None,
        home: tuple[int, int],
        stored: "list[BitVector]",
    ) -> "list[BitVector]":
        """Write vectors under the numbers from `first` on, all as long as those `stored`, if any."""
        written: list[BitVector] = []
        for number, vector in enumerate(vectors, first):
            packed, length = _pack(vector, bits)
            others = (stored or written)[:1]
            if others and len(others[0]) != length:
                raise UsageError(
                    f"{self}, vector {number}: it has {counted(length, 'bit')}, the others of the group have "
                    f"{len(others[0]):,}; vectors of one group are equally long"
                )
            try:
                self.drive._native.write_vector((self.number, number), length, inverse, packed, home)
            except NvmeError as error:
                raise error.about(f"{self}, vector {number}{_full(error)}") from None
            written.append(BitVector(self, number, length, inverse))
        return written

    def place(
        self,
        count: int,
        *,
        bits: int,
        inverse: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> list[BitVector]:
        """Set up vectors of zeroes as if they had been written before, under the next free numbers.

        They are where writing them one after the other would have put them, and cost neither time nor
        energy: the data set that is in the drive when an experiment begins.

        Args:
            count: How many, at least 1.
            bits: Length of each.
            inverse: Store the inverse of each, as in `write`.
            progress: Called with the number of vectors that are set up.

        Returns:
            The vectors, in order. If an error ends the call early, those before it are stored.

        Raises:
            UsageError: A number or length that cannot be, another length than the group has, or a full drive.
        """
        if not 1 <= count <= COUNT_MAX or not 1 <= bits <= BITS_MAX:
            raise UsageError(
                f"count = {quoted(count)}, bits = {quoted(bits)}: count is from 1 to {COUNT_MAX}, "
                f"bits from 1 to {BITS_MAX}"
            )
        home, stored = self._home_to_write(), self.vectors()
        first = max((vector.number for vector in stored), default=-1) + 1
        try:
            self.drive._native.place_vectors((self.number, first), count, bits, inverse, progress, home)
        except UsageError as error:
            placed = len(self.vectors()) - len(stored)
            raise UsageError(f"{self}, {placed:,} of {count:,} vectors placed: {error}") from None
        return [BitVector(self, number, bits, inverse) for number in range(first, first + count)]

    def _home_to_write(self) -> tuple[int, int]:
        """The home, if it is the one that was asked for and the drive has such dies."""
        home, wanted = self.home, self._wanted_home
        if wanted is not None and home != wanted:
            raise UsageError(
                f"{self} lies on {_dies(home)}, not on {_dies(wanted)}: "
                "ask for it without a home, or delete it first"
            )
        return home

    def vectors(self) -> list[BitVector]:
        """The group's vectors that the drive holds, by number."""
        stored = self.drive._native.vectors(self.number)
        return [BitVector(self, number, bits, inverse) for _, number, bits, inverse in stored]

    def delete(self) -> None:
        """Delete all vectors of the group.

        Raises:
            NvmeError: It holds none.
        """
        try:
            self.drive._native.delete_vectors(self.number)
        except NvmeError as error:
            raise error.about(str(self)) from None


def _full(error: NvmeError) -> str:
    """What may help where there is no room for a vector."""
    if error.status != "Vector Group Full":
        return ""
    return " (the blocks for computing are used up, or there are none: see bits.compute_blocks_percent)"


def _dies(home: tuple[int, int]) -> str:
    """A home in words."""
    first, dies = home
    return f"{counted(dies, 'die') if dies else 'all dies'} from die {first} on"


def _not_combined(other: object) -> str:
    kind = "NumPy array" if isinstance(other, np.ndarray) else type(other).__name__
    return (
        f"a vector on a drive does not combine with a {kind}: "
        "write that into a group first, or read() the vector"
    )


def _pack(vector: Vector, bits: int | None) -> tuple[bytes, int]:
    """A vector as packed bytes, and its length in bits."""
    if bits is not None and bits < 1:
        raise UsageError(f"bits = {quoted(bits)}: a vector has at least one bit")
    if isinstance(vector, bytes | bytearray | memoryview):
        packed = bytes(vector)
        if not packed:
            raise UsageError("the vector is empty; a vector has at least one bit")
        length = 8 * len(packed) if bits is None else bits
        if -(-length // 8) != len(packed):
            raise UsageError(
                f"{len(packed)} bytes hold no vector of {quoted(length)} bits, which takes "
                f"{quoted(-(-length // 8))}"
            )
        return packed, length
    array = np.asarray(vector)
    if array.size == 0:
        raise UsageError("the vector is empty; a vector has at least one bit")
    if array.dtype != np.bool_:
        raise TypeError(
            f"a vector is an array of bools, not of {array.dtype}: compare (x != 0), or give packed bytes"
        )
    if array.ndim != 1:
        raise TypeError(
            f"a vector has one dimension, not {array.ndim}; write takes a collection of vectors: "
            "for a single one, give a list of it"
        )
    if bits is not None and bits != len(array):
        raise UsageError(f"an array of {len(array)} bools is no vector of {quoted(bits)} bits")
    return np.packbits(array, bitorder="little").tobytes(), len(array)
