//! Load Program and Program Activation Management (Computational Programs), and what the logs tell of programs.

use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::command::{GetLogPage, LoadProgram, ProgramActivation};
use nvme::{NamespaceId, Status};

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
        let namespace = self.namespace_with_programs(load.namespace)?;
        // What erases the namespace waits for those that came before it.
        let _admitted = namespace.admit();
        let origin = Origin::own(self.namespaces.tenant_of(namespace.id));
        let id = ProgramId {
            namespace: namespace.id,
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
        let namespace = self.namespace_with_programs(activation.namespace)?;
        let origin = Origin::own(self.namespaces.tenant_of(namespace.id));
        let id = ProgramId {
            namespace: namespace.id,
            index: activation.program,
        };
        let _admitted = namespace.admit();
        self.charge(origin, Work::Plan).await;
        match activation.activate {
            true => self.programs.activate(id).map_err(status_of)?,
            false => self.programs.deactivate(id)?,
        }
        Ok(Answer::DONE)
    }

    /// The list of programs of a namespace, or, with an index plus one as its specific identifier, why that program's module
    /// was refused.
    pub(super) fn program_log(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let namespace = self.namespaces.get(get.namespace)?;
        let Some(index) = get.specific_id.checked_sub(1) else {
            return Ok(self.programs.list(namespace.id).encode());
        };
        let id = ProgramId {
            namespace: namespace.id,
            index,
        };
        Ok(self.programs.refusal(id).unwrap_or_default().into_bytes())
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

    /// # Errors
    /// Invalid Namespace or Format; the status of a namespace or drive that is being erased.
    fn namespace_with_programs(&self, id: NamespaceId) -> Result<&Namespace, Status> {
        let namespace = self.namespaces.get(id)?;
        self.check_obstacles(namespace)?;
        Ok(namespace)
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
