//! Bytes that come, portion by portion: headers, padding, data, digests.

use nvme::fabrics::pdu::{
    self, CommonHeader, DIGEST_BYTES, Digests, FatalError, HEADER_BYTES_MAX, PduError, PduType,
};

use super::{Active, Connection, Phase, Pool, Progress};

/// Data of a PDU that is read to where it belongs, if so much of it is still to come.
const DIRECT_BYTES_MIN: usize = 8 << 10;

/// Where a PDU's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Into the buffer of a command, from this offset on.
    Command {
        /// Whose.
        slot: u16,
        /// Where.
        at: u32,
    },
    /// To nowhere.
    Nowhere,
}

/// Within a PDU.
#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes of the header, its digest included, are there.
    Header {
        have: usize,
    },
    /// Between the header and the data.
    Padding {
        left: u32,
    },
    Data {
        left: u32,
    },
    /// So many bytes of the data digest are there.
    Digest {
        have: usize,
    },
}

/// What is known of the PDU that is coming.
pub(super) struct Receiver {
    state: State,
    header: [u8; HEADER_BYTES_MAX + DIGEST_BYTES],
    kind: PduType,
    data_bytes: u32,
    place: Place,
    /// The digest of the data so far.
    digest: u32,
    told_digest: [u8; DIGEST_BYTES],
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            state: State::Header { have: 0 },
            header: [0; HEADER_BYTES_MAX + DIGEST_BYTES],
            kind: PduType::Initialize,
            data_bytes: 0,
            place: Place::Nowhere,
            digest: 0,
            told_digest: [0; DIGEST_BYTES],
        }
    }
}

impl Receiver {
    /// Whether some of a PDU has come and some has not.
    pub(super) fn is_within_pdu(&self) -> bool {
        !matches!(self.state, State::Header { have: 0 })
    }

    /// The header, as a structure of its size.
    pub(super) fn header<H: zerocopy::FromBytes>(&self) -> H {
        let (header, _) = H::read_from_prefix(&self.header).expect("no header is longer than this");
        header
    }
}

