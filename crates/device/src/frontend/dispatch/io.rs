//! The I/O commands of the NVM command set: reads, writes, and what makes room.

use std::ops::Range;

use media::core::Work;
use media::dram::ScatteredAccess;
use media::link::Carries;
use nvme::command::{BlockRange, DatasetManagement, DatasetRange, ReadWrite, WriteZeroes};
use nvme::{SegmentList, Status};

use crate::cache::{Lookup, ReadStamp, Rest};
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::namespace::{Namespace, PAGES_AT_ONCE};
use crate::ftl::{Lpn, PageSlice, WithoutSpace};
use crate::memory::{Buffer, BufferId, Purpose};
use crate::schedule::{Notify, Origin};

/// The slice of one logical page that a command covers.
#[derive(Clone, Copy)]
pub(in crate::frontend) struct Piece {
    pub(in crate::frontend) lpn: Lpn,
    pub(in crate::frontend) column: u32,
    pub(in crate::frontend) bytes: u32,
    /// Where in the command's data the piece begins.
    pub(in crate::frontend) offset: u64,
    /// Where in a page buffer its page begins; a buffer has as many pieces that follow one another as fit.
    pub(in crate::frontend) base: u32,
    pub(in crate::frontend) origin: Origin,
}

impl Piece {
    /// Where it lies in its buffer.
    #[inline]
    pub(in crate::frontend) fn place(&self) -> Range<usize> {
        let begin = (self.base + self.column) as usize;
        begin..begin + self.bytes as usize
    }

    /// The piece, which lies at its place in `buffer`.
    #[inline]
    pub(in crate::frontend) fn in_buffer(&self, buffer: BufferId) -> PageSlice {
        PageSlice {
            lpn: self.lpn,
            column: self.column,
            bytes: self.bytes,
            buffer,
            base: self.base,
            origin: self.origin,
        }
    }
}

/// A piece being read.
struct PieceRead<'a> {
    piece: Piece,
    into: BufferId,
    /// The buffers themselves, with the first piece that lies in them.
    _buffers: [Option<Buffer<'a>>; 2],
    from_flash: FromFlash,
}

/// What is being read to one page buffer.
struct Filling {
    buffer: BufferId,
    /// Another one, for what of its pieces the cache has a part of.
    rest: BufferId,
    has_rest: bool,
    /// Neighbouring pieces that flash is about to be asked for together.
    run: Option<PageSlice>,
}

