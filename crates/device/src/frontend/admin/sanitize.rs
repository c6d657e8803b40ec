//! Sanitize (NVMe Base 2.1, 5.1.22): erases everything the host ever wrote, in the background.
//!
//! Once begun it ends, through any number of power cuts; until that is noted on flash I/O is refused.
//! It ends with every bit gone that the host wrote, or it has failed.

use std::cell::Cell;
use std::rc::Rc;

use nvme::command::{Sanitize, SanitizeAction};
use nvme::log::{SanitizeLog, sanitize_state};
use nvme::{AsyncEvent, Status};
use sim::Span;

use crate::frontend::answer::Answer;
use crate::frontend::dispatch::search::wrote;
use crate::frontend::namespace::Namespace;
use crate::frontend::{Controller, note};
use crate::ftl::Purge;

/// How often the firmware looks after blocks being erased, and how often in vain before it gives
/// up: copies have found no space.
pub(super) const LOOK: Span = Span::from_us(200);
const LOOKS_WITHOUT_PROGRESS: u32 = 10_000;
/// Bit of CDW10.
const ALLOW_UNRESTRICTED_EXIT: u32 = 1 << 3;

/// How far the last sanitize operation has come.
#[derive(Default)]
pub(in crate::frontend) struct Sanitizing {
    state: Cell<u16>,
    /// CDW10 of the command that began it.
    command: Cell<u32>,
    /// In parts of 65536.
    progress: Cell<u16>,
}

impl Sanitizing {
    #[inline]
    pub(in crate::frontend) fn is_under_way(&self) -> bool {
        self.state.get() == sanitize_state::IN_PROGRESS
    }

    /// Whether the last one failed: then nothing may be read or written.
    pub(in crate::frontend) fn has_failed(&self) -> bool {
        self.state.get() == sanitize_state::FAILED
    }

    pub(in crate::frontend) fn log(&self) -> SanitizeLog {
        let progress = match self.is_under_way() {
            true => self.progress.get(),
            false => u16::MAX,
        };
        SanitizeLog::new(self.state.get(), progress, self.command.get())
    }

    /// Whether a failure may be left without a further success (AUSE of the command that failed).
    fn is_unrestricted(&self) -> bool {
        self.command.get() & ALLOW_UNRESTRICTED_EXIT != 0
    }

    /// The note that it has come to `state`.
    fn note(&self, state: u16) -> u64 {
        u64::from(self.command.get()) << 32 | u64::from(state)
    }
}

impl Controller {
    pub(in crate::frontend) async fn start_sanitize(
        self: &Rc<Controller>,
        command: &Sanitize,
    ) -> Result<Answer, Status> {
        let sanitize = &self.sanitize;
        if sanitize.is_under_way() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        match command.action {
            SanitizeAction::BlockErase => {}
            SanitizeAction::ExitFailure => return self.exit_failure().await,
            SanitizeAction::Overwrite | SanitizeAction::CryptoErase => {
                return Err(Status::INVALID_FIELD);
            }
        }
        if self.is_restricted_failure() && command.allow_unrestricted_exit {
            return Err(Status::SANITIZE_FAILED);
        }
        let mut namespaces = self.namespaces.iter();
        if namespaces.any(|namespace| namespace.format_left.get() > 0) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        let before = (sanitize.state.get(), sanitize.command.get());
        sanitize.state.set(sanitize_state::IN_PROGRESS);
        sanitize.command.set(command.cdw10);
        sanitize.progress.set(0);
        self.look_for_obstacles();
        let note = sanitize.note(sanitize_state::IN_PROGRESS);
        if let Err(status) = self.keep(note::SANITIZE, note).await {
            sanitize.state.set(before.0);
            sanitize.command.set(before.1);
            self.look_for_obstacles();
            return Err(status);
        }
        self.go_on_sanitizing();
        Ok(Answer::DONE)
    }

    /// A failure in restricted mode ends only with a sanitize operation in that mode that succeeds.
    fn is_restricted_failure(&self) -> bool {
        self.sanitize.has_failed() && !self.sanitize.is_unrestricted()
    }

