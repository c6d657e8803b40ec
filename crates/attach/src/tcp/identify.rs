//! What a controller says of itself: the drive's own page, with what is different over a network; all of it, for discovery.

use nvme::CompletionEntry;
use nvme::fabrics::{CAPSULE_COMMAND_BYTES, DISCOVERY_NQN, nqn_field, pdu::IN_CAPSULE_BYTES};
use nvme::identify::{
    Cns, IDENTIFY_BYTES, IdentifyController, IdentifyNamespace, NamespaceDescriptor, VERSION_2_1,
    namespace_descriptors,
};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::controller::{Controller, EVENT_REQUESTS_MAX, KEEP_ALIVE_UNITS};
use super::options::ServerOptions;

/// CMIC bit 1: the subsystem may have several controllers.
const SEVERAL_CONTROLLERS: u8 = 1 << 1;
/// NMIC bit 0: a namespace may be attached to several controllers.
const SHARED: u8 = 1;
/// SGLS: bits 1:0, SGLs without alignment; bit 20, addresses that are offsets into the capsule; bit 21, the transport's data block. Not
/// bit 18, descriptors of more than the data (Base 5.1.13.2.1).
const SGL_SUPPORT: u32 = 1 | 1 << 20 | 1 << 21;
/// VWC bit 0.
const VOLATILE_CACHE_PRESENT: u8 = 1;
/// OFCS bit 0: Disconnect.
const DISCONNECT_SUPPORTED: u16 = 1;
/// CNTRLTYPE 2: discovery.
const DISCOVERY_CONTROLLER: u8 = 2;
/// LPA bit 2: log pages have offsets and long lengths.
const LONG_LOGS: u8 = 1 << 2;
/// Commands of one admin queue that may be aborted at once, less one.
const ABORTS_MAX: u8 = 3;

/// What all controllers of a server say of the drive.
pub(super) struct Described {
    pub(super) subsystem_nqn: String,
    serial_number: String,
    transfer_exponent: u8,
    queue_entries: u16,
    /// What was written is durable after a flush only.
    has_volatile_cache: bool,
}

impl Described {
    pub(super) fn new(options: &ServerOptions, has_image: bool) -> Described {
        let made = || {
            let digest = Sha256::digest(options.subsystem_nqn.as_bytes());
            let hex: String = digest[..8]
                .iter()
                .map(|byte| format!("{byte:02X}"))
                .collect();
            format!("BL{hex}")
        };
        Described {
            subsystem_nqn: options.subsystem_nqn.clone(),
            serial_number: options.serial_number.clone().unwrap_or_else(made),
            transfer_exponent: options.transfer_exponent,
            queue_entries: options.queue_entries,
            has_volatile_cache: has_image,
        }
    }

    /// The page of a controller of the drive, of what the drive says.
    pub(super) fn patch_controller(&self, page: &mut [u8], controller: &Controller) {
        let Ok((page, _)) = IdentifyController::mut_from_prefix(page) else {
            return;
        };
        let drive_exponent = page.max_data_transfer;
        page.serial_number = padded(&self.serial_number);
        page.max_data_transfer = match drive_exponent {
            0 => self.transfer_exponent,
            limit => limit.min(self.transfer_exponent),
        };
        page.multipath |= SEVERAL_CONTROLLERS;
        page.abort_limit = ABORTS_MAX;
        page.subsystem_name = nqn_field(&self.subsystem_nqn);
        if self.has_volatile_cache {
            page.volatile_write_cache |= VOLATILE_CACHE_PRESENT;
        }
        self.patch_fabrics(page, controller.id);
        // One descriptor for each capsule, and data within one up to what any capsule may have.
        let command = CAPSULE_COMMAND_BYTES as u32 + IN_CAPSULE_BYTES;
        page.io_command_capsule.set(command / 16);
        page.io_response_capsule
            .set(CompletionEntry::BYTES as u32 / 16);
        page.capsule_data_blocks = 1;
    }

    /// The page of a discovery controller (Base 3.1.3.3).
    pub(super) fn discovery_page(&self, controller: &Controller) -> [u8; IDENTIFY_BYTES] {
        let mut page = IdentifyController::new_zeroed();
        page.serial_number = padded(&self.serial_number);
        page.model_number = padded("Bitline discovery");
        page.firmware_revision = padded("1");
        page.version.set(VERSION_2_1);
        page.max_data_transfer = self.transfer_exponent;
        page.controller_type = DISCOVERY_CONTROLLER;
        page.log_page_attributes = LONG_LOGS;
        page.subsystem_name = nqn_field(DISCOVERY_NQN);
        self.patch_fabrics(&mut page, controller.id);
        let mut bytes = [0; IDENTIFY_BYTES];
        bytes.copy_from_slice(page.as_bytes());
        bytes
    }

    fn patch_fabrics(&self, page: &mut IdentifyController, id: u16) {
        page.controller_id.set(id);
        page.keep_alive.set(KEEP_ALIVE_UNITS);
        page.max_commands.set(self.queue_entries);
        page.async_event_limit = (EVENT_REQUESTS_MAX - 1) as u8;
        page.sgl_support.set(SGL_SUPPORT);
        page.optional_fabrics_commands.set(DISCONNECT_SUPPORTED);
    }

    /// The page of a namespace: the same for all controllers, and called by a name that no other drive's has.
    pub(super) fn patch_namespace(&self, page: &mut [u8], namespace: u32) {
        let Ok((page, _)) = IdentifyNamespace::mut_from_prefix(page) else {
            return;
        };
        page.sharing |= SHARED;
        if page.nguid == [0; 16] {
            page.nguid = self.unique(namespace);
        }
    }

    /// The names of a namespace, added to those that the drive gives it.
    pub(super) fn patch_descriptors(&self, page: &mut [u8], namespace: u32) {
        const UUID: u8 = 3;
        const NGUID: u8 = 2;
        let mut end = 0;
        while end + 4 <= page.len() && page[end + 1] != 0 {
            if [UUID, NGUID].contains(&page[end]) {
                return;
            }
            end += 4 + usize::from(page[end + 1]);
        }
        let own = namespace_descriptors(&[NamespaceDescriptor::Nguid(self.unique(namespace))]);
        let length = 4 + usize::from(own[1]);
        if let Some(place) = page.get_mut(end..end + length) {
            place.copy_from_slice(&own[..length]);
        }
    }

    /// An identifier of a namespace that follows from the subsystem's name and the drive's serial number.
    fn unique(&self, namespace: u32) -> [u8; 16] {
        let mut digest = Sha256::new();
        digest.update(self.subsystem_nqn.as_bytes());
        digest.update([0]);
        digest.update(self.serial_number.as_bytes());
        digest.update(namespace.to_le_bytes());
        let mut unique = [0; 16];
        unique.copy_from_slice(&digest.finalize()[..16]);
        unique
    }
}

/// Text as an identify field, spaces after it.
fn padded<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut field = [b' '; LENGTH];
    for (into, byte) in field.iter_mut().zip(text.bytes()) {
        *into = byte;
    }
    field
}

/// Which page an Identify command asks for.
pub(super) fn page_of(entry: &nvme::SubmissionEntry) -> Option<Cns> {
    Cns::from_code(entry.cdw10.get() as u8)
}
