//! What a header begins: a connection, a command, data of one, an end.

use nvme::fabrics::pdu::{
    CapsuleCommand, Digests, FatalError, H2cData, IN_CAPSULE_BYTES, Initialize, InitializeResponse,
    PDU_FORMAT_VERSION, PduError, PduType, flag,
};
use nvme::fabrics::{FABRICS_OPCODE, Sgl};
use nvme::{CommandSet, DataTransfer, Status, SubmissionEntry, Transfers};
use zerocopy::IntoBytes;

use super::receive::Place;
use super::{
    Active, COMMANDS_BEFORE_CONNECT, Connection, H2C_DATA_BYTES_MAX, Phase, Pool, Progress,
};

/// Where fields of headers lie.
const FLAGS: u32 = 1;
const VERSION: u32 = 8;
const ALIGNMENT: u32 = 10;
const COMMAND_ID: u32 = 8;
const TAG: u32 = 10;

/// A fatal error with nothing more to say.
const fn fatal(error: FatalError) -> PduError {
    PduError {
        error,
        information: 0,
    }
}

impl Connection {
    /// The header of a PDU has come; gives where its data goes.
    pub(super) fn header_came(
        &mut self,
        kind: PduType,
        data_bytes: u32,
        pool: &Pool,
        arrived: &mut Vec<u16>,
    ) -> Result<Place, PduError> {
        match (kind, self.phase) {
            (PduType::HostTerminate, _) => {
                // Told why, but there is nobody to tell.
                self.end();
                Ok(Place::Nowhere)
            }
            (PduType::Initialize, Phase::Initializing) => {
                let request: Initialize = self.receiver.header();
                self.initialize(&request)
            }
            (PduType::Command, Phase::Open) => {
                let capsule: CapsuleCommand = self.receiver.header();
                self.command_came(capsule.entry, data_bytes, pool, arrived)
            }
            (PduType::H2cData, Phase::Open) => {
                let data: H2cData = self.receiver.header();
                self.asked_data_comes(&data, data_bytes)
            }
            _ => Err(PduError::SEQUENCE),
        }
    }

    /// ICReq (TCP 3.6.2.2).
    fn initialize(&mut self, request: &Initialize) -> Result<Place, PduError> {
        if request.version.get() != PDU_FORMAT_VERSION {
            return Err(PduError {
                error: FatalError::UnsupportedParameter,
                information: VERSION,
            });
        }
        let alignment = request.alignment_bytes();
        self.alignment = alignment.ok_or(PduError::field(ALIGNMENT))?;
        self.digests = Digests::of(request.digests);
        let response = InitializeResponse::new(self.digests, H2C_DATA_BYTES_MAX);
        self.outgoing.put(&[response.as_bytes()]);
        self.phase = Phase::Open;
        Ok(Place::Nowhere)
    }

    /// A command: its data is in the capsule, or is asked for, or there is none.
    fn command_came(
        &mut self,
        entry: SubmissionEntry,
        data_bytes: u32,
        pool: &Pool,
        arrived: &mut Vec<u16>,
    ) -> Result<Place, PduError> {
        if data_bytes > IN_CAPSULE_BYTES {
            return Err(fatal(FatalError::LimitExceeded));
        }
        let most = self
            .queue
            .map_or(COMMANDS_BEFORE_CONNECT, |queue| queue.entries);
        if self.actives.len() as u32 >= most {
            // More than the submission queue has entries: the host has lost count (Base 3.3.3.2.1).
            return Err(PduError::SEQUENCE);
        }
        if let Some(queue) = &mut self.queue {
            queue.advance();
        }
        let is_admin = self.queue.is_none_or(|queue| queue.id == 0);
        let set = self.facts.set_of(is_admin, &entry);
        let planned = self.plan(set, &entry, data_bytes);
        let (transfers, is_in_capsule, refused) = match planned {
            Ok((transfers, is_in_capsule)) => (transfers, is_in_capsule, None),
            Err(status) => (Transfers::default(), false, Some(status)),
        };
        let active = Active {
            entry,
            set,
            transfers,
            progress: Progress::WaitsForMemory,
            refused,
            data: None,
        };
        let slot = match self.actives.insert(active) {
            Ok(slot) => slot,
            Err(_) => {
                self.refuse_twin(&entry);
                return Ok(Place::Nowhere);
            }
        };
        if is_in_capsule {
            return Ok(self.capsule_data_comes(slot, pool));
        }
        let bytes = transfers.buffer_bytes();
        if bytes == 0 {
            self.set_progress(slot, Progress::Arrived);
            arrived.push(slot);
        } else {
            self.waiting.push_back(slot);
            if self.waiting.len() == 1 {
                self.admit(pool, arrived);
            }
        }
        Ok(Place::Nowhere)
    }

