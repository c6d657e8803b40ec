//! Streams: files as the drive's programs make them, fetched while they are being made; or what the host sends, on its way into a
//! file (TH-iSSD 3.4).

use nvme::command::{StreamClose, StreamCommand, StreamOpen, StreamRead, StreamWrite};
use nvme::task::{Outcome, RESULT_BYTES_MIN, Request};
use nvme::{CommandId, CompletionEntry, DataPointer, IoCommand, NamespaceId};

use crate::block::BlockDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::tasks::{TaskError, named};
use crate::transport::Transport;

/// What a stream is besides what its program is asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The file of the request that is the input, by number; none if the host sends it, or a collector.
    pub input: Option<u32>,
    /// The port of the collector that sends the input, which is no file then.
    pub collector: Option<u16>,
    /// The file of the request that takes the output; none if the host fetches it.
    pub output: Option<u32>,
    /// Bytes of a piece; 0 is the drive's choice.
    pub piece_bytes: u32,
    /// Instances of the program; 0 is the drive's choice.
    pub elements: u16,
    /// Output comes in the order in which it is emitted, and not of the pieces.
    pub unordered: bool,
}

/// What a stream gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// These bytes; none where the host has to send more first.
    Data(Vec<u8>),
    /// Nothing more: this is what became of it.
    Over(Outcome),
}

/// The streams of a namespace.
#[derive(Clone)]
pub struct StreamDevice<T> {
    block: BlockDevice<T>,
    /// The namespace that has the programs.
    owner: NamespaceId,
}

impl<T: Transport> StreamDevice<T> {
    /// The streams of the namespace of `block`.
    pub fn new(block: BlockDevice<T>) -> StreamDevice<T> {
        let owner = block.namespace();
        StreamDevice { block, owner }
    }

    /// The same, of programs of another namespace.
    #[must_use]
    pub fn with_programs_of(self, owner: NamespaceId) -> StreamDevice<T> {
        StreamDevice { owner, ..self }
    }

    /// Opens a stream of an active program, which begins to run; gives its number.
    ///
    /// # Errors
    /// [`TaskError::Request`] for files that overlap or do not lie in the namespace; [`TaskError::Usage`] for a request too long for one
    /// command; what the drive reports: No Program, Program Not Activated, Stream Limit Reached.
    pub async fn open(
        &self,
        program: u16,
        request: &Request,
        shape: Shape,
    ) -> Result<u32, TaskError> {
        request.check(self.block.blocks(), self.block.block_bytes())?;
        let bytes = request.encode()?;
        let most = self.block.bytes_per_command();
        if bytes.len() as u64 > most {
            return Err(TaskError::Usage(format!(
                "a request of {} bytes, with its {} bytes of arguments: one command transfers {most}",
                bytes.len(),
                request.arguments.len()
            )));
        }
        let buffer = Buffer::holding(self.block.transport().memory(), &bytes)?;
        let request_bytes = bytes.len() as u32;
        let open = StreamCommand::Open(StreamOpen {
            namespace: self.block.namespace(),
            program,
            program_namespace: named(self.owner, &self.block),
            request_bytes,
            piece_bytes: shape.piece_bytes,
            elements: shape.elements,
            unordered: shape.unordered,
            input: shape.input,
            collector: shape.collector,
            output: shape.output,
            data: buffer.pointer(request_bytes),
        });
        Ok(self.send("stream open", open).await?.dw0.get())
    }

    /// Fetches what comes next: `bytes` bytes, or what is left of it before the end; at the end, what became of the stream.
    ///
    /// # Errors
    /// [`TaskError::Usage`] for fewer bytes than [`RESULT_BYTES_MIN`] has or more than a command transfers; what the drive reports: No Such Stream.
    pub async fn read(&self, stream: u32, bytes: u32) -> Result<Fetched, TaskError> {
        let most = self.block.bytes_per_command();
        if bytes < RESULT_BYTES_MIN || u64::from(bytes) > most {
            return Err(TaskError::Usage(format!(
                "{bytes} bytes of a stream: a command fetches {RESULT_BYTES_MIN} to {most}"
            )));
        }
        let buffer = Buffer::new(self.block.transport().memory(), bytes.into())?;
        let read = StreamCommand::Read(StreamRead {
            namespace: self.block.namespace(),
            stream,
            bytes,
            data: buffer.pointer(bytes),
        });
        let completion = self.send("stream read", read).await?;
        let there = completion.dw0.get();
        if there > bytes {
            return Err(damaged());
        }
        if completion.dw1.get() == 0 {
            let data = buffer.look(there.into(), |data| data.to_vec())?;
            return Ok(Fetched::Data(data));
        }
        let outcome = buffer.look(there.into(), Outcome::decode)?;
        outcome.map(Fetched::Over).ok_or_else(damaged)
    }

    /// Sends what a stream is to take next, a command's bytes at a time; `end` says that no more will come. Gives how many bytes were taken,
    /// fewer where output has to be fetched before there is room for more, and whether the stream is over. The end counts only with all
    /// of the bytes.
    ///
    /// # Errors
    /// What the drive reports: No Such Stream; Command Sequence Error where the input is a file.
    pub async fn write(
        &self,
        stream: u32,
        data: &[u8],
        end: bool,
    ) -> Result<(usize, bool), TaskError> {
        let most = self.block.bytes_per_command() as usize;
        let mut rest = data;
        loop {
            let (now, after) = rest.split_at(rest.len().min(most));
            rest = after;
            let is_last = end && rest.is_empty();
            if now.is_empty() && !is_last {
                return Ok((data.len(), false));
            }
            let buffer = match now.is_empty() {
                true => None,
                false => Some(Buffer::holding(self.block.transport().memory(), now)?),
            };
            let bytes = now.len() as u32;
            let pointer = buffer.as_ref().map(|buffer| buffer.pointer(bytes));
            let write = StreamCommand::Write(StreamWrite {
                namespace: self.block.namespace(),
                stream,
                bytes,
                end: is_last,
                data: pointer.unwrap_or(DataPointer::NONE),
            });
            let completion = self.send("stream write", write).await?;
            let (taken, is_over) = (completion.dw0.get(), completion.dw1.get() != 0);
            if is_over || taken < bytes || rest.is_empty() {
                let left = rest.len() + bytes.saturating_sub(taken) as usize;
                return Ok((data.len() - left, is_over));
            }
        }
    }

    /// Closes a stream; one that is not over is stopped, and what it wrote is rolled back.
    ///
    /// # Errors
    /// What the drive reports: No Such Stream.
    pub async fn close(&self, stream: u32) -> Result<(), TaskError> {
        let close = StreamCommand::Close(StreamClose {
            namespace: self.block.namespace(),
            stream,
        });
        self.send("stream close", close).await.map(drop)
    }

    async fn send(
        &self,
        name: &'static str,
        command: StreamCommand,
    ) -> Result<CompletionEntry, TaskError> {
        let entry = IoCommand::Stream(command).encode(CommandId::new(0));
        let completion = self.block.transport().io(&entry).await?;
        Error::check(name, completion.status())?;
        Ok(completion)
    }
}

fn damaged() -> TaskError {
    TaskError::Device(Error::Protocol(
        "what it tells of a stream is damaged".into(),
    ))
}
