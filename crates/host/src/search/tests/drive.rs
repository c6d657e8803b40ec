//! A drive that is nothing but its search regions. What it answers can be changed on the way.

use std::cell::RefCell;
use std::rc::Rc;

use nvme::identify::Cns;
use nvme::{
    AdminCommand, CommandId, CompletionEntry, DataPointer, HostMemory, IoCommand, QueueId,
    SearchCommand, Status, SubmissionEntry,
};
use zerocopy::IntoBytes;

use super::model::Model;
use crate::buffer::Memory;
use crate::described;
use crate::error::Error;
use crate::transport::Transport;

/// Bytes that a command transfers at most.
pub(super) const TRANSFER_BYTES: u64 = 8192;

/// What becomes of an answer: a status, DW0 and DW1.
type Twist =
    Box<dyn FnMut(&SearchCommand, Result<(u32, u32), Status>) -> Result<(u32, u32), Status>>;

#[derive(Clone)]
pub(super) struct LookupDrive {
    memory: Memory,
    pub(super) model: Rc<RefCell<Model>>,
    twist: Rc<RefCell<Option<Twist>>>,
    /// The commands that it was sent, by name.
    log: Rc<RefCell<Vec<&'static str>>>,
}

impl LookupDrive {
    pub(super) fn new() -> LookupDrive {
        LookupDrive {
            memory: Rc::new(RefCell::new(HostMemory::new())),
            model: Rc::default(),
            twist: Rc::default(),
            log: Rc::default(),
        }
    }

    /// Has answers changed.
    pub(super) fn twist(
        &self,
        twist: impl FnMut(&SearchCommand, Result<(u32, u32), Status>) -> Result<(u32, u32), Status>
        + 'static,
    ) {
        self.twist.replace(Some(Box::new(twist)));
    }

    pub(super) fn take_log(&self) -> Vec<&'static str> {
        self.log.take()
    }
}

impl Transport for LookupDrive {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    async fn admin(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let Ok(AdminCommand::Identify(identify)) = AdminCommand::decode(entry) else {
            panic!("nothing else is asked");
        };
        let page = match identify.cns {
            Cns::Namespace => described::namespace(2048, 1).as_bytes().to_vec(),
            Cns::Controller => described::controller("names", 2048).as_bytes().to_vec(),
            other => panic!("nobody asks for {other:?}"),
        };
        let DataPointer::Sgl { address, .. } = identify.data else {
            panic!("the library sends SGLs");
        };
        let memory = &mut *self.memory.borrow_mut();
        let into = memory.slice_mut(address, page.len() as u64);
        into.expect("a buffer").copy_from_slice(&page);
        Ok(completed(Ok((0, 0))))
    }

    async fn io(&self, entry: &SubmissionEntry) -> Result<CompletionEntry, Error> {
        let Ok(IoCommand::Search(command)) = IoCommand::decode(entry) else {
            panic!("only names and values are here");
        };
        self.log.borrow_mut().push(name(&command));
        let moved = match &command {
            SearchCommand::Append(append) => transferred(append.data),
            SearchCommand::Update(update) => transferred(update.append.data),
            SearchCommand::Lookup(lookup) => transferred(lookup.data),
            SearchCommand::LookupContinue(lookup) => transferred(lookup.data),
            _ => 0,
        };
        assert!(moved <= TRANSFER_BYTES, "{command:?}");
        let answer = {
            let memory = &mut *self.memory.borrow_mut();
            self.model.borrow_mut().carry_out(command, memory)
        };
        let twisted = match &mut *self.twist.borrow_mut() {
            Some(twist) => twist(&command, answer),
            None => answer,
        };
        Ok(completed(twisted))
    }
}

fn name(command: &SearchCommand) -> &'static str {
    match command {
        SearchCommand::Allocate(_) => "allocate",
        SearchCommand::Deallocate(_) => "deallocate",
        SearchCommand::Append(_) => "append",
        SearchCommand::Update(_) => "update",
        SearchCommand::SimpleLookup(_) => "simple lookup",
        SearchCommand::Lookup(_) => "lookup",
        SearchCommand::LookupContinue(_) => "continue",
        SearchCommand::Delete(_) => "delete",
        SearchCommand::Report(_) => "report",
    }
}

fn transferred(data: DataPointer) -> u64 {
    match data {
        DataPointer::Sgl { length, .. } => length.into(),
        DataPointer::Prp { .. } => 0,
    }
}

fn completed(answer: Result<(u32, u32), Status>) -> CompletionEntry {
    let status = answer.err().unwrap_or(Status::SUCCESS);
    let (dw0, dw1) = answer.unwrap_or_default();
    let mut entry = CompletionEntry::new(CommandId::new(0), QueueId::new(1), 0, status, true);
    entry.dw0.set(dw0);
    entry.dw1.set(dw1);
    entry
}
