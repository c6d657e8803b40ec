//! The memory namespace and the compute namespace, which follow those of blocks.

use std::cell::Cell;
use std::rc::Rc;

use nvme::log::{ReachabilityAssociation, ReachabilityGroup};
use nvme::{CommandSet, NamespaceId, QueueId, Status};
use sim::Tenant;

use super::Controller;
use super::namespace::Admitted;
use crate::local_memory::LocalMemory;

/// Reachability groups: namespaces of blocks, the memory, the programs.
const BLOCKS_GROUP: u32 = 1;
const MEMORY_GROUP: u32 = 2;
const COMPUTE_GROUP: u32 = 3;

/// A namespace without blocks.
pub(super) struct LocalNamespace {
    pub(super) id: NamespaceId,
    /// A format is under way.
    pub(super) formatting: Cell<bool>,
    /// Commands under way.
    admitted: Cell<u32>,
}

/// Both.
pub(super) struct Local {
    pub(super) memory: LocalNamespace,
    pub(super) compute: LocalNamespace,
    pub(super) bytes: Rc<LocalMemory>,
}

impl LocalNamespace {
    fn new(number: usize) -> LocalNamespace {
        LocalNamespace {
            id: NamespaceId::new(number as u32 + 1),
            formatting: Cell::new(false),
            admitted: Cell::new(0),
        }
    }

    /// Counts a command, until what this gives is dropped.
    pub(super) fn admit(&self) -> Admitted<'_> {
        Admitted::count(&self.admitted)
    }

    /// Whether commands that were admitted are under way.
    pub(super) fn is_in_use(&self) -> bool {
        self.admitted.get() > 0
    }
}

impl Local {
    /// Those that follow so many namespaces of blocks, if there is memory.
    pub(super) fn behind(namespaces: usize, bytes: Rc<LocalMemory>) -> Option<Local> {
        (bytes.bytes() > 0).then(|| Local {
            memory: LocalNamespace::new(namespaces),
            compute: LocalNamespace::new(namespaces + 1),
            bytes,
        })
    }

    /// Both, by identifier.
    pub(super) fn all(&self) -> [&LocalNamespace; 2] {
        [&self.memory, &self.compute]
    }

    /// Which of both has this identifier.
    pub(super) fn named(&self, id: NamespaceId) -> Option<&LocalNamespace> {
        self.all().into_iter().find(|namespace| namespace.id == id)
    }

    /// The command set of a namespace.
    pub(super) fn set_of(&self, id: NamespaceId) -> CommandSet {
        match id {
            id if id == self.memory.id => CommandSet::Memory,
            id if id == self.compute.id => CommandSet::Compute,
            _ => CommandSet::Nvm,
        }
    }

    /// The reachability group of a namespace.
    pub(super) fn group_of(&self, id: NamespaceId) -> u32 {
        match self.set_of(id) {
            CommandSet::Memory => MEMORY_GROUP,
            CommandSet::Compute => COMPUTE_GROUP,
            _ => BLOCKS_GROUP,
        }
    }

    /// All groups, with these namespaces of blocks.
    pub(super) fn groups(&self, blocks: Vec<NamespaceId>) -> Vec<ReachabilityGroup> {
        vec![
            ReachabilityGroup::new(BLOCKS_GROUP, blocks),
            ReachabilityGroup::new(MEMORY_GROUP, vec![self.memory.id]),
            ReachabilityGroup::new(COMPUTE_GROUP, vec![self.compute.id]),
        ]
    }

    /// Blocks and memory are copied to each other; programs see memory.
    pub(super) fn associations() -> Vec<ReachabilityAssociation> {
        vec![
            ReachabilityAssociation::new(1, vec![BLOCKS_GROUP, MEMORY_GROUP]),
            ReachabilityAssociation::new(2, vec![MEMORY_GROUP, COMPUTE_GROUP]),
        ]
    }
}

impl Controller {
    /// Namespaces without blocks.
    pub(super) fn local_namespaces(&self) -> impl Iterator<Item = &LocalNamespace> {
        self.local.iter().flat_map(Local::all)
    }

    /// The memory namespace, and the compute namespace.
    ///
    /// # Errors
    /// Invalid Namespace or Format if there are none.
    pub(super) fn local(&self) -> Result<&Local, Status> {
        let local = self.local.as_ref();
        local.ok_or(Status::INVALID_NAMESPACE_OR_FORMAT)
    }

    /// The command set of a command to a namespace that comes through a queue.
    #[inline]
    pub fn set_of(&self, queue: QueueId, namespace: NamespaceId) -> CommandSet {
        if queue.get() == 0 {
            return CommandSet::Admin;
        }
        match &self.local {
            Some(local) => local.set_of(namespace),
            None => CommandSet::Nvm,
        }
    }

    /// The namespaces of other command sets than NVM.
    pub fn other_sets(&self) -> Vec<(NamespaceId, CommandSet)> {
        let local = self.local.iter().flat_map(|local| local.all());
        let sets =
            local.map(|namespace| (namespace.id, self.set_of(QueueId::new(1), namespace.id)));
        sets.collect()
    }

    /// The tenant that the namespace of an identifier is.
    #[inline]
    pub(super) fn tenant_of_namespace(&self, id: NamespaceId) -> Tenant {
        let more = if self.local.is_some() { 2 } else { 0 };
        self.namespaces.tenant_of(id, more)
    }

    /// # Errors
    /// The status of a namespace or drive that is being erased.
    pub(super) fn check_local(&self, namespace: &LocalNamespace) -> Result<(), Status> {
        self.check_sanitized()?;
        match namespace.formatting.get() {
            true => Err(Status::FORMAT_IN_PROGRESS),
            false => Ok(()),
        }
    }

    /// Counts a command to a namespace that may have programs, until what this gives is dropped.
    ///
    /// # Errors
    /// Invalid Namespace or Format; the status of a namespace or drive that is being erased.
    pub(super) fn admit_to_programs(&self, id: NamespaceId) -> Result<Admitted<'_>, Status> {
        if let Some(local) = self.local.as_ref().filter(|local| local.compute.id == id) {
            self.check_local(&local.compute)?;
            return Ok(local.compute.admit());
        }
        let namespace = self.namespaces.get(id)?;
        self.check_obstacles(namespace)?;
        Ok(namespace.admit())
    }
}
