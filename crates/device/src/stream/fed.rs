//! Streams that a collector feeds.

use nvme::Status;
use sim::{Either, select};

use super::{StreamId, Streams};
use crate::port::Switch;
use crate::schedule::Origin;
use crate::task::Data;

impl Streams {
    /// Whether there is such a stream, and it is not over.
    pub(super) fn is_open(&self, id: StreamId) -> bool {
        self.of(id).is_ok_and(|stream| !stream.is_over())
    }

    /// Takes what a collector sends, out of the switch and as soon as there is room.
    ///
    /// # Errors
    /// No Such Stream, also if it is over.
    pub(super) async fn feed(
        &self,
        id: StreamId,
        data: Data,
        switch: &Switch,
        origin: Origin,
    ) -> Result<(), Status> {
        let stream = self.of(id)?;
        let over = async {
            while !stream.is_over() {
                stream.changed.next().await;
            }
        };
        let fed = stream.fill(data, switch, (self.map.streams, origin));
        match select(over, fed).await {
            Either::Left(()) => Err(Status::NO_SUCH_STREAM),
            Either::Right(()) => Ok(()),
        }
    }

    /// Says whether what a collector has sent is on its way to a stream.
    pub(super) fn set_coming(&self, id: StreamId, is_coming: bool) {
        if let Ok(stream) = self.of(id) {
            stream.pipeline.rest.set_coming(is_coming);
        }
    }

    /// A collector sends nothing more.
    pub(super) fn feed_end(&self, id: StreamId) {
        if let Ok(stream) = self.of(id) {
            stream.fill_end();
        }
    }
}
