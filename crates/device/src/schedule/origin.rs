//! On whose behalf a transaction is.

use serde::{Deserialize, Serialize};
use sim::{Requester, Tenant, TraceId};

use super::rank::Rank;
use crate::tenants;

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

/// On whose behalf something is done, and how urgently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// For whom.
    pub tenant: Tenant,
    /// How urgent the host says it is; the firmware's own work has a place of its own.
    pub priority: Priority,
    /// The firmware's own work that waits where the host's commands of this urgency do.
    with_host: bool,
    /// It is for a stream or a task, which `schedule.isp_share_percent` guarantees a share of each die.
    pub(super) in_storage: bool,
    /// Its place where requests are ranked.
    pub(super) rank: Rank,
    /// The command, while a trace is recorded.
    pub trace: TraceId,
}

/// Where transactions of an origin wait: the class of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The translation layer's own tables, for which a host command waits.
    Mapping,
    /// Host commands.
    User(Priority),
    /// Garbage collection and wear levelling.
    Collection,
}

impl Origin {
    /// A host command, or what the drive does for all of them, as if it were of a page.
    #[inline]
    pub const fn new(tenant: Tenant, priority: Priority) -> Origin {
        Origin {
            tenant,
            priority,
            with_host: false,
            in_storage: false,
            rank: Rank::PAGE,
            trace: TraceId::NONE,
        }
    }

    /// As it is, for the command of that number in a trace.
    #[inline]
    pub const fn traced(self, trace: TraceId) -> Origin {
        Origin { trace, ..self }
    }

    /// As it is, but in turn with commands of the host.
    pub(crate) const fn with_host(self) -> Origin {
        Origin {
            with_host: true,
            ..self
        }
    }

    /// As it is, for a request of that rank.
    #[inline]
    pub const fn ranked(self, rank: Rank) -> Origin {
        Origin { rank, ..self }
    }

    /// As it is, for a request that was given its rank and is of so many bytes.
    #[inline]
    pub const fn sized(self, bytes: u64) -> Origin {
        self.ranked(self.rank.sized(bytes))
    }

    /// As it is, for a stream or a task that works on so many bytes.
    pub const fn in_storage(self, bytes: u64) -> Origin {
        Origin {
            in_storage: true,
            ..self.sized(bytes)
        }
    }

    /// Its place where requests are ranked.
    #[inline]
    pub const fn rank(self) -> Rank {
        self.rank
    }

    /// For whom buses and dies are used.
    #[inline]
    pub const fn requester(self) -> Requester {
        Requester {
            tenant: self.tenant,
            trace: self.trace,
        }
    }

    /// The firmware's own work.
    pub const fn own(tenant: Tenant) -> Origin {
        let rank = match tenant {
            tenants::COLLECTION | tenants::WEAR_LEVELLING => Rank::BACKGROUND,
            _ => Rank::PAGE,
        };
        Origin::new(tenant, Priority::High).ranked(rank)
    }

    #[inline]
    pub(super) fn class(self) -> Class {
        match self.tenant {
            tenants::MAPPING | tenants::RECOVERY => Class::Mapping,
            tenants::COLLECTION | tenants::WEAR_LEVELLING if !self.with_host => Class::Collection,
            _ => Class::User(self.priority),
        }
    }
}

impl From<Origin> for Requester {
    #[inline]
    fn from(origin: Origin) -> Requester {
        origin.requester()
    }
}

impl Default for Origin {
    /// What the drive does for everybody, of no stated priority.
    fn default() -> Origin {
        Origin::own(tenants::DRIVE)
    }
}
