//! Error numbers that tasks are told, as C has them on Linux.

/// There is no such name.
pub const ENOENT: i32 = 2;
/// There is no file or store of this number.
pub const EBADF: i32 = 9;
/// As much is under way as may be.
pub const EAGAIN: i32 = 11;
/// The file was registered to be read only.
pub const EACCES: i32 = 13;
/// There is no accelerator.
pub const ENODEV: i32 = 19;
/// An argument that cannot be.
pub const EINVAL: i32 = 22;
/// Beyond the end of a file.
pub const EFBIG: i32 = 27;
/// The value or the log is full.
pub const ENOSPC: i32 = 28;
/// This drive, or these files, have nothing to answer that with.
pub const ENOSYS: i32 = 38;
