//! What a host knows of the programs that it loaded, so that none is loaded twice.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nvme::task::ProgramLimits;
use sim::Sim;
use sim::resource::Semaphore;

use crate::tasks::Program;

/// What a host knows of the programs that it loaded.
pub(crate) struct Programs {
    /// One is loaded after another, so that no two take the same index.
    pub(crate) turn: Semaphore,
    /// Those that are active, by what tells their modules from others.
    pub(crate) active: RefCell<BTreeMap<[u8; 16], Program>>,
    /// What the drive allows, once it was asked.
    pub(crate) limits: RefCell<Option<ProgramLimits>>,
}

impl Programs {
    /// None yet.
    pub(crate) fn new(sim: &Sim) -> Programs {
        Programs {
            turn: Semaphore::new(sim, 1),
            active: RefCell::default(),
            limits: RefCell::default(),
        }
    }
}
