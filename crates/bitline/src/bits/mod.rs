//! Bulk bitwise computing, on the platforms that Flash-Cosmos compares (its section 7): the same
//! vectors, the same drive, and the work done in the host, in the controller or in the array.

mod batches;
mod located;
mod outside;
mod query;
mod received;
mod request;

pub use query::Query;
pub use received::Received;
pub use request::{Answer, Reply, Request};
