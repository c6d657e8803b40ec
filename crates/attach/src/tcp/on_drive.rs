//! On the drive's thread: commands that have come over connections go through the drive's queue pairs, like those of any host.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use bitline::inside::{Durable, InsideHost, Queue};
use host::{Buffer, LentBuffer, Transport};
use nvme::command::{LogPageId, opcode};
use nvme::{AsyncEvent, CommandSet, DataPointer, Status, SubmissionEntry, Transfers};
use sim::{Either, JoinHandle, resource::Signal, select};

use super::mailbox::Mailbox;
use super::message::{Done, DriveCommand, Order, Ticket, Told};
use super::options::ServerError;
use crate::engine::{Kind, Served};

/// FUA, bit 30 of CDW12.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Bytes of a log page that is read so that its events are told again.
const LOG_BYTES: usize = 512;

/// What a server keeps on the drive's thread.
pub(super) struct OnDrive {
    served: Served,
    queues: Vec<Queue>,
    durable: Durable,
    mailbox: Arc<Mailbox>,
    /// Commands that may be broken off.
    running: RefCell<BTreeMap<Ticket, JoinHandle<()>>>,
    is_stopped: Cell<bool>,
    stop: Signal,
}

/// A command that is told to be done whatever becomes of it.
struct Promise {
    mailbox: Arc<Mailbox>,
    done: Option<Done>,
}

impl OnDrive {
    /// A server begins, whose connections hear of commands by the mailbox.
    pub(super) fn new(served: &Served, mailbox: &Arc<Mailbox>) -> Result<OnDrive, ServerError> {
        let host = served.host();
        let queue = |pair| host.queue(pair);
        let queues: Result<Vec<Queue>, _> = (0..host.queue_pairs()).map(queue).collect();
        Ok(OnDrive {
            queues: queues.map_err(|error| ServerError::Drive(error.to_string()))?,
            durable: served.durable().clone(),
            served: served.clone(),
            mailbox: mailbox.clone(),
            running: RefCell::default(),
            is_stopped: Cell::new(false),
            stop: Signal::new(served.sim()),
        })
    }

    /// Does what came.
    pub(super) fn take(self: &std::rc::Rc<OnDrive>, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Command(command) => self.begin(command),
                Order::ShutDown(controller, epoch) => {
                    let own = self.clone();
                    self.served
                        .spawn(async move { own.shut_down(controller, epoch).await });
                }
                Order::Cancel(ticket) => {
                    let running = self.running.borrow_mut().remove(&ticket);
                    if let Some(running) = running {
                        running.abort();
                    }
                }
            }
        }
    }

    /// No more events are told, and what could run for long is broken off.
    pub(super) fn stop(&self) {
        self.is_stopped.set(true);
        self.stop.ring();
        for (_, running) in std::mem::take(&mut *self.running.borrow_mut()) {
            running.abort();
        }
    }

    fn begin(self: &std::rc::Rc<OnDrive>, command: Box<DriveCommand>) {
        let (own, ticket) = (self.clone(), command.ticket);
        if command.set.may_last(command.entry.opcode) {
            let running = self.served.sim().spawn(async move {
                own.carry_out(command).await;
                own.running.borrow_mut().remove(&ticket);
            });
            if !running.is_finished() {
                self.running.borrow_mut().insert(ticket, running);
            }
            return;
        }
        self.served
            .spawn(async move { own.carry_out(command).await });
    }

    async fn carry_out(&self, command: Box<DriveCommand>) {
        let DriveCommand {
            ticket,
            set,
            pair,
            mut entry,
            transfers,
            data,
        } = *command;
        let begun = self.served.begin(kind_of(set, entry.opcode));
        let counted = data.as_ref().map_or(0, |data| data.len() as u64);
        let mut promise = Promise {
            mailbox: self.mailbox.clone(),
            done: Some(Done {
                ticket,
                status: Status::ABORT_REQUESTED,
                results: [0, 0],
                data: None,
                counted,
            }),
        };
        let queue = &self.queues[usize::from(pair) % self.queues.len()];
        let lent = data.map(|data| LentBuffer::new(queue.memory(), data));
        let length = transfers.to_controller.max(transfers.to_host);
        let moved = match transfers.is_two_way() {
            true => transfers.to_host,
            false => length,
        };
        place(set, &mut entry, lent.as_deref(), &layout_of(&transfers));
        let completion = match set {
            CommandSet::Admin if entry.opcode == opcode::FORMAT_NVM => {
                // In a box, as every other command would take the room for it, too.
                Box::pin(self.served.formatted(queue.admin(&entry))).await
            }
            CommandSet::Admin => queue.admin(&entry).await,
            _ => queue.io(&entry).await,
        };
        let (mut status, results) = match completion {
            Ok(completion) => (
                completion.status(),
                [completion.dw0.get(), completion.dw1.get()],
            ),
            Err(_) => (Status::INTERNAL_ERROR, [0, 0]),
        };
        if set == CommandSet::Nvm && status.is_success() && self.has_to_be_durable(&entry) {
            status = Box::pin(self.flush()).await;
        }
        begun.end(moved.into(), status.is_success());
        if let Some(done) = &mut promise.done {
            (done.status, done.results) = (status, results);
            done.data = lent.map(LentBuffer::take_back);
        }
    }

    /// Whether an acknowledgement of a command of the NVM set says that data is durable, which an image is only after a flush.
    fn has_to_be_durable(&self, entry: &SubmissionEntry) -> bool {
        let writes_through = matches!(
            entry.opcode,
            opcode::WRITE | opcode::WRITE_ZEROES | opcode::COPY
        ) && entry.cdw12.get() & FORCE_UNIT_ACCESS != 0;
        self.durable.has_image() && (entry.opcode == opcode::FLUSH || writes_through)
    }

    /// Makes durable what was acknowledged. Where that fails the shutdown is never told to be complete.
    async fn shut_down(&self, controller: u16, epoch: u64) {
        if self.durable.flush().await.is_ok() {
            self.mailbox.post(Told::ShutDown(controller, epoch));
        }
    }

    async fn flush(&self) -> Status {
        match self.durable.flush().await {
            Ok(()) => Status::SUCCESS,
            Err(_) => Status::WRITE_FAULT,
        }
    }

    /// Tells the server what happens on the drive, until it is stopped.
    pub(super) async fn tell_events(self: std::rc::Rc<OnDrive>) {
        let admin = self.served.host().admin();
        while !self.is_stopped.get() {
            let event = match select(admin.next_event(), self.stop.heard()).await {
                Either::Left(Ok(event)) => event,
                // There is nothing to be told by whoever asks for more than the drive holds.
                Either::Left(Err(_)) | Either::Right(()) => return,
            };
            let changed = match event {
                AsyncEvent::NAMESPACE_CHANGED => admin.changed_namespaces().await,
                // Reading its page has the drive tell of the next one.
                event => {
                    let read = admin.log_page(event.log_page, 0, LOG_BYTES, false).await;
                    read.map(|_| Vec::new())
                }
            };
            // A page that cannot be read has its events told once.
            let changed = changed.unwrap_or_default();
            self.mailbox.post(Told::Event(event, changed));
            if event.log_page == LogPageId(0) {
                return;
            }
        }
    }
}

