//! Tasks for Python: programs that a drive loads, and runs over objects of its volume.

use bitline::{
    Error, Extent, Host, Isolation, Loading, Outcome, Placed, Program, ProgramList, ProgramState,
    TaskFile, TaskLimits, TaskRun,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde::Serialize;

use crate::drive::{Drive, check_size};
use crate::error::{json, usage};
use crate::pending::{Answer, Pending};
use crate::rows::{OutcomeRow, outcome_row};

/// Bytes of memory, cycles, bytes of the log, bytes of the value, tickets; 0 is what is usual.
pub(crate) type LimitsRow = (u64, u64, u32, u32, u32);

/// Bytes of a file that is no object, and its blocks: the first of each run of them, and how many.
pub(crate) type PlacedRow = (u64, Vec<(u64, u64)>);
/// Objects, whether the run may write each, and where one lies that is none of the volume's.
pub(crate) type FileRows = Vec<(String, bool, Option<PlacedRow>)>;

/// What is run: a program by index and identifier, or a module.
#[derive(FromPyObject)]
pub(crate) enum What {
    Program((u16, u64)),
    Module(PyBackedBytes),
}

/// The tasks of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Tasks(Py<Drive>);

/// What a drive says of its programs.
#[derive(Serialize)]
struct Listed {
    programs_max: u32,
    runs_max: u32,
    bytes_max: u64,
    bytes: u64,
    program_bytes_max: u32,
    persistent_bytes_max: u32,
    memory_bytes_max: u64,
    cycles_max: u64,
    log_bytes_max: u32,
    value_bytes_max: u32,
    tickets_max: u32,
    argument_bytes_max: u32,
    programs: Vec<ListedProgram>,
}

#[derive(Serialize)]
struct ListedProgram {
    index: u16,
    identifier: u64,
    state: &'static str,
    persistent: bool,
    bytes: u32,
    loaded_bytes: u32,
    activations: u32,
    runs: u64,
    running: u32,
}

#[pymethods]
impl Tasks {
    /// Those of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Tasks {
        Tasks(drive)
    }

    /// Loads a module, unless the drive has it, and makes it ready to run; its index and identifier.
    #[pyo3(signature = (module, persistent = false))]
    fn load(&self, module: PyBackedBytes, persistent: bool) -> PyResult<(u16, u64)> {
        let loading = Loading {
            persistent,
            ..Loading::default()
        };
        let load = async move |host: Host| host.load_program(&module, loading).await;
        let program = self.run_call(load)?;
        Ok((program.index, program.identifier))
    }

    /// The programs that the drive has, and what it allows, as JSON.
    fn list(&self) -> PyResult<String> {
        json(&listed(&self.run_call(async |host| host.programs().await)?))
    }

    /// Unloads a program.
    fn unload(&self, index: u16) -> PyResult<()> {
        self.run_call(async move |host| host.unload_program(index).await)
    }

    /// Runs a program, or a module, over objects, of each of which is said whether the run may write it.
    #[pyo3(signature = (what, files, stores, arguments, isolation, retries, limits, priority))]
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn run<'py>(
        &self,
        py: Python<'py>,
        what: What,
        files: FileRows,
        stores: Vec<String>,
        arguments: PyBackedBytes,
        isolation: &str,
        retries: u16,
        limits: LimitsRow,
        priority: u32,
    ) -> PyResult<OutcomeRow<'py>> {
        let run = run_of((files, stores), &arguments, isolation, retries, limits)?;
        let run = run.priority(priority);
        let outcome = self.run_call(async move |host| carried_out(&host, &what, &run).await)?;
        Ok(outcome_row(py, outcome))
    }

    /// As `run`, which goes on.
    #[pyo3(signature = (what, files, stores, arguments, isolation, retries, limits, priority))]
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn submit(
        &self,
        py: Python<'_>,
        what: What,
        files: FileRows,
        stores: Vec<String>,
        arguments: PyBackedBytes,
        isolation: &str,
        retries: u16,
        limits: LimitsRow,
        priority: u32,
    ) -> PyResult<Pending> {
        let run = run_of((files, stores), &arguments, isolation, retries, limits)?;
        let run = run.priority(priority);
        Drive::submit(self.0.clone_ref(py), async move |host| {
            let outcome = carried_out(&host, &what, &run).await?;
            Ok(Answer::Outcome(outcome))
        })
    }

    /// Runs a module on the host's own processor.
    fn run_on_host<'py>(
        &self,
        py: Python<'py>,
        module: PyBackedBytes,
        files: FileRows,
        arguments: PyBackedBytes,
        limits: LimitsRow,
    ) -> PyResult<OutcomeRow<'py>> {
        check_size(arguments.len() as u64)?;
        let (files, limits) = (files_of(files), limits_of(limits));
        let run =
            async move |host: Host| host.run_on_host(&module, &files, &arguments, limits).await;
        Ok(outcome_row(py, self.run_call(run)?))
    }

    /// As `run_on_host`, which goes on.
    fn submit_on_host(
        &self,
        py: Python<'_>,
        module: PyBackedBytes,
        files: FileRows,
        arguments: PyBackedBytes,
        limits: LimitsRow,
    ) -> PyResult<Pending> {
        check_size(arguments.len() as u64)?;
        let (files, limits) = (files_of(files), limits_of(limits));
        Drive::submit(self.0.clone_ref(py), async move |host| {
            let outcome = host
                .run_on_host(&module, &files, &arguments, limits)
                .await?;
            Ok(Answer::Outcome(outcome))
        })
    }
}

