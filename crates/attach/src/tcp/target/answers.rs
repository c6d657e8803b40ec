//! What the drive tells, as hosts are told it.

use nvme::command::{LogPageId, opcode};
use nvme::identify::Cns;
use nvme::{AsyncEvent, NamespaceId, SubmissionEntry};

use super::{Answer, Target};
use crate::tcp::controller::ControllerKind;
use crate::tcp::identify::page_of;
use crate::tcp::message::{Done, Told};

/// RAE, bit 15 of CDW10 of Get Log Page: the event stays as it is.
const RETAIN_EVENT: u32 = 1 << 15;

impl Target {
    /// The drive has something to tell.
    pub(in crate::tcp) fn told(&mut self, told: Told) {
        match told {
            Told::Done(done) => self.done(done),
            Told::Event(event, changed) => self.event(event, &changed),
            Told::ShutDown(controller, epoch) => self.shut_down(controller, epoch),
        }
    }

    /// What a host had written before it shut its controller down is durable.
    fn shut_down(&mut self, id: u16, epoch: u64) {
        let Some(controller) = self.subsystem.controller_mut(id) else {
            return;
        };
        let admin = self.clients.get(controller.admin);
        if admin.is_some_and(|client| client.connection.epoch() == epoch) {
            controller.is_shut_down();
        }
    }

    fn event(&mut self, event: AsyncEvent, changed: &[NamespaceId]) {
        for id in self.subsystem.raise(event, changed) {
            self.tell_events(id);
        }
    }

    /// A command is done; whoever sent it may be gone.
    fn done(&mut self, done: Done) {
        let (key, slot) = (done.ticket.connection as usize, done.ticket.command);
        let client = self.clients.get_mut(key);
        let client = client.filter(|client| client.connection.epoch() == done.ticket.epoch);
        let Some(client) = client else {
            self.pool
                .give_back(done.ticket.epoch, done.counted, done.data);
            return;
        };
        if done.data.is_none() && done.counted > 0 {
            client.connection.lost_buffer(done.counted, &self.pool);
        }
        let queue = client.connection.queue().map_or(0, |queue| queue.id);
        let Some(active) = client.connection.active_mut(slot) else {
            debug_assert!(false, "a command is there until it is answered");
            return;
        };
        let (entry, transfers) = (active.entry, active.transfers);
        active.data = done.data;
        if queue == 0 && done.status.is_success() {
            self.amend(key, slot, &entry);
        }
        let answer = Answer {
            status: done.status,
            results: done.results,
            data_at: transfers.result_offset(),
        };
        self.answer(key, slot, answer);
    }

    /// Puts what is different for this controller into a page of the drive.
    fn amend(&mut self, key: usize, slot: u16, entry: &SubmissionEntry) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(id) = client.controller else { return };
        if entry.opcode == opcode::GET_LOG_PAGE && entry.cdw10.get() & RETAIN_EVENT == 0 {
            if let Some(controller) = self.subsystem.controller_mut(id) {
                controller.log_was_read(LogPageId(entry.cdw10.get() as u8));
            }
            return self.tell_events(id);
        }
        if entry.opcode != opcode::IDENTIFY {
            return;
        }
        let Some(page) = client
            .connection
            .active_mut(slot)
            .and_then(|active| active.data.as_mut())
        else {
            return;
        };
        let described = &self.subsystem.described;
        let namespace = entry.namespace_id.get();
        match (page_of(entry), self.subsystem.controller(id)) {
            (Some(Cns::Controller), Some(one)) if one.kind == ControllerKind::Io => {
                described.patch_controller(page, one);
            }
            (Some(Cns::Namespace | Cns::AllocatedNamespace), _) => {
                described.patch_namespace(page, namespace);
            }
            (Some(Cns::NamespaceDescriptors), _) => described.patch_descriptors(page, namespace),
            _ => {}
        }
    }
}
