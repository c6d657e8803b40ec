//! Pages on their way from the array to the controller.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use media::dram::ScatteredAccess;
use sim::Time;

use super::Pages;
use super::error::Failure;
use super::stage::Stage;
use crate::bits::classes::{DieShare, OfDie, by_die};
use crate::cache::{Found, Lookup, Rest};
use crate::ftl::{MappingUnit, PageSlice};
use crate::memory::{Buffer, BufferId};
use crate::region::DieBatch;
use crate::schedule::{Compute, Counted, Ticket};

/// A page of each chunk of a batch that is on its way from the array.
struct Fetch<'a> {
    ticket: Ticket<'a>,
    pages: Pages<'a>,
    /// What of pages the data cache does not have: the number of the page among them, and where it comes to; the buffer
    /// itself with the first that comes there.
    rests: Vec<(usize, Rest, BufferId, Option<Buffer<'a>>)>,
    /// When what the data cache has of pages is out of DRAM.
    cached: Time,
    /// Where the pages are only counted, and nothing is in them, their ones.
    ones: Option<Rc<Cell<u64>>>,
}

/// A page of each chunk of a batch that has come from the array.
pub(super) struct Fetched<'a> {
    pub(super) pages: Pages<'a>,
    /// Their ones, if they were counted on the way: then nothing is in them.
    pub(super) ones: Option<u64>,
}

/// The pages of one die's share on their way from the array, in the order of the recipe, batch after batch.
pub(super) struct Fetches<'a> {
    stage: &'a Stage,
    batches: std::vec::IntoIter<DieBatch>,
    batch: DieBatch,
    /// Place in the recipe's order of the computation fetched next.
    next: usize,
    flying: VecDeque<Fetch<'a>>,
}

impl<'a> Fetches<'a> {
    pub(super) fn new(stage: &'a Stage, share: &DieShare) -> Fetches<'a> {
        Fetches {
            stage,
            batches: share.batches.clone().into_iter(),
            batch: DieBatch::new(),
            next: stage.recipe.order.len(),
            flying: VecDeque::with_capacity(stage.fetches_ahead),
        }
    }

    /// Waits for the next page.
    pub(super) async fn next(&mut self) -> Result<Fetched<'a>, Failure> {
        self.top_up();
        let fetch = self
            .flying
            .pop_front()
            .expect("there are as many fetches as the recipe takes");
        let Fetch {
            ticket,
            pages,
            rests,
            cached,
            ones,
        } = fetch;
        if let Err(fault) = ticket.await {
            self.forget(pages.len());
            return Err(Failure::Flash(fault));
        }
        let bits = &self.stage.bits;
        for (at, rest, from, _) in &rests {
            bits.cache.merge(rest, *from, pages[*at].id());
        }
        // Their buffers are given back before further fetches take some.
        drop(rests);
        bits.sim.sleep_until(cached).await;
        self.top_up();
        let ones = ones.map(|ones| ones.get());
        Ok(Fetched { pages, ones })
    }

    /// Starts fetches until enough are on their way.
    fn top_up(&mut self) {
        while self.flying.len() < self.stage.fetches_ahead {
            let order = &self.stage.recipe.order;
            if self.next == order.len() {
                let Some(batch) = self.batches.next().filter(|_| !order.is_empty()) else {
                    return;
                };
                (self.batch, self.next) = (batch, 0);
            }
            let fetch = self.start(order[self.next]);
            self.flying.push_back(fetch);
            self.next += 1;
        }
    }

