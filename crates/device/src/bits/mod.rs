//! Bulk bitwise computing in the flash array (Flash-Cosmos): where vectors are, and how expressions
//! over them are evaluated. No I/O happens here; the plan is carried out elsewhere.

pub mod combine;
pub mod command;
pub mod engine;
pub mod error;
pub mod evaluate;
pub mod placement;
pub mod plan;
#[cfg(test)]
mod tests;

pub use engine::{BitsConfig, Engine};
pub use error::BitsError;
