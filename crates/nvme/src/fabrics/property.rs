//! Properties: the registers of a controller, asked for and set by commands (Base 3.1.4, 6.5, 6.6).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{FABRICS_OPCODE, fabrics_type};
use crate::entry::SubmissionEntry;

/// A property, by its offset among the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Property {
    /// CAP: 8 bytes.
    Capabilities = 0x00,
    /// VS.
    Version = 0x08,
    /// CC.
    Configuration = 0x14,
    /// CSTS.
    Status = 0x1C,
    /// NSSR.
    SubsystemReset = 0x20,
    /// CRTO: how long it may take until the controller is ready.
    ReadyTimeouts = 0x68,
}

impl Property {
    const ALL: [Property; 6] = [
        Property::Capabilities,
        Property::Version,
        Property::Configuration,
        Property::Status,
        Property::SubsystemReset,
        Property::ReadyTimeouts,
    ];

    /// The property at an offset.
    pub fn at(offset: u32) -> Option<Property> {
        let mut all = Property::ALL.into_iter();
        all.find(|property| *property as u32 == offset)
    }

    /// Its bytes: 4 or 8.
    pub fn bytes(self) -> u32 {
        match self {
            Property::Capabilities => 8,
            _ => 4,
        }
    }
}

/// The entry of a Property Get command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct PropertyGet {
    /// OPC: [`FABRICS_OPCODE`].
    pub opcode: u8,
    /// FUSE and PSDT.
    pub flags: u8,
    /// CID.
    pub command_id: U16,
    /// FCTYPE: [`fabrics_type::PROPERTY_GET`].
    pub fabrics_type: u8,
    reserved_5: [u8; 35],
    /// ATTRIB: 0 for 4 bytes, 1 for 8, in bits 2:0.
    pub attributes: u8,
    reserved_41: [u8; 3],
    /// OFST.
    pub offset: U32,
    reserved_48: [u8; 16],
}

/// The entry of a Property Set command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct PropertySet {
    /// OPC: [`FABRICS_OPCODE`].
    pub opcode: u8,
    /// FUSE and PSDT.
    pub flags: u8,
    /// CID.
    pub command_id: U16,
    /// FCTYPE: [`fabrics_type::PROPERTY_SET`].
    pub fabrics_type: u8,
    reserved_5: [u8; 35],
    /// ATTRIB: 0 for 4 bytes, 1 for 8, in bits 2:0.
    pub attributes: u8,
    reserved_41: [u8; 3],
    /// OFST.
    pub offset: U32,
    /// VALUE; 4-byte properties have it in the lower half.
    pub value: U64,
    reserved_56: [u8; 8],
}

const _: () = {
    assert!(size_of::<PropertyGet>() == 64);
    assert!(size_of::<PropertySet>() == 64);
    assert!(offset_of!(PropertyGet, offset) == 44);
    assert!(offset_of!(PropertySet, value) == 48);
};

/// Bytes that ATTRIB asks for; none if it is reserved.
fn attribute_bytes(attributes: u8) -> Option<u32> {
    match attributes & 7 {
        0 => Some(4),
        1 => Some(8),
        _ => None,
    }
}

impl PropertyGet {
    /// A Property Get.
    pub fn new(property: Property) -> PropertyGet {
        let mut get = PropertyGet::new_zeroed();
        get.opcode = FABRICS_OPCODE;
        get.fabrics_type = fabrics_type::PROPERTY_GET;
        get.attributes = u8::from(property.bytes() == 8);
        get.offset.set(property as u32);
        get
    }

    /// What an entry says as one.
    pub fn of(entry: &SubmissionEntry) -> PropertyGet {
        zerocopy::transmute!(entry.to_bytes())
    }

    /// The same as an entry.
    pub fn entry(self) -> SubmissionEntry {
        zerocopy::transmute!(self)
    }

    /// The property asked for, if there is one of that offset and size.
    pub fn property(&self) -> Option<Property> {
        let property = Property::at(self.offset.get())?;
        (attribute_bytes(self.attributes) == Some(property.bytes())).then_some(property)
    }
}

