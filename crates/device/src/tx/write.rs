//! Writes of a transaction. Whole pages go to flash at once, as tentative versions; pages of which a part is written wait in DRAM
//! for more of them, until there is no room or the transaction commits.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use arrayvec::ArrayVec;
use media::dram::Toward;
use sim::JoinHandle;
use sim::resource::Access;
use smallvec::SmallVec;

use super::pieces::{Piece, pieces, ranges, whole};
use super::transaction::{Image, Transaction};
use super::{Transactions, TxError};
use crate::ftl::ranges::runs;
use crate::ftl::{Lpn, PageSlice, SnapshotId, UNITS_PER_PAGE_MAX, VersionError};
use crate::memory::{BufferId, Purpose};
use crate::planted::{Bug, is_planted};
use crate::schedule::Origin;

/// Slices that lie in one buffer.
type Units = ArrayVec<PageSlice, { UNITS_PER_PAGE_MAX as usize }>;

/// Where what is written lies.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Here; nowhere on a drive that keeps no data.
    Bytes(Option<&'a [u8]>),
    /// In a page buffer, from its beginning on.
    Buffer(BufferId),
}

/// What goes to one page of flash.
type Parts = SmallVec<[Part; 1]>;

/// Programs under way.
type Programs<E> = SmallVec<[JoinHandle<Result<(), E>>; 2]>;

/// Bytes of a page that go to flash; nothing on a drive that keeps no data.
struct Part {
    piece: Piece,
    data: Box<[u8]>,
}

impl Transaction {
    /// Writes `bytes` bytes of a file from `offset` on: `data`, or nobody knows what on a drive that keeps no data. They must lie
    /// in the file. When this returns, reads of the transaction see them.
    ///
    /// # Errors
    /// No such file or bytes of it, or not to be written; that somebody else was first, or no space: the transaction can
    /// only be rolled back then.
    pub async fn write(
        &self,
        file: u32,
        offset: u64,
        bytes: u32,
        data: Option<&[u8]>,
    ) -> Result<(), TxError> {
        debug_assert!(data.is_none_or(|data| data.len() == bytes as usize));
        self.write_from(file, offset, bytes, Source::Bytes(data))
            .await
    }

    /// As [`Transaction::write`], of bytes that a page buffer has, which begin with a page of the file and are as many as a
    /// page of flash has at most. The buffer is in use until this is over, however it ends, and cleared behind them.
    ///
    /// # Errors
    /// As [`Transaction::write`].
    pub async fn write_buffer(
        &self,
        file: u32,
        offset: u64,
        bytes: u32,
        buffer: BufferId,
    ) -> Result<(), TxError> {
        self.write_from(file, offset, bytes, Source::Buffer(buffer))
            .await
    }

    async fn write_from(
        &self,
        file: u32,
        offset: u64,
        bytes: u32,
        source: Source<'_>,
    ) -> Result<(), TxError> {
        self.check_open()?;
        let range = self.writable_range(file, offset, bytes)?;
        let pieces = pieces(self.file(file)?, range, self.owner.unit);
        let written = match self.transaction() {
            Some(id) => self.write_versions(id, &pieces, source).await,
            None => self.write_at_once(&pieces, source).await,
        };
        self.noted(written)
    }

    /// # Errors
    /// Bytes that may not be written.
    fn writable_range(&self, number: u32, offset: u64, bytes: u32) -> Result<Range<u64>, TxError> {
        let file = self.file(number)?;
        if !file.is_writable() {
            return Err(TxError::ReadOnly(number));
        }
        let end = offset.checked_add(bytes.into());
        match end.filter(|end| *end <= file.bytes()) {
            Some(end) => Ok(offset..end),
            None => Err(TxError::Beyond {
                file: number,
                start: offset,
                end: offset.saturating_add(bytes.into()),
                bytes: file.bytes(),
            }),
        }
    }

    async fn write_versions(
        &self,
        id: SnapshotId,
        pieces: &[Piece],
        source: Source<'_>,
    ) -> Result<(), TxError> {
        let owner = &self.owner;
        {
            let _lock = self.lock(ranges(pieces), Access::Exclusive).await;
            for piece in pieces {
                owner.ftl.take_page(id, piece.lpn).await?;
            }
            let inner = whole(pieces, owner.unit);
            let whole = &pieces[inner.clone()];
            owner.count(|counts| counts.pages_written += whole.len() as u64);
            let programs = match source {
                Source::Bytes(data) => {
                    self.program_pages(id, whole, |piece| Part::of(*piece, data))
                }
                Source::Buffer(_) => Programs::new(),
            };
            for piece in pieces[..inner.start].iter().chain(&pieces[inner.end..]) {
                self.gather(*piece, source).await?;
            }
            for program in programs {
                program.await?;
            }
            if let Source::Buffer(buffer) = source
                && !whole.is_empty()
            {
                self.program_buffer(id, whole, buffer).await?;
            }
            // What was gathered of them before is overwritten.
            let mut images = self.images.borrow_mut();
            if images.is_empty() {
                return Ok(());
            }
            for piece in whole {
                images.remove(&piece.lpn.0);
            }
        }
        self.write_images(owner.config.partial_pages(owner.unit))
            .await
    }

