//! Requests as a kernel makes them, over a socket in place of /dev/fuse.

use std::mem::size_of;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use bitline::{Config, Drive};
use rustix::io::{read, write};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use zerocopy::{FromBytes, IntoBytes};

use super::attributes::{ABOUT_NODE, Attributes, DRIVE_NODE};
use super::data::{DataPool, MUCH_BYTES};
use super::device::{Device, Outcome};
use super::drive_file::{DriveFile, Parts};
use super::folder::Folder;
use super::intake::{Intake, Received, Request, What};
use super::landing::Landing;
use super::names::Names;
use super::reader::{Brought, Reader};
use super::replies::ReplyThread;
use super::wire::{Allocation, Answered, Header, Transfer, Written, opcode};
use crate::engine::{Doorbell, Engine, Kind, Pace};
use crate::notes::Notes;

const GETATTR: u32 = 3;
const SETXATTR: u32 = 21;
const FILE_BYTES: u64 = 1 << 20;
const EIO: i32 = 5;
const ENOSYS: i32 = 38;

/// The kernel's end of a folder that is mounted.
struct Kernel(OwnedFd);

fn mounted() -> (Kernel, Intake) {
    let (kernel, opened) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .expect("a socket");
    let patience = Some(Duration::from_secs(30));
    set_socket_timeout(&kernel, Timeout::Recv, patience).expect("it takes that");
    let device = Device::of(opened.as_fd()).expect("it is opened");
    let about = "{}\n".to_owned();
    let folder = Folder {
        attributes: Attributes {
            drive_bytes: FILE_BYTES,
            about_bytes: about.len() as u64,
            block_bytes: 4096,
            since: SystemTime::UNIX_EPOCH,
        },
        about,
    };
    let pool = DataPool::new(Doorbell::new().expect("an event"), 16384);
    let intake = Intake {
        names: Names::start(folder, device.clone()).expect("it answers"),
        device,
        landing: Landing::new(&pool),
        pool,
        bytes: FILE_BYTES,
        block_bytes: 4096,
    };
    (Kernel(kernel), intake)
}

impl Kernel {
    fn ask(&self, unique: u64, node: u64, opcode: u32, more: &[u8]) {
        let header = Header {
            bytes: (size_of::<Header>() + more.len()) as u32,
            opcode,
            unique,
            node,
            ..Header::default()
        };
        self.send(&[header.as_bytes(), more].concat());
    }

    fn send(&self, bytes: &[u8]) {
        write(&self.0, bytes).expect("there is room");
    }

    fn read(&self, unique: u64, offset: u64, bytes: u32) {
        self.ask(
            unique,
            DRIVE_NODE.0,
            opcode::READ,
            transfer(offset, bytes).as_bytes(),
        );
    }

    fn write(&self, unique: u64, offset: u64, data: &[u8]) {
        let transfer = transfer(offset, data.len() as u32);
        let more = [transfer.as_bytes(), data].concat();
        self.ask(unique, DRIVE_NODE.0, opcode::WRITE, &more);
    }

    fn allocate(&self, unique: u64, offset: u64, length: u64, mode: i32) {
        let allocation = Allocation {
            handle: 0,
            offset,
            length,
            mode,
            padding: 0,
        };
        let more = allocation.as_bytes();
        self.ask(unique, DRIVE_NODE.0, opcode::FALLOCATE, more);
    }

    /// The number of the request that is answered next, its error, and what else is answered.
    fn answer(&self) -> (u64, i32, Vec<u8>) {
        let mut answer = vec![0; 1 << 17];
        let bytes = read(&self.0, &mut answer).expect("an answer");
        let (header, more) = Answered::read_from_prefix(&answer[..bytes]).expect("a header");
        assert_eq!(header.bytes as usize, bytes);
        (header.unique, header.error, more.to_vec())
    }
}

fn transfer(offset: u64, bytes: u32) -> Transfer {
    Transfer {
        handle: 0,
        offset,
        bytes,
        how: 0,
        lock_owner: 0,
        flags: 0,
        padding: 0,
    }
}

/// What the drive is asked.
fn asked(received: Received) -> Request {
    match received {
        Received::Request(request) => request,
        _ => panic!("it is for the drive"),
    }
}

