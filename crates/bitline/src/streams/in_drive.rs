//! Streams whose program the drive runs.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use host::streams::{Fetched, StreamDevice};
use host::volume::Object;
use nvme::task::{Ended, Outcome, RESULT_BYTES_MIN};
use sim::resource::Semaphore;

use super::StreamRun;
use crate::error::Error;
use crate::host_end::{Collecting, Held, Holder, Host, LOOK_AGAIN, Program};

/// The most bytes that are asked for with one command.
pub(super) const BYTES_PER_COMMAND: u64 = 1 << 20;

/// A stream of the drive that is open. Dropping it closes it, as soon as time passes.
pub(super) struct InDrive {
    host: Host,
    number: u32,
    /// The port of the collector that sends its input.
    collector: Option<u16>,
    /// What it works on, as it was when it was opened, by name.
    objects: Vec<(String, Object)>,
    /// That those which it writes stay where they are, until it is over.
    held: Cell<Option<Held>>,
    /// One fetches at a time.
    fetching: Semaphore,
    /// What was fetched and not asked for yet.
    rest: RefCell<Vec<u8>>,
    outcome: RefCell<Option<Outcome>>,
    is_closed: Cell<bool>,
}

impl Drop for InDrive {
    fn drop(&mut self) {
        if self.is_closed.get() {
            return;
        }
        let (host, number) = (self.host.clone(), self.number);
        let held = self.held.take();
        self.host.sim().spawn_detached(async move {
            // Nobody is left to hear of it.
            let _ = host.stream_device().close(number).await;
            drop(held);
        });
    }
}

