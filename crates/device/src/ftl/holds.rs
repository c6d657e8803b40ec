//! What a page that is to be programmed holds, and the memory of a record that is longer than most.

use super::lpn::Lpn;
use super::spare::{Content, encode_units};
use super::{Ftl, PageSlice};
use crate::memory::{BufferId, Buffers};
use crate::schedule::Spare;

/// What a page holds.
#[derive(Clone, Copy)]
pub(super) enum Holds<'a> {
    /// What takes all of it, and its version.
    Page(Content, u64),
    /// Data of logical pages, each in its slot, all of one version.
    Units {
        units: &'a [PageSlice],
        version: u64,
        record: &'a RecordBuffer<'a>,
    },
}

impl<'a> Holds<'a> {
    /// Data of logical pages of one version: with a record of its own where a page may have several.
    pub(super) fn data(
        units: &'a [PageSlice],
        version: u64,
        record: Option<&'a RecordBuffer<'a>>,
    ) -> Holds<'a> {
        match record {
            None => Holds::Page(Content::Data(units[0].lpn), version),
            Some(record) => Holds::Units {
                units,
                version,
                record,
            },
        }
    }

    /// The version of what the page holds.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        match *self {
            Holds::Page(_, version) | Holds::Units { version, .. } => version,
        }
    }
}

/// Memory for the record of a page of units; dropping it gives it back.
pub(super) struct RecordBuffer<'a> {
    buffers: &'a Buffers,
    id: BufferId,
}

impl RecordBuffer<'_> {
    /// Writes the record of a page with these units: the slot, logical page and version of each. It must not change until the
    /// page is programmed.
    pub(super) fn encode(
        &self,
        units: impl Iterator<Item = (u32, Lpn, u64)>,
        sequence: u64,
    ) -> Spare {
        encode_into(self.buffers, self.id, units, sequence)
    }
}

impl Drop for RecordBuffer<'_> {
    fn drop(&mut self) {
        self.buffers.give_back_record(self.id);
    }
}

/// The same, into a buffer that somebody else gives back.
pub(super) fn encode_into(
    buffers: &Buffers,
    id: BufferId,
    units: impl Iterator<Item = (u32, Lpn, u64)>,
    sequence: u64,
) -> Spare {
    buffers.with_mut(id, |record| encode_units(record, units, sequence));
    Spare::in_buffer(id)
}

impl Ftl {
    /// Memory for the record of a page of units, where a page may have several.
    pub(super) fn record_buffer(&self) -> Option<RecordBuffer<'_>> {
        (!self.unit.is_page()).then(|| RecordBuffer {
            buffers: &self.buffers,
            id: self.buffers.take_record(),
        })
    }
}
