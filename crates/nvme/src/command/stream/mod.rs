//! Streams: vendor commands of a namespace's own (TH-iSSD 3.4, Table 1). One opens a stream, a program over files
//! ([`crate::task::Request`]) with what of them is input and output; others fetch what it makes, send what it is to take, and close it.
//! Their fields are in [`ROWS`], and from there in `docs/reference/commands.md`.

mod collector;
mod rows;

use crate::command::{bit, halves, join_halves, opcode};
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::{CommandId, NamespaceId};
use crate::status::Status;
use crate::task::{MAX_REQUEST_BYTES, REQUEST_BYTES_MIN};
pub use collector::{CollectorClose, CollectorExtend, CollectorOpen};
pub(super) use rows::ROWS;

/// In the place of a file: the host.
const HOST: u32 = u32::MAX;
/// In the place of an input file: from here on the ports of collectors, 65,536 of them.
const COLLECTORS: u32 = 1 << 31;
/// Elements of a stream fit into so many bits.
const UNORDERED_BIT: u32 = 16;
/// Whether no more will be sent.
const END_BIT: u32 = 0;

/// An operation on streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamCommand {
    /// Opens one.
    Open(StreamOpen),
    /// Fetches what it makes.
    Read(StreamRead),
    /// Sends what it is to take.
    Write(StreamWrite),
    /// Closes it.
    Close(StreamClose),
    /// Opens a collection.
    CollectorOpen(CollectorOpen),
    /// Gives it more room.
    CollectorExtend(CollectorExtend),
    /// Closes it.
    CollectorClose(CollectorClose),
}

/// Opens a stream of an activated program, which begins to run. DW0 of the completion is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOpen {
    /// The namespace that has the blocks.
    pub namespace: NamespaceId,
    /// The program's index (PIND).
    pub program: u16,
    /// The namespace that has the program; 0 is the one that has the blocks.
    pub program_namespace: u16,
    /// Bytes of the request.
    pub request_bytes: u32,
    /// Bytes of a piece; 0 is the drive's choice.
    pub piece_bytes: u32,
    /// Instances of the program; 0 is the drive's choice.
    pub elements: u16,
    /// What is emitted comes in the order in which it was, and not of the pieces.
    pub unordered: bool,
    /// The file of the request that is the input; none if the host sends it, or a collector.
    pub input: Option<u32>,
    /// The port of the collector that sends the input, which is no file then.
    pub collector: Option<u16>,
    /// The file of the request that takes the output; none if the host fetches it.
    pub output: Option<u32>,
    /// Where the request lies.
    pub data: DataPointer,
}

/// Fetches what comes next of a stream's output: all that the buffer has room for, unless the end comes first, or the host has to send
/// more input before. DW0 of the completion
/// is how many bytes there are; DW1 is 1 if they are what became of the stream ([`crate::task::Outcome`]), as there is no more of
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRead {
    /// The stream's namespace.
    pub namespace: NamespaceId,
    /// The stream's number.
    pub stream: u32,
    /// Bytes of the buffer.
    pub bytes: u32,
    /// The buffer.
    pub data: DataPointer,
}

/// Sends what a stream is to take next; completes when there was room for all of it, or when there is none before the host has fetched
/// output. The last one completes when the stream is over, if its output goes to a file. DW0 of the completion is how many bytes were
/// taken, DW1 is 1 if the stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWrite {
    /// The stream's namespace.
    pub namespace: NamespaceId,
    /// The stream's number.
    pub stream: u32,
    /// Bytes to send; 0 only with the end.
    pub bytes: u32,
    /// No more will come.
    pub end: bool,
    /// Where they lie.
    pub data: DataPointer,
}

/// Closes a stream; one that is not over is stopped, and what it wrote is rolled back. DW0 of the completion is how it ended
/// ([`crate::task::Ended::code`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamClose {
    /// The stream's namespace.
    pub namespace: NamespaceId,
    /// The stream's number.
    pub stream: u32,
}

impl StreamCommand {
    /// The namespace the command addresses.
    pub fn namespace(&self) -> NamespaceId {
        match self {
            StreamCommand::Open(command) => command.namespace,
            StreamCommand::Read(command) => command.namespace,
            StreamCommand::Write(command) => command.namespace,
            StreamCommand::Close(command) => command.namespace,
            StreamCommand::CollectorOpen(command) => command.namespace,
            StreamCommand::CollectorExtend(command) => command.namespace,
            StreamCommand::CollectorClose(command) => command.namespace,
        }
    }

