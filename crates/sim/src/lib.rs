//! Simulated time: a deterministic executor, resources, seeded randomness, an
//! energy ledger, statistics and a trace. No word of SSDs.
//!
//! ```
//! use sim::{Simulation, Span, resource::Pipe};
//!
//! let simulation = Simulation::new(1);
//! let sim = simulation.handle();
//! let wire = Pipe::new(&sim, 1_000_000_000); // bytes per second
//! let finished = simulation.block_on(async move {
//!     sim.sleep(Span::from_ns(10)).await;
//!     wire.transfer(100).await; // 100 bytes take 100 ns
//!     sim.now()
//! });
//! assert_eq!(finished.unwrap().as_ns(), 110.0);
//! ```

mod combine;
mod energy;
mod executor;
mod histogram;
pub mod memory;
mod quantity;
mod random;
pub mod resource;
mod trace;

pub use combine::{Either, join, join_all, select};
pub use energy::{Account, AccountId, ByTenant, Ledger, Tenant};
pub use executor::{JoinHandle, Sim, Simulation, Stalled, TaskId};
pub use histogram::{Histogram, Recorded};
pub use quantity::{Energy, Span, Time};
pub use random::Random;
pub use trace::{Args, Counter, Excerpt, Keep, Key, Name, Requester, Trace, TraceId, Track};
