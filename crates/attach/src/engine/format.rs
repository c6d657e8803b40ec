//! Whether the namespace whose blocks are a file is still formatted as it was: another host may have it formatted otherwise, and
//! commands that do not know of that would move other bytes than they say.

use std::cell::Cell;

/// What is known of the namespace's format.
#[derive(Default)]
pub(super) struct Format {
    under_way: Cell<u32>,
    differs: Cell<bool>,
}

impl Format {
    /// Whether it is known to be what it was when the drive was opened.
    pub(super) fn is_kept(&self) -> bool {
        self.under_way.get() == 0 && !self.differs.get()
    }

    /// It begins to be formatted.
    pub(super) fn begin(&self) {
        self.under_way.set(self.under_way.get() + 1);
    }

    /// That has ended, and it is now as it was or not.
    pub(super) fn end(&self, differs: bool) {
        self.under_way.set(self.under_way.get() - 1);
        self.differs.set(differs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_format_counts() {
        let format = Format::default();
        assert!(format.is_kept());
        format.begin();
        assert!(!format.is_kept(), "nobody knows yet");
        format.begin();
        format.end(true);
        format.end(false);
        assert!(format.is_kept());
        format.begin();
        format.end(true);
        assert!(!format.is_kept());
    }
}
