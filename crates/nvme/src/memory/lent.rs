//! Buffers that somebody else owns and lends to the memory for the time of a command, so that nothing is copied to where the
//! drive reaches it.

use super::MemoryError;

/// Where lent buffers begin, beyond whatever an arena reserves; each has 4 GiB of addresses.
pub(super) const LENT_BASE: u64 = 1 << 62;
const SLOT_SHIFT: u32 = 32;

/// Buffers that are lent, each in a slot of addresses.
#[derive(Debug, Default)]
pub(super) struct Lent {
    slots: Vec<Option<Box<[u8]>>>,
    free: Vec<usize>,
    /// Slots to which the drive may still write, though nobody waits for that: not given out again before.
    held: Vec<usize>,
}

impl Lent {
    /// Takes a buffer in; gives its address.
    pub(super) fn lend(&mut self, bytes: Box<[u8]>) -> u64 {
        debug_assert!(bytes.len() as u64 <= 1 << SLOT_SHIFT, "a slot's addresses");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(bytes);
        LENT_BASE + ((slot as u64) << SLOT_SHIFT)
    }

    /// Gives the buffer at `address` back; its slot `stays` where commands that nobody waits for may still reach it.
    pub(super) fn take_back(
        &mut self,
        address: u64,
        stays: bool,
    ) -> Result<Box<[u8]>, MemoryError> {
        let (slot, offset) = place(address);
        let bytes = self.slots.get_mut(slot).and_then(Option::take);
        match bytes {
            Some(bytes) if offset == 0 => {
                match stays {
                    true => self.held.push(slot),
                    false => self.free.push(slot),
                }
                Ok(bytes)
            }
            bytes => {
                // Not where one begins: what lies there stays.
                if let Some(there) = self.slots.get_mut(slot) {
                    *there = bytes;
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

    pub(super) fn slice(&self, address: u64, length: u64) -> Result<&[u8], MemoryError> {
        let (slot, offset) = place(address);
        let end = offset.checked_add(length);
        let bytes = self.slots.get(slot).and_then(Option::as_ref);
        bytes
            .zip(end)
            .and_then(|(bytes, end)| bytes.get(offset as usize..end as usize))
            .ok_or(MemoryError::OutOfRange { address, length })
    }

    pub(super) fn slice_mut(
        &mut self,
        address: u64,
        length: u64,
    ) -> Result<&mut [u8], MemoryError> {
        let (slot, offset) = place(address);
        let end = offset.checked_add(length);
        let bytes = self.slots.get_mut(slot).and_then(Option::as_mut);
        bytes
            .zip(end)
            .and_then(|(bytes, end)| bytes.get_mut(offset as usize..end as usize))
            .ok_or(MemoryError::OutOfRange { address, length })
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

#[cfg(test)]
mod tests {
    use super::super::{Dma, HostMemory};

    #[test]
    fn a_lent_buffer_is_memory_until_it_is_taken_back() {
        let mut memory = HostMemory::new();
        let first = memory.lend(vec![1; 4096].into());
        let second = memory.lend(vec![2; 10].into());
        assert_ne!(first, second);
        memory.write(first + 4095, &[9]).expect("its last byte");
        assert!(memory.write(first + 4095, &[9, 9]).is_err());
        let mut byte = [0];
        memory.read(second, &mut byte).expect("its first byte");
        assert_eq!(byte, [2]);
        assert!(memory.take_back(first + 1).is_err());
        let back = memory.take_back(first).expect("it is lent");
        assert_eq!((back[0], back[4095]), (1, 9));
        assert!(memory.read(first, &mut byte).is_err());
        assert!(memory.take_back(first).is_err());
        assert!(memory.slice(u64::MAX, 1).is_err());
    }

    #[test]
    fn what_is_given_up_stays_until_the_drive_is_done() {
        let mut memory = HostMemory::new();
        let lent = memory.lend(vec![1; 8].into());
        memory.hold();
        memory.give_up(lent);
        memory.write(lent, &[5]).expect("the drive may write to it");
        memory.let_go();
        assert!(memory.write(lent, &[5]).is_err());
        let lent = memory.lend(vec![1; 8].into());
        memory.give_up(lent);
        assert!(memory.slice(lent, 1).is_err(), "nobody writes to it");
    }

    /// Its command was broken off, and the drive writes after all.
    #[test]
    fn what_is_taken_back_too_early_is_in_nobodys_way() {
        let mut memory = HostMemory::new();
        let first = memory.lend(vec![1; 8].into());
        memory.hold();
        let back = memory.take_back(first).expect("it is lent");
        let other = memory.lend(vec![2; 8].into());
        assert_ne!(first, other);
        assert!(memory.write(first, &[5]).is_err());
        assert_eq!(back[0], 1);
        memory.let_go();
        assert_eq!(memory.lend(vec![3; 8].into()), first);
        assert_eq!(memory.take_back(other).expect("it is lent")[0], 2);
    }
}
