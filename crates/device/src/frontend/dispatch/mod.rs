//! From a command, which its command set and opcode name, to the job that carries it out.

mod bits;
mod collector;
mod compare;
mod compute;
pub(super) mod copy;
mod deallocate;
mod direct;
mod memory;
mod piece;
mod placed;
mod program;
mod rank;
mod read;
pub(super) mod search;
mod stream;
mod uncorrectable;
mod write;

use std::rc::Rc;

use nvme::{AdminCommand, BROADCAST_NAMESPACE, Command, IoCommand, Status};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::frontend::transport::FetchedCommand;
pub(super) use compute::ranges_of;
pub(super) use direct::{CachedReads, DirectReads};
pub(super) use program::Executing;
pub(super) use stream::Fetching;
pub(super) use uncorrectable::Marks;

impl Controller {
    /// Has a command carried out; no answer if it is an event request, which is held until there is
    /// something to tell.
    #[inline]
    pub(super) async fn dispatch(
        self: &Rc<Controller>,
        fetched: &FetchedCommand,
    ) -> Option<Answer> {
        match &fetched.command {
            Ok(Command::Nvm(command)) => Some(self.serve_nvm(command, fetched).await),
            Ok(Command::Memory(command)) => {
                let served = Box::pin(self.serve_memory(command, fetched.origin)).await;
                Some(served.unwrap_or_else(Answer::from))
            }
            Ok(Command::Compute(command)) => {
                let served = Box::pin(self.serve_compute(command, fetched)).await;
                Some(served.unwrap_or_else(Answer::from))
            }
            Ok(Command::Admin(AdminCommand::AsyncEventRequest)) => {
                self.hold_event_request(fetched).err().map(Answer::from)
            }
            Ok(Command::Admin(command)) => Some(Box::pin(self.serve_admin(command)).await),
            Err(status) => Some((*status).into()),
        }
    }

    /// Commands of the NVM command set.
    #[inline]
    async fn serve_nvm(&self, command: &IoCommand, fetched: &FetchedCommand) -> Answer {
        let origin = fetched.origin;
        let outcome = match self.namespace_of(command) {
            Err(status) => Err(status),
            Ok(None) => Box::pin(self.flush()).await,
            Ok(Some(namespace)) => {
                // What erases the namespace waits for those that came before it.
                let _admitted = namespace.admit();
                match command {
                    IoCommand::Read(read) => self.read(namespace, read, origin).await,
                    IoCommand::Write(write) => {
                        match self.only_piece(namespace, &write.blocks, origin) {
                            Some(piece) => self.write_piece(namespace, write, piece).await,
                            None => Box::pin(self.write(namespace, write, origin)).await,
                        }
                    }
                    IoCommand::Search(search) => self.serve_search(namespace, search, origin).await,
                    other => Box::pin(self.serve_other(namespace, other, fetched)).await,
                }
            }
        };
        outcome.unwrap_or_else(Answer::from)
    }

    /// Commands that are rarer than reads and writes.
    async fn serve_other(
        &self,
        namespace: &Namespace,
        command: &IoCommand,
        fetched: &FetchedCommand,
    ) -> Result<Answer, Status> {
        let origin = fetched.origin;
        match command {
            IoCommand::Read(read) => self.read(namespace, read, origin).await,
            IoCommand::Write(write) => self.write(namespace, write, origin).await,
            IoCommand::Flush { .. } => self.flush().await,
            IoCommand::WriteZeroes(zeroes) => self.write_zeroes(namespace, zeroes, origin).await,
            IoCommand::DatasetManagement(dataset) => {
                self.manage_dataset(namespace, dataset, origin).await
            }
            IoCommand::Compare(compare) => self.compare(namespace, compare, origin).await,
            IoCommand::Verify(verify) => self.verify(namespace, verify, origin).await,
            IoCommand::WriteUncorrectable(mark) => self.write_uncorrectable(namespace, mark).await,
            IoCommand::Copy(copy) => self.copy(namespace, copy, origin).await,
            IoCommand::WritePlaced(placed) => self.write_placed(namespace, placed, origin).await,
            IoCommand::Bits(bits) => self.serve_bits(namespace, bits, origin).await,
            IoCommand::Search(search) => self.serve_search(namespace, search, origin).await,
            IoCommand::Stream(stream) => {
                self.serve_stream(namespace, stream, fetched.source(), origin)
                    .await
            }
            IoCommand::Execute(execute) => {
                self.execute_program(namespace, execute, fetched.source(), origin)
                    .await
            }
        }
    }

    /// The namespace that a command is for; none for a Flush, which is for all of them.
    ///
    /// # Errors
    /// Invalid Namespace or Format; the status of a namespace or drive that is being erased.
    #[inline]
    fn namespace_of(&self, command: &IoCommand) -> Result<Option<&Namespace>, Status> {
        let named = command.namespace();
        if matches!(command, IoCommand::Flush { .. }) {
            if named != BROADCAST_NAMESPACE {
                self.namespaces.get(named)?;
            }
            return Ok(None);
        }
        let namespace = self.namespaces.get(named)?;
        if !namespace.plain.get() {
            self.check_obstacles(namespace)?;
        }
        Ok(Some(namespace))
    }

    #[cold]
    pub(in crate::frontend) fn check_obstacles(&self, namespace: &Namespace) -> Result<(), Status> {
        self.check_sanitized()?;
        if namespace.format_left.get() > 0 {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        if namespace.failed.get() {
            return Err(Status::NAMESPACE_NOT_READY);
        }
        Ok(())
    }

    /// # Errors
    /// The status of a drive that is being erased, or whose erasure has failed.
    pub(in crate::frontend) fn check_sanitized(&self) -> Result<(), Status> {
        if self.sanitize.is_under_way() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if self.sanitize.has_failed() {
            return Err(Status::SANITIZE_FAILED);
        }
        Ok(())
    }
}
