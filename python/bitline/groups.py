"""Groups of vectors of bits on a drive, by name."""

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from bitline.arguments import is_unicode, new_name
from bitline.bits import BITS_MAX, BitExpression, BitVector, VectorRow
from bitline.errors import NotFoundError, NvmeError, UsageError
from bitline.packing import Vector, packed_bits
from bitline.pending import Answered, Pending
from bitline.units import counted, quoted

if TYPE_CHECKING:
    from bitline.drive import Drive

#: The most vectors of a group: their numbers have 32 bits.
COUNT_MAX = (1 << 32) - 1
#: Vectors that are written by one change of the catalogue, in bytes, or a single longer one.
_BYTES_AT_ONCE = 256 << 20
#: Names that an error lists.
_NAMES_SHOWN = 12


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
        found = self.drive._volume.group(self.name)
        return found[2] if found else self._wanted_home or (0, 0)

    @property
    def bits(self) -> int | None:
        """Length of each vector, in bits; None if it has no vectors."""
        found = self.drive._volume.group(self.name)
        return found[1] if found and found[3] else None

    def __repr__(self) -> str:
        return f"<Group {self.name!r}>"

    def __str__(self) -> str:
        return f"group {self.name!r}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("groups live on a drive in this process and cannot be pickled")

    def __len__(self) -> int:
        found = self.drive._volume.group(self.name)
        return found[3] if found else 0

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[BitVector]:
        return iter(self.vectors())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._found(name) is not None

    def __getitem__(self, which: str | int) -> BitVector:
        """A vector by its name, or by its number.

        Raises:
            KeyError: There is none.
        """
        found = self._found(which)
        if found is None:
            names = [vector.name for vector in self]
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            raise KeyError(f"{self} has no vector {which!r}; it has {shown or 'none'}")
        return BitVector(self, found)

    def _found(self, which: str | int) -> VectorRow | None:
        try:
            if isinstance(which, str):
                return self.drive._volume.vector_named(self.name, which) if is_unicode(which) else None
            number = operator.index(which)
            return self.drive._volume.vector_numbered(self.name, number) if 0 <= number < COUNT_MAX else None
        except NotFoundError:
            return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.drive, self.name) == (other.drive, other.name)

    def __hash__(self) -> int:
        return hash((id(self.drive), self.name))

    def rename(self, name: str) -> None:
        """Give it another name.

        Raises:
            UsageError: It is not on the drive, the name is taken, or is none.
        """
        self.drive._volume.rename_object(self.name, new_name(name))
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
        Each call commits names once, which takes some 0.8 ms of simulated time on the drive of the default
        preset: many vectors are one `write`, not many.

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
        given, length, written = _names(names), 0, list[BitVector]()
        rows: list[bytes] = []

        def commit() -> None:
            begin = len(written)
            named = None if given is None else given[begin : begin + len(rows)]
            home = self._wanted_home
            with self._about_itself():
                done = self.drive._volume.write_vectors(self.name, rows, length, inverse, named, home)
            written.extend(BitVector(self, row) for row in done)
            rows.clear()

        for packed, found in _packed(vectors, bits):
            length = found
            if rows and (len(rows) + 1) * len(packed) > _BYTES_AT_ONCE:
                commit()
            rows.append(packed)
        if given is not None and len(given) != len(written) + len(rows):
            raise _names_for(given, len(written) + len(rows))
        if rows:
            commit()
        return written

    def submit_write(
        self,
        vectors: Iterable[Vector],
        *,
        inverse: bool = False,
        bits: int | None = None,
        names: Iterable[str] | None = None,
    ) -> Pending[list[BitVector]]:
        """Begin to write vectors, as `write` does, and go on: what else was submitted is written meanwhile.

        All of them are one change, of up to 4 GiB. What is submitted to one group after each other may be
        numbered in another order.

        Returns:
            A handle; its `result()` is what `write` gives.

        Raises:
            TypeError: As `write`.
            UsageError: Vectors of different lengths, more or fewer names; the rest is told by `result()`.
        """
        given, rows = _names(names), list(_packed(vectors, bits))
        if given is not None and len(given) != len(rows):
            raise _names_for(given, len(rows))
        if not rows:
            return Pending(Answered(), lambda _: [])
        packed, length = [row for row, _ in rows], rows[0][1]
        native = self.drive._volume.submit_vectors(
            self.name, packed, length, inverse, given, self._wanted_home
        )
        return Pending(native, lambda done: [BitVector(self, row) for row in done], self._about_itself)

    @contextmanager
    def _about_itself(self) -> Iterator[None]:
        """An error of the drive says which group it is about."""
        try:
            yield
        except NvmeError as error:
            raise error.about(f"{self}{_full(error)}") from None

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
        given, home = _names(names), self._wanted_home
        try:
            placed = self.drive._volume.place_vectors(self.name, count, bits, inverse, given, progress, home)
        except UsageError as error:
            raise UsageError(f"{self}, placing {counted(count, 'vector')}: {error}") from None
        return [BitVector(self, row) for row in placed]

    def vectors(self) -> list[BitVector]:
        """The group's vectors that the drive holds, by number."""
        return [BitVector(self, row) for row in self.drive._volume.group_vectors(self.name)]

    def delete(self) -> None:
        """Delete it with all of its vectors.

        Raises:
            UsageError: It is not there.
        """
        self.drive._volume.remove_object(self.name)


