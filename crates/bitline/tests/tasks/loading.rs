//! Programs loaded in chunks, activated, listed, unloaded, and what each may be followed by.

use bitline::inside::{InsideHost, send_raw_admin};
use bitline::{Drive, Error, Loading, ProgramState, Status, TaskError, TaskRun};
use host::Buffer;
use host::tasks::TaskDevice;
use nvme::command::{LoadProgram, WEB_ASSEMBLY};
use nvme::{AdminCommand, CommandId};

use crate::modules::{echo, module};
use crate::{COMPUTE, drive, drive_status, status, with_device};

/// A chunk as it is sent: offset, what of the module, and how long the program is said to be.
#[derive(Clone)]
struct Chunk {
    index: u16,
    offset: u32,
    bytes: Vec<u8>,
    program_bytes: u32,
    program_type: u8,
    persistent: bool,
}

impl Chunk {
    fn of(module: &[u8], from: usize, to: usize) -> Chunk {
        Chunk {
            index: 0,
            offset: from as u32,
            bytes: module[from..to].to_vec(),
            program_bytes: module.len() as u32,
            program_type: WEB_ASSEMBLY,
            persistent: false,
        }
    }
}

fn send(drive: &mut Drive, chunk: &Chunk) -> Status {
    let chunk = chunk.clone();
    let sent = drive.run(|host| async move {
        let queue = host.queue(0).expect("a queue");
        let memory = host::Transport::memory(&queue).clone();
        let buffer = Buffer::holding(&memory, &chunk.bytes).expect("room");
        let command = AdminCommand::LoadProgram(LoadProgram {
            namespace: COMPUTE,
            program: chunk.index,
            program_type: chunk.program_type,
            unload: false,
            persistent: chunk.persistent,
            program_bytes: chunk.program_bytes,
            identifier: 5,
            chunk_bytes: chunk.bytes.len() as u32,
            offset: chunk.offset,
            data: buffer.pointer(chunk.bytes.len() as u32),
        });
        send_raw_admin(&queue, command.encode(CommandId::new(0))).await
    });
    sent.expect("power").expect("an answer")
}

#[test]
fn chunks_come_in_order_and_without_gaps() {
    let mut drive = drive(&[]);
    let echo = echo();
    let end = echo.len();
    let part = |from, to| Chunk::of(&echo, from, to);
    assert_eq!(
        send(&mut drive, &part(100, 200)),
        Status::INVALID_FIELD,
        "no first one"
    );
    assert_eq!(send(&mut drive, &part(0, 100)), Status::SUCCESS);
    assert_eq!(
        send(&mut drive, &part(150, 200)),
        Status::INVALID_FIELD,
        "a gap"
    );
    assert_eq!(
        send(&mut drive, &part(50, 200)),
        Status::INVALID_FIELD,
        "again"
    );
    let other = Chunk {
        program_bytes: end as u32 + 1,
        ..part(100, 200)
    };
    assert_eq!(
        send(&mut drive, &other),
        Status::INVALID_FIELD,
        "another program"
    );
    let longer = Chunk {
        bytes: vec![0; end],
        ..part(100, 200)
    };
    assert_eq!(
        send(&mut drive, &longer),
        Status::INVALID_FIELD,
        "beyond its end"
    );
    let list = drive.tasks().list().expect("a list");
    let [program] = &list.programs[..] else {
        panic!("one program: {list:?}");
    };
    assert_eq!(program.state(), Some(ProgramState::Loading));
    assert_eq!(
        (program.loaded_bytes.get(), program.bytes.get()),
        (100, end as u32)
    );
    let early = with_device(&mut drive, async |device| device.activate(0).await);
    assert_eq!(status(early), Status::NO_PROGRAM, "not all of it is there");
    assert_eq!(send(&mut drive, &part(100, end)), Status::SUCCESS);
    assert_eq!(send(&mut drive, &part(0, 100)), Status::PROGRAM_IN_USE);
    with_device(&mut drive, async |device| device.activate(0).await).expect("a module");
    let again = with_device(&mut drive, async |device| device.activate(0).await);
    assert_eq!(again, Ok(()), "it is active already");
    with_device(&mut drive, async |device| device.deactivate(0).await).expect("it was active");
    let inactive = with_device(&mut drive, async |device| device.deactivate(0).await);
    assert_eq!(status(inactive), Status::PROGRAM_NOT_ACTIVATED);
}

