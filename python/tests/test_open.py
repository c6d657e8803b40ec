"""Opening drives: presets, files, overrides; and what is wrong with them, in words."""

import tomllib
from pathlib import Path

import pytest
from conftest import SMALL

import bitline
from bitline import ConfigError, UsageError


def test_every_preset_opens_and_says_what_it_models() -> None:
    presets = bitline.presets()
    assert len(presets) == 8
    for name, description in presets.items():
        with bitline.open(name, data="none") as drive:
            config = tomllib.loads(drive.config)
            assert (config["name"], config["description"]) == (name, description)
            assert repr(drive) == f"<Drive '{name}'>"


def test_overrides_of_every_type_take_effect() -> None:
    overrides = {
        "seed": 7,
        "ftl.overprovisioning": 0.2,
        "schedule.multi_plane": False,
        "ftl.plane_allocation": "PDWC",
        "nand.mws.power_percent": [100, 120, 140, 160],
        "channel.megabytes_per_second": 800,
    }
    with (
        bitline.open("flash-cosmos", data="none", set=overrides) as drive,
        bitline.open(data="none") as other,
    ):
        config = tomllib.loads(drive.config)
        for key, value in overrides.items():
            found = config
            for part in key.split("."):
                found = found[part]
            assert found == value
        assert drive.capacity_bytes < other.capacity_bytes


def test_a_file_overrides_its_preset_and_set_overrides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('preset = "conduit"\nseed = 3\n[ftl]\noverprovisioning = 0.3\n')
    with bitline.open(config=path, data="none", set={"seed": 4}) as drive:
        config = tomllib.loads(drive.config)
    assert (config["name"], config["seed"], config["ftl"]["overprovisioning"]) == ("conduit", 4, 0.3)


def test_what_show_prints_makes_the_same_drive(tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    with bitline.open("th-issd", data="none", set={"seed": 9}) as drive:
        path.write_text(drive.config)
    with bitline.open(config=path) as again:
        assert again.config == path.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"preset": "flash-cosmo"}, r'no preset "flash-cosmo"; did you mean "flash-cosmos"\?'),
        (
            {"set": {"ftl.overprovisionin": 1}},
            r'no key "ftl.overprovisionin"; did you mean "ftl.overprovisioning"\?',
        ),
        ({"set": {"ftl.overprovisioning": 7.5}}, "ftl.overprovisioning"),
        ({"set": {"ftl.overprovisioning": "much"}}, 'ftl.overprovisioning = "much" cannot be'),
        ({"set": {"nand.geometry.channels": -1}}, "nand.geometry.channels = -1 cannot be"),
        ({"set": {"nand.geometry.channels": 0}}, "channels"),
        ({"set": {"nand.geometry": 3}}, "it is a table of keys"),
        ({"set": {"data.storage": "image"}}, "an image needs a path"),
        ({"set": {"data.storage": "tape"}}, "data.storage"),
        ({"set": {"host.queue_pairs": 0}}, "host.queue_pairs = 0 is out of range"),
    ],
)
def test_a_wrong_configuration_is_told_by_its_key(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        bitline.open(**arguments)
    with pytest.raises(ValueError, match=words):  # what a caller who knows nothing of Bitline expects
        bitline.open(**arguments)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"seed = \n", "mine.toml: this is no TOML"),
        (b"sed = 1\n", r'mine.toml: there is no key "sed"; did you mean "seed"'),
        (b"\xff\xfe", "mine.toml: this is no text"),
        (b"preset = 3\n", "mine.toml: preset = 3 cannot be"),
    ],
)
def test_a_wrong_file_is_told_by_its_name(tmp_path: Path, text: bytes, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=words):
        bitline.open(config=path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        bitline.open(config=tmp_path / "no.toml")
    with pytest.raises(FileNotFoundError) as caught:
        bitline.open(path=tmp_path / "no.img", create=False)
    assert caught.value.filename == str(tmp_path / "no.img")
    with pytest.raises(FileNotFoundError):
        bitline.open("flash-cosmos", tmp_path / "no.img", create=False)
    with pytest.raises(FileNotFoundError):
        bitline.open("flash-cosmos", tmp_path / "no folder" / "an.img")


def test_contradictions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a preset or a configuration file, not both"):
        bitline.open("conduit", config=tmp_path / "x.toml")
    with pytest.raises(UsageError, match="goes without a path"):
        bitline.open(path=tmp_path / "x.img", data="none")
    with pytest.raises(ConfigError, match=r"seed = \{\} cannot be: it must be a whole number"):
        bitline.open(set={"seed": {}})


def test_a_drive_of_many_terabytes_opens_at_once_and_costs_what_is_written() -> None:
    with bitline.open(set=SMALL) as small, bitline.open() as large:
        assert large.capacity_bytes > 10_000 * small.capacity_bytes
        large.write(large.blocks - 1, b"e" * 4096)
        assert large.read(large.blocks - 1) == b"e" * 4096
