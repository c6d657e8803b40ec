"""Opening drives: from presets, configurations and images."""

import errno
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from bitline import _bitline
from bitline.arguments import PathLike
from bitline.drive import Drive
from bitline.errors import ConfigError, UsageError
from bitline.units import quoted

Setting: TypeAlias = bool | int | float | str | Sequence[Any] | Mapping[str, Any]

#: How deep lists and tables of a setting may nest.
_NESTING_MAX = 32


def presets() -> dict[str, str]:
    """The drives that come with Bitline: name and description."""
    return {
        name: tomllib.loads(_bitline.preset_text(name))["description"] for name in _bitline.preset_names()
    }


def open(  # noqa: A001 (bitline.open, as gzip.open)
    preset: str | None = None,
    path: PathLike | None = None,
    *,
    config: PathLike | None = None,
    data: Literal["memory", "none"] | None = None,
    set: Mapping[str, Setting] | None = None,  # noqa: A002 (as --set of the command)
    create: bool = True,
    read_only: bool = False,
) -> Drive:
    """Open a drive in this process.

    Args:
        preset: Which drive, a name of `presets()`; `"flash-cosmos"` if neither this nor `config` is given.
        path: An image file that keeps the drive's bits across processes. It is made if it does not exist.
            If it does and nothing else is given, the drive is the one that the image was made for.
        config: A TOML file instead of a preset: `preset = "NAME"` in it names what it starts from, its other
            keys override.
        data: Where the bits are without an image: `"memory"` (gone with the process), or `"none"`: the drive
            keeps exact time but no data, reads give zeroes.
        set: Single keys to override, such as `{"ftl.overprovisioning": 0.1}`.
        create: Whether an image file that does not exist is made.
        read_only: Whether the file of an existing image is left as it is: what is done to the drive is gone
            when it is closed. The drive is the one that the image was made for.

    Returns:
        The drive, powered up. Close it, or use it in a `with` statement.

    Raises:
        ConfigError: An unknown preset or key, or a value that cannot be.
        ImageError: The image is damaged, in use, no image, or made for another drive.
        OSError: A file that cannot be read or written.
    """
    if path is not None and str(path).startswith(("nvme+tcp:", "nvme+unix:")):
        raise UsageError(f"{path} is the address of a drive, no image: bitline.connect connects to it")
    settings = dict(set or {})
    if data is not None:
        settings["data.storage"] = data
    if path is None:
        if read_only:
            raise UsageError("only an image can be opened read-only: give its path")
        return Drive(_bitline.Drive(configuration(preset, config, settings)))
    image = Path(path)
    if read_only:
        if preset is not None or config is not None or settings:
            raise UsageError(
                "an image opened read-only is the drive it was made for: give nothing but the path"
            )
        return Drive(_bitline.Drive.existing(image, read_only=True))
    storage = settings.setdefault("data.storage", "image")
    if storage != "image":
        raise UsageError(f"data.storage = {storage} goes without a path: an image keeps data in its file")
    if preset is None and config is None and (image.exists() or not create):
        return Drive(_reopen(image, settings))
    if not create and not image.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(image))
    return Drive(_bitline.Drive(configuration(preset, config, settings), image))


def connect(
    address: str,
    *,
    timeout: float = 20.0,
    header_digest: bool = False,
    data_digest: bool = False,
    host_nqn: str | None = None,
) -> Drive:
    """Connect to a drive of another process or machine, over NVMe/TCP.

    The drive is used as one that `open` gives; what only its own process can do (explain, trace, cut its
    power, make it older, run workloads) raises `UsageError`. Its clock is that of the other process. See
    docs/remote.md.

    Args:
        address: `nvme+tcp://HOST[:PORT][/NQN]`. Port 4420 if none is given; without a name (NQN) the target
            is asked which drive it has, and it must have one. Or `nvme+unix://PATH`, a socket of this
            machine.
        timeout: Seconds that a step of connecting may take, and after which silence of the drive is an error.
        header_digest: Whether headers are protected by a CRC.
        data_digest: Whether data is.
        host_nqn: The name of this host, which `bitline serve --host NQN` admits. That in the environment
            variable `BITLINE_HOST_NQN` unless it is given, or else one made of the machine and the process.

    Returns:
        The drive. Close it, or use it in a `with` statement: that ends the connection, not the drive.

    Raises:
        UsageError: An address or a name that is none.
        ConnectionError: Nobody answers, or not as NVMe/TCP says, or the target is no drive of Bitline's.
    """
    host_nqn = host_nqn or os.environ.get("BITLINE_HOST_NQN") or None
    native = _bitline.connect(
        address, timeout, header_digest=header_digest, data_digest=data_digest, host_nqn=host_nqn
    )
    return Drive(native)


