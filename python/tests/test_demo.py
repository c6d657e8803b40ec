"""The main job's rows, bitmaps and query, without a drive: held against TPC-H's published answer."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from bitline.demo import ATTRIBUTES, Answer, LineItems, answer_of_rows, generate, predicate, reference


def test_scale_1_gives_the_published_answer() -> None:
    """TPC-H prints 123141078.23 as query 6's answer at scale 1 (specification 2.4.6.5)."""
    rows = generate(1)
    answer = reference(rows.table())
    assert len(rows) == 6_001_215
    assert round(answer.revenue, 2) == Decimal("123141078.23")
    assert answer == Answer(114_160, Decimal("123141078.2283"))


def test_bitmaps_select_the_rows_that_pyarrow_selects(rows: LineItems) -> None:
    index = {attribute.name: list(attribute.bitmaps(rows)) for attribute in ATTRIBUTES}
    selected = predicate(index)
    expected = (
        (rows.ship_date >= np.datetime64("1994-01-01"))
        & (rows.ship_date < np.datetime64("1995-01-01"))
        & (rows.discount >= 5)
        & (rows.discount <= 7)
        & (rows.quantity < 24)
    )
    assert expected.any()
    np.testing.assert_array_equal(selected, expected)
    assert answer_of_rows(rows, selected) == reference(rows.table())


def test_one_wrong_bit_changes_the_answer(rows: LineItems) -> None:
    index = {attribute.name: list(attribute.bitmaps(rows)) for attribute in ATTRIBUTES}
    selected = predicate(index).copy()
    selected[np.flatnonzero(selected)[0]] = False
    assert answer_of_rows(rows, selected) != reference(rows.table())


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_every_row_is_in_exactly_one_bitmap(attribute: object, rows: LineItems) -> None:
    bitmaps = np.stack(list(attribute.bitmaps(rows)))
    assert bitmaps.shape == (len(attribute.values), len(rows))
    assert (bitmaps.sum(axis=0) == 1).all()


def test_a_value_outside_the_index_is_refused(rows: LineItems) -> None:
    wrong = replace(rows, quantity=rows.quantity + np.uint8(1))
    with pytest.raises(ValueError, match=r"quantity runs from 2 to 51, the index from 1 to 50"):
        list(ATTRIBUTES[2].bitmaps(wrong))


def test_no_selected_row_is_an_answer_too(rows: LineItems) -> None:
    none = np.zeros(len(rows), bool)
    assert answer_of_rows(rows, none) == Answer(0, Decimal(0))
    assert reference(rows.table().slice(0, 0)) == Answer(0, Decimal(0))


def test_the_same_scale_gives_the_same_rows(rows: LineItems) -> None:
    again = generate(0.001)
    for name in ("ship_date", "quantity", "discount", "extended_price"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(again, name))


def test_progress_counts_up_to_all_rows() -> None:
    seen: list[int] = []
    rows = generate(0.02, seen.append)
    assert seen == sorted(seen)
    assert seen[0] == 65_536
    assert seen[-1] == len(rows)


@pytest.mark.parametrize("scale", [0, -1, 0.00001, 11, float("nan"), float("inf")])
def test_an_impossible_scale_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"it must be from 0.0001 to 10"):
        generate(scale)


def test_an_exception_in_the_progress_function_comes_through() -> None:
    def interrupt(_rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(0.02, interrupt)
