//! Whole buffers, with as many commands as the drive takes for them.

use nvme::command::ReadWrite;
use nvme::{CommandId, IoCommand};

use crate::block::{BlockDevice, commands};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;

impl<T: Transport> BlockDevice<T> {
    /// As [`BlockDevice::read_into`], with as many commands as that many blocks take.
    ///
    /// # Errors
    /// As [`BlockDevice::read_into`].
    pub async fn read_all_into(&self, lba: u64, blocks: u32, buffer: &Buffer) -> Result<(), Error> {
        if blocks <= self.blocks_per_command() {
            return self.read_into(lba, blocks, buffer).await;
        }
        self.all(lba, blocks, buffer, "read", IoCommand::Read).await
    }

    /// As [`BlockDevice::write_from`], with as many commands as that many blocks take.
    ///
    /// # Errors
    /// As [`BlockDevice::write_from`].
    pub async fn write_all_from(
        &self,
        lba: u64,
        blocks: u32,
        buffer: &Buffer,
    ) -> Result<(), Error> {
        if blocks <= self.blocks_per_command() {
            return self.write_from(lba, blocks, buffer).await;
        }
        self.all(lba, blocks, buffer, "write", IoCommand::Write)
            .await
    }

    async fn all(
        &self,
        lba: u64,
        blocks: u32,
        buffer: &Buffer,
        name: &'static str,
        command: impl Fn(ReadWrite) -> IoCommand,
    ) -> Result<(), Error> {
        for (first, count) in commands(lba, blocks.into(), self.blocks_per_command()) {
            let offset = (first - lba) * u64::from(self.block_bytes());
            let transfer = self.transfer(first, count, buffer, offset)?;
            let entry = command(transfer).encode(CommandId::new(0));
            Error::check(name, self.transport().io(&entry).await?.status())?;
        }
        Ok(())
    }
}
