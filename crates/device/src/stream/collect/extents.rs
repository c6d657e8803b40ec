//! Where a collection goes: extents that the host has set aside, and those that it adds in time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sim::Sim;
use sim::resource::Broadcast;

use crate::task::Data;
use crate::tx::{Transaction, TxError};

/// Extents one behind the other. Each part is written as a run that is no transaction writes its files.
pub(super) struct Extents {
    /// Where each part begins.
    parts: RefCell<Vec<(u64, Rc<Transaction>)>>,
    bytes: Cell<u64>,
    pub(super) changed: Broadcast,
}

impl Extents {
    pub(super) fn new(sim: &Sim) -> Extents {
        Extents {
            parts: RefCell::default(),
            bytes: Cell::new(0),
            changed: Broadcast::new(sim),
        }
    }

    /// Adds the file of a run at the end.
    pub(super) fn add(&self, part: Rc<Transaction>) {
        let bytes = part.files().iter().map(crate::tx::File::bytes).sum::<u64>();
        self.parts.borrow_mut().push((self.bytes.get(), part));
        self.bytes.set(self.bytes.get() + bytes);
        self.changed.announce();
    }

    /// Bytes that there is room for, all in all.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Writes bytes, which the extents have; they are on flash when this returns.
    ///
    /// # Errors
    /// What the drive cannot write.
    pub(super) async fn write(&self, offset: u64, data: &Data) -> Result<(), TxError> {
        let (mut at, mut left) = (offset, u64::from(data.bytes()));
        while left > 0 {
            let (begin, part) = self.part(at);
            let room = part.files()[0].bytes() - (at - begin);
            let bytes = left.min(room);
            let skipped = (at - offset) as usize;
            let known = data.known();
            let known = known.map(|all| &all[skipped..skipped + bytes as usize]);
            part.write(0, at - begin, bytes as u32, known).await?;
            at += bytes;
            left -= bytes;
        }
        Ok(())
    }

    /// The part that a byte lies in, and where that begins.
    fn part(&self, offset: u64) -> (u64, Rc<Transaction>) {
        let parts = self.parts.borrow();
        let part = parts.partition_point(|(begin, _)| *begin <= offset) - 1;
        parts[part].clone()
    }
}
