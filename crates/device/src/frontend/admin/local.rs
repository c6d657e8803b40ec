//! Memory range sets, what the logs tell of the compute namespace, and how both namespaces without blocks are erased.

use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::command::{
    FormatNvm, GetLogPage, MemoryRange, MemoryRangeSets, RangeSetAction, SecureErase, WEB_ASSEMBLY,
};
use nvme::log::{ProgramType, RangeSetRecord, ReachabilityAssociation, ReachabilityGroup};
use nvme::{NamespaceId, Status};

use crate::frontend::Controller;
use crate::frontend::answer::{self, Answer};
use crate::frontend::dispatch::ranges_of;
use crate::frontend::local::{Local, LocalNamespace};
use crate::schedule::Origin;

impl Controller {
    pub(in crate::frontend) async fn manage_range_sets(
        &self,
        sets: &MemoryRangeSets,
    ) -> Result<Answer, Status> {
        let local = self.compute_namespace(sets.namespace)?;
        self.check_local(&local.compute)?;
        let _admitted = local.compute.admit();
        let origin = Origin::own(self.tenant_of_namespace(local.compute.id));
        self.charge(origin, Work::Plan).await;
        let count = match sets.action {
            RangeSetAction::Delete { set } => {
                local.bytes.delete_set(set)?;
                return Ok(Answer::DONE);
            }
            RangeSetAction::Create { ranges: 0 } => return Err(Status::INVALID_FIELD),
            RangeSetAction::Create { ranges } => ranges,
        };
        if count > local.bytes.limits().1 {
            return Err(Status::MAXIMUM_MEMORY_RANGES_EXCEEDED);
        }
        let bytes = u64::from(count) * MemoryRange::BYTES as u64;
        let ranges = self
            .fetch_parameters(&sets.data, bytes, Carries::Parameters, origin)
            .await?;
        let ranges = ranges_of(local, MemoryRange::parse(&ranges))?;
        Ok(Answer {
            dw0: local.bytes.create_set(ranges)?.into(),
            ..Answer::DONE
        })
    }

    /// The Downloadable Program Types List.
    pub(super) fn program_types_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        self.programs_of(get.namespace)?;
        Ok(ProgramType::encode_list(&[WEB_ASSEMBLY]))
    }

    /// The Memory Range Set List.
    pub(super) fn range_sets_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let local = self.compute_namespace(get.namespace)?;
        let sets = local.bytes.sets().into_iter().map(|(set, ranges)| {
            let ranges = ranges.iter().map(|range| {
                // It was made of a record with 32 bits for that.
                let bytes = (range.end - range.start) as u32;
                MemoryRange::new(local.memory.id, range.start, bytes)
            });
            RangeSetRecord::new(set, ranges.collect())
        });
        Ok(RangeSetRecord::encode_list(&sets.collect::<Vec<_>>()))
    }

    /// Reachability Groups.
    pub(super) fn groups_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let local = self.local.as_ref().ok_or(Status::INVALID_LOG_PAGE)?;
        let blocks = self.namespaces.iter().map(|namespace| namespace.id);
        let groups = local.groups(blocks.collect());
        Ok(ReachabilityGroup::encode(&groups, get.specific))
    }

    /// Reachability Associations.
    pub(super) fn associations_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        self.local.as_ref().ok_or(Status::INVALID_LOG_PAGE)?;
        let associations = Local::associations();
        Ok(ReachabilityAssociation::encode(&associations, get.specific))
    }

    /// The compute namespace, if a command names it.
    ///
    /// # Errors
    /// Invalid Namespace or Format for others.
    fn compute_namespace(&self, named: NamespaceId) -> Result<&Local, Status> {
        let local = self.local()?;
        match named == local.compute.id {
            true => Ok(local),
            false => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
        }
    }

    /// A namespace that may have programs.
    ///
    /// # Errors
    /// Invalid Namespace or Format for others.
    pub(super) fn programs_of(&self, named: NamespaceId) -> Result<NamespaceId, Status> {
        match self.compute_namespace(named) {
            Ok(_) => Ok(named),
            Err(_) => Ok(self.namespaces.get(named)?.id),
        }
    }

    /// Formats a namespace without blocks: the memory is zero then, or there are neither programs nor range sets.
    ///
    /// # Errors
    /// Invalid Format for another than the only one; Invalid Field for an erasure by keys; no space on flash.
    pub(super) async fn format_local(
        self: &Rc<Controller>,
        namespace: &LocalNamespace,
        format: &FormatNvm,
    ) -> Result<(), Status> {
        if format.format != 0 || format.metadata_inline || format.protection != 0 {
            return Err(Status::INVALID_FORMAT);
        }
        if format.secure_erase == SecureErase::Cryptographic {
            return Err(Status::INVALID_FIELD);
        }
        if self.local_namespaces().any(|of| of.formatting.get()) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        namespace.formatting.set(true);
        let erased = self.erase_local(namespace).await;
        namespace.formatting.set(false);
        erased
    }

    /// Empties a namespace without blocks, to which no command is admitted any more.
    pub(super) async fn erase_local(
        self: &Rc<Controller>,
        namespace: &LocalNamespace,
    ) -> Result<(), Status> {
        let local = self.local()?;
        let origin = Origin::own(self.tenant_of_namespace(namespace.id));
        if namespace.id == local.memory.id {
            while namespace.is_in_use() {
                self.sim.sleep(super::sanitize::LOOK).await;
            }
            local.bytes.erase(origin.requester()).await;
            return Ok(());
        }
        let _stopping = self.programs.stop([namespace.id].into_iter());
        for of in self.namespaces.iter() {
            if self.programs.is_in_use(namespace.id) {
                self.collectors.stop(of.id).await;
                self.streams.stop(of.id).await;
            }
        }
        while namespace.is_in_use() || self.programs.is_in_use(namespace.id) {
            self.sim.sleep(super::sanitize::LOOK).await;
        }
        local.bytes.forget_sets();
        let forgotten = self.programs.forget(namespace.id).await;
        forgotten.map_err(|error| answer::status_of(error, false))
    }
}
