//! What physically exists in a drive: NAND packages, channels, the host link.

pub mod channel;
pub mod link;
pub mod nand;
