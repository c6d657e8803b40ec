//! One collection: packets from its port are cut into pages, which go to its extents, to the stream of a task, or to both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use sim::resource::Broadcast;
use sim::{JoinHandle, Sim};

use super::arrivals::Arrivals;
use super::claim::Claim;
use super::extents::Extents;
use super::{CollectorId, Collectors};
use crate::port::{Switch, Wire};
use crate::schedule::Origin;
use crate::stream::{StreamId, Streams};
use crate::task::Data;

/// A collection that goes on.
pub(super) struct Collection {
    pub(super) sim: Sim,
    pub(super) id: CollectorId,
    /// What its owner calls it.
    pub(super) identifier: u64,
    pub(super) origin: Origin,
    pub(super) arrivals: Arrivals,
    pub(super) wire: Wire,
    pub(super) switch: Rc<Switch>,
    /// None: it goes to a task only.
    pub(super) extents: Option<Extents>,
    /// How few bytes of room are left when the host is told.
    pub(super) low_bytes: u64,
    /// It waits for more room.
    pub(super) wants_room: Cell<bool>,
    /// The host was told of this much room.
    pub(super) told_of: Cell<u64>,
    /// Bytes of a page of flash.
    pub(super) page_bytes: u64,
    /// Bytes of a page in each plane of the drive.
    pub(super) row_bytes: u64,
    /// Pages that it has had turns for.
    pub(super) had: Cell<u64>,
    /// Where it began.
    pub(super) begun: u64,
    /// Bytes that are on flash without holes.
    pub(super) written: Cell<u64>,
    /// Bytes of which that is durable.
    pub(super) durable: Cell<u64>,
    /// The stream that takes what comes.
    pub(super) stream: RefCell<Option<StreamId>>,
    /// Bytes that no stream took, of those that are for streams only.
    pub(super) unread: Cell<u64>,
    /// There is something on its way out of the switch.
    pub(super) is_busy: Cell<bool>,
    pub(super) failure: RefCell<Option<String>>,
    /// Everything that came is where it goes.
    pub(super) is_over: Cell<bool>,
    pub(super) changed: Broadcast,
    /// That its port and share are its own.
    pub(super) _claim: Claim,
}

/// Pages written that those before them are not, and who writes.
#[derive(Default)]
struct Writes {
    ahead: RefCell<BTreeSet<(u64, u64)>>,
    running: RefCell<Vec<JoinHandle<()>>>,
}

impl Collection {
    /// Takes what comes until nothing more will, and brings it where it goes. Its share of the switch bounds the pages on their way.
    pub(super) async fn pump(self: Rc<Collection>, collectors: Rc<Collectors>) {
        let writes = Rc::new(Writes::default());
        let mut offset = self.written.get();
        while let Some(bytes) = self.next(offset, &collectors).await {
            offset += match &self.extents {
                None => self.hand_on(&collectors, bytes).await,
                Some(_) => self.store(&collectors, &writes, offset, bytes).await,
            };
        }
        let running = writes.running.take();
        for write in running {
            write.await;
        }
        let given_up = self.arrivals.give_up();
        self.switch.release(given_up);
        collectors.keep_positions().await;
        self.is_over.set(true);
        self.changed.announce();
        self.end_stream(&collectors.streams).await;
    }

    /// Gives bytes that wait to a task only; how many.
    async fn hand_on(&self, collectors: &Collectors, bytes: u64) -> u64 {
        let (taken, _) = self.arrivals.take(bytes);
        let data = Data::joined(taken);
        let is_fed = self.feed(collectors, &data).await;
        self.done_with(bytes);
        if !is_fed {
            // Nobody is there to take it.
            self.unread.set(self.unread.get() + bytes);
            collectors.count(|counts| counts.unread_bytes += bytes);
        }
        bytes
    }

    /// Has bytes that wait, and what waits behind them in pages of the same row, written when it is their turn, and gives
    /// them to a task before; how many.
    async fn store(
        self: &Rc<Collection>,
        collectors: &Rc<Collectors>,
        writes: &Rc<Writes>,
        offset: u64,
        bytes: u64,
    ) -> u64 {
        let bytes = self.run_from(offset, bytes);
        let pages = bytes.div_ceil(self.page_bytes) as u32;
        let turn = collectors.turns.take(self.id.port, &self.had, pages).await;
        let bytes = self.left_of(offset, bytes);
        let (taken, seen) = self.arrivals.take(bytes);
        let data = Data::joined(taken);
        if self.stream.borrow().is_some() && seen < bytes {
            let (_, unseen) = data.clone().split(seen as u32);
            self.feed(collectors, &unseen).await;
        }
        let (collection, collectors, noted) = (self.clone(), collectors.clone(), writes.clone());
        if bytes == 0 {
            return 0;
        }
        let write = self.sim.spawn(async move {
            collection.write(&collectors, &noted, offset, data).await;
            drop(turn);
        });
        let mut running = writes.running.borrow_mut();
        running.retain(|write| !write.is_finished());
        running.push(write);
        bytes
    }

    /// How many of the bytes that waited do so still: whole pages, as some may have been dropped for others, unless no others come.
    fn left_of(&self, offset: u64, bytes: u64) -> u64 {
        let waiting = self.arrivals.waiting();
        if waiting >= bytes || self.arrivals.is_closed() {
            return bytes.min(waiting);
        }
        let end = (offset + waiting) / self.page_bytes * self.page_bytes;
        end.saturating_sub(offset)
    }

