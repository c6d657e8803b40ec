//! Reads: pieces from the cache where it has them, else from flash.

use std::ops::Range;

use media::core::Work;
use media::dram::ScatteredAccess;
use nvme::Status;
use nvme::command::ReadWrite;

use super::piece::Piece;
use crate::cache::{Lookup, ReadStamp, Rest};
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::namespace::Namespace;
use crate::ftl::PageSlice;
use crate::memory::{Buffer, BufferId};
use crate::schedule::{Notify, Origin};

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

/// What flash has to give of a piece.
enum FromFlash {
    /// Nothing: it was in the cache.
    Nothing,
    /// Everything, asked for at this time.
    All(ReadStamp),
    /// What was not in the cache, to this other buffer.
    Rest(Rest, BufferId),
}

impl Controller {
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
        let pages = self.read_pages(namespace, &range, origin, |piece, buffer| {
            self.port
                .copy_out(&segments, piece.offset, buffer, piece.place())
        });
        pages.await?;
        if read.force_unit_access && self.cache.is_volatile() {
            // Before the host is told, the medium has what was read, or what has taken its place meanwhile.
            let saved = self.cache.save(self.pages(namespace, &range)).await;
            saved.map_err(|error| status_of(error, false))?;
        }
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
                self.cache.add_hit(cached, piece.origin.requester(), found);
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
                self.cache
                    .add_hit(cached, piece.origin.requester(), rest.found);
                if !filling.has_rest {
                    let taken = self.buffers.take();
                    (filling.rest, filling.has_rest) = (taken.id(), true);
                    other = Some(taken);
                }
                let missing = rest.of(piece.in_buffer(filling.rest));
                self.ftl.read(missing, to);
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
}
