//! PDUs as a host makes them, a drive that answers anything, and what comes back.

use std::io::IoSlice;

use nvme::fabrics::pdu::{
    self, CapsuleCommand, CommonHeader, Digests, H2cData, Initialize, PduType, flag,
};
use nvme::fabrics::{ConnectCommand, ConnectData, Property, PropertySet, Sgl};
use nvme::{Status, SubmissionEntry};
use zerocopy::IntoBytes;

use crate::tcp::connection::SLICES_MAX;
use crate::tcp::message::{Done, DriveCommand, Order, Told};
use crate::tcp::target::Target;

pub(super) const HOST: &str = "nqn.2026-11.org.example:host";

/// A sequence of numbers that looks random (xorshift64*).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub(super) fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

pub(super) fn initialize(digests: Digests) -> Vec<u8> {
    Initialize::new(digests).as_bytes().to_vec()
}

/// A PDU of a header and data, with the digests agreed on.
pub(super) fn pdu(header: &[u8], data: &[u8], digests: Digests) -> Vec<u8> {
    let mut bytes = header.to_vec();
    if digests.header {
        bytes.extend(pdu::digest(header));
    }
    bytes.extend(data);
    if digests.data && !data.is_empty() {
        bytes.extend(pdu::digest(data));
    }
    bytes
}

pub(super) fn capsule(
    mut entry: SubmissionEntry,
    id: u16,
    data: &[u8],
    digests: Digests,
) -> Vec<u8> {
    entry.command_id.set(id);
    let header = CommonHeader::with_data(PduType::Command, digests, data.len() as u32, 4);
    pdu(CapsuleCommand { header, entry }.as_bytes(), data, digests)
}

pub(super) fn connect(
    id: u16,
    subsystem: &str,
    controller: u16,
    queue: u16,
    digests: Digests,
) -> Vec<u8> {
    let data = ConnectData::new([1; 16], HOST, subsystem, controller);
    let mut entry = ConnectCommand::new(queue, 64, 0).entry();
    let length = ConnectData::BYTES as u32;
    Sgl::InCapsule { offset: 0, length }.encode_into(&mut entry);
    capsule(entry, id, data.as_bytes(), digests)
}

pub(super) fn enable(id: u16, digests: Digests) -> Vec<u8> {
    let mut entry = PropertySet::new(Property::Configuration, 0x0046_0001).entry();
    Sgl::Transport { length: 0 }.encode_into(&mut entry);
    capsule(entry, id, &[], digests)
}

pub(super) fn asked_data(id: u16, tag: u16, offset: u32, data: &[u8], digests: Digests) -> Vec<u8> {
    let mut header = CommonHeader::with_data(PduType::H2cData, digests, data.len() as u32, 4);
    header.flags |= flag::LAST;
    let made = H2cData {
        header,
        command_id: id.into(),
        tag: tag.into(),
        offset: offset.into(),
        length: (data.len() as u32).into(),
        ..H2cData::default()
    };
    pdu(made.as_bytes(), data, digests)
}

/// What a connection has to send, as it would be taken at once.
pub(super) fn sent(target: &mut Target, key: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(connection) = target.connection(key) {
        if !connection.has_output() {
            break;
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = connection.output(&mut slices);
        let before = all.len();
        slices[..count]
            .iter()
            .for_each(|slice| all.extend_from_slice(slice));
        let bytes = all.len() - before;
        target.sent(key, bytes);
    }
    all
}

/// The PDUs in what was sent: headers and data.
///
/// # Panics
/// If they are not as they should be.
pub(super) fn pdus(mut bytes: &[u8], digests: Digests) -> Vec<(PduType, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let common = CommonHeader::of(*bytes.first_chunk().expect("a header"));
        let (kind, data_bytes) = pdu::check(&common, false, digests, 4).expect("a sound PDU");
        let (one, rest) = bytes.split_at(common.bytes.get() as usize);
        let on = digests.on(kind);
        let data_end = one.len()
            - if data_bytes > 0 {
                on.data_bytes() as usize
            } else {
                0
            };
        let data = &one[data_end - data_bytes as usize..data_end];
        let header = &one[..usize::from(common.header_bytes)];
        all.push((kind, header.to_vec(), data.to_vec()));
        bytes = rest;
    }
    all
}

/// A drive: it does something with each command, sometime.
#[derive(Default)]
pub(super) struct AnyDrive {
    pub(super) commands: Vec<DriveCommand>,
}

impl AnyDrive {
    /// Takes what there is for it.
    pub(super) fn take(&mut self, target: &mut Target) {
        for order in target.take_orders() {
            if let Order::Command(command) = order {
                self.commands.push(*command);
            }
        }
    }

    /// Answers one of them.
    pub(super) fn answer(
        &mut self,
        place: usize,
        status: Status,
        target: &mut Target,
        loses: bool,
    ) {
        let command = self.commands.swap_remove(place);
        let counted = command.data.as_ref().map_or(0, |data| data.len() as u64);
        target.told(Told::Done(Done {
            ticket: command.ticket,
            status,
            results: [0, 0],
            data: command.data.filter(|_| !loses),
            counted,
        }));
    }
}
