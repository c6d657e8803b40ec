//! Identify Controller (Base 5.1.13.2.1).

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::entry::{CompletionEntry, SubmissionEntry};
use crate::identifier::ControllerId;
use crate::identify::{IDENTIFY_BYTES, ascii};
use crate::memory::MEMORY_PAGE_BYTES;

/// Bits of ONCS: which optional I/O commands are supported.
pub mod optional_command {
    /// Compare.
    pub const COMPARE: u16 = 1 << 0;
    /// Write Uncorrectable.
    pub const WRITE_UNCORRECTABLE: u16 = 1 << 1;
    /// Dataset Management.
    pub const DATASET_MANAGEMENT: u16 = 1 << 2;
    /// Write Zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 3;
    /// Save and Select of features.
    pub const FEATURES_SAVE_SELECT: u16 = 1 << 4;
    /// Verify.
    pub const VERIFY: u16 = 1 << 7;
    /// Copy.
    pub const COPY: u16 = 1 << 8;
}

/// Bits of SANICAP: which sanitize operations are supported.
pub mod sanitize_capability {
    /// Block erase.
    pub const BLOCK_ERASE: u32 = 1 << 1;
}

/// Values of CNTRLTYPE.
pub mod controller_type {
    /// An I/O controller.
    pub const IO: u8 = 1;
}

/// Version 2.1.0 of the Base specification, as VER holds it.
pub const VERSION_2_1: u32 = 0x0002_0100;
/// SGLS bits 1:0 = 01b: SGLs are supported, without alignment.
const SGL_SUPPORTED: u32 = 1;
/// SGLS bit 18: an SGL may describe more bytes than are transferred.
const SGL_LONGER_THAN_DATA: u32 = 1 << 18;
/// VWC bit 0: there is a volatile write cache.
const VOLATILE_CACHE_PRESENT: u8 = 1;
/// VWC bits 2:1 = 11b: Flush takes the broadcast namespace.
const FLUSH_BROADCAST: u8 = 3 << 1;
/// OAES bit 8: notices of changed namespaces.
const NAMESPACE_NOTICES: u32 = 1 << 8;
/// OACS bit 5: Directives.
const DIRECTIVES_SUPPORTED: u16 = 1 << 5;
/// OACS bit 1: Format NVM.
const FORMAT_SUPPORTED: u16 = 1 << 1;
/// LPA bits 1 and 2: the page of commands and effects; offsets and long lengths. Bit 5: the page of
/// supported pages.
const LOG_ATTRIBUTES: u8 = 1 << 1 | 1 << 2 | 1 << 5;
/// Bits of the copy descriptor formats: format 0, and format 4, bytes of memory.
const COPY_FORMAT_0: u16 = 1;
const COPY_FORMAT_4: u16 = 1 << 4;
/// CRCAP: reachability is reported, and the groups of namespaces do not change.
const REACHABILITY_TOLD: u8 = 0b11;