    async fn exit_failure(&self) -> Result<Answer, Status> {
        let sanitize = &self.sanitize;
        if self.is_restricted_failure() {
            return Err(Status::SANITIZE_FAILED);
        }
        if sanitize.has_failed() {
            let note = sanitize.note(sanitize_state::NEVER);
            self.keep(note::SANITIZE, note).await?;
            // Another may have begun meanwhile, and is noted later.
            if sanitize.has_failed() {
                sanitize.state.set(sanitize_state::NEVER);
                self.look_for_obstacles();
            }
        }
        Ok(Answer::DONE)
    }

    /// Sanitizes in the background, from the beginning.
    fn go_on_sanitizing(self: &Rc<Controller>) {
        let controller = self.clone();
        self.sim.spawn_detached(async move {
            controller.ftl.hold_checkpoints(true);
            let erased = controller.erase_everything().await;
            controller.ftl.release_collection();
            controller.ftl.hold_checkpoints(false);
            let sanitize = &controller.sanitize;
            let state = match erased {
                Ok(()) => sanitize_state::COMPLETED,
                Err(_) => sanitize_state::FAILED,
            };
            // Nothing is admitted before the note. What cannot be noted is no success: the next life
            // finds the operation begun, and begins anew.
            let noted = controller.keep(note::SANITIZE, sanitize.note(state)).await;
            sanitize.state.set(match noted {
                Ok(()) => state,
                Err(_) => sanitize_state::FAILED,
            });
            controller.look_for_obstacles();
            controller.raise(AsyncEvent::SANITIZE_COMPLETED);
        });
    }

    async fn erase_everything(self: &Rc<Controller>) -> Result<(), Status> {
        self.end_programs(None).await?;
        for namespace in self.local_namespaces() {
            self.erase_local(namespace).await?;
        }
        wrote(self.search.forget_namespace(None).await)?;
        self.cache.forget_everything().await;
        let is_at_rest = || {
            let busy = self.ftl.is_making_checkpoint() || self.ftl.has_lent_blocks();
            !busy && !self.ftl.is_collecting_anywhere()
        };
        self.ftl.hold_collection();
        while !is_at_rest() {
            self.sim.sleep(LOOK).await;
        }
        let mut purge = self.ftl.begin_purge();
        // Facts that are no more go with their pages. Without space those pages are copied as they are.
        let _ = self.ftl.rewrite_journal().await;
        let told = |done, all| self.sanitize.progress.set((done * 0xFFFE / all) as u16);
        self.erase_blocks(&mut purge, told).await?;
        self.clear_all_marks().await
    }

    /// Erases block after block until `purge` is over; `told` hears of how many, of how many.
    ///
    /// # Errors
    /// Write Fault if bits remain.
    pub(super) async fn erase_blocks(
        &self,
        purge: &mut Purge,
        told: impl Fn(u64, u64),
    ) -> Result<(), Status> {
        let mut since_progress = 0;
        loop {
            let before = purge.left();
            let left = self.ftl.go_on_purging(purge);
            if left == 0 {
                break;
            }
            since_progress = if left < before { 0 } else { since_progress + 1 };
            if since_progress > LOOKS_WITHOUT_PROGRESS {
                return Err(Status::WRITE_FAULT);
            }
            told((purge.all() - left) as u64, purge.all() as u64);
            self.sim.sleep(LOOK).await;
        }
        match purge.remaining() {
            0 => Ok(()),
            _ => Err(Status::WRITE_FAULT),
        }
    }

    /// Waits until the commands that were admitted to a namespace are over; no more are.
    pub(super) async fn wait_while_in_use(&self, namespace: &Namespace) {
        while namespace.is_in_use() {
            self.sim.sleep(LOOK).await;
        }
    }

    /// Takes the state of an earlier life, and goes on with what that one began.
    pub(in crate::frontend) fn restore_sanitize(self: &Rc<Controller>) {
        let Some(value) = self.kept(note::SANITIZE) else {
            return;
        };
        self.sanitize.state.set(value as u16);
        self.sanitize.command.set((value >> 32) as u32);
        self.look_for_obstacles();
        if self.sanitize.is_under_way() {
            self.go_on_sanitizing();
        }
    }
}
