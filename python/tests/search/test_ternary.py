"""Ranges as ternary prefixes, held against counting."""

import itertools
import random

import pytest

from bitline.columns.ranges import union
from bitline.search.ternary import Prefix, big_endian, cover, intersection, packed, prefixes


def numbers(found: list[Prefix], bits: int) -> list[int]:
    """Every number that they have, as often as they have it."""
    return sorted(
        number
        for number in range(1 << bits)
        for prefix in found
        if number >> (bits - prefix.length) == prefix.value
    )


@pytest.mark.parametrize("bits", [1, 2, 5, 7])
def test_every_range_is_its_numbers_in_few_prefixes(bits: int) -> None:
    for first in range(1 << bits):
        for last in range(first, 1 << bits):
            found = prefixes(((first, last),), bits)
            assert numbers(found, bits) == list(range(first, last + 1))
            assert len(found) <= max(2 * bits - 2, 1)


def test_the_worst_range_takes_as_many_as_the_bound_says() -> None:
    assert len(prefixes(((1, (1 << 64) - 2),), 64)) == 2 * 64 - 2


def test_fewer_prefixes_have_everything_that_was_asked_for() -> None:
    random.seed(6)
    for _ in range(400):
        bits = random.randint(1, 8)
        ends = [sorted(random.choices(range(1 << bits), k=2)) for _ in range(random.randint(0, 6))]
        asked = union((first, last) for first, last in ends)
        most = random.randint(1, 6)
        found, exact = cover(asked, bits, most)
        wanted = [number for first, last in asked for number in range(first, last + 1)]
        assert len(found) <= most
        got = numbers(found, bits)
        assert len(set(got)) == len(got)
        assert set(wanted) <= set(got)
        assert (got == wanted) >= exact
        assert exact == (len(prefixes(asked, bits)) <= most)


def test_what_is_cut_is_no_more_than_needed() -> None:
    found, exact = cover(((3, 100),), 8, 4)
    assert not exact
    assert len(numbers(found, 8)) <= 128


@pytest.mark.parametrize("most", [1, 2, 5, 20, 99])
def test_neighbours_are_merged_as_cheaply_as_can_be(most: int) -> None:
    """Of all ways to take one neighbour after another, each time the cheapest (in quadratic time)."""
    draw, bits = random.Random(most), 12
    for _ in range(20):
        asked = union((number, number) for number in draw.sample(range(1 << bits), 100))
        left = [
            (p.value << bits - p.length, (p.value + 1 << bits - p.length) - 1) for p in prefixes(asked, bits)
        ]
        while len(left) > most:
            pairs = []
            for (a, b), (c, d) in itertools.pairwise(left):
                free = (a ^ d).bit_length()
                pairs.append(((1 << free) - (b - a + 1) - (d - c + 1), (a >> free) << free, free))
            _, first, free = min(pairs)
            last = first + (1 << free) - 1
            left = sorted([each for each in left if not first <= each[0] <= last] + [(first, last)])
        found, _ = cover(asked, bits, most)
        assert len(numbers(found, bits)) == sum(last - first + 1 for first, last in left)


def test_a_list_of_one_value_too_many_finds_few_others() -> None:
    draw = random.Random(1)
    asked = union((number, number) for number in draw.sample(range(100_000), 300))
    found, exact = cover(asked, 17, 256)
    assert (len(found), exact) == (256, False)
    assert sum(1 << 17 - each.length for each in found) < 5_000


def test_intersections() -> None:
    random.seed(7)
    for _ in range(300):
        one, other = (
            union(
                (min(pair), max(pair))
                for pair in zip(*[iter(random.choices(range(40), k=6))] * 2, strict=True)
            )
            for _ in range(2)
        )
        both = {
            number
            for number in range(40)
            if any(a <= number <= b for a, b in one) and any(a <= number <= b for a, b in other)
        }
        assert {n for first, last in intersection(one, other) for n in range(first, last + 1)} == both


def test_bytes_of_a_prefix() -> None:
    assert big_endian(Prefix(0b101, 3), 2) == (b"\xa0\x00", b"\xe0\x00")
    assert big_endian(Prefix(0, 0), 1) == (b"\x00", b"\x00")
    # Bits 1 to 3 are 1, 1, 0 and bit 9 is 1, of 10.
    assert packed([(1, Prefix(0b110, 3)), (9, Prefix(1, 1)), (4, Prefix(0, 0))], 10) == (
        bytes([0b0110, 0b10]),
        bytes([0b1110, 0b10]),
    )
