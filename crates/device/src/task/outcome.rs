//! What became of a run, as the host is told of it.

use nvme::task::{Ended as Told, Outcome};

use super::files::FileError;
use super::{Ended, Run};

impl FileError {
    /// How a run ended whose files could not be opened, used or committed.
    pub fn ended(&self) -> Told {
        match self {
            FileError::Conflict { .. } => Told::Conflict,
            FileError::Lost { .. } => Told::Lost,
            FileError::Full { .. } => Told::Full,
            FileError::Device { .. } | FileError::Refused { .. } => Told::Faulted,
        }
    }
}

impl Run {
    /// What the host is told of it: of one that went well, that what it wrote is there, which is yet to be seen to. Attempts and
    /// time are for who began it to say.
    pub fn into_outcome(self) -> Outcome {
        let (ended, reason) = match &self.ended {
            Ended::Returned(_) => (Told::Committed, String::new()),
            Ended::Failed { code } => {
                let reason = format!("the task returned {code}, and so says that it failed");
                (Told::Failed(*code), reason)
            }
            Ended::Trapped { reason } => (Told::Trapped, reason.clone()),
            Ended::Rejected { reason } => (Told::Rejected, reason.clone()),
            Ended::File(error) => (error.ended(), error.to_string()),
        };
        let mut outcome = Outcome::not_begun(ended, reason);
        if let Ended::Returned(value) = self.ended {
            outcome.value = value;
        }
        outcome.log = self.log;
        outcome.cycles = self.cycles;
        outcome.memory_bytes = self.memory_bytes;
        outcome
    }
}
