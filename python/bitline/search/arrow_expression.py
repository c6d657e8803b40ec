"""Conditions as PyArrow has them, as conditions of ours; so DuckDB hands over its filters.

PyArrow shows the parts of an expression in two ways. One is Substrait, which has no unsigned numbers beside
signed ones, no nanoseconds, no durations, and no constants of another type than the column. The other, taken
here, is what it pickles: a record batch whose schema's metadata are calls, references to columns and
constants one after another, and whose columns are the constants. What is not understood is left to PyArrow,
which finishes all conditions: only what it says of them counts.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bitline.errors import UsageError
from bitline.search.binder import Binder
from bitline.search.condition import AllOf, AnyOf, Condition, IsNull, Known, Not, OneOf, Other
from bitline.search.fields import Comparison

_COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    "equal": ("==", "=="),
    "not_equal": ("!=", "!="),
    "less": ("<", ">"),
    "less_equal": ("<=", ">="),
    "greater": (">", "<"),
    "greater_equal": (">=", "<="),
}
#: How `is_in` takes a null: as a value that may be listed, or as one that is not in any list.
_MATCH, _SKIP = 0, 1
#: Calls within calls that are understood, at most; a chain of ORs, or of ANDs, is one. What is deeper is left
#: to PyArrow.
_DEPTH_MAX = 100
#: Whole numbers that any floating-point type has.
_IN_ANY_FLOAT = 2048


@dataclass(frozen=True)
class _Column:
    name: str


@dataclass(frozen=True)
class _Call:
    function: str
    arguments: "tuple[_Node, ...]"
    options: pa.Scalar | None


_Node: TypeAlias = _Call | _Column | pa.Scalar


class _NotUnderstoodError(Exception):
    """A part of an expression is of a kind that is not known here."""


def from_arrow(expression: pc.Expression, binder: Binder) -> Condition:
    """What an expression asks of columns, with what is not understood as `Other`.

    Raises:
        UsageError: A column that there is not.
    """
    try:
        tree = _tree(expression)
    except (_NotUnderstoodError, pa.ArrowException, LookupError, ValueError):
        return Other(str(expression), frozenset(binder.types))
    for column in _columns(tree):
        binder.kind(column)
    return _condition(tree, binder)


# From what is pickled to a tree


class _ArrowSchema(ctypes.Structure):
    """The beginning of a schema of the Arrow C data interface, whose metadata may repeat a key."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.POINTER(ctypes.c_char)),
    )


