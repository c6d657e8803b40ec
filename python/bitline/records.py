"""Dataclasses, made from what the compiled part tells in JSON, and told as plain values again.

The key of a field is its name, with the unit behind it where the type has one: `elapsed: Duration` is under
`elapsed_ns`, `energy: Energy` under `energy_pj`. Where it is another, the field's metadata says which:
`{"key": "max_ns"}`. Of several alternatives each has a class variable `kind`, which the key `kind` names.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from bitline.errors import InternalError
from bitline.units import Duration, Energy, Size

T = TypeVar("T")

#: Units of plain values, by type.
_UNITS = {Duration: "_ns", Energy: "_pj"}


@dataclass(frozen=True)
class _Field:
    name: str
    key: str
    make: Callable[[Any], object]


def made(cls: type[T], data: Mapping[str, Any], /, **given: object) -> T:
    """A dataclass, nested ones included, from plain values.

    Args:
        cls: The dataclass.
        data: A value for each of its keys.
        given: Fields that are not in `data`. Those that begin with an underscore never are.

    Raises:
        InternalError: A key is missing, or one is there that the class has not: the compiled part is of
            another version of Bitline.
    """
    wanted = [field for field in _fields(cls) if field.name not in given]
    keys = {field.key for field in wanted}
    found = data.keys() - {"kind"} if hasattr(cls, "kind") else data.keys()
    if found != keys:
        missing, unknown = (", ".join(sorted(some)) or "none" for some in (keys - found, found - keys))
        raise InternalError(
            f"{cls.__name__}: the compiled part is of another version; "
            f"keys that are missing: {missing}, unknown: {unknown}"
        )
    # No comprehension: plans nest deep, and each level of them should take few of the interpreter's.
    for field in wanted:
        given[field.name] = field.make(data[field.key])
    return cls(**given)


def plain(value: object) -> Any:  # noqa: ANN401 (as json.loads)
    """What `made` makes of a value: of a dataclass a dict of its keys, in the order of its fields."""
    if isinstance(value, Duration):
        return value.ns
    if isinstance(value, Energy):
        return value.pj
    if isinstance(value, tuple):
        return list(map(plain, value))
    if not is_dataclass(value):
        return int(value) if isinstance(value, Size) else value
    told: dict[str, Any] = {"kind": value.kind} if hasattr(value, "kind") else {}
    for field in _fields(type(value)):
        told[field.key] = plain(getattr(value, field.name))
    return told


def _fields(cls: type) -> tuple[_Field, ...]:
    return _cached_fields(cls)  # mypy denies that a class of unknown type can be hashed


@functools.cache
def _cached_fields(cls: type) -> tuple[_Field, ...]:
    kinds = get_type_hints(cls)
    found = []
    for field in fields(cls):
        if not field.name.startswith("_"):
            kind = kinds[field.name]
            key = field.metadata.get("key", field.name + _UNITS.get(_present(kind), ""))
            found.append(_Field(field.name, key, _maker(kind)))
    return tuple(found)


def _present(kind: Any) -> Any:  # noqa: ANN401 (types are values of no one type)
    """The type of a value that may be absent."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    return kinds[0] if get_origin(kind) in (Union, UnionType) and len(kinds) == 1 else kind


def _maker(kind: Any) -> Callable[[Any], object]:  # noqa: ANN401 (as above)
    """What makes a value of a type out of a plain one."""
    if (present := _present(kind)) is not kind:
        make = _maker(present)
        return lambda value: None if value is None else make(value)
    if get_origin(kind) in (Union, UnionType):
        return functools.partial(_one_of, {each.kind: each for each in get_args(kind)})
    if get_origin(kind) is tuple:
        each = _maker(get_args(kind)[0])
        return lambda values: tuple(map(each, values))
    if kind is Duration:
        return Duration.from_ns
    if kind is Energy or kind is Size:
        return lambda value: kind(value)
    if isinstance(kind, type) and is_dataclass(kind):
        return functools.partial(made, kind)
    return lambda value: value


def _one_of(kinds: Mapping[str, type], value: Mapping[str, Any]) -> object:
    """The one of several dataclasses that a value is of."""
    kind = value["kind"]
    if kind not in kinds:
        raise InternalError(
            f"the compiled part is of another version; it tells a {kind!r}, not one of {', '.join(kinds)}"
        )
    return made(kinds[kind], value)
