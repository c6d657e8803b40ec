//! What the kernel and a server of FUSE say to each other of data: the part of the kernel's `linux/fuse.h` for requests of an open
//! file. What it says of names and attributes the library reads.

use std::mem::size_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What is asked for (`enum fuse_opcode`).
pub(super) mod opcode {
    pub(in super::super) const READ: u32 = 15;
    pub(in super::super) const WRITE: u32 = 16;
    pub(in super::super) const FSYNC: u32 = 20;
    pub(in super::super) const FLUSH: u32 = 25;
    pub(in super::super) const INIT: u32 = 26;
    pub(in super::super) const DESTROY: u32 = 38;
    pub(in super::super) const FALLOCATE: u32 = 43;
}

/// What every request begins with (`fuse_in_header`).
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Header {
    /// Bytes of the whole request.
    pub(super) bytes: u32,
    pub(super) opcode: u32,
    /// The number by which the request is answered.
    pub(super) unique: u64,
    pub(super) node: u64,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) process: u32,
    pub(super) padding: u32,
}

/// A read or a write of data (`fuse_read_in`, `fuse_write_in`).
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Transfer {
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) how: u32,
    pub(super) lock_owner: u64,
    /// Those of open(2).
    pub(super) flags: u32,
    pub(super) padding: u32,
}

/// fallocate(2) (`fuse_fallocate_in`).
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Allocation {
    pub(super) handle: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) mode: i32,
    pub(super) padding: u32,
}

/// The offer with which the kernel begins (`fuse_init_in`).
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Offer {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) read_ahead_bytes: u32,
    pub(super) flags: u32,
}

/// What every answer begins with (`fuse_out_header`).
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Answered {
    /// Bytes of the whole answer.
    pub(super) bytes: u32,
    /// A negative number of errno(3), or 0.
    pub(super) error: i32,
    pub(super) unique: u64,
}

/// What was written (`fuse_write_out`).
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Written {
    pub(super) bytes: u32,
    pub(super) padding: u32,
}

/// The whole answer to a write.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct AnsweredWrite {
    pub(super) header: Answered,
    pub(super) written: Written,
}

/// What a request has before the data of a write.
pub(super) const BEFORE_DATA: usize = size_of::<Header>() + size_of::<Transfer>();

impl Answered {
    /// The beginning of the answer to a request, which goes on for so many bytes.
    pub(super) fn to(unique: u64, error: i32, more: usize) -> Answered {
        Answered {
            bytes: (size_of::<Answered>() + more) as u32,
            error,
            unique,
        }
    }
}
