//! Tasks: programs that the drive runs by itself over files of its volume, each run a transaction (TxISC).
//!
//! ```
//! use bitline::{Config, Content, Drive, Ended, Loading, TaskFile, TaskRun};
//!
//! # let module = r#"(module
//! #   (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
//! #   (import "isc" "put_ret" (func $return (param i32 i32) (result i32)))
//! #   (memory (export "memory") 1)
//! #   (func (export "isc_main") (result i32)
//! #     (drop (call $read (i32.const 0) (i32.const 0) (i32.const 4) (i64.const 1)))
//! #     (call $return (i32.const 0) (i32.const 4))))"#;
//! # let module = wat::parse_str(module).expect("a module");
//! let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
//! drive.volume().write("letters", Content::File { bytes: 8 }, b"abcdefgh")?;
//! // A module that returns the second to the fifth byte of its first file.
//! let program = drive.tasks().load(&module, Loading::default())?;
//! let run = TaskRun::of(vec![TaskFile::read("letters")]);
//! let outcome = drive.tasks().run(&program, &run)?;
//! assert_eq!(outcome.ended, Ended::Committed);
//! assert_eq!(outcome.value, b"bcde");
//! # Ok::<(), bitline::Error>(())
//! ```

mod host_side;
mod operations;

use host::tasks::Loading;
use nvme::task::{Isolation, Limits, Outcome, ProgramList};

use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::Host;
pub use crate::host_end::Program;
use crate::pending::Pending;
use crate::placed::Placed;
pub(crate) use operations::Used;

/// A file of a run: an object of the volume, or what a file system on the drive has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskFile {
    /// Its name; of a vector, that of its group, a slash, and its own.
    pub name: String,
    /// Whether the run may write it.
    pub writable: bool,
    /// Where it lies, of one that is no object of the volume; its name is then only what messages call it.
    pub placed: Option<Placed>,
}

/// What a run is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskRun {
    /// The files that it sees, numbered from 0.
    pub files: Vec<TaskFile>,
    /// The stores in which it may look names up, numbered from 0: a store's name for its first name field; the store's, a
    /// slash and a number for another.
    pub stores: Vec<String>,
    /// Its arguments.
    pub arguments: Vec<u8>,
    /// How it is kept apart from others.
    pub isolation: Isolation,
    /// How often it is begun anew after a conflict.
    pub retries: u16,
    /// What it may use; what is 0 is what the drive or, of log and value, the library usually gives.
    pub limits: Limits,
    /// Its priority, where the drive ranks requests; 0 is that of the drive ([`Drive::set_priority`]).
    pub priority: u32,
}

/// The tasks of a drive.
pub struct Tasks<'d>(&'d mut Drive);

impl TaskFile {
    /// An object that the run reads.
    pub fn read(name: impl Into<String>) -> TaskFile {
        TaskFile {
            name: name.into(),
            writable: false,
            placed: None,
        }
    }

    /// An object that the run reads and writes. Its length stays what it is.
    pub fn write(name: impl Into<String>) -> TaskFile {
        TaskFile {
            name: name.into(),
            writable: true,
            placed: None,
        }
    }

    /// The same, of which somebody else says where it lies: a file system on the drive. Whoever calls sees to it that
    /// the file stays there until the run is over.
    #[must_use]
    pub fn at(self, placed: Placed) -> TaskFile {
        TaskFile {
            placed: Some(placed),
            ..self
        }
    }
}

impl TaskRun {
    /// Registers a file (TxISC, Listing 1); gives its number for the task.
    #[doc(alias = "isc_register_file")]
    pub fn register_file(&mut self, file: TaskFile) -> u32 {
        self.files.push(file);
        self.files.len() as u32 - 1
    }

    /// Registers a store in which the task may look names up, as [`TaskRun::stores`] names it; gives its number for the task.
    #[doc(alias = "isc_register_store")]
    pub fn register_store(&mut self, name: impl Into<String>) -> u32 {
        self.stores.push(name.into());
        self.stores.len() as u32 - 1
    }

    /// Appends to the arguments (TxISC, Listing 1).
    #[doc(alias = "isc_put_args")]
    pub fn put_args(&mut self, bytes: &[u8]) {
        self.arguments.extend(bytes);
    }

    /// A run over these files, without arguments, in a transaction, and not begun anew.
    pub fn of(files: Vec<TaskFile>) -> TaskRun {
        TaskRun {
            files,
            ..TaskRun::default()
        }
    }

