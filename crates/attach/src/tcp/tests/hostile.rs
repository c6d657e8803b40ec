//! What hosts should not do, and what they are told.

use std::time::Duration;

use nvme::fabrics::pdu::{CapsuleResponse, Digests, FatalError, PduType, Terminate};
use nvme::fabrics::{Sgl, fabrics_type};
use nvme::{CommandId, NamespaceId, Status, SubmissionEntry};
use zerocopy::FromBytes;

use super::made::{AnyDrive, asked_data, capsule, connect, enable, initialize, pdus, sent};
use crate::tcp::facts::DriveFacts;
use crate::tcp::options::{SUBSYSTEM_NQN, ServerOptions};
use crate::tcp::target::Target;

pub(super) const NONE: Digests = Digests {
    header: false,
    data: false,
};

pub(super) fn target() -> Target {
    Target::new(&ServerOptions::default(), Vec::new(), DriveFacts::default())
}

/// A connection that has agreed on how to talk.
pub(super) fn open(target: &mut Target, digests: Digests) -> usize {
    let key = target.open(None).expect("room");
    target.receive(key, &initialize(digests));
    let answer = sent(target, key);
    assert_eq!(answer[0], PduType::InitializeResponse as u8);
    key
}

/// A connected queue, the admin queue of a new controller or an I/O queue of controller 1.
pub(super) fn queue(target: &mut Target, queue: u16, digests: Digests) -> usize {
    let key = open(target, digests);
    let controller = if queue == 0 { 0xFFFF } else { 1 };
    target.receive(key, &connect(1, SUBSYSTEM_NQN, controller, queue, digests));
    assert!(statuses(target, key, digests)[0].is_success());
    if queue == 0 {
        target.receive(key, &enable(2, digests));
        assert!(statuses(target, key, digests)[0].is_success());
    }
    key
}

pub(super) fn statuses(target: &mut Target, key: usize, digests: Digests) -> Vec<Status> {
    let bytes = sent(target, key);
    let all = pdus(&bytes, digests).into_iter();
    let responses = all.filter(|(kind, _, _)| *kind == PduType::Response);
    let status = |header: Vec<u8>| {
        let response = CapsuleResponse::read_from_bytes(&header).expect("24 bytes");
        response.entry.status()
    };
    responses.map(|(_, header, _)| status(header)).collect()
}

/// Why a connection was ended, and the information beside it.
fn ended(target: &mut Target, key: usize) -> (FatalError, u32) {
    let bytes = sent(target, key);
    let (terminate, _) = Terminate::read_from_prefix(&bytes).expect("a C2HTermReq");
    assert_eq!(
        terminate.header.pdu_type(),
        Some(PduType::ControllerTerminate)
    );
    assert_eq!(terminate.header.bytes.get() as usize, bytes.len());
    assert!(target.connection(key).is_some_and(|one| one.is_over()));
    let information = u32::from_le_bytes(terminate.information);
    (terminate.error().expect("one of them"), information)
}

pub(super) fn entry(opcode: u8, length: u32) -> SubmissionEntry {
    let mut entry = SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::new(1));
    Sgl::Transport { length }.encode_into(&mut entry);
    entry
}

#[test]
fn malformed_pdus_end_their_connection() {
    let told = |bytes: &[u8]| {
        let mut target = target();
        let key = queue(&mut target, 0, NONE);
        target.receive(key, bytes);
        ended(&mut target, key)
    };
    assert_eq!(told(&initialize(NONE)), (FatalError::SequenceError, 0));
    let mut wrong = capsule(entry(2, 0), 9, &[], NONE);
    wrong[0] = 0x0A;
    assert_eq!(told(&wrong), (FatalError::InvalidHeaderField, 0));
    wrong = capsule(entry(2, 0), 9, &[], NONE);
    wrong[2] = 71;
    assert_eq!(told(&wrong), (FatalError::InvalidHeaderField, 2));
    let nobody_asked = asked_data(9, 0, 0, &[1; 8], NONE);
    assert_eq!(told(&nobody_asked), (FatalError::InvalidHeaderField, 10));
    let long = capsule(entry(1, 0), 9, &[0; 8196], NONE);
    assert_eq!(told(&long).0, FatalError::LimitExceeded);
    let mut target = target();
    let key = target.open(None).expect("room");
    target.receive(key, &capsule(entry(2, 0), 1, &[], NONE));
    assert_eq!(ended(&mut target, key).0, FatalError::SequenceError);
}

