//! What stands in for a controller that is far: it takes entries out of the queues in host memory, sends them over a fabric
//! with their data, and puts what comes back where a controller beside would have put it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use device::frontend::AdminQueues;
use device::port::HostPort;
use host::Error;
use nvme::command::{CreateCompletionQueue, CreateSubmissionQueue, opcode};
use nvme::{
    AdminCommand, CommandId, CommandSet, CompletionEntry, Cursor, DataPointer, NamespaceId,
    QueueId, Ring, SegmentList, Status, SubmissionEntry, Transfers, is_of_memory_queues,
};
use sim::Sim;
use zerocopy::IntoBytes;

use super::fabric::{Capsule, Fabric, Response};

/// A controller behind a fabric, as the driver sees it.
pub(crate) struct Far {
    sim: Sim,
    host: HostPort,
    fabric: RefCell<Box<dyn Fabric>>,
    queues: RefCell<BTreeMap<u16, Queue>>,
    /// Completion queues that have no submission queue yet: address and entries.
    completions: RefCell<BTreeMap<u16, (u64, u32)>>,
    /// Why commands were last ended without an answer.
    reason: RefCell<Option<Error>>,
    /// Commands sent.
    sent: Cell<u64>,
    /// Namespaces of another command set than NVM.
    others: RefCell<Vec<(NamespaceId, CommandSet)>>,
}

/// A submission and a completion queue of the same number.
struct Queue {
    submission_base: u64,
    submission: Ring,
    completion_base: u64,
    completion: Cursor,
    /// Commands that were sent and are not answered.
    outstanding: BTreeMap<u16, Outstanding>,
}

/// Where the data of a command goes when it comes.
struct Outstanding {
    segments: SegmentList,
    incoming: usize,
    /// It may stay out for ever: the drive answers it when it has something to tell.
    is_event_request: bool,
}

impl Queue {
    fn new(submission: u64, completion: u64, entries: u32) -> Result<Queue, Status> {
        Ok(Queue {
            submission_base: submission,
            submission: Ring::new(entries)?,
            completion_base: completion,
            completion: Cursor::new(entries)?,
            outstanding: BTreeMap::new(),
        })
    }
}

impl Far {
    /// The controller that `fabric` leads to, for a driver with these admin queues.
    ///
    /// # Errors
    /// Admin queues of a size that queues do not have.
    pub(crate) fn new(
        sim: &Sim,
        fabric: Box<dyn Fabric>,
        host: HostPort,
        admin: AdminQueues,
    ) -> Result<Rc<Far>, Error> {
        let queue = Queue::new(admin.submission, admin.completion, admin.entries);
        let queue = queue.map_err(|status| Error::Usage(format!("admin queues: {status}")))?;
        Ok(Rc::new(Far {
            sim: sim.clone(),
            host,
            fabric: RefCell::new(fabric),
            queues: RefCell::new(BTreeMap::from([(0, queue)])),
            completions: RefCell::default(),
            reason: RefCell::default(),
            sent: Cell::new(0),
            others: RefCell::default(),
        }))
    }

    /// The drive it is, as messages call it.
    pub(crate) fn name(&self) -> String {
        self.fabric.borrow().name().to_owned()
    }

    /// How many I/O queues the controller gives, and the most entries of one.
    pub(crate) fn limits(&self) -> (u16, u32) {
        self.fabric.borrow().limits()
    }

    /// Says of what command set a namespace is, if not NVM.
    pub(crate) fn learn(&self, namespace: NamespaceId, set: CommandSet) {
        self.others.borrow_mut().push((namespace, set));
    }

    /// The command set of what is sent through a queue to a namespace.
    pub(super) fn set_of(&self, queue: QueueId, namespace: NamespaceId) -> CommandSet {
        if queue.get() == 0 {
            return CommandSet::Admin;
        }
        let others = self.others.borrow();
        let known = others.iter().find(|(other, _)| *other == namespace);
        known.map_or(CommandSet::Nvm, |(_, set)| *set)
    }

    /// The namespaces of other command sets than NVM, as far as they were learned.
    pub(super) fn other_sets(&self) -> Vec<(NamespaceId, CommandSet)> {
        self.others.borrow().clone()
    }

