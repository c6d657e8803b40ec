"""`bitline show`: a configuration as it takes effect."""

import json
import tomllib
from pathlib import Path
from typing import Annotated

import typer

import bitline
from bitline import _bitline
from bitline.cli.options import Config, Json, Preset, Set, Wide, settings
from bitline.cli.output import Column, Result, Table, emit
from bitline.errors import UsageError
from bitline.opening import configuration


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
    bare: Annotated[bool, typer.Option("--bare", help="Keys and values only, without comments.")] = False,
    keys: Annotated[
        bool,
        typer.Option("--keys", help="A table of keys, values and units; all there is to tell with --json."),
    ] = False,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Print a drive's complete configuration as TOML: the preset or file, with every override on top.

    Above each key stands what it means, its unit, and where its value comes from. What it prints can be
    edited and given back with --config.
    """
    if name is not None and preset is not None:
        raise UsageError(f"{name} and --preset {preset}: give the preset once")
    if bare and (keys or as_json):
        raise UsageError("--bare is for TOML: leave it out with --keys and --json")
    preset = preset if name is None else name
    overrides = settings(set_)
    if image is None:
        shown = configuration(preset, config, overrides)
    elif preset or config:
        raise UsageError("--image has a configuration of its own; leave --preset and --config out")
    else:
        with bitline.open(path=image, set=overrides, create=False, read_only=True) as drive:
            shown = _bitline.Config(text=drive.config)
    if keys:
        emit(_keys(shown), as_json=as_json, wide=wide)
    elif as_json:
        print(json.dumps(tomllib.loads(shown.to_toml()), indent=2, ensure_ascii=False))
    else:
        print(shown.to_toml() if bare else shown.to_annotated_toml(), end="")


def _keys(shown: _bitline.Config) -> Result:
    rows = json.loads(shown.keys())
    columns = (
        Column("key", "Key"),
        Column("value", "Value", json.dumps),
        Column("unit", "Unit", lambda unit: str(unit or ""), rank=1),
        Column("meaning", "Meaning", lambda text: str(text), rank=2),
        Column("choices", None),
        Column("source", None),
    )
    return Result(f"Keys of {shown.name}", tables={"keys": Table(columns, rows)})
