//! Requests of the drive's file, which the drive's thread receives itself: handing each over would take longer than most of them.

use std::ops::Range;

use bitline::Error;

use super::budget::Share;
use super::device::{Outcome, Reply};
use super::errors::errno;
use super::intake::{Intake, Received, Request, What};
use super::reader::{Brought, Reader};
use super::replies::{Replies, ReplyThread};
use super::requests;
use crate::engine::{Await, Kind, Served, Source};
use crate::notes::Notes;

/// Where the drive takes requests of its file from.
pub(super) struct DriveFile {
    /// None while another thread receives.
    intake: Option<Intake>,
    reader: Reader,
    next: Option<Request>,
    replies: Replies,
    /// Whether what is durable is on a disk, for which the drive's thread waits.
    is_on_disk: bool,
    notes: Notes,
}

/// What [`DriveFile`] is made of, on any thread.
pub(super) struct Parts {
    pub(super) intake: Intake,
    pub(super) reader: Reader,
    pub(super) thread: ReplyThread,
    pub(super) is_on_disk: bool,
    pub(super) notes: Notes,
}

impl From<Parts> for DriveFile {
    fn from(parts: Parts) -> DriveFile {
        DriveFile {
            intake: Some(parts.intake),
            reader: parts.reader,
            next: None,
            replies: Replies::new(parts.thread),
            is_on_disk: parts.is_on_disk,
            notes: parts.notes,
        }
    }
}

impl DriveFile {
    /// Whether the drive's thread is at it for so long that another one is better to receive meanwhile.
    fn takes_long(&self, request: &Request) -> bool {
        request.is_much() || (self.is_on_disk && request.is_to_be_durable())
    }

    fn take_brought(&mut self) {
        match self.reader.brought() {
            Some(Brought::Request(request)) => self.next = Some(request),
            Some(Brought::Back(intake)) => self.intake = Some(intake),
            None => {}
        }
    }

    /// Has work on a request done, and told what `outcome` makes of what came of it.
    fn spawn<T: 'static, F>(
        &self,
        served: &Served,
        reply: Reply,
        (kind, bytes): (Kind, Range<u64>),
        work: impl FnOnce(Served) -> F + 'static,
        outcome: impl FnOnce(T) -> Outcome + 'static,
    ) where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        let begun = served.begin(kind);
        let (notes, replies, own) = (self.notes.clone(), self.replies.clone(), served.clone());
        // The work is made where it is waited for, or there would be room for it twice.
        served.spawn(async move {
            let done = work(own).await;
            begun.end(bytes.end - bytes.start, done.is_ok());
            let outcome = match done {
                Ok(done) => outcome(done),
                Err(error) => Outcome::Failed(errno(&error, kind, &bytes, &notes)),
            };
            replies.add(reply, outcome);
            if kind == Kind::Flush {
                replies.tell();
            }
        });
    }

    /// The same of what has no more to tell than that it is done; it has its share until then.
    fn spawn_plain<F>(
        &self,
        served: &Served,
        reply: Reply,
        what: (Kind, Range<u64>),
        share: Share,
        work: impl FnOnce(Served) -> F + 'static,
    ) where
        F: Future<Output = Result<(), Error>> + 'static,
    {
        let work = |served: Served| async move {
            let _share = share;
            work(served).await
        };
        self.spawn(served, reply, what, work, |()| Outcome::Done);
    }
}

impl Source for DriveFile {
    fn receive(&mut self) -> bool {
        let Some(intake) = &mut self.intake else {
            self.take_brought();
            return self.next.is_some();
        };
        match intake.receive() {
            Received::Request(request) => {
                if self.takes_long(&request)
                    && let Some(intake) = self.intake.take()
                {
                    self.reader.give(intake);
                }
                self.next = Some(request);
            }
            Received::Other | Received::Nothing => {}
            Received::End => self.intake = None,
        }
        self.next.is_some()
    }

    fn begin(&mut self, served: &Served) {
        let Some(Request { what, reply }) = self.next.take() else {
            return;
        };
        match what {
            What::Read {
                bytes,
                blocks,
                room,
            } => {
                let work =
                    |served: Served| async move { requests::read(&served, blocks, room).await };
                self.spawn(served, reply, (Kind::Read, bytes), work, Outcome::Read);
            }
            What::Write {
                offset,
                data,
                is_durable,
            } => {
                let length = data.length() as u32;
                let bytes = offset..offset + u64::from(length);
                let replies = self.replies.clone();
                let work = move |served: Served| async move {
                    requests::write(&served, offset, data).await?;
                    match is_durable {
                        true => flush(&served, &replies).await,
                        false => Ok(()),
                    }
                };
                let written = move |()| Outcome::Written(length);
                self.spawn(served, reply, (Kind::Write, bytes), work, written);
            }
            What::Flush(share) => {
                let replies = self.replies.clone();
                let work = |served: Served| async move { flush(&served, &replies).await };
                self.spawn_plain(served, reply, (Kind::Flush, 0..0), share, work);
            }
            What::Discard { bytes, share } => {
                let what = (Kind::Discard, bytes.clone());
                let work = |served: Served| async move { requests::discard(&served, bytes).await };
                self.spawn_plain(served, reply, what, share, work);
            }
            What::WriteZeroes { bytes, share } => {
                let what = (Kind::WriteZeroes, bytes.clone());
                let work = |served: Served| async move { requests::zero(&served, bytes).await };
                self.spawn_plain(served, reply, what, share, work);
            }
        }
    }

    fn tell(&self, is_idle: bool) {
        match is_idle {
            true => self.replies.tell(),
            false => self.replies.tell_late(),
        }
    }

    fn awaits(&self) -> Await<'_> {
        match &self.intake {
            Some(intake) => intake.reads().map_or(Await::Bell, Await::Read),
            None if self.reader.has_brought() => Await::Nothing,
            None => Await::Bell,
        }
    }
}

impl Drop for DriveFile {
    fn drop(&mut self) {
        self.replies.wait_no_more();
    }
}

/// Makes durable what was written. What has ended by then does not wait for the disk beneath.
async fn flush(served: &Served, replies: &Replies) -> Result<(), Error> {
    replies.tell();
    served.durable().flush().await
}