#[test]
fn requests_of_data_are_for_the_drive() {
    let (kernel, mut intake) = mounted();
    assert!(matches!(intake.receive(), Received::Nothing));
    kernel.read(1, FILE_BYTES - 100, 4096);
    let Request { what, reply } = asked(intake.receive());
    let What::Read { bytes, room, .. } = what else {
        panic!("it is a read");
    };
    assert_eq!(
        (bytes, room.bytes().len()),
        (FILE_BYTES - 100..FILE_BYTES, 100)
    );
    reply.tell(&Outcome::Read(room));
    let (unique, error, data) = kernel.answer();
    assert_eq!((unique, error, data.len()), (1, 0, 100));

    // Much of it, near and in a buffer of its own.
    let data: Vec<u8> = (0..2 * MUCH_BYTES).map(|at| (at / 100) as u8).collect();
    for length in [1, 4096, MUCH_BYTES, MUCH_BYTES + 1, data.len()] {
        for is_much in [false, true] {
            kernel.write(2, 77, &data[..length]);
            let received = match is_much {
                false => intake.receive(),
                true => intake.receive_much(),
            };
            let request = asked(received);
            assert_eq!(request.is_much(), length > MUCH_BYTES);
            let What::Write {
                offset,
                data: written,
                ..
            } = &request.what
            else {
                panic!("it is a write");
            };
            let written: Vec<u8> = written.stretches().flatten().copied().collect();
            assert!(*offset == 77 && written == data[..length]);
            request.reply.tell(&Outcome::Written(length as u32));
            let (unique, error, more) = kernel.answer();
            let (written, _) = Written::read_from_prefix(&more).expect("how much");
            assert_eq!((unique, error, written.bytes), (2, 0, length as u32));
        }
    }

    kernel.ask(3, DRIVE_NODE.0, opcode::FLUSH, &[0; 24]);
    let request = asked(intake.receive());
    assert!(matches!(request.what, What::Flush(_)) && request.is_to_be_durable());
    request.reply.tell(&Outcome::Done);
    assert_eq!(kernel.answer(), (3, 0, vec![]));
    for (mode, is_zeroes) in [(0x03, false), (0x11, true)] {
        kernel.allocate(4, 10, FILE_BYTES, mode);
        let request = asked(intake.receive());
        match &request.what {
            What::Discard { bytes, .. } if !is_zeroes => assert_eq!(*bytes, 10..FILE_BYTES),
            What::WriteZeroes { bytes, .. } if is_zeroes => assert_eq!(*bytes, 10..FILE_BYTES),
            _ => panic!("mode {mode:#x}"),
        }
        request.reply.tell(&Outcome::Done);
        assert_eq!(kernel.answer(), (4, 0, vec![]));
    }
}

#[test]
fn what_no_drive_can_do_is_answered_at_once() {
    let (kernel, mut intake) = mounted();
    kernel.read(1, FILE_BYTES, 10);
    kernel.write(2, FILE_BYTES + 5, &[1; 10]);
    kernel.write(3, 5, &[]);
    kernel.allocate(4, 0, 10, 0);
    kernel.allocate(5, 0, FILE_BYTES + 1, 0x10);
    kernel.allocate(6, FILE_BYTES, 10, 0x03);
    // A write that says it has more data than came has what came; one of all bytes there are ends with the file.
    let (none, no_space, not_supported, too_big) = (0, -28, -95, -27);
    for (unique, error) in [
        (1, none),
        (2, no_space),
        (3, none),
        (4, not_supported),
        (5, too_big),
        (6, none),
    ] {
        assert!(matches!(intake.receive(), Received::Other));
        let (of, told, _) = kernel.answer();
        assert_eq!((of, told), (unique, error));
    }
    let more = [transfer(FILE_BYTES - 3, u32::MAX).as_bytes(), &[9; 10]].concat();
    kernel.ask(7, DRIVE_NODE.0, opcode::WRITE, &more);
    let request = asked(intake.receive());
    assert!(matches!(&request.what, What::Write { data, .. } if data.stretches().eq([[9; 3]])));
}

