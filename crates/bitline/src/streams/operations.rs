//! Calls of streams, at the host's end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::streams::{Fetched, StreamDevice};
use host::tasks::{TaskError, file_of};
use host::volume::Object;
use nvme::task::{Ended, Outcome, RESULT_BYTES_MIN, Request};
use sim::Span;

use super::StreamRun;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Host, Program};

/// The most bytes that are asked for with one command.
const BYTES_PER_COMMAND: u64 = 1 << 20;

/// How long until a stream is looked at again of which a collector has sent too little.
const LOOK_AGAIN: Span = Span::from_us(100);

/// A stream that is open. Dropping the last copy of it closes it, as soon as time passes.
#[derive(Clone)]
pub struct Stream(Rc<Opened>);

struct Opened {
    host: Host,
    number: u32,
    /// The port of the collector that sends its input.
    collector: Option<u16>,
    /// What it works on, as it was when it was opened, by name.
    objects: Vec<(String, Object)>,
    /// Those that it writes, which stay where they are.
    held: Vec<u32>,
    /// What was fetched and not asked for yet.
    rest: RefCell<Vec<u8>>,
    outcome: RefCell<Option<Outcome>>,
    is_closed: Cell<bool>,
}

impl Stream {
    /// Its number in the drive.
    pub fn number(&self) -> u32 {
        self.0.number
    }

    /// What became of it, if that is known.
    pub fn known_outcome(&self) -> Option<Outcome> {
        self.0.outcome.borrow().clone()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_closed.get() {
            return;
        }
        let (host, number) = (self.host.clone(), self.number);
        let held = std::mem::take(&mut self.held);
        self.host.sim().spawn_detached(async move {
            // Nobody is left to hear of it.
            let _ = host.stream_device().close(number).await;
            host.mount.uses.end_use(&held);
        });
    }
}

