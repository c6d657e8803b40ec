//! Load Program and Program Activation Management (Computational Programs), and what the logs tell of programs.

use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::Status;
use nvme::command::{GetLogPage, LoadProgram, ProgramActivation};

use crate::frontend::Controller;
use crate::frontend::answer::{self, Answer};
use crate::frontend::namespace::Namespace;
use crate::programs::{Chunk, ProgramError, ProgramId};
use crate::schedule::Origin;

impl Controller {
    pub(in crate::frontend) async fn load_program(
        self: &Rc<Controller>,
        load: &LoadProgram,
    ) -> Result<Answer, Status> {
        // What erases the namespace waits for those that came before it.
        let _admitted = self.admit_to_programs(load.namespace)?;
        let origin = Origin::own(self.tenant_of_namespace(load.namespace));
        let id = ProgramId {
            namespace: load.namespace,
            index: load.program,
        };
        if load.unload {
            let unloaded = self.programs.unload(id).await;
            return unloaded.map(|()| Answer::DONE).map_err(status_of);
        }
        let chunk = Chunk {
            program_type: load.program_type,
            persistent: load.persistent,
            program_bytes: load.program_bytes,
            identifier: load.identifier,
            offset: load.offset,
        };
        if load.chunk_bytes > load.program_bytes {
            return Err(Status::INVALID_FIELD);
        }
        self.programs.check_new(id, &chunk)?;
        let bytes = load.chunk_bytes.into();
        self.check_transfer(bytes)?;
        let bytes = self
            .fetch_parameters(&load.data, bytes, Carries::Data, origin)
            .await?;
        let loaded = self.programs.load(id, &chunk, &bytes).await;
        loaded.map(|()| Answer::DONE).map_err(status_of)
    }

    pub(in crate::frontend) async fn activate_program(
        self: &Rc<Controller>,
        activation: &ProgramActivation,
    ) -> Result<Answer, Status> {
        let _admitted = self.admit_to_programs(activation.namespace)?;
        let origin = Origin::own(self.tenant_of_namespace(activation.namespace));
        let id = ProgramId {
            namespace: activation.namespace,
            index: activation.program,
        };
        self.charge(origin, Work::Plan).await;
        match activation.activate {
            true => self.programs.activate(id).map_err(status_of)?,
            false => self.programs.deactivate(id)?,
        }
        Ok(Answer::DONE)
    }

    /// The list of programs of a namespace, or, with an index plus one as its specific identifier, why that program's module
    /// was refused; with 1 as the specific field, why its last run over memory failed.
    pub(super) fn program_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let namespace = self.programs_of(get.namespace)?;
        let Some(index) = get.specific_id.checked_sub(1) else {
            return Ok(self.programs.list(namespace).encode());
        };
        let id = ProgramId { namespace, index };
        let words = match get.specific {
            0 => self.programs.refusal(id),
            _ => self.programs.failure(id),
        };
        Ok(words.unwrap_or_default().into_bytes())
    }

    /// Ends the runs of a namespace, or of all of them, waits for all else that was admitted to it, and removes its programs.
    pub(super) async fn end_programs(&self, only: Option<&Namespace>) -> Result<(), Status> {
        let all = self.namespaces.iter();
        let ended: Vec<&Namespace> = match only {
            Some(one) => vec![one],
            None => all.collect(),
        };
        let _stopping = self
            .programs
            .stop(ended.iter().map(|namespace| namespace.id));
        for namespace in &ended {
            self.collectors.stop(namespace.id).await;
            self.streams.stop(namespace.id).await;
            self.wait_while_in_use(namespace).await;
        }
        for namespace in &ended {
            let forgotten = self.programs.forget(namespace.id).await;
            forgotten.map_err(|error| answer::status_of(error, false))?;
        }
        Ok(())
    }
}

/// The status that tells the host why a program was refused.
fn status_of(error: ProgramError) -> Status {
    match error {
        ProgramError::Refused(status) => status,
        ProgramError::Module(_) => Status::INVALID_PROGRAM_DATA,
        ProgramError::Ftl(error) => answer::status_of(error, false),
    }
}