class Groups:
    """The groups of a drive: a collection in the order of names; `groups["name"]` is one that is there."""

    def __init__(self, drive: "Drive") -> None:
        self._drive = drive

    def _stored(self) -> list[str]:
        return [name for name, *_ in self._drive._volume.groups()]

    def __repr__(self) -> str:
        return f"<Groups {', '.join(self._stored()) or 'none'}>"

    def __len__(self) -> int:
        return len(self._stored())

    def __iter__(self) -> Iterator[Group]:
        return iter([Group(self._drive, name) for name in self._stored()])

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not is_unicode(name):
            return False
        return self._drive._volume.group(name) is not None

    def __getitem__(self, name: str) -> Group:
        """A group that the drive holds.

        Raises:
            KeyError: There is none of this name.
        """
        if name not in self:
            raise KeyError(f"the drive has no group {name!r}; it has {', '.join(self._stored()) or 'none'}")
        return Group(self._drive, name)


def _names_for(names: list[str], vectors: int) -> UsageError:
    return UsageError(f"{counted(len(names), 'name')} for {counted(vectors, 'vector')}: give one for each")


def _names(names: Iterable[str] | None) -> list[str] | None:
    """Names of vectors, as they are given."""
    if isinstance(names, str):
        raise TypeError("names are a collection of one name for each vector; this is a single str")
    return None if names is None else [new_name(name) for name in names]


def _packed(vectors: Iterable[Vector], bits: int | None) -> Iterator[tuple[bytes, int]]:
    """Vectors as packed bytes, with their length in bits, which all of them have."""
    flat = isinstance(vectors, np.ndarray) and vectors.ndim < 2
    single = flat or isinstance(vectors, bytes | bytearray | memoryview | str | BitExpression)
    if single or not isinstance(vectors, Iterable):
        raise TypeError("write takes a collection of vectors; for a single one, give a list of it")
    length = None
    for index, vector in enumerate(vectors):
        packed, found = packed_bits(vector, bits)
        if length not in (None, found):
            raise UsageError(
                f"vector {index} of those given has {counted(found, 'bit')}, those before it {length:,}; "
                "vectors of one group are equally long"
            )
        length = found
        yield packed, found


def _full(error: NvmeError) -> str:
    """What may help where there is no room for a vector."""
    if error.status != "Vector Group Full":
        return ""
    return " (the blocks for computing are used up, or there are none: see bits.compute_blocks_percent)"
