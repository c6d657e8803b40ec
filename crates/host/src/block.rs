//! The block interface: logical blocks are read, written and deallocated.

use nvme::command::{
    BlockCommand, BlockRange, CopyBlocks, CopyRange, DatasetManagement, DatasetRange, ReadWrite,
    WriteZeroes,
};
use nvme::identify::{Cns, IdentifyNamespace};
use nvme::{CommandId, IoCommand, Lba, Loan, NamespaceId};
use zerocopy::FromBytes;

use crate::buffer::{Buffer, LentBuffer};
use crate::error::Error;
use crate::identify::{identify, identify_controller};
use crate::transport::{Prioritized, Transport};

/// Bytes that are transferred with one buffer, about.
const PIECE_BYTES: u64 = 4 << 20;

/// Most logical blocks of one command (NLB has 16 bits).
pub const BLOCKS_PER_COMMAND_MAX: u32 = 0x1_0000;

/// A namespace of a drive, as a block device.
#[derive(Clone)]
pub struct BlockDevice<T> {
    transport: T,
    namespace: NamespaceId,
    block_bytes: u32,
    blocks: u64,
    /// Blocks that the drive writes at once.
    preferred_write_blocks: u32,
    /// Blocks of a logical page.
    unit_blocks: u32,
    /// Most blocks of a command that transfers them.
    blocks_per_command: u32,
    keeps_data: bool,
}

impl<T: Transport> BlockDevice<T> {
    /// Asks the drive for the namespace's size and format.
    ///
    /// # Errors
    /// If there is no such namespace, or the drive describes it wrongly.
    pub async fn open(transport: T, namespace: NamespaceId) -> Result<BlockDevice<T>, Error> {
        let page = identify(&transport, Cns::Namespace, namespace).await?;
        let page = IdentifyNamespace::read_from_bytes(&page)
            .map_err(|_| Error::Protocol("an identify page of another size".into()))?;
        let block_bytes = page
            .block_bytes()
            .and_then(|bytes| u32::try_from(bytes).ok())
            .ok_or_else(|| Error::Protocol("a namespace without a format".into()))?;
        let controller = identify_controller(&transport).await?;
        let most = controller
            .max_transfer_bytes()
            .map_or(u64::MAX, |bytes| bytes / u64::from(block_bytes));
        Ok(BlockDevice {
            transport,
            namespace,
            block_bytes,
            blocks: page.size.get(),
            preferred_write_blocks: page.preferred_write_blocks(),
            unit_blocks: page.unit_blocks(),
            blocks_per_command: most.min(u64::from(BLOCKS_PER_COMMAND_MAX)) as u32,
            keeps_data: true,
        })
    }

    /// The same of a drive that keeps data, or only the time that it takes: such a drive transfers nothing, so that a
    /// buffer still has what was in that memory before. [`BlockDevice::read`] then gives zeroes.
    #[must_use]
    pub fn keeping_data(self, keeps_data: bool) -> BlockDevice<T> {
        BlockDevice { keeps_data, ..self }
    }

    /// Whether the drive keeps data.
    pub fn keeps_data(&self) -> bool {
        self.keeps_data
    }

    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Logical blocks of the namespace.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Most blocks of a command that transfers them.
    pub fn blocks_per_command(&self) -> u32 {
        self.blocks_per_command
    }

    /// What the drive prefers to write and to deallocate at once, and at a multiple of which, in blocks (NPWG): a flash
    /// page. Rows of vectors come in such chunks.
    pub fn preferred_write_blocks(&self) -> u32 {
        self.preferred_write_blocks
    }

    /// What the drive knows the place of, a logical page, in blocks (NPDG): a flash page or a part of one.
    pub fn unit_blocks(&self) -> u32 {
        self.unit_blocks
    }

    /// Most bytes that one command transfers.
    pub fn bytes_per_command(&self) -> u64 {
        u64::from(self.blocks_per_command) * u64::from(self.block_bytes)
    }

    /// The same, whose commands are given a priority; of 0, as they are.
    #[must_use]
    pub fn with_priority(self, priority: u32) -> BlockDevice<Prioritized<T>> {
        BlockDevice {
            transport: Prioritized::new(self.transport, priority),
            namespace: self.namespace,
            block_bytes: self.block_bytes,
            blocks: self.blocks,
            preferred_write_blocks: self.preferred_write_blocks,
            unit_blocks: self.unit_blocks,
            blocks_per_command: self.blocks_per_command,
            keeps_data: self.keeps_data,
        }
    }

