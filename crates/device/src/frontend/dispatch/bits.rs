//! Vendor commands: in-flash computing.

use media::core::Work;
use nvme::command::{FcList, Home, VectorRecord};
use nvme::{Status, VendorCommand};
use zerocopy::IntoBytes;

use crate::bits::{BitsError, ExecuteError};
use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::schedule::{Fault, Origin};

/// The status that tells the host why a command was not carried out.
fn status_of(error: &ExecuteError) -> Status {
    match error {
        ExecuteError::Bits(error) => match error {
            BitsError::UnknownVector(_) | BitsError::UnknownGroup(_) => Status::VECTOR_NOT_FOUND,
            BitsError::LengthMismatch { .. } => Status::VECTOR_LENGTH_MISMATCH,
            BitsError::LengthUnsupported(_) | BitsError::NoSuchHome { .. } => Status::INVALID_FIELD,
            BitsError::HomeMismatch { .. } => Status::GROUP_HOME_MISMATCH,
            BitsError::OutOfBlocks { .. } | BitsError::GroupExhausted(_) => Status::GROUP_FULL,
        },
        ExecuteError::Expression(error) => (*error).into(),
        ExecuteError::Length { .. } => Status::VECTOR_LENGTH_MISMATCH,
        ExecuteError::Host(status) => *status,
        ExecuteError::Buffers { .. } => Status::COMMAND_SIZE_LIMIT_EXCEEDED,
        ExecuteError::Flash(Fault::Uncorrectable(_) | Fault::NeedsCorrection(_)) => {
            Status::UNRECOVERED_READ_ERROR
        }
        ExecuteError::Flash(Fault::ProgramFailed(_) | Fault::EraseFailed(_)) => Status::WRITE_FAULT,
        ExecuteError::Flash(Fault::Refused(_)) => Status::INTERNAL_ERROR,
    }
}

impl Controller {
    pub(in crate::frontend) async fn serve_vendor(
        &self,
        command: &VendorCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        self.charge(origin, Work::Plan).await;
        let done = match command {
            VendorCommand::FcWrite(write) => {
                self.bits.write(write, origin).await.map(|()| Answer::DONE)
            }
            VendorCommand::FcRead(read) => {
                self.bits.evaluate(read, origin).await.map(|done| Answer {
                    dw0: u32::try_from(done.differing_bits).unwrap_or(u32::MAX),
                    data_bytes: done.data_bytes,
                    ..Answer::DONE
                })
            }
            VendorCommand::FcDelete(delete) => {
                let deleted = self.bits.delete(delete.group, delete.vector, origin).await;
                deleted.map(|()| Answer::DONE)
            }
            VendorCommand::FcList(list) => return self.list_vectors(list, origin).await,
        };
        done.map_err(|error| status_of(&error))
    }

    /// Only vectors that are complete exist, so every record says so.
    async fn list_vectors(&self, list: &FcList, origin: Origin) -> Result<Answer, Status> {
        let room = list.buffer_bytes as usize / VectorRecord::BYTES;
        let asked = |group: u32| list.group.is_none_or(|asked| asked == group);
        let vectors = self.bits.vectors();
        let records: Vec<VectorRecord> = vectors
            .into_iter()
            .filter(|(id, _)| asked(id.group))
            .skip(list.start as usize)
            .take(room)
            .map(|(id, placement)| {
                let home = self.bits.home(id.group).unwrap_or(Home::ALL);
                VectorRecord::new(id, placement.bits, placement.inverse, true, home)
            })
            .collect();
        let bytes = (records.len() * VectorRecord::BYTES) as u64;
        let segments = self.port.locate(origin.tenant, &list.data, bytes).await?;
        self.port.write(&segments, records.as_bytes())?;
        Ok(Answer {
            dw0: records.len() as u32,
            data_bytes: bytes,
            ..Answer::DONE
        })
    }
}
