//! A drive for real hosts. The only crate with threads, sockets and the wall clock.
//!
//! `engine` keeps one drive on a thread of its own, whose simulated time it lets pass as fast as the wall clock, or as
//! fast as it can; whoever serves a host hands it requests. `fuse` has Linux see the drive as a file, `mount` puts a file system
//! on that; `attachment` is all of it, from the image to the mount point. `mounted` finds where files of such a file system lie,
//! so that tasks, streams and collectors work on them. `tcp` serves hosts on a network, and `initiator` is a host's end: a drive
//! that another process serves. `serving` is all of a drive on a network, from the image to the socket.

pub mod attachment;
pub mod engine;
pub mod fuse;
pub mod initiator;
pub mod mount;
pub mod mounted;
pub mod notes;
pub mod serving;
pub mod tcp;
pub mod unmount;
