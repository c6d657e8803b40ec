//! Bulk bitwise computing in the flash array (Flash-Cosmos): how rows of placed pages are written, and how expressions
//! over logical pages are evaluated. [`execute`] carries plans out; everything else here is without I/O.

pub mod advise;
mod bound;
pub mod classes;
pub mod combine;
pub mod command;
pub mod config;
pub mod demand;
pub mod engine;
pub mod evaluate;
pub mod execute;
mod hashing;
pub mod plan;
mod reads;
mod recipe;
pub mod routes;
pub mod rows;
#[cfg(test)]
mod tests;
mod work;

pub use config::BitsConfig;
pub use engine::{Engine, Evaluator, Objective};
pub use execute::{
    Bits, BitsCounts, Estimated, ExecuteError, Explained, NotReceived, PlacedRows, Receive,
    Receiving, Wanted, Within,
};
pub use routes::Outlook;
