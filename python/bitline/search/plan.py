"""A cover of names as what the drive is asked: groups of patterns, so many and no more."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bitline.search.boxes import Box, Cover, hull
from bitline.search.layout import Layout
from bitline.search.store import Term, Terms
from bitline.search.ternary import Prefix, cover, packed, prefixes
from bitline.units import counted


@dataclass(frozen=True)
class Limit:
    """How many patterns a condition may become, as a message says it."""

    most: int
    """Patterns at most."""
    words: str
    """What says so."""
    settable: int = 0
    """Up to how many a greater `terms_max` helps; 0 if it is something else that limits."""


#: Of a deletion, in all its commands: each pattern is a search of all names.
DELETION = Limit(65_536, "a deletion has at most 65,536")


@dataclass(frozen=True)
class Plan:
    """What the drive is asked."""

    groups: Terms
    """Groups of patterns: none find nothing."""
    exact: bool
    """Whether they find what is meant and nothing else, as long as flash makes no mistake."""
    is_everything: bool
    """Whether they find every row."""

    @property
    def terms(self) -> int:
        """How many patterns."""
        return sum(map(len, self.groups))


def in_commands(groups: Terms, terms_max: int) -> Iterator[Terms]:
    """The groups as queries of at most so many patterns each, in their order.

    A group stays whole: one of columns in more search regions than a small `terms_max` has more patterns than
    that, and is a query of its own.
    """
    query, terms = Terms(), 0
    for group in groups:
        if query and terms + len(group) > terms_max:
            yield query
            query, terms = Terms(), 0
        query.append(group)
        terms += len(group)
    if query:
        yield query


def planned(found: Cover, layout: Layout, terms_max: int) -> Plan:
    """The groups that find a cover, with at most so many patterns."""
    if patterns_needed(found, layout) > terms_max < len(found.boxes) * len(layout.regions):
        found = hull(found)
    groups, exact = Terms(), found.exact
    shares = _shared([_need(box, layout) for box in found.boxes], terms_max)
    for box, most in zip(found.boxes, shares, strict=True):
        own, as_meant = _groups(box, layout, most)
        groups += own
        exact &= as_meant
        if not any(any(mask) for group in own for *_, mask in group):
            return Plan(own, exact, is_everything=True)
    return Plan(groups, exact, is_everything=False)


def too_many(needed: int, limit: Limit, so: str, words: str) -> str:
    """That a condition needs more patterns than it may have, and what helps.

    Args:
        needed: Patterns that it needs.
        limit: How many it may have.
        so: What follows from it.
        words: The condition.
    """
    helps = f"set terms_max = {needed}, or " if needed <= limit.settable else ""
    is_beyond = 0 < limit.settable < needed
    why = f" (a query of these names has at most {limit.settable:,})" if is_beyond else ""
    return (
        f"{words} needs {needed:,} patterns, and {limit.words}{why}, {so}: {helps}give fewer values or "
        "ranges at a time"
    )


def told_of(plan: Plan, indexes: Sequence[tuple[str, ...]]) -> str:
    """What the drive is asked, over these indexes."""
    if plan.is_everything:
        return "all rows"
    if not plan.groups:
        return "nothing, as no row can be meant"
    regions = sorted({region for group in plan.groups for region, *_ in group})
    names = "; ".join(f"index {region} ({', '.join(indexes[region])})" for region in regions)
    accuracy = "exactly" if plan.exact else "more than is meant"
    asked = f"{counted(plan.terms, 'pattern')} in {counted(len(plan.groups), 'group')}"
    return f"{asked} on {names}: {accuracy}"


def patterns_needed(found: Cover, layout: Layout) -> int:
    """How many patterns find what a cover has and nothing else."""
    return sum(_need(box, layout) for box in found.boxes)


def _need(box: Box, layout: Layout) -> int:
    found = [prefixes(codes, layout.code_bits(column)) for column, codes in box.items()]
    return math.prod(map(len, found)) * max(len(set(_regions(box, layout).values())), 1)


def _shared(needs: list[int], most: int) -> list[int]:
    """How many patterns each of some boxes may have: those that need few leave the rest to the others."""
    shares = [0] * len(needs)
    for done, box in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        shares[box] = min(needs[box], (most - sum(shares)) // (len(needs) - done))
    return shares


def _groups(box: Box, layout: Layout, terms_max: int) -> tuple[Terms, bool]:
    """The groups of a box: a combination of prefixes of its columns each."""
    where = _regions(box, layout)
    most = max(terms_max // max(len(set(where.values())), 1), 1)
    bits = {column: layout.code_bits(column) for column in box}
    found = {column: prefixes(codes, bits[column]) for column, codes in box.items()}
    exact = True
    while (product := math.prod(map(len, found.values()))) > most:
        longest = max(found, key=lambda column: len(found[column]))
        size = len(found[longest])
        # As many as fit beside those of the others, which are halved first where they are many, too.
        fewer = max(size // 2, most * size // product, 1)
        found[longest] = cover(box[longest], bits[longest], fewer)[0]
        exact = False
    combinations: list[dict[str, Prefix]] = [{}]
    for column, some in found.items():
        if some != [Prefix(0, 0)]:
            combinations = [{**known, column: each} for known in combinations for each in some]
    return [_terms(each, where, layout) for each in combinations], exact


def _terms(prefixes: dict[str, Prefix], where: dict[str, int], layout: Layout) -> list[Term]:
    """A pattern for each search region that columns are looked for in; anything if there are none."""
    regions = sorted({where[column] for column in prefixes}) or [0]
    terms = []
    for region in regions:
        begins, bits = layout.regions[region], layout.bits[region]
        parts = [(begins[column], prefix) for column, prefix in prefixes.items() if where[column] == region]
        terms.append((region, bits, *packed(parts, bits)))
    return terms


def _regions(box: Box, layout: Layout) -> dict[str, int]:
    """In which search region each column is looked for: in as few as find it."""
    left, found = set(box), dict[str, int]()
    while left:
        best = max(range(len(layout.regions)), key=lambda region: len(left & layout.regions[region].keys()))
        taken = left & layout.regions[best].keys()
        found.update(dict.fromkeys(taken, best))
        left -= taken
    return found