/// The Identify Controller page. Fields this drive has no use for are reserved here and zero.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyController {
    /// VID: PCI vendor.
    pub vendor_id: U16,
    /// SSVID: PCI subsystem vendor.
    pub subsystem_vendor_id: U16,
    /// SN: serial number, ASCII.
    pub serial_number: [u8; 20],
    /// MN: model number, ASCII.
    pub model_number: [u8; 40],
    /// FR: firmware revision, ASCII.
    pub firmware_revision: [u8; 8],
    /// RAB: recommended arbitration burst, log2 of commands.
    pub arbitration_burst: u8,
    /// IEEE OUI identifier, least significant byte first.
    pub ieee_oui: [u8; 3],
    /// CMIC: multi-path and sharing capabilities.
    pub multipath: u8,
    /// MDTS: the most data of one command, log2 of memory pages; 0 is no limit.
    pub max_data_transfer: u8,
    /// CNTLID.
    pub controller_id: U16,
    /// VER: specification version.
    pub version: U32,
    /// RTD3R: resume latency, microseconds.
    pub rtd3_resume_us: U32,
    /// RTD3E: entry latency, microseconds.
    pub rtd3_entry_us: U32,
    /// OAES: optional asynchronous events.
    pub async_events: U32,
    /// CTRATT: controller attributes.
    pub attributes: U32,
    reserved_100: [u8; 11],
    /// CNTRLTYPE: see [`controller_type`].
    pub controller_type: u8,
    /// FGUID: globally unique identifier of the unit.
    pub unit_guid: [u8; 16],
    /// CRDT1 to CRDT3: command retry delays, 100 milliseconds.
    pub retry_delays: [U16; 3],
    /// CRCAP: bit 0 if reachability is reported, bit 1 if its groups do not change.
    pub reachability: u8,
    reserved_135: [u8; 121],
    /// OACS: optional admin commands.
    pub optional_admin_commands: U16,
    /// ACL: aborts that may be outstanding, less one.
    pub abort_limit: u8,
    /// AERL: asynchronous event requests that may be outstanding, less one.
    pub async_event_limit: u8,
    /// FRMW: firmware updates.
    pub firmware_updates: u8,
    /// LPA: log page attributes.
    pub log_page_attributes: u8,
    /// ELPE: entries of the error log, less one.
    pub error_log_entries: u8,
    /// NPSS: power states, less one.
    pub power_states: u8,
    /// AVSCC: admin vendor specific command format.
    pub admin_vendor_format: u8,
    /// APSTA: autonomous power state transitions.
    pub autonomous_power: u8,
    /// WCTEMP: warning temperature, kelvin.
    pub warning_temperature: U16,
    /// CCTEMP: critical temperature, kelvin.
    pub critical_temperature: U16,
    /// MTFA: longest firmware activation, 100 milliseconds.
    pub activation_time: U16,
    /// HMPRE: preferred host memory buffer, 4 KiB.
    pub host_buffer_preferred: U32,
    /// HMMIN: least host memory buffer, 4 KiB.
    pub host_buffer_minimum: U32,
    /// TNVMCAP: total capacity in bytes, a 128-bit number.
    pub total_capacity: [U64; 2],
    /// UNVMCAP: unallocated capacity in bytes, a 128-bit number.
    pub unallocated_capacity: [U64; 2],
    reserved_312: [u8; 8],
    /// KAS: keep alive granularity, 100 milliseconds; 0 is no keep alive.
    pub keep_alive: U16,
    reserved_322: [u8; 6],
    /// SANICAP: sanitize capabilities.
    pub sanitize: U32,
    reserved_332: [u8; 180],
    /// SQES: submission entry size, log2 bytes: required in bits 3:0, largest in 7:4.
    pub submission_entry_size: u8,
    /// CQES: completion entry size, likewise.
    pub completion_entry_size: u8,
    /// MAXCMD: the most commands outstanding in a queue; 0 is not told.
    pub max_commands: U16,
    /// NN: the highest namespace identifier.
    pub namespaces: U32,
    /// ONCS: see [`optional_command`].
    pub optional_commands: U16,
    /// FUSES: fused operations.
    pub fused: U16,
    /// FNA: format attributes.
    pub format_attributes: u8,
    /// VWC: volatile write cache.
    pub volatile_write_cache: u8,
    /// AWUN: blocks written atomically in normal operation, less one.
    pub atomic_write: U16,
    /// AWUPF: blocks written atomically through a power loss, less one.
    pub atomic_write_power_fail: U16,
    /// ICSVSCC: I/O vendor specific command format; bit 0 for the standard one.
    pub io_vendor_format: u8,
    /// NWPC: namespace write protection.
    pub write_protection: u8,
    /// ACWU: blocks compared and written atomically, less one.
    pub atomic_compare_write: U16,
    /// Copy descriptor formats.
    pub copy_formats: U16,
    /// SGLS: scatter gather list support.
    pub sgl_support: U32,
    /// MNAN: the most namespaces allowed; 0 is NN.
    pub max_namespaces: U32,
    reserved_544: [u8; 224],
    /// SUBNQN: the subsystem's NVMe qualified name, UTF-8, zero-terminated.
    pub subsystem_name: [u8; 256],
    reserved_1024: [u8; 768],
    /// IOCCSZ: bytes of an I/O command capsule, units of 16; of fabrics, as the following ones.
    pub io_command_capsule: U32,
    /// IORCSZ: bytes of an I/O response capsule, units of 16.
    pub io_response_capsule: U32,
    /// ICDOFF: where data in a capsule begins, units of 16.
    pub capsule_data_offset: U16,
    /// FCATT: bit 0 for controllers that hosts choose.
    pub fabrics_attributes: u8,
    /// MSDBD: SGL data blocks of a capsule; 0 is any number.
    pub capsule_data_blocks: u8,
    /// OFCS: optional Fabrics commands; bit 0 for Disconnect.
    pub optional_fabrics_commands: U16,
    reserved_1806: [u8; 242],
    /// PSD0 to PSD31.
    pub power_state: [PowerState; 32],
    /// Vendor specific.
    pub vendor: [u8; 1024],
}