    /// The data of a command is in its capsule: where it goes. It waits if there is no memory for it, and keeps what is behind it from
    /// being read; but not data that was asked for, as memory may come back by that alone.
    fn capsule_data_comes(&mut self, slot: u16, pool: &Pool) -> Place {
        self.stalled = Some(slot);
        if self.may_have_buffer(slot, pool) {
            self.stalled = None;
            self.receive_in_capsule(slot, pool);
            return Place::Command { slot, at: 0 };
        }
        let asked_for = |active: &Active| {
            let Progress::Receiving { is_asked_for, .. } = active.progress else {
                return false;
            };
            is_asked_for
        };
        if self.actives.iter().any(|(_, active)| asked_for(active)) {
            self.stalled = None;
            self.refuse(slot, Status::COMMAND_INTERRUPTED);
        }
        Place::Nowhere
    }

    fn set_progress(&mut self, slot: u16, progress: Progress) {
        if let Some(active) = self.actives.get_mut(slot) {
            active.progress = progress;
        }
    }

    /// What is to cross for a command, and whether it comes in the capsule, which has so many bytes of data.
    fn plan(
        &self,
        set: CommandSet,
        entry: &SubmissionEntry,
        data_bytes: u32,
    ) -> Result<(Transfers, bool), Status> {
        let sgl = Sgl::decode(entry)?;
        let transfers = match entry.opcode {
            FABRICS_OPCODE => of_fabrics(entry, sgl.length()),
            _ => Transfers::of(set, entry, sgl.length()),
        };
        let most = self.limits.transfer_bytes;
        if transfers.to_controller > most || transfers.to_host > most {
            return Err(Status::INVALID_FIELD);
        }
        match sgl {
            Sgl::InCapsule { offset, .. } if offset != 0 => Err(Status::SGL_OFFSET_INVALID),
            // Only data to the controller can be there.
            Sgl::InCapsule { length, .. } if length != transfers.to_controller => {
                Err(Status::INVALID_FIELD)
            }
            Sgl::InCapsule { length, .. } if length != data_bytes => {
                Err(Status::DATA_SGL_LENGTH_INVALID)
            }
            Sgl::InCapsule { .. } => Ok((transfers, data_bytes > 0)),
            Sgl::Transport { .. } if data_bytes == 0 => Ok((transfers, false)),
            // It describes the result, if there is to be one.
            Sgl::Transport { .. } if transfers.describes_result() => {
                match data_bytes == transfers.to_controller {
                    true => Ok((transfers, true)),
                    false => Err(Status::DATA_SGL_LENGTH_INVALID),
                }
            }
            Sgl::Transport { .. } => Err(Status::SGL_TYPE_INVALID),
        }
    }

    /// H2CData (TCP 3.6.2.8): it answers the R2T of a command, in order.
    fn asked_data_comes(&mut self, data: &H2cData, data_bytes: u32) -> Result<Place, PduError> {
        let slot = data.tag.get();
        let active = self.actives.get(slot).ok_or(PduError::field(TAG))?;
        let Progress::Receiving {
            received,
            is_asked_for: true,
        } = active.progress
        else {
            return Err(PduError::field(TAG));
        };
        if data.command_id != active.entry.command_id {
            return Err(PduError::field(COMMAND_ID));
        }
        if data_bytes > H2C_DATA_BYTES_MAX {
            return Err(fatal(FatalError::LimitExceeded));
        }
        let (offset, length) = (data.offset.get(), data.length.get());
        let end = u64::from(offset) + u64::from(length);
        let wanted = active.transfers.to_controller;
        let is_in_order = offset == received && length == data_bytes && length > 0;
        if !is_in_order || end > wanted.into() {
            return Err(fatal(FatalError::DataOutOfRange));
        }
        let is_last = data.header.flags & flag::LAST != 0;
        if is_last != (end == u64::from(wanted)) {
            return Err(PduError::field(FLAGS));
        }
        Ok(Place::Command { slot, at: offset })
    }
}

/// What crosses for a Fabrics command: the low bits of its type are those of an opcode (Base 6).
fn of_fabrics(entry: &SubmissionEntry, length: u32) -> Transfers {
    let way = match DataTransfer::of_opcode(entry.to_bytes()[4]) {
        DataTransfer::Bidirectional => DataTransfer::None,
        way => way,
    };
    Transfers::one_way(way, length)
}
