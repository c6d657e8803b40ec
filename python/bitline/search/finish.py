"""How what a drive has found is finished: PyArrow drops the rows that are not meant."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from bitline.errors import UsageError
from bitline.search.condition import AllOf, Condition


@dataclass(frozen=True)
class Asked:
    """A condition, and who says which of the rows that the drive gave fulfil it."""

    condition: Condition
    finish: Callable[[pa.Table], pa.Table]


def filtered(table: pa.Table, condition: pc.Expression) -> pa.Table:
    """What PyArrow finds, with its error as one of ours where types do not fit."""
    try:
        return table.filter(condition, null_selection_behavior="drop")
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UsageError(f"condition {condition}, as PyArrow takes it: {error}") from None


def kept_rows(table: pa.Table, condition: Condition) -> pa.Table:
    """What a condition of ours is true of."""
    mask = condition.mask(table)
    if isinstance(mask, pa.Scalar):
        return table if mask.as_py() else table.slice(0, 0)
    return table.filter(mask, null_selection_behavior="drop")


def finished(table: pa.Table, asked: Asked) -> pa.Table:
    """The rows that are meant, of which conditions see the dictionaries' values."""
    values = plain(table)
    return asked.finish(table) if values is table else table.take(meant_rows(values, asked))


def meant_rows(values: pa.Table, asked: Asked) -> pa.Array:
    """The numbers of the rows that are meant."""
    number = "row of " + max(values.column_names, key=len)
    numbered = values.append_column(number, pa.array(range(values.num_rows), pa.int64()))
    return asked.finish(numbered)[number].combine_chunks()


def plain(table: pa.Table) -> pa.Table:
    """Dictionaries as their values."""
    return table.cast(decoded(table.schema)) if decoded(table.schema) != table.schema else table


def decoded(schema: pa.Schema) -> pa.Schema:
    """A schema with dictionaries as their values."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return pa.schema(plain, schema.metadata)


def parts_of(condition: Condition) -> Iterable[Condition]:
    """What all has to be true."""
    return condition.inner if isinstance(condition, AllOf) else (condition,)
