//! The memory of the host that a drive reaches by direct memory access.

mod lent;
mod pages;

use bytes::BytesMut;
use thiserror::Error;

pub use self::lent::Loan;
use self::lent::{LENT_BASE, Lent};
pub use self::pages::Pages;
use crate::status::Status;

/// Bytes of a host memory page (CC.MPS = 0; Base 3.1.4.5). PRP entries are pages of this size.
pub const MEMORY_PAGE_BYTES: u64 = 4096;

/// Bytes of a region of the arena, the unit in which it asks its own host for memory.
const REGION_BYTES: u64 = 64 << 20;

/// The most an arena may reserve.
const ADDRESS_SPACE_BYTES: u64 = 1 << 47;

/// Sizes of allocations: powers of two of pages, up to the whole address space.
const ORDERS: usize = (ADDRESS_SPACE_BYTES / MEMORY_PAGE_BYTES).ilog2() as usize + 1;

/// An access to host memory that cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No memory lies there, or not all of it.
    #[error("{length} bytes at {address:#x} are not in host memory")]
    OutOfRange {
        /// The first byte asked for.
        address: u64,
        /// How many bytes.
        length: u64,
    },
    /// The arena's limit would be passed.
    #[error("{length} bytes do not fit in the {limit} bytes of host memory")]
    Exhausted {
        /// Bytes asked for.
        length: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// What is to be freed was not allocated.
    #[error("nothing is allocated at {address:#x}")]
    NotAllocated {
        /// The address given.
        address: u64,
    },
}

impl From<MemoryError> for Status {
    fn from(_: MemoryError) -> Status {
        Status::DATA_TRANSFER_ERROR
    }
}

/// Direct memory access: how a drive reads and writes the host's memory, whoever the host is.
pub trait Dma {
    /// Fills `into` from the bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] if any of them does not exist; `into` is then unspecified.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError>;

    /// Puts `from` at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] if any byte does not exist; nothing is then written.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), MemoryError>;

    /// The page of `bytes` at `address`, if there is one that the drive may keep, as the data of a command that writes it: it
    /// puts another one in its place, as long, of undefined content. Whoever needs what lies there once more does not ask for it.
    fn lent_page(&mut self, _address: u64, _bytes: u64) -> Option<&mut BytesMut> {
        None
    }
}

/// A stretch of contiguous addresses, given out from its start.
#[derive(Debug)]
struct Region {
    base: u64,
    bytes: Box<[u8]>,
    /// Pages given out at least once.
    used_pages: u64,
    /// For each page: one more than the order of the live allocation that begins there, else 0.
    live_orders: Box<[u8]>,
}

impl Region {
    fn new(base: u64, length: u64) -> Region {
        let pages = (length / MEMORY_PAGE_BYTES) as usize;
        Region {
            base,
            // The allocator hands out zero pages that cost nothing until they are touched.
            bytes: vec![0; length as usize].into_boxed_slice(),
            used_pages: 0,
            live_orders: vec![0; pages].into_boxed_slice(),
        }
    }

    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    fn free_pages(&self) -> u64 {
        self.live_orders.len() as u64 - self.used_pages
    }
}

/// The host memory of a drive in one process: a paged arena addressed by the drive.
///
/// Allocations are page-aligned and contiguous, at least as long as asked for and rounded up to a
/// power of two of pages. Memory is reserved, not touched: a run that moves no data costs no
/// memory. What is freed is reused by allocations of the same rounded size, so that steady traffic
/// asks nothing of the allocator. Contents of reused memory are what was left there. As in a
/// real host, an access past an allocation into its neighbour is not noticed.
#[derive(Debug)]
pub struct HostMemory {
    regions: Vec<Region>,
    free: [Vec<u64>; ORDERS],
    /// Who keeps freed memory from being given out again, and what was freed meanwhile.
    holds: u32,
    held: Vec<u64>,
    lent: Lent,
    reserved_bytes: u64,
    limit_bytes: u64,
}

