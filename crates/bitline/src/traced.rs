//! What a trace tells of a command: its name and arguments, from its entry and completion.

use nvme::command::{
    BitsCommand, BlockRange, CollectorClose, CollectorExtend, CollectorOpen, CommandSet,
    ComputeCommand, Engine, MemoryCommand, Row, StreamCommand, row,
};
use nvme::{
    Command, CompletionEntry, DataPointer, IoCommand, QueueId, SearchCommand, SubmissionEntry,
};
use sim::{Args, Key, TraceId};

static OPCODE: Key = Key::one("opcode");
static QUEUE_PAIR: Key = Key::one("queue_pair");
static COMMAND_ID: Key = Key::one("command_id");
static NAMESPACE: Key = Key::one("namespace");
static FIRST_BLOCK: Key = Key::one("first_block");
static FIRST_BYTE: Key = Key::one("first_byte");
static BLOCKS: Key = Key::one("blocks");
static BYTES: Key = Key::one("bytes");
static RANGES: Key = Key::one("ranges");
static HANDLE: Key = Key::one("handle");
static ENGINE: Key = Key::one("engine");
static VECTOR_BITS: Key = Key::one("vector_bits");
static SEARCH_REGION: Key = Key::one("search_region");
static RECORDS: Key = Key::one("records");
static PROGRAM: Key = Key::one("program");
static PORT: Key = Key::one("port");
static STREAM: Key = Key::one("stream");
static STATUS: Key = Key::one("status");

/// A command that is complete.
pub(crate) struct Traced<'a> {
    pub(crate) queue: QueueId,
    /// The command set of its namespace, or that of the admin queue.
    pub(crate) set: CommandSet,
    pub(crate) entry: &'a SubmissionEntry,
    pub(crate) completion: &'a CompletionEntry,
    pub(crate) trace: TraceId,
}

impl Traced<'_> {
    fn row(&self) -> Option<&'static Row> {
        row(self.set, self.entry.opcode)
    }

    /// What its slice is called.
    pub(crate) fn name(&self) -> &'static str {
        self.row().map_or("command", |row| row.label)
    }

    /// Its arguments. Bytes are those of host memory that it names; a PRP list does not say how many.
    pub(crate) fn tell(&self, args: &mut Args) {
        match self.row() {
            Some(row) => args.word(&OPCODE, row.name),
            None => args.number(&OPCODE, self.entry.opcode),
        };
        args.number(&QUEUE_PAIR, self.queue.get())
            .number(&COMMAND_ID, self.entry.command_id.get())
            .number(&NAMESPACE, self.entry.namespace().get());
        let status = self.completion.status();
        match Command::decode(self.set, self.entry) {
            Ok(Command::Nvm(command)) => tell(&command, args),
            Ok(Command::Memory(command)) => tell_memory(&command, args),
            Ok(Command::Compute(ComputeCommand::Execute(execute))) => {
                args.number(&PROGRAM, execute.program);
            }
            _ => {}
        }
        if let Ok(DataPointer::Sgl { length, .. }) = DataPointer::decode(self.entry) {
            args.number(&BYTES, length);
        }
        match status.name() {
            Some(name) => args.word(&STATUS, name),
            None => args.number(&STATUS, status.field()),
        };
        args.commands([self.trace].into_iter());
    }
}

fn tell(command: &IoCommand, args: &mut Args) {
    match command {
        IoCommand::Read(transfer) | IoCommand::Write(transfer) | IoCommand::Compare(transfer) => {
            tell_blocks(&transfer.blocks, args);
        }
        IoCommand::WritePlaced(placed) => {
            tell_blocks(&placed.write.blocks, args);
            args.number(&HANDLE, placed.handle);
        }
        IoCommand::WriteZeroes(zeroes) => tell_blocks(&zeroes.blocks, args),
        IoCommand::Verify(command) | IoCommand::WriteUncorrectable(command) => {
            tell_blocks(&command.blocks, args);
        }
        IoCommand::DatasetManagement(dataset) => {
            args.number(&RANGES, dataset.range_count);
        }
        IoCommand::Copy(copy) => {
            args.number(&FIRST_BLOCK, copy.destination.get())
                .number(&RANGES, copy.range_count);
        }
        IoCommand::Bits(BitsCommand::FcRead(read)) => {
            let engine = match read.engine {
                Engine::FlashCosmos => "flash-cosmos",
                Engine::ParaBit => "parabit",
                Engine::InStorage => "in-storage",
                Engine::Fastest => "fastest",
                Engine::Thriftiest => "thriftiest",
            };
            args.word(&ENGINE, engine).number(&VECTOR_BITS, read.bits);
        }
        IoCommand::Search(search) => tell_search(search, args),
        IoCommand::Execute(execute) => {
            args.number(&PROGRAM, execute.program);
        }
        IoCommand::Stream(stream) => tell_stream(stream, args),
        IoCommand::Flush { .. } => {}
    }
}

fn tell_memory(command: &MemoryCommand, args: &mut Args) {
    match command {
        MemoryCommand::Copy(copy) => {
            args.number(&FIRST_BYTE, copy.destination)
                .number(&RANGES, copy.range_count);
        }
        MemoryCommand::Read(transfer) | MemoryCommand::Write(transfer) => {
            args.number(&FIRST_BYTE, transfer.start);
        }
    }
}

fn tell_stream(stream: &StreamCommand, args: &mut Args) {
    let number = match stream {
        StreamCommand::Open(open) => {
            args.number(&PROGRAM, open.program);
            return;
        }
        StreamCommand::Read(read) => read.stream,
        StreamCommand::Write(write) => write.stream,
        StreamCommand::Close(close) => close.stream,
        StreamCommand::CollectorOpen(CollectorOpen { port, .. })
        | StreamCommand::CollectorExtend(CollectorExtend { port, .. })
        | StreamCommand::CollectorClose(CollectorClose { port, .. }) => {
            args.number(&PORT, *port);
            return;
        }
    };
    args.number(&STREAM, number);
}

fn tell_search(search: &SearchCommand, args: &mut Args) {
    let (region, records) = match search {
        SearchCommand::Allocate(allocate) => {
            args.number(&FIRST_BLOCK, allocate.start.get());
            return;
        }
        SearchCommand::Report(_) => return,
        SearchCommand::Append(append) => (append.region, Some(append.records)),
        SearchCommand::Update(update) => (update.append.region, Some(update.append.records)),
        SearchCommand::Deallocate(command) => (command.region, None),
        SearchCommand::SimpleLookup(lookup) => (lookup.region, None),
        SearchCommand::Lookup(lookup) => (lookup.region, None),
        SearchCommand::LookupContinue(lookup) => (lookup.region, None),
        SearchCommand::Delete(delete) => (delete.region, None),
    };
    args.number(&SEARCH_REGION, region.get());
    if let Some(records) = records {
        args.number(&RECORDS, records);
    }
}

fn tell_blocks(blocks: &BlockRange, args: &mut Args) {
    args.number(&FIRST_BLOCK, blocks.start.get())
        .number(&BLOCKS, blocks.count);
}
