//! Memory of a drive that the host and its programs share: bytes are written, read and copied, to and from blocks too, and programs
//! run over ranges of them, as the standard's Subsystem Local Memory and Computational Programs command sets have it.

mod run;

pub use run::{MemoryRun, RunRanges};

use std::ops::Range;

use nvme::command::{
    CopyBlocks, GetLogPage, LogPageId, MemoryCommand, MemoryCopy, MemoryRange, MemoryRangeSets,
    MemoryTransfer, RangeSetAction, SourceFormat, SourceRange,
};
use nvme::identify::{
    COMPUTE_COMMAND_SET, Cns, IdentifyComputeNamespace, IdentifyMemoryNamespace, MEMORY_COMMAND_SET,
};
use nvme::log::RangeSetRecord;
use nvme::{
    AdminCommand, CommandId, CompletionEntry, DataPointer, IoCommand, Lba, NamespaceId, Status,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::admin::Admin;
use crate::block::BlockDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::identify::{identify_controller, identify_in};
use crate::transport::Transport;

/// Sets of ranges of a memory: the identifier of each, and where its ranges begin and end, in bytes.
pub type RangeSets = Vec<(u16, Vec<Range<u64>>)>;

/// Bytes that a command transfers at most, if the drive sets no limit.
const TRANSFER_BYTES: u64 = 4 << 20;
/// Bytes that a copy moves at most, and blocks of one of its ranges.
const COPY_BYTES: u64 = 1 << 20;
/// Bytes of a list of range sets that are asked for.
const LIST_BYTES: u64 = 64 << 10;

/// The memory of a drive, and the namespace whose programs see it.
#[derive(Clone)]
pub struct MemoryDevice<T> {
    transport: T,
    memory: NamespaceId,
    compute: NamespaceId,
    page: IdentifyMemoryNamespace,
    limits: IdentifyComputeNamespace,
    transfer_bytes: u64,
    keeps_data: bool,
}

/// The first namespace of a command set, if the drive has one.
///
/// # Errors
/// What the drive reports.
async fn first_of<T: Transport + Clone>(
    transport: &T,
    command_set: u8,
) -> Result<Option<NamespaceId>, Error> {
    let admin = Admin::new(transport.clone());
    match admin.namespaces_of(command_set).await {
        Ok(namespaces) => Ok(namespaces.first().copied()),
        // It does not have the command set.
        Err(Error::Status(error)) if error.status.is(Status::INVALID_FIELD) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The namespace of a drive that has programs besides those of blocks, if there is one.
///
/// # Errors
/// What the drive reports.
pub async fn compute_namespace<T: Transport + Clone>(
    transport: &T,
) -> Result<Option<NamespaceId>, Error> {
    first_of(transport, COMPUTE_COMMAND_SET).await
}

impl<T: Transport + Clone> MemoryDevice<T> {
    /// Asks the drive for its memory; none if it has none.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn open(transport: T) -> Result<Option<MemoryDevice<T>>, Error> {
        let memory = first_of(&transport, MEMORY_COMMAND_SET).await?;
        let compute = compute_namespace(&transport).await?;
        let Some((memory, compute)) = memory.zip(compute) else {
            return Ok(None);
        };
        let cns = Cns::CommandSetNamespace;
        let wrong = || Error::Protocol("an identify page of another size".into());
        let page = identify_in(&transport, cns, memory, MEMORY_COMMAND_SET).await?;
        let page = IdentifyMemoryNamespace::read_from_bytes(&page).map_err(|_| wrong())?;
        let limits = identify_in(&transport, cns, compute, COMPUTE_COMMAND_SET).await?;
        let limits = IdentifyComputeNamespace::read_from_bytes(&limits).map_err(|_| wrong())?;
        let controller = identify_controller(&transport).await?;
        let most = controller.max_transfer_bytes().unwrap_or(u64::MAX);
        Ok(Some(MemoryDevice {
            transport,
            memory,
            compute,
            page,
            limits,
            transfer_bytes: most.min(TRANSFER_BYTES),
            keeps_data: true,
        }))
    }
}

impl<T: Transport> MemoryDevice<T> {
    /// The same of a drive that keeps data, or only the time that it takes: [`MemoryDevice::read`] then gives zeroes.
    #[must_use]
    pub fn keeping_data(self, keeps_data: bool) -> MemoryDevice<T> {
        MemoryDevice { keeps_data, ..self }
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.page.bytes.get()
    }

    /// What places and lengths are multiples of, in bytes.
    pub fn granularity(&self) -> u64 {
        self.page.granularity.get().into()
    }

    /// The memory namespace.
    pub fn namespace(&self) -> NamespaceId {
        self.memory
    }

    /// The namespace whose programs see the memory.
    pub fn compute_namespace(&self) -> NamespaceId {
        self.compute
    }

    /// Range sets that there may be, and ranges of each.
    pub fn limits(&self) -> (u16, u8) {
        (self.limits.sets_max.get(), self.limits.ranges_max)
    }

    /// The way to the drive.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Reads bytes, with as many commands as that takes.
    ///
    /// # Errors
    /// [`Error::Usage`] for bytes that there are not; what the drive reports.
    pub async fn read(&self, start: u64, bytes: u64) -> Result<Vec<u8>, Error> {
        self.check(start, bytes)?;
        let mut data = vec![0; bytes as usize];
        for piece in self.pieces(bytes) {
            let length = piece.end - piece.start;
            let buffer = Buffer::new(self.transport.memory(), length)?;
            let read = self.transfer(start + piece.start, length, &buffer);
            self.send("memory read", MemoryCommand::Read(read)).await?;
            if self.keeps_data {
                buffer.copy_to(&mut data[piece.start as usize..piece.end as usize])?;
            }
        }
        Ok(data)
    }

    /// Writes bytes, with as many commands as that takes.
    ///
    /// # Errors
    /// As [`MemoryDevice::read`].
    pub async fn write(&self, start: u64, data: &[u8]) -> Result<(), Error> {
        let bytes = data.len() as u64;
        self.check(start, bytes)?;
        for piece in self.pieces(bytes) {
            let part = &data[piece.start as usize..piece.end as usize];
            let buffer = Buffer::holding(self.transport.memory(), part)?;
            let write = self.transfer(start + piece.start, part.len() as u64, &buffer);
            self.send("memory write", MemoryCommand::Write(write))
                .await?;
        }
        Ok(())
    }

    /// Copies bytes to another place, inside the drive. Neither may reach into the other.
    ///
    /// # Errors
    /// As [`MemoryDevice::read`]; Overlapping I/O Range.
    pub async fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        self.check(from, bytes)?;
        self.check(to, bytes)?;
        if from < to + bytes && to < from + bytes && bytes > 0 {
            return Err(Error::Usage(format!(
                "{bytes} bytes from {from} to {to} of the drive's memory: both have bytes in common"
            )));
        }
        for piece in copies(bytes) {
            let length = piece.end - piece.start;
            let source = SourceRange::memory(self.memory, from + piece.start, length as u32);
            self.copy_here(&[source], SourceFormat::Memory, to + piece.start, length)
                .await?;
        }
        Ok(())
    }

    /// Copies logical blocks of a namespace to the memory, inside the drive.
    ///
    /// # Errors
    /// As [`MemoryDevice::read`]; LBA Out of Range, Unrecovered Read Error.
    pub async fn copy_from_blocks(
        &self,
        block: &BlockDevice<T>,
        (lba, blocks): (u64, u64),
        to: u64,
    ) -> Result<(), Error> {
        let block_bytes = u64::from(block.block_bytes());
        self.check(to, blocks * block_bytes)?;
        for piece in copies(blocks * block_bytes) {
            let (first, count) = (piece.start / block_bytes, piece.end - piece.start);
            let start = Lba::new(lba + first);
            let blocks = (count / block_bytes) as u32;
            let source = SourceRange::blocks(block.namespace(), start, blocks);
            self.copy_here(&[source], SourceFormat::Blocks, to + piece.start, count)
                .await?;
        }
        Ok(())
    }

    /// Copies bytes of the memory to logical blocks of a namespace, inside the drive.
    ///
    /// # Errors
    /// As [`MemoryDevice::copy_from_blocks`]; Capacity Exceeded.
    pub async fn copy_to_blocks(
        &self,
        from: u64,
        block: &BlockDevice<T>,
        (lba, blocks): (u64, u64),
    ) -> Result<(), Error> {
        let block_bytes = u64::from(block.block_bytes());
        self.check(from, blocks * block_bytes)?;
        for piece in copies(blocks * block_bytes) {
            let count = (piece.end - piece.start) as u32;
            let source = SourceRange::memory(self.memory, from + piece.start, count);
            let buffer = Buffer::holding(self.transport.memory(), source.as_bytes())?;
            let copy = IoCommand::Copy(CopyBlocks {
                namespace: block.namespace(),
                destination: Lba::new(lba + piece.start / block_bytes),
                range_count: 1,
                from_memory: true,
                force_unit_access: false,
                limited_retry: false,
                data: buffer.pointer(SourceRange::BYTES as u32),
            });
            let entry = copy.encode(CommandId::new(0));
            let completion = self.transport.io(&entry).await?;
            Error::check("copy", completion.status())?;
        }
        Ok(())
    }

    /// Makes a set of ranges of the memory; gives its identifier.
    ///
    /// # Errors
    /// [`Error::Usage`] for more ranges, or longer ones, than a set has; what the drive reports: Invalid Memory Range Set, Overlapping
    /// Memory Ranges, Maximum Memory Range Sets Exceeded.
    pub async fn create_ranges(&self, ranges: &[Range<u64>]) -> Result<u16, Error> {
        let records = self.records(ranges)?;
        let buffer = Buffer::holding(self.transport.memory(), records.as_bytes())?;
        let action = RangeSetAction::Create {
            ranges: records.len() as u8,
        };
        let data = buffer.pointer(buffer.bytes() as u32);
        let completion = self.manage(action, data).await?;
        u16::try_from(completion.dw0.get()).map_err(|_| {
            Error::Protocol("an identifier of a range set of more than 16 bits".into())
        })
    }

    /// Removes a set of ranges.
    ///
    /// # Errors
    /// What the drive reports: Invalid Memory Range Set Identifier, Memory Range Set In Use.
    pub async fn delete_ranges(&self, set: u16) -> Result<(), Error> {
        let action = RangeSetAction::Delete { set };
        self.manage(action, DataPointer::NONE).await.map(|_| ())
    }

    /// The sets of ranges that there are, by identifier.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn range_sets(&self) -> Result<RangeSets, Error> {
        let mut bytes = LIST_BYTES;
        loop {
            let page = self
                .log(LogPageId::MEMORY_RANGE_SETS, (0, 0), bytes)
                .await?;
            if let Some(sets) = RangeSetRecord::decode_list(&page) {
                let range =
                    |range: &MemoryRange| range.start()..range.start() + u64::from(range.bytes());
                let told = |of: RangeSetRecord| (of.set, of.ranges.iter().map(range).collect());
                return Ok(sets.into_iter().map(told).collect());
            }
            bytes = bytes
                .checked_mul(2)
                .filter(|bytes| *bytes <= 1 << 30)
                .ok_or_else(|| Error::Protocol("a list of range sets without end".into()))?;
        }
    }

    async fn copy_here(
        &self,
        sources: &[SourceRange],
        format: SourceFormat,
        destination: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        let buffer = Buffer::holding(self.transport.memory(), sources.as_bytes())?;
        let copy = MemoryCopy {
            namespace: self.memory,
            bytes,
            destination,
            range_count: sources.len() as u16,
            format,
            data: buffer.pointer(buffer.bytes() as u32),
        };
        self.send("memory copy", MemoryCommand::Copy(copy)).await
    }

    async fn manage(
        &self,
        action: RangeSetAction,
        data: DataPointer,
    ) -> Result<CompletionEntry, Error> {
        let sets = AdminCommand::MemoryRangeSets(MemoryRangeSets {
            namespace: self.compute,
            action,
            data,
        });
        let completion = self
            .transport
            .admin(&sets.encode(CommandId::new(0)))
            .await?;
        Error::check("memory range set management", completion.status())?;
        Ok(completion)
    }

    /// Bytes of a log page of the compute namespace, with specific field and identifier; behind its end they are 0.
    async fn log(
        &self,
        page: LogPageId,
        (specific, specific_id): (u8, u16),
        bytes: u64,
    ) -> Result<Vec<u8>, Error> {
        let buffer = Buffer::holding(self.transport.memory(), &vec![0; bytes as usize])?;
        let get = AdminCommand::GetLogPage(GetLogPage {
            page,
            namespace: self.compute,
            specific,
            specific_id,
            command_set: COMPUTE_COMMAND_SET,
            retain_event: true,
            dwords: bytes / 4,
            offset: 0,
            data: buffer.pointer(bytes as u32),
        });
        let completion = self.transport.admin(&get.encode(CommandId::new(0))).await?;
        Error::check("get log page", completion.status())?;
        buffer.to_vec()
    }

    /// Ranges as commands name them.
    fn records(&self, ranges: &[Range<u64>]) -> Result<Vec<MemoryRange>, Error> {
        let (_, most) = self.limits();
        if ranges.is_empty() || ranges.len() > usize::from(most) {
            return Err(Error::Usage(format!(
                "{} ranges: a set has 1 to {most}",
                ranges.len()
            )));
        }
        let record = |range: &Range<u64>| {
            let bytes = range.end.checked_sub(range.start);
            let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
            let bytes = bytes.ok_or_else(|| {
                let Range { start, end } = range;
                Error::Usage(format!("bytes {start} to {end}: a range has 1 to 2^32 - 1"))
            })?;
            Ok(MemoryRange::new(self.memory, range.start, bytes))
        };
        ranges.iter().map(record).collect()
    }

    fn transfer(&self, start: u64, bytes: u64, buffer: &Buffer) -> MemoryTransfer {
        MemoryTransfer {
            namespace: self.memory,
            start,
            bytes: bytes as u32,
            data: buffer.pointer(bytes as u32),
        }
    }

    async fn send(&self, name: &'static str, command: MemoryCommand) -> Result<(), Error> {
        let entry = command.encode(CommandId::new(0));
        Error::check(name, self.transport.io(&entry).await?.status())
    }

    fn check(&self, start: u64, bytes: u64) -> Result<(), Error> {
        let granularity = self.granularity().max(1);
        if !start.is_multiple_of(granularity) || !bytes.is_multiple_of(granularity) {
            return Err(Error::Usage(format!(
                "{bytes} bytes from {start} on of the drive's memory: both are multiples of {granularity}"
            )));
        }
        match start.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(()),
            _ => Err(Error::Usage(format!(
                "{bytes} bytes from {start} on of the drive's memory: it has {} (local_memory.bytes)",
                self.bytes()
            ))),
        }
    }

    /// What one command after another transfers.
    fn pieces(&self, bytes: u64) -> impl Iterator<Item = Range<u64>> + use<T> {
        let step = self.transfer_bytes.max(4);
        (0..bytes.div_ceil(step)).map(move |piece| piece * step..(piece * step + step).min(bytes))
    }
}

/// What one copy after another moves.
fn copies(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let pieces = 0..bytes.div_ceil(COPY_BYTES);
    pieces.map(move |piece| piece * COPY_BYTES..(piece * COPY_BYTES + COPY_BYTES).min(bytes))
}
