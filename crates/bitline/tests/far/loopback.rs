//! A fabric within one process: capsules are handed to a drive beside, whose simulated time passes while they are waited for.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::inside::{Capsule, Fabric, Response};
use bitline::{Config, Drive};
use host::{Buffer, Error, Transport};
use nvme::{DataPointer, QueueId};

/// What a test does to a response.
pub(crate) type Spoil = fn(&mut Response);

/// The drive at the other end, and the cable.
#[derive(Clone)]
pub(crate) struct Other {
    pub(crate) drive: Rc<RefCell<Drive>>,
    pub(crate) is_cut: Rc<Cell<bool>>,
    /// What is done to responses before they are given.
    pub(crate) spoil: Rc<Cell<Option<Spoil>>>,
}

pub(crate) struct Loopback {
    other: Other,
    answered: Rc<RefCell<VecDeque<Response>>>,
}

impl Other {
    pub(crate) fn new(config: Config) -> Other {
        Other {
            drive: Rc::new(RefCell::new(Drive::open(config).expect("a drive"))),
            is_cut: Rc::default(),
            spoil: Rc::default(),
        }
    }

    pub(crate) fn connect(&self) -> Drive {
        let fabric = Loopback {
            other: self.clone(),
            answered: Rc::default(),
        };
        let watch = Rc::new(|| std::ops::ControlFlow::Continue(()));
        Drive::connect_through(Box::new(fabric), watch).expect("a drive of ours")
    }
}

impl Loopback {
    fn check(&mut self) -> Result<(), Error> {
        if !self.other.is_cut.get() {
            return Ok(());
        }
        self.answered.borrow_mut().clear();
        Err(Error::Transport("loopback: the cable was pulled".into()))
    }
}

impl Fabric for Loopback {
    fn name(&self) -> &str {
        "loopback"
    }

    fn limits(&self) -> (u16, u32) {
        (2, 64)
    }

    fn open_queue(&mut self, _: QueueId, _: u32) -> Result<(), Error> {
        self.check()
    }

    fn send(&mut self, queue: QueueId, capsule: Capsule) -> Result<(), Error> {
        self.check()?;
        let drive = self.other.drive.borrow();
        let host = drive.host().expect("power");
        let answered = self.answered.clone();
        host.sim().clone().spawn_detached(async move {
            let pair = usize::from(queue.get().max(1)) - 1;
            let way = host.queue(pair).expect("as many queues");
            let memory = way.memory().clone();
            let moved = capsule.transfers;
            let bytes = moved.at_data_pointer().max(moved.to_host);
            let (at, beside) = capsule.data.split_at(moved.at_data_pointer() as usize);
            let zeroes = vec![0; bytes as usize];
            let buffer = Buffer::holding(&memory, &zeroes).expect("room");
            let pointed = Buffer::holding(&memory, beside).expect("room");
            memory
                .borrow_mut()
                .slice_mut(buffer.address(), at.len() as u64)
                .expect("its own")
                .copy_from_slice(at);
            let mut entry = capsule.entry;
            if let Ok(DataPointer::Sgl { length, .. }) = DataPointer::decode(&entry) {
                let address = buffer.address();
                DataPointer::Sgl { address, length }.encode_into(&mut entry);
            }
            if !beside.is_empty() {
                entry.metadata_pointer.set(pointed.address());
            }
            let completion = match queue.get() {
                0 => way.admin(&entry).await,
                _ => way.io(&entry).await,
            };
            let mut completion = completion.expect("it is here");
            completion.command_id = capsule.entry.command_id;
            let mut data = buffer.to_vec().expect("its own");
            data.truncate(moved.to_host as usize);
            answered
                .borrow_mut()
                .push_back(Response::new(queue, completion, data));
        });
        Ok(())
    }

    fn receive(&mut self, wait: bool) -> Result<Option<Response>, Error> {
        self.check()?;
        let drive = self.other.drive.borrow();
        let simulation = drive.simulation().expect("power");
        loop {
            let next = self.answered.borrow_mut().pop_front();
            if let Some(mut response) = next {
                if let Some(spoil) = self.other.spoil.get() {
                    spoil(&mut response);
                }
                return Ok(Some(response));
            }
            if !wait || !simulation.step() {
                return Ok(None);
            }
        }
    }
}
