//! Bulk bitwise computing in the flash array (Flash-Cosmos): where vectors are, and how expressions
//! over them are evaluated. [`execute`] carries plans out; everything else here is without I/O.

pub mod advise;
pub mod combine;
pub mod command;
pub mod config;
pub mod engine;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod execute;
pub mod meet;
pub mod placement;
pub mod plan;
mod recipe;
#[cfg(test)]
mod tests;

pub use config::BitsConfig;
pub use engine::Engine;
pub use error::BitsError;
pub use execute::{Bits, BitsCounts, ExecuteError, PlaceError, PlacedVectors};
