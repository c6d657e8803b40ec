//! Identify: what the drive says of itself (NVMe Base 2.1, 5.1.13).

use nvme::command::Identify;
use nvme::identify::{
    Cns, CommandSets, ControllerDescription, ControllerList, IDENTIFY_BYTES, IdentifyController,
    IdentifyNamespace, IdentifyNvmController, NamespaceDescription, NamespaceDescriptor,
    NamespaceList, namespace_descriptors, optional_command, sanitize_capability,
};
use nvme::{BROADCAST_NAMESPACE, ControllerId, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::abort::ABORTS_MAX;
use super::event::HELD_MAX;
use super::health::ERROR_ENTRIES;
use crate::frontend::answer::Answer;
use crate::frontend::dispatch::copy::copy_limits;
use crate::frontend::namespace::Namespace;
use crate::frontend::{Controller, FIRMWARE_REVISION};
use crate::tenants;

const CONTROLLER: ControllerId = ControllerId::new(1);

impl Controller {
    pub(in crate::frontend) async fn identify(
        &self,
        identify: &Identify,
    ) -> Result<Answer, Status> {
        let page = self.identify_page(identify)?;
        let segments = self
            .port
            .locate(tenants::DRIVE, &identify.data, IDENTIFY_BYTES as u64)
            .await?;
        segments.write(&mut *self.host.memory.borrow_mut(), &page)?;
        Ok(Answer {
            data_bytes: IDENTIFY_BYTES as u64,
            ..Answer::DONE
        })
    }

    fn identify_page(&self, identify: &Identify) -> Result<[u8; IDENTIFY_BYTES], Status> {
        let mut page = [0; IDENTIFY_BYTES];
        match identify.cns {
            Cns::Controller => page.copy_from_slice(self.controller_page().as_bytes()),
            Cns::Namespace | Cns::CommandSetNamespace => {
                // Broadcast asks for what all namespaces have in common.
                let namespace = match identify.namespace {
                    BROADCAST_NAMESPACE => self.namespaces.get(NamespaceId::new(1))?,
                    named => self.namespaces.get(named)?,
                };
                if identify.cns == Cns::Namespace {
                    page.copy_from_slice(self.namespace_page(namespace).as_bytes());
                }
            }
            Cns::ActiveNamespaces | Cns::CommandSetActiveNamespaces | Cns::AllocatedNamespaces => {
                let after = identify.namespace;
                if after >= NamespaceId::new(0xFFFF_FFFE) {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
                let all = self.namespaces.iter().map(|namespace| namespace.id);
                page.copy_from_slice(NamespaceList::new(all, after).as_bytes());
            }
            Cns::AllocatedNamespace => {
                let namespace = self.namespaces.get(identify.namespace)?;
                page.copy_from_slice(self.namespace_page(namespace).as_bytes());
            }
            Cns::NamespaceDescriptors => {
                self.namespaces.get(identify.namespace)?;
                page = namespace_descriptors(&[NamespaceDescriptor::CommandSet(0)]);
            }
            Cns::AttachedControllers | Cns::Controllers => {
                page.copy_from_slice(
                    ControllerList::new([CONTROLLER], identify.controller).as_bytes(),
                );
            }
            Cns::CommandSetController => {
                page.copy_from_slice(IdentifyNvmController::unlimited().as_bytes())
            }
            Cns::CommandSets => page.copy_from_slice(CommandSets::nvm_only().as_bytes()),
        }
        Ok(page)
    }

    fn controller_page(&self) -> IdentifyController {
        let (config, health) = (&self.config, &self.config.health);
        IdentifyController::new(&ControllerDescription {
            serial_number: "BITLINE-1".into(),
            model_number: "Bitline computational SSD".into(),
            firmware_revision: FIRMWARE_REVISION.into(),
            subsystem_name: "nqn.2026-11.io.bitline:drive".into(),
            controller: CONTROLLER,
            max_data_transfer: config.max_data_transfer,
            capacity_bytes: self.unit.start(self.ftl.logical_pages()),
            namespaces: self.namespaces.len() as u32,
            max_commands: config.queue_entries.min(u32::from(u16::MAX)) as u16,
            optional_commands: optional_command::COMPARE
                | optional_command::WRITE_UNCORRECTABLE
                | optional_command::DATASET_MANAGEMENT
                | optional_command::WRITE_ZEROES
                | optional_command::FEATURES_SAVE_SELECT
                | optional_command::VERIFY
                | optional_command::COPY,
            volatile_write_cache: self.cache.is_volatile(),
            // Every logical page is written whole or not at all.
            atomic_blocks: 1,
            abort_limit: ABORTS_MAX,
            async_event_limit: HELD_MAX,
            error_log_entries: ERROR_ENTRIES,
            arbitration_burst: config.arbitration_burst.min(7),
            warning_temperature: health.warning_temperature_kelvin,
            critical_temperature: health.critical_temperature_kelvin,
            sanitize: sanitize_capability::BLOCK_ERASE,
            max_power_mw: 0,
        })
    }

    fn namespace_page(&self, namespace: &Namespace) -> IdentifyNamespace {
        let block_bytes = namespace.block_bytes();
        IdentifyNamespace::new(&NamespaceDescription {
            block_bytes,
            block_bytes_max: self.unit.bytes() & self.unit.bytes().wrapping_neg(),
            capacity_bytes: namespace.capacity_bytes(),
            format_left_percent: namespace.format_left.get(),
            copy: copy_limits(block_bytes),
            blocks: namespace.blocks(),
            allocated_blocks: namespace.blocks(),
            // What is written a flash page at a time leaves none of its slots empty.
            preferred_write_blocks: (self.unit.page_bytes() / block_bytes) as u16,
            unit_blocks: self.unit.blocks(block_bytes) as u16,
            nguid: [0; 16],
            eui64: [0; 8],
        })
    }
}
