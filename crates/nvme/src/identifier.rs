//! Identifiers as types, so that a queue is never taken for a command nor a block for a page.

use std::fmt;

/// Declares a newtype over an unsigned integer with a constructor, an accessor and `Display`.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($integer:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($integer);

        impl $name {
            /// Wraps the raw value.
            pub const fn new(value: $integer) -> Self {
                Self(value)
            }

            /// The raw value.
            pub const fn get(self) -> $integer {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

identifier!(
    /// Identifies a command among those outstanding in its submission queue (CID; Base 4.1).
    CommandId(u16)
);
identifier!(
    /// A submission or completion queue; 0 is the admin queue of its kind (QID; Base 5.2).
    QueueId(u16)
);
identifier!(
    /// A controller of the NVM subsystem (CNTLID; Base 5.1.13).
    ControllerId(u16)
);
identifier!(
    /// A namespace; 1 is the first, 0 means none, all ones means all (NSID; Base 3.2.1).
    NamespaceId(u32)
);
identifier!(
    /// A logical block address within a namespace, in logical blocks (NVM 2.1).
    Lba(u64)
);
identifier!(
    /// A search region: the names of the entries of a data region, looked up in flash (ANVIL 4.3).
    RegionId(u16)
);

/// The namespace identifier that stands for every namespace (Base 3.2.1).
pub const BROADCAST_NAMESPACE: NamespaceId = NamespaceId::new(u32::MAX);

/// Priority class of a submission queue under weighted arbitration (QPRIO; Base 5.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueuePriority {
    /// Served before all weighted classes.
    #[default]
    Urgent,
    /// The heaviest weighted class.
    High,
    /// The middle weighted class.
    Medium,
    /// The lightest weighted class.
    Low,
}

impl QueuePriority {
    /// The class of a two-bit code; further bits are ignored.
    pub const fn from_code(code: u8) -> QueuePriority {
        match code & 3 {
            0 => QueuePriority::Urgent,
            1 => QueuePriority::High,
            2 => QueuePriority::Medium,
            _ => QueuePriority::Low,
        }
    }

    /// The two-bit code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
