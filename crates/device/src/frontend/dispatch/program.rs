//! Execute Over Files: the request is fetched and held against what its namespace has, the run is lived through, and what became
//! of it goes back into the same buffer.

use std::cell::RefCell;
use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::command::{ExecuteProgram, Returned};
use nvme::task::{Outcome, Request};
use nvme::{Lba, NamespaceId, Status};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::frontend::transport::Source;
use crate::programs::{Halt, ProgramId, RunRequest};
use crate::schedule::Origin;
use crate::tx;

/// Runs under way, and the commands that ask for them.
#[derive(Default)]
pub(in crate::frontend) struct Executing(RefCell<Vec<(Source, Rc<Halt>)>>);

/// A run that is under way, until this is dropped.
struct Run<'a> {
    executing: &'a Executing,
    halt: Rc<Halt>,
}

impl Executing {
    fn begin(&self, source: Source) -> Run<'_> {
        let halt = Rc::new(Halt::default());
        self.0.borrow_mut().push((source, halt.clone()));
        Run {
            executing: self,
            halt,
        }
    }

    /// Lives through a run that an Abort can stop.
    ///
    /// # Errors
    /// Those of `run`; Command Abort Requested if it was stopped.
    pub(super) async fn run_until_aborted(
        &self,
        source: Source,
        run: impl AsyncFnOnce(&Halt) -> Result<Outcome, Status>,
    ) -> Result<Outcome, Status> {
        let executing = self.begin(source);
        let outcome = run(&executing.halt).await?;
        match executing.halt.was_heeded() {
            true => Err(Status::ABORT_REQUESTED),
            false => Ok(outcome),
        }
    }

    fn of(&self, source: Source) -> Option<Rc<Halt>> {
        let runs = self.0.borrow();
        let found = runs.iter().find(|(of, _)| of.is(&source));
        found.map(|(_, halt)| halt.clone())
    }
}

/// The namespace that has the program of a command, as the command names it.
pub(super) fn owner_of(namespace: &Namespace, named: u16) -> NamespaceId {
    match named {
        0 => namespace.id,
        named => NamespaceId::new(named.into()),
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let mut runs = self.executing.0.borrow_mut();
        runs.retain(|(_, halt)| !Rc::ptr_eq(halt, &self.halt));
    }
}

impl Controller {
    pub(in crate::frontend) async fn execute_program(
        &self,
        namespace: &Namespace,
        execute: &ExecuteProgram,
        source: Source,
        origin: Origin,
    ) -> Result<Answer, Status> {
        self.charge(origin, Work::Plan).await;
        self.check_transfer(execute.buffer_bytes())?;
        let bytes = execute.request_bytes.into();
        let request = self
            .fetch_parameters(&execute.data, bytes, Carries::Parameters, origin)
            .await?;
        let request = Request::decode(&request)?;
        let limits = &request.limits;
        if u64::from(execute.result_bytes) < Outcome::room(limits.return_bytes, limits.log_bytes) {
            return Err(Status::INVALID_FIELD);
        }
        let bytes = request.files.iter().map(|file| file.bytes);
        let origin = origin.in_storage(bytes.fold(0, u64::saturating_add));
        let asked = self.asked(namespace, request)?;
        // Found before the run, which is not to be committed if nobody can hear of it.
        let room = execute.result_bytes.into();
        let segments = self.port.locate(origin, &execute.data, room).await?;
        self.port.check(&segments)?;
        let id = ProgramId {
            namespace: owner_of(namespace, execute.program_namespace),
            index: execute.program,
        };
        // What erases the namespace of the program waits for it, too.
        let _owner = self.admit_to_programs(id.namespace)?;
        let place = (id, namespace.id);
        let outcome = self.executing.run_until_aborted(source, async |halt| {
            self.programs.run(place, &asked, halt, origin).await
        });
        let outcome = outcome.await?;
        let bytes = outcome.encode();
        self.port.write(&segments, &bytes)?;
        Ok(Answer {
            dw0: outcome.ended.code().into(),
            dw1: bytes.len() as u32,
            data_bytes: bytes.len() as u64,
            ..Answer::DONE
        })
    }

    /// Aborts the run of a command, if it is under way, and waits until it is over; whether it was aborted.
    pub(in crate::frontend) async fn abort_run(&self, source: Source) -> bool {
        match self.executing.of(source) {
            Some(halt) => self.programs.halt(&halt).await,
            None => false,
        }
    }

    /// What a run is asked to do, its files as logical pages.
    ///
    /// # Errors
    /// Those of [`Request::check`]; Invalid Search Region; Invalid Field for an extent that is not whole logical pages; Unrecovered Read Error if
    /// blocks of a file are marked.
    pub(super) fn asked(
        &self,
        namespace: &Namespace,
        request: Request,
    ) -> Result<RunRequest, Status> {
        request.check(namespace.blocks(), namespace.block_bytes())?;
        for region in &request.stores {
            self.check_lookup(namespace, (namespace.id, *region), 0, Returned::default())?;
        }
        let files = request.files.iter().map(|file| {
            let extents = file.extents.iter();
            let extents = extents.map(|extent| self.pages_of_extent(namespace, extent));
            let extents = extents.collect::<Result<_, Status>>()?;
            let file = self.programs.file(extents, file.bytes, file.writable);
            // That it lies in its namespace, and in so many pages, was looked at.
            file.map_err(|_| Status::INVALID_FIELD)
        });
        Ok(RunRequest {
            identifier: request.identifier,
            isolation: request.isolation,
            retries: request.retries,
            limits: request.limits,
            files: files.collect::<Result<_, Status>>()?,
            stores: request.stores,
            arguments: request.arguments,
        })
    }

    fn pages_of_extent(
        &self,
        namespace: &Namespace,
        extent: &nvme::task::Extent,
    ) -> Result<tx::Extent, Status> {
        // They lie in the namespace, whose bytes can be counted.
        let block_bytes = u64::from(namespace.block_bytes());
        let start = extent.first.get() * block_bytes;
        let bytes = extent.blocks * block_bytes;
        self.check_marks(namespace, start..start + bytes)?;
        let first = namespace.page_of(Lba::new(extent.first.get()), self.unit)?;
        let unit = u64::from(self.unit.bytes());
        match bytes.is_multiple_of(unit) {
            true => Ok(tx::Extent {
                first: first.0,
                pages: (bytes / unit) as u32,
            }),
            false => Err(Status::INVALID_FIELD),
        }
    }
}