impl Default for HostMemory {
    fn default() -> HostMemory {
        HostMemory::with_limit(64 << 30)
    }
}

impl HostMemory {
    /// An arena of at most 64 GiB.
    pub fn new() -> HostMemory {
        HostMemory::default()
    }

    /// An arena that reserves at most `limit_bytes`, or 128 TiB if that is less.
    pub fn with_limit(limit_bytes: u64) -> HostMemory {
        HostMemory {
            regions: Vec::new(),
            free: [const { Vec::new() }; ORDERS],
            holds: 0,
            held: Vec::new(),
            lent: Lent::default(),
            reserved_bytes: 0,
            limit_bytes: limit_bytes.min(ADDRESS_SPACE_BYTES),
        }
    }

    /// Gives out `length` contiguous bytes (at least a page) and their page-aligned address, which
    /// is never 0. Fresh memory reads as zero.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if the limit would be passed.
    pub fn allocate(&mut self, length: u64) -> Result<u64, MemoryError> {
        let exhausted = MemoryError::Exhausted {
            length,
            limit: self.limit_bytes,
        };
        if length > self.limit_bytes {
            return Err(exhausted);
        }
        let pages = length.div_ceil(MEMORY_PAGE_BYTES).max(1);
        let order = pages.next_power_of_two().trailing_zeros() as usize;
        let address = match self.free[order].pop() {
            Some(address) => address,
            None => self.carve(order).ok_or(exhausted)?,
        };
        *self.live_order(address).ok_or(exhausted)? = order as u8 + 1;
        Ok(address)
    }

