"""Dataclasses of what the compiled part tells: nothing is lost, and nothing unknown passes unseen."""

import json

import pytest

from bitline import (
    CombinedPart,
    Drive,
    DriveAge,
    Duration,
    Energy,
    Estimate,
    Explanation,
    Health,
    Identity,
    InternalError,
    Inventory,
    PagePart,
    Size,
    VectorPart,
)
from bitline.records import made, plain


@pytest.mark.parametrize(
    ("cls", "tell"),
    [
        (Identity, lambda native: native.identify()),
        (Health, lambda native: native.health()),
        (Inventory, lambda native: native.inventory()),
        (DriveAge, lambda native: native.age()),
        (DriveAge, lambda native: native.grow_older(10.0, 40.0, 3)),
    ],
)
def test_nothing_is_lost(drive: Drive, cls: type, tell: object) -> None:
    assert callable(tell)
    told = json.loads(tell(drive._native))
    assert plain(made(cls, told)) == told


@pytest.mark.parametrize("platform", ["host", "in-storage", "parabit", "flash-cosmos"])
def test_nothing_of_a_plan_is_lost(drive: Drive, platform: str) -> None:
    a, b, c = drive.group("1").write([b"a", b"b", b"c"])
    (d,) = drive.group("2").write([b"d"])
    for expression in (a, a & ~a, (a & b) ^ (c | ~d), ~(a ^ b) & d):
        text = drive._native.explanation(expression._node.code(), platform)
        explanation = made(Explanation, json.loads(text))
        assert list(explanation.to_dict().items()) == list(json.loads(text).items())
        assert json.dumps(explanation.to_dict()) == json.dumps(json.loads(text))


def test_quantities_have_their_types(drive: Drive) -> None:
    a, b = drive.group("1").write([b"a", b"b"])
    told = (a ^ b).explanation("host")
    assert told.root == CombinedPart("xor", (VectorPart("1:0"), VectorPart("1:1")))
    assert told.root.kind == "combined"
    assert isinstance(told.estimate, Estimate)
    spent = sum((entry.energy for entry in told.estimate.energy_by), Energy(0))
    assert told.estimate.energy == spent
    assert told.estimate.time > told.estimate.array > Duration(0)
    step = (a & b).explanation().root
    assert isinstance(step, PagePart)
    assert (step.steps[0].command, step.steps[0].wordlines) == ("sense", 2)
    inventory = drive.media.inventory()
    assert isinstance(inventory.page_bytes, Size)
    assert inventory.vector_space.bytes == inventory.vectors * inventory.page_bytes == 2 * 4096
    assert drive.admin.identify().max_transfer_bytes is None
    assert drive.media.age.celsius is None


def test_keys_that_are_missing_or_unknown_are_refused(drive: Drive) -> None:
    told = json.loads(drive._native.inventory())
    del told["vectors"], told["data_pages"]
    with pytest.raises(InternalError, match=r"Inventory: .*missing: data_pages, vectors, unknown: none"):
        made(Inventory, told)
    told = json.loads(drive._native.inventory())
    told["vector_space"]["colour"] = 1
    with pytest.raises(InternalError, match=r"VectorSpace: .*missing: none, unknown: colour"):
        made(Inventory, told)
    (a,) = drive.group("1").write([b"a"])
    told = a.explanation().to_dict()
    told["root"]["kind"] = "guess"
    with pytest.raises(InternalError, match="'guess', not one of constant, page, vector, combined"):
        made(Explanation, told)


def test_records_are_frozen(drive: Drive) -> None:
    with pytest.raises(AttributeError):
        drive.admin.health().media_errors = 3  # type: ignore[misc]
