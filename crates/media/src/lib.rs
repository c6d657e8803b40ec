//! What physically exists in a drive: NAND packages, channels, DRAM, the controller's cores, the host link.

pub mod channel;
pub mod core;
pub mod dram;
pub mod link;
pub mod nand;
mod range;
pub mod words;

pub use range::OutOfRange;
