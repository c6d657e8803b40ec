//! Buffers in the memory that the drive reaches.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

use nvme::{DataPointer, HostMemory, Loan};

use crate::error::Error;

/// The host memory, shared between the library and the transport.
pub type Memory = Rc<RefCell<HostMemory>>;

/// A buffer that commands transfer to and from; freed when dropped.
pub struct Buffer {
    memory: Memory,
    address: u64,
    bytes: u64,
    origin: Origin,
}

/// A buffer that somebody lends, of whose data nothing is copied. If it is dropped, so is what was lent, when no command reaches it
/// any more.
///
/// If it is of [`Pages`](nvme::Pages), it can be written from once: the drive may have kept any of them, and what lies in their places
/// is undefined. Only what is on one page can be looked at then, or put there.
pub struct LentBuffer<L = Box<[u8]>> {
    buffer: Buffer,
    loan: PhantomData<L>,
}

/// Whose memory a buffer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It was allocated.
    Own,
    /// The caller lent it.
    Lent,
    /// It was given back to the caller.
    GivenBack,
}

impl Buffer {
    /// A buffer of `bytes`, of undefined content.
    ///
    /// # Errors
    /// If host memory has no room for it.
    pub fn new(memory: &Memory, bytes: u64) -> Result<Buffer, Error> {
        let address = memory.borrow_mut().allocate(bytes)?;
        Ok(Buffer {
            memory: memory.clone(),
            address,
            bytes,
            origin: Origin::Own,
        })
    }

    /// A buffer that holds a copy of `data`.
    ///
    /// # Errors
    /// If host memory has no room for it.
    pub fn holding(memory: &Memory, data: &[u8]) -> Result<Buffer, Error> {
        Buffer::beginning(memory, data, data.len() as u64)
    }

    /// A buffer of `bytes`, no fewer than `data` has, that begins with a copy of it; the rest is of undefined content.
    ///
    /// # Errors
    /// If host memory has no room for it.
    pub fn beginning(memory: &Memory, data: &[u8], bytes: u64) -> Result<Buffer, Error> {
        let buffer = Buffer::new(memory, bytes)?;
        memory
            .borrow_mut()
            .slice_mut(buffer.address, data.len() as u64)?
            .copy_from_slice(data);
        Ok(buffer)
    }

    /// Its address in host memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The data pointer of a command that transfers the first `bytes` of it: one
    /// SGL descriptor, as the buffer is contiguous.
    pub fn pointer(&self, bytes: u32) -> DataPointer {
        self.pointer_at(0, bytes)
    }

    /// The data pointer for `bytes` of it from `offset` on.
    pub fn pointer_at(&self, offset: u64, bytes: u32) -> DataPointer {
        debug_assert!(
            offset + u64::from(bytes) <= self.bytes,
            "the transfer lies in the buffer"
        );
        DataPointer::Sgl {
            address: self.address + offset,
            length: bytes,
        }
    }

    /// Copies its content to `into`, which is no longer than the buffer.
    ///
    /// # Errors
    /// If `into` is longer.
    pub fn copy_to(&self, into: &mut [u8]) -> Result<(), Error> {
        self.look(into.len() as u64, |bytes| into.copy_from_slice(bytes))
    }

    /// Shows its first `bytes` to `look`, where they are.
    ///
    /// # Errors
    /// If it is not that long.
    pub fn look<R>(&self, bytes: u64, look: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        Ok(look(self.memory.borrow().slice(self.address, bytes)?))
    }

    /// Puts `data` into it, from `offset` on.
    ///
    /// # Errors
    /// If it is not that long.
    pub fn put(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let length = data.len() as u64;
        if offset
            .checked_add(length)
            .is_none_or(|end| end > self.bytes)
        {
            let bytes = self.bytes;
            return Err(Error::Usage(format!(
                "{length} bytes from byte {offset} on do not fit a buffer of {bytes} bytes"
            )));
        }
        let mut memory = self.memory.borrow_mut();
        let there = memory.slice_mut(self.address + offset, length)?;
        there.copy_from_slice(data);
        Ok(())
    }

    /// Its content.
    ///
    /// # Errors
    /// None while the buffer lives; host memory reports its own errors all the same.
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        self.look(self.bytes, <[u8]>::to_vec)
    }
}

impl<L: Into<Loan> + TryFrom<Loan>> LentBuffer<L> {
    /// Lends memory, no more than 4 GiB.
    pub fn new(memory: &Memory, loan: L) -> LentBuffer<L> {
        let loan = loan.into();
        let buffer = Buffer {
            bytes: loan.bytes() as u64,
            memory: memory.clone(),
            address: memory.borrow_mut().lend(loan),
            origin: Origin::Lent,
        };
        LentBuffer {
            buffer,
            loan: PhantomData,
        }
    }

    /// Gives back what was lent. What a command that was broken off transfers later is lost.
    ///
    /// # Panics
    /// Never: nobody else takes it back.
    pub fn take_back(mut self) -> L {
        let Buffer {
            memory,
            address,
            origin,
            ..
        } = &mut self.buffer;
        let taken = memory.borrow_mut().take_back(*address);
        *origin = Origin::GivenBack;
        let Some(Ok(loan)) = taken.ok().map(L::try_from) else {
            unreachable!("it is lent until now, as what it was");
        };
        loan
    }
}

impl<L> Deref for LentBuffer<L> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        &self.buffer
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.origin {
            Origin::Own => {
                // The allocation is this buffer's own, so it can be freed; a drop has
                // nobody to tell otherwise.
                let freed = self.memory.borrow_mut().free(self.address);
                debug_assert!(freed.is_ok(), "a buffer is freed once: {freed:?}");
            }
            Origin::Lent => self.memory.borrow_mut().give_up(self.address),
            Origin::GivenBack => (),
        }
    }
}
