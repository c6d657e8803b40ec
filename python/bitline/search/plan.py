"""A cover of names as what the drive is asked: groups of patterns, so many and no more."""

import math
from dataclasses import dataclass

from bitline.search.boxes import Box, Cover, hull
from bitline.search.layout import Layout
from bitline.search.store import Term, Terms
from bitline.search.ternary import Prefix, cover, packed


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


def planned(found: Cover, layout: Layout, terms_max: int) -> Plan:
    """The groups that find a cover, with at most so many patterns."""
    if len(found.boxes) * len(layout.regions) > terms_max:
        found = hull(found)
    groups, exact = Terms(), found.exact
    for box in found.boxes:
        own, as_meant = _groups(box, layout, terms_max // len(found.boxes))
        groups += own
        exact &= as_meant
        if not any(any(mask) for group in own for *_, mask in group):
            return Plan(own, exact, is_everything=True)
    return Plan(groups, exact, is_everything=False)


def _groups(box: Box, layout: Layout, terms_max: int) -> tuple[Terms, bool]:
    """The groups of a box: a combination of prefixes of its columns each."""
    where = _regions(box, layout)
    most = max(terms_max // max(len(set(where.values())), 1), 1)
    bits = {column: layout.code_bits(column) for column in box}
    prefixes = {column: cover(codes, bits[column], 1 << 62) for column, codes in box.items()}
    while math.prod(len(found) for found, _ in prefixes.values()) > most:
        longest = max(prefixes, key=lambda column: len(prefixes[column][0]))
        fewer = max(len(prefixes[longest][0]) // 2, 1)
        prefixes[longest] = cover(box[longest], bits[longest], fewer)
    combinations: list[dict[str, Prefix]] = [{}]
    for column, (found, _) in prefixes.items():
        if found != [Prefix(0, 0)]:
            combinations = [{**known, column: each} for known in combinations for each in found]
    groups = [_terms(each, where, layout) for each in combinations]
    return groups, all(exact for _, exact in prefixes.values())


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
