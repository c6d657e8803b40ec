//! Programs of the namespaces: loaded in chunks, activated, run as transactions over files, and kept through power cycles as
//! facts of the journal where their owner asks for that.
//!
//! `table` has the programs of all namespaces and their rules, `facts` what the journal keeps of them, `run` has one run:
//! a transaction begun, its `files` shown to the task, the task run in it, and committed or rolled back; after a conflict anew, as often as asked.
//! A run over memory has `ranges` instead, and no transaction.
//! A task may have the drive evaluate expressions over `vectors` and look `names` up.

mod ends;
mod facts;
mod files;
mod names;
mod ranges;
mod record;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod vectors;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use nvme::log::ProgramDescriptor;
use nvme::task::ProgramState;
use nvme::{NamespaceId, Status};
use sim::Sim;
use sim::resource::{Broadcast, Semaphore};

use crate::backend::Backend;
use crate::bits::Bits;
use crate::cores::Cores;
use crate::ftl::{Ftl, FtlError};
use crate::local_memory::LocalMemory;
use crate::memory::Buffers;
use crate::part::Part;
use crate::search::Search;
use crate::task::{ModuleError, QuotaConfig, TaskConfig, Tasks};
use crate::tx::{self, Transactions};
pub(crate) use ends::{failed, told};
pub use ranges::MemoryRun;
pub use record::Chunk;
pub use run::{Halt, InUse, RunRequest, Stopping};
use table::Table;

/// What a program is known by: its namespace and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramId {
    /// The namespace to which it belongs.
    pub namespace: NamespaceId,
    /// Its index there.
    pub index: u16,
}

/// Why something about a program was refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramError {
    /// With this status.
    Refused(Status),
    /// The module is none that can run; [`Programs::refusal`] has the words.
    Module(ModuleError),
    /// The translation layer could not keep it.
    Ftl(FtlError),
}

impl From<Status> for ProgramError {
    fn from(status: Status) -> ProgramError {
        ProgramError::Refused(status)
    }
}

/// The programs of a drive.
pub struct Programs {
    sim: Sim,
    ftl: Rc<Ftl>,
    buffers: Rc<Buffers>,
    cores: Rc<Cores>,
    bits: Rc<Bits>,
    search: Rc<Search>,
    tasks: Rc<Tasks>,
    transactions: Rc<Transactions>,
    local_memory: Rc<LocalMemory>,
    quota: QuotaConfig,
    task: TaskConfig,
    table: RefCell<Table>,
    /// By namespace, what is known of its runs.
    runs: RefCell<BTreeMap<NamespaceId, Rc<Runs>>>,
    /// Why modules were refused, by program, until one is taken.
    refusals: RefCell<BTreeMap<ProgramId, String>>,
    /// Why the last run over memory failed, by program, until one succeeds.
    failures: RefCell<BTreeMap<ProgramId, String>>,
    /// Runs are to stop, or one has.
    stops: Broadcast,
}

/// Runs of a namespace.
struct Runs {
    /// Those that may be under way at a time.
    room: Semaphore,
    /// All of them are to stop.
    stopping: Cell<bool>,
}

impl Programs {
    /// The programs that an earlier life was asked to keep; they are to be activated anew.
    pub fn power_up(
        backend: &Backend,
        config: &TaskConfig,
        (bits, search): (Rc<Bits>, Rc<Search>),
        (tasks, transactions, local_memory): (Rc<Tasks>, Rc<Transactions>, Rc<LocalMemory>),
    ) -> Rc<Programs> {
        let kept = backend.ftl.facts_of(facts::PROGRAMS).into_iter();
        let kept = kept.filter_map(|(key, fact)| facts::decode(key, &fact));
        Rc::new(Programs {
            sim: backend.sim.clone(),
            ftl: backend.ftl.clone(),
            buffers: backend.buffers.clone(),
            cores: backend.cores.clone(),
            bits,
            search,
            tasks,
            transactions,
            local_memory,
            quota: config.quota,
            task: config.clone(),
            table: RefCell::new(Table::of(kept)),
            runs: RefCell::default(),
            refusals: RefCell::default(),
            failures: RefCell::default(),
            stops: Broadcast::new(&backend.sim),
        })
    }