    /// The way to the drive.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The namespace.
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// A buffer for `blocks` logical blocks.
    ///
    /// # Errors
    /// If host memory has no room for it.
    pub fn buffer(&self, blocks: u32) -> Result<Buffer, Error> {
        Buffer::new(
            self.transport.memory(),
            u64::from(blocks) * u64::from(self.block_bytes),
        )
    }

    /// Lends memory to commands.
    pub fn lend<L: Into<Loan> + TryFrom<Loan>>(&self, loan: L) -> LentBuffer<L> {
        LentBuffer::new(self.transport.memory(), loan)
    }

    /// Reads `blocks` blocks from `lba` on into the beginning of `buffer`: one command. A drive that keeps no data
    /// leaves in it what is there.
    ///
    /// # Errors
    /// What the drive reports, such as LBA Out of Range or Unrecovered Read Error.
    #[inline]
    pub async fn read_into(&self, lba: u64, blocks: u32, buffer: &Buffer) -> Result<(), Error> {
        // Not by `send`: each future around a future costs at every poll, and these two are most of all requests.
        let command = IoCommand::Read(self.transfer(lba, blocks, buffer, 0)?);
        let entry = command.encode(CommandId::new(0));
        Error::check("read", self.transport.io(&entry).await?.status())
    }

    /// Writes the beginning of `buffer` to `blocks` blocks from `lba` on: one command.
    ///
    /// # Errors
    /// What the drive reports, such as LBA Out of Range or Capacity Exceeded.
    #[inline]
    pub async fn write_from(&self, lba: u64, blocks: u32, buffer: &Buffer) -> Result<(), Error> {
        let command = IoCommand::Write(self.transfer(lba, blocks, buffer, 0)?);
        let entry = command.encode(CommandId::new(0));
        Error::check("write", self.transport.io(&entry).await?.status())
    }

