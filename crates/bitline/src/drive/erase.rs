//! Erasing a namespace or the drive.

use std::rc::Rc;

use host::bits::BitsDevice;
use nvme::log::sanitize_state;
use nvme::{BROADCAST_NAMESPACE, NamespaceId};
use sim::Span;

use super::{Drive, InsideHost};
use crate::error::Error;
use crate::host_end::{Host, NAMESPACE};

impl Drive {
    /// Gives a namespace, or all of them (0xFFFF_FFFF), blocks of `block_bytes` and erases it.
    ///
    /// # Errors
    /// What the drive reports, such as Invalid Format.
    pub fn format(&mut self, namespace: u32, block_bytes: u32) -> Result<(), Error> {
        let namespace = NamespaceId::new(namespace);
        let (block, learned) = self.run(|host| async move {
            let format = async { host.admin().format(namespace, block_bytes).await };
            match namespace {
                NAMESPACE | BROADCAST_NAMESPACE => host.mount.erased_by(format).await?,
                _ => format.await?,
            }
            let block = host.block_on_queue(0).await?;
            let learned = host.informant.learn(&block).await?;
            Ok::<_, host::Error>((block, learned))
        })??;
        if let Some(powered) = &mut self.powered {
            let host = &mut powered.host;
            let outlooks = host.informant.outlooks(&self.config, &learned);
            host.outlooks = Rc::new(outlooks);
            host.learned = learned;
            host.bits = BitsDevice::new(block.clone());
            host.block = block;
        }
        self.sync()
    }

    /// Erases everything on the drive, beyond recovery, and waits until that is done.
    ///
    /// # Errors
    /// What the drive reports; [`Error::Host`] if the operation failed.
    pub fn sanitize(&mut self) -> Result<(), Error> {
        self.run(|host| async move { host.mount.erased_by(sanitize(&host)).await })??;
        // An image gives up what was erased when it is durable that it was.
        self.sync()
    }
}

/// Sanitizes, and looks every millisecond whether that is over.
async fn sanitize(host: &Host) -> Result<(), host::Error> {
    let admin = host.admin();
    admin.sanitize().await?;
    loop {
        let status = admin.sanitize_status().await?;
        if !status.is_in_progress() {
            return match status.state.get() & 7 {
                sanitize_state::COMPLETED => Ok(()),
                _ => host::Error::check("sanitize", nvme::Status::SANITIZE_FAILED),
            };
        }
        host.sim().sleep(Span::from_us(1000)).await;
    }
}
