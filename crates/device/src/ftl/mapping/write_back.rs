//! Writing mapping pages back: a task a plane, which writes the pages whose turn it is one
//! after another, each with what its entries are by then.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use media::nand::PlaneId;
use sim::Sim;
use sim::resource::Signal;

use super::MappingPages;
use super::pages::Waiter;
use crate::ftl::blocks::Stream;
use crate::ftl::holds::Holds;
use crate::ftl::spare::Content;
use crate::ftl::{Ftl, FtlError};
use crate::memory::Purpose;
use crate::schedule::Origin;
use crate::tenants;

/// The mapping pages to be written, by the plane whose turn they are.
pub(in crate::ftl) struct WriteBacks {
    planes: Vec<Queue>,
}

struct Queue {
    numbers: RefCell<VecDeque<u32>>,
    bell: Signal,
}

impl WriteBacks {
    pub(in crate::ftl) fn new(sim: &Sim, planes: u32) -> WriteBacks {
        let queue = |_| Queue {
            numbers: RefCell::default(),
            bell: Signal::new(sim),
        };
        WriteBacks {
            planes: (0..planes).map(queue).collect(),
        }
    }

    /// Has a mapping page written, if it is not about to be.
    pub(in crate::ftl) fn request(&self, pages: &mut MappingPages, number: u32) {
        let page = pages.page_mut(number);
        if !std::mem::replace(&mut page.queued, true) {
            let queue = &self.planes[number as usize % self.planes.len()];
            queue.numbers.borrow_mut().push_back(number);
            queue.bell.ring();
        }
    }
}

impl Ftl {
    /// Starts the tasks.
    pub(in crate::ftl) fn start_writing_back(self: &Rc<Ftl>, sim: &Sim) {
        for (index, preferred) in self.plane_order.iter().enumerate() {
            sim.spawn_detached(self.clone().write_back_all(index, *preferred));
        }
    }

    async fn write_back_all(self: Rc<Ftl>, index: usize, preferred: PlaneId) {
        let queue = &self.write_backs.planes[index];
        loop {
            let next = queue.numbers.borrow_mut().pop_front();
            match next {
                Some(number) => self.write_back(number, preferred).await,
                None => queue.bell.heard().await,
            }
        }
    }

    /// Writes a mapping page with its entries.
    async fn write_back(&self, number: u32, preferred: PlaneId) {
        let merged = self.merge(number).await;
        self.mapping.borrow_mut().begin_write(number);
        let written = match merged {
            Ok(()) => self.write_entries(number, preferred).await,
            Err(error) => Err(error),
        };
        self.with_pages(|pages| pages.end_write(number, written.is_ok()));
        if written.is_err() {
            let failures = &self.checkpoints.failures;
            failures.set(failures.get() + 1);
        }
        self.checkpoints.written.announce();
    }

    async fn write_entries(&self, number: u32, preferred: PlaneId) -> Result<(), FtlError> {
        // What the mapping says of a commit counts only if the journal knows of it.
        let _room = loop {
            self.save_commits().await?;
            let room = self.buffers.room(Purpose::Record).await;
            if !self.has_unsaved_commits() {
                break room;
            }
        };
        let buffer = self.buffers.take_firmware();
        self.buffers.with_mut(buffer.id(), |page| {
            self.mapping.borrow().encode(number, page);
        });
        let version = self.next_version();
        let content = Content::Mapping {
            number,
            deallocated_below: self.deallocated_below(version),
        };
        let page = self
            .program(
                preferred,
                Stream::Mapping,
                (buffer.id(), self.geometry.page_bytes),
                Holds::Page(content, version),
                Origin::own(tenants::MAPPING),
            )
            .await?;
        self.settle(page, self.unit.all());
        self.count(|counts| counts.mapping_page_writes += 1);
        let at = self.geometry.ppa(page);
        let old = self.with_pages(|pages| pages.put(number, at)).flatten();
        if let Some(old) = old {
            self.forget_page(old);
        }
        Ok(())
    }

    /// Reads what is on flash of a mapping page, unless all its entries are at hand.
    async fn merge(&self, number: u32) -> Result<(), FtlError> {
        let ticket = self.schedule.ticket();
        {
            let mut table = self.mapping.borrow_mut();
            if table.is_at_hand(number) {
                return Ok(());
            }
            let Some(pages) = &mut table.pages else {
                return Ok(());
            };
            let page = pages.page_mut(number);
            let Some(at) = page.at else { return Ok(()) };
            if !std::mem::replace(&mut page.reading, true) {
                self.read_mapping_page(number, at, 0, self.geometry.page_bytes);
            }
            let notify = ticket.id().into();
            self.schedule.expect(notify);
            pages.wait(number, Waiter::Page { notify });
        }
        Ok(ticket.await?)
    }
}
