//! The parts that a drive and its host are made of, for who looks inside.

use std::cell::RefCell;
use std::rc::Rc;

use device::Device;
use device::ftl::{History, Lpn, Preconditioned};
use host::Buffer;
use host::admin::Admin;
use host::bits::BitsDevice;
use host::block::BlockDevice;
use media::nand::Nand;
use nvme::{CommandSet, NamespaceId};

use super::{Drive, Durable};
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Host, NAMESPACE, Plain};

/// What is inside of a [`Drive`]. Not stable.
pub trait InsideDrive {
    /// The powered firmware.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    fn device(&self) -> Result<&Device, Error>;

    /// What makes durable what it has acknowledged.
    ///
    /// # Errors
    /// [`Error::NoPower`].
    fn durable(&self) -> Result<Durable, Error>;

    /// The flash packages, which outlive power cuts.
    ///
    /// # Panics
    /// Of a drive that is elsewhere.
    fn nand(&self) -> &Rc<RefCell<Nand>>;

    /// Sets up a drive on which `pages` hold data; each with a bit for each sector of 512 bytes
    /// that was written.
    ///
    /// # Errors
    /// As [`Drive::precondition`].
    fn occupy(&mut self, pages: &[(Lpn, u64)], history: History) -> Result<Preconditioned, Error>;

    /// Places `pages` behind all that the drive holds, where they hold nothing yet; bits as for
    /// [`InsideDrive::occupy`]. Gives how many were placed.
    ///
    /// # Errors
    /// As [`Drive::precondition`].
    fn append(&mut self, pages: &[(Lpn, u64)]) -> Result<u64, Error>;
}

impl InsideDrive for Drive {
    fn device(&self) -> Result<&Device, Error> {
        self.device_for("what is inside of it")
    }

    fn durable(&self) -> Result<Durable, Error> {
        let (host, has_image) = (self.host()?, self.image.is_some());
        let Some(nand) = &self.nand else {
            return Ok(Durable::far(&host));
        };
        let device = self.device_for("what is inside of it")?;
        Ok(Durable::new(&host, device, nand, has_image))
    }

    fn nand(&self) -> &Rc<RefCell<Nand>> {
        self.nand
            .as_ref()
            .expect("a drive in this process, as documented")
    }

    fn occupy(&mut self, pages: &[(Lpn, u64)], history: History) -> Result<Preconditioned, Error> {
        let powered = self.powered()?;
        let mut random = powered.host.sim().random("precondition");
        let device = powered.end.device("to be set up")?;
        Ok(device.ftl.occupy(pages, history, &mut random)?)
    }

    fn append(&mut self, pages: &[(Lpn, u64)]) -> Result<u64, Error> {
        Ok(self.device_for("to be set up")?.ftl.append(pages)?)
    }
}

/// What is beneath a [`Host`]: the host library, which talks to the drive in commands. Not stable.
#[expect(
    async_fn_in_trait,
    reason = "a drive lives on one thread, so nobody asks whether a future can be sent"
)]
pub trait InsideHost {
    /// The first namespace as a block device, on the first queue pair. What is written by it is not held against the
    /// drive's volume.
    fn block(&self) -> &BlockDevice<Queue>;

    /// The computing interface beneath groups and queries, on the first queue pair: placement handles, and expressions over
    /// logical blocks.
    fn bits(&self) -> &BitsDevice<Queue>;

    /// Writes the beginning of `buffer` to `blocks` blocks from `lba` on, as [`Host::write`] does: what the drive's volume needs
    /// is refused.
    ///
    /// # Errors
    /// As [`Host::write`].
    async fn write_from(&self, lba: u64, blocks: u32, buffer: &Buffer) -> Result<(), Error>;

    /// The drive's administration.
    fn admin(&self) -> Admin<Queue>;

    /// Queue pair `pair`, counted from zero, for raw commands.
    ///
    /// # Errors
    /// If there is no such pair.
    fn queue(&self, pair: usize) -> Result<Queue, host::Error>;

    /// The drive's namespaces of other command sets than NVM, and which these are.
    fn namespaces_of_other_sets(&self) -> Vec<(NamespaceId, CommandSet)>;

    /// The first namespace as a block device, on queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair.
    async fn block_on_queue(&self, pair: usize) -> Result<BlockDevice<Queue>, host::Error> {
        self.namespace(pair, NAMESPACE).await
    }

    /// A namespace as a block device, on queue pair `pair`.
    ///
    /// # Errors
    /// If there is no such pair or namespace.
    async fn namespace(
        &self,
        pair: usize,
        namespace: NamespaceId,
    ) -> Result<BlockDevice<Queue>, host::Error>;
}

impl InsideHost for Host {
    fn block(&self) -> &BlockDevice<Queue> {
        &self.block
    }

    fn bits(&self) -> &BitsDevice<Queue> {
        &self.bits
    }

    async fn write_from(&self, lba: u64, blocks: u32, buffer: &Buffer) -> Result<(), Error> {
        let written = lba..lba.saturating_add(blocks.into());
        let write = async || self.block.write_all_from(lba, blocks, buffer).await;
        self.plainly(written, Plain::Write, write).await
    }

    fn admin(&self) -> Admin<Queue> {
        Admin::new(self.block.transport().clone())
    }

    fn queue(&self, pair: usize) -> Result<Queue, host::Error> {
        Queue::new(self.driver.clone(), pair)
    }

    fn namespaces_of_other_sets(&self) -> Vec<(NamespaceId, CommandSet)> {
        self.driver.other_sets()
    }

    async fn namespace(
        &self,
        pair: usize,
        namespace: NamespaceId,
    ) -> Result<BlockDevice<Queue>, host::Error> {
        self.namespace_on(pair, namespace).await
    }
}
