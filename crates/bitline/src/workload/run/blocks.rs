//! Requests for blocks, carried out.

use std::cell::RefCell;
use std::rc::Rc;

use host::Buffer;
use host::block::BlockDevice;

use super::carrier::{Carrier, Common};
use crate::Error;
use crate::driver::Queue;
use crate::host_end::Host;
use crate::request_kind::RequestKind;
use crate::workload::format::device;
use crate::workload::request::Request;

/// The devices that requests of a workload go to.
pub(super) struct Blocks {
    devices: Vec<BlockDevice<Queue>>,
    /// All requests share one buffer, as long as the longest so far: nobody looks at
    /// the data, and its address takes no time.
    buffer: RefCell<Option<Rc<Buffer>>>,
}

impl Blocks {
    pub(super) async fn open(
        host: &Host,
        namespaces: &[u32],
        queue: usize,
    ) -> Result<Blocks, Error> {
        let mut devices = Vec::new();
        for namespace in namespaces {
            devices.push(device(host, *namespace, queue).await?);
        }
        Ok(Blocks {
            devices,
            buffer: RefCell::default(),
        })
    }

    /// The shared buffer, with room for `blocks`.
    #[inline]
    fn buffer(&self, device: &BlockDevice<Queue>, blocks: u32) -> Result<Rc<Buffer>, host::Error> {
        let bytes = u64::from(blocks) * u64::from(device.block_bytes());
        let shared = &mut *self.buffer.borrow_mut();
        match shared {
            Some(buffer) if buffer.bytes() >= bytes => Ok(buffer.clone()),
            _ => {
                // Whoever still transfers keeps the old one alive.
                let longer = Rc::new(device.buffer(blocks.next_power_of_two())?);
                Ok(shared.insert(longer).clone())
            }
        }
    }
}

impl Carrier for Blocks {
    #[inline]
    async fn carry_out(&self, common: &Common, request: &Request) -> Result<(), Error> {
        let device = &self.devices[request.device as usize];
        let (lba, blocks) = (request.lba, request.blocks);
        let outcome = match request.kind {
            RequestKind::Read => {
                let buffer = self.buffer(device, blocks)?;
                device.read_into(lba, blocks, &buffer).await
            }
            RequestKind::Write => {
                let buffer = self.buffer(device, blocks)?;
                device.write_from(lba, blocks, &buffer).await
            }
            RequestKind::Deallocate => device.deallocate_ranges(&[(lba, blocks)]).await,
            RequestKind::Flush => device.flush().await,
            RequestKind::Query => unreachable!("no flow or trace makes queries"),
        };
        let bytes = u64::from(blocks) * u64::from(device.block_bytes());
        let namespace = device.namespace().get();
        common.note(request, (namespace, bytes), outcome.map_err(Error::from))
    }
}