    /// Takes back what [`HostMemory::allocate`] gave at `address`.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`] if nothing is allocated there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let live_order = self
            .live_order(address)
            .filter(|live_order| **live_order != 0)
            .ok_or(MemoryError::NotAllocated { address })?;
        let order = usize::from(std::mem::take(live_order) - 1);
        if self.holds > 0 {
            // Still live for the drive: it is given out when the last hold goes.
            *self.live_order(address).expect("it was live just now") = order as u8 + 1;
            self.held.push(address);
            return Ok(());
        }
        self.free[order].push(address);
        Ok(())
    }

    /// From here on, what is freed is not given out again: the drive may still write to it, for
    /// commands that nobody waits for any more. Each call needs a [`HostMemory::let_go`].
    pub fn hold(&mut self) {
        self.holds += 1;
    }

    /// Ends a [`HostMemory::hold`]; with the last one, what was freed meanwhile can be used again.
    pub fn let_go(&mut self) {
        self.holds = self.holds.saturating_sub(1);
        if self.holds == 0 {
            self.lent.let_go();
            for address in std::mem::take(&mut self.held) {
                let freed = self.free(address);
                debug_assert!(freed.is_ok(), "it was live when it was freed: {freed:?}");
            }
        }
    }

    /// Makes a loan, of no more than 4 GiB, part of the memory until [`HostMemory::take_back`], without a copy; gives its address.
    /// It counts toward no limit.
    pub fn lend(&mut self, loan: impl Into<Loan>) -> u64 {
        self.lent.lend(loan.into())
    }

    /// Gives back what was lent at `address`, when every command that may reach it has completed.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`] if none was.
    pub fn take_back(&mut self, address: u64) -> Result<Loan, MemoryError> {
        match address >= LENT_BASE {
            true => self.lent.take_back(address, self.holds > 0),
            false => Err(MemoryError::NotAllocated { address }),
        }
    }

    /// Drops what was lent at `address`, of a command that nobody waits for any more: as soon as nothing that is freed
    /// is held.
    pub fn give_up(&mut self, address: u64) {
        if self.holds > 0 {
            return self.lent.hold(address);
        }
        let given_up = self.take_back(address);
        debug_assert!(given_up.is_ok(), "it was lent: {given_up:?}");
    }

    /// The `length` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], also if they lie on several lent pages.
    pub fn slice(&self, address: u64, length: u64) -> Result<&[u8], MemoryError> {
        if address >= LENT_BASE {
            let slice = self.lent.slice(address, length);
            return slice.ok_or(MemoryError::OutOfRange { address, length });
        }
        let (index, start, end) = self.locate(address, length)?;
        Ok(&self.regions[index].bytes[start..end])
    }

    /// The `length` bytes at `address`, to be changed.
    ///
    /// # Errors
    /// As [`HostMemory::slice`].
    pub fn slice_mut(&mut self, address: u64, length: u64) -> Result<&mut [u8], MemoryError> {
        if address >= LENT_BASE {
            let slice = self.lent.slice_mut(address, length);
            return slice.ok_or(MemoryError::OutOfRange { address, length });
        }
        let (index, start, end) = self.locate(address, length)?;
        Ok(&mut self.regions[index].bytes[start..end])
    }

    /// Bytes of address space reserved so far, touched or not.
    pub fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Takes fresh pages: from the first region that has room, else from a new one.
    fn carve(&mut self, order: usize) -> Option<u64> {
        let pages = 1u64 << order;
        let with_room = |region: &Region| region.free_pages() >= pages;
        let index = match self.regions.iter().position(with_room) {
            Some(index) => index,
            None => self.reserve(pages * MEMORY_PAGE_BYTES)?,
        };
        let region = &mut self.regions[index];
        let address = region.base + region.used_pages * MEMORY_PAGE_BYTES;
        region.used_pages += pages;
        Some(address)
    }

    /// Adds a region of at least `length` bytes, one unmapped page behind the last one; gives its
    /// index.
    fn reserve(&mut self, length: u64) -> Option<usize> {
        let left = (self.limit_bytes - self.reserved_bytes) / MEMORY_PAGE_BYTES * MEMORY_PAGE_BYTES;
        let length = REGION_BYTES.min(left).max(length);
        if length > left {
            return None;
        }
        let base = self.regions.last().map_or(0, Region::end) + MEMORY_PAGE_BYTES;
        self.reserved_bytes += length;
        self.regions.push(Region::new(base, length));
        Some(self.regions.len() - 1)
    }

    /// The note on the allocation that begins at `address`.
    fn live_order(&mut self, address: u64) -> Option<&mut u8> {
        if !address.is_multiple_of(MEMORY_PAGE_BYTES) {
            return None;
        }
        let (index, start, _) = self.locate(address, 1).ok()?;
        let page = start / MEMORY_PAGE_BYTES as usize;
        self.regions[index].live_orders.get_mut(page)
    }

    /// The region that holds all of `length` bytes at `address`, and where in it they begin and end.
    fn locate(&self, address: u64, length: u64) -> Result<(usize, usize, usize), MemoryError> {
        let out_of_range = MemoryError::OutOfRange { address, length };
        let following = self
            .regions
            .partition_point(|region| region.base <= address);
        let index = following.checked_sub(1).ok_or(out_of_range)?;
        let region = &self.regions[index];
        let start = address - region.base;
        let end = start.checked_add(length).ok_or(out_of_range)?;
        if end > region.bytes.len() as u64 {
            return Err(out_of_range);
        }
        Ok((index, start as usize, end as usize))
    }
}

