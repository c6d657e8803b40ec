//! Log pages: what a drive tells of what happened to it (Base 5.1.12).

mod drive;
mod effects;
mod error;
mod firmware;
mod health;
mod program;
mod reachability;
mod sanitize;

pub use drive::{DriveLog, TextLog};
pub use effects::{CommandEffects, SupportedLogs};
pub use error::ErrorEntry;
pub use firmware::FirmwareSlots;
pub use health::{HealthLog, critical_warning};
pub use program::{ProgramDescriptor, ProgramType, RangeSetRecord};
pub use reachability::{ReachabilityAssociation, ReachabilityGroup};
pub use sanitize::{SanitizeLog, sanitize_state};