/// A power state descriptor (Base 5.1.13.2.1).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct PowerState {
    /// MP: maximum power, 10 milliwatts (if MXPS is 0).
    pub max_power: U16,
    reserved_2: u8,
    /// MXPS in bit 0, NOPS in bit 1.
    pub flags: u8,
    /// ENLAT: entry latency, microseconds.
    pub entry_latency_us: U32,
    /// EXLAT: exit latency, microseconds.
    pub exit_latency_us: U32,
    /// RRT, RRL, RWT, RWL: relative read throughput and latency, then write.
    pub relative_performance: [u8; 4],
    /// IDLP: idle power.
    pub idle_power: U16,
    /// IPS: scale of the idle power.
    pub idle_power_scale: u8,
    reserved_19: u8,
    /// ACTP: active power.
    pub active_power: U16,
    /// APW and APS: workload and scale of the active power.
    pub active_power_scale: u8,
    reserved_23: [u8; 9],
}

const _: () = {
    assert!(size_of::<IdentifyController>() == IDENTIFY_BYTES);
    assert!(size_of::<PowerState>() == 32);
    assert!(offset_of!(IdentifyController, optional_admin_commands) == 256);
    assert!(offset_of!(IdentifyController, submission_entry_size) == 512);
    assert!(offset_of!(IdentifyController, subsystem_name) == 768);
    assert!(offset_of!(IdentifyController, io_command_capsule) == 1792);
    assert!(offset_of!(IdentifyController, power_state) == 2048);
};

/// What a drive has to say of its controller; [`IdentifyController::new`] fills in the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerDescription {
    /// Serial number, up to 20 ASCII characters.
    pub serial_number: String,
    /// Model number, up to 40 ASCII characters.
    pub model_number: String,
    /// Firmware revision, up to 8 ASCII characters.
    pub firmware_revision: String,
    /// The subsystem's NVMe qualified name, up to 255 bytes.
    pub subsystem_name: String,
    /// The controller.
    pub controller: ControllerId,
    /// The most bytes of one command, log2 of memory pages; 0 is no limit (MDTS).
    pub max_data_transfer: u8,
    /// The drive's capacity, in bytes.
    pub capacity_bytes: u64,
    /// The highest namespace identifier.
    pub namespaces: u32,
    /// The most commands outstanding in one queue; 0 is not told.
    pub max_commands: u16,
    /// The optional commands supported: bits of [`optional_command`].
    pub optional_commands: u16,
    /// Writes complete before they are durable, and need a Flush.
    pub volatile_write_cache: bool,
    /// Blocks written atomically, at least 1, also through a power loss.
    pub atomic_blocks: u16,
    /// Aborts that may be outstanding, at least 1.
    pub abort_limit: u8,
    /// Asynchronous event requests that may be outstanding, at least 1.
    pub async_event_limit: u8,
    /// Entries of the error log, at least 1.
    pub error_log_entries: u8,
    /// Recommended arbitration burst, log2 of commands.
    pub arbitration_burst: u8,
    /// Temperature at which the drive warns, kelvin.
    pub warning_temperature: u16,
    /// Temperature at which it may fail, kelvin.
    pub critical_temperature: u16,
    /// Which sanitize operations are supported: bits of [`sanitize_capability`].
    pub sanitize: u32,
    /// Maximum power, milliwatts.
    pub max_power_mw: u32,
    /// There are memory and compute namespaces, which reach each other and those of blocks.
    pub has_memory: bool,
}

