//! A drive for real hosts. The only crate with threads, sockets and the wall clock.
//!
//! `engine` keeps one drive on a thread of its own, whose simulated time it lets pass as fast as the wall clock, or as
//! fast as it can; whoever serves a host hands it requests. `mounted` finds where files of a file system lie that is on a drive,
//! so that tasks, streams and collectors work on them. `tcp` serves hosts on a network, and `initiator` is a host's end: a drive
//! that another process serves. `serving` is all of a drive on a network, from the image to the socket.

pub mod engine;
pub mod initiator;
pub mod mounted;
pub mod serving;
pub mod tcp;