/// Where the data of a write is.
#[derive(Clone, Copy)]
pub(in crate::frontend) enum Data<'a> {
    /// In host memory, from where it is fetched.
    Host(&'a SegmentList),
    /// In the controller's memory; nothing if the drive keeps no data.
    Copied(&'a [u8]),
}

/// What flash has to give of a piece.
enum FromFlash {
    /// Nothing: it was in the cache.
    Nothing,
    /// Everything, asked for at this time.
    All(ReadStamp),
    /// What was not in the cache, to this other buffer.
    Rest(Rest, BufferId),
}

/// Whether a write must be on flash before it may clear a mark: the note that a mark is gone is
/// durable, and after a power cut what a cache lost would show the data beneath the mark.
#[inline]
fn must_outlive_marks(namespace: &Namespace) -> bool {
    !namespace.plain.get()
}

impl Controller {
    /// # Errors
    /// Invalid Field if a command's data is more than MDTS allows.
    #[inline]
    pub(in crate::frontend) fn check_transfer(&self, bytes: u64) -> Result<(), Status> {
        if bytes > self.transfer_bytes_max {
            return Err(Status::INVALID_FIELD);
        }
        Ok(())
    }

    /// What was completed before, for any namespace, is then where no power cut can take it.
    pub(super) async fn flush(&self) -> Result<Answer, Status> {
        if self.cache.is_volatile() {
            let flushed = self.cache.flush().await;
            flushed.map_err(|error| status_of(error, false))?;
        }
        Ok(Answer::DONE)
    }

    /// The pieces of logical pages that `bytes` of a namespace cover, in order; where each lies in page buffers that are filled
    /// one after another.
    #[inline]
    pub(in crate::frontend) fn pieces(
        &self,
        namespace: &Namespace,
        bytes: &Range<u64>,
        origin: Origin,
    ) -> impl Iterator<Item = Piece> + Clone + use<> {
        let unit = self.unit;
        let base = namespace.lpn(0).0;
        let (start, end) = (bytes.start, bytes.end);
        let touched = unit.touched(bytes);
        let begin = touched.start;
        touched.map(move |page| {
            let first = start.max(unit.start(page));
            let last = end.min(unit.start(page + 1));
            Piece {
                lpn: Lpn(base + page),
                column: (first - unit.start(page)) as u32,
                bytes: (last - first) as u32,
                offset: first - start,
                base: unit.base(page - begin),
                origin,
            }
        })
    }

    /// The logical pages that a range of bytes of a namespace touches.
    pub(in crate::frontend) fn pages(
        &self,
        namespace: &Namespace,
        bytes: &Range<u64>,
    ) -> Range<u32> {
        namespace.lpns(self.unit.touched(bytes))
    }

    /// The logical pages that a range of bytes of a namespace covers entirely.
    fn whole_pages(&self, namespace: &Namespace, bytes: &Range<u64>) -> Range<u32> {
        namespace.lpns(self.unit.covered(bytes))
    }

    #[inline]
    pub(super) async fn read(
        &self,
        namespace: &Namespace,
        read: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&read.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin, &read.data, bytes).await?;
        if read.force_unit_access && self.cache.is_volatile() {
            // What is read must be what the medium has.
            let pages = self.pages(namespace, &range);
            let saved = self.cache.save(pages).await;
            saved.map_err(|error| status_of(error, false))?;
        }
        let pages = self.read_pages(namespace, &range, origin, |piece, buffer| {
            self.port
                .copy_out(&segments, piece.offset, buffer, piece.place())
        });
        pages.await?;
        self.health.read(bytes);
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
    }

    /// Reads bytes of a namespace into page buffers, from the cache where it has them, else from flash, as
    /// many at a time as there is room for; `take` is given each piece and where it lies.
    ///
    /// # Errors
    /// Unrecovered Read Error for blocks that are lost or marked; those of `take`.
    #[inline]
    pub(in crate::frontend) async fn read_pages(
        &self,
        namespace: &Namespace,
        range: &Range<u64>,
        origin: Origin,
        mut take: impl FnMut(&Piece, BufferId) -> Result<(), Status>,
    ) -> Result<(), Status> {
        self.check_marks(namespace, range.clone())?;
        // What the cache has only a part of needs a second buffer.
        let each = 1 + u32::from(self.cache.is_on());
        let most = self.buffers.most_at_once() / each;
        let mut pieces = self.pieces(namespace, range, origin);
        let mut left = self.buffers_for(self.pages(namespace, range).len());
        while left > 0 {
            let count = left.min(most);
            let _room = self.buffers.rooms(count * each).await;
            let window = (count * self.unit.per_page()) as usize;
            self.read_window(pieces.by_ref().take(window), &mut take)
                .await?;
            left -= count;
        }
        Ok(())
    }

    /// Page buffers that so many pieces take.
    fn buffers_for(&self, pieces: usize) -> u32 {
        self.unit.pages_of(pieces as u32)
    }

    /// Reads pieces for all of which there is room.
    #[inline]
    async fn read_window(
        &self,
        pieces: impl Iterator<Item = Piece>,
        take: &mut impl FnMut(&Piece, BufferId) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let ticket = self.ftl.ticket();
        let to: Notify = ticket.id().into();
        let (mut cached, mut reads) = (ScatteredAccess::default(), Vec::new());
        let mut filling = Filling {
            buffer: BufferId::NONE,
            rest: BufferId::NONE,
            has_rest: false,
            run: None,
        };
        let mut pieces = pieces.peekable();
        while let Some(piece) = pieces.next() {
            self.charge(piece.origin, Work::ReadPage).await;
            let read = self.start_piece(piece, &mut filling, to, &mut cached);
            reads.push(read);
            // What comes next in the buffer may lie beside it on flash.
            if pieces.peek().is_none_or(|next| next.base == 0) {
                self.end_run(&mut filling, to);
            }
        }
        let cached = self.cache.post_hits(cached);
        ticket
            .await
            .map_err(|fault| status_of(fault.into(), true))?;
        if let Some(arrives) = cached {
            self.sim.sleep_until(arrives).await;
        }
        for read in &reads {
            self.finish_piece(read);
            take(&read.piece, read.into)?;
        }
        Ok(())
    }

    /// Looks for a piece in the cache, and has flash read what is not there, with its neighbours if there are some.
    fn start_piece(
        &self,
        piece: Piece,
        filling: &mut Filling,
        to: Notify,
        cached: &mut ScatteredAccess,
    ) -> PieceRead<'_> {
        let opened = (piece.base == 0).then(|| self.buffers.take());
        if let Some(buffer) = &opened {
            (filling.buffer, filling.has_rest) = (buffer.id(), false);
        }
        let slice = piece.in_buffer(filling.buffer);
        let stamp = self.cache.read_stamp(piece.lpn);
        let mut other = None;
        let from_flash = match self.cache.lookup(&slice) {
            Lookup::Hit(found) => {
                self.end_run(filling, to);
                self.cache.add_hit(cached, piece.origin.tenant, found);
                FromFlash::Nothing
            }
            Lookup::Miss => {
                match &mut filling.run {
                    Some(run) => run.bytes += slice.bytes,
                    None => filling.run = Some(slice),
                }
                FromFlash::All(stamp)
            }
            Lookup::PartialHit(rest) => {
                self.end_run(filling, to);
                self.cache.add_hit(cached, piece.origin.tenant, rest.found);
                if !filling.has_rest {
                    let taken = self.buffers.take();
                    (filling.rest, filling.has_rest) = (taken.id(), true);
                    other = Some(taken);
                }
                let hull = rest.hull();
                let hull = PageSlice {
                    column: hull.start,
                    bytes: hull.end - hull.start,
                    ..piece.in_buffer(filling.rest)
                };
                self.ftl.read(hull, to);
                FromFlash::Rest(rest, filling.rest)
            }
        };
        PieceRead {
            piece,
            into: filling.buffer,
            _buffers: [opened, other],
            from_flash,
        }
    }

    /// Has flash read the neighbours that were gathered, if any were.
    fn end_run(&self, filling: &mut Filling, to: Notify) {
        if let Some(run) = filling.run.take() {
            self.ftl.read_run(run, to);
        }
    }

    /// What flash had of a piece is in its buffer.
    fn finish_piece(&self, read: &PieceRead<'_>) {
        match &read.from_flash {
            FromFlash::Nothing => {}
            FromFlash::All(stamp) => self.cache.keep(read.piece.in_buffer(read.into), *stamp),
            FromFlash::Rest(rest, from) => self.cache.merge(rest, *from, read.into),
        }
    }

    /// The piece of a page that `blocks` are, if they are in range and of one page.
    #[inline]
    pub(super) fn only_piece(
        &self,
        namespace: &Namespace,
        blocks: &BlockRange,
        origin: Origin,
    ) -> Option<Piece> {
        let bytes = namespace.byte_range(blocks).ok()?;
        let mut pieces = self.pieces(namespace, &bytes, origin);
        let only = pieces.next();
        only.filter(|_| pieces.next().is_none())
    }

    /// As [`Controller::write`], within one page: by far the most frequent write, which asks
    /// nothing of the allocator.
    #[inline]
    pub(super) async fn write_piece(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        piece: Piece,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = u64::from(piece.bytes);
        self.check_transfer(bytes)?;
        let segments = self.port.locate(piece.origin, &write.data, bytes).await?;
        // Hardly anybody waits: the way without a future first.
        let _room = match self.buffers.try_room(Purpose::Command) {
            Some(room) => room,
            None => Box::pin(self.buffers.room(Purpose::Command)).await,
        };
        self.port
            .fetch_bytes(piece.origin, Carries::Data, bytes)
            .await;
        let buffer = self.buffers.take();
        self.port
            .copy_in(&segments, piece.offset, buffer.id(), piece.place())?;
        let slice = piece.in_buffer(buffer.id());
        self.write_slices(namespace, range, &[slice], write.force_unit_access)
            .await
    }

    pub(super) async fn write(
        &self,
        namespace: &Namespace,
        write: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&write.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin, &write.data, bytes).await?;
        let (data, force) = (Data::Host(&segments), write.force_unit_access);
        self.write_pages(namespace, range, origin, data, force)
            .await
    }

    /// Writes `data` to bytes of a namespace, as many pages at a time as there is room for; when this
    /// returns, they are where a completed write has to be: in the cache, or on flash if `force` asks for that.
    pub(in crate::frontend) async fn write_pages(
        &self,
        namespace: &Namespace,
        range: Range<u64>,
        origin: Origin,
        data: Data<'_>,
        force: bool,
    ) -> Result<Answer, Status> {
        let pieces: Vec<Piece> = self.pieces(namespace, &range, origin).collect();
        let window = (self.buffers.most_at_once() * self.unit.per_page()) as usize;
        for window in pieces.chunks(window) {
            self.write_window(namespace, range.start, window, data, force)
                .await?;
        }
        Ok(Answer::DONE)
    }

    /// Writes pieces of a command that begins at byte `start` of the namespace; room for all of them
    /// is taken first, so that whoever has some never waits for more.
    async fn write_window(
        &self,
        namespace: &Namespace,
        start: u64,
        pieces: &[Piece],
        data: Data<'_>,
        force: bool,
    ) -> Result<Answer, Status> {
        let count_of_buffers = self.buffers_for(pieces.len());
        let _room = self.buffers.rooms(count_of_buffers).await;
        let first = pieces.first().map_or(0, |piece| piece.offset);
        let count: u64 = pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        if let Data::Host(_) = data {
            let origin = pieces.first().map(|piece| piece.origin).unwrap_or_default();
            self.port.fetch_bytes(origin, Carries::Data, count).await;
        }
        let mut buffers: Vec<Buffer<'_>> = Vec::with_capacity(count_of_buffers as usize);
        let mut slices = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if piece.base == 0 {
                buffers.push(self.buffers.take());
            }
            let buffer = buffers.last().map_or(BufferId::NONE, Buffer::id);
            self.fill(piece, buffer, data)?;
            slices.push(piece.in_buffer(buffer));
        }
        let begin = start + first;
        self.write_slices(namespace, begin..begin + count, &slices, force)
            .await
    }

    /// Puts a piece of a command's data into its page buffer.
    fn fill(&self, piece: &Piece, buffer: BufferId, data: Data<'_>) -> Result<(), Status> {
        let place = piece.place();
        match data {
            Data::Host(segments) => self.port.copy_in(segments, piece.offset, buffer, place),
            Data::Copied(bytes) => {
                self.buffers.with_mut(buffer, |page| {
                    let from = piece.offset as usize..piece.offset as usize + place.len();
                    page[place].copy_from_slice(&bytes[from]);
                });
                Ok(())
            }
        }
    }

    #[inline]
    async fn write_slices(
        &self,
        namespace: &Namespace,
        bytes: Range<u64>,
        slices: &[PageSlice],
        force: bool,
    ) -> Result<Answer, Status> {
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = force || must_outlive_marks(namespace);
        let written = self.cache.write(&lock, slices, force).await;
        written.map_err(|error| status_of(error, false))?;
        self.health.write(bytes.end - bytes.start);
        self.clear_marks(&lock, namespace, bytes).await?;
        Ok(Answer::DONE)
    }

    pub(super) async fn write_zeroes(
        &self,
        namespace: &Namespace,
        zeroes: &WriteZeroes,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = namespace.byte_range(&zeroes.blocks)?;
        // Before the lock: whoever has room waits for locks, so nobody may have it the other way.
        let _room = self.buffers.room(Purpose::Command).await;
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = zeroes.force_unit_access || must_outlive_marks(namespace);
        for mut piece in self
            .pieces(namespace, &bytes, origin)
            .filter(|piece| piece.bytes < self.unit.bytes())
        {
            // Each in a buffer of its own.
            piece.base = 0;
            let buffer = self.buffers.take();
            self.buffers.with_mut(buffer.id(), |page| page.fill(0));
            let slice = piece.in_buffer(buffer.id());
            let written = self.cache.write(&lock, &[slice], force).await;
            written.map_err(|error| status_of(error, false))?;
        }
        let whole = self.whole_pages(namespace, &bytes);
        let deallocated = self
            .cache
            .deallocate(&lock, whole, WithoutSpace::Keep, origin)
            .await;
        deallocated.map_err(|error| status_of(error, false))?;
        self.clear_marks(&lock, namespace, bytes).await?;
        Ok(Answer::DONE)
    }

    /// Deallocation is a hint (NVM 3.3.3): of a range, the pages it covers
    /// entirely are deallocated, and parts of pages keep their content.
    pub(super) async fn manage_dataset(
        &self,
        namespace: &Namespace,
        dataset: &DatasetManagement,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = usize::from(dataset.range_count) * size_of::<DatasetRange>();
        let segments = self
            .port
            .locate(origin, &dataset.data, bytes as u64)
            .await?;
        self.port
            .fetch_bytes(origin, Carries::Parameters, bytes as u64)
            .await;
        let mut list = vec![0; bytes];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let ranges = DatasetRange::parse(&list)?;
        let bytes_of = |range: &DatasetRange| {
            namespace.byte_range(&BlockRange::new(range.first(), range.block_count.get()))
        };
        let ranges: Vec<Range<u64>> = ranges.iter().map(bytes_of).collect::<Result<_, _>>()?;
        if !dataset.deallocate {
            return Ok(Answer::DONE);
        }
        for bytes in ranges {
            let pages = self.whole_pages(namespace, &bytes);
            if pages.is_empty() {
                continue;
            }
            let lock = self.ftl.lock(pages.clone()).await;
            let whole = self.unit.covered(&bytes);
            let covered = self.unit.start(whole.start)..self.unit.start(whole.end);
            for first in pages.clone().step_by(PAGES_AT_ONCE as usize) {
                let end = first.saturating_add(PAGES_AT_ONCE).min(pages.end);
                let deallocated =
                    self.cache
                        .deallocate(&lock, first..end, WithoutSpace::Keep, origin);
                deallocated.await.map_err(|error| status_of(error, false))?;
                if end < pages.end {
                    self.sim.yield_now().await;
                }
            }
            self.clear_marks(&lock, namespace, covered).await?;
        }
        Ok(Answer::DONE)
    }
}
