//! Get Log Page (Base 5.1.12).

use crate::command::{bit, halves, join_dwords, join_halves};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;

/// Names a log page (LID; Base 5.1.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPageId(pub u8);

impl LogPageId {
    /// Supported Log Pages.
    pub const SUPPORTED: LogPageId = LogPageId(0x00);
    /// Error Information.
    pub const ERROR: LogPageId = LogPageId(0x01);
    /// SMART / Health Information.
    pub const HEALTH: LogPageId = LogPageId(0x02);
    /// Firmware Slot Information.
    pub const FIRMWARE_SLOT: LogPageId = LogPageId(0x03);
    /// Changed Attached Namespace List.
    pub const CHANGED_NAMESPACES: LogPageId = LogPageId(0x04);
    /// Commands Supported and Effects.
    pub const COMMANDS_SUPPORTED: LogPageId = LogPageId(0x05);
    /// Reachability Groups.
    pub const REACHABILITY_GROUPS: LogPageId = LogPageId(0x1A);
    /// Reachability Associations.
    pub const REACHABILITY_ASSOCIATIONS: LogPageId = LogPageId(0x1B);
    /// Sanitize Status.
    pub const SANITIZE_STATUS: LogPageId = LogPageId(0x81);
    /// Program List (CP): [`crate::log::ProgramDescriptor`].
    pub const PROGRAM_LIST: LogPageId = LogPageId(0x82);
    /// Downloadable Program Types List (CP): [`crate::log::ProgramType`].
    pub const PROGRAM_TYPES: LogPageId = LogPageId(0x83);
    /// Memory Range Set List (CP): [`crate::log::RangeSetRecord`].
    pub const MEMORY_RANGE_SETS: LogPageId = LogPageId(0x84);
    /// All that is to be known of a namespace's programs (vendor specific): [`crate::task::ProgramList`].
    pub const PROGRAM_DETAILS: LogPageId = LogPageId(0xC6);
    /// The collections of a namespace (vendor specific): [`crate::collector::CollectorList`].
    pub const COLLECTORS: LogPageId = LogPageId(0xC0);
    /// How the drive is laid out, and its clock (vendor specific): [`crate::log::DriveLog`].
    pub const DRIVE: LogPageId = LogPageId(0xC1);
    /// Which logical pages of a namespace hold data (vendor specific): bit i mod 8 of byte i / 8 is that of its page i.
    pub const HOLDING: LogPageId = LogPageId(0xC2);
    /// The drive's configuration as TOML (vendor specific): [`crate::log::TextLog`].
    pub const CONFIGURATION: LogPageId = LogPageId(0xC3);
    /// What the drive has counted, as JSON (vendor specific): [`crate::log::TextLog`].
    pub const STATISTICS: LogPageId = LogPageId(0xC4);
    /// What the drive's media holds and how worn it is, as JSON (vendor specific): [`crate::log::TextLog`].
    pub const MEDIA: LogPageId = LogPageId(0xC5);
}

const COMMAND_SET_SHIFT: u32 = 24;

/// Get Log Page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetLogPage {
    /// Which page.
    pub page: LogPageId,
    /// The namespace it is about.
    pub namespace: NamespaceId,
    /// A field specific to the page, 7 bits (LSP).
    pub specific: u8,
    /// An identifier specific to the page (LSI).
    pub specific_id: u16,
    /// The I/O command set that it is about, 0 for NVM (CSI).
    pub command_set: u8,
    /// Leave the asynchronous event it answers outstanding (RAE).
    pub retain_event: bool,
    /// Dwords asked for, 1 to 2^32 (one more than NUMD says).
    pub dwords: u64,
    /// Where in the page to begin: bytes, a multiple of 4 (LPO).
    pub offset: u64,
    /// Where the dwords go.
    pub data: DataPointer,
}

impl GetLogPage {
    /// Bytes asked for.
    pub fn data_bytes(&self) -> u64 {
        self.dwords * 4
    }

    pub(super) fn decode(entry: &SubmissionEntry) -> Result<GetLogPage, Status> {
        const OFFSET_TYPE_BIT: u32 = 23;
        let (select, dwords_low) = halves(entry.cdw10.get());
        let (dwords_high, specific_id) = halves(entry.cdw11.get());
        let offset = join_dwords(entry.cdw12.get(), entry.cdw13.get());
        // Offsets by index are for pages that say they take them; ours do not.
        if !offset.is_multiple_of(4) || bit(entry.cdw14.get(), OFFSET_TYPE_BIT) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(GetLogPage {
            page: LogPageId(select as u8),
            namespace: entry.namespace(),
            specific: (select >> 8) as u8 & 0x7F,
            specific_id,
            command_set: (entry.cdw14.get() >> COMMAND_SET_SHIFT) as u8,
            retain_event: select >> 15 != 0,
            dwords: u64::from(join_halves(dwords_low, dwords_high)) + 1,
            offset,
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let last = u32::try_from(self.dwords.wrapping_sub(1));
        let (dwords_low, dwords_high) = halves(last.expect("1 to 2^32 dwords, as documented"));
        let select = u16::from(self.page.0)
            | u16::from(self.specific & 0x7F) << 8
            | u16::from(self.retain_event) << 15;
        entry.cdw10.set(join_halves(select, dwords_low));
        entry.cdw11.set(join_halves(dwords_high, self.specific_id));
        entry.cdw12.set(self.offset as u32);
        entry.cdw13.set((self.offset >> 32) as u32);
        let command_set = u32::from(self.command_set);
        entry.cdw14.set(command_set << COMMAND_SET_SHIFT);
        self.data.encode_into(&mut entry);
        entry
    }
}
