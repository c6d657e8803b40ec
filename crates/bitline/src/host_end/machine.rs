//! The host's cores as they run tasks and the operating system, and what both take of them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use device::cores::Cores;
use device::schedule::{Origin, Priority};
use device::task::{Program, TaskConfig, Tasks};
use device::tenants;
use host::tasks::TaskError;
use media::core::{CoresConfig, WorkConfig};
use nvme::task::{Limits, ProgramRecord};
use sim::{Energy, Ledger, Sim};

use crate::config::{Config, HostTaskConfig};
use crate::platforms::{Computer, Loop, Pace};

/// On whose behalf the host works.
pub(crate) const ORIGIN: Origin = Origin::new(tenants::HOST, Priority::High);

/// The host's cores and what runs tasks on them, which are there from the first such task on.
pub(crate) struct HostMachine {
    sim: Sim,
    config: HostTaskConfig,
    /// What runs may have.
    most: TaskConfig,
    pace: Pace,
    computer: Rc<Computer>,
    ledger: Rc<Ledger>,
    /// Runs that were begun.
    runs: Rc<Cell<u64>>,
    parts: OnceCell<Parts>,
    /// Modules that were compiled, by checksum.
    programs: RefCell<BTreeMap<[u8; 16], Program>>,
}

struct Parts {
    cores: Rc<Cores>,
    tasks: Tasks,
}

impl HostMachine {
    pub(crate) fn new(
        sim: &Sim,
        config: &Config,
        computer: &Rc<Computer>,
        ledger: &Rc<Ledger>,
    ) -> HostMachine {
        HostMachine {
            sim: sim.clone(),
            config: config.host.tasks.clone(),
            most: TaskConfig {
                cycles: config.host.tasks.cycles.clone(),
                ..config.device.task.clone()
            },
            pace: Pace::of(&config.host),
            computer: computer.clone(),
            ledger: ledger.clone(),
            runs: Rc::default(),
            parts: OnceCell::new(),
            programs: RefCell::default(),
        }
    }

    /// What the configuration says of it.
    pub(crate) fn config(&self) -> &HostTaskConfig {
        &self.config
    }

    /// Simulated time.
    pub(crate) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// What runs tasks, of which one is about to begin.
    pub(crate) fn begin(&self) -> &Tasks {
        self.runs.set(self.runs.get() + 1);
        &self.parts().tasks
    }

    /// What a run may have, at most.
    pub(crate) fn limits(&self) -> Limits {
        self.most.limits()
    }

    /// A module, compiled once. That takes no simulated time.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn load(&self, module: &[u8]) -> Result<Program, TaskError> {
        let digest = ProgramRecord::digest_of(module);
        if let Some(program) = self.programs.borrow().get(&digest) {
            return Ok(program.clone());
        }
        let program = self.parts().tasks.load(module);
        let program = program.map_err(|error| TaskError::Module(error.to_string()))?;
        self.programs.borrow_mut().insert(digest, program.clone());
        Ok(program)
    }

    /// Has a core work for the operating system for so many nanoseconds, and waits for it.
    pub(crate) async fn kernel(&self, nanoseconds: u64) {
        let cycles = nanoseconds * u64::from(self.config.clock_megahertz) / 1000;
        if cycles > 0 {
            self.parts().cores.run_task(ORIGIN, cycles).await;
        }
    }

    /// Nanoseconds of a core that copies bytes from place to place in memory, which sees each twice.
    pub(crate) fn copy_ns(&self, bytes: u64) -> u64 {
        self.pace.span(Loop::Copy, bytes).as_ps().div_ceil(1000)
    }

    /// So many bytes enter or leave memory.
    pub(crate) fn memory_moves(&self, bytes: u64) {
        self.computer.memory_moves(bytes);
    }

    fn parts(&self) -> &Parts {
        self.parts.get_or_init(|| {
            let host = CoresConfig {
                count: self.config.cores,
                unused_cores: 0,
                task_cores: 0,
                clock_megahertz: self.config.clock_megahertz,
                active_milliwatts: 0,
                idle_milliwatts: 0,
                work: WorkConfig::default(),
            };
            // What the controller's cores spend is on another account than what the host's do.
            let cores = Cores::new(&self.sim, &host, &Ledger::default());
            let (pace, metered) = (self.pace, cores.clone());
            let spent = move || pace.power_for(metered.busy_for(tenants::HOST));
            let shared = spent.clone();
            let share = move |tenant| match tenant {
                tenants::HOST => shared(),
                _ => Energy::ZERO,
            };
            let runs = self.runs.clone();
            let read = move || (spent(), runs.get());
            self.ledger.meter("host", "tasks", read, share);
            let tasks = Tasks::new(&self.sim, cores.clone(), None, &self.most);
            Parts { cores, tasks }
        })
    }
}
