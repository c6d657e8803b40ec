//! What was acknowledged becomes durable, in the image file too.

use std::cell::RefCell;
use std::rc::Rc;

use device::Device;
use device::cache::Cache;
use device::search::Search;
use device::tx::Transactions;
use media::nand::Nand;

use crate::error::Error;
use crate::host_end::Host;

/// Makes durable what a powered drive has acknowledged. Cheap to clone. Not stable.
#[derive(Clone)]
pub struct Durable {
    host: Host,
    /// What of the drive is in this process; none of one elsewhere, which makes durable what it is told to flush.
    beside: Option<Beside>,
}

#[derive(Clone)]
struct Beside {
    cache: Rc<Cache>,
    search: Rc<Search>,
    tx: Rc<Transactions>,
    nand: Rc<RefCell<Nand>>,
    has_image: bool,
}

impl Durable {
    pub(super) fn new(
        host: &Host,
        device: &Device,
        nand: &Rc<RefCell<Nand>>,
        has_image: bool,
    ) -> Durable {
        Durable {
            host: host.clone(),
            beside: Some(Beside {
                cache: device.cache.clone(),
                search: device.search.clone(),
                tx: device.tx.clone(),
                nand: nand.clone(),
                has_image,
            }),
        }
    }

    /// Of a drive elsewhere.
    pub(super) fn far(host: &Host) -> Durable {
        Durable {
            host: host.clone(),
            beside: None,
        }
    }

    /// Whether there is an image file, which has what was acknowledged only after a flush.
    pub fn has_image(&self) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.has_image)
    }

    /// As [`crate::Drive::flush`], in simulated time.
    ///
    /// # Errors
    /// As [`crate::Drive::flush`].
    pub async fn flush(&self) -> Result<(), Error> {
        self.host.block.flush().await?;
        let Some(beside) = &self.beside else {
            return Ok(());
        };
        // What a capacitor protects need not be flushed for the drive's sake, but the
        // image has only what is on flash: who committed and the names that a capacitor would save, too.
        let written = beside.cache.flush().await;
        let saved = beside.search.flush().await;
        let committed = beside.tx.flush().await;
        beside.nand.borrow_mut().sync()?;
        if beside.has_image {
            written.and(saved).and(committed)?;
        }
        Ok(())
    }
}
