"""A table as a lazy frame of Polars, which hands over columns and a predicate."""

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bitline.errors import UsageError
from bitline.extras import needed_for
from bitline.search.arrow_expression import checked
from bitline.search.binder import Binder
from bitline.search.condition import AllOf, AnyOf, Condition, Known, Not, Other
from bitline.search.fields import Comparison

if TYPE_CHECKING:
    from polars import DataFrame, Expr, LazyFrame

    from bitline.search.table import Table

_COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    "Eq": ("==", "=="),
    "NotEq": ("!=", "!="),
    "Lt": ("<", ">"),
    "LtEq": ("<=", ">="),
    "Gt": (">", "<"),
    "GtEq": (">=", "<="),
}
_BETWEEN: dict[str, tuple[Comparison, Comparison]] = {
    "Both": (">=", "<="),
    "Left": (">=", "<"),
    "Right": (">", "<="),
    "None": (">", "<"),
}


class _NotUnderstoodError(Exception):
    """A part of a predicate is of a kind that is not known here."""


def lazy_frame(table: "Table") -> "LazyFrame":
    """A frame whose filters and columns the drive sees.

    Raises:
        UsageError: Polars is not installed.
    """
    from bitline.search.finish import Asked, decoded

    with needed_for("Table.lazy"):
        import polars as pl
        from polars.io.plugins import register_io_source

    def frame(rows: pa.Table) -> "DataFrame":
        found = pl.from_arrow(rows)
        assert isinstance(found, pl.DataFrame)
        return found

    def source(
        columns: list[str] | None, predicate: "Expr | None", rows: int | None, batch: int | None
    ) -> "Iterator[DataFrame]":
        wanted = table.schema.names if columns is None else columns
        condition = Known(True) if predicate is None else from_polars(predicate, table.binder)
        # What Polars looks at to say which rows are meant has to be there, too.
        looked_at = [] if predicate is None else predicate.meta.root_names()
        needed = [name for name in table.schema.names if name in {*wanted, *looked_at}]
        found = frame(table.rows(Asked(condition, lambda rows: rows), needed))
        meant = found if predicate is None else found.filter(predicate)
        meant = meant.select(wanted) if rows is None else meant.select(wanted).head(rows)
        yield from meant.iter_slices(batch) if batch and len(meant) else [meant]

    empty = frame(decoded(table.schema).empty_table())
    return register_io_source(source, schema=empty.schema, validate_schema=True, is_pure=True)


def from_polars(predicate: "Expr", binder: Binder) -> Condition:
    """What a predicate asks of columns, with what is not understood as `Other`: Polars finishes all of it."""
    try:
        tree = _loaded(predicate.meta.serialize(format="json"))
    except (ValueError, TypeError, LookupError):
        return Other(str(predicate), frozenset())
    return _condition(tree, binder)


#: What JSON is made of; a text may have any brackets in it.
_JSON = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*"|[^\s{}\[\]",:]+')
#: Functions within functions that are understood, at most; a chain of ORs, or of ANDs, is one.
_DEPTH_MAX = 100


def _loaded(text: str) -> Any:  # noqa: ANN401 (JSON)
    """JSON of any depth, which `json` does not take: a predicate of a thousand ORs is as many levels deep."""
    begun: list[list[Any]] = [[]]
    for token in _JSON.findall(text):
        if token in ("{", "["):
            begun.append([])
        elif token in ("}", "]"):
            found = begun.pop()
            begun[-1].append(dict(zip(found[::2], found[1::2], strict=True)) if token == "}" else found)
        else:
            begun[-1].append(json.loads(token))
    [tree] = begun[0]
    return tree


def _chained(tree: Any) -> list[Any]:  # noqa: ANN401 (JSON)
    """The operands of a chain of one operator, from the left."""
    operator, found, left = tree["BinaryExpr"]["op"], list[Any](), [tree]
    while left:
        node = left.pop()
        inner = node.get("BinaryExpr") if isinstance(node, dict) else None
        if inner is not None and inner["op"] == operator:
            left += [inner["right"], inner["left"]]
        else:
            found.append(node)
    return found


def _condition(tree: Any, binder: Binder, depth: int = 0) -> Condition:  # noqa: ANN401 (JSON)
    try:
        return _understood(tree, binder, depth)
    except (_NotUnderstoodError, UsageError, LookupError, TypeError, ValueError, pa.ArrowException):
        return Other("what Polars asks", frozenset())


