//! Page buffers in the controller's memory, where data waits between the
//! channels and the link.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use bytes::BytesMut;
use media::nand::Nand;
use sim::Sim;
use sim::memory::{Frame, Frames, Slab, prefetch, prefetch_beginning};

use super::MemoryConfig;
use super::rooms::{Held, Purpose, Room, Rooms};
use super::short::Short;

/// Names a buffer of one page; [`BufferId::NONE`] where the drive keeps no data.
///
/// It is of one use of the buffer: what still comes for it once that has given it back, such as from flash for a command that was
/// aborted, is for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId {
    index: u32,
    use_number: u32,
}

impl BufferId {
    /// No buffer: in timing-only runs nothing is stored or copied.
    pub const NONE: BufferId = BufferId {
        index: u32::MAX,
        use_number: 0,
    };

    /// Its number, for tables of buffers.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
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

/// A buffer, or what is left of one.
struct Place {
    /// How often it was given back.
    use_number: u32,
    memory: Memory,
}

/// What a buffer lies in.
enum Memory {
    /// Nobody has the buffer.
    Free,
    /// As much as a page of flash, which flash and other buffers may hold as well.
    Page(Frame),
    /// Less than a page.
    Short(Slab),
}

impl Place {
    /// The name of this use of it.
    #[inline]
    fn named(&self, index: u32) -> BufferId {
        BufferId {
            index,
            use_number: self.use_number,
        }
    }

    /// From now on the name is of nobody.
    #[inline]
    fn end_use(&mut self, id: BufferId) {
        debug_assert_eq!(self.use_number, id.use_number, "given back once");
        self.use_number = self.use_number.wrapping_add(1);
    }

    /// Its memory, if it is still in the use that the name is of.
    #[inline]
    fn memory_of(&self, id: BufferId) -> Option<&Memory> {
        (self.use_number == id.use_number).then_some(&self.memory)
    }

    #[inline]
    fn memory_of_mut(&mut self, id: BufferId) -> Option<&mut Memory> {
        (self.use_number == id.use_number).then_some(&mut self.memory)
    }
}

impl Memory {
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Memory::Free => None,
            Memory::Page(frame) => Some(frame.bytes()),
            Memory::Short(bytes) => Some(bytes),
        }
    }

    #[inline]
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Memory::Free => None,
            Memory::Page(frame) => Some(frame.bytes_mut()),
            Memory::Short(bytes) => Some(bytes),
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
    frames: Frames,
    places: RefCell<Vec<Place>>,
    free: RefCell<Vec<u32>>,
    /// Those that are shorter than a page: slots of the data cache, and records.
    slots: RefCell<Short>,
    records: RefCell<Short>,
}

impl Buffers {
    /// So many buffers of a page each, with nothing in them unless the drive `stores_data`.
    pub fn new(sim: &Sim, page_buffers: u32, sizes: BufferSizes, stores_data: bool) -> Buffers {
        let frames = Frames::of_pages(sizes.page as usize / 8);
        Buffers::in_frames(sim, page_buffers, sizes, stores_data, frames)
    }

    fn in_frames(
        sim: &Sim,
        page_buffers: u32,
        sizes: BufferSizes,
        stores_data: bool,
        frames: Frames,
    ) -> Buffers {
        Buffers {
            rooms: Rooms::new(sim, page_buffers),
            used: Cell::new(0),
            sizes,
            stores_data,
            frames,
            places: RefCell::default(),
            free: RefCell::default(),
            slots: RefCell::new(Short::of(sizes.slot)),
            records: RefCell::new(Short::of(sizes.record)),
        }
    }

    /// Buffers for the pages of `nand`.
    pub fn of(sim: &Sim, config: &MemoryConfig, sizes: BufferSizes, nand: &Nand) -> Buffers {
        let frames = nand.frames().clone();
        Buffers::in_frames(sim, config.page_buffers, sizes, nand.holds_data(), frames)
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
        match self.stores_data {
            true if self.slots_are_pages() => self.take_id(),
            true => self.take_short(&self.slots),
            false => BufferId::NONE,
        }
    }

    /// Gives back what [`Buffers::take_slot`] gave.
    pub fn give_back_slot(&self, id: BufferId) {
        if self.slots_are_pages() {
            self.give_back_spare_page(id);
        } else if id != BufferId::NONE {
            self.give_back_short(&self.slots, id);
        }
    }

    #[inline]
    fn slots_are_pages(&self) -> bool {
        self.sizes.slot == self.sizes.page
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
        let places = &mut *self.places.borrow_mut();
        if let Ok([from, into]) = places.get_disjoint_mut([from.index(), into.index()]) {
            std::mem::swap(&mut from.memory, &mut into.memory);
        }
        into
    }

    /// Gives back what [`Buffers::take_spare_page`], or the same for the firmware, gave.
    pub fn give_back_spare_page(&self, id: BufferId) {
        if id != BufferId::NONE {
            self.give_back_id(id);
        }
    }

    /// Memory for the record of a page of data, for [`Buffers::give_back_record`] to take back.
    pub fn take_record(&self) -> BufferId {
        self.take_short(&self.records)
    }

    /// The record is on flash, or will not be.
    pub fn give_back_record(&self, id: BufferId) {
        self.give_back_short(&self.records, id);
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
        let places = &mut *self.places.borrow_mut();
        let memory = Memory::Page(self.frames.take());
        match self.free.borrow_mut().pop() {
            Some(index) => {
                let place = &mut places[index as usize];
                place.memory = memory;
                place.named(index)
            }
            None => add(places, memory),
        }
    }

