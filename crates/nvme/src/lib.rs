//! What crosses between host and drive, as bytes: queue entries, commands, statuses, identify
//! pages, data pointers and the vendor commands of in-flash computing and search.
//!
//! The layouts are those of NVM Express Base Specification 2.1 ("Base") and NVM Command Set
//! Specification 1.1 ("NVM"). Nothing here does I/O, keeps time or knows what the drive does with
//! a command: decoding is total and free of side effects.

pub mod collector;
pub mod command;
mod data_pointer;
mod entry;
mod event;
mod expression;
pub mod fabrics;
mod identifier;
pub mod identify;
pub mod log;
mod memory;
pub mod query;
mod queue;
mod status;
pub mod task;
mod transfers;

pub use command::{AdminCommand, BitsCommand, Command, CommandSet, IoCommand, SearchCommand};
pub use data_pointer::{DataPointer, MAX_TRANSFER_BYTES, Segment, SegmentList};
pub use entry::{CompletionEntry, DataTransfer, Fuse, SubmissionEntry};
pub use event::AsyncEvent;
pub use expression::{
    Expression, ExpressionError, MAX_DEPTH, MAX_ENCODED_BYTES, MAX_OPERANDS, MAX_OPERATORS,
    Operand, Step, VectorId,
};
pub use identifier::{
    BROADCAST_NAMESPACE, CommandId, ControllerId, Lba, NamespaceId, QueueId, QueuePriority,
    RegionId,
};
pub use memory::{Dma, HostMemory, Loan, MEMORY_PAGE_BYTES, MemoryError, Pages};
pub use queue::{Cursor, MAX_QUEUE_ENTRIES, MIN_QUEUE_ENTRIES, Ring, RingError};
pub use status::{Status, StatusType};
pub use transfers::{Transfers, is_of_memory_queues};
