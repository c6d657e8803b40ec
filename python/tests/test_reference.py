"""The generated pages are what the package says today; BITLINE_BLESS=1 writes them anew."""

import importlib.util
import os
from pathlib import Path

import pytest

import bitline
from bitline.cli.app import COMMANDS

_SCRIPT = Path(__file__).parents[2] / "scripts" / "reference.py"
_spec = importlib.util.spec_from_file_location("reference", _SCRIPT)
assert _spec is not None
assert _spec.loader is not None
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


@pytest.mark.parametrize("name", reference.PAGES)
def test_generated_pages_are_of_today(name: str) -> None:
    made, path = reference.PAGES[name](), reference.FOLDER / name
    if os.environ.get("BITLINE_BLESS"):
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, "BITLINE_BLESS=1 writes it anew"


def test_the_reference_has_everything_public_with_words() -> None:
    page = reference.python()
    for name in bitline.__all__:
        assert f"`{name}" in page or f"## `bitline.{name}`" in page, name
    assert "- `.to_arrow() -> pa.Table`: Its numbers as an Arrow table" in page
    assert "- `read_fraction: float = 1.0`: Share of reads" in page
    commands = reference.command_line()
    for name in COMMANDS:
        assert f"## `bitline {name}`" in commands


def test_names_of_the_package_are_those_that_it_lists() -> None:
    """They are loaded when they are asked for; the list of homes and `__all__` say the same."""
    assert {*bitline._HOME_OF} | {"cells"} == {*bitline.__all__}
    for name in bitline.__all__:
        assert getattr(bitline, name) is not None
    assert {*bitline.__all__} <= {*dir(bitline)}
    assert bitline.workload.Flow is bitline.Flow, "modules are there without an import of their own"
    with pytest.raises(AttributeError, match="module 'bitline' has no attribute 'nonsense'"):
        bitline.nonsense  # noqa: B018
