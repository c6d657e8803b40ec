//! Buffers for the data of requests, which are used again: memory that is new takes longer to be had than to be written.

/// Buffers that nobody has, each with the owner whose requests left there what it holds; a list for each power of two.
pub(crate) struct Buffers {
    classes: [Vec<Used>; CLASSES],
    bytes: usize,
    bytes_max: usize,
}

/// The owner that used a buffer last, and the buffer.
type Used = (u64, Box<[u8]>);

/// Sizes of buffers: powers of two up to 4 GiB.
const CLASSES: usize = 33;

/// The smallest buffer.
const BUFFER_BYTES_MIN: usize = 4096;
/// Buffers of a list that are looked at for one of the same owner.
const LOOKED_AT: usize = 16;

impl Buffers {
    /// Keeps at most so many bytes for later.
    pub(crate) fn new(bytes_max: usize) -> Buffers {
        Buffers {
            classes: [const { Vec::new() }; CLASSES],
            bytes: 0,
            bytes_max,
        }
    }

    /// Bytes that a buffer for `bytes` has.
    pub(crate) fn counted(bytes: usize) -> u64 {
        bytes.max(BUFFER_BYTES_MIN).next_power_of_two() as u64
    }

    /// A buffer for `bytes` of an owner; all zero if it has to be `clean`. It holds nothing of another owner.
    pub(crate) fn take(&mut self, owner: u64, bytes: usize, clean: bool) -> Box<[u8]> {
        let size = Buffers::counted(bytes) as usize;
        let class = &mut self.classes[size.trailing_zeros() as usize];
        let last = class.iter().enumerate().rev().take(LOOKED_AT);
        let own = last.into_iter().find(|(_, (of, _))| *of == owner);
        let place = own.map(|(place, _)| place);
        let found = match place {
            Some(place) => Some(class.swap_remove(place)),
            None => class.pop(),
        };
        let Some((of, mut buffer)) = found else {
            return vec![0; size].into();
        };
        self.bytes -= size;
        if of != owner {
            buffer.fill(0);
        } else if clean {
            buffer[..bytes].fill(0);
        }
        buffer
    }

    /// Takes back a buffer of an owner, if it can be used again.
    pub(crate) fn give_back(&mut self, owner: u64, buffer: Box<[u8]>) {
        let size = buffer.len();
        let is_one = size.is_power_of_two() && size >= BUFFER_BYTES_MIN;
        if is_one && self.bytes + size <= self.bytes_max {
            self.bytes += size;
            self.classes[size.trailing_zeros() as usize].push((owner, buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_sees_nothing_of_another() {
        let mut buffers = Buffers::new(1 << 20);
        let mut buffer = buffers.take(1, 5000, false);
        assert_eq!(buffer.len(), 8192);
        buffer.fill(7);
        buffers.give_back(1, buffer);
        let own = buffers.take(1, 5000, false);
        assert_eq!(own[0], 7);
        buffers.give_back(1, own);
        let clean = buffers.take(1, 5000, true);
        assert_eq!((clean[4999], clean[5000]), (0, 7));
        buffers.give_back(1, clean);
        let others = buffers.take(2, 8192, false);
        assert!(others.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn no_more_is_kept_than_was_said() {
        let mut buffers = Buffers::new(10_000);
        for size in [4096, 4096, 4096, 1000] {
            buffers.give_back(1, vec![9; size].into());
        }
        assert_eq!(buffers.bytes, 8192);
        let taken: Vec<_> = (0..3).map(|_| buffers.take(1, 1, false)[0]).collect();
        assert_eq!((taken, buffers.bytes), (vec![9, 9, 0], 0));
    }
}
