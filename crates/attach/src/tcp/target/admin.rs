//! Commands of admin queues: those of an association are answered here, the others are the drive's.

use nvme::command::{
    FeatureId, FeatureSelect, GetFeatures, GetLogPage, LogPageId, SetFeatures, opcode,
};
use nvme::fabrics::{DISCOVERY_LOG, KEEP_ALIVE_OPCODE, Sgl};
use nvme::identify::{Cns, ControllerList, NamespaceList};
use nvme::{AdminCommand, ControllerId, DataPointer, NamespaceId, Status, SubmissionEntry};
use zerocopy::IntoBytes;

use super::{Answer, Outcome, Progress, Target};
use crate::tcp::connection::Active;
use crate::tcp::controller::{Controller, ControllerKind};
use crate::tcp::discovery;
use crate::tcp::message::{Order, Ticket};

/// Host Identifier (Base 5.1.25.1.28).
const HOST_IDENTIFIER: FeatureId = FeatureId(0x81);
/// Bit 0 of dword 0: the command was not aborted.
const NOT_ABORTED: u32 = 1;
/// What can be done with a feature: bit 2, it can be changed.
const CHANGEABLE: u32 = 1 << 2;
/// EXHID, bit 0 of CDW11: a host identifier of 16 bytes.
const EXTENDED_IDENTIFIER: u32 = 1;

impl Target {
    pub(super) fn controller_of(&mut self, key: usize) -> Option<&mut Controller> {
        let id = self.clients.get(key)?.controller?;
        self.subsystem.controller_mut(id)
    }

    pub(super) fn admin(&mut self, key: usize, slot: u16, entry: &SubmissionEntry) -> Outcome {
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        if !controller.is_ready() {
            return Status::COMMAND_SEQUENCE_ERROR.into();
        }
        let kind = controller.kind;
        match entry.opcode {
            KEEP_ALIVE_OPCODE => return Status::SUCCESS.into(),
            opcode::ASYNC_EVENT_REQUEST => {
                return match controller.hold_request(slot) {
                    Ok(()) => Outcome::Held,
                    Err(status) => status.into(),
                };
            }
            // Queues are made by Connect (Base 6).
            opcode::CREATE_COMPLETION_QUEUE
            | opcode::CREATE_SUBMISSION_QUEUE
            | opcode::DELETE_COMPLETION_QUEUE
            | opcode::DELETE_SUBMISSION_QUEUE => {
                return Status::INVALID_OPCODE.with_do_not_retry().into();
            }
            _ => {}
        }
        // The same with a data pointer that the drive would have; what data there is was settled before.
        let mut decoded = *entry;
        let length = Sgl::decode(entry).map_or(0, Sgl::length);
        DataPointer::Sgl { address: 0, length }.encode_into(&mut decoded);
        match (AdminCommand::decode(&decoded), kind) {
            (Ok(AdminCommand::Abort(abort)), _) => {
                self.abort(key, abort.queue.get(), abort.command.get())
            }
            (Ok(AdminCommand::GetFeatures(get)), _) => self.get_feature(key, &get),
            (Ok(AdminCommand::SetFeatures(set)), _) => self.set_feature(key, &set),
            (Ok(AdminCommand::GetLogPage(get)), _) => self.get_log(key, &get),
            (Ok(AdminCommand::Identify(identify)), ControllerKind::Discovery) => {
                match (identify.cns, self.controller_of(key).map(|one| one.id)) {
                    (Cns::Controller, Some(id)) => match self.subsystem.controller(id) {
                        Some(one) => {
                            Outcome::Data(self.subsystem.described.discovery_page(one).to_vec())
                        }
                        None => Outcome::Done,
                    },
                    _ => Status::INVALID_FIELD.with_do_not_retry().into(),
                }
            }
            (Ok(AdminCommand::Identify(identify)), ControllerKind::Io)
                if matches!(identify.cns, Cns::Controllers | Cns::AttachedControllers) =>
            {
                self.controllers_page(identify.controller)
            }
            (_, ControllerKind::Discovery) => Status::INVALID_OPCODE.with_do_not_retry().into(),
            // What cannot be decoded is for the drive to refuse.
            (_, ControllerKind::Io) => Outcome::Drive,
        }
    }

    /// All controllers of the drive: every namespace is attached to all of them.
    fn controllers_page(&self, from: ControllerId) -> Outcome {
        let of_drive = self.subsystem.controllers();
        let of_drive = of_drive.filter(|one| one.kind == ControllerKind::Io);
        let list = ControllerList::new(of_drive.map(|one| ControllerId::new(one.id)), from);
        Outcome::Data(list.as_bytes().to_vec())
    }

    fn get_log(&mut self, key: usize, get: &GetLogPage) -> Outcome {
        let reached_at = self.clients.get(key).and_then(|client| client.reached_at);
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        let page = match (controller.kind, get.page) {
            (ControllerKind::Discovery, LogPageId(DISCOVERY_LOG)) => discovery::page(
                &self.subsystem.described.subsystem_nqn,
                &self.addresses,
                reached_at,
                self.subsystem.queue_entries(),
            ),
            (ControllerKind::Discovery, _) => {
                return Status::INVALID_LOG_PAGE.with_do_not_retry().into();
            }
            (ControllerKind::Io, LogPageId::CHANGED_NAMESPACES) => {
                let changed = controller.changed_namespaces(get.retain_event);
                if !get.retain_event {
                    controller.log_was_read(get.page);
                }
                let list = NamespaceList::new(changed, NamespaceId::new(0));
                list.as_bytes().to_vec()
            }
            (ControllerKind::Io, _) => return Outcome::Drive,
        };
        match page.get(usize::try_from(get.offset).unwrap_or(usize::MAX)..) {
            Some(rest) => Outcome::Data(rest[..rest.len().min(get.data_bytes() as usize)].to_vec()),
            None => Status::INVALID_FIELD.with_do_not_retry().into(),
        }
    }