impl IdentifyController {
    /// The page of a controller as described. Text too long for its field is truncated.
    pub fn new(description: &ControllerDescription) -> IdentifyController {
        let mut page = IdentifyController::new_zeroed();
        page.serial_number = ascii(&description.serial_number);
        page.model_number = ascii(&description.model_number);
        page.firmware_revision = ascii(&description.firmware_revision);
        page.max_data_transfer = description.max_data_transfer;
        page.arbitration_burst = description.arbitration_burst;
        page.async_events.set(NAMESPACE_NOTICES);
        page.optional_admin_commands
            .set(FORMAT_SUPPORTED | DIRECTIVES_SUPPORTED);
        page.log_page_attributes = LOG_ATTRIBUTES;
        page.error_log_entries = description.error_log_entries.saturating_sub(1);
        page.warning_temperature
            .set(description.warning_temperature);
        page.critical_temperature
            .set(description.critical_temperature);
        page.sanitize.set(description.sanitize);
        page.copy_formats.set(COPY_FORMAT_0);
        if description.has_memory {
            page.copy_formats.set(COPY_FORMAT_0 | COPY_FORMAT_4);
            page.reachability = REACHABILITY_TOLD;
        }
        page.controller_id.set(description.controller.get());
        page.version.set(VERSION_2_1);
        page.controller_type = controller_type::IO;
        page.abort_limit = description.abort_limit.saturating_sub(1);
        page.async_event_limit = description.async_event_limit.saturating_sub(1);
        // One slot, whose firmware cannot be replaced (FRMW bit 0, bits 3:1).
        page.firmware_updates = 1 | 1 << 1;
        page.total_capacity[0].set(description.capacity_bytes);
        page.submission_entry_size = entry_size(SubmissionEntry::BYTES);
        page.completion_entry_size = entry_size(CompletionEntry::BYTES);
        page.max_commands.set(description.max_commands);
        page.namespaces.set(description.namespaces);
        page.optional_commands.set(description.optional_commands);
        page.volatile_write_cache = FLUSH_BROADCAST;
        if description.volatile_write_cache {
            page.volatile_write_cache |= VOLATILE_CACHE_PRESENT;
        }
        let atomic = description.atomic_blocks.saturating_sub(1);
        page.atomic_write.set(atomic);
        page.atomic_write_power_fail.set(atomic);
        page.sgl_support.set(SGL_SUPPORTED | SGL_LONGER_THAN_DATA);
        let name = description.subsystem_name.as_bytes();
        let length = name.len().min(page.subsystem_name.len() - 1);
        page.subsystem_name[..length].copy_from_slice(&name[..length]);
        let max_power = description.max_power_mw.div_ceil(10);
        page.power_state[0]
            .max_power
            .set(u16::try_from(max_power).unwrap_or(u16::MAX));
        page
    }

    /// The most bytes one command may move; none if there is no limit.
    pub fn max_transfer_bytes(&self) -> Option<u64> {
        match self.max_data_transfer {
            0 => None,
            exponent => MEMORY_PAGE_BYTES.checked_shl(exponent.into()),
        }
    }
}

