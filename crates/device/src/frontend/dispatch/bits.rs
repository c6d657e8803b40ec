//! The family `bits`: in-flash computing.

use media::core::Work;
use nvme::command::FcRead;
use nvme::{BitsCommand, Status};

use crate::bits::ExecuteError;
use crate::frontend::Controller;
use crate::frontend::answer::{self, Answer};
use crate::frontend::namespace::Namespace;
use crate::schedule::Origin;

/// The status that tells the host why a command was not carried out.
pub(super) fn status_of(error: &ExecuteError) -> Status {
    match error {
        ExecuteError::Expression(error) => (*error).into(),
        ExecuteError::Operand(status) | ExecuteError::Host(status) => *status,
        ExecuteError::Buffers { .. } => Status::COMMAND_SIZE_LIMIT_EXCEEDED,
        ExecuteError::Ftl(error) => answer::status_of(*error, false),
        ExecuteError::Flash(fault) => answer::status_of((*fault).into(), false),
        ExecuteError::NotReceived => Status::INTERNAL_ERROR,
    }
}

impl Controller {
    pub(in crate::frontend) async fn serve_bits(
        &self,
        namespace: &Namespace,
        command: &BitsCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        self.charge(origin, Work::Plan).await;
        match command {
            BitsCommand::FcRead(read) => self.compute(namespace, read, origin).await,
        }
    }

    async fn compute(
        &self,
        namespace: &Namespace,
        read: &FcRead,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let operand = |lba: nvme::Lba| {
            let first = namespace.operand(lba, read.bits, self.unit)?;
            let bytes = read.bits.div_ceil(8).next_multiple_of(512);
            let start = lba.get() * u64::from(namespace.block_bytes());
            self.check_marks(namespace, start..start + bytes)?;
            Ok(first)
        };
        let evaluated = self.bits.evaluate(read, origin, operand).await;
        let done = evaluated.map_err(|error| status_of(&error))?;
        // What crossed the link: the result or its count, not the operands.
        self.health.read(read.data_bytes());
        Ok(Answer {
            dw0: u32::try_from(done.differing_bits).unwrap_or(u32::MAX),
            data_bytes: done.data_bytes,
            ..Answer::DONE
        })
    }
}
