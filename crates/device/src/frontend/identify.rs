//! Identify: what the drive says of itself (NVMe Base 2.1, 5.1.13).

use nvme::command::Identify;
use nvme::identify::{
    Cns, CommandSets, ControllerDescription, ControllerList, IDENTIFY_BYTES, IdentifyController,
    IdentifyNamespace, IdentifyNvmController, NamespaceDescription, NamespaceDescriptor,
    NamespaceList, namespace_descriptors, optional_command,
};
use nvme::{BROADCAST_NAMESPACE, ControllerId, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::Controller;
use super::io::NAMESPACE;
use super::slot::Answer;

const CONTROLLER: ControllerId = ControllerId::new(1);

impl Controller {
    pub(super) async fn identify(&self, identify: &Identify) -> Result<Answer, Status> {
        let page = self.identify_page(identify)?;
        let segments = self.locate(&identify.data, IDENTIFY_BYTES as u64).await?;
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
                if identify.namespace != NAMESPACE && identify.namespace != BROADCAST_NAMESPACE {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
                if identify.cns == Cns::Namespace {
                    page.copy_from_slice(self.namespace_page().as_bytes());
                }
            }
            Cns::ActiveNamespaces | Cns::CommandSetActiveNamespaces | Cns::AllocatedNamespaces => {
                let after = identify.namespace;
                if after >= NamespaceId::new(0xFFFF_FFFE) {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
                page.copy_from_slice(NamespaceList::new([NAMESPACE], after).as_bytes());
            }
            Cns::AllocatedNamespace => {
                if identify.namespace != NAMESPACE {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
                page.copy_from_slice(self.namespace_page().as_bytes());
            }
            Cns::NamespaceDescriptors => {
                if identify.namespace != NAMESPACE {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
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
        IdentifyController::new(&ControllerDescription {
            serial_number: "BITLINE-1".into(),
            model_number: "Bitline computational SSD".into(),
            firmware_revision: env!("CARGO_PKG_VERSION").into(),
            subsystem_name: "nqn.2026-11.io.bitline:drive".into(),
            controller: CONTROLLER,
            // No limit of its own: a command's blocks are what limits it.
            max_transfer_bytes: nvme::MAX_TRANSFER_BYTES,
            capacity_bytes: self.blocks() * u64::from(self.config.block_bytes),
            namespaces: 1,
            max_commands: self.config.queue_entries.min(u32::from(u16::MAX)) as u16,
            optional_commands: optional_command::DATASET_MANAGEMENT
                | optional_command::WRITE_ZEROES,
            volatile_write_cache: self.cache.is_volatile(),
            // Every page is written whole or not at all.
            atomic_blocks: 1,
            abort_limit: 1,
            async_event_limit: 1,
            max_power_mw: 0,
        })
    }

    fn namespace_page(&self) -> IdentifyNamespace {
        IdentifyNamespace::new(&NamespaceDescription {
            block_bytes: self.config.block_bytes,
            blocks: self.blocks(),
            allocated_blocks: self.blocks(),
            preferred_write_blocks: self.blocks_per_page as u16,
            nguid: [0; 16],
            eui64: [0; 8],
        })
    }
}
