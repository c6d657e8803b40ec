//! Requests that no library sends: the drive refuses them, and nothing else happens.

use bitline::inside::{InsideHost, send_raw};
use bitline::{Drive, Loading, Status};
use host::Buffer;
use nvme::command::ExecuteProgram;
use nvme::task::{Extent, File, Limits, Outcome, Request};
use nvme::{CommandId, IoCommand, Lba};

use crate::modules::count;
use crate::{COMPUTE, drive, write_file};

/// Sends a request as it is, with a buffer of `room` bytes.
fn send(drive: &mut Drive, request: Vec<u8>, program: u16, room: u32) -> Status {
    let sent = drive.run(|host| async move {
        let queue = host.queue(0).expect("a queue");
        let memory = host::Transport::memory(&queue).clone();
        let bytes = u64::from(room).max(request.len() as u64);
        let buffer = Buffer::beginning(&memory, &request, bytes).expect("room");
        let command = IoCommand::Execute(ExecuteProgram {
            program_namespace: COMPUTE.get() as u16,
            namespace: host.block().namespace(),
            program,
            request_bytes: request.len() as u32,
            result_bytes: room,
            data: buffer.pointer(bytes as u32),
        });
        send_raw(&queue, command.encode(CommandId::new(0))).await
    });
    sent.expect("power").expect("an answer")
}

fn file(first: u64, blocks: u64, bytes: u64) -> File {
    File {
        bytes,
        writable: true,
        extents: vec![Extent {
            first: Lba::new(first),
            blocks,
        }],
    }
}

fn request(files: Vec<File>) -> Request {
    Request {
        files,
        limits: Limits {
            log_bytes: 100,
            return_bytes: 100,
            ..Limits::default()
        },
        ..Request::default()
    }
}

const ROOM: u32 = 4096;

#[test]
fn files_that_cannot_be_are_refused() {
    let mut drive = drive(&[]);
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room")
        .index;
    let blocks = drive.blocks().expect("power");
    let mut sent = |files| {
        let bytes = request(files).encode().expect("few files");
        send(&mut drive, bytes, program, ROOM)
    };
    assert_eq!(
        sent(vec![file(0, 8, 4096)]),
        Status::SUCCESS,
        "a page of 8 blocks"
    );
    assert_eq!(
        sent(vec![file(1, 8, 8)]),
        Status::INVALID_FIELD,
        "not where a page begins"
    );
    assert_eq!(
        sent(vec![file(0, 7, 8)]),
        Status::INVALID_FIELD,
        "not a whole page"
    );
    assert_eq!(
        sent(vec![file(0, 8, 4097)]),
        Status::INVALID_FIELD,
        "too few blocks"
    );
    assert_eq!(
        sent(vec![file(0, 0, 0)]),
        Status::INVALID_FIELD,
        "no blocks"
    );
    assert_eq!(
        sent(vec![file(blocks - 8, 16, 8)]),
        Status::LBA_OUT_OF_RANGE
    );
    assert_eq!(
        sent(vec![file(u64::MAX - 7, 8, 8)]),
        Status::LBA_OUT_OF_RANGE
    );
    assert_eq!(sent(vec![file(8, u64::MAX, 8)]), Status::LBA_OUT_OF_RANGE);
    let overlap = vec![file(0, 16, 8), file(8, 8, 8)];
    assert_eq!(sent(overlap), Status::OVERLAPPING_IO_RANGE);
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    let mut drive = drive(&[]);
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room")
        .index;
    let bytes = request(vec![file(0, 8, 8)]).encode().expect("few files");
    assert_eq!(
        send(&mut drive, bytes.clone(), program, ROOM),
        Status::SUCCESS
    );
    let least = Outcome::room(100, 100) as u32;
    assert_eq!(
        send(&mut drive, bytes.clone(), program, least),
        Status::SUCCESS
    );
    let short = send(&mut drive, bytes.clone(), program, least - 1);
    assert_eq!(short, Status::INVALID_FIELD, "no room for what may come");
    let mut cut = bytes.clone();
    cut.pop();
    assert_eq!(send(&mut drive, cut, program, ROOM), Status::INVALID_FIELD);
    let mut version = bytes.clone();
    version[0] = 2;
    assert_eq!(
        send(&mut drive, version, program, ROOM),
        Status::INVALID_FIELD
    );
    assert_eq!(
        send(&mut drive, bytes.clone(), program + 1, ROOM),
        Status::NO_PROGRAM
    );
    let deactivated = drive.run(|host| async move {
        let device = host::tasks::TaskDevice::new(host.block().clone());
        device.with_programs_of(COMPUTE).deactivate(program).await
    });
    deactivated.expect("power").expect("it was active");
    assert_eq!(
        send(&mut drive, bytes, program, ROOM),
        Status::PROGRAM_NOT_ACTIVATED
    );
}

/// Requests with bytes changed at random do no harm: the drive answers, and files that none of them could name are as they
/// were.
#[test]
fn random_changes_of_requests_do_no_harm() {
    let mut drive = drive(&[]);
    let data: Vec<u8> = (0..8192_u32).map(|byte| byte as u8).collect();
    write_file(&mut drive, "kept", &data);
    let kept = drive.volume().get("kept").expect("power").expect("a file");
    let first = kept.extents[0].first;
    assert!(first > 1 << 8, "changes of one byte could name it");
    let program = drive
        .tasks()
        .load(&count(), Loading::default())
        .expect("room")
        .index;
    let whole = request(vec![file(0, 8, 4096), file(16, 8, 100)]);
    let bytes = whole.encode().expect("few files");
    let mut random = 0x1234_5678_9ABC_DEF1_u64;
    let mut draw = move |below: u64| {
        // Xorshift (Marsaglia).
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut carried_out, mut refused) = (0, 0);
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        for _ in 0..=draw(3) {
            let place = draw(changed.len() as u64) as usize;
            // The second byte of an extent's first block and those above would reach other files.
            let in_extents = place >= 64 + 2 * 16;
            let value = draw(256) as u8;
            changed[place] = match in_extents && !place.is_multiple_of(8) {
                true if value < 128 => 0,
                true => 0xFF,
                false => value,
            };
        }
        match send(&mut drive, changed, program, ROOM) {
            Status::SUCCESS => carried_out += 1,
            _ => refused += 1,
        }
    }
    assert!(
        carried_out > 100 && refused > 100,
        "{carried_out}, {refused}"
    );
    assert_eq!(drive.volume().read("kept").expect("it is there"), data);
}
