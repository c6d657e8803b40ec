//! Memory for the data of commands is bounded, however it comes, and nobody waits for ever for it.

use nvme::command::opcode;
use nvme::fabrics::Sgl;
use nvme::fabrics::pdu::PduType;
use nvme::{CommandSet, NamespaceId, Status, SubmissionEntry};

use super::hostile::{NONE, entry, open, queue, statuses};
use super::made::{AnyDrive, asked_data, capsule, connect, enable, pdus, sent};
use crate::tcp::facts::DriveFacts;
use crate::tcp::options::{SUBSYSTEM_NQN, ServerOptions};
use crate::tcp::target::Target;

const MIB: u64 = 1 << 20;
/// What every connection may have.
const GUARANTEED: u64 = 128 << 10;

fn of_bytes(all: u64, each: u64) -> Target {
    let options = ServerOptions {
        buffered_bytes_max: all,
        connection_bytes_max: each,
        ..ServerOptions::default()
    };
    Target::new(&options, Vec::new(), DriveFacts::default())
}

/// A write of 8 KiB, in its capsule.
fn small(id: u16) -> Vec<u8> {
    let mut write = entry(opcode::WRITE, 0);
    let length = 8192;
    Sgl::InCapsule { offset: 0, length }.encode_into(&mut write);
    capsule(write, id, &[1; 8192], NONE)
}

/// Answers all that the drive has, and takes what is sent, until nothing happens any more; how many commands were answered well.
fn settle(target: &mut Target, drive: &mut AnyDrive, keys: &[usize]) -> usize {
    let mut well = 0;
    loop {
        drive.take(target);
        let before = drive.commands.len();
        while !drive.commands.is_empty() {
            drive.answer(0, Status::SUCCESS, target, false);
        }
        for key in keys {
            let told = statuses(target, *key, NONE);
            well += told.iter().filter(|status| status.is_success()).count();
        }
        if !target.feed() && before == 0 {
            return well;
        }
    }
}

/// Each of many hosts sends as many writes in capsules as its queue has entries.
#[test]
fn data_in_capsules_counts() {
    const HOSTS: u64 = 16;
    let mut target = of_bytes(MIB, MIB);
    let mut drive = AnyDrive::default();
    let mut keys = Vec::new();
    for controller in 1..=HOSTS as u16 {
        queue(&mut target, 0, NONE);
        let key = open(&mut target, NONE);
        target.receive(key, &connect(1, SUBSYSTEM_NQN, controller, 1, NONE));
        assert!(statuses(&mut target, key, NONE)[0].is_success());
        keys.push(key);
    }
    let mut read = 0;
    for id in 0..40 {
        for key in &keys {
            if target.connection(*key).expect("there").wants_input() {
                target.receive(*key, &small(id));
                read += 1;
            }
            drive.take(&mut target);
            let (_, _, buffered) = target.present();
            assert!(buffered <= MIB + HOSTS * GUARANTEED, "{buffered} bytes");
        }
    }
    assert!(read < 40 * HOSTS, "somebody waits");
    assert_eq!(settle(&mut target, &mut drive, &keys), read as usize);
    let goes_on = |key: &usize| target.connection(*key).expect("there").wants_input();
    assert!(keys.iter().all(goes_on));
    assert_eq!(target.present().2, 0);
}

/// What is read beyond a capsule that waits is not lost, in whatever portions it comes.
#[test]
fn what_follows_a_capsule_that_waits_is_kept() {
    for portion in [1, 100, 9000, usize::MAX] {
        let mut target = of_bytes(MIB, 256 << 10);
        let mut drive = AnyDrive::default();
        queue(&mut target, 0, NONE);
        let io = queue(&mut target, 1, NONE);
        let all: Vec<u8> = (0..50).flat_map(small).collect();
        all.chunks(portion.min(all.len()))
            .for_each(|part| target.receive(io, part));
        drive.take(&mut target);
        assert_eq!(drive.commands.len(), 32, "256 KiB");
        // The rest of a capsule is its own to be asked for by nobody: it can only come when there is memory.
        assert!(!target.connection(io).expect("there").wants_input());
        assert_eq!(settle(&mut target, &mut drive, &[io]), 50);
        assert_eq!(target.present().2, 0);
    }
}