    /// Starts the fetch of a computation's pages of the batch: they are on one die, or on several if the
    /// rows of the computation are at another site than the batch.
    fn start(&self, computation: usize) -> Fetch<'a> {
        let (stage, bits) = (self.stage, &self.stage.bits);
        let (work, computation) = (&*stage.work, &stage.plan.computations[computation]);
        let pages = bits.take_pages(&self.batch);
        let ticket = bits.schedule.ticket();
        if let Some(operand) = computation.page_operand() {
            return self.read_pages(operand, ticket, pages);
        }
        let plane = |place| work.plane(computation, place);
        let ones = stage.recipe.only_counts().then(Rc::default);
        for OfDie { die, numbers } in by_die(work.geometry(), &self.batch, plane) {
            let places: DieBatch = numbers.iter().map(|&at| self.batch[at]).collect();
            let outputs = numbers
                .iter()
                .map(|&at| (plane(self.batch[at]), pages[at].id()));
            let room = stage.through_accelerator;
            let counted = ones.as_ref().map(|ones: &Rc<Cell<u64>>| Counted {
                bits: places.iter().map(|&place| stage.bits_from(place)).collect(),
                ones: ones.clone(),
            });
            let compute = Compute {
                steps: work.commands(computation, &places),
                outputs: outputs.collect(),
                origin: stage.origin,
                room: room.then(|| bits.accelerator.room().clone()),
                counted,
            };
            bits.schedule.push(die, compute, ticket.id().into());
        }
        Fetch {
            ticket,
            pages,
            rests: Vec::new(),
            cached: Time::ZERO,
            ones,
        }
    }

    /// Starts reading the pages of an operand that lies outside of the region, as any read does: from the data cache
    /// where it has them.
    fn read_pages(&self, operand: u32, ticket: Ticket<'a>, pages: Pages<'a>) -> Fetch<'a> {
        let (stage, bits, work) = (self.stage, &self.stage.bits, &self.stage.work);
        let page_bytes = work.geometry().page_bytes;
        let (mut rests, mut cached) = (Vec::new(), ScatteredAccess::default());
        let requester = stage.origin.requester();
        for (at, (&place, page)) in self.batch.iter().zip(&pages).enumerate() {
            let chunk = PageSlice {
                origin: stage.origin,
                ..PageSlice::new(work.class.lpn(operand, place), 0, page_bytes, page.id())
            };
            // There is room: a page that is read has no latches to be saved.
            let mut other: Option<BufferId> = None;
            let look = |slice: &PageSlice| bits.cache.lookup(slice);
            each_part(&chunk, bits.ftl.unit(), look, |part| match part {
                ChunkPart::Missed(run) => bits.ftl.read_run(run, ticket.id().into()),
                ChunkPart::Found(found) => bits.cache.add_hit(&mut cached, requester, found),
                ChunkPart::PartlyFound(slice, rest) => {
                    bits.cache.add_hit(&mut cached, requester, rest.found);
                    let taken = other.is_none().then(|| bits.buffers.take());
                    let into = taken.as_ref().map(Buffer::id).or(other);
                    let into = into.expect("it was taken with the first of the chunk");
                    other = Some(into);
                    let slice = PageSlice {
                        buffer: into,
                        ..rest.of(slice)
                    };
                    bits.ftl.read(slice, ticket.id().into());
                    rests.push((at, rest, into, taken));
                }
            });
        }
        let cached = bits.cache.post_hits(cached).unwrap_or(Time::ZERO);
        Fetch {
            ticket,
            pages,
            rests,
            cached,
            ones: None,
        }
    }

    /// Waits for what is on its way and forgets it.
    pub(super) async fn drain(&mut self) {
        while let Some(fetch) = self.flying.pop_front() {
            let pages = fetch.pages;
            // The evaluation has failed already.
            let _ = fetch.ticket.await;
            self.forget(pages.len());
        }
    }

    /// Gives back the room of pages that nobody takes in.
    fn forget(&self, pages: usize) {
        if self.stage.through_accelerator {
            self.stage.give_room(pages);
        }
    }
}

/// What is read together of a chunk outside of the region.
pub(super) enum ChunkPart {
    /// The data cache has all of it.
    Found(Found),
    /// It has a part of it.
    PartlyFound(PageSlice, Rest),
    /// Logical pages that follow one another, of which it has nothing.
    Missed(PageSlice),
}

/// The parts of a chunk, by what `look` says of its logical pages.
pub(super) fn each_part(
    chunk: &PageSlice,
    unit: MappingUnit,
    look: impl Fn(&PageSlice) -> Lookup,
    mut part: impl FnMut(ChunkPart),
) {
    let mut run: Option<PageSlice> = None;
    for slice in chunk.units(unit) {
        let found = look(&slice);
        if let (Lookup::Miss, Some(run)) = (found, &mut run) {
            run.bytes += slice.bytes;
            continue;
        }
        if let Some(run) = run.take() {
            part(ChunkPart::Missed(run));
        }
        match found {
            Lookup::Hit(found) => part(ChunkPart::Found(found)),
            Lookup::Miss => run = Some(slice),
            Lookup::PartialHit(rest) => part(ChunkPart::PartlyFound(slice, rest)),
        }
    }
    if let Some(run) = run {
        part(ChunkPart::Missed(run));
    }
}
