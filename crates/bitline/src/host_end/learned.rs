//! What a host learns of a drive that no command of the standard tells: by a call where both are in one process, by log pages
//! of Bitline's own otherwise.

use std::ops::Range;
use std::rc::Rc;

use device::Device;
use device::bits::Bits;
use device::frontend::Controller;
use device::ftl::Lpn;
use host::StatusError;
use host::admin::Admin;
use host::block::BlockDevice;
use nvme::log::DriveLog;
use sim::Ledger;

use super::NAMESPACE;
use crate::config::{Config, HostConfig};
use crate::driver::Queue;
use crate::logical_pages::LogicalPages;
use crate::platforms::Outlooks;

/// Who tells.
#[derive(Clone)]
pub(crate) struct Informant {
    /// The controller, if the drive is in this process.
    controller: Option<Rc<Controller>>,
    /// What estimates evaluations inside the drive, likewise.
    bits: Option<Rc<Bits>>,
    /// I/O queues that there may be, and entries of one, if fewer than the configuration says.
    limits: (u16, u32),
    /// Where the host books what it spends.
    pub(super) ledger: Rc<Ledger>,
}

/// What was learned; another format of the namespace changes it.
#[derive(Clone)]
pub(crate) struct Learned {
    /// The logical pages of the first namespace.
    pub(crate) pages: LogicalPages,
    /// Its logical blocks that are for vectors.
    pub(crate) area: Range<u64>,
    /// Dies of the drive.
    pub(crate) dies: u32,
}

impl Informant {
    /// A device in this process.
    pub(crate) fn beside(device: &Device) -> Informant {
        Informant {
            controller: Some(device.controller.clone()),
            bits: Some(device.bits.clone()),
            limits: (u16::MAX, u32::MAX),
            ledger: device.ledger.clone(),
        }
    }

    /// A drive elsewhere, which gives so many I/O queues of so many entries. What the host spends is on an account of its own.
    pub(crate) fn far(limits: (u16, u32)) -> Informant {
        Informant {
            controller: None,
            bits: None,
            limits,
            ledger: Rc::default(),
        }
    }

    /// I/O queues that a host makes, and entries of each.
    pub(super) fn queues(&self, config: &HostConfig) -> (u16, u32) {
        let (queues, entries) = self.limits;
        let queues = queues.max(1).min(config.queue_pairs);
        (queues, entries.max(2).min(config.queue_entries))
    }

    /// Bytes that one command moves at most, if something between host and drive bounds them; blocks are on the way.
    pub(crate) fn transfer_max(&self, block: &BlockDevice<Queue>) -> u64 {
        match self.controller {
            Some(_) => u64::MAX,
            None => block.bytes_per_command(),
        }
    }

    /// What is known before an evaluation of what it will take.
    pub(crate) fn outlooks(&self, config: &Config, learned: &Learned) -> Outlooks {
        Outlooks::of(self.bits.clone(), config, learned.pages.clone())
    }

    /// Learns what there is.
    pub(crate) async fn learn(&self, block: &BlockDevice<Queue>) -> Result<Learned, host::Error> {
        let log = match &self.controller {
            Some(controller) => match controller.drive_log(NAMESPACE) {
                Ok(log) => log,
                Err(status) => return Err(StatusError::new("get log page", status).into()),
            },
            None => admin(block).drive(NAMESPACE).await?,
        };
        let pages = LogicalPages::told(&log, block.block_bytes())?;
        Ok(Learned {
            area: area(&log, block),
            dies: log.dies.get(),
            pages,
        })
    }

    /// Whether some of these logical pages of the drive, which are of the first namespace, hold data.
    pub(super) async fn holds_data(
        &self,
        pages: &LogicalPages,
        touched: Range<u32>,
        block: &BlockDevice<Queue>,
    ) -> Result<bool, host::Error> {
        let Some(controller) = &self.controller else {
            let first = pages.all().start;
            let asked = touched.start - first..touched.end - first;
            let holding = admin(block).holding(NAMESPACE, asked).await?;
            return Ok(!holding.is_empty());
        };
        let mut touched = touched;
        Ok(touched.any(|page| controller.holds_data(Lpn(page))))
    }
}

fn admin(block: &BlockDevice<Queue>) -> Admin<Queue> {
    Admin::new(block.transport().clone())
}

/// The last blocks of the first namespace: as large a share of it as of the drive is what computing's share can hold.
fn area(log: &DriveLog, block: &BlockDevice<Queue>) -> Range<u64> {
    let (all, data) = (log.logical_pages.get(), log.data_pages.get());
    // In whole flash pages, which is what vectors take.
    let per_page = (log.flash_page_bytes.get() / log.logical_page_bytes.get().max(1)).max(1);
    let pages = u64::from(log.end_page.get().saturating_sub(log.first_page.get()) / per_page);
    let area = pages * u64::from(all.saturating_sub(data)) / u64::from(all.max(1));
    let page_blocks = u64::from(block.preferred_write_blocks());
    (pages - area) * page_blocks..pages * page_blocks
}
