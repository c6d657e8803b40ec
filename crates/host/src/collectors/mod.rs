//! Collectors: what the drive takes from cameras and sensors by itself, into extents that the host sets aside (TH-iSSD 3.2).

use nvme::collector::{CollectorList, CollectorRecord, Policy};
use nvme::command::{
    CollectorClose, CollectorExtend, CollectorOpen, GetLogPage, LogPageId, StreamCommand,
};
use nvme::task::{File, Request};
use nvme::{AdminCommand, CommandId, CompletionEntry, IoCommand};

use crate::block::BlockDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::tasks::TaskError;
use crate::transport::Transport;

/// Bytes of the list that are asked for at first.
const LIST_BYTES: u64 = 4096;

/// What a collection is asked to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// What it is called.
    pub identifier: u64,
    /// Where it goes; nowhere if it is for a stream only.
    pub file: Option<File>,
    /// What becomes of packets for which there is no room.
    pub policy: Policy,
    /// Bytes that it may have in the drive's memory; 0 is the drive's choice.
    pub share_bytes: u32,
    /// Bytes of room below which the drive tells the host.
    pub low_bytes: u32,
    /// It goes on where the last one of its identifier ended on the port.
    pub goes_on: bool,
}

/// The collections of a namespace.
#[derive(Clone)]
pub struct CollectorDevice<T> {
    block: BlockDevice<T>,
}

impl<T: Transport> CollectorDevice<T> {
    /// The collections of the namespace of `block`.
    pub fn new(block: BlockDevice<T>) -> CollectorDevice<T> {
        CollectorDevice { block }
    }

    /// Opens the collection of a port; gives the byte at which it begins.
    ///
    /// # Errors
    /// [`TaskError::Request`] for a file that does not lie in the namespace; what the drive reports: Collector In Use, Collector Limit Reached;
    /// Invalid Field where there is nothing to go on with.
    pub async fn open(&self, port: u16, asked: &Collection) -> Result<u64, TaskError> {
        let request = Request {
            identifier: asked.identifier,
            files: asked.file.iter().cloned().collect(),
            ..Request::default()
        };
        let (buffer, request_bytes) = self.request(&request)?;
        let open = StreamCommand::CollectorOpen(CollectorOpen {
            namespace: self.block.namespace(),
            port,
            policy: asked.policy,
            goes_on: asked.goes_on,
            request_bytes,
            share_bytes: asked.share_bytes,
            low_bytes: asked.low_bytes,
            data: buffer.pointer(request_bytes),
        });
        Ok(bytes_of(&self.send("collector open", open).await?))
    }

    /// Adds extents behind those that a collection has.
    ///
    /// # Errors
    /// As [`CollectorDevice::open`]; No Such Collector.
    pub async fn extend(&self, port: u16, file: File) -> Result<(), TaskError> {
        let request = Request {
            files: vec![file],
            ..Request::default()
        };
        let (buffer, request_bytes) = self.request(&request)?;
        let extend = StreamCommand::CollectorExtend(CollectorExtend {
            namespace: self.block.namespace(),
            port,
            request_bytes,
            data: buffer.pointer(request_bytes),
        });
        self.send("collector extend", extend).await.map(drop)
    }

    /// Ends a collection, and gives how many bytes of it are there for good; one that is over is forgotten.
    ///
    /// # Errors
    /// What the drive reports: No Such Collector; Internal Error if what came could not be written.
    pub async fn close(&self, port: u16) -> Result<u64, TaskError> {
        let close = StreamCommand::CollectorClose(CollectorClose {
            namespace: self.block.namespace(),
            port,
        });
        Ok(bytes_of(&self.send("collector close", close).await?))
    }

    /// What the drive tells of the collections of the namespace, by port. Whether there is little room left for one can be told by an event
    /// again then.
    ///
    /// # Errors
    /// What the drive reports, or a page that is none.
    pub async fn list(&self) -> Result<Vec<CollectorRecord>, TaskError> {
        let damaged = || Error::Protocol("the list of collections is damaged".into());
        let mut bytes = LIST_BYTES;
        loop {
            let page = self.log(bytes).await?;
            let wanted = CollectorList::bytes(&page).ok_or_else(damaged)?;
            if wanted <= bytes {
                let list = CollectorList::decode(&page).ok_or_else(damaged)?;
                return Ok(list.records);
            }
            bytes = wanted;
        }
    }

    async fn log(&self, bytes: u64) -> Result<Vec<u8>, TaskError> {
        let zeroes = vec![0; bytes as usize];
        let transport = self.block.transport();
        let buffer = Buffer::holding(transport.memory(), &zeroes)?;
        let get = AdminCommand::GetLogPage(GetLogPage {
            page: LogPageId::COLLECTORS,
            namespace: self.block.namespace(),
            specific: 0,
            specific_id: 0,
            command_set: 0,
            retain_event: false,
            dwords: bytes / 4,
            offset: 0,
            data: buffer.pointer(bytes as u32),
        });
        let completion = transport.admin(&get.encode(CommandId::new(0))).await?;
        Error::check("get log page", completion.status())?;
        Ok(buffer.to_vec()?)
    }

    fn request(&self, request: &Request) -> Result<(Buffer, u32), TaskError> {
        request.check(self.block.blocks(), self.block.block_bytes())?;
        let bytes = request.encode()?;
        let buffer = Buffer::holding(self.block.transport().memory(), &bytes)?;
        Ok((buffer, bytes.len() as u32))
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

fn bytes_of(completion: &CompletionEntry) -> u64 {
    u64::from(completion.dw1.get()) << 32 | u64::from(completion.dw0.get())
}
