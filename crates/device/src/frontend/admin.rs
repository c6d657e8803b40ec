//! Admin commands.

use nvme::command::{
    CreateCompletionQueue, CreateSubmissionQueue, FeatureId, FeatureSelect, GetFeatures,
    SetFeatures,
};
use nvme::{AdminCommand, Status};

use super::Controller;
use super::slot::Answer;

impl Controller {
    pub(super) async fn serve_admin(&self, command: AdminCommand) -> Answer {
        let outcome = match command {
            AdminCommand::Identify(identify) => self.identify(&identify).await,
            AdminCommand::CreateCompletionQueue(create) => self.create_completion_queue(&create),
            AdminCommand::CreateSubmissionQueue(create) => self.create_submission_queue(&create),
            AdminCommand::DeleteCompletionQueue(queue) => self
                .queues
                .borrow_mut()
                .delete_completion(queue)
                .map(|()| Answer::DONE),
            AdminCommand::DeleteSubmissionQueue(queue) => self
                .queues
                .borrow_mut()
                .delete_submission(queue)
                .map(|()| Answer::DONE),
            AdminCommand::GetFeatures(get) => self.get_features(&get),
            AdminCommand::SetFeatures(set) => self.set_features(&set),
            // Bit 0 set: the command was not aborted (Base 5.1.1). Commands take
            // microseconds, so none is.
            AdminCommand::Abort(_) => Ok(Answer {
                dw0: 1,
                ..Answer::DONE
            }),
            AdminCommand::GetLogPage(_) => Err(Status::INVALID_LOG_PAGE),
            AdminCommand::AsyncEventRequest => unreachable!("held back before it gets here"),
        };
        outcome.unwrap_or_else(Answer::from)
    }

    fn create_completion_queue(&self, create: &CreateCompletionQueue) -> Result<Answer, Status> {
        self.check_queue(create.size, create.contiguous)?;
        self.queues
            .borrow_mut()
            .create_completion(create.queue, create.base, create.size)?;
        Ok(Answer::DONE)
    }

    fn create_submission_queue(&self, create: &CreateSubmissionQueue) -> Result<Answer, Status> {
        self.check_queue(create.size, create.contiguous)?;
        if create.completion_queue.get() == 0 {
            return Err(Status::INVALID_COMPLETION_QUEUE);
        }
        let mut queues = self.queues.borrow_mut();
        queues.create_submission(
            create.queue,
            create.base,
            create.size,
            create.completion_queue,
        )?;
        Ok(Answer::DONE)
    }

    /// Queues must be physically contiguous (CAP.CQR) and no larger than CAP.MQES says.
    fn check_queue(&self, size: u32, contiguous: bool) -> Result<(), Status> {
        if !contiguous {
            return Err(Status::INVALID_FIELD);
        }
        if size > self.config.queue_entries {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        Ok(())
    }

    /// Number of Queues (Base 5.1.25.1.5): submission in bits 15:0, completion in
    /// 31:16, both counted from zero.
    fn queue_numbers(&self) -> u32 {
        let queues = u32::from(self.config.io_queues) - 1;
        queues << 16 | queues
    }

    fn get_features(&self, get: &GetFeatures) -> Result<Answer, Status> {
        match (get.feature, get.select) {
            (FeatureId::NUMBER_OF_QUEUES, FeatureSelect::Current | FeatureSelect::Default) => {
                Ok(Answer {
                    dw0: self.queue_numbers(),
                    ..Answer::DONE
                })
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn set_features(&self, set: &SetFeatures) -> Result<Answer, Status> {
        let queues = set.cdw11;
        match set.feature {
            FeatureId::NUMBER_OF_QUEUES if queues & 0xFFFF == 0xFFFF || queues >> 16 == 0xFFFF => {
                Err(Status::INVALID_FIELD)
            }
            FeatureId::NUMBER_OF_QUEUES => Ok(Answer {
                dw0: self.queue_numbers(),
                ..Answer::DONE
            }),
            _ => Err(Status::INVALID_FIELD),
        }
    }
}
