//! Page buffers in the controller's memory, where data waits between the
//! channels and the link.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use media::nand::Nand;
use sim::Sim;

use super::MemoryConfig;
use super::rooms::{Held, Purpose, Room, Rooms};

/// Names a buffer of one page; [`BufferId::NONE`] where the drive keeps no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(u32);

impl BufferId {
    /// No buffer: in timing-only runs nothing is stored or copied.
    pub const NONE: BufferId = BufferId(u32::MAX);

    /// Its number, for tables of buffers.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSizes {
    /// A page.
    pub page: u32,
    /// A slot of the data cache: a logical page.
    pub slot: u32,
    /// The record of a page of data.
    pub record: u32,
}

impl BufferSizes {
    /// Of a drive whose logical pages are physical ones.
    pub fn of_pages(page: u32) -> BufferSizes {
        BufferSizes {
            page,
            slot: page,
            record: 0,
        }
    }
}

/// All page buffers. Whoever wants some takes room for them first ([`Buffers::room`]); whether there
/// is data in them or not, there are so many. They are kept for reuse, so steady traffic allocates none.
pub struct Buffers {
    rooms: Rooms,
    /// Page buffers in use, counted in debug builds: nobody may use one without room for it.
    used: Cell<u32>,
    sizes: BufferSizes,
    stores_data: bool,
    pages: RefCell<Vec<Box<[u8]>>>,
    free: RefCell<Vec<u32>>,
    /// Free ones that are shorter than a page: slots of the data cache, and records.
    free_slots: RefCell<Vec<u32>>,
    free_records: RefCell<Vec<u32>>,
}

impl Buffers {
    /// So many buffers of a page each, with nothing in them unless the drive `stores_data`.
    pub fn new(sim: &Sim, page_buffers: u32, sizes: BufferSizes, stores_data: bool) -> Buffers {
        Buffers {
            rooms: Rooms::new(sim, page_buffers),
            used: Cell::new(0),
            sizes,
            stores_data,
            pages: RefCell::default(),
            free: RefCell::default(),
            free_slots: RefCell::default(),
            free_records: RefCell::default(),
        }
    }

    /// Buffers for the pages of `nand`.
    pub fn of(sim: &Sim, config: &MemoryConfig, sizes: BufferSizes, nand: &Nand) -> Buffers {
        Buffers::new(sim, config.page_buffers, sizes, nand.holds_data())
    }