#[test]
fn names_are_answered_by_others() {
    let (kernel, mut intake) = mounted();
    kernel.ask(1, DRIVE_NODE.0, GETATTR, &[0; 16]);
    kernel.ask(2, ABOUT_NODE.0, opcode::READ, transfer(0, 100).as_bytes());
    kernel.ask(3, DRIVE_NODE.0, 999, &[]);
    // Less than a request of data has, and more than one of names.
    kernel.ask(4, DRIVE_NODE.0, opcode::READ, &[0; 8]);
    let (enough, ok) = (88, 0);
    for (unique, error, bytes) in [(1, ok, 16 + enough), (2, ok, 3), (3, -ENOSYS, 0)] {
        assert!(matches!(intake.receive(), Received::Other));
        let (of, told, more) = kernel.answer();
        assert_eq!((of, told, more.len()), (unique, error, bytes));
    }
    assert!(matches!(intake.receive(), Received::Other));
    assert_eq!(kernel.answer().0, 4);
    // As long a value as there can be, which lands far off.
    let (value, flags) = (vec![7; 64 << 10], 0_u32);
    let size = value.len() as u32;
    let more = [size.as_bytes(), flags.as_bytes(), b"user.name\0", &value].concat();
    kernel.ask(5, DRIVE_NODE.0, SETXATTR, &more);
    assert!(matches!(intake.receive_much(), Received::Other));
    assert_eq!(kernel.answer(), (5, -ENOSYS, vec![]));
    // No kernel sends this; what comes after it is answered.
    kernel.send(&[1, 2, 3]);
    kernel.ask(6, DRIVE_NODE.0, GETATTR, &[0; 16]);
    assert!(matches!(intake.receive(), Received::Other));
    assert!(matches!(intake.receive(), Received::Other));
    assert_eq!(kernel.answer().0, 6);
}

#[test]
fn what_nobody_answers_is_refused() {
    let (kernel, mut intake) = mounted();
    kernel.read(1, 0, 10);
    drop(asked(intake.receive()));
    assert_eq!(kernel.answer(), (1, -EIO, vec![]));
}

