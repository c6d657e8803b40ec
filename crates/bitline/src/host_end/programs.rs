//! What a host knows of the programs that it loaded, so that none is loaded twice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use host::memory::MemoryDevice;
use nvme::NamespaceId;
use nvme::task::ProgramLimits;
use sim::Sim;
use sim::resource::Semaphore;

use crate::driver::Queue;

/// A program that the drive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// Its index in the compute namespace, or in the first one of a drive without.
    pub index: u16,
    /// What its owner calls it; the beginning of its module's SHA-256, unless it was given another.
    pub identifier: u64,
}

impl Program {
    /// The program that was loaded under this index, as [`crate::Tasks::load`] or [`crate::Tasks::list`] told it.
    pub fn new(index: u16, identifier: u64) -> Program {
        Program { index, identifier }
    }
}

/// What a host knows of the programs that it loaded.
pub(crate) struct Programs {
    /// One is loaded after another, so that no two take the same index.
    pub(crate) turn: Semaphore,
    /// Those that are active, by what tells their modules from others.
    pub(crate) active: RefCell<BTreeMap<[u8; 16], Program>>,
    /// What the drive allows, once it was asked.
    pub(crate) limits: RefCell<Option<ProgramLimits>>,
    /// The namespace that has them, once the drive was asked.
    pub(crate) owner: Cell<Option<NamespaceId>>,
    /// The memory that programs and the host share, if there is any, once the drive was asked.
    pub(crate) memory: RefCell<Option<Option<MemoryDevice<Queue>>>>,
}

impl Programs {
    /// None yet.
    pub(crate) fn new(sim: &Sim) -> Programs {
        Programs {
            turn: Semaphore::new(sim, 1),
            active: RefCell::default(),
            limits: RefCell::default(),
            owner: Cell::default(),
            memory: RefCell::default(),
        }
    }
}