#[test]
fn digests_are_looked_at() {
    let digests = Digests::of(3);
    let mut target = target();
    let admin = queue(&mut target, 0, digests);
    let io = queue(&mut target, 1, digests);
    let mut write = entry(1, 0);
    let length = 512;
    Sgl::InCapsule { offset: 0, length }.encode_into(&mut write);
    let mut bytes = capsule(write, 5, &[1; 512], digests);
    let place = bytes.len() - 100;
    bytes[place] ^= 1;
    target.receive(io, &bytes);
    let told = statuses(&mut target, io, digests);
    assert_eq!(
        told,
        [Status::TRANSIENT_TRANSPORT_ERROR],
        "one command, not the connection"
    );
    let mut bytes = capsule(entry(6, 4096), 5, &[], digests);
    bytes[20] ^= 1;
    target.receive(admin, &bytes);
    assert_eq!(ended(&mut target, admin).0, FatalError::HeaderDigestError);
}

#[test]
fn data_comes_in_order_and_no_more_of_it() {
    let portions: [(u32, usize, FatalError); 3] = [
        (4096, 4096, FatalError::DataOutOfRange),
        (0, 16384 + 4, FatalError::DataOutOfRange),
        (0, 4096, FatalError::InvalidHeaderField),
    ];
    for (offset, length, error) in portions {
        let mut target = target();
        queue(&mut target, 0, NONE);
        let io = queue(&mut target, 1, NONE);
        target.receive(io, &capsule(entry(1, 16384), 5, &[], NONE));
        let all = pdus(&sent(&mut target, io), NONE);
        assert_eq!(all[0].0, PduType::ReadyToTransfer);
        let tag = u16::from_le_bytes([all[0].1[10], all[0].1[11]]);
        target.receive(io, &asked_data(5, tag, offset, &vec![0; length], NONE));
        assert_eq!(ended(&mut target, io).0, error);
    }
}

#[test]
fn refused_commands_leave_the_connection() {
    let mut target = target();
    let admin = queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    let mut prp = entry(2, 4096);
    prp.flags = 0;
    target.receive(io, &capsule(prp, 1, &[], NONE));
    target.receive(io, &capsule(entry(2, 64 << 20), 2, &[], NONE));
    let mut inside = entry(2, 0);
    let length = 64;
    Sgl::InCapsule { offset: 0, length }.encode_into(&mut inside);
    target.receive(io, &capsule(inside, 3, &[0; 64], NONE));
    let told = statuses(&mut target, io, NONE);
    assert_eq!(told, [Status::INVALID_FIELD; 3]);
    let mut unknown = entry(nvme::fabrics::FABRICS_OPCODE, 0);
    unknown
        .namespace_id
        .set(fabrics_type::AUTHENTICATION_SEND.into());
    target.receive(admin, &capsule(unknown, 4, &[], NONE));
    assert!(statuses(&mut target, admin, NONE)[0].is(Status::INVALID_FIELD));
}

#[test]
fn an_identifier_is_used_once() {
    let mut target = target();
    let mut drive = AnyDrive::default();
    queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    for _ in 0..2 {
        target.receive(io, &capsule(entry(2, 4096), 5, &[], NONE));
    }
    assert_eq!(
        statuses(&mut target, io, NONE),
        [Status::COMMAND_ID_CONFLICT]
    );
    drive.take(&mut target);
    drive.answer(0, Status::SUCCESS, &mut target, false);
    assert_eq!(
        pdus(&sent(&mut target, io), NONE).len(),
        2,
        "data and response"
    );
}

