//! The codes of command cycles. Those of ONFI 4.2 carry its names.

pub(super) const READ: u8 = 0x00;
pub(super) const READ_CONFIRM: u8 = 0x30;
pub(super) const READ_CACHE: u8 = 0x31;
pub(super) const READ_MULTI_PLANE: u8 = 0x32;
pub(super) const READ_INVERSE: u8 = 0x33;
pub(super) const READ_COPYBACK: u8 = 0x35;
pub(super) const READ_CACHE_END: u8 = 0x3F;
pub(super) const PROGRAM: u8 = 0x80;
pub(super) const PROGRAM_CONFIRM: u8 = 0x10;
pub(super) const PROGRAM_MULTI_PLANE: u8 = 0x11;
pub(super) const COPYBACK_PROGRAM: u8 = 0x85;
pub(super) const ERASE: u8 = 0x60;
pub(super) const ERASE_CONFIRM: u8 = 0xD0;
pub(super) const ERASE_MULTI_PLANE: u8 = 0xD1;
pub(super) const SET_FEATURE: u8 = 0xEF;
pub(super) const READ_STATUS: u8 = 0x70;
pub(super) const RESET: u8 = 0xFF;
// Vendor-specific codes of ours.
pub(super) const SUSPEND: u8 = 0x61;
pub(super) const RESUME: u8 = 0xD2;
pub(super) const MWS: u8 = 0xC0;
pub(super) const CONT: u8 = 0xC1;
pub(super) const NEXT_PLANE: u8 = 0xC2;
pub(super) const CONF: u8 = 0xC3;
pub(super) const XOR: u8 = 0xC4;
pub(super) const LATCH_TRANSFER: u8 = 0xC5;
pub(super) const LATCH_LOAD: u8 = 0xC6;
pub(super) const RAISE: u8 = 0xC7;
pub(super) const PROGRAM_COMPLEMENT: u8 = 0xC8;
/// Prefix of a program: plus the mode's code.
pub(super) const MODE: u8 = 0xA0;