def _metadata(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Keys and values one after another: their number, then each with its length before it, of 32 bits."""
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = pointer_of(capsule, b"arrow_schema")
    found = _ArrowSchema.from_address(address).metadata
    if not found:
        return
    at = 4

    def text() -> str:
        nonlocal at
        [length] = struct.unpack("=i", found[at : at + 4])
        at += 4 + length
        return bytes(found[at - length : at]).decode()

    for _ in range(struct.unpack("=i", found[0:4])[0]):
        key = text()
        yield key, text()


def _tree(expression: pc.Expression) -> _Node:
    # An expression is pickled as a function and a buffer for it.
    _, (pickled, *_) = expression.__reduce__()
    batch = pa.ipc.open_file(pickled).get_batch(0)
    parts = list(_metadata(batch.schema))
    # Calls whose end has not come, within each other, with what they have so far: thousands, if need be.
    begun: list[tuple[str, list[_Node], list[pa.Scalar]]] = [("", [], [])]
    for key, value in parts:
        if key == "call":
            begun.append((value, [], []))
        elif key == "end":
            function, arguments, options = begun.pop()
            begun[-1][1].append(_Call(function, tuple(arguments), options[0] if options else None))
        elif key == "options":
            begun[-1][2].append(batch.column(int(value))[0])
        elif key == "field_ref":
            begun[-1][1].append(_Column(value))
        elif key == "literal":
            begun[-1][1].append(batch.column(int(value))[0])
        else:
            raise _NotUnderstoodError(key)
        if len(begun) == 1:
            break
    return begun[0][1][0]


def _columns(tree: _Node) -> set[str]:
    found, left = set[str](), list[_Node]([tree])
    while left:
        node = left.pop()
        if isinstance(node, _Column):
            found.add(node.name)
        elif isinstance(node, _Call):
            left += node.arguments
    return found


def _chained(tree: _Call) -> list[_Node]:
    """The operands of a chain of calls of one function, such as `a or b or c`, from the left."""
    found, left = list[_Node](), list[_Node]([tree])
    while left:
        node = left.pop()
        if isinstance(node, _Call) and node.function == tree.function:
            left += reversed(node.arguments)
        else:
            found.append(node)
    return found


# From a tree to a condition


def _condition(tree: _Node, binder: Binder, depth: int = 0) -> Condition:
    try:
        return _understood(tree, binder, depth)
    except (_NotUnderstoodError, UsageError):
        return Other(_words(tree), frozenset(_columns(tree)))


def _understood(tree: _Node, binder: Binder, depth: int = 0) -> Condition:
    if depth > _DEPTH_MAX:
        raise _NotUnderstoodError("depth")
    if isinstance(tree, pa.Scalar):
        if not pa.types.is_boolean(tree.type) and tree.is_valid:
            raise _NotUnderstoodError(tree)
        return Known(tree.as_py())
    if isinstance(tree, _Column):
        if not pa.types.is_boolean(binder.kind(tree.name)):
            raise _NotUnderstoodError(tree)
        return binder.compare(tree.name, "==", True)
    if tree.function in ("and_kleene", "or_kleene"):
        inner = tuple(_condition(each, binder, depth + 1) for each in _chained(tree))
        return AllOf(inner) if tree.function == "and_kleene" else AnyOf(inner)
    if tree.function == "invert":
        return Not(_condition(tree.arguments[0], binder, depth + 1))
    if tree.function in _COMPARISONS:
        return _compared(tree, binder)
    if tree.function == "if_else":
        return _if_valid(tree, binder)
    column = tree.arguments[0] if len(tree.arguments) == 1 else None
    if not isinstance(column, _Column) or tree.function not in _OF_COLUMN:
        raise _NotUnderstoodError(tree.function)
    return _OF_COLUMN[tree.function](column.name, tree.options, binder)


def _compared(tree: _Call, binder: Binder) -> Condition:
    left, right = tree.arguments
    if isinstance(left, _Column) and isinstance(right, pa.Scalar):
        return binder.compare(left.name, _COMPARISONS[tree.function][0], checked(left.name, right, binder))
    if isinstance(left, pa.Scalar) and isinstance(right, _Column):
        return binder.compare(right.name, _COMPARISONS[tree.function][1], checked(right.name, left, binder))
    raise _NotUnderstoodError(tree.function)


def checked(column: str, value: pa.Scalar, binder: Binder) -> pa.Scalar:
    """A constant that PyArrow compares with the column exactly, as we do: it rounds some to floats first."""
    kind, types = binder.kind(column), pa.types
    if not value.is_valid:
        return value
    if types.is_floating(kind):
        small = types.is_integer(value.type) and abs(value.as_py()) <= _IN_ANY_FLOAT
        exact = types.is_floating(value.type) or small
    elif types.is_floating(value.type):
        exact = types.is_integer(kind) and kind.bit_width <= 32 and value.type.bit_width == 64
    else:
        exact = True
    if not exact:
        raise _NotUnderstoodError(column)
    return value


def _if_valid(tree: _Call, binder: Binder) -> Condition:
    """DuckDB's IN: `is_in` where the column is valid, null where not."""
    test, inner, otherwise = tree.arguments
    is_null = isinstance(otherwise, pa.Scalar) and not otherwise.is_valid
    if is_null and isinstance(test, _Call) and test.function == "is_valid" and isinstance(inner, _Call):
        found = _understood(inner, binder)
        if inner.function == "is_in" and test.arguments == inner.arguments and isinstance(found, AllOf):
            return found.inner[1]
    raise _NotUnderstoodError(tree.function)


def _is_in(column: str, options: pa.Scalar | None, binder: Binder) -> Condition:
    if options is None or options["null_matching_behavior"].as_py() not in (_MATCH, _SKIP):
        raise _NotUnderstoodError("is_in")
    if pa.types.is_floating(binder.kind(column)):
        # It finds one that is no number by another, tells zeroes by their signs, and casts what is listed.
        raise _NotUnderstoodError("is_in")
    values: Sequence[pa.Scalar] = options["value_set"].values or ()
    listed = [checked(column, value, binder) for value in values if value.is_valid]
    found = binder.one_of(column, listed)
    if len(listed) < len(values) and options["null_matching_behavior"].as_py() == _MATCH:
        return AnyOf((IsNull(column), found))
    assert isinstance(found, OneOf)
    return AllOf((Not(IsNull(column)), found))


def _is_null(column: str, options: pa.Scalar | None, binder: Binder) -> Condition:
    nan_too = options is not None and options["nan_is_null"].as_py()
    return AnyOf((binder.is_null(column), binder.is_nan(column))) if nan_too else binder.is_null(column)


def _like(column: str, options: pa.Scalar | None, binder: Binder, *, end: str, special: str) -> Condition:
    pattern = "" if options is None else options["pattern"].as_py()
    if options is None or options["ignore_case"].as_py() or any(each in pattern for each in special):
        raise _NotUnderstoodError("like")
    return binder.like(column, pattern + end)


_OF_COLUMN: dict[str, Callable[[str, pa.Scalar | None, Binder], Condition]] = {
    "is_in": _is_in,
    "is_null": _is_null,
    "is_valid": lambda column, _, binder: Not(binder.is_null(column)),
    "is_nan": lambda column, _, binder: binder.is_nan(column),
    "match_like": lambda column, options, binder: _like(column, options, binder, end="", special="\\"),
    "starts_with": lambda column, options, binder: _like(column, options, binder, end="%", special="%_"),
}


def _words(tree: _Node, depth: int = 0) -> str:
    if depth > _DEPTH_MAX:
        return "..."
    if isinstance(tree, _Column):
        return tree.name
    if isinstance(tree, pa.Scalar):
        return str(tree)
    return f"{tree.function}({', '.join(_words(each, depth + 1) for each in tree.arguments)})"
