"""What to write instead, where a workload's arrival, pattern, sizes or timing is in a form that is none."""

import json
from collections.abc import Mapping
from typing import Any

from bitline.errors import UsageError
from bitline.units import quoted

#: For each key its names that stand alone, and each class with an example of its arguments.
_FORMS: Mapping[str, tuple[tuple[str, ...], Mapping[str, tuple[str, Mapping[str, Any]]]]] = {
    "arrival": (
        (),
        {
            "closed": ("Closed", {"depth": 32}),
            "thinking": ("Thinking", {"users": 8, "think_ns": 100_000}),
            "open": ("Open", {"requests_per_second": 50_000}),
            "paced": ("Paced", {"requests_per_second": 50_000}),
            "bursts": ("Bursts", {"requests_per_second": 50_000, "burst": 16}),
        },
    ),
    "pattern": (
        ("random", "sequential"),
        {
            "zipf": ("Zipf", {"theta": 0.99}),
            "hot_cold": ("HotCold", {"range_percent": 20, "traffic_percent": 80}),
        },
    ),
    "blocks": (
        (),
        {
            "normal": ("Normal", {"mean": 8, "deviation": 2}),
            "weighted": ("Weighted", {"sizes": [[1, 70], [8, 30]]}),
        },
    ),
    "timing": (
        ("original",),
        {
            "scaled": ("Scaled", {"factor": 0.5}),
            "as_fast_as_possible": ("AsFastAsPossible", {"depth": 32}),
        },
    ),
}
_KINDS = [kind for _, kinds in _FORMS.values() for kind in kinds]
#: Keys that a plain number means something for: which class, and its argument.
_NUMBERS = {"arrival": ("closed", "depth"), "timing": ("scaled", "factor")}


def check(workload: Mapping[str, Any]) -> None:
    """Refuse forms that are none.

    Raises:
        UsageError: One is none; the message says what would be right, in Python and in a workload file.
    """
    for key, (names, kinds) in _FORMS.items():
        if key in workload:
            value = workload[key]
            kind = value.get("kind") if isinstance(value, Mapping) else None
            # A kind that nothing has is a slip of the pen: the compiled part lists what there is.
            fine = value in names if isinstance(value, str) else kind in kinds or kind not in (None, *_KINDS)
            number = isinstance(value, int) and not isinstance(value, bool) and key == "blocks"
            if not fine and not number:
                raise UsageError(f"workload: {key} = {_shown(value)}: {_instead(key, value)}")


def _shown(value: object) -> str:
    return value.__name__ if isinstance(value, type) else quoted(json.dumps(value, default=repr))


def _instead(key: str, value: object) -> str:
    names, kinds = _FORMS[key]
    if isinstance(value, type):
        value = next((kind for kind, (name, _) in kinds.items() if name == value.__name__), value)
    if isinstance(value, str) and value in kinds:
        name, arguments = kinds[value]
        return f"{name} has numbers of its own; write {_example(name, value, arguments)}"
    if key in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
        kind, argument = _NUMBERS[key]
        return f"write {_example(kinds[kind][0], kind, {argument: value})}"
    if key == "blocks" and isinstance(value, str) and value.isdecimal():
        return f"write the number without quotes, {value}"
    choices = [json.dumps(name) for name in names] + (["a number"] if key == "blocks" else [])
    choices += [name for name, _ in kinds.values()]
    kind, (name, arguments) = next(iter(kinds.items()))
    return f"it must be {', '.join(choices[:-1])} or {choices[-1]}, such as {_example(name, kind, arguments)}"


def _example(name: str, kind: str, arguments: Mapping[str, Any]) -> str:
    """The same in Python and in a workload file."""
    in_python = ", ".join(f"{key}={value}" for key, value in arguments.items())
    in_file = ", ".join(f"{key} = {value}" for key, value in arguments.items())
    return f'{name}({in_python}), in a workload file {{ kind = "{kind}", {in_file} }}'
