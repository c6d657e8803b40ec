//! What every job of the drive works with.

use std::rc::Rc;

use media::dram::Dram;
use sim::{Ledger, Sim};

use crate::accelerators::Accelerators;
use crate::cores::Cores;
use crate::ftl::Ftl;
use crate::memory::{Buffers, DramMap};
use crate::port::HostTransfer;
use crate::schedule::Schedule;

/// The parts below the jobs (data cache, computing, front end), each powered up. A job takes what it
/// needs of them; another part is a field here and a line in [`crate::Device::power_up`].
#[derive(Clone)]
pub struct Backend {
    /// Simulated time.
    pub sim: Sim,
    /// Who spends how much energy.
    pub ledger: Rc<Ledger>,
    /// The flash back end.
    pub schedule: Rc<Schedule>,
    /// The translation layer.
    pub ftl: Rc<Ftl>,
    /// Page buffers in the controller's memory.
    pub buffers: Rc<Buffers>,
    /// The drive's DRAM.
    pub dram: Rc<Dram>,
    /// What of it is whose.
    pub dram_map: DramMap,
    /// The controller's cores.
    pub cores: Rc<Cores>,
    /// The accelerators beside them.
    pub accelerators: Rc<Accelerators>,
    /// The way to host memory.
    pub port: Rc<HostTransfer>,
}
