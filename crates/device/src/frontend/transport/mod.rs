//! How commands come and completions go: queues, doorbells, arbitration, fetching, slots.

mod activity;
mod arbitration;
mod complete;
mod doorbell;
mod fetch;
mod fetched;
mod queues;
mod room;
mod slot;

pub(super) use activity::Activity;
pub use arbitration::Arbitration;
pub(super) use arbitration::{Arbiter, Shares};
pub(super) use doorbell::Doorbell;
pub(super) use fetched::{FetchedCommand, Source};
pub(super) use queues::Queues;
pub(super) use room::Room;
pub(super) use slot::Slots;
