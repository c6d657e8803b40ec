"""A column of a table becomes codes: its values, and whether they are kept as bitmaps or planes."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitline.columns.kinds import is_text, kind_of, numbers_of
from bitline.errors import UsageError
from bitline.units import counted

#: How a column is kept: a vector a value, or a vector a bit of the code.
Encoding: TypeAlias = Literal["bitmap", "planes"]

#: Columns of so many values are kept as bitmaps unless something else is asked for. An OR of inverted bitmaps
#: is one sense for each four blocks of a string, 48 wordlines in the default preset; of more values planes
#: are fewer.
BITMAP_VALUES = 64
#: The most values that bitmaps are made for: an expression has 4,096 operands.
BITMAP_VALUES_MAX = 4096
#: The most texts that are told apart: they are kept with the index and held in memory.
TEXTS_MAX = 1 << 20

#: Numbers so close together are counted in a table.
_TABLE = 1 << 16
#: Rows that are looked at before all are.
_SAMPLE = 1 << 14


@dataclass(frozen=True)
class Coded:
    """A column as codes."""

    encoding: Encoding
    """How it is to be kept."""
    values: pa.Array
    """Its values, ascending: all that occur, or the least and the largest if codes count from there on."""
    is_span: bool
    """Whether they are the least and the largest."""
    codes: NDArray[np.unsignedinteger[Any]]
    """A code for each row, 0 for a null; as narrow as they can be."""
    last: int
    """The last code; -1 if all rows are null."""
    valid: NDArray[np.bool_] | None
    """Which rows are not null; None if all are."""


def coded(name: str, column: pa.ChunkedArray, encoding: Encoding | None) -> Coded:
    """A column as codes, kept as asked, or as its number of values suggests.

    Raises:
        UsageError: Columns of its type are not sliced; too many values for bitmaps, too many texts.
    """
    values = _decoded(column)
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    if pa.types.is_dictionary(values.type) or is_text(values.type):
        return _of_texts(name, values, encoding, valid)
    return _of_numbers(name, values, encoding, valid)


def _decoded(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece; of dictionaries only those of texts are left."""
    if pa.types.is_dictionary(column.type):
        if is_text(column.type.value_type):
            if any(chunk.dictionary.null_count for chunk in column.chunks):
                # Those of several chunks are only made one where no entry is null.
                chunks = [chunk.dictionary_decode().dictionary_encode() for chunk in column.chunks]
                column = pa.chunked_array(chunks)
            return column.unify_dictionaries().combine_chunks()
        column = column.cast(column.type.value_type)
    values = column.combine_chunks()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _of_texts(
    name: str, values: pa.Array, encoding: Encoding | None, valid: NDArray[np.bool_] | None
) -> Coded:
    if not pa.types.is_dictionary(values.type):
        kind_of(name, values.type)
        values = values.dictionary_encode()
    # A dictionary may have nulls, texts twice, and texts that no row has.
    entries = values.dictionary
    indices = values.indices.fill_null(0).to_numpy(zero_copy_only=False)
    text_of_row = pc.unique(values.indices.drop_null())
    texts = pc.unique(entries.take(text_of_row)).drop_null()
    texts = texts.take(pc.sort_indices(texts))
    if len(texts) > TEXTS_MAX:
        raise UsageError(
            f"column {name!r} has {len(texts):,} different texts; at most {TEXTS_MAX:,} are told apart"
        )
    if encoding is None:
        encoding = "bitmap" if 2 < len(texts) <= BITMAP_VALUES else "planes"
    if len(texts) == 0:
        return _finished(name, encoding, texts, -1, np.zeros(len(values), np.uint8), valid)
    rank = pc.index_in(entries, texts)
    if rank.null_count:
        used = rank.is_valid().to_numpy(zero_copy_only=False)[indices]
        valid = used if valid is None else valid & used
        valid = None if valid.all() else valid
    codes = rank.fill_null(0).to_numpy(zero_copy_only=False)[indices]
    return _finished(name, encoding, texts, len(texts) - 1, codes, valid)


