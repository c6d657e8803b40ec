//! Who is told that an operation is over.

use super::fault::Fault;
use super::ticket::TicketId;

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Whoever awaits this ticket.
    Ticket(TicketId),
    /// Whoever reads flash without a task, with this number. It is called on the spot, which is cheaper than
    /// waking a task, and serves what needs no further waiting.
    Reader(u32),
    /// The collection of garbage, with this number, on the spot too.
    Collector(u32),
    /// The mapping table, with the number of a mapping page, on the spot too.
    Mapper(u32),
}

/// What [`Notify::Reader`] and its like call: the number and the fault, if there was one.
pub type Callback = Box<dyn Fn(u32, Option<Fault>)>;

impl From<TicketId> for Notify {
    fn from(ticket: TicketId) -> Notify {
        Notify::Ticket(ticket)
    }
}
