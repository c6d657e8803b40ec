//! Buffers that somebody else owns and lends to the memory for the time of a command, so that nothing is copied to where the
//! drive reaches it.

use std::ops::Range;

use bytes::BytesMut;

use super::{MemoryError, Pages};

/// Where lent buffers begin, beyond whatever an arena reserves; each has 4 GiB of addresses.
pub(super) const LENT_BASE: u64 = 1 << 62;
const SLOT_SHIFT: u32 = 32;

/// What is lent.
#[derive(Debug)]
pub enum Loan {
    /// A buffer, which is given back as the drive left it.
    Buffer(Box<[u8]>),
    /// Pages, of which the drive may keep any that hold what it was to write, for others of undefined content.
    Pages(Pages),
}

/// Buffers that are lent, each in a slot of addresses.
#[derive(Debug, Default)]
pub(super) struct Lent {
    slots: Vec<Option<Loan>>,
    free: Vec<usize>,
    /// Slots to which the drive may still write, though nobody waits for that: not given out again before.
    held: Vec<usize>,
}

impl Loan {
    /// Its bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Loan::Buffer(bytes) => bytes.len(),
            Loan::Pages(pages) => pages.bytes(),
        }
    }

    /// What lies in a range of it, in the stretches that it lies in.
    ///
    /// # Panics
    /// If it is shorter.
    pub fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let (buffer, pages) = match self {
            Loan::Buffer(bytes) => (Some(&bytes[range]), None),
            Loan::Pages(pages) => (None, Some(pages.stretches(range))),
        };
        buffer.into_iter().chain(pages.into_iter().flatten())
    }
}

impl Default for Loan {
    fn default() -> Loan {
        Loan::Buffer(Box::default())
    }
}

impl From<Box<[u8]>> for Loan {
    fn from(bytes: Box<[u8]>) -> Loan {
        Loan::Buffer(bytes)
    }
}

impl From<Pages> for Loan {
    fn from(pages: Pages) -> Loan {
        Loan::Pages(pages)
    }
}

impl TryFrom<Loan> for Box<[u8]> {
    type Error = Loan;

    fn try_from(loan: Loan) -> Result<Box<[u8]>, Loan> {
        match loan {
            Loan::Buffer(bytes) => Ok(bytes),
            other => Err(other),
        }
    }
}

impl Lent {
    /// Takes a loan in; gives its address.
    pub(super) fn lend(&mut self, loan: Loan) -> u64 {
        debug_assert!(loan.bytes() as u64 <= 1 << SLOT_SHIFT, "a slot's addresses");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(loan);
        LENT_BASE + ((slot as u64) << SLOT_SHIFT)
    }

    /// Gives the buffer at `address` back; its slot `stays` where commands that nobody waits for may still reach it.
    pub(super) fn take_back(&mut self, address: u64, stays: bool) -> Result<Loan, MemoryError> {
        let (slot, offset) = place(address);
        let loan = self.slots.get_mut(slot).and_then(Option::take);
        match loan {
            Some(loan) if offset == 0 => {
                match stays {
                    true => self.held.push(slot),
                    false => self.free.push(slot),
                }
                Ok(loan)
            }
            loan => {
                // Not where one begins: what lies there stays.
                if let Some(there) = self.slots.get_mut(slot) {
                    *there = loan;
                }
                Err(MemoryError::NotAllocated { address })
            }
        }
    }

    /// Keeps the buffer at `address` until [`Lent::let_go`].
    pub(super) fn hold(&mut self, address: u64) {
        self.held.push(place(address).0);
    }

    /// Drops what was kept.
    pub(super) fn let_go(&mut self) {
        self.held.sort_unstable();
        self.held.dedup();
        for slot in std::mem::take(&mut self.held) {
            self.slots[slot] = None;
            self.free.push(slot);
        }
    }

    /// A loan, and where in it a stretch would be.
    fn find(&self, address: u64, length: u64) -> Option<(&Loan, Range<usize>)> {
        let (slot, range) = stretch(address, length)?;
        Some((self.slots.get(slot)?.as_ref()?, range))
    }

    /// The same, to be changed.
    fn find_mut(&mut self, address: u64, length: u64) -> Option<(&mut Loan, Range<usize>)> {
        let (slot, range) = stretch(address, length)?;
        Some((self.slots.get_mut(slot)?.as_mut()?, range))
    }

    /// What lies there, if it lies together.
    pub(super) fn slice(&self, address: u64, length: u64) -> Option<&[u8]> {
        match self.find(address, length)? {
            (Loan::Buffer(bytes), range) => bytes.get(range),
            (Loan::Pages(pages), range) => pages.slice(range),
        }
    }

