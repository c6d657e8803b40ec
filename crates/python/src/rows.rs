//! What Python is told of groups, vectors, objects and runs: tuples, which its classes are made of.

use bitline::{Content, Ended, Extent, GroupInfo, Object, Outcome, Vector};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Name, number, length in bits, whether inverted, name in expressions, extents as first block and blocks.
pub(crate) type VectorRow = (String, u32, u64, bool, (u32, u32), Vec<(u64, u64)>);

/// Name, kind, bytes, type, shape, schema, extents as first block and blocks.
pub(crate) type ObjectRow = (
    String,
    &'static str,
    u64,
    Option<String>,
    Vec<u64>,
    Option<Vec<u8>>,
    Vec<(u64, u64)>,
);

/// Name, bits, first die and dies of its home, number of vectors.
pub(crate) type GroupRow = (String, u64, (u16, u16), usize);

/// How a run ended, the code of one that failed, why, the value, the log; cycles, bytes of memory, attempts, nanoseconds.
pub(crate) type OutcomeRow<'py> = (
    &'static str,
    i32,
    String,
    Bound<'py, PyBytes>,
    String,
    (u64, u64, u32, u64),
);

/// A group.
pub(crate) fn group_row(group: GroupInfo) -> GroupRow {
    let home = (group.home.first, group.home.dies);
    (group.name, group.bits, home, group.vectors)
}

/// A vector.
pub(crate) fn vector_row(vector: Vector) -> VectorRow {
    let extents = runs(&vector.extents);
    let id = (vector.id.group, vector.id.vector);
    (
        vector.name,
        vector.number,
        vector.bits,
        vector.inverse,
        id,
        extents,
    )
}

/// An object.
pub(crate) fn object_row(object: Object) -> ObjectRow {
    let (bytes, extents) = (object.content.bytes(), runs(&object.extents));
    let (kind, dtype, shape, schema) = match object.content {
        Content::Group(_) => ("group", None, Vec::new(), None),
        Content::Array(array) => ("array", Some(array.dtype), array.shape, None),
        Content::File { .. } => ("file", None, Vec::new(), None),
        Content::Table { schema, .. } => ("table", None, Vec::new(), Some(schema)),
        Content::Store(store) => ("store", None, Vec::new(), Some(store.schema)),
        _ => ("object", None, Vec::new(), None),
    };
    (object.name, kind, bytes, dtype, shape, schema, extents)
}

fn runs(extents: &[Extent]) -> Vec<(u64, u64)> {
    extents
        .iter()
        .map(|extent| (extent.first, extent.blocks))
        .collect()
}

/// What became of a run, as Python has it.
pub(crate) fn outcome_row(py: Python<'_>, outcome: Outcome) -> OutcomeRow<'_> {
    let code = match outcome.ended {
        Ended::Failed(code) => code,
        _ => 0,
    };
    (
        outcome.ended.name(),
        code,
        outcome.reason,
        PyBytes::new(py, &outcome.value),
        outcome.log,
        (
            outcome.cycles,
            outcome.memory_bytes,
            outcome.attempts,
            outcome.nanoseconds,
        ),
    )
}