fn brought(reader: &Reader) -> Brought {
    for _ in 0..1000 {
        if let Some(brought) = reader.brought() {
            return brought;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing comes");
}

#[test]
fn a_reader_receives_while_much_comes() {
    let (kernel, intake) = mounted();
    let reader = Reader::start(Doorbell::new().expect("an event")).expect("a thread");
    reader.give(intake);
    let much = vec![7; MUCH_BYTES + 1];
    for round in 0..5 {
        kernel.write(round, round * 4096, &much);
        kernel.read(round + 10, 0, 4096);
        for unique in [round, round + 10] {
            match brought(&reader) {
                Brought::Request(request) => drop(request),
                Brought::Back(_) => panic!("much has come"),
            }
            assert_eq!(kernel.answer().0, unique);
        }
    }
    let mut few = 0;
    let mut intake = loop {
        kernel.read(few, 0, 4096);
        match brought(&reader) {
            Brought::Request(request) => drop(request),
            Brought::Back(intake) => break intake,
        }
        assert_eq!(kernel.answer().0, few);
        few += 1;
        assert!(few < 100, "it gives back what it was given");
    };
    drop(asked(intake.receive()));
    assert_eq!(kernel.answer().0, few);
}

/// The thread goes on when the drive is gone, or whoever waits for an answer would wait for ever.
#[test]
fn what_comes_when_the_drive_is_gone_is_refused() {
    let (kernel, intake) = mounted();
    let reader = Reader::start(Doorbell::new().expect("an event")).expect("a thread");
    reader.give(intake);
    drop(reader);
    for unique in 0..100 {
        kernel.read(unique, 0, 10);
        assert_eq!(kernel.answer(), (unique, -EIO, vec![]));
    }
}

/// What the reader has given back and the drive has not taken is not lost with the drive.
#[test]
fn what_was_given_back_refuses_too() {
    let (kernel, intake) = mounted();
    let reader = Reader::start(Doorbell::new().expect("an event")).expect("a thread");
    reader.give(intake);
    for unique in 0..100 {
        kernel.read(unique, 0, 10);
    }
    while !matches!(brought(&reader), Brought::Back(_)) {}
    let refused = (0..100).map(|_| kernel.answer());
    assert!(refused.into_iter().all(|(_, error, _)| error == -EIO));
    kernel.read(1000, 0, 10);
    assert_eq!(kernel.answer(), (1000, -EIO, vec![]));
}

/// What a drive that is gone is still at may hold all room that requests have.
#[test]
fn refusing_takes_no_room_of_others() {
    let (kernel, intake) = mounted();
    let pool = intake.pool.clone();
    let mut held = Vec::new();
    while pool.has_room() {
        held.push(pool.room(0..1, 1 << 20));
    }
    drop(intake);
    kernel.read(1, 0, 10);
    assert_eq!(kernel.answer(), (1, -EIO, vec![]));
    assert!(!pool.has_room());
}

/// A drive of the default preset, in memory, and the kernel whose requests it takes.
fn drive(pace: Pace) -> (Engine, Kernel) {
    let small = || Drive::open(Config::preset(bitline::DEFAULT_PRESET)?);
    let engine = Engine::start(small, pace).expect("a drive");
    let (kernel, intake) = mounted();
    let handle = engine.handle();
    let parts = Parts {
        intake,
        reader: Reader::start(handle.doorbell().clone()).expect("a thread"),
        thread: ReplyThread::start().expect("a thread"),
        is_on_disk: false,
        notes: Notes::default(),
    };
    let taken = handle.take_from(|| DriveFile::from(parts));
    taken.expect("it is served");
    (engine, kernel)
}

#[test]
fn a_drive_answers() {
    for pace in [Pace::None, Pace::Real(0.01)] {
        let (engine, kernel) = drive(pace);
        let much = vec![5; MUCH_BYTES + 4096];
        kernel.write(1, 4096, &much);
        assert_eq!(kernel.answer().0, 1);
        // At once, and in any order.
        for unique in 2..100 {
            kernel.write(unique, unique * 100, &[unique as u8; 100]);
        }
        let mut told: Vec<u64> = (2..100).map(|_| kernel.answer().0).collect();
        told.sort_unstable();
        assert!(told.into_iter().eq(2..100));
        kernel.ask(100, DRIVE_NODE.0, opcode::FSYNC, &[0; 16]);
        assert_eq!(kernel.answer(), (100, 0, vec![]));
        kernel.read(101, 0, 12_000);
        let (unique, error, data) = kernel.answer();
        assert_eq!((unique, error), (101, 0));
        for (at, byte) in data.iter().enumerate().skip(200) {
            let written = if at < 10_000 { at / 100 } else { 5 };
            assert_eq!(*byte, written as u8, "byte {at}");
        }
        engine.close().expect("it has no image");
        kernel.read(102, 0, 10);
        assert_eq!(kernel.answer(), (102, -EIO, vec![]));
    }
}

/// Much data that the drive keeps as it comes, what it has to copy, and what is too little to be kept, over one another.
#[test]
fn data_is_what_was_written_last() {
    let (engine, kernel) = drive(Pace::None);
    let mut expected = vec![0; FILE_BYTES as usize];
    let block = 4096;
    for round in 0..60_usize {
        let length = match round % 3 {
            0 => 31 * block,
            1 => MUCH_BYTES + 1 + 77 * round,
            _ => 5000,
        };
        let offset = match round % 4 {
            3 => 1000 * round,
            _ => 3 * round * block,
        };
        let data: Vec<u8> = (0..length).map(|at| (at / 61 + 7 * round) as u8).collect();
        expected[offset..offset + length].copy_from_slice(&data);
        kernel.write(round as u64, offset as u64, &data);
        assert_eq!(kernel.answer().1, 0);
    }
    for (number, part) in (0..).zip(expected.chunks(16 * block)) {
        kernel.read(number, number * part.len() as u64, part.len() as u32);
        let (unique, error, data) = kernel.answer();
        assert_eq!((unique, error), (number, 0));
        assert!(data == part, "part {number}");
    }
    engine.close().expect("it has no image");
}

#[test]
fn what_is_under_way_when_a_drive_is_closed_is_done() {
    let (engine, kernel) = drive(Pace::Real(0.0001));
    kernel.write(1, 0, &[1; 4096]);
    let handle = engine.handle();
    let has_begun = || {
        let snapshot = handle.snapshot().expect("it is served");
        snapshot.in_flight + snapshot.kinds[Kind::Write as usize].requests > 0
    };
    while !has_begun() {
        thread::yield_now();
    }
    engine.close().expect("it has no image");
    let (unique, error, _) = kernel.answer();
    assert_eq!((unique, error), (1, 0));
}

/// However much comes to a drive that is bound to a clock from elsewhere.
#[test]
fn jobs_hold_up_no_request() {
    let (engine, kernel) = drive(Pace::Real(1.0));
    let is_answered = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (handle, is_answered) = (engine.handle(), &is_answered);
            scope.spawn(move || {
                while !is_answered.load(Ordering::Relaxed) {
                    let busy = || thread::sleep(Duration::from_micros(100));
                    handle.submit(move |_, _| busy()).expect("it is served");
                    thread::sleep(Duration::from_micros(20));
                }
            });
        }
        kernel.read(1, 0, 4096);
        assert_eq!(kernel.answer().1, 0);
        is_answered.store(true, Ordering::Relaxed);
    });
}