    /// The same, to be changed.
    pub(super) fn slice_mut(&mut self, address: u64, length: u64) -> Option<&mut [u8]> {
        match self.find_mut(address, length)? {
            (Loan::Buffer(bytes), range) => bytes.get_mut(range),
            (Loan::Pages(pages), range) => pages.slice_mut(range),
        }
    }

    /// Fills `into` with what lies there, if there is so much.
    pub(super) fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        match self.find(address, into.len() as u64)? {
            (Loan::Buffer(bytes), range) => into.copy_from_slice(bytes.get(range)?),
            (Loan::Pages(pages), range) => pages.read(range.start, into)?,
        }
        Some(())
    }

    /// Puts `from` there, if there is room for it.
    pub(super) fn write(&mut self, address: u64, from: &[u8]) -> Option<()> {
        match self.find_mut(address, from.len() as u64)? {
            (Loan::Buffer(bytes), range) => bytes.get_mut(range)?.copy_from_slice(from),
            (Loan::Pages(pages), range) => pages.write(range.start, from)?,
        }
        Some(())
    }

    /// The page of a loan that lies there.
    pub(super) fn page_mut(&mut self, address: u64, bytes: u64) -> Option<&mut BytesMut> {
        match self.find_mut(address, bytes)? {
            (Loan::Pages(pages), range) => pages.page_mut(range),
            (Loan::Buffer(_), _) => None,
        }
    }
}

/// The slot of an address, and where in it that is.
fn place(address: u64) -> (usize, u64) {
    let beyond = address - LENT_BASE;
    (
        (beyond >> SLOT_SHIFT) as usize,
        beyond & ((1 << SLOT_SHIFT) - 1),
    )
}

/// The slot of `length` bytes, and where in it they are.
fn stretch(address: u64, length: u64) -> Option<(usize, Range<usize>)> {
    let (slot, offset) = (address >= LENT_BASE).then(|| place(address))?;
    Some((slot, offset as usize..offset.checked_add(length)? as usize))
}

#[cfg(test)]
mod tests {
    use super::super::{Dma, HostMemory, MemoryError};
    use super::Loan;

    fn buffer(given: Result<Loan, MemoryError>) -> Box<[u8]> {
        given.expect("it is lent").try_into().expect("as a buffer")
    }

    fn lend(memory: &mut HostMemory, bytes: Vec<u8>) -> u64 {
        memory.lend(bytes.into_boxed_slice())
    }

    #[test]
    fn a_lent_buffer_is_memory_until_it_is_taken_back() {
        let mut memory = HostMemory::new();
        let first = lend(&mut memory, vec![1; 4096]);
        let second = lend(&mut memory, vec![2; 10]);
        assert_ne!(first, second);
        memory.write(first + 4095, &[9]).expect("its last byte");
        assert!(memory.write(first + 4095, &[9, 9]).is_err());
        let mut byte = [0];
        memory.read(second, &mut byte).expect("its first byte");
        assert_eq!(byte, [2]);
        assert!(memory.take_back(first + 1).is_err());
        let back = buffer(memory.take_back(first));
        assert_eq!((back[0], back[4095]), (1, 9));
        assert!(memory.read(first, &mut byte).is_err());
        assert!(memory.take_back(first).is_err());
        assert!(memory.slice(u64::MAX, 1).is_err());
    }

    #[test]
    fn what_is_given_up_stays_until_the_drive_is_done() {
        let mut memory = HostMemory::new();
        let lent = lend(&mut memory, vec![1; 8]);
        memory.hold();
        memory.give_up(lent);
        memory.write(lent, &[5]).expect("the drive may write to it");
        memory.let_go();
        assert!(memory.write(lent, &[5]).is_err());
        let lent = lend(&mut memory, vec![1; 8]);
        memory.give_up(lent);
        assert!(memory.slice(lent, 1).is_err(), "nobody writes to it");
    }

    /// Its command was broken off, and the drive writes after all.
    #[test]
    fn what_is_taken_back_too_early_is_in_nobodys_way() {
        let mut memory = HostMemory::new();
        let first = lend(&mut memory, vec![1; 8]);
        memory.hold();
        let back = buffer(memory.take_back(first));
        let other = lend(&mut memory, vec![2; 8]);
        assert_ne!(first, other);
        assert!(memory.write(first, &[5]).is_err());
        assert_eq!(back[0], 1);
        memory.let_go();
        assert_eq!(lend(&mut memory, vec![3; 8]), first);
        assert_eq!(buffer(memory.take_back(other))[0], 2);
    }
}
