//! Fabrics commands (Base 6): Connect, properties, Disconnect.

use nvme::fabrics::{
    ConnectCommand, ConnectData, PropertyGet, PropertySet, fabrics_status, fabrics_type,
};
use nvme::{Status, SubmissionEntry};
use zerocopy::FromBytes;

use super::{Answer, Outcome, Target};
use crate::tcp::message::Order;

impl Target {
    pub(super) fn fabrics(&mut self, key: usize, slot: u16, entry: &SubmissionEntry) -> Outcome {
        let queue = self.clients.get(key).and_then(|one| one.connection.queue());
        match (entry.to_bytes()[4], queue.map(|queue| queue.id)) {
            (fabrics_type::CONNECT, None) => self.connect(key, slot, entry),
            // Connected already, or not yet.
            (fabrics_type::CONNECT, Some(_)) | (_, None) => Status::COMMAND_SEQUENCE_ERROR.into(),
            (fabrics_type::PROPERTY_GET, Some(0)) => self.get_property(key, entry),
            (fabrics_type::PROPERTY_SET, Some(0)) => self.set_property(key, entry),
            (fabrics_type::DISCONNECT, Some(0)) => fabrics_status::INVALID_QUEUE_TYPE
                .with_do_not_retry()
                .into(),
            (fabrics_type::DISCONNECT, Some(_)) => self.disconnect(key, slot, entry),
            _ => Status::INVALID_FIELD.with_do_not_retry().into(),
        }
    }

    fn connect(&mut self, key: usize, slot: u16, entry: &SubmissionEntry) -> Outcome {
        let Some(client) = self.clients.get_mut(key) else {
            return Outcome::Done;
        };
        let active = client.connection.active(slot);
        let data = active.and_then(|active| {
            let came = active.transfers.to_controller as usize;
            let data = active.data.as_ref()?.get(..came)?;
            ConnectData::read_from_bytes(data).ok()
        });
        let Some(data) = data else {
            return Status::DATA_SGL_LENGTH_INVALID.with_do_not_retry().into();
        };
        let command = ConnectCommand::of(entry);
        match self.subsystem.connect(key, &command, &data, self.now) {
            Ok(connected) => {
                client.connection.become_queue(connected.queue);
                client.controller = Some(connected.controller);
                let id = u32::from(connected.controller);
                client.connection.answer_connect(slot, id, &self.pool);
                Outcome::Done
            }
            Err(answer) => Outcome::Answer(answer),
        }
    }

    fn get_property(&mut self, key: usize, entry: &SubmissionEntry) -> Outcome {
        let get = PropertyGet::of(entry);
        let controller = self.controller_of(key);
        let value = controller.and_then(|one| one.property(get.property()?));
        match value {
            Some(value) => Outcome::Answer(Answer {
                results: [value as u32, (value >> 32) as u32],
                ..Answer::from(Status::SUCCESS)
            }),
            None => Status::INVALID_FIELD.with_do_not_retry().into(),
        }
    }

    fn set_property(&mut self, key: usize, entry: &SubmissionEntry) -> Outcome {
        let set = PropertySet::of(entry);
        let Some(property) = set.property() else {
            return Status::INVALID_FIELD.with_do_not_retry().into();
        };
        let Some(controller) = self.controller_of(key) else {
            return Outcome::Done;
        };
        let consequence = match controller.set_property(property, set.value.get()) {
            Ok(consequence) => consequence,
            Err(status) => return status.with_do_not_retry().into(),
        };
        let id = controller.id;
        if consequence.queues_go {
            let queues = std::mem::take(&mut controller.queues);
            for queue in queues.into_values() {
                self.close(queue);
            }
        }
        if consequence.shuts_down
            && let Some(client) = self.clients.get(key)
        {
            let epoch = client.connection.epoch();
            self.orders.push(Order::ShutDown(id, epoch));
        }
        Status::SUCCESS.into()
    }

    /// An I/O queue goes (Base 6.4): its connection ends when that is told.
    fn disconnect(&mut self, key: usize, slot: u16, entry: &SubmissionEntry) -> Outcome {
        if entry.cdw10.get() as u16 != 0 {
            return fabrics_status::INCOMPATIBLE_FORMAT
                .with_do_not_retry()
                .into();
        }
        self.answer(key, slot, Status::SUCCESS.into());
        if let Some(controller) = self.controller_of(key) {
            controller.queues.retain(|_, of| *of != key);
        }
        if let Some(client) = self.clients.get_mut(key) {
            client.connection.end();
            client.ended_at = Some(self.now);
        }
        Outcome::Done
    }
}
