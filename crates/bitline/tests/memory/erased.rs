//! What is left of memory, sets and programs when the power goes, and after formats and sanitize operations.

use bitline::inside::InsideHost;
use bitline::{Drive, Loading, Status};
use nvme::command::{FormatNvm, SecureErase};
use nvme::{AdminCommand, BROADCAST_NAMESPACE, CommandId, NamespaceId};

use crate::{BYTES, COMPUTE, MEMORY, drive, load, scale, sent, status};

/// Memory that is not zero, a set, and a program that is kept.
fn filled() -> Drive {
    let mut drive = drive(&[]);
    drive.write(0, &[5; 512]).expect("it fits");
    drive.memory().write(4096, &[7; 4096]).expect("it fits");
    drive.memory().create_ranges(&[0..4096]).expect("a set");
    let loading = Loading {
        persistent: true,
        ..Loading::default()
    };
    drive.tasks().load(&scale(), loading).expect("room");
    load(&mut drive, &crate::fails(1));
    drive
}

/// Whether the memory is zero, sets that there are, and programs.
fn left(drive: &mut Drive) -> (bool, usize, usize) {
    let memory = drive.memory().read(0, BYTES).expect("it is there");
    let sets = drive.memory().range_sets().expect("it says so").len();
    let programs = drive.tasks().list().expect("it says so").programs.len();
    (memory.iter().all(|byte| *byte == 0), sets, programs)
}

fn format(drive: &mut Drive, namespace: NamespaceId, format: u8, erase: SecureErase) -> Status {
    let command = AdminCommand::FormatNvm(FormatNvm {
        namespace,
        format,
        metadata_inline: false,
        protection: 0,
        secure_erase: erase,
    });
    sent(drive, command.encode(CommandId::new(0)), true).status()
}

#[test]
fn power_cuts_leave_programs_that_are_kept_and_nothing_else() {
    let mut drive = filled();
    assert_eq!(left(&mut drive), (false, 1, 2));
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(left(&mut drive), (true, 0, 1));
    assert_eq!(drive.read(0, 1).expect("it is there"), [5; 512]);
    let program = load(&mut drive, &scale());
    let ranges = bitline::RunRanges::These(vec![0..64, 64..128]);
    let run = bitline::MemoryRun::over(ranges);
    assert_eq!(drive.memory().run(&program, &run).expect("it ends well"), 0);
}

#[test]
fn a_format_empties_the_namespace_that_it_names() {
    let mut drive = filled();
    let before = drive.now();
    let done = format(&mut drive, MEMORY, 0, SecureErase::None);
    assert_eq!(done, Status::SUCCESS);
    assert_eq!(left(&mut drive), (true, 1, 2));
    // All of it was written, 4 bytes at 3.2 GHz each.
    let passed = drive.now().since(before).as_seconds();
    assert!(passed > BYTES as f64 / 12.8e9, "{passed} s");
    drive.memory().write(0, &[1; 4]).expect("it fits");
    let done = format(&mut drive, COMPUTE, 0, SecureErase::UserData);
    assert_eq!(done, Status::SUCCESS);
    assert_eq!(left(&mut drive), (false, 0, 0));
    assert_eq!(drive.read(0, 1).expect("it is there"), [5; 512]);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(left(&mut drive), (true, 0, 0), "it is gone for good");
}

#[test]
fn a_format_of_everything_takes_memory_and_programs_with_it() {
    let mut drive = filled();
    let done = format(&mut drive, BROADCAST_NAMESPACE, 0, SecureErase::None);
    assert_eq!(done, Status::SUCCESS);
    assert_eq!(left(&mut drive), (true, 0, 0));
}

#[test]
fn formats_that_cannot_be_change_nothing() {
    let mut drive = filled();
    for namespace in [MEMORY, COMPUTE] {
        let other = format(&mut drive, namespace, 3, SecureErase::None);
        assert_eq!(other, Status::INVALID_FORMAT);
        let keys = format(&mut drive, namespace, 0, SecureErase::Cryptographic);
        assert_eq!(keys, Status::INVALID_FIELD);
    }
    assert_eq!(left(&mut drive), (false, 1, 2));
}

#[test]
fn a_sanitize_operation_takes_memory_sets_and_programs_with_it() {
    let mut drive = filled();
    let sanitized = drive.run(|host| async move {
        let admin = host.admin();
        admin.sanitize().await.expect("it begins");
        let queue = host.queue(0).expect("a queue");
        let memory = host.memory().await.expect("it is there");
        let refused = memory.read(0, 4).await;
        while admin
            .sanitize_status()
            .await
            .expect("it says so")
            .is_in_progress()
        {
            host.sim().sleep(sim::Span::from_us(100)).await;
        }
        drop(queue);
        refused
    });
    let refused = sanitized.expect("power").map_err(bitline::Error::from);
    assert_eq!(status(refused), Status::SANITIZE_IN_PROGRESS);
    assert_eq!(left(&mut drive), (true, 0, 0));
}
