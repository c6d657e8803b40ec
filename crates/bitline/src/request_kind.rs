//! What requests ask for, those of flows and those of traces.

use serde::Serialize;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum RequestKind {
    /// Read.
    Read = 0,
    /// Write.
    Write = 1,
    /// Deallocate blocks, also called discard or trim.
    Deallocate = 2,
    /// Flush, which has no address.
    Flush = 3,
    /// A query over vectors, which has none either.
    Query = 4,
}

impl RequestKind {
    /// All of them, each at the place that its number names.
    pub const ALL: [RequestKind; 5] = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Deallocate,
        RequestKind::Flush,
        RequestKind::Query,
    ];

    /// Its name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Deallocate => "deallocate",
            RequestKind::Flush => "flush",
            RequestKind::Query => "query",
        }
    }
}
