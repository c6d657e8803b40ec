//! Whose a page is.

/// What a page holds, and so who relocates its block: the first byte of every page's spare bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Owner {
    /// Data of a logical page, anywhere.
    Data = 0x44,
    /// The record that logical pages were deallocated.
    Tombstone = 0x54,
    /// Durable facts of the firmware.
    Journal = 0x4A,
    /// A mapping page.
    Mapping = 0x4D,
    /// A part of the root of a checkpoint.
    Root = 0x52,
    /// Data of a logical page, placed to be computed with.
    Compute = 0x43,
    /// Lent to one evaluation: nothing of it outlives that, or a power cut.
    Temporary = 0x58,
    /// Names of a search region, transposed.
    Search = 0x53,
}

impl Owner {
    /// All of them.
    pub const ALL: [Owner; 8] = [
        Owner::Data,
        Owner::Tombstone,
        Owner::Journal,
        Owner::Mapping,
        Owner::Root,
        Owner::Compute,
        Owner::Temporary,
        Owner::Search,
    ];

    /// Its code.
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The owner with this code.
    pub fn from_code(code: u8) -> Option<Owner> {
        let mut all = Owner::ALL.into_iter();
        all.find(|owner| owner.code() == code)
    }
}
