//! A drive for real hosts. The only crate with threads, sockets and the wall clock.
//!
//! `engine` keeps one drive on a thread of its own, whose simulated time it lets pass as fast as the wall clock, or as
//! fast as it can; whoever serves a host hands it requests. `tcp` serves hosts on a network.

pub mod engine;
pub mod tcp;