    /// What the buffer held somebody else may still hold, and who takes it next gets other memory.
    #[inline]
    fn give_back_id(&self, id: BufferId) {
        let place = &mut self.places.borrow_mut()[id.index()];
        place.end_use(id);
        place.memory = Memory::Free;
        self.free.borrow_mut().push(id.index);
    }

    fn take_short(&self, short: &RefCell<Short>) -> BufferId {
        let (places, short) = (&mut *self.places.borrow_mut(), &mut *short.borrow_mut());
        match short.free.pop() {
            Some(index) => places[index as usize].named(index),
            None => add(places, Memory::Short(short.memory.take())),
        }
    }

    fn give_back_short(&self, short: &RefCell<Short>, id: BufferId) {
        self.places.borrow_mut()[id.index()].end_use(id);
        short.borrow_mut().free.push(id.index);
    }

    /// Gives back a buffer that was kept.
    #[inline]
    pub fn give_back(&self, id: BufferId) {
        if id != BufferId::NONE {
            if cfg!(debug_assertions) {
                self.used.set(self.used.get() - 1);
            }
            self.give_back_id(id);
        }
    }

    /// The frame of a buffer that is as long as a page, for others to hold what the buffer holds now.
    #[inline]
    pub fn frame(&self, id: BufferId) -> Option<Frame> {
        let places = self.places.borrow();
        match places.get(id.index())?.memory_of(id)? {
            Memory::Page(frame) => Some(frame.clone()),
            _ => None,
        }
    }

    /// Has a buffer that is as long as a page hold what `frame` does from now on; whether it is one.
    #[inline]
    pub fn share(&self, id: BufferId, frame: &Frame) -> bool {
        let mut places = self.places.borrow_mut();
        let memory = places.get_mut(id.index());
        match memory.and_then(|place| place.memory_of_mut(id)) {
            Some(Memory::Page(own)) => {
                own.clone_from(frame);
                true
            }
            _ => false,
        }
    }

    /// Whether buffers hold anything.
    pub fn stores_data(&self) -> bool {
        self.stores_data
    }

    /// Shows a buffer's bytes to `look`; does nothing for [`BufferId::NONE`]. What was given back is not to be read.
    #[inline]
    pub fn with<R>(&self, id: BufferId, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let places = self.places.borrow();
        let memory = places.get(id.index())?.memory_of(id);
        debug_assert!(
            memory.is_some(),
            "what a buffer held that was given back is read"
        );
        memory?.bytes().map(look)
    }

    /// Lets `change` write a buffer's bytes; does nothing for [`BufferId::NONE`] and for what was given back.
    #[inline]
    pub fn with_mut<R>(&self, id: BufferId, change: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let mut places = self.places.borrow_mut();
        let memory = places.get_mut(id.index())?.memory_of_mut(id)?;
        memory.bytes_mut().map(change)
    }

    /// Exchanges the memory of a buffer that is as long as a page for other memory that is as long; whether that could be.
    pub fn exchange(&self, id: BufferId, memory: &mut BytesMut) -> bool {
        let places = &mut *self.places.borrow_mut();
        let place = places.get_mut(id.index());
        match place.and_then(|place| place.memory_of_mut(id)) {
            Some(Memory::Page(frame)) => frame.exchange(memory),
            _ => false,
        }
    }

    /// Lets `change` write the second buffer's bytes as the first one's say; does nothing for
    /// [`BufferId::NONE`], or if both are the same.
    pub fn with_pair(&self, from: BufferId, into: BufferId, change: impl FnOnce(&[u8], &mut [u8])) {
        let mut places = self.places.borrow_mut();
        let Ok([from_place, into_place]) = places.get_disjoint_mut([from.index(), into.index()])
        else {
            return;
        };
        let from = from_place.memory_of(from);
        debug_assert!(
            from.is_some(),
            "what a buffer held that was given back is copied"
        );
        if let Some(from) = from.and_then(Memory::bytes)
            && let Some(into) = into_place.memory_of_mut(into).and_then(Memory::bytes_mut)
        {
            change(from, into);
        }
    }

    /// Has the processor fetch where a buffer lies that will soon be used.
    #[inline]
    pub fn prefetch(&self, id: BufferId) {
        prefetch(&self.places.borrow(), id.index());
    }

    /// Has it fetch what lies there from a byte on.
    #[inline]
    pub fn prefetch_content(&self, id: BufferId, base: u32) {
        let places = self.places.borrow();
        let memory = places.get(id.index()).and_then(|place| place.memory_of(id));
        let bytes = memory.and_then(Memory::bytes);
        if let Some(content) = bytes.and_then(|bytes| bytes.get(base as usize..)) {
            prefetch_beginning(content);
        }
    }

    /// Copies from one buffer to another what lies in `within` but not in `except`.
    pub fn merge(&self, from: BufferId, to: BufferId, except: Range<usize>, within: Range<u32>) {
        let (start, end) = (within.start as usize, within.end as usize);
        let (before, after) = (start..end.min(except.start), start.max(except.end)..end);
        if before.is_empty() && after.is_empty() {
            return;
        }
        self.with_pair(from, to, |from, to| {
            for range in [before, after] {
                if !range.is_empty() {
                    to[range.clone()].copy_from_slice(&from[range]);
                }
            }
        });
    }
}

fn add(places: &mut Vec<Place>, memory: Memory) -> BufferId {
    let use_number = 0;
    places.push(Place { use_number, memory });
    BufferId {
        index: places.len() as u32 - 1,
        use_number,
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