#[test]
fn what_a_namespace_may_not_have_is_refused() {
    let mut drive = drive(&[
        ("task.quota.programs", "3"),
        ("task.quota.program_bytes", "5000"),
        ("task.quota.persistent_bytes", "1000"),
        ("task.module_bytes", "4000"),
    ]);
    let program = |index, bytes: usize, persistent| Chunk {
        index,
        persistent,
        ..Chunk::of(&vec![7; bytes], 0, bytes)
    };
    assert_eq!(
        send(&mut drive, &program(3, 10, false)),
        Status::INVALID_PROGRAM_INDEX
    );
    let ebpf = Chunk {
        program_type: 1,
        ..program(0, 10, false)
    };
    assert_eq!(send(&mut drive, &ebpf), Status::INVALID_PROGRAM_TYPE);
    assert_eq!(
        send(&mut drive, &program(0, 4001, false)),
        Status::PROGRAM_TOO_BIG
    );
    assert_eq!(
        send(&mut drive, &program(0, 1001, true)),
        Status::PROGRAM_TOO_BIG
    );
    assert_eq!(send(&mut drive, &program(0, 4000, false)), Status::SUCCESS);
    let full = Status::MAXIMUM_PROGRAM_BYTES_EXCEEDED;
    assert_eq!(send(&mut drive, &program(1, 1001, false)), full);
    assert_eq!(send(&mut drive, &program(1, 1000, true)), Status::SUCCESS);
    let list = drive.tasks().list().expect("a list");
    assert_eq!(list.limits.bytes.get(), 5000);
    assert_eq!(list.limits.programs_max.get(), 3);
    drive.tasks().unload(0).expect("it is there");
    assert_eq!(drive_status(drive.tasks().unload(0)), Status::NO_PROGRAM);
    let (a, b) = (module("(i32.const 1)"), module("(i32.const 2)"));
    let first = drive.tasks().load(&a, Loading::default()).expect("room");
    let second = drive.tasks().load(&b, Loading::default()).expect("room");
    assert_eq!((first.index, second.index), (0, 2));
    let third = drive.tasks().load(&echo(), Loading::default());
    assert!(third.unwrap_err().to_string().contains("unload one first"));
}

/// A module that cannot run is told why, and does not stay.
#[test]
fn a_broken_module_is_told_what_is_wrong_with_it() {
    let mut drive = drive(&[]);
    let mut told = |module: &[u8]| match drive.tasks().load(module, Loading::default()) {
        Err(Error::Task(TaskError::Module(reason))) => reason,
        other => panic!("{other:?}"),
    };
    let no_module = told(b"this is a text");
    assert!(no_module.contains("no WebAssembly module"), "{no_module}");
    let echo = echo();
    let cut = told(&echo[..echo.len() - 9]);
    assert!(cut.contains("byte"), "{cut}");
    let text = r#"(module (import "env" "now" (func (result i64))) (memory (export "memory") 1)
        (func (export "isc_main") (result i32) (i32.const 0)))"#;
    let import = told(&wat::parse_str(text).expect("a module"));
    assert!(import.contains("\"env\" \"now\""), "{import}");
    assert_eq!(drive.tasks().list().expect("a list").programs, []);
}

#[test]
fn a_module_is_loaded_once() {
    let mut drive = drive(&[]);
    let echo = echo();
    let first = drive.tasks().load(&echo, Loading::default()).expect("room");
    let again = drive.tasks().load(&echo, Loading::default()).expect("room");
    assert_eq!(first, again);
    for _ in 0..3 {
        let outcome = drive.tasks().run_module(&echo, &TaskRun::default());
        outcome.expect("it runs");
    }
    let list = drive.tasks().list().expect("a list");
    let [program] = &list.programs[..] else {
        panic!("one program: {list:?}");
    };
    assert_eq!((program.runs.get(), program.running.get()), (3, 0));
    // Another owner of the namespace unloads it; whoever runs the module loads it anew.
    with_device(&mut drive, async |device| device.unload(0).await).expect("it is there");
    let outcome = drive.tasks().run_module(&echo, &TaskRun::default());
    outcome.expect("it is loaded again");
    let stale = with_device(&mut drive, async |device: TaskDevice<_>| {
        device.unload(0).await?;
        device.run(0, &nvme::task::Request::default()).await
    });
    assert_eq!(status(stale), Status::NO_PROGRAM);
}

/// Modules of the same length, which their owner calls the same, are two programs.
#[test]
fn modules_are_known_by_what_they_are() {
    let mut drive = drive(&[]);
    let module = |value: u8| {
        let value = format!(
            "(i32.store8 (i32.const 0) (i32.const {value}))
             (drop (call $put_ret (i32.const 0) (i32.const 1)))
             (i32.const 0)"
        );
        module(&value)
    };
    let modules = [1, 2, 1].map(module);
    assert_eq!(modules[0].len(), modules[1].len());
    for identifier in [0, 9] {
        let loading = Loading {
            identifier,
            ..Loading::default()
        };
        let programs: Vec<_> = modules
            .iter()
            .map(|module| drive.tasks().load(module, loading).expect("room"))
            .collect();
        assert_ne!(programs[0].index, programs[1].index);
        assert_eq!(programs[0].index, programs[2].index);
        for (program, value) in programs.iter().zip([1, 2, 1]) {
            let outcome = drive.tasks().run(program, &TaskRun::default());
            assert_eq!(outcome.expect("begun").value, [value]);
        }
    }
    for (module, value) in modules.iter().zip([1, 2, 1]) {
        let outcome = drive.tasks().run_module(module, &TaskRun::default());
        assert_eq!(outcome.expect("begun").value, [value]);
    }
}

/// Whoever has a program that was unloaded does not run what has its index now.
#[test]
fn a_program_that_is_gone_is_not_another() {
    let mut drive = drive(&[]);
    let gone = drive.tasks().load(&echo(), Loading::default());
    let gone = gone.expect("room");
    drive.tasks().unload(gone.index).expect("it is there");
    let other = module("(i32.const 3)");
    let other = drive.tasks().load(&other, Loading::default());
    assert_eq!(other.expect("room").index, gone.index);
    let run = drive.tasks().run(&gone, &TaskRun::default());
    assert_eq!(drive_status(run), Status::NO_PROGRAM);
    let run = drive.tasks().run_module(&echo(), &TaskRun::default());
    assert_eq!(
        run.expect("it is loaded anew").ended,
        bitline::Ended::Committed
    );
}
