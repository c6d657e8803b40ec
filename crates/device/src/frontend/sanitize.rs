//! Sanitize (NVMe Base 2.1, 5.1.22): erases everything the host ever wrote, in the background.
//!
//! Once begun it ends, through any number of power cuts; until then I/O is refused.

use std::cell::Cell;
use std::rc::Rc;

use nvme::command::{Sanitize, SanitizeAction};
use nvme::log::{SanitizeLog, sanitize_state};
use nvme::{AsyncEvent, Status};
use sim::Span;

use super::slot::Answer;
use super::{Controller, note};

/// How often the firmware looks after blocks being erased, and how often in vain before it gives
/// up: copies have found no space.
const LOOK: Span = Span::from_us(200);
const LOOKS_WITHOUT_PROGRESS: u32 = 10_000;

/// How far the last sanitize operation has come.
#[derive(Default)]
pub(super) struct Sanitizing {
    state: Cell<u16>,
    /// CDW10 of the command that began it.
    command: Cell<u32>,
    /// In parts of 65536.
    progress: Cell<u16>,
}

impl Sanitizing {
    #[inline]
    pub(super) fn is_under_way(&self) -> bool {
        self.state.get() == sanitize_state::IN_PROGRESS
    }

    /// Whether the last one failed: then nothing may be read or written.
    pub(super) fn has_failed(&self) -> bool {
        self.state.get() == sanitize_state::FAILED
    }

    pub(super) fn log(&self) -> SanitizeLog {
        let progress = match self.is_under_way() {
            true => self.progress.get(),
            false => u16::MAX,
        };
        SanitizeLog::new(self.state.get(), progress, self.command.get())
    }

    fn note(&self) -> u64 {
        u64::from(self.command.get()) << 32 | u64::from(self.state.get())
    }
}

impl Controller {
    pub(super) async fn start_sanitize(
        self: &Rc<Controller>,
        command: &Sanitize,
    ) -> Result<Answer, Status> {
        let sanitize = &self.sanitize;
        if sanitize.is_under_way() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        match command.action {
            SanitizeAction::BlockErase => {}
            SanitizeAction::ExitFailure => {
                if sanitize.state.get() == sanitize_state::FAILED {
                    sanitize.state.set(sanitize_state::NEVER);
                    self.keep(note::SANITIZE, sanitize.note()).await?;
                    self.look_for_obstacles();
                }
                return Ok(Answer::DONE);
            }
            SanitizeAction::Overwrite | SanitizeAction::CryptoErase => {
                return Err(Status::INVALID_FIELD);
            }
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
        if let Err(status) = self.keep(note::SANITIZE, sanitize.note()).await {
            sanitize.state.set(before.0);
            sanitize.command.set(before.1);
            self.look_for_obstacles();
            return Err(status);
        }
        self.go_on_sanitizing();
        Ok(Answer::DONE)
    }

    /// Sanitizes in the background, from the beginning.
    fn go_on_sanitizing(self: &Rc<Controller>) {
        let controller = self.clone();
        self.sim.spawn_detached(async move {
            let erased = controller.erase_everything().await;
            let sanitize = &controller.sanitize;
            sanitize.state.set(match erased {
                Ok(()) => sanitize_state::COMPLETED,
                Err(_) => sanitize_state::FAILED,
            });
            // Without space for the note, the next life sanitizes again.
            let _ = controller.keep(note::SANITIZE, sanitize.note()).await;
            controller.look_for_obstacles();
            controller.raise(AsyncEvent::SANITIZE_COMPLETED);
        });
    }

    async fn erase_everything(self: &Rc<Controller>) -> Result<(), Status> {
        let namespaces = self.namespaces.len() as u32;
        for (number, namespace) in (1..).zip(self.namespaces.iter()) {
            self.empty_namespace(namespace).await?;
            self.sanitize
                .progress
                .set((number * 0x4000 / namespaces) as u16);
        }
        self.erase_blocks().await
    }

    /// Erases every block that holds something.
    async fn erase_blocks(&self) -> Result<(), Status> {
        let mut purge = self.ftl.begin_purge();
        let mut since_progress = 0;
        loop {
            let before = purge.left();
            let left = self.ftl.go_on_purging(&mut purge);
            if left == 0 {
                return Ok(());
            }
            since_progress = if left < before { 0 } else { since_progress + 1 };
            if since_progress > LOOKS_WITHOUT_PROGRESS {
                return Err(Status::CAPACITY_EXCEEDED);
            }
            let done = (purge.all() - left) as u64 * 0xB000 / purge.all() as u64;
            self.sanitize.progress.set(0x4000 + done as u16);
            self.sim.sleep(LOOK).await;
        }
    }

    /// Takes the state of an earlier life, and goes on with what that one began.
    pub(super) fn restore_sanitize(self: &Rc<Controller>) {
        let Some(value) = self.ftl.note(note::SANITIZE) else {
            return;
        };
        self.sanitize.state.set(value as u16);
        self.sanitize.command.set((value >> 32) as u32);
        if self.sanitize.is_under_way() {
            self.look_for_obstacles();
            self.go_on_sanitizing();
        }
    }
}
