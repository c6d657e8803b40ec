//! Tasks against a drive of a few lines: it puts chunks together, runs nothing, and tells what it was asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use nvme::command::{GetLogPage, LoadProgram, LogPageId};
use nvme::identify::Cns;
use nvme::task::{Ended, Extent, File, Outcome, ProgramList, ProgramRecord, Request};
use nvme::{
    AdminCommand, CommandId, CompletionEntry, DataPointer, IoCommand, Lba, NamespaceId, QueueId,
    Status, SubmissionEntry,
};
use zerocopy::IntoBytes;

use super::{Context, Loading, TaskDevice, TaskError};
use crate::block::BlockDevice;
use crate::buffer::Memory;
use crate::described;
use crate::error::Error;
use crate::transport::Transport;

/// Bytes that a command transfers at most.
const TRANSFER_BYTES: u64 = 8192;
/// Programs of which there is room.
const PROGRAMS: u32 = 2;

#[derive(Clone, Default)]
struct TaskDrive {
    memory: Memory,
    programs: Rc<RefCell<BTreeMap<u16, Vec<u8>>>>,
    active: Rc<RefCell<Vec<u16>>>,
}

impl TaskDrive {
    fn device(&self) -> TaskDevice<TaskDrive> {
        let block = BlockDevice::open(self.clone(), NamespaceId::new(1));
        TaskDevice::new(now(block).expect("it identifies itself"))
    }

    fn put(&self, data: DataPointer, bytes: &[u8]) {
        let DataPointer::Sgl { address, length } = data else {
            panic!("the library sends SGLs");
        };
        let count = bytes.len().min(length as usize);
        let mut memory = self.memory.borrow_mut();
        let into = memory.slice_mut(address, count as u64).expect("a buffer");
        into.copy_from_slice(&bytes[..count]);
    }

    fn get(&self, data: DataPointer, bytes: u32) -> Vec<u8> {
        let DataPointer::Sgl { address, length } = data else {
            panic!("the library sends SGLs");
        };
        assert!(bytes <= length && u64::from(length) <= TRANSFER_BYTES);
        let memory = self.memory.borrow();
        memory
            .slice(address, bytes.into())
            .expect("a buffer")
            .to_vec()
    }

    fn load(&self, load: &LoadProgram) -> Status {
        let mut programs = self.programs.borrow_mut();
        if load.unload {
            return match programs.remove(&load.program) {
                Some(_) => Status::SUCCESS,
                None => Status::NO_PROGRAM,
            };
        }
        let program = programs.entry(load.program).or_default();
        if program.len() != load.offset as usize {
            return Status::INVALID_FIELD;
        }
        program.extend(self.get(load.data, load.chunk_bytes));
        Status::SUCCESS
    }

    /// The list, or why the module of a program is none.
    fn log(&self, get: &GetLogPage) {
        assert_eq!(
            (get.page, get.namespace.get()),
            (LogPageId::PROGRAM_DETAILS, 1)
        );
        if get.specific_id > 0 {
            return self.put(get.data, b"byte 3 is no module's");
        }
        let mut list = ProgramList::default();
        list.limits.programs_max.set(PROGRAMS);
        for (index, module) in &*self.programs.borrow() {
            let mut record = ProgramRecord::default();
            record.index.set(*index);
            record.bytes.set(module.len() as u32);
            list.programs.push(record);
        }
        self.put(get.data, &list.encode());
    }
}

impl Transport for TaskDrive {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let status = match AdminCommand::decode(entry).expect("a command") {
            AdminCommand::Identify(identify) => {
                let page = match identify.cns {
                    Cns::Namespace => described::namespace(4096, 1).as_bytes().to_vec(),
                    Cns::Controller => described::controller("tasks", 4096).as_bytes().to_vec(),
                    other => panic!("nobody asks for {other:?}"),
                };
                self.put(identify.data, &page);
                Status::SUCCESS
            }
            AdminCommand::LoadProgram(load) => self.load(&load),
            AdminCommand::ProgramActivation(activation) => {
                let programs = self.programs.borrow();
                match programs.get(&activation.program) {
                    None => Status::NO_PROGRAM,
                    Some(module) if module.starts_with(b"no module") => {
                        Status::INVALID_PROGRAM_DATA
                    }
                    Some(_) => {
                        self.active.borrow_mut().push(activation.program);
                        Status::SUCCESS
                    }
                }
            }
            AdminCommand::GetLogPage(get) => {
                self.log(&get);
                Status::SUCCESS
            }
            other => panic!("nobody sends {other:?}"),
        };
        Ok(completed(status, 0))
    }

    async fn io(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let Ok(IoCommand::Execute(execute)) = IoCommand::decode(entry) else {
            panic!("nothing but runs is here");
        };
        if !self.active.borrow().contains(&execute.program) {
            return Ok(completed(Status::PROGRAM_NOT_ACTIVATED, 0));
        }
        let request = self.get(execute.data, execute.request_bytes);
        let request = Request::decode(&request).expect("a request");
        let mut outcome = Outcome::not_begun(Ended::Committed, "");
        outcome.value = request.arguments.clone();
        outcome.log = format!("{} files", request.files.len());
        outcome.attempts = 1;
        let bytes = outcome.encode();
        assert!(bytes.len() as u32 <= execute.result_bytes);
        self.put(execute.data, &bytes);
        Ok(completed(Status::SUCCESS, bytes.len() as u32))
    }
}

