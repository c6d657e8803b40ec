//! What is sent: R2Ts, data, completions, and why a connection ends.

use nvme::fabrics::pdu::{
    self, C2hData, CapsuleResponse, CommonHeader, Digests, PduError, PduType, ReadyToTransfer,
    TERMINATED_HEADER_BYTES_MAX, Terminate, flag,
};
use nvme::{CompletionEntry, QueueId, Status, SubmissionEntry};
use zerocopy::IntoBytes;

use super::{Connection, Phase, Pool, Progress};

/// How a command has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) results: [u32; 2],
    /// Where in the command's buffer the data for the host begins.
    pub(crate) data_at: usize,
}

impl From<Status> for Answer {
    fn from(status: Status) -> Answer {
        Answer {
            status,
            results: [0, 0],
            data_at: 0,
        }
    }
}

impl Answer {
    /// Success, with this dword 0.
    pub(crate) fn with(dword: u32) -> Answer {
        Answer {
            results: [dword, 0],
            ..Answer::from(Status::SUCCESS)
        }
    }
}

impl Connection {
    /// Asks for a command's data, if it has any that is still to come; says whether.
    pub(super) fn ask_for_data(&mut self, slot: u16) -> bool {
        let Some(active) = self.actives.get_mut(slot) else {
            return false;
        };
        if active.transfers.to_controller == 0 {
            return false;
        }
        active.progress = Progress::Receiving {
            received: 0,
            is_asked_for: true,
        };
        let ready = ReadyToTransfer {
            header: CommonHeader::with_data(PduType::ReadyToTransfer, self.digests, 0, 4),
            command_id: active.entry.command_id,
            tag: slot.into(),
            length: active.transfers.to_controller.into(),
            ..ReadyToTransfer::default()
        };
        self.put_header(ready.as_bytes());
        true
    }

    /// Answers a command, and sends the data that it has for the host if it has succeeded.
    pub(crate) fn answer(&mut self, slot: u16, answer: Answer, pool: &Pool) {
        let Some(active) = self.actives.remove(slot) else {
            return;
        };
        if self.phase == Phase::Ending {
            return self.drop_buffer(active.data, pool);
        }
        let entry = self.completion(&active.entry, answer.status, answer.results);
        let to_host = active.transfers.to_host;
        match active.data {
            Some(data) if to_host > 0 && answer.status.is_success() => {
                // The response may be left out when it would say nothing (TCP 3.6.2.9).
                let says_nothing = self.queue.is_some_and(|queue| !queue.has_flow_control)
                    && answer.results == [0, 0]
                    && answer.status == Status::SUCCESS;
                let command = &active.entry;
                self.put_data(command, data, answer.data_at, to_host, says_nothing);
                if !says_nothing {
                    self.put_response(entry);
                }
            }
            data => {
                self.put_response(entry);
                self.drop_buffer(data, pool);
            }
        }
    }

    /// A command that is not begun.
    pub(super) fn refuse(&mut self, slot: u16, status: Status) {
        if let Some(active) = self.actives.remove(slot) {
            let entry = self.completion(&active.entry, status, [0, 0]);
            self.put_response(entry);
        }
    }

    /// A command whose identifier is in use (Base 4.1.1).
    pub(super) fn refuse_twin(&mut self, command: &SubmissionEntry) {
        let entry = self.completion(command, Status::COMMAND_ID_CONFLICT, [0, 0]);
        self.put_response(entry);
    }

    /// Tells the peer what is wrong with a PDU, and takes nothing more (TCP 3.5).
    pub(super) fn terminate(&mut self, error: PduError) {
        // The header as far as it is a header of something.
        let header: CommonHeader = self.receiver.header();
        let header_bytes = match header.pdu_type() {
            Some(kind) => kind.header_bytes().into(),
            None => CommonHeader::BYTES,
        };
        let header: [u8; TERMINATED_HEADER_BYTES_MAX] = self.receiver.header();
        let header = &header[..header_bytes];
        let request = Terminate::by_controller(error.error, error.information, header.len());
        self.outgoing.put(&[request.as_bytes(), header]);
        self.end();
    }

    fn drop_buffer(&mut self, data: Option<Box<[u8]>>, pool: &Pool) {
        if let Some(buffer) = data {
            let counted = buffer.len() as u64;
            self.taken -= counted;
            pool.give_back(self.epoch, counted, Some(buffer));
        }
    }

    /// The buffer of a command did not come back from the drive.
    pub(crate) fn lost_buffer(&mut self, counted: u64, pool: &Pool) {
        self.taken -= counted;
        pool.give_back(self.epoch, counted, None);
    }

    fn completion(
        &self,
        command: &SubmissionEntry,
        status: Status,
        results: [u32; 2],
    ) -> CompletionEntry {
        let (queue, head) = match self.queue {
            Some(queue) if queue.has_flow_control => (queue.id, queue.head),
            Some(queue) => (queue.id, 0),
            None => (0, 0),
        };
        CompletionEntry::new(command.command(), QueueId::new(queue), head, status, false)
            .with_results(results[0], results[1])
    }

    /// Answers the Connect that has made this connection a queue: its head is all ones if there is no flow control (Base 6.3).
    pub(crate) fn answer_connect(&mut self, slot: u16, dword: u32, pool: &Pool) {
        let Some(active) = self.actives.remove(slot) else {
            return;
        };
        let mut entry = self.completion(&active.entry, Status::SUCCESS, [dword, 0]);
        if self.queue.is_some_and(|queue| !queue.has_flow_control) {
            entry.queue_head.set(u16::MAX);
        }
        self.put_response(entry);
        self.drop_buffer(active.data, pool);
    }

    fn put_response(&mut self, entry: CompletionEntry) {
        let response = CapsuleResponse {
            header: CommonHeader::with_data(PduType::Response, self.digests, 0, 4),
            entry,
        };
        self.put_header(response.as_bytes());
    }

    /// A C2HData with all of a command's data.
    fn put_data(
        &mut self,
        command: &SubmissionEntry,
        data: Box<[u8]>,
        at: usize,
        length: u32,
        is_success: bool,
    ) {
        let Digests { header, data: ends } = self.digests;
        let common =
            CommonHeader::with_data(PduType::C2hData, self.digests, length, self.alignment);
        let success = if is_success { flag::SUCCESS } else { 0 };
        let pdu = C2hData {
            header: CommonHeader {
                flags: common.flags | flag::LAST | success,
                ..common
            },
            command_id: command.command_id,
            length: length.into(),
            ..C2hData::default()
        };
        let bytes = pdu.as_bytes();
        let digest = pdu::digest(bytes);
        let digest: &[u8] = if header { &digest } else { &[] };
        let padding = usize::from(common.data_offset) - bytes.len() - digest.len();
        self.outgoing.put(&[bytes, digest, &[0; 128][..padding]]);
        let range = at..at + length as usize;
        let digest = ends.then(|| pdu::digest(&data[range.clone()]));
        self.outgoing.put_data(data, range);
        if let Some(digest) = digest {
            self.outgoing.put(&[&digest]);
        }
    }

    /// A PDU that is a header alone.
    fn put_header(&mut self, bytes: &[u8]) {
        match self.digests.header {
            true => self.outgoing.put(&[bytes, &pdu::digest(bytes)]),
            false => self.outgoing.put(&[bytes]),
        }
    }
}
