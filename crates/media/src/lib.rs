//! What physically exists in a drive: NAND, channels, link.

pub mod nand;