fn completed(status: Status, dw1: u32) -> CompletionEntry {
    let mut entry = CompletionEntry::new(CommandId::new(0), QueueId::new(1), 0, status, true);
    entry.dw1.set(dw1);
    entry
}

/// Runs what never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut std::task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the drive of these tests answers at once"),
    }
}

fn file(first: u64, blocks: u64) -> File {
    File {
        bytes: blocks * 512,
        writable: true,
        extents: vec![Extent {
            first: Lba::new(first),
            blocks,
        }],
    }
}

#[test]
fn a_program_is_loaded_in_chunks_and_run() {
    let drive = TaskDrive::default();
    let device = drive.device();
    let module: Vec<u8> = (0..20_000u32).map(|byte| byte as u8).collect();
    let first = now(device.load(&module, Loading::default())).expect("there is room");
    let second = now(device.load(b"other", Loading::default())).expect("there is room");
    assert_eq!((first, second), (0, 1), "the first that is free");
    assert_eq!(drive.programs.borrow()[&0], module);
    let full = now(device.load(b"third", Loading::default())).unwrap_err();
    assert!(full.to_string().contains("unload one first"), "{full}");

    let mut context = Context::new(&device, first);
    assert_eq!(context.register_file(file(8, 8)), 0);
    assert_eq!(context.register_file(file(32, 8)), 1);
    context.put_args(b"left ");
    context.put_args(b"right");
    let early = now(context.run_task()).unwrap_err();
    assert!(early.is_status(Status::PROGRAM_NOT_ACTIVATED), "{early}");
    assert_eq!(context.get_ret(), b"");
    now(device.activate(first)).expect("a module");
    assert_eq!(now(context.run_task()), Ok(Ended::Committed));
    assert_eq!(context.get_ret(), b"left right", "what this drive returns");
    let log = context.outcome().map(|outcome| outcome.log.clone());
    assert_eq!(log.as_deref(), Some("2 files"));
    now(device.unload(second)).expect("it was there");
    let gone = now(device.unload(second)).unwrap_err();
    assert!(gone.is_status(Status::NO_PROGRAM), "{gone}");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_sent() {
    let drive = TaskDrive::default();
    let device = drive.device();
    assert!(matches!(
        now(device.load(b"", Loading::default())),
        Err(TaskError::Usage(_))
    ));
    let run = |change: fn(&mut Request)| {
        let mut request = Request::default();
        change(&mut request);
        now(device.run(0, &request)).unwrap_err().to_string()
    };
    let overlap = run(|request| request.files = vec![file(8, 8), file(15, 2)]);
    assert!(
        overlap.contains("block 15 belongs to file 0 and to file 1"),
        "{overlap}"
    );
    let beyond = run(|request| request.files = vec![file(4090, 8)]);
    assert!(beyond.contains("8 blocks from 4090 on"), "{beyond}");
    let value = run(|request| request.limits.return_bytes = 8192);
    assert!(value.contains("a value of 8192 bytes"), "{value}");
    let arguments = run(|request| request.arguments = vec![0; 8192]);
    assert!(arguments.contains("8192 bytes of arguments"), "{arguments}");
}

#[test]
fn what_is_wrong_with_a_module_is_told() {
    let drive = TaskDrive::default();
    let device = drive.device();
    let index = now(device.load(b"no module at all", Loading::default())).expect("it is taken");
    let refused = now(device.activate(index));
    assert_eq!(
        refused,
        Err(TaskError::Module("byte 3 is no module's".into()))
    );
}