impl Host {
    /// As [`super::Streams::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open_stream(&self, program: &Program, asked: &StreamRun) -> Result<Stream, Error> {
        let run = &asked.run;
        let (used, using) = self.use_objects(run).await?;
        let files = used.files.iter().zip(&run.files);
        let files = files.map(|(object, file)| file_of(object, file.writable));
        let request = Request {
            identifier: program.identifier,
            isolation: run.isolation,
            retries: run.retries,
            limits: self.limits_of(&run.limits).await?,
            files: files.collect(),
            stores: used.stores.clone(),
            arguments: run.arguments.clone(),
        };
        let device = StreamDevice::new(self.block.clone().with_priority(run.priority));
        let number = device.open(program.index, &request, asked.shape).await?;
        let names = run.files.iter().map(|file| file.name.clone());
        let objects: Vec<(String, Object)> = names.zip(used.files).collect();
        let written = objects.iter().zip(&run.files);
        let written = written.filter(|(_, file)| file.writable);
        let held: Vec<u32> = written.map(|((_, object), _)| object.id.get()).collect();
        self.mount.uses.begin_use(&held);
        drop(using);
        Ok(Stream(Rc::new(Opened {
            host: self.clone(),
            number,
            collector: asked.shape.collector,
            objects,
            held,
            rest: RefCell::default(),
            outcome: RefCell::default(),
            is_closed: Cell::new(false),
        })))
    }

    /// As [`super::Streams::read`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_stream(&self, stream: &mut Stream, bytes: u64) -> Result<Vec<u8>, Error> {
        self.check_stream(stream).await?;
        let opened = &stream.0;
        let most = BYTES_PER_COMMAND.min(self.block.bytes_per_command());
        let mut read = opened.rest.take();
        let mut has_sent_all = false;
        while (read.len() as u64) < bytes && opened.outcome.borrow().is_none() {
            let left = bytes - read.len() as u64;
            let asked = left.clamp(RESULT_BYTES_MIN.into(), most) as u32;
            match self.stream_device().read(opened.number, asked).await? {
                Fetched::Data(data) if data.is_empty() => {
                    let collector = opened.collector.filter(|_| !has_sent_all);
                    let Some(port) = collector else {
                        // More is to be written first.
                        break;
                    };
                    // What has been sent last may be on its way.
                    has_sent_all = !self.collecting.sends(port);
                    self.sim.sleep(LOOK_AGAIN).await;
                }
                Fetched::Data(data) => read.extend(data),
                Fetched::Over(outcome) => *opened.outcome.borrow_mut() = Some(outcome),
            }
        }
        if read.is_empty() {
            opened.check_outcome()?;
        }
        if read.len() as u64 > bytes {
            *opened.rest.borrow_mut() = read.split_off(bytes as usize);
        }
        Ok(read)
    }

    /// As [`super::Streams::write`], and [`super::Streams::finish`] at the end.
    ///
    /// # Errors
    /// As there.
    pub async fn write_stream(
        &self,
        stream: &mut Stream,
        data: &[u8],
        end: bool,
    ) -> Result<(), Error> {
        self.check_stream(stream).await?;
        let opened = &stream.0;
        let (device, mut rest) = (self.stream_device(), data);
        loop {
            let written = device.write(opened.number, rest, end);
            let (taken, is_over) = written.await?;
            if is_over {
                return self.stream_outcome(stream).await.map(drop);
            }
            if taken == rest.len() {
                return Ok(());
            }
            rest = &rest[taken..];
            // There is room when some of what was made is here.
            self.fetch_ahead(stream).await?;
        }
    }

    /// Fetches what there is, for who reads later.
    async fn fetch_ahead(&self, stream: &Stream) -> Result<(), Error> {
        let opened = &stream.0;
        let most = BYTES_PER_COMMAND.min(self.block.bytes_per_command()) as u32;
        match self.stream_device().read(opened.number, most).await? {
            Fetched::Data(data) => opened.rest.borrow_mut().extend(data),
            Fetched::Over(outcome) => *opened.outcome.borrow_mut() = Some(outcome),
        }
        opened.check_outcome()
    }

    /// As [`super::Streams::outcome`].
    ///
    /// # Errors
    /// As there.
    pub async fn stream_outcome(&self, stream: &mut Stream) -> Result<Outcome, Error> {
        self.check_life(stream)?;
        let opened = &stream.0;
        let most = BYTES_PER_COMMAND.min(self.block.bytes_per_command()) as u32;
        while opened.outcome.borrow().is_none() {
            match self.stream_device().read(opened.number, most).await? {
                Fetched::Data(data) if data.is_empty() => {
                    let text = "the stream is not over: say first that no more will be written, or detach its collector";
                    return Err(Error::Task(TaskError::Usage(text.into())));
                }
                Fetched::Data(data) => opened.rest.borrow_mut().extend(data),
                Fetched::Over(outcome) => *opened.outcome.borrow_mut() = Some(outcome),
            }
        }
        opened.check_outcome()?;
        let outcome = opened.outcome.borrow().clone();
        outcome.ok_or(Error::Pending("the stream has no outcome"))
    }

    /// As [`super::Streams::close`].
    ///
    /// # Errors
    /// As there.
    pub async fn close_stream(&self, stream: Stream) -> Result<(), Error> {
        if stream.0.is_closed.replace(true) || self.check_life(&stream).is_err() {
            return Ok(());
        }
        let closed = self.stream_device().close(stream.0.number).await;
        self.mount.uses.end_use(&stream.0.held);
        Ok(closed?)
    }

    /// That the drive has not lost its power since the stream was opened: another may have its number now.
    fn check_life(&self, stream: &Stream) -> Result<(), Error> {
        match Rc::ptr_eq(&self.driver, &stream.0.host.driver) {
            true => Ok(()),
            false => Err(Error::PowerLost),
        }
    }

    pub(super) fn stream_device(&self) -> StreamDevice<Queue> {
        StreamDevice::new(self.block.clone())
    }

    /// That what a stream works on is where it was, and it is open; one whose objects are not is closed.
    async fn check_stream(&self, stream: &Stream) -> Result<(), Error> {
        if stream.0.is_closed.get() {
            return Err(Error::Task(TaskError::Usage("the stream is closed".into())));
        }
        self.check_life(stream)?;
        for (name, object) in &stream.0.objects {
            if self.object_now(name).await?.as_ref() != Some(object) {
                self.close_stream(stream.clone()).await?;
                return Err(Error::StaleStream(name.clone()));
            }
        }
        Ok(())
    }
}

impl Opened {
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