    pub(in crate::command) fn encode(&self, command_id: CommandId) -> SubmissionEntry {
        let entry = |opcode| SubmissionEntry::new(opcode, command_id, self.namespace());
        match self {
            StreamCommand::Open(open) => open.encode(entry(opcode::STREAM_OPEN)),
            StreamCommand::Read(read) => {
                let mut entry = entry(opcode::STREAM_READ);
                entry.cdw10.set(read.stream);
                entry.cdw11.set(read.bytes);
                read.data.encode_into(&mut entry);
                entry
            }
            StreamCommand::Write(write) => {
                let mut entry = entry(opcode::STREAM_WRITE);
                entry.cdw10.set(write.stream);
                entry.cdw11.set(write.bytes);
                entry.cdw12.set(u32::from(write.end) << END_BIT);
                write.data.encode_into(&mut entry);
                entry
            }
            StreamCommand::Close(close) => {
                let mut entry = entry(opcode::STREAM_CLOSE);
                entry.cdw10.set(close.stream);
                entry
            }
            StreamCommand::CollectorOpen(open) => open.encode(entry(opcode::COLLECTOR_OPEN)),
            StreamCommand::CollectorExtend(extend) => {
                extend.encode(entry(opcode::COLLECTOR_EXTEND))
            }
            StreamCommand::CollectorClose(close) => close.encode(entry(opcode::COLLECTOR_CLOSE)),
        }
    }
}

impl StreamOpen {
    /// # Errors
    /// Invalid Field for a length that no request has.
    fn decode(entry: &SubmissionEntry) -> Result<StreamCommand, Status> {
        let file = |number: u32| (number != HOST).then_some(number);
        let input = entry.cdw14.get();
        let collector = input.checked_sub(COLLECTORS);
        let collector = collector.and_then(|port| u16::try_from(port).ok());
        let open = StreamOpen {
            namespace: entry.namespace(),
            program: halves(entry.cdw10.get()).0,
            program_namespace: halves(entry.cdw10.get()).1,
            request_bytes: entry.cdw11.get(),
            piece_bytes: entry.cdw12.get(),
            elements: halves(entry.cdw13.get()).0,
            unordered: bit(entry.cdw13.get(), UNORDERED_BIT),
            input: file(input).filter(|_| collector.is_none()),
            collector,
            output: file(entry.cdw15.get()),
            data: DataPointer::decode(entry)?,
        };
        match (REQUEST_BYTES_MIN..=MAX_REQUEST_BYTES).contains(&open.request_bytes) {
            true => Ok(StreamCommand::Open(open)),
            false => Err(Status::INVALID_FIELD),
        }
    }

    fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry
            .cdw10
            .set(join_halves(self.program, self.program_namespace));
        entry.cdw11.set(self.request_bytes);
        entry.cdw12.set(self.piece_bytes);
        let unordered = u32::from(self.unordered) << UNORDERED_BIT;
        entry.cdw13.set(u32::from(self.elements) | unordered);
        let collector = self.collector.map(|port| COLLECTORS + u32::from(port));
        entry.cdw14.set(self.input.or(collector).unwrap_or(HOST));
        entry.cdw15.set(self.output.unwrap_or(HOST));
        self.data.encode_into(&mut entry);
        entry
    }
}

impl StreamRead {
    /// # Errors
    /// Invalid Field for no bytes.
    fn decode(entry: &SubmissionEntry) -> Result<StreamCommand, Status> {
        let read = StreamRead {
            namespace: entry.namespace(),
            stream: entry.cdw10.get(),
            bytes: entry.cdw11.get(),
            data: DataPointer::decode(entry)?,
        };
        match read.bytes {
            0 => Err(Status::INVALID_FIELD),
            _ => Ok(StreamCommand::Read(read)),
        }
    }
}

impl StreamWrite {
    /// # Errors
    /// Invalid Field for no bytes, if that is not the end.
    fn decode(entry: &SubmissionEntry) -> Result<StreamCommand, Status> {
        let write = StreamWrite {
            namespace: entry.namespace(),
            stream: entry.cdw10.get(),
            bytes: entry.cdw11.get(),
            end: bit(entry.cdw12.get(), END_BIT),
            data: DataPointer::decode(entry)?,
        };
        match write.bytes == 0 && !write.end {
            true => Err(Status::INVALID_FIELD),
            false => Ok(StreamCommand::Write(write)),
        }
    }
}

impl StreamClose {
    fn decode(entry: &SubmissionEntry) -> StreamCommand {
        StreamCommand::Close(StreamClose {
            namespace: entry.namespace(),
            stream: entry.cdw10.get(),
        })
    }
}
