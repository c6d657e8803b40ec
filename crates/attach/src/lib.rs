//! A drive for real hosts. The only crate with threads, sockets and the wall clock.
//!
//! `engine` keeps one drive on a thread of its own, whose simulated time it lets pass as fast as the wall clock, or as
//! fast as it can; whoever serves a host hands it requests. `fuse` has Linux see the drive as a file, `mount` puts a file system
//! on that; `attachment` is all of it, from the image to the mount point. `tcp` serves hosts on a network; `serving` is all of
//! that, from the image to the socket. `initiator` is a host's end: a drive that another process serves. `mounted` finds where
//! files of a file system lie that is on a drive, so that tasks, streams and collectors work on them. `commands` runs what the
//! operating system has commands for, `system` reads its tables, and `unmount` unmounts; `buffers` are for the data of requests, and
//! `notes` what there is to tell besides figures.

pub mod attachment;
mod buffers;
mod commands;
pub mod engine;
pub mod fuse;
pub mod initiator;
pub mod mount;
pub mod mounted;
pub mod notes;
pub mod serving;
mod system;
pub mod tcp;
pub mod unmount;