    /// Reads any number of blocks, with as many commands as that takes.
    ///
    /// # Errors
    /// As [`BlockDevice::read_into`].
    pub async fn read(&self, lba: u64, blocks: u64) -> Result<Vec<u8>, Error> {
        self.check_range(lba, blocks)?;
        let block_bytes = u64::from(self.block_bytes);
        let bytes = blocks * block_bytes;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes as usize)
            .map_err(|_| Error::Usage(format!("{bytes} bytes at once do not fit into memory")))?;
        for (start, count) in self.pieces(lba, blocks) {
            let buffer = Buffer::new(self.transport.memory(), count * block_bytes)?;
            for (first, count) in self.commands(start, count) {
                let offset = (first - start) * block_bytes;
                let read = self.transfer(first, count, &buffer, offset)?;
                self.send("read", IoCommand::Read(read)).await?;
            }
            let before = data.len();
            data.resize(before + (count * block_bytes) as usize, 0);
            if self.keeps_data {
                buffer.copy_to(&mut data[before..])?;
            }
        }
        Ok(data)
    }

    /// Writes whole blocks, with as many commands as that takes.
    ///
    /// # Errors
    /// As [`BlockDevice::write_from`]; also if `data` is no whole number of blocks.
    pub async fn write(&self, lba: u64, data: &[u8]) -> Result<(), Error> {
        self.write_all(lba, data, false).await
    }

    /// As [`BlockDevice::write`], but past any volatile cache (Force Unit Access): when this
    /// returns, no power cut takes the data back.
    ///
    /// # Errors
    /// As [`BlockDevice::write`].
    pub async fn write_durably(&self, lba: u64, data: &[u8]) -> Result<(), Error> {
        self.write_all(lba, data, true).await
    }

    async fn write_all(&self, lba: u64, data: &[u8], force_unit_access: bool) -> Result<(), Error> {
        let blocks = self.whole_blocks(lba, data)?;
        let block_bytes = u64::from(self.block_bytes);
        for (start, count) in self.pieces(lba, blocks) {
            let from = ((start - lba) * block_bytes) as usize;
            let part = &data[from..from + (count * block_bytes) as usize];
            let buffer = Buffer::holding(self.transport.memory(), part)?;
            for (first, count) in self.commands(start, count) {
                let offset = (first - start) * block_bytes;
                let write = ReadWrite {
                    force_unit_access,
                    ..self.transfer(first, count, &buffer, offset)?
                };
                self.send("write", IoCommand::Write(write)).await?;
            }
        }
        Ok(())
    }

    /// Compares blocks with `data`, inside the drive.
    ///
    /// # Errors
    /// Compare Failure if they differ; as [`BlockDevice::write`].
    pub async fn compare(&self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let blocks = self.whole_blocks(lba, data)?;
        let buffer = Buffer::holding(self.transport.memory(), data)?;
        for (first, count) in self.commands(lba, blocks) {
            let offset = (first - lba) * u64::from(self.block_bytes);
            let compare = self.transfer(first, count, &buffer, offset)?;
            self.send("compare", IoCommand::Compare(compare)).await?;
        }
        Ok(())
    }

    /// Has the drive read blocks without sending them.
    ///
    /// # Errors
    /// Unrecovered Read Error if one of them is lost.
    pub async fn verify(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.check_range(lba, blocks)?;
        for (first, count) in commands(lba, blocks, BLOCKS_PER_COMMAND_MAX) {
            let verify = self.block_command(first, count);
            self.send("verify", IoCommand::Verify(verify)).await?;
        }
        Ok(())
    }

    /// Makes reads of blocks fail until they are written.
    ///
    /// # Errors
    /// What the drive reports; Capacity Exceeded if it can mark no more.
    pub async fn write_uncorrectable(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.check_range(lba, blocks)?;
        for (first, count) in commands(lba, blocks, BLOCKS_PER_COMMAND_MAX) {
            let mark = self.block_command(first, count);
            self.send("write uncorrectable", IoCommand::WriteUncorrectable(mark))
                .await?;
        }
        Ok(())
    }

    /// Copies ranges, each a first block and a number of blocks, one after another to
    /// `destination` on, inside the drive: one command.
    ///
    /// # Errors
    /// No or too many ranges; what the drive reports, such as Command Size Limit Exceeded.
    pub async fn copy(&self, sources: &[(u64, u32)], destination: u64) -> Result<(), Error> {
        let sized = |(_, blocks): &(u64, u32)| (1..=BLOCKS_PER_COMMAND_MAX).contains(blocks);
        if !(1..=256).contains(&sources.len()) || !sources.iter().all(sized) {
            return Err(Error::Usage(format!(
                "{} ranges to copy: a command copies 1 to 256, each of 1 to {BLOCKS_PER_COMMAND_MAX} blocks",
                sources.len()
            )));
        }
        let list: Vec<u8> = sources
            .iter()
            .flat_map(|(lba, blocks)| {
                let range = CopyRange::new(Lba::new(*lba), *blocks);
                zerocopy::IntoBytes::as_bytes(&range).to_vec()
            })
            .collect();
        let buffer = Buffer::holding(self.transport.memory(), &list)?;
        let copy = CopyBlocks {
            from_memory: false,
            namespace: self.namespace,
            destination: Lba::new(destination),
            range_count: sources.len() as u16,
            force_unit_access: false,
            limited_retry: false,
            data: buffer.pointer(list.len() as u32),
        };
        self.send("copy", IoCommand::Copy(copy)).await
    }

    fn block_command(&self, lba: u64, blocks: u32) -> BlockCommand {
        BlockCommand {
            namespace: self.namespace,
            blocks: BlockRange::new(Lba::new(lba), blocks),
        }
    }

    /// How many blocks `data` is.
    ///
    /// # Errors
    /// If that is no whole number, or they do not lie in the namespace from `lba` on.
    fn whole_blocks(&self, lba: u64, data: &[u8]) -> Result<u64, Error> {
        let block_bytes = self.block_bytes as usize;
        if !data.len().is_multiple_of(block_bytes) {
            return Err(Error::Usage(format!(
                "{} bytes are no whole number of logical blocks of {block_bytes} bytes",
                data.len()
            )));
        }
        let blocks = (data.len() / block_bytes) as u64;
        self.check_range(lba, blocks)?;
        Ok(blocks)
    }

    /// Divides a range into pieces of whole commands: first block and number of blocks of each. Each has a
    /// buffer of its own, so that a long transfer needs little memory beside its data.
    fn pieces(&self, lba: u64, blocks: u64) -> impl Iterator<Item = (u64, u64)> + use<T> {
        let command = u64::from(self.blocks_per_command);
        let commands = PIECE_BYTES / (command * u64::from(self.block_bytes));
        let piece = command * commands.max(1);
        (0..blocks.div_ceil(piece)).map(move |number| {
            let done = number * piece;
            (lba + done, (blocks - done).min(piece))
        })
    }

    /// Divides a range into commands that the drive can transfer.
    fn commands(&self, lba: u64, blocks: u64) -> impl Iterator<Item = (u64, u32)> + use<T> {
        commands(lba, blocks, self.blocks_per_command)
    }

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn flush(&self) -> Result<(), Error> {
        self.send(
            "flush",
            IoCommand::Flush {
                namespace: self.namespace,
            },
        )
        .await
    }

    /// Makes blocks read as zeroes.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn write_zeroes(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.check_range(lba, blocks)?;
        for (first, count) in commands(lba, blocks, BLOCKS_PER_COMMAND_MAX) {
            let zeroes = WriteZeroes {
                namespace: self.namespace,
                blocks: BlockRange::new(Lba::new(first), count),
                deallocate: true,
                force_unit_access: false,
            };
            self.send("write zeroes", IoCommand::WriteZeroes(zeroes))
                .await?;
        }
        Ok(())
    }

    /// Tells the drive that blocks are not needed any more. Those that fill whole
    /// pages of the drive then read as zeroes; others may keep their content.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn deallocate(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.check_range(lba, blocks)?;
        let ranges: Vec<(u64, u32)> = (0..blocks.div_ceil(u64::from(u32::MAX)))
            .map(|part| part * u64::from(u32::MAX))
            .map(|offset| {
                (
                    lba + offset,
                    (blocks - offset).min(u64::from(u32::MAX)) as u32,
                )
            })
            .collect();
        self.deallocate_ranges(&ranges).await
    }

    /// Deallocates up to 256 ranges, each a first block and a number of blocks,
    /// with one command.
    ///
    /// # Errors
    /// What the drive reports; also if the ranges are none, or more than 256.
    pub async fn deallocate_ranges(&self, ranges: &[(u64, u32)]) -> Result<(), Error> {
        if ranges.is_empty() || ranges.len() > nvme::command::MAX_DATASET_RANGES {
            return Err(Error::Usage(format!(
                "{} ranges: a command deallocates 1 to {}",
                ranges.len(),
                nvme::command::MAX_DATASET_RANGES
            )));
        }
        let list: Vec<u8> = ranges
            .iter()
            .flat_map(|(lba, count)| {
                let range = DatasetRange::new(Lba::new(*lba), *count);
                zerocopy::IntoBytes::as_bytes(&range).to_vec()
            })
            .collect();
        let buffer = Buffer::holding(self.transport.memory(), &list)?;
        let dataset = DatasetManagement {
            namespace: self.namespace,
            range_count: ranges.len() as u16,
            deallocate: true,
            integral_read: false,
            integral_write: false,
            data: buffer.pointer(list.len() as u32),
        };
        self.send("deallocate", IoCommand::DatasetManagement(dataset))
            .await
    }

    #[inline]
    pub(crate) fn transfer(
        &self,
        lba: u64,
        blocks: u32,
        buffer: &Buffer,
        offset: u64,
    ) -> Result<ReadWrite, Error> {
        let bytes = u64::from(blocks) * u64::from(self.block_bytes);
        if blocks == 0 || blocks > BLOCKS_PER_COMMAND_MAX || offset + bytes > buffer.bytes() {
            return Err(Error::Usage(format!(
                "a command of {blocks} blocks: it must be 1 to {BLOCKS_PER_COMMAND_MAX} and fit the buffer of {} bytes",
                buffer.bytes()
            )));
        }
        Ok(ReadWrite {
            namespace: self.namespace,
            blocks: BlockRange::new(Lba::new(lba), blocks),
            force_unit_access: false,
            limited_retry: false,
            data: buffer.pointer_at(offset, bytes as u32),
        })
    }

    fn check_range(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        if blocks == 0 {
            return Err(Error::Usage(format!(
                "a range of no blocks at {lba}: it must be at least one block, and none outside of the namespace, which has {} blocks",
                self.blocks
            )));
        }
        if lba
            .checked_add(blocks)
            .is_some_and(|end| end <= self.blocks)
        {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "blocks {lba} to {} are outside of the namespace, which has {} blocks",
            lba.saturating_add(blocks),
            self.blocks
        )))
    }

    #[inline]
    async fn send(&self, name: &'static str, command: IoCommand) -> Result<(), Error> {
        let completion = self
            .transport
            .io(&command.encode(CommandId::new(0)))
            .await?;
        Error::check(name, completion.status())
    }
}

/// Divides a range into commands of at most `most` blocks: first block and number of blocks of each.
pub(crate) fn commands(lba: u64, blocks: u64, most: u32) -> impl Iterator<Item = (u64, u32)> {
    let most = u64::from(most);
    (0..blocks.div_ceil(most)).map(move |number| {
        let done = number * most;
        (lba + done, (blocks - done).min(most) as u32)
    })
}