impl Tasks {
    /// Lets time pass until a call is done.
    fn run_call<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<T> {
        self.0.get().run(|host| async move { call(host).await })
    }
}

async fn carried_out(host: &Host, what: &What, run: &TaskRun) -> Result<Outcome, Error> {
    match what {
        What::Program((index, identifier)) => {
            let program = Program::new(*index, *identifier);
            host.run_program(&program, run).await
        }
        What::Module(module) => host.run_module(module, run).await,
    }
}

pub(crate) fn run_of(
    (files, stores): (FileRows, Vec<String>),
    arguments: &[u8],
    isolation: &str,
    retries: u16,
    limits: LimitsRow,
) -> PyResult<TaskRun> {
    check_size(arguments.len() as u64)?;
    let isolation = match isolation {
        "snapshot" => Isolation::Snapshot,
        "serializable" => Isolation::Serializable,
        "file" => Isolation::File,
        "block" => Isolation::Block,
        other => {
            return Err(usage(format!(
                "isolation = {other:?}; it must be \"snapshot\", \"serializable\", \"file\" or \"block\""
            )));
        }
    };
    let run = TaskRun::of(files_of(files))
        .stores(stores)
        .arguments(arguments);
    let run = run.isolation(isolation).retries(retries);
    Ok(run.limits(limits_of(limits)))
}

fn files_of(files: FileRows) -> Vec<TaskFile> {
    let files = files.into_iter().map(|(name, writable, placed)| {
        let file = match writable {
            true => TaskFile::write(name),
            false => TaskFile::read(name),
        };
        match placed {
            Some(placed) => file.at(placed_of(placed)),
            None => file,
        }
    });
    files.collect()
}

/// Where a file lies that is no object of the volume.
pub(crate) fn placed_of((bytes, extents): PlacedRow) -> Placed {
    let extents = extents.into_iter();
    let extents = extents.map(|(first, blocks)| Extent { first, blocks });
    Placed::new(bytes, extents.collect())
}

fn limits_of(limits: LimitsRow) -> TaskLimits {
    TaskLimits {
        memory_bytes: limits.0,
        cycles: limits.1,
        log_bytes: limits.2,
        return_bytes: limits.3,
        tickets: limits.4,
    }
}

fn listed(list: &ProgramList) -> Listed {
    let limits = &list.limits;
    let programs = list.programs.iter().map(|program| ListedProgram {
        index: program.index.get(),
        identifier: program.identifier.get(),
        state: match program.state() {
            Some(ProgramState::Loading) => "loading",
            Some(ProgramState::Loaded) => "loaded",
            Some(ProgramState::Active) => "active",
            _ => "unknown",
        },
        persistent: program.persistent != 0,
        bytes: program.bytes.get(),
        loaded_bytes: program.loaded_bytes.get(),
        activations: program.activations.get(),
        runs: program.runs.get(),
        running: program.running.get(),
    });
    Listed {
        programs_max: limits.programs_max.get(),
        runs_max: limits.runs_max.get(),
        bytes_max: limits.bytes_max.get(),
        bytes: limits.bytes.get(),
        program_bytes_max: limits.program_bytes_max.get(),
        persistent_bytes_max: limits.persistent_bytes_max.get(),
        memory_bytes_max: limits.memory_bytes_max.get(),
        cycles_max: limits.cycles_max.get(),
        log_bytes_max: limits.log_bytes_max.get(),
        value_bytes_max: limits.return_bytes_max.get(),
        tickets_max: limits.tickets_max.get(),
        argument_bytes_max: limits.argument_bytes_max.get(),
        programs: programs.collect(),
    }
}