    /// Commands sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Whether an answer is to come: requests for events are no reason to wait.
    pub(crate) fn is_awaited(&self) -> bool {
        let queues = self.queues.borrow();
        let mut all = queues.values().flat_map(|queue| queue.outstanding.values());
        all.any(|command| !command.is_event_request)
    }

    /// Takes in what has come; with `wait`, some milliseconds are waited for the first.
    pub(crate) fn take_in(&self, mut wait: bool) {
        loop {
            let received = self.fabric.borrow_mut().receive(wait);
            match received {
                Ok(None) => return,
                Ok(Some(response)) => {
                    if let Err(error) = self.answered(&response) {
                        return self.fail(error);
                    }
                }
                Err(error) => return self.fail(error),
            }
            wait = false;
        }
    }

    /// Why a command ended, if that is all that its status says.
    pub(super) fn reason_of(&self, status: Status) -> Option<Error> {
        match status == Status::HOST_PATH_ERROR {
            true => self.reason.borrow().clone(),
            false => None,
        }
    }

    /// The tail of a submission queue has moved: what lies before it is sent.
    pub(super) fn ring_submission(&self, queue: QueueId, tail: u16) {
        while let Some(entry) = self.next_entry(queue, tail) {
            if let Err(status) = self.take(queue, entry) {
                self.complete(queue, ended(&entry, status));
            }
        }
    }

    fn next_entry(&self, queue: QueueId, tail: u16) -> Option<SubmissionEntry> {
        let mut queues = self.queues.borrow_mut();
        let queue = queues.get_mut(&queue.get())?;
        // The driver's own tail is one that can be; told again, it moves nothing.
        queue.submission.set_tail(tail).ok()?;
        let slot = queue.submission.consume()?;
        let address = queue.submission_base + u64::from(slot) * SubmissionEntry::BYTES as u64;
        let mut bytes = [0; SubmissionEntry::BYTES];
        let memory = self.host.memory.borrow();
        memory.read(address, &mut bytes).ok()?;
        Some(SubmissionEntry::from_bytes(bytes))
    }

    /// Sends a command, or answers it.
    ///
    /// # Errors
    /// How it ends if it cannot be sent.
    fn take(&self, queue: QueueId, entry: SubmissionEntry) -> Result<(), Status> {
        let is_admin = queue.get() == 0;
        if is_admin
            && let Ok(command) = AdminCommand::decode(&entry)
            && is_of_memory_queues(&command)
        {
            self.manage(&command)?;
            self.complete(queue, ended(&entry, Status::SUCCESS));
            return Ok(());
        }
        let set = self.set_of(queue, entry.namespace());
        let moved = Transfers::of_memory(set, &entry)?;
        let memory = self.host.memory.borrow();
        let (at_pointer, incoming) = (moved.at_data_pointer(), moved.to_host);
        let bytes = at_pointer.max(incoming).into();
        let segments = DataPointer::decode(&entry)?.segments(bytes, &*memory)?;
        let mut data = vec![0; moved.to_controller as usize];
        let (own, pointed) = data.split_at_mut(at_pointer as usize);
        segments.read(&*memory, own)?;
        if !pointed.is_empty() {
            memory.read(entry.metadata_pointer.get(), pointed)?;
        }
        drop(memory);
        let outstanding = Outstanding {
            segments,
            incoming: incoming as usize,
            is_event_request: is_admin && entry.opcode == opcode::ASYNC_EVENT_REQUEST,
        };
        let before = self.with(queue, |queue| {
            queue.outstanding.insert(entry.command().get(), outstanding)
        });
        debug_assert!(before.flatten().is_none(), "identifiers are the driver's");
        self.sent.set(self.sent.get() + 1);
        let capsule = Capsule::new(entry, data, moved);
        let sent = self.fabric.borrow_mut().send(queue, capsule);
        if let Err(error) = sent {
            self.fail(error);
        }
        Ok(())
    }

