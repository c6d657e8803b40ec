//! Blocks of a drive, one call at a time.

use std::ops::Range;

use super::{Drive, InsideDrive};
use crate::error::Error;
use crate::host_end::{Host, Plain};

impl Drive {
    /// Bytes of a logical block.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn block_bytes(&self) -> Result<u32, Error> {
        Ok(self.powered()?.host.block.block_bytes())
    }

    /// Logical blocks.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn blocks(&self) -> Result<u64, Error> {
        Ok(self.powered()?.host.block.blocks())
    }

    /// Logical blocks that are for ordinary data: those before the area where vectors are.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    pub fn data_blocks(&self) -> Result<u64, Error> {
        Ok(self.powered()?.host.learned.area.start)
    }

    /// Reads `blocks` logical blocks from `lba` on.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn read(&mut self, lba: u64, blocks: u64) -> Result<Vec<u8>, Error> {
        self.run(|host| async move { host.read(lba, blocks).await })?
    }

    /// Writes whole logical blocks from `lba` on.
    ///
    /// # Errors
    /// What the drive reports, a range outside of the namespace, or data that is
    /// no whole number of blocks; [`Error::InVolume`] for what the drive's volume needs. Blocks of an object may be
    /// written: it has that data then.
    pub fn write(&mut self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let data = data.to_vec();
        self.run(|host| async move { host.write(lba, &data).await })?
    }

    /// Makes everything written so far durable, in the image file too.
    ///
    /// # Errors
    /// What the drive reports, or if the image file cannot be written, such as on a full disk. Nothing is lost
    /// then: the drive keeps it in memory, and flushing again tries again.
    pub fn flush(&mut self) -> Result<(), Error> {
        let durable = self.durable()?;
        self.run(|_| async move { durable.flush().await })?
    }

    /// Deallocates logical blocks: those that fill whole pages then read as zeroes.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn deallocate(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.run(|host| async move { host.deallocate(lba, blocks).await })?
    }

    /// Makes logical blocks read as zeroes.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn write_zeroes(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.run(|host| async move { host.write_zeroes(lba, blocks).await })?
    }

    /// Compares whole logical blocks from `lba` on with `data`, inside the drive.
    ///
    /// # Errors
    /// Compare Failure if they differ; as [`Drive::write`].
    pub fn compare(&mut self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let data = data.to_vec();
        self.run(|host| async move { host.compare(lba, &data).await })?
    }

    /// Has the drive read logical blocks without sending them.
    ///
    /// # Errors
    /// Unrecovered Read Error if one of them is lost, or a range outside of the namespace.
    pub fn verify(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.run(|host| async move { host.verify(lba, blocks).await })?
    }

    /// Makes reads of logical blocks fail until they are written.
    ///
    /// # Errors
    /// What the drive reports, or a range outside of the namespace.
    pub fn write_uncorrectable(&mut self, lba: u64, blocks: u64) -> Result<(), Error> {
        self.run(|host| async move { host.write_uncorrectable(lba, blocks).await })?
    }

    /// Copies ranges of logical blocks, each a first block and a number of blocks, one after
    /// another to `destination` on, inside the drive.
    ///
    /// # Errors
    /// What the drive reports, such as Command Size Limit Exceeded.
    pub fn copy(&mut self, sources: &[(u64, u32)], destination: u64) -> Result<(), Error> {
        let sources = sources.to_vec();
        self.run(|host| async move { host.copy(&sources, destination).await })?
    }
}

impl Host {
    /// As [`Drive::block_bytes`], in bytes.
    pub fn block_bytes(&self) -> u32 {
        self.block.block_bytes()
    }

    /// As [`Drive::blocks`].
    pub fn blocks(&self) -> u64 {
        self.block.blocks()
    }

    /// As [`Drive::read`].
    ///
    /// # Errors
    /// As [`Drive::read`].
    pub async fn read(&self, lba: u64, blocks: u64) -> Result<Vec<u8>, Error> {
        Ok(self.block.read(lba, blocks).await?)
    }

    /// As [`Drive::write`].
    ///
    /// # Errors
    /// As [`Drive::write`].
    pub async fn write(&self, lba: u64, data: &[u8]) -> Result<(), Error> {
        let blocks = data.len() as u64 / u64::from(self.block.block_bytes().max(1));
        let write = async || self.block.write(lba, data).await;
        self.plainly(range(lba, blocks), Plain::Write, write).await
    }

    /// As [`Drive::deallocate`].
    ///
    /// # Errors
    /// As [`Drive::deallocate`].
    pub async fn deallocate(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        let give_back = async || self.block.deallocate(lba, blocks).await;
        self.plainly(range(lba, blocks), Plain::GiveBack, give_back)
            .await
    }

    /// As [`Drive::write_zeroes`].
    ///
    /// # Errors
    /// As [`Drive::write_zeroes`].
    pub async fn write_zeroes(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        let write = async || self.block.write_zeroes(lba, blocks).await;
        self.plainly(range(lba, blocks), Plain::Write, write).await
    }

    /// As [`Drive::compare`].
    ///
    /// # Errors
    /// As [`Drive::compare`].
    pub async fn compare(&self, lba: u64, data: &[u8]) -> Result<(), Error> {
        Ok(self.block.compare(lba, data).await?)
    }

    /// As [`Drive::verify`].
    ///
    /// # Errors
    /// As [`Drive::verify`].
    pub async fn verify(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        Ok(self.block.verify(lba, blocks).await?)
    }

    /// As [`Drive::write_uncorrectable`].
    ///
    /// # Errors
    /// As [`Drive::write_uncorrectable`].
    pub async fn write_uncorrectable(&self, lba: u64, blocks: u64) -> Result<(), Error> {
        let mark = async || self.block.write_uncorrectable(lba, blocks).await;
        self.plainly(range(lba, blocks), Plain::Write, mark).await
    }

    /// As [`Drive::copy`].
    ///
    /// # Errors
    /// As [`Drive::copy`].
    pub async fn copy(&self, sources: &[(u64, u32)], destination: u64) -> Result<(), Error> {
        let blocks = sources.iter().map(|(_, blocks)| u64::from(*blocks)).sum();
        let copy = async || self.block.copy(sources, destination).await;
        self.plainly(range(destination, blocks), Plain::Write, copy)
            .await
    }
}

fn range(first: u64, blocks: u64) -> Range<u64> {
    first..first.saturating_add(blocks)
}
