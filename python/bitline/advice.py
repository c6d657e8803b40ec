"""Where to put vectors: groups and inversions for expressions that will be asked so and so often.

```python
advice = bitline.advise({"jan & feb & mar": 10, "red | green | blue": 1})
for group in advice.groups:
    print(group)
print(advice.senses_before, "->", advice.senses)
```

Of expressions over vectors on a drive, `advice.apply()` places them so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bitline import _bitline
from bitline.arguments import PathLike
from bitline.bits import BITS_MAX, BitExpression, BitVector
from bitline.display import Displayed, Result
from bitline.errors import UsageError
from bitline.opening import Setting, configuration
from bitline.symbols import Formula, parse
from bitline.units import Duration, Energy, counted, quoted

if TYPE_CHECKING:
    from bitline.columns import Predicate
    from bitline.drive import Drive

#: An expression over names, one over vectors on a drive, or a predicate of an index, which is one.
Asked: TypeAlias = "str | Formula | BitExpression | Predicate"

#: Frequencies are compared as whole numbers of this part.
_PARTS = 1000
_TIMES_MAX = ((1 << 63) - 1) // _PARTS


@dataclass(frozen=True)
class Member:
    """A vector of a proposed group."""

    name: str
    """Its name; of a vector on a drive `GROUP:VECTOR`."""
    inverse: bool
    """Whether its inverse is to be stored."""

    def __str__(self) -> str:
        return f"~{self.name}" if self.inverse else self.name


@dataclass(frozen=True)
class AdvisedExpression:
    """What one expression costs.

    Senses and pages are for each page of its vectors, time and energy those of counting its ones, by whoever
    is fastest on a drive that does nothing else.
    """

    expression: str
    """In words."""
    frequency: float
    """How often it is asked."""
    senses_before: int
    """Senses as vectors are placed."""
    senses: int
    """Senses as proposed."""
    page_transfers_before: int
    """Pages that leave the dies as vectors are placed."""
    page_transfers: int
    """The same as proposed."""
    time_before: Duration
    """How long it takes as vectors are placed."""
    time: Duration
    """The same as proposed."""
    energy_before: Energy
    """What it spends as vectors are placed."""
    energy: Energy
    """The same as proposed."""


@dataclass(frozen=True)
class Replacing:
    """What it takes to place vectors anew, as `Advice.apply` does, and when that has paid back.

    They are read and written one after another, and then named all at once.
    """

    vectors: int
    """Vectors to be written anew."""
    time: Duration
    """About how long reading and writing them takes."""
    energy: Energy
    """About what that spends, but for erasing blocks that are empty then."""
    questions_for_time: int | None
    """Questions, asked in proportion, after which time is won; None if none is."""
    questions_for_energy: int | None
    """Questions after which energy is won; None if none is."""


@dataclass(frozen=True)
class Applied:
    """What following advice has made of vectors and questions."""

    vectors: Mapping[str, BitVector]
    """Vectors that were moved, by what they were called before: `GROUP:VECTOR`."""
    expressions: tuple[BitExpression, ...]
    """The expressions that were asked about, over the vectors as they are now."""


@dataclass(frozen=True, repr=False)
class Advice(Displayed):
    """Groups and inversions, and what they save."""

    groups: tuple[tuple[Member, ...], ...]
    """As proposed; vectors in the order in which they are to be written."""
    groups_before: tuple[tuple[Member, ...], ...]
    """As given: one group, nothing inverted, unless told otherwise."""
    expressions: tuple[AdvisedExpression, ...]
    """In the order asked."""
    replacing: Replacing
    """What following it takes."""

    # No field: what is advised is a plain value, and this is where it can be followed.
    _of = None

    def __getstate__(self) -> dict[str, object]:
        """What is advised, without the drive."""
        return {key: value for key, value in self.__dict__.items() if key != "_of"}

    def apply(self) -> Applied:
        """Follow it: vectors of each new group are moved to one, stored inverted where that was proposed.

        Groups are called `advised_1` and so on, and vectors as before; where two of a group would have the
        same name, each is `GROUP:VECTOR` from then on. All are moved at once: a power cut leaves them where
        they were, or has them moved. A vector that was moved is found as the answer has it, and no more as it
        was. The drive erases emptied blocks then, for which a question that follows at once may wait.

        Raises:
            UsageError: It is about names; a vector that was deleted; vectors of a bitmap index, which stay
                where the index has written them.
            NvmeError: What the drive reports, such as Vector Group Full.
        """
        if self._of is None:
            raise UsageError("advice on names cannot be applied: ask for advice on vectors of a drive")
        return self._of.apply()

    @property
    def senses_before(self) -> float:
        """Senses of all expressions, each as often as it is asked, as vectors are placed."""
        return sum(row.frequency * row.senses_before for row in self.expressions)

    @property
    def senses(self) -> float:
        """The same as proposed."""
        return sum(row.frequency * row.senses for row in self.expressions)

    def _shown(self) -> Result:
        from bitline.display.advice import summary

        return summary(self)

    def _line(self) -> str:
        groups = counted(len(self.groups), "group")
        return f"{groups}, {self.senses_before:g} -> {self.senses:g} senses"

    def _rows(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.expressions]


def advise(
    expressions: "Asked | Mapping[Asked, float] | Iterable[Asked | tuple[Asked, float]]",
    *,
    groups: Iterable[Sequence[str]] = (),
    inverse: Iterable[str] = (),
    bits: int | None = None,
    preset: str | None = None,
    config: PathLike | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002 (as bitline.open)
) -> Advice:
    """Propose groups and inversions for expressions that will be asked so and so often.

    Args:
        expressions: One expression; or several, each alone (asked once) or with how often it is asked; or a
            mapping from expressions to that. An expression is text such as `"a & (b | ~c)"`, a `Formula`, or
            an expression over vectors of a drive, which are then where they are and as long; a predicate of a
            bitmap index is one of these.
        groups: Where vectors are before, by names; those in none share a group. Not for vectors on a drive.
        inverse: Names of those whose inverse is stored before.
        bits: Length of vectors that are names; a page in every plane if not given.
        preset: The drive: a name of `bitline.presets()`; that of vectors on a drive is theirs.
        config: A TOML file instead of a preset.
        set: Single keys to override, such as `{"nand.mws.blocks_max": 2}`.

    Returns:
        The arrangement found that takes the least time on a drive that does nothing else, by whoever is
        fastest; the one before unless that takes a hundredth less, or as much time and a hundredth less
        energy. The search is a climb from several starting points: for up to a handful of vectors it finds
        the best, for many a good one.

    Raises:
        UsageError: No expression, a frequency or length that is none, names that are in no expression or in
            two groups, expressions over names and over vectors, or over vectors on different drives; a
            predicate that is true of all rows or of none, which no drive is asked for.
        ConfigError: As `bitline.open`.
    """
    asked = _listed(expressions)
    if not asked:
        raise UsageError("advise: give at least one expression")
    stored: list[tuple[BitExpression, int]] = []
    formulas: list[tuple[Formula, int]] = []
    for expression, frequency in asked:
        found = _understood(expression)
        if isinstance(found, BitExpression):
            stored.append((found, _parts(frequency)))
        else:
            formulas.append((found, _parts(frequency)))
    if not stored:
        return _of_names(formulas, groups, inverse, bits, configuration(preset, config, set))
    if formulas:
        raise UsageError("advise: give expressions over names, or over vectors on a drive, not both")
    if groups or inverse or bits or preset or config or set:
        raise UsageError("advise: vectors on a drive are where they are, and so is their drive")
    return _of_stored(stored)


def _listed(
    expressions: "Asked | Mapping[Asked, float] | Iterable[Asked | tuple[Asked, float]]",
) -> "list[tuple[Asked, float]]":
    """Expressions, each with how often it is asked."""
    if isinstance(expressions, Mapping):
        return [*expressions.items()]
    if isinstance(expressions, str | BitExpression) or not isinstance(expressions, Iterable):
        return [(expressions, 1)]
    return [each if isinstance(each, tuple) else (each, 1) for each in expressions]


def _understood(asked: "Asked") -> Formula | BitExpression:
    if isinstance(asked, str):
        return parse(asked)
    if isinstance(asked, Formula | BitExpression):
        return asked
    # What indexes are made with need not be installed: a predicate is known by what it can do, a column of
    # bools as well.
    asked = getattr(asked, "predicate", asked)
    if not callable(getattr(asked, "bits", None)):
        raise TypeError(
            f"advise: a {type(asked).__name__} is no expression: give text, a Formula, an expression over "
            "vectors or a predicate"
        )
    bits = asked.bits()
    if isinstance(bits, bool):
        rows = "all rows" if bits else "no row"
        raise UsageError(f"advise: {asked!r} is true of {rows}, which the drive is not asked for")
    return bits


def _parts(frequency: float) -> int:
    # Of those beyond it the product may be no number; neither is one that compares to nothing.
    parts = round(frequency * _PARTS) if abs(frequency) <= _TIMES_MAX else 0
    if not 1 <= parts < 1 << 63:
        raise UsageError(
            f"advise: an expression is asked {quoted(frequency)} times; it must be from 0.001 to {_TIMES_MAX}"
        )
    return parts


def _of_names(
    asked: Sequence[tuple[Formula, int]],
    groups: Iterable[Sequence[str]],
    inverse: Iterable[str],
    bits: int | None,
    config: _bitline.Config,
) -> Advice:
    if bits is not None and not 1 <= bits <= BITS_MAX:
        raise UsageError(f"bits = {quoted(bits)}: a vector has from 1 to {BITS_MAX} bits")
    names = list(dict.fromkeys(name for formula, _ in asked for name in formula.names))
    numbers = {name: number for number, name in enumerate(names)}
    inverted = {*inverse}
    group_of: dict[str, int] = {}
    for number, group in enumerate(groups, 1):
        for name in group:
            if group_of.setdefault(name, number) != number:
                raise UsageError(f"advise: {name} is in two groups")
    unknown = sorted(({*group_of} | inverted) - {*names})
    if unknown:
        raise UsageError(f"advise: no expression names {', '.join(unknown)}")
    given = [((0, numbers[name]), group_of.get(name, 0), name in inverted) for name in names]
    codes = [(formula.code(numbers), parts) for formula, parts in asked]
    words = [str(formula) for formula, _ in asked]
    native = _bitline.advise(config, codes, given, bits)
    return _advice(native, codes, words, {(0, number): name for name, number in numbers.items()})


def _of_stored(asked: Sequence[tuple[BitExpression, int]]) -> Advice:
    drive = asked[0][0].drive
    if any(expression.drive is not drive for expression, _ in asked):
        raise UsageError("advise: these vectors are on different drives")
    codes = [(expression._node.code(), parts) for expression, parts in asked]
    words = [expression._node.words() for expression, _ in asked]
    names: dict[tuple[int, int], str] = {}
    for expression, _ in asked:
        names |= expression._node.labels()
    with asked[0][0]._named_errors():
        native = drive._native.advise(codes)
    of = _OfDrive([expression for expression, _ in asked], native, names)
    return _advice(native, codes, words, names, of)


@dataclass(frozen=True)
class _OfDrive:
    """Advice that can be followed, on the drive that holds the vectors."""

    expressions: Sequence[BitExpression]
    native: _bitline.Advice
    names: Mapping[tuple[int, int], str]

    def apply(self) -> Applied:
        drive = self.expressions[0].drive
        self._refuse_indexes(drive)
        with self.expressions[0]._named_errors():
            applied = drive._native.apply(self.native)
        moved = {vector: BitVector(drive.group(group), row) for vector, group, row in applied}
        called = {vector: (found._id, f"{found.group.name}:{found.name}") for vector, found in moved.items()}
        expressions = [
            BitExpression(drive, len(expression), expression._node.moved(called))
            for expression in self.expressions
        ]
        return Applied({self.names[vector]: found for vector, found in moved.items()}, tuple(expressions))

    def _refuse_indexes(self, drive: "Drive") -> None:
        (before, _), (after, _) = self.native.before(), self.native.after()
        there = {frozenset(group) for group in before}
        new = [group for group in after if frozenset(group) not in there]
        if not new or not any(each.kind == "table" for each in drive.volume.objects()):
            return
        from bitline.columns import stored

        named = {self.names[vector].rpartition(":")[0] for group in new for vector, _ in group}
        for index in stored.names(drive):
            found = stored.read(drive, index)
            if found is not None and (written := named & {*found.groups(index)}):
                raise UsageError(
                    f"group {min(written)!r} is of index {index!r}, whose vectors stay where they are"
                )


def _advice(
    native: _bitline.Advice,
    asked: list[tuple[_bitline.Expression, int]],
    words: Sequence[str],
    names: Mapping[tuple[int, int], str],
    of: _OfDrive | None = None,
) -> Advice:
    (before, costs_before), (after, costs_after) = native.before(), native.after()
    vectors, time, energy, for_time, for_energy = native.replacing()

    def members(groups: list[list[tuple[tuple[int, int], bool]]]) -> tuple[tuple[Member, ...], ...]:
        return tuple(tuple(Member(names[vector], inverse) for vector, inverse in group) for group in groups)

    rows = zip(words, asked, costs_before, costs_after, strict=True)
    advice = Advice(
        groups=members(after),
        groups_before=members(before),
        expressions=tuple(
            AdvisedExpression(
                expression=expression,
                frequency=parts / _PARTS,
                senses_before=senses_before,
                senses=senses,
                page_transfers_before=pages_before,
                page_transfers=pages,
                time_before=Duration(time_before),
                time=Duration(time_after),
                energy_before=Energy(energy_before),
                energy=Energy(energy_after),
            )
            for (
                expression,
                (_, parts),
                (senses_before, pages_before, time_before, energy_before),
                (senses, pages, time_after, energy_after),
            ) in rows
        ),
        replacing=Replacing(vectors, Duration(time), Energy(energy), for_time, for_energy),
    )
    object.__setattr__(advice, "_of", of)
    return advice
