//! Where a file system says that a file lies: FIEMAP (Linux, Documentation/filesystems/fiemap.rst).

use std::fs::File;
use std::io;

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

/// Extents that one call asks for.
const BATCH: usize = 128;
/// Flush the file before it is looked at.
const SYNC: u32 = 1;
/// The last extent of a file.
const LAST: u32 = 1;

/// A piece of a file as FIEMAP tells it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Piece {
    pub(super) logical: u64,
    pub(super) physical: u64,
    pub(super) bytes: u64,
    reserved: [u64; 2],
    pub(super) flags: u32,
    reserved_words: [u32; 3],
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Head {
    start: u64,
    bytes: u64,
    flags: u32,
    found: u32,
    room: u32,
    reserved: u32,
}

#[repr(C)]
struct Map {
    head: Head,
    pieces: [Piece; BATCH],
}

/// `FS_IOC_FIEMAP`, whose size is that of the head alone.
const FIEMAP: Opcode = opcode::read_write::<Head>(b'f', 11);
/// `FS_IOC_GETFLAGS`, whose argument is an int, though its number says long.
const GET_FLAGS: Opcode = opcode::read::<std::ffi::c_long>(b'f', 1);
/// `FS_IOC_FSGETXATTR`.
const GET_ATTRIBUTES: Opcode = opcode::read::<Attributes>(b'X', 31);

/// `struct fsxattr`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Attributes {
    flags: u32,
    rest: [u32; 6],
}

impl Piece {
    #[cfg(test)]
    pub(super) fn new(logical: u64, physical: u64, bytes: u64, flags: u32) -> Piece {
        Piece {
            logical,
            physical,
            bytes,
            flags,
            ..Piece::default()
        }
    }
}

/// The pieces of a file up to `bytes`, in order, once what the host has of it is written.
pub(super) fn pieces(file: &File, bytes: u64) -> io::Result<Vec<Piece>> {
    let (mut found, mut start) = (Vec::new(), 0);
    while start < bytes {
        let mut map = Map {
            head: Head {
                start,
                bytes: bytes - start,
                flags: SYNC,
                room: BATCH as u32,
                ..Head::default()
            },
            pieces: [Piece::default(); BATCH],
        };
        // SAFETY: the call reads the head of `map`, and writes the head and at most `room` pieces, which lie behind it as `repr(C)`
        // has it (linux/fiemap.h: struct fiemap ends in an array of struct fiemap_extent, of 56 bytes).
        unsafe { ioctl(file, Updater::<FIEMAP, Map>::new(&mut map)) }?;
        let new = &map.pieces[..(map.head.found as usize).min(BATCH)];
        found.extend(new);
        match new.last() {
            Some(last) if last.flags & LAST == 0 => start = last.logical + last.bytes,
            _ => break,
        }
    }
    Ok(found)
}

/// The inode's flags, as `lsattr` shows them.
pub(super) fn flags(file: &File) -> io::Result<u32> {
    let mut flags = [0_u32; 2];
    // SAFETY: the call writes an int, which the array has room for whatever its size.
    unsafe { ioctl(file, Updater::<GET_FLAGS, [u32; 2]>::new(&mut flags)) }?;
    Ok(flags[0])
}

/// The inode's flags that several file systems have (`struct fsxattr`, `fsx_xflags`).
pub(super) fn extended_flags(file: &File) -> io::Result<u32> {
    let mut attributes = Attributes::default();
    // SAFETY: the call writes a `struct fsxattr`, 28 bytes, as `Attributes` are.
    unsafe {
        ioctl(
            file,
            Updater::<GET_ATTRIBUTES, Attributes>::new(&mut attributes),
        )
    }?;
    Ok(attributes.flags)
}

const _: () = assert!(size_of::<Piece>() == 56 && size_of::<Head>() == 32);
const _: () = assert!(size_of::<Attributes>() == 28);