    fn get_feature(&mut self, key: usize, get: &GetFeatures) -> Outcome {
        let io_queues = u32::from(self.subsystem.io_queues()) - 1;
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        let value = match (get.feature, controller.kind) {
            (FeatureId::NUMBER_OF_QUEUES, ControllerKind::Io) => io_queues << 16 | io_queues,
            (FeatureId::KEEP_ALIVE_TIMER, _) => controller.keep_alive.as_millis() as u32,
            (FeatureId::ASYNC_EVENT_CONFIGURATION, _) => controller.events_wanted(),
            (HOST_IDENTIFIER, _) if get.cdw11 & EXTENDED_IDENTIFIER != 0 => {
                return Outcome::Data(controller.host.id.to_vec());
            }
            (HOST_IDENTIFIER, _) => return Status::INVALID_FIELD.with_do_not_retry().into(),
            (_, ControllerKind::Io) => return Outcome::Drive,
            (_, ControllerKind::Discovery) => {
                return Status::INVALID_FIELD.with_do_not_retry().into();
            }
        };
        match get.select {
            FeatureSelect::SupportedCapabilities => Outcome::Answer(Answer::with(CHANGEABLE)),
            _ => Outcome::Answer(Answer::with(value)),
        }
    }

    fn set_feature(&mut self, key: usize, set: &SetFeatures) -> Outcome {
        let io_queues = self.subsystem.io_queues();
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        let is_own = [
            FeatureId::NUMBER_OF_QUEUES,
            FeatureId::KEEP_ALIVE_TIMER,
            FeatureId::ASYNC_EVENT_CONFIGURATION,
        ];
        if set.save && is_own.contains(&set.feature) {
            return Status::FEATURE_NOT_SAVEABLE.with_do_not_retry().into();
        }
        match (set.feature, controller.kind) {
            (FeatureId::NUMBER_OF_QUEUES, ControllerKind::Io) => {
                let asked = (set.cdw11 & 0xFFFF).max(set.cdw11 >> 16);
                if asked == 0xFFFF {
                    return Status::INVALID_FIELD.with_do_not_retry().into();
                }
                if !controller.queues.is_empty() {
                    return Status::COMMAND_SEQUENCE_ERROR.into();
                }
                let granted = (asked + 1).min(io_queues.into());
                controller.queues_granted = granted as u16;
                Outcome::Answer(Answer::with((granted - 1) << 16 | (granted - 1)))
            }
            (FeatureId::KEEP_ALIVE_TIMER, _) => {
                controller.keep_alive = std::time::Duration::from_millis(set.cdw11.into());
                Status::SUCCESS.into()
            }
            (FeatureId::ASYNC_EVENT_CONFIGURATION, _) => {
                controller.want_events(set.cdw11);
                Status::SUCCESS.into()
            }
            // It is what Connect has said.
            (HOST_IDENTIFIER, _) => Status::COMMAND_SEQUENCE_ERROR.with_do_not_retry().into(),
            (_, ControllerKind::Io) => Outcome::Drive,
            (_, ControllerKind::Discovery) => Status::INVALID_FIELD.with_do_not_retry().into(),
        }
    }

    /// Abort (Base 5.1.1): of this association's commands, those that the drive has not begun, events that are waited for, and what
    /// may run for long.
    fn abort(&mut self, key: usize, queue: u16, id: u16) -> Outcome {
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        let of_queue = match queue {
            0 => Some(controller.admin),
            queue => controller.queues.get(&queue).copied(),
        };
        let Some(of_queue) = of_queue else {
            return Status::INVALID_FIELD.with_do_not_retry().into();
        };
        let aborted = self.try_abort(of_queue, id);
        Outcome::Answer(Answer::with(if aborted { 0 } else { NOT_ABORTED }))
    }

    fn try_abort(&mut self, key: usize, id: u16) -> bool {
        let Some(client) = self.clients.get_mut(key) else {
            return false;
        };
        let Some(slot) = client.connection.find(id) else {
            return false;
        };
        let epoch = client.connection.epoch();
        let progress = client
            .connection
            .active(slot)
            .map(|active: &Active| active.progress);
        match progress {
            Some(Progress::Held) => {
                if let Some(controller) = self.controller_of(key) {
                    controller.forget_request(slot);
                }
                self.answer(key, slot, Status::ABORT_REQUESTED.into());
                true
            }
            Some(Progress::WaitsForMemory) => {
                if !client.connection.forget_waiting(slot) {
                    return false;
                }
                self.answer(key, slot, Status::ABORT_REQUESTED.into());
                true
            }
            Some(Progress::AtDrive) => {
                let active = client.connection.active(slot);
                let stops = active.is_some_and(|active| active.set.may_last(active.entry.opcode));
                if stops {
                    self.orders.push(Order::Cancel(Ticket {
                        epoch,
                        connection: key as u32,
                        command: slot,
                    }));
                }
                stops
            }
            _ => false,
        }
    }

    /// Tells a host what happened, as far as it has asked for it.
    pub(super) fn tell_events(&mut self, id: u16) {
        while let Some(controller) = self.subsystem.controller_mut(id) {
            let key = controller.admin;
            let Some((slot, event)) = controller.next_event() else {
                return;
            };
            self.answer(key, slot, Answer::with(event.dword()));
        }
    }
}