    /// Has whole pages programmed, as many in one as a page of flash has.
    fn program_pages(
        &self,
        id: SnapshotId,
        pieces: &[Piece],
        part: impl Fn(&Piece) -> Part,
    ) -> Programs<VersionError> {
        let pages = pieces.chunks(self.owner.unit.per_page() as usize);
        pages
            .map(|page| self.program(id, page.iter().map(&part).collect()))
            .collect()
    }

    /// A task of its own, which runs to its end whatever becomes of the transaction.
    fn program(&self, id: SnapshotId, parts: Parts) -> JoinHandle<Result<(), VersionError>> {
        let (owner, origin) = (self.owner.clone(), self.origin);
        let (sim, running) = (owner.sim.clone(), self.run_on());
        sim.spawn(async move {
            let _running = running;
            let _room = owner.buffers.room(Purpose::Command).await;
            let buffer = owner.buffers.take();
            let units = owner.lay_out(&parts, buffer.id(), origin);
            let used = parts.len() * owner.unit.bytes() as usize;
            let rest = |page: &mut [u8]| page[used..].fill(0);
            owner.buffers.with_mut(buffer.id(), rest);
            owner.ftl.write_tentative(id, &units).await
        })
    }

    /// Programs whole pages that lie in a buffer, one after another from its beginning on.
    async fn program_buffer(
        &self,
        id: SnapshotId,
        pieces: &[Piece],
        buffer: BufferId,
    ) -> Result<(), TxError> {
        let owner = &self.owner;
        let units = owner.units_of(pieces, buffer, self.origin);
        let used = pieces.len() * owner.unit.bytes() as usize;
        let clear = |page: &mut [u8]| page[used..].fill(0);
        owner.buffers.with_mut(buffer, clear);
        let _running = self.run_on();
        Ok(owner.ftl.write_tentative(id, &units).await?)
    }

    /// Keeps a part of a page in DRAM, with the rest of it.
    async fn gather(&self, piece: Piece, source: Source<'_>) -> Result<(), TxError> {
        let image = match self.image_of(piece.lpn) {
            Some(image) => image,
            None => {
                let image = self.image_before(piece.lpn).await?;
                self.owner.count(|counts| counts.pages_gathered += 1);
                self.images.borrow_mut().insert(piece.lpn.0, image.clone());
                image
            }
        };
        let keep = |bytes: &[u8]| {
            image.borrow_mut()[piece.within()].copy_from_slice(&bytes[piece.place()]);
        };
        match source {
            Source::Bytes(data) => data.map_or((), keep),
            Source::Buffer(buffer) => self.owner.buffers.with(buffer, keep).unwrap_or(()),
        }
        let tenant = self.origin.tenant;
        self.owner
            .move_bytes(tenant, piece.bytes.into(), Toward::Cells)
            .await;
        Ok(())
    }

    /// All of a page as the transaction sees it.
    async fn image_before(&self, lpn: Lpn) -> Result<Image, TxError> {
        let owner = &self.owner;
        let bytes = owner.unit.bytes();
        let _room = owner.buffers.room(Purpose::Command).await;
        let buffer = owner.buffers.take();
        let slice = PageSlice {
            origin: self.origin,
            ..PageSlice::new(lpn, 0, bytes, buffer.id())
        };
        self.note_read(lpn);
        self.fetch(&[slice]).await?;
        let mut image = Vec::new();
        owner.buffers.with(buffer.id(), |page| {
            match is_planted(Bug::TransactionForgetsTheRest) {
                true => image.resize(bytes as usize, 0),
                false => image.extend_from_slice(&page[..bytes as usize]),
            }
        });
        owner
            .move_bytes(self.origin.tenant, bytes.into(), Toward::Cells)
            .await;
        Ok(Rc::new(RefCell::new(image.into())))
    }