    /// How many bytes are written in one turn from here, of which so many are sure: whole pages that wait, up to the end of a row
    /// of one page in each plane, so that planes stay side by side; of half of the share, as the rest comes meanwhile.
    fn run_from(&self, offset: u64, sure: u64) -> u64 {
        let room = self.extents.as_ref().map_or(0, Extents::bytes) - offset;
        let row = self.row_bytes - offset % self.row_bytes;
        let most = row.min(self.arrivals.share() / 2).min(room);
        let waiting = self.arrivals.waiting().min(most);
        let end = (offset + waiting) / self.page_bytes * self.page_bytes;
        sure.max(end.saturating_sub(offset))
    }

    /// How many bytes come next: a page, or up to the end of one; fewer at the end, and to a task only. Nothing if there are
    /// none, or no room for them will come. A task has what waits for the rest of its page at once.
    async fn next(&self, offset: u64, collectors: &Collectors) -> Option<u64> {
        let page = match &self.extents {
            Some(_) => self.page_bytes - offset % self.page_bytes,
            None => 1,
        };
        while !self.arrivals.has(page) && self.arrivals.more_comes() {
            if self.extents.is_some()
                && self.stream.borrow().is_some()
                && self.arrivals.unseen() > 0
            {
                self.set_busy(&collectors.streams, true);
                let shown = Data::joined(self.arrivals.show());
                self.feed(collectors, &shown).await;
                continue;
            }
            self.set_busy(&collectors.streams, false);
            self.arrivals.wait_for_more(self.arrivals.waiting()).await;
        }
        let most = if self.extents.is_some() {
            page
        } else {
            self.page_bytes
        };
        let bytes = self.arrivals.waiting().min(most);
        self.set_busy(&collectors.streams, bytes > 0);
        if bytes == 0 || self.failure.borrow().is_some() {
            return None;
        }
        let Some(extents) = &self.extents else {
            return Some(bytes);
        };
        loop {
            let left = extents.bytes() - offset;
            if left <= self.low_bytes.max(bytes) && self.told_of.get() != extents.bytes() {
                self.told_of.set(extents.bytes());
                collectors.tell_of_low_room();
            }
            if left >= bytes {
                return Some(bytes);
            }
            if self.arrivals.is_closed() {
                return (left > 0).then_some(left);
            }
            self.wants_room.set(true);
            self.set_busy(&collectors.streams, false);
            self.arrivals.announce();
            // Closed or extended.
            extents.changed.next().await;
            self.wants_room.set(false);
            self.set_busy(&collectors.streams, true);
        }
    }

    /// Whether packets are held back until its extents have more room.
    pub(super) fn is_full(&self) -> bool {
        self.wants_room.get() && self.arrivals.hold_back()
    }

    /// Gives what came to the stream that takes it, if there is one.
    async fn feed(&self, collectors: &Collectors, data: &Data) -> bool {
        let Some(stream) = *self.stream.borrow() else {
            return false;
        };
        let (streams, bytes) = (&collectors.streams, u64::from(data.bytes()));
        let fed = streams.feed(stream, data.clone(), &self.switch, self.origin);
        let is_fed = fed.await.is_ok();
        if is_fed {
            collectors.count(|counts| counts.task_bytes += bytes);
        } else {
            // It is over, or closed: the collection goes on without it.
            self.stream.borrow_mut().take();
        }
        is_fed
    }

    fn set_busy(&self, streams: &Streams, is_busy: bool) {
        self.is_busy.set(is_busy);
        if let Some(stream) = *self.stream.borrow() {
            streams.set_coming(stream, is_busy);
        }
    }

    async fn end_stream(&self, streams: &Rc<Streams>) {
        self.set_busy(streams, false);
        let stream = self.stream.borrow_mut().take();
        if let Some(stream) = stream {
            streams.feed_end(stream);
        }
    }

    async fn write(&self, collectors: &Rc<Collectors>, writes: &Writes, offset: u64, data: Data) {
        let bytes = data.bytes();
        let requester = self.origin.requester();
        self.switch
            .give_out(requester, bytes, collectors.map.buffers)
            .await;
        let Some(extents) = &self.extents else {
            return;
        };
        let written = extents.write(offset, &data).await;
        self.done_with(bytes.into());
        match written {
            Ok(()) => self.note(writes, offset, bytes.into()),
            Err(error) => self.fail(error.to_string()),
        }
        collectors.positions_moved(self);
    }

    /// Bytes at an offset are on flash.
    fn note(&self, writes: &Writes, offset: u64, bytes: u64) {
        let mut ahead = writes.ahead.borrow_mut();
        ahead.insert((offset, bytes));
        while let Some((offset, bytes)) = ahead.first().copied() {
            if offset != self.written.get() {
                break;
            }
            ahead.pop_first();
            self.written.set(offset + bytes);
        }
        self.changed.announce();
    }

    fn done_with(&self, bytes: u64) {
        self.switch.release(bytes);
        self.arrivals.release(bytes);
    }

    pub(super) fn fail(&self, reason: String) {
        self.failure.borrow_mut().get_or_insert(reason);
        self.stop();
    }

    /// Takes nothing more in.
    pub(super) fn stop(&self) {
        self.arrivals.close();
        if let Some(extents) = &self.extents {
            extents.changed.announce();
        }
        self.changed.announce();
    }
}
