//! Admin commands: what the drive says of itself, how it is set, and how all of it is erased.

mod abort;
mod directive;
mod event;
mod feature;
mod format;
mod health;
mod identify;
mod local;
mod log;
mod program;
mod sanitize;
mod told;

use std::rc::Rc;

use nvme::command::{CreateCompletionQueue, CreateSubmissionQueue};
use nvme::{AdminCommand, Status};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
pub(super) use event::Events;
pub(super) use feature::Features;
pub(super) use health::Health;
pub use health::HealthConfig;
pub(super) use sanitize::Sanitizing;
pub use told::Teller;
pub(super) use told::Told;

impl Controller {
    pub(in crate::frontend) async fn serve_admin(
        self: &Rc<Controller>,
        command: &AdminCommand,
    ) -> Answer {
        let outcome = match command {
            AdminCommand::Identify(identify) => self.identify(identify).await,
            AdminCommand::CreateCompletionQueue(create) => self.create_completion_queue(create),
            AdminCommand::CreateSubmissionQueue(create) => self.create_submission_queue(create),
            AdminCommand::DeleteCompletionQueue(queue) => self
                .queues
                .borrow_mut()
                .delete_completion(*queue)
                .map(|()| Answer::DONE),
            AdminCommand::DeleteSubmissionQueue(queue) => self
                .queues
                .borrow_mut()
                .delete_submission(*queue)
                .map(|()| Answer::DONE),
            AdminCommand::GetFeatures(get) => self.get_feature(get),
            AdminCommand::SetFeatures(set) => self.set_feature(set).await,
            AdminCommand::Abort(abort) => self.abort(abort).await,
            AdminCommand::GetLogPage(get) => self.get_log(get).await,
            AdminCommand::DirectiveSend(send) => self.send_directive(send).await,
            AdminCommand::DirectiveReceive(receive) => self.receive_directive(receive).await,
            AdminCommand::FormatNvm(format) => self.format(format).await,
            AdminCommand::Sanitize(sanitize) => self.start_sanitize(sanitize).await,
            AdminCommand::LoadProgram(load) => self.load_program(load).await,
            AdminCommand::ProgramActivation(activation) => self.activate_program(activation).await,
            AdminCommand::MemoryRangeSets(sets) => self.manage_range_sets(sets).await,
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
            create.priority,
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
}
