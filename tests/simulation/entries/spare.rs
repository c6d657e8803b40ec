//! What the test itself needs, which an entry that was spoiled spares.

use nvme::SubmissionEntry;

/// Moves what is written in the first namespace behind the blocks that are kept.
pub(super) fn blocks(entry: &mut SubmissionEntry) {
    let start = u64::from(entry.cdw11.get()) << 32 | u64::from(entry.cdw10.get());
    if entry.namespace_id.get() == 1 && start < super::world::KEPT_BLOCKS {
        entry.cdw10.set(super::world::KEPT_BLOCKS as u32);
    }
}

/// Ranges that may be anything are not deallocated.
pub(super) fn ranges(entry: &mut SubmissionEntry) {
    entry.cdw11.set(entry.cdw11.get() & !4);
}

/// The queue that the test itself uses.
pub(super) fn queue(entry: &mut SubmissionEntry) {
    let number = entry.cdw10.get();
    if number & 0xFFFF == 1 {
        entry.cdw10.set(number + 1);
    }
}

/// The namespace whose blocks are kept.
pub(super) fn namespace(entry: &mut SubmissionEntry) {
    if matches!(entry.namespace_id.get(), 1 | u32::MAX) {
        entry.namespace_id.set(2);
    }
}

/// Everything but the erase itself.
pub(super) fn everything(entry: &mut SubmissionEntry) {
    let number = entry.cdw10.get();
    if number & 7 == 2 {
        entry.cdw10.set(number ^ 1);
    }
}