    /// Takes a chunk of a program. With the last one of a program that is to be kept, returns when flash has it.
    ///
    /// # Errors
    /// Invalid Program Index; Invalid Program Type; Invalid Field for a chunk that does not begin where the one before ended,
    /// goes beyond the program's end, or says otherwise than the first what the program is; Program In Use if the index is
    /// taken; Program Too Big, Maximum Program Bytes Exceeded; no space on flash.
    pub async fn load(
        &self,
        id: ProgramId,
        chunk: &Chunk,
        bytes: &[u8],
    ) -> Result<(), ProgramError> {
        self.check_new(id, chunk)?;
        let whole = self.table.borrow_mut().take_chunk(id, chunk, bytes)?;
        self.refusals.borrow_mut().remove(&id);
        if !whole {
            return Ok(());
        }
        if chunk.persistent {
            let fact = facts::encode(chunk, self.table.borrow().module(id)?);
            let put = self.ftl.put_fact(facts::key(id), &fact).await;
            if let Err(error) = put {
                self.table.borrow_mut().give_back(id, chunk);
                return Err(ProgramError::Ftl(error));
            }
        }
        self.table.borrow_mut().loaded(id);
        Ok(())
    }

    /// What the first chunk of a program has to keep to.
    ///
    /// # Errors
    /// As [`Programs::load`].
    pub fn check_new(&self, id: ProgramId, chunk: &Chunk) -> Result<(), Status> {
        if u32::from(id.index) >= self.quota.programs {
            return Err(Status::INVALID_PROGRAM_INDEX);
        }
        if chunk.program_type != nvme::command::WEB_ASSEMBLY {
            return Err(Status::INVALID_PROGRAM_TYPE);
        }
        let most = match chunk.persistent {
            true => self.task.module_bytes.min(self.quota.persistent_bytes),
            false => self.task.module_bytes,
        };
        if u64::from(chunk.program_bytes) > most {
            return Err(Status::PROGRAM_TOO_BIG);
        }
        let table = self.table.borrow();
        let others = table.bytes_of(id.namespace) - table.bytes(id);
        if others + u64::from(chunk.program_bytes) > self.quota.program_bytes {
            return Err(Status::MAXIMUM_PROGRAM_BYTES_EXCEEDED);
        }
        Ok(())
    }

    /// Unloads a program, or what there is of it; returns when flash does not have it either.
    ///
    /// # Errors
    /// No Program; Program In Use while it runs, or is being kept; no space on flash.
    pub async fn unload(&self, id: ProgramId) -> Result<(), ProgramError> {
        let leaving = self.table.borrow_mut().begin_unload(id)?;
        if leaving.is_kept {
            let gone = self.ftl.put_facts(vec![(facts::key(id), None)]).await;
            if let Err(error) = gone {
                self.table.borrow_mut().stay(id, leaving);
                return Err(ProgramError::Ftl(error));
            }
        }
        self.table.borrow_mut().remove(id);
        self.refusals.borrow_mut().remove(&id);
        self.failures.borrow_mut().remove(&id);
        Ok(())
    }

    /// Makes a program ready to run; one that is stays so.
    ///
    /// # Errors
    /// No Program, also of one of which chunks are still to come; what is wrong with its module.
    pub fn activate(&self, id: ProgramId) -> Result<(), ProgramError> {
        if self.table.borrow().is_active(id) {
            return Ok(());
        }
        let program = {
            let table = self.table.borrow();
            self.tasks.load(table.loaded_module(id)?)
        };
        match program {
            Ok(program) => {
                self.table.borrow_mut().activate(id, program);
                Ok(())
            }
            Err(error) => {
                self.refusals.borrow_mut().insert(id, error.to_string());
                Err(ProgramError::Module(error))
            }
        }
    }

