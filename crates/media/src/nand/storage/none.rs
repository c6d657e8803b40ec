//! The store that keeps nothing.

use super::{BitStore, StorageError};
use crate::nand::geometry::{BlockId, PageAddress};
use std::ops::Range;

/// Drops every bit; for runs that are about time only.
pub(super) struct NoStore;

impl BitStore for NoStore {
    fn holds_data(&self) -> bool {
        false
    }

    fn write(&mut self, _: PageAddress, _: &[u64]) -> Result<(), StorageError> {
        Ok(())
    }

    fn read(&self, _: PageAddress, _: Range<usize>, _: &mut [u64]) -> Result<(), StorageError> {
        Ok(())
    }

    fn raise(&mut self, _: PageAddress, _: &[u64]) -> Result<(), StorageError> {
        Ok(())
    }

    fn erase(&mut self, _: BlockId) -> Result<(), StorageError> {
        Ok(())
    }
}