    /// The same, which may look names up in these stores.
    #[must_use]
    pub fn stores<S: Into<String>>(self, stores: impl IntoIterator<Item = S>) -> TaskRun {
        TaskRun {
            stores: stores.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// The same with these arguments.
    #[must_use]
    pub fn arguments(self, arguments: impl Into<Vec<u8>>) -> TaskRun {
        TaskRun {
            arguments: arguments.into(),
            ..self
        }
    }

    /// The same, kept apart so.
    #[must_use]
    pub fn isolation(self, isolation: Isolation) -> TaskRun {
        TaskRun { isolation, ..self }
    }

    /// The same, begun anew after a conflict so often.
    #[must_use]
    pub fn retries(self, retries: u16) -> TaskRun {
        TaskRun { retries, ..self }
    }

    /// The same of that priority.
    #[must_use]
    pub fn priority(self, priority: u32) -> TaskRun {
        TaskRun { priority, ..self }
    }

    /// The same, of the priority that the drive gives if it has none of its own.
    pub(crate) fn prioritized(mut self, drive: &Drive) -> TaskRun {
        if self.priority == 0 {
            self.priority = drive.priority();
        }
        self
    }

    /// The same with these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> TaskRun {
        TaskRun { limits, ..self }
    }
}

impl Drive {
    /// The tasks of this drive.
    pub fn tasks(&mut self) -> Tasks<'_> {
        Tasks(self)
    }
}

impl Tasks<'_> {
    /// Loads a module and makes it ready to run; one that the drive has already is not loaded again, unless it is to be kept
    /// through power cycles and was not. `loading.identifier` counts only if it is not 0.
    ///
    /// # Errors
    /// [`crate::TaskError::Module`] with what is wrong with it; [`crate::TaskError::Usage`] if the drive has as many programs as
    /// it may; what the drive reports, such as Program Too Big.
    pub fn load(&mut self, module: &[u8], loading: Loading) -> Result<Program, Error> {
        let module = module.to_vec();
        self.run_host(|host| async move { host.load_program(&module, loading).await })
    }

    /// The programs that the drive has, and what it allows.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn list(&mut self) -> Result<ProgramList, Error> {
        self.run_host(|host| async move { host.programs().await })
    }

    /// Unloads a program.
    ///
    /// # Errors
    /// What the drive reports: No Program; Program In Use while it runs.
    pub fn unload(&mut self, index: u16) -> Result<(), Error> {
        self.run_host(|host| async move { host.unload_program(index).await })
    }

    /// Runs a program once. Objects that it works on stay where they are meanwhile: who removes, replaces or resizes one waits.
    /// Whatever becomes of the run is in the outcome.
    ///
    /// # Errors
    /// None was begun: [`crate::VolumeError::NotFound`]; [`crate::TaskError`]; what the drive reports, such as No Program.
    #[doc(alias = "isc_run_task")]
    pub fn run(&mut self, program: &Program, run: &TaskRun) -> Result<Outcome, Error> {
        let (program, run) = (*program, run.clone().prioritized(self.0));
        self.run_host(|host| async move { host.run_program(&program, &run).await })
    }

    /// Runs a module on the host's own processor (`host.tasks`), to compare with: what it reads and writes crosses the link,
    /// through pages of the files in the host's memory, of which none are there when it begins. It is no transaction: what it
    /// writes counts, whatever becomes of it, and is durable when this is over. It has no expressions and no stores.
    ///
    /// # Errors
    /// None was begun: [`crate::TaskError::Module`] with what is wrong with it; as [`Tasks::run`].
    pub fn run_on_host(
        &mut self,
        module: &[u8],
        files: &[TaskFile],
        arguments: &[u8],
        limits: Limits,
    ) -> Result<Outcome, Error> {
        let (module, files) = (module.to_vec(), files.to_vec());
        let arguments = arguments.to_vec();
        self.run_host(
            |host| async move { host.run_on_host(&module, &files, &arguments, limits).await },
        )
    }

    /// Begins to run a program, as [`Tasks::run`] does, and goes on: many runs are in flight, and [`Drive::wait`] tells what became
    /// of each. They go on while any call of the drive lets time pass.
    ///
    /// # Errors
    /// [`Error::NoPower`]; the rest is the answer.
    pub fn submit(
        &mut self,
        program: &Program,
        run: &TaskRun,
    ) -> Result<Pending<Result<Outcome, Error>>, Error> {
        let (program, run) = (*program, run.clone().prioritized(self.0));
        self.0
            .submit(async move |host| host.run_program(&program, &run).await)
    }

    /// Loads a module, unless the drive has it, and runs it.
    ///
    /// # Errors
    /// As [`Tasks::load`] and [`Tasks::run`].
    pub fn run_module(&mut self, module: &[u8], run: &TaskRun) -> Result<Outcome, Error> {
        let (module, run) = (module.to_vec(), run.clone().prioritized(self.0));
        self.run_host(|host| async move { host.run_module(&module, &run).await })
    }

    fn run_host<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        self.0.run(function)?
    }
}