impl PropertySet {
    /// A Property Set.
    pub fn new(property: Property, value: u64) -> PropertySet {
        let mut set = PropertySet::new_zeroed();
        set.opcode = FABRICS_OPCODE;
        set.fabrics_type = fabrics_type::PROPERTY_SET;
        set.attributes = u8::from(property.bytes() == 8);
        set.offset.set(property as u32);
        set.value.set(value);
        set
    }

    /// What an entry says as one.
    pub fn of(entry: &SubmissionEntry) -> PropertySet {
        zerocopy::transmute!(entry.to_bytes())
    }

    /// The same as an entry.
    pub fn entry(self) -> SubmissionEntry {
        zerocopy::transmute!(self)
    }

    /// The property to be set, if there is one of that offset and size.
    pub fn property(&self) -> Option<Property> {
        let property = Property::at(self.offset.get())?;
        (attribute_bytes(self.attributes) == Some(property.bytes())).then_some(property)
    }
}

/// Fields of CAP (Base 3.1.4.1).
pub mod capabilities {
    /// CQR: queues are contiguous, which fabrics ask for.
    pub const CONTIGUOUS_QUEUES: u64 = 1 << 16;
    /// CSS bit 0: the NVM command set.
    pub const NVM_COMMAND_SET: u64 = 1 << 37;
    /// CSS bit 6: I/O command sets are told by Identify.
    pub const COMMAND_SETS_IDENTIFIED: u64 = 1 << 43;
    /// CSS bit 7: no I/O command set, as of discovery controllers.
    pub const NO_COMMAND_SET: u64 = 1 << 44;

    /// MQES: the most entries of a queue, less one, in bits 15:0.
    pub const fn queue_entries(entries: u16) -> u64 {
        entries.saturating_sub(1) as u64
    }

    /// TO: how long it may take until the controller is ready, 500 milliseconds, in bits 31:24.
    pub const fn timeout(halves_of_a_second: u8) -> u64 {
        (halves_of_a_second as u64) << 24
    }
}

/// Fields of CC (Base 3.1.4.5).
pub mod configuration {
    /// EN.
    pub const ENABLE: u32 = 1;
    /// CSS, bits 6:4, where they lie.
    pub const COMMAND_SET_SHIFT: u32 = 4;
    /// CSS 000b: the NVM command set.
    pub const NVM_COMMAND_SET: u32 = 0;
    /// CSS 111b: admin commands only.
    pub const ADMIN_COMMANDS_ONLY: u32 = 7;
    /// CSS 110b: all supported I/O command sets.
    pub const ALL_COMMAND_SETS: u32 = 6;
    /// SHN, bits 15:14: a shutdown is asked for.
    pub const SHUTDOWN: u32 = 3 << 14;
    /// IOSQES 6 and IOCQES 4: entries of 64 and 16 bytes.
    pub const ENTRY_SIZES: u32 = 6 << 16 | 4 << 20;
}

/// Bits of CSTS (Base 3.1.4.6).
pub mod state {
    /// RDY.
    pub const READY: u32 = 1;
    /// CFS: a fatal error.
    pub const FATAL: u32 = 1 << 1;
    /// SHST, bits 3:2.
    pub const SHUTDOWN: u32 = 3 << 2;
    /// SHST 01b: the shutdown is under way.
    pub const SHUTDOWN_PROCESSING: u32 = 1 << 2;
    /// SHST 10b: the shutdown is complete.
    pub const SHUTDOWN_COMPLETE: u32 = 2 << 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_their_size() {
        for property in Property::ALL {
            let get = PropertyGet::of(&PropertyGet::new(property).entry());
            assert_eq!(get.property(), Some(property));
            let set = PropertySet::of(&PropertySet::new(property, 9).entry());
            assert_eq!((set.property(), set.value.get()), (Some(property), 9));
            let mut wrong = get;
            wrong.attributes ^= 1;
            assert_eq!(wrong.property(), None);
            wrong.attributes = 2;
            assert_eq!(wrong.property(), None);
        }
        assert_eq!(Property::at(4), None);
        assert_eq!(capabilities::queue_entries(128), 127);
    }
}
