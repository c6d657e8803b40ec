//! The data of requests, on its way between the kernel's threads and the drive's. What much of it lies in is used again: memory that
//! is new takes longer to be had than to be written.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::file_system::REQUEST_BYTES_MAX;

/// Data from so many bytes on is much.
pub(super) const MUCH_BYTES: usize = 64 << 10;
/// Most that are kept for later ones.
const SPARE_MAX: usize = 32;

/// What the data of earlier requests lay in. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Spare(Arc<Mutex<Vec<Box<[u8]>>>>);

/// The data of a request.
pub(super) struct Data {
    lies_in: Box<[u8]>,
    bytes: Range<usize>,
    /// Where it goes afterwards, if that is worth the while.
    spare: Option<Spare>,
}

impl Spare {
    /// A copy of `bytes`, which are those of one request.
    pub(super) fn holding(&self, bytes: &[u8]) -> Data {
        if bytes.len() < MUCH_BYTES {
            return bytes.to_vec().into();
        }
        let mut data = self.room(0..bytes.len(), bytes.len());
        data.lies_in[..bytes.len()].copy_from_slice(bytes);
        data
    }

    /// Room for `bytes`, in at least so many of undefined content.
    pub(super) fn room(&self, bytes: Range<usize>, least: usize) -> Data {
        let is_kept = (MUCH_BYTES..=REQUEST_BYTES_MAX as usize).contains(&least);
        Data {
            lies_in: match is_kept {
                true => self.take(),
                false => vec![0; least].into(),
            },
            bytes,
            spare: is_kept.then(|| self.clone()),
        }
    }

    fn take(&self) -> Box<[u8]> {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| vec![0; REQUEST_BYTES_MAX as usize].into())
    }

    fn give_back(&self, used: Box<[u8]>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_MAX {
            spare.push(used);
        }
    }
}

impl Data {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.lies_in[self.bytes.clone()]
    }

    /// What it lies in, to be lent to the drive.
    pub(super) fn take(&mut self) -> Box<[u8]> {
        std::mem::take(&mut self.lies_in)
    }

    /// What [`Data::take`] gave is back.
    pub(super) fn put_back(&mut self, lay_in: Box<[u8]>) {
        self.lies_in = lay_in;
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Data {
        Data {
            bytes: 0..bytes.len(),
            lies_in: bytes.into(),
            spare: None,
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare
            && !self.lies_in.is_empty()
        {
            spare.give_back(std::mem::take(&mut self.lies_in));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(spare: &Spare) -> usize {
        spare.0.lock().expect("no test panics").len()
    }

    #[test]
    fn what_large_writes_lie_in_is_used_again() {
        let spare = Spare::default();
        let mut first = spare.holding(&[1; MUCH_BYTES + 1]);
        assert_eq!(first.bytes(), [1; MUCH_BYTES + 1]);
        let lies_in = first.take();
        let at = lies_in.as_ptr();
        first.put_back(lies_in);
        assert_eq!(kept(&spare), 0);
        drop(first);
        assert_eq!(kept(&spare), 1);
        let second = spare.holding(&[2; MUCH_BYTES]);
        assert_eq!(
            (second.bytes().as_ptr(), second.bytes()),
            (at, &[2; MUCH_BYTES][..])
        );
    }

    #[test]
    fn no_more_is_kept_than_is_worth_the_while() {
        let spare = Spare::default();
        drop(spare.holding(&[1; 4096]));
        // What the drive has not given back is gone.
        spare.holding(&[1; MUCH_BYTES]).take();
        assert_eq!(kept(&spare), 0);
        let many: Vec<Data> = (0..SPARE_MAX + 2)
            .map(|_| spare.holding(&[1; MUCH_BYTES]))
            .collect();
        drop(many);
        assert_eq!(kept(&spare), SPARE_MAX);
    }
}
