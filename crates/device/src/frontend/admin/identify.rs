//! Identify: what the drive says of itself (NVMe Base 2.1, 5.1.13).

use nvme::command::Identify;
use nvme::identify::{
    COMPUTE_COMMAND_SET, Cns, CommandSets, ControllerDescription, ControllerList, IDENTIFY_BYTES,
    IdentifyComputeNamespace, IdentifyController, IdentifyMemoryNamespace, IdentifyNamespace,
    IdentifyNvmController, IndependentNamespace, MEMORY_COMMAND_SET, NVM_COMMAND_SET,
    NamespaceDescription, NamespaceDescriptor, NamespaceList, namespace_descriptors,
    optional_command, sanitize_capability,
};
use nvme::{BROADCAST_NAMESPACE, CommandSet, ControllerId, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::abort::ABORTS_MAX;
use super::event::HELD_MAX;
use super::health::ERROR_ENTRIES;
use crate::frontend::answer::Answer;
use crate::frontend::dispatch::copy::copy_limits;
use crate::frontend::namespace::Namespace;
use crate::frontend::{Controller, FIRMWARE_REVISION};
use crate::local_memory::GRANULARITY;
use crate::tenants;

const CONTROLLER: ControllerId = ControllerId::new(1);
/// What is left of the format of a namespace without blocks, which is not told in parts.
const FORMAT_BEGUN_PERCENT: u8 = 100;

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
            Cns::Namespace => {
                let namespace = self.namespace_of_blocks(identify.namespace)?;
                page.copy_from_slice(self.namespace_page(namespace).as_bytes());
            }
            Cns::CommandSetNamespace => self.identify_in_set(identify, &mut page)?,
            Cns::IndependentNamespace => {
                let independent = self.independent_page(identify.namespace)?;
                page.copy_from_slice(independent.as_bytes());
            }
            Cns::ActiveNamespaces | Cns::CommandSetActiveNamespaces | Cns::AllocatedNamespaces => {
                let after = identify.namespace;
                if after >= NamespaceId::new(0xFFFF_FFFE) {
                    return Err(Status::INVALID_NAMESPACE_OR_FORMAT);
                }
                let of_set = match identify.cns {
                    Cns::CommandSetActiveNamespaces => {
                        Some(self.command_set(identify.command_set)?)
                    }
                    _ => None,
                };
                let all = self.namespaces_in(of_set);
                page.copy_from_slice(NamespaceList::new(all, after).as_bytes());
            }
            Cns::AllocatedNamespace => {
                let namespace = self.namespace_of_blocks(identify.namespace)?;
                page.copy_from_slice(self.namespace_page(namespace).as_bytes());
            }
            Cns::NamespaceDescriptors => {
                let set = self.set_of_namespace(identify.namespace)?;
                let csi = set.csi().unwrap_or_default();
                page = namespace_descriptors(&[NamespaceDescriptor::CommandSet(csi)]);
            }
            Cns::AttachedControllers | Cns::Controllers => {
                page.copy_from_slice(
                    ControllerList::new([CONTROLLER], identify.controller).as_bytes(),
                );
            }
            Cns::CommandSetController => {
                // The other command sets have nothing to say of a controller.
                if self.command_set(identify.command_set)? == CommandSet::Nvm {
                    page.copy_from_slice(IdentifyNvmController::unlimited().as_bytes());
                }
            }
            Cns::CommandSets => {
                let sets: &[u8] = match &self.local {
                    Some(_) => &[NVM_COMMAND_SET, MEMORY_COMMAND_SET, COMPUTE_COMMAND_SET],
                    None => &[NVM_COMMAND_SET],
                };
                page.copy_from_slice(CommandSets::of(sets).as_bytes());
            }
        }
        Ok(page)
    }

    /// A namespace of blocks; of the broadcast identifier, one that has what all of them have in common.
    ///
    /// # Errors
    /// Invalid I/O Command Set for one without blocks; Invalid Namespace or Format.
    fn namespace_of_blocks(&self, named: NamespaceId) -> Result<&Namespace, Status> {
        let named = match named {
            BROADCAST_NAMESPACE => NamespaceId::new(1),
            named => named,
        };
        match self
            .local_namespaces()
            .any(|namespace| namespace.id == named)
        {
            true => Err(Status::INVALID_COMMAND_SET),
            false => self.namespaces.get(named),
        }
    }

    /// The command set of a namespace.
    ///
    /// # Errors
    /// Invalid Namespace or Format.
    fn set_of_namespace(&self, named: NamespaceId) -> Result<CommandSet, Status> {
        match &self.local {
            Some(local) if local.named(named).is_some() => Ok(local.set_of(named)),
            _ => self.namespaces.get(named).map(|_| CommandSet::Nvm),
        }
    }

    /// The namespaces, or those of a command set, by identifier.
    fn namespaces_in(&self, of_set: Option<CommandSet>) -> impl Iterator<Item = NamespaceId> {
        let blocks = self.namespaces.iter().map(|namespace| namespace.id);
        let others = self.local_namespaces().map(|namespace| namespace.id);
        blocks.chain(others).filter(move |id| {
            let set = self.local.as_ref().map(|local| local.set_of(*id));
            of_set.is_none_or(|of_set| of_set == set.unwrap_or(CommandSet::Nvm))
        })
    }

    /// What a command set says of a namespace.
    ///
    /// # Errors
    /// Invalid Namespace or Format; Invalid I/O Command Set for one of another command set.
    fn identify_in_set(
        &self,
        identify: &Identify,
        page: &mut [u8; IDENTIFY_BYTES],
    ) -> Result<(), Status> {
        let set = self.command_set(identify.command_set)?;
        if set == CommandSet::Nvm {
            // Nothing more than Identify Namespace does.
            return self.namespace_of_blocks(identify.namespace).map(|_| ());
        }
        if self.set_of_namespace(identify.namespace)? != set {
            return Err(Status::INVALID_COMMAND_SET);
        }
        let local = self.local()?;
        if set == CommandSet::Memory {
            let memory = IdentifyMemoryNamespace::new(local.bytes.bytes(), GRANULARITY);
            page.copy_from_slice(memory.as_bytes());
        } else {
            let (programs, bytes) = self.programs.quota();
            let programs = programs.min(u32::from(u16::MAX)) as u16;
            let limits = local.bytes.limits();
            let compute = IdentifyComputeNamespace::new(programs, bytes, limits, GRANULARITY);
            page.copy_from_slice(compute.as_bytes());
        }
        Ok(())
    }

    /// What is the same for all command sets.
    ///
    /// # Errors
    /// Invalid Namespace or Format.
    fn independent_page(&self, named: NamespaceId) -> Result<IndependentNamespace, Status> {
        let group = self.local.as_ref().map_or(0, |local| local.group_of(named));
        let found = self
            .local_namespaces()
            .find(|namespace| namespace.id == named);
        Ok(match found {
            Some(namespace) => {
                let is_ready = !namespace.formatting.get();
                let left = if is_ready { 0 } else { FORMAT_BEGUN_PERCENT };
                IndependentNamespace::new(left, is_ready, group)
            }
            None => {
                let namespace = self.namespaces.get(named)?;
                let left = namespace.format_left.get();
                IndependentNamespace::new(left, namespace.is_ready(), group)
            }
        })
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
            namespaces: self.namespace_count() as u32,
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
            has_memory: self.local.is_some(),
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
