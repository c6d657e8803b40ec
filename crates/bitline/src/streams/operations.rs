//! Calls of streams, at the host's end.

use std::rc::Rc;

use host::streams::StreamDevice;
use nvme::task::Outcome;

use super::StreamRun;
use super::in_drive::InDrive;
use super::on_card;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Host, Program};

/// A stream that is open. Dropping the last copy of it closes it, as soon as time passes.
#[derive(Clone)]
pub struct Stream(Place);

/// Where its program runs.
#[derive(Clone)]
enum Place {
    Drive(Rc<InDrive>),
    Card(Rc<on_card::Handle>),
}

impl Stream {
    /// Its number in the drive, or on the card.
    pub fn number(&self) -> u32 {
        match &self.0 {
            Place::Drive(stream) => stream.number(),
            Place::Card(stream) => stream.number(),
        }
    }

    /// What became of it, if that is known.
    pub fn known_outcome(&self) -> Option<Outcome> {
        match &self.0 {
            Place::Drive(stream) => stream.known_outcome(),
            Place::Card(stream) => stream.known_outcome(),
        }
    }
}

impl Host {
    /// As [`super::Streams::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open_stream(&self, program: &Program, asked: &StreamRun) -> Result<Stream, Error> {
        let opened = InDrive::open(self, program, asked).await?;
        Ok(Stream(Place::Drive(opened)))
    }

    /// As [`super::Streams::open_on_card`].
    ///
    /// # Errors
    /// As there.
    pub async fn open_stream_on_card(
        &self,
        module: &[u8],
        asked: &StreamRun,
    ) -> Result<Stream, Error> {
        let opened = on_card::open(self, module, asked).await?;
        Ok(Stream(Place::Card(Rc::new(opened))))
    }

    /// As [`super::Streams::read`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_stream(&self, stream: &mut Stream, bytes: u64) -> Result<Vec<u8>, Error> {
        match &stream.0 {
            Place::Drive(stream) => stream.read(self, bytes).await,
            Place::Card(stream) => stream.read(self, bytes).await,
        }
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
        match &stream.0 {
            Place::Drive(stream) => stream.write(self, data, end).await,
            Place::Card(stream) => stream.put(self, data, end).await,
        }
    }

    /// As [`super::Streams::outcome`].
    ///
    /// # Errors
    /// As there.
    pub async fn stream_outcome(&self, stream: &mut Stream) -> Result<Outcome, Error> {
        match &stream.0 {
            Place::Drive(stream) => stream.outcome(self).await,
            Place::Card(stream) => stream.outcome(self).await,
        }
    }

    /// As [`super::Streams::close`].
    ///
    /// # Errors
    /// As there.
    pub async fn close_stream(&self, stream: Stream) -> Result<(), Error> {
        match &stream.0 {
            Place::Drive(stream) => stream.close(self).await,
            Place::Card(stream) if stream.is_of(self) => stream.close().await,
            // It went with the power.
            Place::Card(_) => Ok(()),
        }
    }

    pub(super) fn stream_device(&self) -> StreamDevice<Queue> {
        StreamDevice::new(self.block.clone())
    }
}
