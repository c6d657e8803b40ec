//! Firmware Slot Information (Base 5.1.12.1.4).

use std::mem::size_of;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identify::ascii;

/// The Firmware Slot Information page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FirmwareSlots {
    /// AFI: the active slot in bits 2:0, the next one in 6:4.
    pub active: u8,
    reserved_1: [u8; 7],
    /// FRS1 to FRS7: the revision in each slot, ASCII.
    pub revisions: [[u8; 8]; 7],
    reserved_64: [u8; 448],
}

const _: () = assert!(size_of::<FirmwareSlots>() == 512);

impl FirmwareSlots {
    /// The page of a drive with one slot, which holds `revision`.
    pub fn one(revision: &str) -> FirmwareSlots {
        let mut page = FirmwareSlots::new_zeroed();
        page.active = 1;
        page.revisions[0] = ascii(revision);
        page
    }
}
