"""Groups of vectors of bits on a drive, by name."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from bitline.bits import BITS_MAX, BitExpression, BitVector
from bitline.errors import NvmeError, UsageError
from bitline.packing import Vector, packed_bits
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from bitline.drive import Drive

#: The most vectors of a group: their numbers have 32 bits.
COUNT_MAX = (1 << 32) - 1
#: Vectors that are written by one change of the catalogue, in bytes, or a single longer one.
_BYTES_AT_ONCE = 256 << 20


class Group:
    """Vectors of equal length that will meet in operations; the drive places them so that they can.

    Vectors of one group share strings of cells: an AND of them is one sense, and so is an OR if they are
    stored inverted. Vectors of different groups lie in different blocks of the same planes: an OR over
    a few groups, each an AND, is one sense too (Flash-Cosmos, section 6).

    A group lies on all dies of the drive unless it was given a home, some of them. Groups of different homes
    do not meet in the latches: the controller combines them, or pages of one are brought to the other's dies,
    whichever is estimated to take less time (`bits.route`).

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
        homes = [home for name, _, home, _ in self.drive._names.groups() if name == self.name]
        return homes[0] if homes else self._wanted_home or (0, 0)

    @property
    def bits(self) -> int | None:
        """Length of each vector, in bits; None if it has no vectors."""
        groups = self.drive._names.groups()
        return next((bits for name, bits, _, count in groups if name == self.name and count), None)

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
        """A vector by its name, or by its number.

        Raises:
            KeyError: There is none.
        """
        for vector in self.vectors():
            if which == (vector.number if isinstance(which, int) else vector.name):
                return vector
        raise KeyError(f"{self} has no vector {which!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.drive, self.name) == (other.drive, other.name)

    def __hash__(self) -> int:
        return hash((id(self.drive), self.name))

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
        """Write vectors, one after the other, under the next free numbers of the group.

        They are there all together, or none of them is; more than 256 MiB are written in several such parts.

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
        if isinstance(names, str):
            raise TypeError("names are a collection of one name for each vector; this is a single str")
        given = None if names is None else list(names)
        home, length = self._home_to_write(), self.bits or 0
        written: list[BitVector] = []
        rows: list[bytes] = []

        def commit() -> None:
            begin = len(written)
            named = None if given is None else given[begin : begin + len(rows)]
            try:
                done = self.drive._names.write_vectors(self.name, rows, length, inverse, named, home)
            except NvmeError as error:
                raise error.about(f"{self}{_full(error)}") from None
            written.extend(BitVector(self, row) for row in done)
            rows.clear()

        for index, vector in enumerate(vectors):
            packed, found = packed_bits(vector, bits)
            if found != (length or found):
                raise UsageError(
                    f"{self}, vector {index} of those given: it has {counted(found, 'bit')}, the others of "
                    f"the group have {length:,}; vectors of one group are equally long"
                )
            length = found
            if rows and (len(rows) + 1) * len(packed) > _BYTES_AT_ONCE:
                commit()
            rows.append(packed)
        if given is not None and len(given) != len(written) + len(rows):
            raise UsageError(
                f"{counted(len(given), 'name')} for {counted(len(written) + len(rows), 'vector')}: "
                "give one for each"
            )
        if rows:
            commit()
        return written

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

        All of them are there then, or none, where writing them one after the other would have put them. They
        themselves cost neither time nor energy, only their names do: the data set that is in the drive when
        an experiment begins.

        Args:
            count: How many, at least 1.
            bits: Length of each.
            inverse: Store the inverse of each, as in `write`.
            names: A name for each, as in `write`.
            progress: Called with the number of vectors that are set up; an exception in it ends the call, and
                those are stored.

        Returns:
            The vectors, in order.

        Raises:
            UsageError: A number or length that cannot be, another length than the group has, or a full drive.
        """
        if not 1 <= count <= COUNT_MAX or not 1 <= bits <= BITS_MAX:
            raise UsageError(
                f"count = {quoted(count)}, bits = {quoted(bits)}: count is from 1 to {COUNT_MAX}, "
                f"bits from 1 to {BITS_MAX}"
            )
        home = self._home_to_write()
        given = None if names is None else list(names)
        try:
            placed = self.drive._names.place_vectors(self.name, count, bits, inverse, given, progress, home)
        except UsageError as error:
            raise UsageError(f"{self}, placing {counted(count, 'vector')}: {error}") from None
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
        self.drive._names.remove_object(self.name)


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