/// Data that was asked for lies behind a capsule for which there is no memory: were that waited for, nothing would ever move.
#[test]
fn a_capsule_does_not_keep_asked_data_from_coming() {
    let mut target = of_bytes(64 * MIB, 768 << 10);
    let mut drive = AnyDrive::default();
    queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    target.receive(io, &capsule(entry(opcode::WRITE, 1 << 19), 100, &[], NONE));
    let asked = sent(&mut target, io);
    assert_eq!(asked[0], PduType::ReadyToTransfer as u8);
    let tag = u16::from_le_bytes([asked[10], asked[11]]);
    for id in 0..32 {
        target.receive(io, &small(id));
    }
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 32, "a quarter is kept for them");
    target.receive(io, &small(32));
    let told = statuses(&mut target, io, NONE);
    assert_eq!(told, [Status::COMMAND_INTERRUPTED]);
    assert!(target.connection(io).expect("there").wants_input());
    let data = vec![1; 1 << 19];
    target.receive(io, &asked_data(100, tag, 0, &data, NONE));
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 33);
    // Now the drive gives memory back by itself, and the next one waits for that.
    target.receive(io, &small(33));
    assert!(!target.connection(io).expect("there").wants_input());
    assert_eq!(settle(&mut target, &mut drive, &[io]), 34);
}

/// Whose memory is short gets on as soon as its host takes what is sent.
#[test]
fn what_is_sent_feeds_who_waits() {
    let mut target = of_bytes(MIB, MIB);
    let mut drive = AnyDrive::default();
    queue(&mut target, 0, NONE);
    let io = queue(&mut target, 1, NONE);
    for id in 0..4 {
        target.receive(io, &capsule(entry(opcode::READ, 1 << 19), id, &[], NONE));
    }
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 1);
    drive.answer(0, Status::SUCCESS, &mut target, false);
    assert!(!target.feed(), "nothing is given back yet");
    let bytes = sent(&mut target, io);
    let of_data = pdus(&bytes, NONE);
    assert!(
        of_data
            .iter()
            .any(|(kind, _, data)| *kind == PduType::C2hData && data.len() == 1 << 19)
    );
    assert!(target.feed(), "what was sent is");
    drive.take(&mut target);
    assert_eq!(drive.commands.len(), 1);
}

/// Where the drive keeps no data, reads give zeroes and not what earlier commands left in their buffers.
#[test]
fn buffers_are_clean_where_the_drive_fills_none() {
    for (is_without_data, left) in [(false, 1), (true, 0)] {
        let facts = DriveFacts {
            is_without_data,
            ..DriveFacts::default()
        };
        let mut target = Target::new(&ServerOptions::default(), Vec::new(), facts);
        let mut drive = AnyDrive::default();
        queue(&mut target, 0, NONE);
        let io = queue(&mut target, 1, NONE);
        target.receive(io, &small(1));
        assert_eq!(settle(&mut target, &mut drive, &[io]), 1);
        target.receive(io, &capsule(entry(opcode::READ, 8192), 2, &[], NONE));
        drive.take(&mut target);
        let data = drive.commands[0].data.as_ref().expect("a buffer");
        assert!(data[..8192].iter().all(|byte| *byte == left));
        drive.answer(0, Status::SUCCESS, &mut target, false);
    }
}

/// The same opcode means something else in another namespace.
#[test]
fn commands_are_those_of_their_namespaces() {
    let (memory, compute) = (NamespaceId::new(2), NamespaceId::new(3));
    let facts = DriveFacts {
        others: vec![(memory, CommandSet::Memory), (compute, CommandSet::Compute)],
        ..DriveFacts::default()
    };
    let at = |namespace: u32, opcode: u8| {
        let mut entry: SubmissionEntry = entry(opcode, 0);
        entry.namespace_id.set(namespace);
        entry
    };
    let stops = |namespace: u32, opcode: u8| {
        let entry = at(namespace, opcode);
        facts.set_of(false, &entry).may_last(entry.opcode)
    };
    assert!(stops(1, opcode::EXECUTE_PROGRAM) && stops(1, opcode::STREAM_READ));
    assert!(stops(3, opcode::EXECUTE_OVER_MEMORY));
    for (namespace, opcode) in [
        (1, opcode::WRITE),
        (1, opcode::STREAM_CLOSE),
        (2, opcode::MEMORY_COPY),
        (2, opcode::EXECUTE_PROGRAM),
        (3, opcode::STREAM_READ),
    ] {
        assert!(!stops(namespace, opcode), "{opcode:#x} of {namespace}");
    }
    assert_eq!(facts.set_of(true, &at(3, 1)), CommandSet::Admin);
    let mut target = Target::new(&ServerOptions::default(), Vec::new(), facts);
    let mut drive = AnyDrive::default();
    let admin = open(&mut target, NONE);
    target.receive(admin, &connect(1, SUBSYSTEM_NQN, 0xFFFF, 0, NONE));
    target.receive(admin, &enable(2, NONE));
    let io = queue(&mut target, 1, NONE);
    target.receive(
        io,
        &capsule(at(3, opcode::EXECUTE_OVER_MEMORY), 5, &[], NONE),
    );
    drive.take(&mut target);
    assert_eq!(drive.commands[0].set, CommandSet::Compute);
    drive.answer(0, Status::SUCCESS, &mut target, false);
}
