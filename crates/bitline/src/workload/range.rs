//! The logical blocks that a workload goes to.

/// A range of logical blocks within a namespace, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) blocks: u64,
}

impl Range {
    /// The range from `first` on, of `range_blocks` or, if that is zero, of all that
    /// follow in a namespace of `blocks`.
    pub(super) fn within(first: u64, range_blocks: u64, blocks: u64) -> Result<Range, String> {
        let rest = blocks.saturating_sub(first);
        let range = match range_blocks {
            0 => rest,
            some => some,
        };
        if range == 0 || range > rest {
            return Err(format!(
                "blocks {first} to {} must lie within the namespace's {blocks}",
                first.saturating_add(range)
            ));
        }
        Ok(Range {
            first,
            blocks: range,
        })
    }
}
