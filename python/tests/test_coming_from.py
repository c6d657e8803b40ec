"""The page that maps other simulators' options to ours names nothing that does not exist."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import bitline
from bitline import ConfigError, UsageError
from bitline.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()


def _last_cells() -> list[str]:
    """What stands in the last column of every row."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [row.rstrip(" |").rpartition("|")[2] for row in rows]


NAMED = sorted({name for cell in _last_cells() for name in re.findall(r"`([^`]+)`", cell)})


def _keys(table: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for key, value in table.items():
        found |= _keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


KEYS = {
    key
    for preset in bitline.presets()
    for key in _keys(tomllib.loads(bitline.opening.configuration(preset).to_toml()))
}


def test_the_page_names_many() -> None:
    assert len(NAMED) > 40


@pytest.mark.parametrize("name", [name for name in NAMED if re.fullmatch(r"[a-z_.]+", name)])
def test_keys_exist(name: str) -> None:
    part, _, key = name.partition(".")
    if part not in ("flow", "replay"):
        assert name in KEYS
        return
    base = {"path": "nowhere"} if part == "replay" else {}
    with bitline.open(data="none") as drive, pytest.raises((ConfigError, UsageError)) as wrong:
        drive.measure({**base, key: {"no": "such value"}})
    assert "has no key" not in str(wrong.value)


@pytest.mark.parametrize("name", [name for name in NAMED if name.startswith("-")])
def test_options_of_run_exist(name: str) -> None:
    run = get_command(app).get_command(None, "run")  # type: ignore[attr-defined]
    assert name in {option for parameter in run.params for option in parameter.opts}


@pytest.mark.parametrize("name", [name for name in NAMED if name.startswith("bitline ")])
def test_commands_exist(name: str) -> None:
    words = name.split()[1:]
    command = [word for word in words if not word.startswith("-")]
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    assert all(word in shown.output for word in words if word.startswith("-"))


def test_every_name_is_checked() -> None:
    assert [name for name in NAMED if not re.fullmatch(r"[a-z_.]+|-.*|bitline .*", name)] == []