def _understood(tree: Any, binder: Binder, depth: int) -> Condition:  # noqa: ANN401 (JSON)
    if depth > _DEPTH_MAX:
        raise _NotUnderstoodError("depth")
    [(kind, node)] = tree.items()
    if kind == "Column" and pa.types.is_boolean(binder.kind(node)):
        return binder.compare(node, "==", True)
    if kind == "BinaryExpr":
        if node["op"] in ("And", "LogicalAnd", "Or", "LogicalOr"):
            inner = tuple(_condition(each, binder, depth + 1) for each in _chained(tree))
            return AllOf(inner) if node["op"].endswith("And") else AnyOf(inner)
        straight, swapped = _COMPARISONS[node["op"]]
        if "Column" in node["left"]:
            return _compared(node["left"]["Column"], straight, _constant(node["right"]), binder)
        return _compared(node["right"]["Column"], swapped, _constant(node["left"]), binder)
    if kind == "Function":
        [(family, function)] = node["function"].items()
        return _called(family, function, node["input"], binder, depth)
    raise _NotUnderstoodError(kind)


def _called(
    family: str,
    function: Any,  # noqa: ANN401 (JSON)
    given: list[Any],
    binder: Binder,
    depth: int,
) -> Condition:
    name = function if isinstance(function, str) else next(iter(function))
    if (family, name) == ("Boolean", "Not"):
        return Not(_condition(given[0], binder, depth + 1))
    column = given[0]["Column"]
    if (family, name) in _OF_COLUMN:
        return _OF_COLUMN[family, name](column, binder)
    if (family, name) == ("Boolean", "IsIn"):
        return _is_in(column, _constant(given[1]).values, function[name]["nulls_equal"], binder)
    if (family, name) == ("Boolean", "IsBetween"):
        ends = zip(_BETWEEN[function[name]["closed"]], given[1:], strict=True)
        return AllOf(tuple(_compared(column, sign, _constant(end), binder) for sign, end in ends))
    if (family, name) == ("StringExpr", "StartsWith"):
        begin = _constant(given[1]).as_py()
        if not any(each in begin for each in "%_"):
            return binder.like(column, begin + "%")
    raise _NotUnderstoodError(name)


def _is_in(column: str, values: pa.Array, nulls_equal: bool, binder: Binder) -> Condition:
    """IN as Polars means it: unknown where the column is null, or a null is a value that may be listed."""
    listed = [checked(column, value, binder) for value in values if value.is_valid]
    if any(_is_nan(value) for value in listed):
        raise _NotUnderstoodError(column)
    found = binder.one_of(column, listed)
    if not nulls_equal:
        return found
    null = binder.is_null(column)
    return AnyOf((found, null)) if values.null_count else AllOf((found, Not(null)))


def _compared(column: str, comparison: Comparison, value: pa.Scalar, binder: Binder) -> Condition:
    """A comparison as Polars means it, to whom what is no number is more than any number."""
    if _is_nan(value):
        raise _NotUnderstoodError(column)
    found = binder.compare(column, comparison, checked(column, value, binder))
    if pa.types.is_floating(binder.kind(column)) and comparison in (">", ">=") and value.is_valid:
        return AnyOf((found, binder.is_nan(column)))
    return found


def _is_nan(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and value.is_valid and value.as_py() != value.as_py())


def _constant(tree: Any) -> pa.Scalar:  # noqa: ANN401 (JSON)
    """A constant, whatever its type: Polars tells what it is, and Arrow has it."""
    import polars as pl

    if "Literal" not in tree:
        raise _NotUnderstoodError(next(iter(tree)))
    try:
        literal = pl.Expr.deserialize(io.StringIO(json.dumps(tree)), format="json")
    except pl.exceptions.PolarsError:
        # JSON has no infinity, and nothing that is no number.
        raise _NotUnderstoodError("a constant") from None
    return pl.select(literal).to_series().to_arrow()[0]


_OF_COLUMN: dict[tuple[str, str], Callable[[str, Binder], Condition]] = {
    ("Boolean", "IsNull"): lambda column, binder: binder.is_null(column),
    ("Boolean", "IsNotNull"): lambda column, binder: Not(binder.is_null(column)),
    ("Boolean", "IsNan"): lambda column, binder: binder.is_nan(column),
    ("Boolean", "IsNotNan"): lambda column, binder: Not(binder.is_nan(column)),
}