def _of_numbers(
    name: str, values: pa.Array, encoding: Encoding | None, valid: NDArray[np.bool_] | None
) -> Coded:
    kind_of(name, values.type)
    numbers = numbers_of(name, values)
    present = numbers if valid is None else numbers[valid]
    if len(present) == 0:
        return _finished(name, encoding or "planes", values[:0], -1, np.zeros(len(values), np.uint8), valid)
    at_least, at_most = int(np.argmin(present)), int(np.argmax(present))
    least, largest = int(present[at_least]), int(present[at_most])
    # Modulo 2^64, so that it is right for numbers of either sign.
    offsets = numbers.view(np.uint64) - np.uint64(least % (1 << 64))
    span = largest - least
    if encoding != "planes" and (occurring := _occurring(offsets, span, valid, encoding)) is not None:
        whole = np.asarray([least + int(offset) for offset in occurring], dtype=numbers.dtype)
        if encoding == "bitmap" or span > 1:
            codes = _ranks(offsets, occurring, span)
            return _finished(name, "bitmap", _array(whole, values.type), len(whole) - 1, codes, valid)
    ends = np.asarray([least, largest], dtype=numbers.dtype)
    return _finished(name, "planes", _array(ends, values.type), span, offsets, valid, is_span=True)


def _occurring(
    offsets: NDArray[np.uint64], span: int, valid: NDArray[np.bool_] | None, encoding: Encoding | None
) -> NDArray[np.uint64] | None:
    """The offsets that occur, ascending; None if there are more than bitmaps are made for unasked."""
    if encoding is None:
        sample = offsets[:_SAMPLE] if valid is None else offsets[:_SAMPLE][valid[:_SAMPLE]]
        if len(np.unique(sample)) > BITMAP_VALUES:
            return None
    present = offsets if valid is None else offsets[valid]
    if span < _TABLE:
        occurring = np.flatnonzero(np.bincount(present.astype(np.int64), minlength=1)).astype(np.uint64)
    else:
        occurring = np.sort(pc.unique(pa.array(present)).to_numpy())
    return occurring if encoding is not None or len(occurring) <= BITMAP_VALUES else None


def _ranks(
    offsets: NDArray[np.uint64], occurring: NDArray[np.uint64], span: int
) -> NDArray[np.unsignedinteger[Any]]:
    if span >= _TABLE:
        return np.searchsorted(occurring, offsets).astype(np.uint64)
    # A null may be beyond the table.
    table = np.zeros(span + 1, np.uint16)
    table[occurring] = np.arange(len(occurring))
    return table[np.minimum(offsets, np.uint64(span))]


def _array(numbers: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Numbers as values of a type."""
    if pa.types.is_decimal128(kind):
        words = np.stack([numbers.astype(np.int64), numbers.astype(np.int64) >> 63], axis=1)
        return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(words))])
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pa.array(numbers).cast(kind)
    return pa.array(numbers).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def _finished(
    name: str,
    encoding: Encoding,
    values: pa.Array,
    last: int,
    codes: NDArray[Any],
    valid: NDArray[np.bool_] | None,
    *,
    is_span: bool = False,
) -> Coded:
    """The codes up to `last`, made narrow, and 0 where there is no value."""
    if encoding == "bitmap" and last >= BITMAP_VALUES_MAX:
        raise UsageError(
            f"column {name!r} has {counted(last + 1, 'different value')}; bitmaps are made for at most "
            f"{BITMAP_VALUES_MAX:,}: take planes"
        )
    if valid is not None:
        codes = np.where(valid, codes, codes.dtype.type(0))
    return Coded(
        encoding, values, is_span, codes.astype(np.min_scalar_type(max(last, 0)), copy=False), last, valid
    )