impl InDrive {
    /// As [`super::Streams::open`].
    pub(super) async fn open(
        host: &Host,
        program: &Program,
        asked: &StreamRun,
    ) -> Result<Rc<InDrive>, Error> {
        let (run, shape) = (&asked.run, asked.shape);
        if shape.input.is_some() && shape.collector.is_some() {
            let text = "the input of a stream is a file, or what a collector sends";
            return Err(Error::usage(text));
        }
        let (used, using) = host.use_objects(run).await?;
        let request = host.request_of(program, run, &used).await?;
        let owner = host.program_owner().await?;
        let block = host.block.clone().with_priority(run.priority);
        let device = StreamDevice::new(block).with_programs_of(owner);
        let number = device.open(program.index, &request, shape).await?;
        let names = run.files.iter().map(|file| file.name.clone());
        let objects: Vec<(String, Object)> = names.zip(used.files).collect();
        let written = objects.iter().zip(&run.files);
        let written = written.filter(|(_, file)| file.writable);
        let written = written.map(|((_, object), _)| object);
        let held = host.mount.uses.hold(written, Holder::Stream(number));
        drop(using);
        let stream = Rc::new(InDrive {
            host: host.clone(),
            number,
            collector: shape.collector,
            objects,
            held: Cell::new(Some(held)),
            fetching: Semaphore::new(&host.sim, 1),
            rest: RefCell::default(),
            outcome: RefCell::default(),
            is_closed: Cell::new(false),
        });
        if let (Some(port), None) = (shape.collector, shape.output) {
            let fetching = fetch_meanwhile(Rc::downgrade(&stream), host.collecting.clone(), port);
            host.sim.spawn_detached(fetching);
        }
        Ok(stream)
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// What became of it, if that is known.
    pub(super) fn known_outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    /// As [`super::Streams::read`].
    pub(super) async fn read(&self, host: &Host, bytes: u64) -> Result<Vec<u8>, Error> {
        self.check(host).await?;
        let _fetching = self.fetching.acquire(1).await;
        let most = BYTES_PER_COMMAND.min(host.block.bytes_per_command());
        let mut read = self.rest.take();
        let mut has_sent_all = false;
        while (read.len() as u64) < bytes && self.outcome.borrow().is_none() {
            let left = bytes - read.len() as u64;
            let asked = left.clamp(RESULT_BYTES_MIN.into(), most) as u32;
            match host.stream_device().read(self.number, asked).await? {
                Fetched::Data(data) if data.is_empty() => {
                    let collector = self.collector.filter(|_| !has_sent_all);
                    let Some(port) = collector else {
                        // More is to be written first.
                        break;
                    };
                    if host.collecting.is_stuck(port) {
                        // What there is, first.
                        if read.is_empty() {
                            let text = "what the collector sends is held back, as its object is full: detach it, or let the object grow";
                            return Err(Error::usage(text));
                        }
                        break;
                    }
                    // What has been sent last may be on its way.
                    has_sent_all = !host.collecting.sends(port);
                    host.sim.sleep(LOOK_AGAIN).await;
                }
                Fetched::Data(data) => read.extend(data),
                Fetched::Over(outcome) => self.end(outcome),
            }
        }
        if read.is_empty() {
            self.check_outcome()?;
        }
        if read.len() as u64 > bytes {
            *self.rest.borrow_mut() = read.split_off(bytes as usize);
        }
        Ok(read)
    }

    /// As [`super::Streams::write`], and [`super::Streams::finish`] at the end.
    pub(super) async fn write(&self, host: &Host, data: &[u8], end: bool) -> Result<(), Error> {
        self.check(host).await?;
        let (device, mut rest) = (host.stream_device(), data);
        loop {
            let written = device.write(self.number, rest, end);
            let (taken, is_over) = written.await?;
            if is_over {
                return self.outcome(host).await.map(drop);
            }
            if taken == rest.len() {
                return Ok(());
            }
            rest = &rest[taken..];
            // There is room when some of what was made is here.
            self.fetch_ahead(host).await?;
            self.check_outcome()?;
        }
    }

    /// Fetches what there is, for who reads later; whether there was anything.
    async fn fetch_ahead(&self, host: &Host) -> Result<bool, Error> {
        let _fetching = self.fetching.acquire(1).await;
        if self.outcome.borrow().is_some() {
            return Ok(false);
        }
        let most = BYTES_PER_COMMAND.min(host.block.bytes_per_command()) as u32;
        match host.stream_device().read(self.number, most).await? {
            Fetched::Data(data) => {
                let is_some = !data.is_empty();
                self.rest.borrow_mut().extend(data);
                Ok(is_some)
            }
            Fetched::Over(outcome) => {
                self.end(outcome);
                Ok(false)
            }
        }
    }

    /// It is over: what it wrote may change again.
    fn end(&self, outcome: Outcome) {
        self.held.take();
        *self.outcome.borrow_mut() = Some(outcome);
    }

    /// As [`super::Streams::outcome`].
    pub(super) async fn outcome(&self, host: &Host) -> Result<Outcome, Error> {
        self.check_life(host)?;
        let _fetching = self.fetching.acquire(1).await;
        let most = BYTES_PER_COMMAND.min(host.block.bytes_per_command()) as u32;
        while self.outcome.borrow().is_none() {
            match host.stream_device().read(self.number, most).await? {
                Fetched::Data(data) if data.is_empty() => {
                    let text = "the stream is not over: say first that no more will be written, or detach its collector";
                    return Err(Error::usage(text));
                }
                Fetched::Data(data) => self.rest.borrow_mut().extend(data),
                Fetched::Over(outcome) => self.end(outcome),
            }
        }
        self.check_outcome()?;
        let outcome = self.outcome.borrow().clone();
        outcome.ok_or(Error::Pending("the stream has no outcome"))
    }

    /// As [`super::Streams::close`].
    pub(super) async fn close(&self, host: &Host) -> Result<(), Error> {
        if self.is_closed.replace(true) || self.check_life(host).is_err() {
            return Ok(());
        }
        let closed = host.stream_device().close(self.number).await;
        self.held.take();
        Ok(closed?)
    }

    /// That what the stream works on is where it was, and it is open; one whose objects are not is closed.
    async fn check(&self, host: &Host) -> Result<(), Error> {
        if self.is_closed.get() {
            return Err(Error::usage("the stream is closed"));
        }
        self.check_life(host)?;
        let of_volume = |(_, object): &&(String, Object)| !object.is_placed();
        for (name, object) in self.objects.iter().filter(of_volume) {
            if host.object_now(name).await?.as_ref() != Some(object) {
                self.close(host).await?;
                return Err(Error::StaleStream(name.clone()));
            }
        }
        Ok(())
    }

    /// That the drive has not lost its power since the stream was opened: another may have its number now.
    fn check_life(&self, host: &Host) -> Result<(), Error> {
        match Rc::ptr_eq(&host.driver, &self.host.driver) {
            true => Ok(()),
            false => Err(Error::PowerLost),
        }
    }

    /// That it has not failed, as far as is known.
    fn check_outcome(&self) -> Result<(), Error> {
        match &*self.outcome.borrow() {
            Some(outcome) if outcome.ended != Ended::Committed => {
                Err(Error::Stream(Box::new(outcome.clone())))
            }
            _ => Ok(()),
        }
    }
}

/// Fetches what a stream makes of what comes over a port, whenever somebody waits for that: there is room for more then.
async fn fetch_meanwhile(stream: Weak<InDrive>, collecting: Rc<Collecting>, port: u16) {
    loop {
        collecting.awaited(port).await;
        let Some(stream) = stream.upgrade() else {
            return;
        };
        if stream.is_closed.get() || stream.outcome.borrow().is_some() {
            return;
        }
        match stream.fetch_ahead(&stream.host).await {
            Ok(true) => {}
            Ok(false) => stream.host.sim.sleep(LOOK_AGAIN).await,
            // Who reads hears of it.
            Err(_) => return,
        }
    }
}
