"""`bitline show`: a configuration as it takes effect."""

import json
import tomllib
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline.cli.options import Config, Json, Preset, Set, settings
from bitline.drive import configuration
from bitline.errors import UsageError


def show(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PRESET]", help="The same as --preset PRESET.", show_default=False),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    set_: Set = None,
    image: Annotated[
        Path | None,
        typer.Option("--image", metavar="FILE", help="Show what the drive in this image file was made with."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a drive's complete configuration as TOML: the preset or file, with every override on top.

    What it prints can be edited and given back with --config.
    """
    if name is not None and preset is not None:
        raise UsageError(f"{name} and --preset {preset}: give the preset once")
    preset = preset if name is None else name
    overrides = settings(set_)
    if image is None:
        text = configuration(preset, config, overrides).to_toml()
    elif preset or config:
        raise UsageError("--image has a configuration of its own; leave --preset and --config out")
    else:
        with bitline.open(path=image, set=overrides, create=False) as drive:
            text = drive.config
    print(json.dumps(tomllib.loads(text), indent=2, ensure_ascii=False) if as_json else text, end="")
    if as_json:
        print()