    /// Makes a program no longer ready to run.
    ///
    /// # Errors
    /// No Program; Program Not Activated; Program In Use while it runs.
    pub fn deactivate(&self, id: ProgramId) -> Result<(), Status> {
        self.table.borrow_mut().deactivate(id)
    }

    /// Why the module of a program was refused when it was last to be activated.
    pub fn refusal(&self, id: ProgramId) -> Option<String> {
        self.refusals.borrow().get(&id).cloned()
    }

    /// Why the last run of a program over memory failed.
    pub fn failure(&self, id: ProgramId) -> Option<String> {
        self.failures.borrow().get(&id).cloned()
    }

    /// How many programs a namespace may have, and bytes of all of them.
    pub fn quota(&self) -> (u32, u64) {
        (self.quota.programs, self.quota.program_bytes)
    }

    /// Bytes of arguments that a run may be given.
    pub fn arguments_bytes(&self) -> u32 {
        self.task.arguments_bytes
    }

    /// Whether somebody runs a program of a namespace.
    pub fn is_in_use(&self, namespace: NamespaceId) -> bool {
        self.table.borrow().is_in_use(namespace)
    }

    /// What the standard's list says of the programs of a namespace, by index.
    pub fn descriptors(&self, namespace: NamespaceId) -> Vec<ProgramDescriptor> {
        let mut list = vec![ProgramDescriptor::empty(); self.quota.programs as usize];
        for record in self.table.borrow().records(namespace) {
            let state = record.state();
            if state != Some(ProgramState::Loading) {
                let identifier = record.identifier.get();
                let is_active = state == Some(ProgramState::Active);
                list[usize::from(record.index.get())] =
                    ProgramDescriptor::of(record.program_type, identifier, is_active);
            }
        }
        list
    }

    /// Removes the programs of a namespace, none of which runs or is being loaded.
    ///
    /// # Errors
    /// No space on flash to note that those are gone that were to be kept.
    pub async fn forget(&self, namespace: NamespaceId) -> Result<(), FtlError> {
        let ids = self.table.borrow().ids(namespace);
        let kept = ids
            .iter()
            .filter(|id| self.ftl.fact(facts::key(**id)).is_some());
        let changes: Vec<_> = kept.map(|id| (facts::key(*id), None)).collect();
        if !changes.is_empty() {
            self.ftl.put_facts(changes).await?;
        }
        for id in ids {
            self.table.borrow_mut().remove(id);
            self.refusals.borrow_mut().remove(&id);
            self.failures.borrow_mut().remove(&id);
        }
        Ok(())
    }

    /// A file of a run.
    ///
    /// # Errors
    /// As [`Transactions::file`].
    pub fn file(
        &self,
        extents: Vec<tx::Extent>,
        bytes: u64,
        writable: bool,
    ) -> Result<tx::File, tx::FileError> {
        self.transactions.file(extents, bytes, writable)
    }

    /// The list of a namespace's programs, and what they and their runs may have.
    pub fn list(&self, namespace: NamespaceId) -> nvme::task::ProgramList {
        let table = self.table.borrow();
        let mut limits = nvme::task::ProgramLimits::default();
        limits.programs_max.set(self.quota.programs);
        limits.runs_max.set(self.quota.runs);
        limits.bytes_max.set(self.quota.program_bytes);
        limits.bytes.set(table.bytes_of(namespace));
        let most = self.task.module_bytes.min(u64::from(u32::MAX)) as u32;
        limits.program_bytes_max.set(most);
        let kept = self.quota.persistent_bytes.min(most.into()) as u32;
        limits.persistent_bytes_max.set(kept);
        limits.memory_bytes_max.set(self.task.memory_bytes);
        limits.cycles_max.set(self.task.cycles_max);
        limits.log_bytes_max.set(self.task.log_bytes);
        limits.return_bytes_max.set(self.task.return_bytes);
        limits.tickets_max.set(self.task.tickets);
        limits.argument_bytes_max.set(self.task.arguments_bytes);
        nvme::task::ProgramList::new(limits, table.records(namespace))
    }
}

impl Part for Programs {
    fn name(&self) -> &'static str {
        "programs"
    }
}