    /// Makes a queue, which over fabrics a connection of its own is.
    fn manage(&self, command: &AdminCommand) -> Result<(), Status> {
        match command {
            AdminCommand::CreateCompletionQueue(CreateCompletionQueue {
                queue,
                base,
                size,
                ..
            }) => {
                let place = (*base, *size);
                self.completions.borrow_mut().insert(queue.get(), place);
                Ok(())
            }
            AdminCommand::CreateSubmissionQueue(create) => self.open(create),
            // The driver keeps its queues as long as it lives.
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn open(&self, create: &CreateSubmissionQueue) -> Result<(), Status> {
        let number = create.queue.get();
        let place = self.completions.borrow().get(&number).copied();
        let (completion, _) = place.ok_or(Status::INVALID_COMPLETION_QUEUE)?;
        let queue = Queue::new(create.base, completion, create.size)?;
        let opened = self
            .fabric
            .borrow_mut()
            .open_queue(create.queue, create.size);
        if let Err(error) = opened {
            self.reason.replace(Some(error));
            return Err(Status::HOST_PATH_ERROR);
        }
        self.queues.borrow_mut().insert(number, queue);
        Ok(())
    }

    /// A command was answered.
    fn answered(&self, response: &Response) -> Result<(), Error> {
        let (queue, command) = (response.queue, response.completion.command().get());
        let sent = self.with(queue, |queue| queue.outstanding.remove(&command));
        let sent = sent.flatten().ok_or_else(|| {
            let number = queue.get();
            Error::Protocol(format!(
                "{}: a response to command {command} of queue {number}, which is not outstanding",
                self.name()
            ))
        })?;
        if response.data.len() > sent.incoming {
            let (came, room) = (response.data.len(), sent.incoming);
            self.complete(queue, lost(CommandId::new(command)));
            return Err(Error::Protocol(format!(
                "{}: {came} bytes of data for a command with room for {room}",
                self.name()
            )));
        }
        // The driver's buffers are there until their commands are over.
        let written = {
            let memory = &mut *self.host.memory.borrow_mut();
            sent.segments.write(memory, &response.data)
        };
        debug_assert!(written.is_ok(), "the data was in memory as it was sent");
        self.complete(queue, response.completion);
        Ok(())
    }

    /// Nothing that was sent is answered any more.
    fn fail(&self, error: Error) {
        self.reason.replace(Some(error));
        let mut gone = Vec::new();
        for (number, queue) in self.queues.borrow_mut().iter_mut() {
            let commands = std::mem::take(&mut queue.outstanding);
            gone.extend(commands.into_keys().map(|command| (*number, command)));
        }
        for (number, command) in gone {
            self.complete(QueueId::new(number), lost(CommandId::new(command)));
        }
    }

    /// Puts a completion where the driver looks for it, and tells the driver.
    fn complete(&self, number: QueueId, completion: CompletionEntry) {
        let placed = self.with(number, |queue| {
            let slot = u64::from(queue.completion.index());
            let address = queue.completion_base + slot * CompletionEntry::BYTES as u64;
            let (dw0, dw1) = (completion.dw0.get(), completion.dw1.get());
            let entry = CompletionEntry::new(
                completion.command(),
                number,
                queue.submission.head(),
                completion.status(),
                queue.completion.phase(),
            );
            queue.completion.advance();
            (address, entry.with_results(dw0, dw1))
        });
        let Some((address, entry)) = placed else {
            return;
        };
        let written = self
            .host
            .memory
            .borrow_mut()
            .write(address, entry.as_bytes());
        if written.is_ok() {
            (self.host.interrupt)(number, self.sim.now());
        }
    }

    fn with<T>(&self, queue: QueueId, work: impl FnOnce(&mut Queue) -> T) -> Option<T> {
        self.queues.borrow_mut().get_mut(&queue.get()).map(work)
    }
}

fn ended(entry: &SubmissionEntry, status: Status) -> CompletionEntry {
    CompletionEntry::new(entry.command(), QueueId::new(0), 0, status, false)
}

fn lost(command: CommandId) -> CompletionEntry {
    CompletionEntry::new(command, QueueId::new(0), 0, Status::HOST_PATH_ERROR, false)
}