impl Dma for HostMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let length = into.len() as u64;
        if address >= LENT_BASE {
            let read = self.lent.read(address, into);
            return read.ok_or(MemoryError::OutOfRange { address, length });
        }
        into.copy_from_slice(self.slice(address, length)?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        let length = from.len() as u64;
        if address >= LENT_BASE {
            let written = self.lent.write(address, from);
            return written.ok_or(MemoryError::OutOfRange { address, length });
        }
        self.slice_mut(address, length)?.copy_from_slice(from);
        Ok(())
    }

    fn lent_page(&mut self, address: u64, bytes: u64) -> Option<&mut BytesMut> {
        self.lent.page_mut(address, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn addresses_are_aligned_and_never_zero() {
        let mut memory = HostMemory::new();
        for length in [0, 1, 4096, 4097, 1 << 20, 200 << 20] {
            let address = memory.allocate(length).expect("well below the limit");
            assert_ne!(address, 0);
            assert_eq!(address % MEMORY_PAGE_BYTES, 0);
            assert!(memory.slice(address, length.max(1)).is_ok());
        }
    }

    #[test]
    fn out_of_range_is_an_error() {
        let mut memory = HostMemory::new();
        let mut byte = [0];
        assert!(memory.read(0, &mut byte).is_err());
        let address = memory.allocate(4096).expect("well below the limit");
        assert!(memory.read(address, &mut byte).is_ok());
        assert!(memory.read(address - 1, &mut byte).is_err());
        assert!(memory.read(u64::MAX, &mut byte).is_err());
        assert!(memory.slice(address, u64::MAX).is_err());
        assert!(memory.slice(address, REGION_BYTES).is_ok());
        assert!(memory.slice(address, REGION_BYTES + 1).is_err());
        let error = memory.write(0, &[1]).expect_err("address 0 is nobody's");
        assert_eq!(Status::from(error), Status::DATA_TRANSFER_ERROR);
    }

    #[test]
    fn limit_is_kept() {
        let mut memory = HostMemory::with_limit(16 * 4096);
        assert!(memory.allocate(17 * 4096).is_err());
        let first = memory.allocate(8 * 4096).expect("half of the limit");
        memory.allocate(8 * 4096).expect("the other half");
        assert!(memory.allocate(1).is_err());
        memory.free(first).expect("it is allocated");
        assert_eq!(memory.allocate(5 * 4096), Ok(first));
        assert!(memory.reserved_bytes() <= 16 * 4096);
        assert!(HostMemory::with_limit(u64::MAX).allocate(u64::MAX).is_err());
    }

    #[test]
    fn freeing_twice_or_inside_is_an_error() {
        let mut memory = HostMemory::new();
        let address = memory.allocate(3 * 4096).expect("well below the limit");
        assert!(memory.free(address + 4096).is_err());
        assert!(memory.free(address + 1).is_err());
        assert!(memory.free(address).is_ok());
        assert_eq!(
            memory.free(address),
            Err(MemoryError::NotAllocated { address })
        );
        assert!(memory.free(0).is_err());
    }

    #[test]
    fn what_is_freed_under_a_hold_is_not_given_out() {
        let mut memory = HostMemory::new();
        let first = memory.allocate(4096).expect("well below the limit");
        memory.hold();
        memory.hold();
        memory.free(first).expect("it is live");
        memory.let_go();
        assert_ne!(memory.allocate(4096), Ok(first));
        memory.let_go();
        assert_eq!(memory.allocate(4096), Ok(first));
    }

    #[test]
    fn steady_traffic_reserves_nothing_more() {
        let mut memory = HostMemory::new();
        for _ in 0..100_000 {
            let address = memory.allocate(128 << 10).expect("freed each round");
            memory.free(address).expect("just allocated");
        }
        assert_eq!(memory.reserved_bytes(), REGION_BYTES);
    }

    proptest! {
        /// Live allocations never overlap, and each keeps what was written to it.
        #[test]
        fn allocations_are_disjoint(lengths in prop::collection::vec((1u64..40_000, any::<bool>()), 1..80)) {
            let mut memory = HostMemory::new();
            let mut live: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            for (number, (length, release)) in lengths.into_iter().enumerate() {
                let address = memory.allocate(length).expect("well below the limit");
                let contents = vec![number as u8; length as usize];
                memory.write(address, &contents).expect("it is allocated");
                live.insert(address, contents);
                if release {
                    let (address, _) = live.pop_first().expect("one was just put in");
                    memory.free(address).expect("it is live");
                }
                for (address, contents) in &live {
                    prop_assert_eq!(memory.slice(*address, contents.len() as u64), Ok(&contents[..]));
                }
            }
        }
    }
}
