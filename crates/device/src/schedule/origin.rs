//! On whose behalf a transaction is.

use serde::{Deserialize, Serialize};

/// How urgent a host command is (NVMe Base 2.1, 3.4.4.2: the classes of weighted round robin).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// The largest share; also what a command has that states nothing, as in MQSim.
    #[default]
    High,
    /// A middling share.
    Medium,
    /// The smallest share.
    Low,
}

impl Priority {
    /// All of them, most urgent first.
    pub const ALL: [Priority; 4] = [
        Priority::Urgent,
        Priority::High,
        Priority::Medium,
        Priority::Low,
    ];
}

/// Who wants a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The translation layer's own tables, for which a host command waits.
    Mapping,
    /// A host command.
    User(Priority),
    /// Garbage collection and wear levelling.
    Collection,
}

impl Default for Origin {
    /// A host command of no stated priority.
    fn default() -> Origin {
        Origin::User(Priority::default())
    }
}
