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
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bitline.errors import DisagreementError, NvmeError, UsageError
from bitline.expression import Node
from bitline.units import counted

if TYPE_CHECKING:
    from bitline.drive import Drive

Platform: TypeAlias = Literal["flash-cosmos", "parabit", "in-storage", "host"]
"""Who evaluates an expression.

- `"flash-cosmos"`: the array senses many operands at once (multi-wordline sensing).
- `"parabit"`: the array senses one operand after another into its latches.
- `"in-storage"`: the controller's accelerator combines operands read over the channels.
- `"host"`: the host reads every operand over PCIe and combines them.
"""

#: All of them, from the host inwards.
PLATFORMS: tuple[Platform, ...] = ("host", "in-storage", "parabit", "flash-cosmos")

#: The longest vector, in bits.
BITS_MAX = (1 << 48) - 1

Vector: TypeAlias = ArrayLike | bytes | bytearray | memoryview
#: Name, number, length in bits, whether inverted, name in expressions, extents.
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
        """Bits of the result, which is read as a whole."""
        return self.read()[index]

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
        return self._drive._native.explain(self._node.code(), platform)

    def explanation(
        self, platform: Platform = "flash-cosmos", *, bits: int | None = None, count: bool = False
    ) -> dict[str, Any]:
        """How the expression would be evaluated, and what that would take, as in `bitline explain --json`.

        Nothing is carried out. Time and energy are estimates for a drive that does nothing else: energy is
        what the accounts would say, time what a simulation of the same senses, channels and link takes.

        Args:
            platform: Who evaluates it.
            bits: Length of the vectors that times and energies are for; by default that which they have.
            count: Of `count()`, not of `read()`.

        Returns:
            The plan as nested parts under `root`, times in ns and energies in pJ under `estimate`.

        Raises:
            UsageError: No such platform, or no bits.
            NvmeError: As `read`.
        """
        return self._explanation(platform, bits, count, self._node.labels())

    def _explanation(
        self, platform: Platform, bits: int | None, count: bool, labels: dict[tuple[int, int], str]
    ) -> dict[str, Any]:
        """The same with vectors called as `labels` says."""
        if bits is not None and bits < 1:
            raise UsageError(f"bits = {bits}: a vector has at least one bit")
        told = self._drive._native.explanation(self._node.code(), platform, bits, count, labels)
        explanation: dict[str, Any] = json.loads(told)
        return explanation

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
            stored = {vector._id for group in self._drive.groups for vector in group}
            missing = [label for vector, label in self._node.labels().items() if vector not in stored]
            where = ", ".join(missing[:3])
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

    __slots__ = ("_id", "extents", "group", "inverse", "name", "number")

    def __init__(self, group: "Group", row: "VectorRow") -> None:
        name, number, length, inverse, vector, extents = row
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
        self.extents = extents
        """Where it lies: first logical block and number of blocks of each run, as `drive.read` takes them."""

    def delete(self) -> None:
        """Delete it from the drive.

        Raises:
            UsageError: It is not there any more.
        """
        self.drive._names.delete_vectors(self.group.name, self.number)