#[test]
fn more_commands_than_entries_end_the_connection() {
    let mut target = target();
    queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    for id in 0..64 {
        target.receive(io, &capsule(entry(2, 4096), id, &[], NONE));
    }
    assert!(target.connection(io).is_some_and(|one| !one.is_ending()));
    target.receive(io, &capsule(entry(2, 4096), 64, &[], NONE));
    assert_eq!(ended(&mut target, io).0, FatalError::SequenceError);
}

#[test]
fn floods_of_aborts_are_answered() {
    let mut target = target();
    let admin = queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    target.receive(admin, &capsule(entry(0x0C, 0), 7, &[], NONE));
    target.receive(io, &capsule(entry(2, 4096), 9, &[], NONE));
    let mut abort = entry(0x08, 0);
    for round in 0..10_000_u32 {
        // Of the event that is waited for, of a read that the drive has, of nothing.
        abort
            .cdw10
            .set([7 << 16, 1 | 9 << 16, 1 | 99 << 16][round as usize % 3]);
        target.receive(admin, &capsule(abort, 1000 + round as u16, &[], NONE));
    }
    let told = statuses(&mut target, admin, NONE);
    assert_eq!(told.len(), 10_001);
    assert_eq!(
        told[0],
        Status::ABORT_REQUESTED,
        "before the abort is answered"
    );
    assert!(told[1..].iter().all(|status| status.is_success()));
}

#[test]
fn a_silent_host_goes_and_takes_its_queues_along() {
    let mut target = target();
    let mut drive = AnyDrive::default();
    let key = open(&mut target, NONE);
    let mut connect = connect(1, SUBSYSTEM_NQN, 0xFFFF, 0, NONE);
    // KATO of five seconds.
    connect[8 + 48..8 + 52].copy_from_slice(&5000_u32.to_le_bytes());
    target.receive(key, &connect);
    target.receive(key, &enable(2, NONE));
    let io = queue(&mut target, 1, NONE);
    target.receive(io, &capsule(entry(2, 4096), 9, &[], NONE));
    drive.take(&mut target);
    target.set_time(Duration::from_secs(4));
    target.look_around();
    assert_eq!(target.present().1, 1);
    target.set_time(Duration::from_secs(6));
    target.look_around();
    assert_eq!((target.present().0, target.present().1), (0, 0));
    assert!(target.present().2 > 0, "the drive still has a buffer");
    drive.answer(0, Status::SUCCESS, &mut target, false);
    assert_eq!(target.present().2, 0);
}

#[test]
fn a_slow_reader_holds_up_nobody() {
    let options = ServerOptions {
        buffered_bytes_max: 4 << 20,
        connection_bytes_max: 4 << 20,
        ..ServerOptions::default()
    };
    let mut target = Target::new(&options, Vec::new(), DriveFacts::default());
    let mut drive = AnyDrive::default();
    queue(&mut target, 0, NONE);
    let slow = queue(&mut target, 1, NONE);
    for id in 0..60 {
        target.receive(slow, &capsule(entry(2, 1 << 20), id, &[], NONE));
    }
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 3, "the others wait for memory");
    while !drive.commands.is_empty() {
        drive.answer(0, Status::SUCCESS, &mut target, false);
    }
    assert!(!target.connection(slow).expect("it is there").wants_input());
    let mut quick = open(&mut target, NONE);
    target.receive(quick, &connect(1, SUBSYSTEM_NQN, 0xFFFF, 0, NONE));
    target.receive(quick, &enable(2, NONE));
    assert_eq!(statuses(&mut target, quick, NONE).len(), 2);
    target.receive(quick, &capsule(entry(6, 4096), 3, &[], NONE));
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 1, "a little is always to be had");
    target.set_time(Duration::from_secs(31));
    target.look_around();
    assert!(target.connection(slow).is_none(), "it has not moved");
    quick = open(&mut target, NONE);
    assert!(target.connection(quick).is_some());
    drive.answer(0, Status::SUCCESS, &mut target, false);
    target.close(quick);
}
