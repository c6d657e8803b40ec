//! Formatting and sanitizing.

use bitline::inside::InsideHost;
use nvme::NamespaceId;
use nvme::log::sanitize_state;
use sim::Span;

use super::{Client, is_busy, is_want_of_space};
use crate::inventory::Inventory;

impl Client {
    /// Formats a namespace on which nobody works.
    pub(super) async fn format(&mut self, space: usize) {
        let blocks = self.shared.oracle.borrow().blocks(space);
        if !self.shared.oracle.borrow_mut().claim(space, 0, blocks) {
            return;
        }
        // Names are kept in the first one.
        let has_names = space == 0;
        if has_names && !self.shared.slots.close() {
            return self.shared.oracle.borrow_mut().release(space, 0, blocks);
        }
        let block_bytes = (512 << self.random.below(3)).min(self.shared.block_bytes_max);
        self.shared
            .oracle
            .borrow_mut()
            .begin_format(space, block_bytes);
        if has_names {
            self.shared.slots.begin_erasure();
        }
        let admin = self.shared.host.admin();
        let id = NamespaceId::new(space as u32 + 1);
        // A format that fails leaves the namespace unusable: then it stays claimed.
        loop {
            match admin.format(id, block_bytes).await {
                Ok(()) => {
                    let mut oracle = self.shared.oracle.borrow_mut();
                    if has_names {
                        self.shared.slots.erased();
                        self.shared.slots.open();
                    }
                    return oracle.acknowledge_format(space, block_bytes);
                }
                Err(error) if is_want_of_space(&error) || is_busy(&error) => {
                    let pause = Span::from_us(500);
                    self.shared.host.sim().sleep(pause).await;
                }
                Err(error) => return self.shared.complain(format!("format: {error}")),
            }
        }
    }

    /// Sanitizes the drive when nobody works on it, and looks at the flash.
    pub(super) async fn sanitize(&mut self) {
        let pause = Span::from_us(100);
        if self.shared.sanitizing.replace(true) {
            return;
        }
        while !self.claim_everything() {
            self.shared.sim().sleep(pause).await;
        }
        self.shared.oracle.borrow_mut().begin_sanitize();
        self.shared.slots.begin_erasure();
        let before = Inventory::take(&self.shared.nand.borrow());
        let admin = self.shared.host.admin();
        // One that fails, which it may for want of space only, leaves the drive unusable: then all
        // stays claimed.
        loop {
            match admin.sanitize().await {
                Ok(()) => break,
                Err(error) if is_want_of_space(&error) => self.shared.sim().sleep(pause).await,
                Err(error) => return self.shared.complain(format!("sanitize: {error}")),
            }
        }
        self.shared.oracle.borrow_mut().acknowledge_sanitize();
        // It ends, whatever happens.
        self.shared.slots.erased();
        loop {
            match admin.sanitize_status().await {
                Ok(page) if page.is_in_progress() => self.shared.sim().sleep(pause * 10).await,
                Ok(page) if page.state.get() == sanitize_state::COMPLETED => break,
                Ok(_) => return,
                Err(error) => return self.shared.complain(format!("sanitize status: {error}")),
            }
        }
        if let Err(left) = before.check_erased(&self.shared.nand.borrow()) {
            self.shared.complain(left);
        }
        self.shared.sanitized.set(self.shared.sanitized.get() + 1);
        self.shared.oracle.borrow_mut().release_all();
        self.shared.slots.open();
        self.shared.sanitizing.set(false);
    }

    /// Claims all blocks; false, and none are claimed, if another client has some.
    fn claim_everything(&self) -> bool {
        let mut oracle = self.shared.oracle.borrow_mut();
        let spaces = oracle.spaces();
        for space in 0..spaces {
            let blocks = oracle.blocks(space);
            if !oracle.claim(space, 0, blocks) {
                for claimed in 0..space {
                    let blocks = oracle.blocks(claimed);
                    oracle.release(claimed, 0, blocks);
                }
                return false;
            }
        }
        let closed = self.shared.slots.close();
        if !closed {
            for space in 0..spaces {
                let blocks = oracle.blocks(space);
                oracle.release(space, 0, blocks);
            }
        }
        closed
    }
}