def open_or_connect(place: PathLike, *, read_only: bool) -> Drive:
    """The drive at an address, or in an existing image.

    An address that went through a `Path` has one slash of two or three.
    """
    text = os.fspath(place)
    for scheme in ("nvme+tcp://", "nvme+unix:///"):
        if isinstance(text, str) and text.startswith(scheme.rstrip("/") + "/"):
            return connect(scheme + text.removeprefix(scheme.rstrip("/")).lstrip("/"))
    return open(path=place, create=False, read_only=read_only)


def served_configuration(
    preset: str | None, config: PathLike | None, settings: Mapping[str, Setting], image: Path | None
) -> _bitline.Config | None:
    """The configuration with which a drive is opened on another thread; None for that of an existing image.

    A new drive has what file systems want, where it can have it, unless `config` or `settings` say something
    else: logical pages as long as their blocks, and a cache of what is written.

    Raises:
        ConfigError: An unknown preset or key, or a value that cannot be.
        OSError: A file that cannot be read.
    """
    if image is None:
        return _for_file_systems(configuration(preset, config, settings), config, settings)
    if not image.exists():
        stored = {"data.storage": "image", **settings}
        return _for_file_systems(configuration(preset, config, stored), config, settings)
    if preset is None and config is None and not settings:
        return None
    native = _bitline.Drive.existing(image, read_only=True)
    made_for = native.config()
    native.close()
    if preset is None and config is None:
        return made_for.replaced(_as_toml(settings))
    wanted, has = {"data.storage": "image", **settings}, tomllib.loads(made_for.to_toml())
    for key in _bitline.Config.FOR_FILE_SYSTEMS:
        table, name = key.split(".")
        if not _says(key, config, settings):
            wanted[key] = has[table][name]
    return configuration(preset, config, wanted)


def _for_file_systems(
    made: _bitline.Config, config: PathLike | None, settings: Mapping[str, Setting]
) -> _bitline.Config:
    keys = _bitline.Config.FOR_FILE_SYSTEMS
    return made.for_file_systems([key for key in keys if _says(key, config, settings)])


def _says(key: str, config: PathLike | None, settings: Mapping[str, Setting]) -> bool:
    """Whether a file or settings, both valid, give a key a value; a table in settings may be TOML text."""
    table, name = key.split(".")
    given = [settings]
    if config is not None:
        given.append(tomllib.loads(Path(config).read_text(encoding="utf-8")))
    for one in given:
        within = one.get(table)
        if key in one or (isinstance(within, Mapping | str) and name in within):
            return True
    return False


def configuration(
    preset: str | None = None, config: PathLike | None = None, settings: Mapping[str, Setting] | None = None
) -> _bitline.Config:
    """A checked configuration: `preset` or the TOML file `config`, with `settings` on top.

    Raises:
        ConfigError: An unknown preset or key, or a value that cannot be.
        UsageError: Both a preset and a file.
        OSError: The file cannot be read.
    """
    if preset is not None and config is not None:
        raise UsageError(
            "give a preset or a configuration file, not both; the file may name its preset itself"
        )
    try:
        text = None if config is None else Path(config).read_text(encoding="utf-8")
        return _bitline.Config(preset, text, _as_toml(settings or {}))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{config}: this is no text: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{config}: {error}" if config is not None else str(error)) from error


def _reopen(image: Path, settings: Mapping[str, Setting]) -> _bitline.Drive:
    """An existing image with its own configuration, `settings` on top."""
    native = _bitline.Drive.existing(image)
    config = native.config()
    wanted = config.replaced(_as_toml(settings))
    if wanted.to_toml() == config.to_toml():
        return native
    native.close()
    return _bitline.Drive(wanted, image)


def _as_toml(settings: Mapping[str, Setting]) -> list[tuple[str, str]]:
    return [(key, _toml(key, value)) for key, value in settings.items()]


def _toml(key: str, value: Setting, nesting: int = 0) -> str:
    """A value as TOML text."""
    if nesting > _NESTING_MAX:
        raise ConfigError(f"{key} has lists or tables nested deeper than {_NESTING_MAX}")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return quoted(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(_toml(key, item, nesting + 1) for item in value)}]"
    if isinstance(value, Mapping):
        items = (f"{name} = {_toml(key, item, nesting + 1)}" for name, item in value.items())
        return "{ " + ", ".join(items) + " }"
    raise TypeError(
        f"{key} is set to a {type(value).__name__}; it must be a bool, number, text, or list or dict of these"
    )