class Group:
    """Vectors of equal length that will meet in operations; the drive places them so that they can.

    Vectors of one group share strings of cells: an AND of them is one sense, and so is an OR if they are
    stored inverted. Vectors of different groups lie in different blocks of the same planes: an OR over
    a few groups, each an AND, is one sense too (Flash-Cosmos, section 6).

    A group lies on all dies of the drive unless it was given a home, some of them. Groups of different homes
    do not meet in the latches: the controller combines them, or pages of one are brought to the other's dies,
    whichever is estimated to take less time (`bits.meeting`).

    Its name and those of its vectors are kept on the drive. A group is a collection of its vectors: it has a
    length, is iterated over, and `group["name"]` or `group[number]` is one of them.
    """

    def __init__(self, drive: "Drive", name: str, home: tuple[int, int] | None = None) -> None:
        self.drive = drive
        """The drive."""
        self.name = name
        """Its name."""
        self._wanted_home = home

    @property
    def home(self) -> tuple[int, int]:
        """Where it lies, or will lie: the die of the first page, and how many dies are used (0: all).

        Dies are counted channels first: with eight channels, dies 0 to 7 are the first of each.
        """
        homes = [home for name, _, _, home, _ in self.drive._names.groups() if name == self.name]
        return homes[0] if homes else self._wanted_home or (0, 0)

    def __repr__(self) -> str:
        return f"<Group {self.name!r}>"

    def __str__(self) -> str:
        return f"group {self.name!r}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("groups live on a drive in this process and cannot be pickled")

    def __len__(self) -> int:
        return len(self.vectors())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[BitVector]:
        return iter(self.vectors())

    def __contains__(self, name: object) -> bool:
        return any(name == vector.name for vector in self.vectors())

    def __getitem__(self, which: str | int) -> BitVector:
        """A vector by its name or number.

        Raises:
            KeyError: There is none.
        """
        for vector in self.vectors():
            if which == (vector.number if isinstance(which, int) else vector.name):
                return vector
        raise KeyError(f"{self} has no vector {which!r}")

    def rename(self, name: str) -> None:
        """Give it another name.

        Raises:
            UsageError: It is not on the drive, the name is taken, or is none.
        """
        self.drive._names.rename_object(self.name, name)
        self.name = name

    def write(
        self,
        vectors: Iterable[Vector],
        *,
        inverse: bool = False,
        bits: int | None = None,
        names: Iterable[str] | None = None,
    ) -> list[BitVector]:
        """Write vectors, one after the other, under the next free numbers of the group: all of them, or none.

        Args:
            vectors: Each a one-dimensional array (or list) of bools; or packed bytes, bit i of the vector in
                bit i % 8 (least significant first) of byte i // 8.
            inverse: Store the inverse of each, which suits ORs: an OR of inverted vectors is one sense.
            bits: Length of packed vectors; 8 bits a byte if not given.
            names: A name for each, their numbers if not given. Names are UTF-8 of up to 255 bytes.

        Returns:
            The vectors, in order.

        Raises:
            TypeError: Something else than a collection of vectors of bits.
            UsageError: A vector of no bits, or of another length than the group has; `bits` that do not
                fit; a home that the drive has not, or another than the group has; names that are taken.
            NvmeError: What the drive reports, such as a full group.
        """
        flat = isinstance(vectors, np.ndarray) and vectors.ndim < 2
        single = flat or isinstance(vectors, bytes | bytearray | memoryview | str | BitExpression)
        if single or not isinstance(vectors, Iterable):
            raise TypeError("write takes a collection of vectors; for a single one, give a list of it")
        home, stored = self._home_to_write(), self.vectors()
        free = max((vector.number for vector in stored), default=-1) + 1
        wanted = len(stored[0]) if stored else None
        rows: list[bytes] = []
        for number, vector in enumerate(vectors, free):
            packed, length = _pack(vector, bits)
            if wanted is not None and length != wanted:
                raise UsageError(
                    f"{self}, vector {number}: it has {counted(length, 'bit')}, the others of the group have "
                    f"{wanted:,}; vectors of one group are equally long"
                )
            wanted = length
            rows.append(packed)
        if wanted is None or not rows:
            return []
        given = None if names is None else list(names)
        try:
            written = self.drive._names.write_vectors(self.name, rows, wanted, inverse, given, home)
        except NvmeError as error:
            raise error.about(f"{self}{_full(error)}") from None
        return [BitVector(self, row) for row in written]

    def place(
        self,
        count: int,
        *,
        bits: int,
        inverse: bool = False,
        names: Iterable[str] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[BitVector]:
        """Set up vectors of zeroes as if they had been written before, under the next free numbers.

        They are where writing them one after the other would have put them. They themselves cost neither time
        nor energy, only their names do: the data set that is in the drive when an experiment begins.

        Args:
            count: How many, at least 1.
            bits: Length of each.
            inverse: Store the inverse of each, as in `write`.
            names: A name for each, as in `write`.
            progress: Called with the number of vectors that are set up.

        Returns:
            The vectors, in order. If an error ends the call early, those before it are stored.

        Raises:
            UsageError: A number or length that cannot be, another length than the group has, or a full drive.
        """
        if count < 1 or not 1 <= bits <= BITS_MAX:
            raise UsageError(
                f"count = {count}, bits = {bits}: count is at least 1, bits from 1 to {BITS_MAX}"
            )
        home, before = self._home_to_write(), len(self)
        given = None if names is None else list(names)
        try:
            placed = self.drive._names.place_vectors(self.name, count, bits, inverse, given, progress, home)
        except UsageError as error:
            there = len(self) - before
            raise UsageError(f"{self}, {there:,} of {count:,} vectors placed: {error}") from None
        return [BitVector(self, row) for row in placed]

    def _home_to_write(self) -> tuple[int, int] | None:
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
        return [BitVector(self, row) for row in self.drive._names.group_vectors(self.name)]

    def delete(self) -> None:
        """Delete it with all of its vectors.

        Raises:
            UsageError: It is not there.
        """
        self.drive._names.delete_vectors(self.name)


class Groups:
    """The groups of a drive: a collection in the order of names; `groups["name"]` is one that is there."""

    def __init__(self, drive: "Drive") -> None:
        self._drive = drive

    def _stored(self) -> list[str]:
        return [name for name, *_ in self._drive._names.groups()]

    def __repr__(self) -> str:
        return f"<Groups {', '.join(self._stored()) or 'none'}>"

    def __len__(self) -> int:
        return len(self._stored())

    def __iter__(self) -> Iterator[Group]:
        return iter([Group(self._drive, name) for name in self._stored()])

    def __contains__(self, name: object) -> bool:
        return name in self._stored()

    def __getitem__(self, name: str) -> Group:
        """A group that the drive holds.

        Raises:
            KeyError: There is none of this name.
        """
        if name not in self:
            raise KeyError(f"the drive has no group {name!r}; it has {', '.join(self._stored()) or 'none'}")
        return Group(self._drive, name)


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
        raise UsageError(f"bits = {bits}: a vector has at least one bit")
    if isinstance(vector, bytes | bytearray | memoryview):
        packed = bytes(vector)
        if not packed:
            raise UsageError("the vector is empty; a vector has at least one bit")
        length = 8 * len(packed) if bits is None else bits
        if -(-length // 8) != len(packed):
            raise UsageError(
                f"{len(packed)} bytes hold no vector of {length} bits, which takes {-(-length // 8)}"
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
        raise UsageError(f"an array of {len(array)} bools is no vector of {bits} bits")
    return np.packbits(array, bitorder="little").tobytes(), len(array)