/// Where data lies in a buffer: the data pointer's, and what the metadata pointer names.
struct Layout {
    data_at: u64,
    data_bytes: u32,
    pointed_at: Option<u64>,
}

fn layout_of(transfers: &Transfers) -> Layout {
    let own = transfers.at_data_pointer();
    let is_pointed = transfers.pointed > 0;
    match transfers.is_two_way() {
        // What the metadata pointer names comes first, and the result behind it.
        true if is_pointed => Layout {
            data_at: transfers.result_offset() as u64,
            data_bytes: transfers.to_host,
            pointed_at: Some(0),
        },
        _ => Layout {
            data_at: 0,
            data_bytes: own.max(transfers.to_host),
            pointed_at: is_pointed.then_some(own.into()),
        },
    }
}

/// Has an entry name the buffer, and no other memory: what the host put into its pointers means nothing here.
fn place(set: CommandSet, entry: &mut SubmissionEntry, lent: Option<&Buffer>, layout: &Layout) {
    let address = lent.map_or(0, Buffer::address);
    DataPointer::Sgl {
        address: address + layout.data_at,
        length: lent.map_or(0, |_| layout.data_bytes),
    }
    .encode_into(entry);
    // A Simple Lookup has its mask there, and commands of compute namespaces how long their data is.
    let is_pointer = match set {
        CommandSet::Nvm => entry.opcode != opcode::SIMPLE_LOOKUP,
        CommandSet::Compute => false,
        CommandSet::Admin | CommandSet::Memory => true,
    };
    if is_pointer {
        let pointed = layout.pointed_at.map_or(0, |at| address + at);
        entry.metadata_pointer.set(pointed);
    }
}

fn kind_of(set: CommandSet, opcode: u8) -> Kind {
    match (set, opcode) {
        (CommandSet::Admin, _) => Kind::Admin,
        (CommandSet::Nvm, opcode::READ) => Kind::Read,
        (CommandSet::Nvm, opcode::WRITE) => Kind::Write,
        (CommandSet::Nvm, opcode::FLUSH) => Kind::Flush,
        (CommandSet::Nvm, opcode::DATASET_MANAGEMENT) => Kind::Discard,
        (CommandSet::Nvm, opcode::WRITE_ZEROES) => Kind::WriteZeroes,
        (CommandSet::Nvm, opcode::EXECUTE_PROGRAM)
        | (CommandSet::Compute, opcode::EXECUTE_OVER_MEMORY) => Kind::Task,
        _ => Kind::Other,
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            self.mailbox.post(Told::Done(done));
        }
    }
}
