//! Who takes the pages of a result within the drive.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use crate::memory::BufferId;

/// Who takes the pages of a result.
pub trait Receive {
    /// Takes a page of the result, which begins at this byte of it and has so many, from a page buffer that is the
    /// receiver's until this is over. Pages come in any order, several at a time.
    fn receive(self: Rc<Self>, offset: u64, bytes: u32, page: BufferId) -> Receiving;
}

/// A page that is being taken.
pub type Receiving = Pin<Box<dyn Future<Output = Result<(), NotReceived>>>>;

/// A page of a result was not taken; who did not take it knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReceived;
