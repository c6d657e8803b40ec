//! Log pages: what a drive tells of what happened to it (Base 5.1.12).

mod effects;
mod error;
mod firmware;
mod health;
mod sanitize;

pub use effects::{CommandEffects, SupportedLogs};
pub use error::ErrorEntry;
pub use firmware::FirmwareSlots;
pub use health::{HealthLog, critical_warning};
pub use sanitize::{SanitizeLog, sanitize_state};