    /// Writes pages that were gathered to flash, until so many are left.
    pub(super) async fn write_images(&self, left: usize) -> Result<(), TxError> {
        let Some(id) = self.transaction() else {
            return Ok(());
        };
        loop {
            let gathered = self.images.borrow().len();
            if gathered <= left {
                return Ok(());
            }
            // Those of one page of flash, or all of them at the end.
            let per_page = self.owner.unit.per_page() as usize;
            let count = match left {
                0 => gathered,
                _ => per_page.min(gathered),
            };
            let lpns: Vec<u32> = self.images.borrow().keys().take(count).copied().collect();
            let _lock = self.lock(runs(&lpns), Access::Exclusive).await;
            let kept = lpns.iter().map(|lpn| Lpn(*lpn));
            let kept = kept.filter(|lpn| self.image_of(*lpn).is_some());
            let pieces: Vec<Piece> = kept.map(|lpn| Piece::whole(lpn, self.owner.unit)).collect();
            let bytes = pieces.len() as u64 * u64::from(self.owner.unit.bytes());
            self.owner
                .move_bytes(self.origin.tenant, bytes, Toward::Reader)
                .await;
            let part = |piece: &Piece| Part {
                piece: *piece,
                data: self
                    .image_of(piece.lpn)
                    .map_or_else(Box::default, |image| image.borrow().clone()),
            };
            for program in self.program_pages(id, &pieces, part) {
                program.await?;
            }
            let mut images = self.images.borrow_mut();
            pieces.iter().for_each(|piece| {
                images.remove(&piece.lpn.0);
            });
        }
    }

    /// Writes without a transaction: each page counts when it is on flash.
    async fn write_at_once(&self, pieces: &[Piece], source: Source<'_>) -> Result<(), TxError> {
        self.owner
            .count(|counts| counts.pages_written += pieces.len() as u64);
        let follows = |one: &Piece, next: &Piece| {
            let slot = next.lpn.0 % self.owner.unit.per_page();
            one.lpn.0 + 1 == next.lpn.0 && slot > 0
        };
        let together = pieces.chunk_by(follows);
        let data = match source {
            Source::Bytes(data) => data,
            Source::Buffer(buffer) => {
                for pieces in together {
                    self.write_buffer_through(pieces, buffer).await?;
                }
                return Ok(());
            }
        };
        let writes: Programs<TxError> = together
            .map(|pieces| pieces.iter().map(|piece| Part::of(*piece, data)).collect())
            .map(|parts| self.write_through(parts))
            .collect();
        for write in writes {
            write.await?;
        }
        Ok(())
    }

    /// Writes logical pages that follow one another from where they lie in a buffer.
    async fn write_buffer_through(
        &self,
        pieces: &[Piece],
        buffer: BufferId,
    ) -> Result<(), TxError> {
        let owner = &self.owner;
        let pages = pieces[0].lpn.0..pieces[pieces.len() - 1].lpn.0 + 1;
        let lock = owner.ftl.lock(pages).await;
        let units = owner.units_of(pieces, buffer, self.origin);
        Ok(owner.cache.write_page_through(&lock, &units).await?)
    }

    /// Writes logical pages that follow one another to one page of flash, in a task of its own.
    fn write_through(&self, parts: Parts) -> JoinHandle<Result<(), TxError>> {
        let (owner, origin) = (self.owner.clone(), self.origin);
        let (sim, running) = (owner.sim.clone(), self.run_on());
        sim.spawn(async move {
            let _running = running;
            let _room = owner.buffers.room(Purpose::Command).await;
            let pages = parts[0].piece.lpn.0..parts[parts.len() - 1].piece.lpn.0 + 1;
            let lock = owner.ftl.lock(pages).await;
            let buffer = owner.buffers.take();
            let units = owner.lay_out(&parts, buffer.id(), origin);
            Ok(owner.cache.write_page_through(&lock, &units).await?)
        })
    }
}

impl Transactions {
    /// The slices that pieces are which lie in a buffer, one page after another from its beginning on.
    fn units_of(&self, pieces: &[Piece], buffer: BufferId, origin: Origin) -> Units {
        let slice = |piece: &Piece| PageSlice {
            base: piece.at as u32 - piece.column,
            origin,
            ..PageSlice::new(piece.lpn, piece.column, piece.bytes, buffer)
        };
        pieces.iter().map(slice).collect()
    }

    /// Puts parts into a buffer, each where its slot is; gives the slices that they are there.
    fn lay_out(&self, parts: &[Part], into: BufferId, origin: Origin) -> Units {
        let slices = (0..)
            .zip(parts)
            .map(|(slot, Part { piece, .. })| PageSlice {
                base: slot * self.unit.bytes(),
                origin,
                ..PageSlice::new(piece.lpn, piece.column, piece.bytes, into)
            });
        let units: Units = slices.collect();
        self.buffers.with_mut(into, |page| {
            for (unit, part) in units.iter().zip(parts) {
                page[unit.place()].copy_from_slice(&part.data);
            }
        });
        units
    }
}

impl Part {
    fn of(piece: Piece, data: Option<&[u8]>) -> Part {
        let data = data.map_or_else(Box::default, |data| data[piece.place()].into());
        Part { piece, data }
    }
}