impl Connection {
    /// Takes what has come. Commands that are complete go to `arrived`.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], pool: &Pool, arrived: &mut Vec<u16>) {
        self.traffic.received_bytes += bytes.len() as u64;
        while !bytes.is_empty() && self.phase != Phase::Ending {
            if self.stalled.is_some() {
                self.held.extend_from_slice(bytes);
                return;
            }
            let taken = self.take(bytes, pool, arrived);
            match taken {
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) => {
                    self.terminate(error);
                    return;
                }
            }
        }
    }

    /// There is memory for the command whose data is to follow: that is taken, and what comes after it.
    pub(super) fn go_on(&mut self, slot: u16, pool: &Pool, arrived: &mut Vec<u16>) {
        self.stalled = None;
        self.receive_in_capsule(slot, pool);
        self.receiver.place = Place::Command { slot, at: 0 };
        let held = std::mem::take(&mut self.held);
        // They were counted as they came.
        self.traffic.received_bytes -= held.len() as u64;
        self.receive(&held, pool, arrived);
    }

    /// The data of a command comes in its capsule from here on.
    pub(super) fn receive_in_capsule(&mut self, slot: u16, pool: &Pool) {
        self.give_buffer(slot, pool);
        if let Some(active) = self.actives.get_mut(slot) {
            active.progress = Progress::Receiving {
                received: 0,
                is_asked_for: false,
            };
        }
    }

    /// Where data that comes next belongs, if it is long enough to be read there at once.
    pub(crate) fn direct(&mut self) -> Option<&mut [u8]> {
        let State::Data { left } = self.receiver.state else {
            return None;
        };
        if (left as usize) < DIRECT_BYTES_MIN || self.phase == Phase::Ending {
            return None;
        }
        let Place::Command { slot, at } = self.receiver.place else {
            return None;
        };
        let data = self.actives.get_mut(slot)?.data.as_mut()?;
        data.get_mut(at as usize..(at + left) as usize)
    }

    /// So many bytes were read to where [`Connection::direct`] said.
    pub(crate) fn received_directly(&mut self, bytes: usize, arrived: &mut Vec<u16>) {
        self.traffic.received_bytes += bytes as u64;
        let (State::Data { left }, Place::Command { slot, at }) =
            (self.receiver.state, self.receiver.place)
        else {
            return;
        };
        if self.digests.data
            && let Some(data) = self
                .actives
                .get(slot)
                .and_then(|active| active.data.as_ref())
        {
            let data = &data[at as usize..at as usize + bytes];
            self.receiver.digest = pdu::digest_of(self.receiver.digest, data);
        }
        self.data_came(left, bytes as u32, arrived);
    }

    /// Takes some of what has come; gives how much.
    fn take(
        &mut self,
        bytes: &[u8],
        pool: &Pool,
        arrived: &mut Vec<u16>,
    ) -> Result<usize, PduError> {
        match self.receiver.state {
            State::Header { have } => self.take_header(have, bytes, pool, arrived),
            State::Padding { left } => {
                let taken = bytes.len().min(left as usize);
                let left = left - taken as u32;
                self.receiver.state = match left {
                    0 => State::Data {
                        left: self.receiver.data_bytes,
                    },
                    left => State::Padding { left },
                };
                Ok(taken)
            }
            State::Data { left } => {
                let taken = bytes.len().min(left as usize);
                let bytes = &bytes[..taken];
                if self.digests.on(self.receiver.kind).data {
                    self.receiver.digest = pdu::digest_of(self.receiver.digest, bytes);
                }
                if let Place::Command { slot, at } = self.receiver.place
                    && let Some(Active {
                        data: Some(data), ..
                    }) = self.actives.get_mut(slot)
                {
                    data[at as usize..at as usize + taken].copy_from_slice(bytes);
                }
                self.data_came(left, taken as u32, arrived);
                Ok(taken)
            }
            State::Digest { have } => {
                let taken = bytes.len().min(DIGEST_BYTES - have);
                let end = have + taken;
                self.receiver.told_digest[have..end].copy_from_slice(&bytes[..taken]);
                self.receiver.state = State::Digest { have: end };
                if end == DIGEST_BYTES {
                    let told = u32::from_le_bytes(self.receiver.told_digest);
                    self.data_is_complete(told == self.receiver.digest, arrived);
                }
                Ok(taken)
            }
        }
    }

    fn take_header(
        &mut self,
        have: usize,
        bytes: &[u8],
        pool: &Pool,
        arrived: &mut Vec<u16>,
    ) -> Result<usize, PduError> {
        // The common header says how long the rest is.
        let (wanted, digests) = match have < CommonHeader::BYTES {
            true => (CommonHeader::BYTES, Digests::default()),
            false => {
                let digests = self.digests.on(self.receiver.kind);
                let digest = digests.header_bytes() as usize;
                let header = usize::from(self.receiver.kind.header_bytes());
                (header + digest, digests)
            }
        };
        let taken = bytes.len().min(wanted - have);
        let end = have + taken;
        self.receiver.header[have..end].copy_from_slice(&bytes[..taken]);
        self.receiver.state = State::Header { have: end };
        if end < wanted {
            return Ok(taken);
        }
        if have < CommonHeader::BYTES {
            let header: CommonHeader = self.receiver.header();
            let (kind, data_bytes) = pdu::check(&header, true, self.digests, 4)?;
            (self.receiver.kind, self.receiver.data_bytes) = (kind, data_bytes);
            return Ok(taken);
        }
        if digests.header {
            let (header, told) = self.receiver.header[..end].split_at(end - DIGEST_BYTES);
            let made = pdu::digest(header);
            if made != told {
                return Err(PduError {
                    error: FatalError::HeaderDigestError,
                    information: u32::from_le_bytes(made),
                });
            }
        }
        self.traffic.received_pdus += 1;
        let header: CommonHeader = self.receiver.header();
        let (kind, data_bytes) = (self.receiver.kind, self.receiver.data_bytes);
        self.receiver.digest = 0;
        self.receiver.place = self.header_came(kind, data_bytes, pool, arrived)?;
        let padding = u32::from(header.data_offset).saturating_sub(end as u32);
        self.receiver.state = match data_bytes {
            0 => State::Header { have: 0 },
            left if padding == 0 || kind.is_without_digests() => State::Data { left },
            _ => State::Padding { left: padding },
        };
        Ok(taken)
    }

    /// So much of the data has come, of what was `left` of it.
    fn data_came(&mut self, left: u32, bytes: u32, arrived: &mut Vec<u16>) {
        if let Place::Command { at, .. } = &mut self.receiver.place {
            *at += bytes;
        }
        let left = left - bytes;
        if left > 0 {
            self.receiver.state = State::Data { left };
        } else if self.digests.on(self.receiver.kind).data {
            self.receiver.state = State::Digest { have: 0 };
        } else {
            self.data_is_complete(true, arrived);
        }
    }

    /// All data of a PDU has come, and `is_well` if its digest is right.
    fn data_is_complete(&mut self, is_well: bool, arrived: &mut Vec<u16>) {
        self.receiver.state = State::Header { have: 0 };
        let (place, bytes) = (self.receiver.place, self.receiver.data_bytes);
        let Place::Command { slot, .. } = place else {
            return;
        };
        let Some(active) = self.actives.get_mut(slot) else {
            return;
        };
        if !is_well {
            active.refused = Some(nvme::Status::TRANSIENT_TRANSPORT_ERROR);
        }
        if let Progress::Receiving { received, .. } = &mut active.progress {
            *received += bytes;
            if *received >= active.transfers.to_controller {
                active.progress = Progress::Arrived;
                arrived.push(slot);
            }
        }
    }
}
