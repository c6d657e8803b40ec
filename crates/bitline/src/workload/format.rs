//! Namespaces, as workloads find them: how large they are, and their block devices.

use host::block::BlockDevice;
use nvme::NamespaceId;

use super::range::NamespaceBlocks;
use crate::drive::InsideHost;
use crate::driver::Queue;
use crate::host_end::Host;
use crate::{Drive, Error};

/// The format and size of a namespace.
pub(super) struct Format {
    pub(super) size: NamespaceBlocks,
    pub(super) block_bytes: u32,
}

impl Format {
    /// That of namespace `number`.
    ///
    /// # Errors
    /// If there is no such namespace; [`Error::NoPower`].
    pub(super) fn of(drive: &mut Drive, number: u32) -> Result<Format, Error> {
        let device = drive.run(move |host| async move { device(&host, number, 0).await })?;
        let (device, blocks) = match device {
            Ok(device) => (device.block_bytes(), device.blocks()),
            Err(error) => return Err(error.into()),
        };
        // Vectors are in the first namespace.
        let data = match number {
            1 => drive.data_blocks()?,
            _ => blocks,
        };
        Ok(Format {
            size: NamespaceBlocks { blocks, data },
            block_bytes: device,
        })
    }
}

/// The device of a namespace on a queue pair.
pub(super) async fn device(
    host: &Host,
    namespace: u32,
    queue: usize,
) -> Result<BlockDevice<Queue>, host::Error> {
    BlockDevice::open(host.queue(queue)?, NamespaceId::new(namespace)).await
}