/// Required and largest entry size as SQES and CQES hold them.
fn entry_size(bytes: usize) -> u8 {
    let exponent = bytes.ilog2() as u8;
    exponent | exponent << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<u8> {
        IdentifyController::new(&ControllerDescription {
            serial_number: "BL0001".into(),
            model_number: "Bitline".into(),
            firmware_revision: "0.1.0".into(),
            subsystem_name: "nqn.2026-01.org.example:drive".into(),
            controller: ControllerId::new(0x0102),
            max_data_transfer: 8,
            capacity_bytes: 0x1122_3344_5566,
            namespaces: 0x0A0B_0C0D,
            max_commands: 0x0E0F,
            optional_commands: optional_command::DATASET_MANAGEMENT
                | optional_command::WRITE_ZEROES,
            volatile_write_cache: true,
            atomic_blocks: 4,
            abort_limit: 4,
            async_event_limit: 3,
            error_log_entries: 64,
            arbitration_burst: 3,
            warning_temperature: 343,
            critical_temperature: 353,
            sanitize: sanitize_capability::BLOCK_ERASE,
            max_power_mw: 8_500,
            has_memory: false,
        })
        .as_bytes()
        .to_vec()
    }

    #[test]
    fn fields_lie_at_the_standards_offsets() {
        let page = page();
        assert_eq!(&page[4..24], b"BL0001              ");
        assert_eq!(&page[24..31], b"Bitline");
        assert_eq!(&page[64..72], b"0.1.0   ");
        assert_eq!(page[77], 8, "MDTS: 2^8 pages are 1 MiB");
        assert_eq!(page[78..80], [0x02, 0x01], "CNTLID");
        assert_eq!(page[80..84], [0x00, 0x01, 0x02, 0x00], "VER 2.1.0");
        assert_eq!(page[111], 1, "CNTRLTYPE");
        assert_eq!(page[72], 3, "RAB");
        assert_eq!(page[92..96], [0, 1, 0, 0], "OAES");
        assert_eq!(page[256..258], [0x22, 0], "OACS");
        assert_eq!(page[258..261], [3, 2, 0b11], "ACL, AERL, FRMW");
        assert_eq!(page[261..263], [0b10_0110, 63], "LPA, ELPE");
        assert_eq!(page[266..270], [0x57, 1, 0x61, 1], "WCTEMP, CCTEMP");
        assert_eq!(page[328..332], [2, 0, 0, 0], "SANICAP");
        assert_eq!(page[534..536], [1, 0], "copy formats");
        assert_eq!(
            page[280..288],
            [0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0],
            "TNVMCAP"
        );
        assert_eq!(page[512..514], [0x66, 0x44], "SQES, CQES");
        assert_eq!(page[514..516], [0x0F, 0x0E], "MAXCMD");
        assert_eq!(page[516..520], [0x0D, 0x0C, 0x0B, 0x0A], "NN");
        assert_eq!(page[520..522], [0b1100, 0], "ONCS");
        assert_eq!(page[525], 0b111, "VWC");
        assert_eq!(page[526..530], [3, 0, 3, 0], "AWUN, AWUPF");
        assert_eq!(page[536..540], [1, 0, 4, 0], "SGLS");
        assert_eq!(&page[768..778], b"nqn.2026-0");
        assert_eq!(page[2048..2050], [0x52, 0x03], "PSD0 MP: 850 x 10 mW");
    }

    #[test]
    fn named_fields_lie_at_the_standards_offsets() {
        assert_eq!(offset_of!(IdentifyController, arbitration_burst), 72);
        assert_eq!(offset_of!(IdentifyController, ieee_oui), 73);
        assert_eq!(offset_of!(IdentifyController, multipath), 76);
        assert_eq!(offset_of!(IdentifyController, async_events), 92);
        assert_eq!(offset_of!(IdentifyController, attributes), 96);
        assert_eq!(offset_of!(IdentifyController, unit_guid), 112);
        assert_eq!(offset_of!(IdentifyController, retry_delays), 128);
        assert_eq!(offset_of!(IdentifyController, log_page_attributes), 261);
        assert_eq!(offset_of!(IdentifyController, error_log_entries), 262);
        assert_eq!(offset_of!(IdentifyController, power_states), 263);
        assert_eq!(offset_of!(IdentifyController, warning_temperature), 266);
        assert_eq!(offset_of!(IdentifyController, host_buffer_preferred), 272);
        assert_eq!(offset_of!(IdentifyController, unallocated_capacity), 296);
        assert_eq!(offset_of!(IdentifyController, keep_alive), 320);
        assert_eq!(offset_of!(IdentifyController, sanitize), 328);
        assert_eq!(offset_of!(IdentifyController, fused), 522);
        assert_eq!(offset_of!(IdentifyController, format_attributes), 524);
        assert_eq!(offset_of!(IdentifyController, io_vendor_format), 530);
        assert_eq!(offset_of!(IdentifyController, copy_formats), 534);
        assert_eq!(offset_of!(IdentifyController, max_namespaces), 540);
        assert_eq!(offset_of!(PowerState, relative_performance), 12);
        assert_eq!(offset_of!(PowerState, active_power), 20);
    }

    #[test]
    fn transfer_limit_is_told_in_bytes() {
        let page = IdentifyController::read_from_bytes(&page()).expect("4096 bytes");
        assert_eq!(page.max_transfer_bytes(), Some(1 << 20));
    }
}