    /// Waits for room for a buffer.
    #[inline]
    pub fn room(&self, purpose: Purpose) -> impl Future<Output = Room<'_>> {
        self.rooms.one(purpose)
    }

    /// Room for a buffer, if there is some now and nobody waits for it.
    #[inline]
    pub fn try_room(&self, purpose: Purpose) -> Option<Room<'_>> {
        self.rooms.try_one(purpose)
    }

    /// Waits for room for the buffers of a command, all of them at once; at most
    /// [`Buffers::most_at_once`].
    pub fn rooms(&self, count: u32) -> impl Future<Output = Room<'_>> {
        self.rooms.several(count)
    }

    /// The most buffers that a command can have at once.
    pub fn most_at_once(&self) -> u32 {
        self.rooms.most()
    }

    /// Gives back room that was kept.
    #[inline]
    pub fn release(&self, held: Held) {
        self.rooms.release(held);
    }

    /// A buffer of undefined content; the caller has room for it.
    #[inline]
    pub fn take(&self) -> Buffer<'_> {
        let id = if self.stores_data {
            self.take_counted()
        } else {
            BufferId::NONE
        };
        Buffer { buffers: self, id }
    }

    /// Memory for a slot of the data cache, which is none of the page buffers.
    pub fn take_slot(&self) -> BufferId {
        if self.stores_data {
            self.take_sized(self.free_slots(), self.sizes.slot)
        } else {
            BufferId::NONE
        }
    }

    /// Gives back what [`Buffers::take_slot`] gave.
    pub fn give_back_slot(&self, id: BufferId) {
        if id != BufferId::NONE {
            self.free_slots().borrow_mut().push(id.0);
        }
    }

    /// Where slots wait: with pages, where they are as long.
    #[inline]
    fn free_slots(&self) -> &RefCell<Vec<u32>> {
        match self.sizes.slot == self.sizes.page {
            true => &self.free,
            false => &self.free_slots,
        }
    }

    /// Memory for a page that is none of the page buffers: what a dump works in.
    pub fn take_spare_page(&self) -> BufferId {
        if self.stores_data {
            self.take_id()
        } else {
            BufferId::NONE
        }
    }

    /// The same for what the firmware keeps for itself, which is kept even where the host's data is not.
    pub fn take_spare_firmware_page(&self) -> BufferId {
        self.take_id()
    }

    /// What a page buffer holds, in memory that is none of the page buffers, for [`Buffers::give_back_spare_page`] to take back;
    /// the buffer has undefined content then. Nothing is copied.
    pub fn take_over(&self, from: BufferId) -> BufferId {
        let into = self.take_id();
        self.pages.borrow_mut().swap(from.index(), into.index());
        into
    }

    /// Gives back what [`Buffers::take_spare_page`], or the same for the firmware, gave.
    pub fn give_back_spare_page(&self, id: BufferId) {
        if id != BufferId::NONE {
            self.free.borrow_mut().push(id.0);
        }
    }

    /// Memory for the record of a page of data, for [`Buffers::give_back_record`] to take back.
    pub fn take_record(&self) -> BufferId {
        self.take_sized(&self.free_records, self.sizes.record)
    }

    /// The record is on flash, or will not be.
    pub fn give_back_record(&self, id: BufferId) {
        self.free_records.borrow_mut().push(id.0);
    }

    /// As [`Buffers::take`], for what the firmware keeps for itself, which is kept even where the
    /// host's data is not.
    pub fn take_firmware(&self) -> Buffer<'_> {
        Buffer {
            buffers: self,
            id: self.take_counted(),
        }
    }

    #[inline]
    fn take_counted(&self) -> BufferId {
        if cfg!(debug_assertions) {
            self.used.set(self.used.get() + 1);
            debug_assert!(
                self.used.get() <= self.rooms.granted(),
                "{} page buffers in use, and room was taken for {}",
                self.used.get(),
                self.rooms.granted()
            );
        }
        self.take_id()
    }

    #[inline]
    fn take_id(&self) -> BufferId {
        self.take_sized(&self.free, self.sizes.page)
    }

    fn take_sized(&self, free: &RefCell<Vec<u32>>, bytes: u32) -> BufferId {
        if let Some(free) = free.borrow_mut().pop() {
            return BufferId(free);
        }
        let mut pages = self.pages.borrow_mut();
        pages.push(vec![0; bytes as usize].into_boxed_slice());
        BufferId(pages.len() as u32 - 1)
    }

    /// Gives back a buffer that was kept.
    #[inline]
    pub fn give_back(&self, id: BufferId) {
        if id != BufferId::NONE {
            if cfg!(debug_assertions) {
                self.used.set(self.used.get() - 1);
            }
            self.free.borrow_mut().push(id.0);
        }
    }

    /// Whether buffers hold anything.
    pub fn stores_data(&self) -> bool {
        self.stores_data
    }

    /// Shows a buffer's bytes to `look`; does nothing for [`BufferId::NONE`].
    #[inline]
    pub fn with<R>(&self, id: BufferId, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let pages = self.pages.borrow();
        pages.get(id.0 as usize).map(|page| look(page))
    }

    /// Lets `change` write a buffer's bytes; does nothing for [`BufferId::NONE`].
    #[inline]
    pub fn with_mut<R>(&self, id: BufferId, change: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let mut pages = self.pages.borrow_mut();
        pages.get_mut(id.0 as usize).map(|page| change(page))
    }

    /// Lets `change` write the second buffer's bytes as the first one's say; does nothing for
    /// [`BufferId::NONE`], or if both are the same.
    pub fn with_pair(&self, from: BufferId, into: BufferId, change: impl FnOnce(&[u8], &mut [u8])) {
        let mut pages = self.pages.borrow_mut();
        if let Ok([from, into]) = pages.get_disjoint_mut([from.0 as usize, into.0 as usize]) {
            change(from, into);
        }
    }

    /// Copies from one buffer to another what lies in `within` but not in `except`.
    pub fn merge(&self, from: BufferId, to: BufferId, except: Range<usize>, within: Range<u32>) {
        let mut pages = self.pages.borrow_mut();
        let Ok([from, to]) = pages.get_disjoint_mut([from.0 as usize, to.0 as usize]) else {
            return;
        };
        let (start, end) = (within.start as usize, within.end as usize);
        let (before, after) = (start..end.min(except.start), start.max(except.end)..end);
        for range in [before, after] {
            if !range.is_empty() {
                to[range.clone()].copy_from_slice(&from[range]);
            }
        }
    }
}

/// A buffer in use; dropping it gives it back.
pub struct Buffer<'a> {
    buffers: &'a Buffers,
    id: BufferId,
}

impl Buffer<'_> {
    /// The buffer's name.
    #[inline]
    pub fn id(&self) -> BufferId {
        self.id
    }

    /// Leaves the buffer in use: somebody else gives it back
    /// ([`Buffers::give_back`]).
    #[inline]
    pub fn keep(mut self) -> BufferId {
        std::mem::replace(&mut self.id, BufferId::NONE)
    }
}

impl Drop for Buffer<'_> {
    #[inline]
    fn drop(&mut self) {
        self.buffers.give_back(self.id);
    }
}
