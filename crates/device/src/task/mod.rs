//! Tasks: WebAssembly modules that run on the controller's cores, in a sandbox and in simulated time.
//!
//! `check` and `program` take a module in, `costs` says what its instructions take, `imports` are the calls that a task has.
//! A call that takes time leaves what it asks for in a `hatch` and stands aside, and so does a task whose quantum is over;
//! `session` carries it out, with `tickets` for what was submitted, and lets the task go on.

mod check;
mod config;
mod costs;
pub mod errno;
mod error;
mod files;
mod hatch;
mod imports;
mod inside;
mod mover;
mod operate;
mod outcome;
mod program;
mod quota;
mod session;
#[cfg(test)]
mod tests;
mod tickets;
mod trap;

use std::cell::OnceCell;
use std::rc::Rc;

pub use config::{CycleCosts, TaskConfig};
pub use error::ModuleError;
pub use files::{Data, FileError, Files, LocalBoxFuture, Piece};
pub use nvme::task::Limits;
pub use program::Program;
pub use quota::QuotaConfig;

use media::dram::Dram;
use program::Runtime;
use session::Session;
use sim::Sim;
use sim::resource::{Permit, Semaphore};

use crate::accelerators::Accelerators;
use crate::backend::Backend;
use crate::cores::Cores;
use crate::memory::DramMap;
use crate::part::Part;
use crate::schedule::Origin;
use mover::Mover;

/// What runs tasks.
pub struct Tasks {
    sim: Sim,
    cores: Rc<Cores>,
    mover: Mover,
    /// Those of the drive, if it has any.
    accelerators: Option<Rc<Accelerators>>,
    config: TaskConfig,
    /// Bytes of DRAM that no task has.
    room: Semaphore,
    /// Made when the first module is loaded: most drives never have one.
    runtime: OnceCell<Runtime>,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// What the task wrote to its log, whether or not it came to its end.
    pub log: String,
    /// Cycles of a core that it took.
    pub cycles: u64,
    /// Bytes of memory that it had when it ended.
    pub memory_bytes: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Well, with these bytes.
    Returned(Vec<u8>),
    /// The task asks to be rolled back.
    Failed {
        /// What its main function returned.
        code: i32,
    },
    /// It did what no task may, or took more than it may.
    Trapped {
        /// What it was.
        reason: String,
    },
    /// It was not begun, as it can never run so.
    Rejected {
        /// Why.
        reason: String,
    },
    /// A call could not be carried out.
    File(FileError),
}

/// Memory for a run, until it is over.
#[must_use = "memory is reserved as long as this is held"]
pub struct Reserved<'a> {
    _room: Permit<'a>,
    limits: Limits,
}

impl Tasks {
    /// Nothing loaded, nothing running.
    pub fn power_up(backend: &Backend, config: &TaskConfig) -> Rc<Tasks> {
        let Backend { sim, cores, .. } = backend;
        let dram = (&backend.dram, &backend.dram_map);
        let mut tasks = Tasks::new(sim, cores.clone(), Some(dram), config);
        let accelerators = &backend.accelerators;
        tasks.accelerators = accelerators.are_there().then(|| accelerators.clone());
        Rc::new(tasks)
    }

    /// On these cores and in this memory, without a drive or accelerators around them. With no memory, what it takes to move bytes between
    /// files and tasks is for the files to say.
    pub fn new(
        sim: &Sim,
        cores: Rc<Cores>,
        memory: Option<(&Rc<Dram>, &DramMap)>,
        config: &TaskConfig,
    ) -> Tasks {
        Tasks {
            sim: sim.clone(),
            cores,
            mover: Mover::new(sim, memory),
            accelerators: None,
            config: config.clone(),
            room: Semaphore::new(sim, config.dram_bytes),
            runtime: OnceCell::new(),
        }
    }

    /// What a run may have that asks for no limits of its own; also the most that it may ask for.
    pub fn limits(&self) -> Limits {
        self.config.limits()
    }

    /// Checks and compiles a module. That takes no simulated time.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn load(&self, module: &[u8]) -> Result<Program, ModuleError> {
        self.runtime()?.load(module, &self.config)
    }

    fn runtime(&self) -> Result<&Runtime, ModuleError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = Runtime::new(&self.config)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    /// Runs a program once, in simulated time. What it submitted is over when the run is. Dropping the future stops the task,
    /// and what it has submitted.
    pub async fn run(
        &self,
        program: &Program,
        files: Rc<dyn Files>,
        arguments: &[u8],
        limits: Limits,
        origin: Origin,
    ) -> Run {
        match self.reserve(program, arguments, limits).await {
            Ok(room) => self.run_in(room, program, files, arguments, origin).await,
            Err(reason) => Run::rejected(reason),
        }
    }

    /// Waits until there is memory for a run. Whoever opens files for it does so afterwards: who has them open is then not kept
    /// waiting by who needs what they hold.
    ///
    /// # Errors
    /// Why it can never be begun.
    pub async fn reserve(
        &self,
        program: &Program,
        arguments: &[u8],
        limits: Limits,
    ) -> Result<Reserved<'_>, String> {
        let memory_bytes = self.admit(program, arguments, &limits)?;
        let limits = Limits {
            memory_bytes,
            ..limits
        };
        Ok(Reserved {
            _room: self.room.acquire(memory_bytes).await,
            limits,
        })
    }

    /// As [`Tasks::run`], in memory that was waited for with the same program and arguments.
    pub async fn run_in(
        &self,
        room: Reserved<'_>,
        program: &Program,
        files: Rc<dyn Files>,
        arguments: &[u8],
        origin: Origin,
    ) -> Run {
        let session = Session::new(self, files, room.limits, origin);
        session.run(program, arguments).await
    }

    /// Bytes of memory that a run may have; or why it is not begun.
    fn admit(&self, program: &Program, arguments: &[u8], limits: &Limits) -> Result<u64, String> {
        let own = self.runtime.get();
        if !own.is_some_and(|runtime| runtime.loaded(program)) {
            return Err("the program was loaded into another drive, or before the power went: load it again".to_owned());
        }
        let most = &self.config;
        for (what, asked, key, allowed) in [
            (
                "bytes of arguments",
                arguments.len() as u64,
                "arguments_bytes",
                most.arguments_bytes.into(),
            ),
            (
                "bytes of memory",
                limits.memory_bytes,
                "memory_bytes",
                most.memory_bytes,
            ),
            ("cycles", limits.cycles, "cycles_max", most.cycles_max),
            (
                "bytes of log",
                limits.log_bytes.into(),
                "log_bytes",
                most.log_bytes.into(),
            ),
            (
                "bytes to return",
                limits.return_bytes.into(),
                "return_bytes",
                most.return_bytes.into(),
            ),
            (
                "tickets",
                limits.tickets.into(),
                "tickets",
                most.tickets.into(),
            ),
        ] {
            if asked > allowed {
                return Err(format!(
                    "{asked} {what} are more than task.{key} = {allowed}"
                ));
            }
        }
        let least = program.memory_min();
        if least > limits.memory_bytes {
            return Err(format!(
                "the program needs {least} bytes of memory to begin with, more than the {} that this run may have",
                limits.memory_bytes
            ));
        }
        Ok(limits.memory_bytes.min(program.memory_max()))
    }
}

impl Part for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }
}

impl Run {
    pub(crate) fn rejected(reason: String) -> Run {
        Run {
            ended: Ended::Rejected { reason },
            log: String::new(),
            cycles: 0,
            memory_bytes: 0,
        }
    }
}
