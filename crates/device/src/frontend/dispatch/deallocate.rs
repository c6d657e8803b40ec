//! What makes room: Write Zeroes and Dataset Management.

use std::ops::Range;

use media::link::Carries;
use nvme::Status;
use nvme::command::{BlockRange, DatasetManagement, DatasetRange, WriteZeroes};

use super::write::must_outlive_marks;
use crate::frontend::Controller;
use crate::frontend::answer::{Answer, status_of};
use crate::frontend::namespace::{Namespace, PAGES_AT_ONCE};
use crate::ftl::WithoutSpace;
use crate::memory::Purpose;
use crate::schedule::Origin;

impl Controller {
    pub(super) async fn write_zeroes(
        &self,
        namespace: &Namespace,
        zeroes: &WriteZeroes,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = namespace.byte_range(&zeroes.blocks)?;
        // Before the lock: whoever has room waits for locks, so nobody may have it the other way.
        let _room = self.buffers.room(Purpose::Command).await;
        let mut admission = self.cache.admission();
        let lock = self.ftl.lock(self.pages(namespace, &bytes)).await;
        let force = zeroes.force_unit_access || must_outlive_marks(namespace);
        for mut piece in self
            .pieces(namespace, &bytes, origin)
            .filter(|piece| piece.bytes < self.unit.bytes())
        {
            // Each in a buffer of its own.
            piece.base = 0;
            let buffer = self.buffers.take();
            self.buffers.with_mut(buffer.id(), |page| page.fill(0));
            let slice = piece.in_buffer(buffer.id());
            let written = admission.write(&lock, &[slice], force).await;
            written.map_err(|error| status_of(error, false))?;
        }
        let arrival = admission.arrival();
        let whole = self.whole_pages(namespace, &bytes);
        let deallocated = self
            .cache
            .deallocate(&lock, whole, WithoutSpace::Keep, origin)
            .await;
        deallocated.map_err(|error| status_of(error, false))?;
        self.clear_marks(&lock, namespace, bytes).await?;
        drop(lock);
        self.sim.sleep_until(arrival).await;
        Ok(Answer::DONE)
    }

    /// Deallocation is a hint (NVM 3.3.3): of a range, the pages it covers
    /// entirely are deallocated, and parts of pages keep their content.
    pub(super) async fn manage_dataset(
        &self,
        namespace: &Namespace,
        dataset: &DatasetManagement,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = usize::from(dataset.range_count) * size_of::<DatasetRange>();
        let segments = self
            .port
            .locate(origin, &dataset.data, bytes as u64)
            .await?;
        self.port
            .fetch_bytes(origin, Carries::Parameters, bytes as u64)
            .await;
        let mut list = vec![0; bytes];
        segments.read(&*self.host.memory.borrow(), &mut list)?;
        let ranges = DatasetRange::parse(&list)?;
        let bytes_of = |range: &DatasetRange| {
            namespace.byte_range(&BlockRange::new(range.first(), range.block_count.get()))
        };
        let ranges: Vec<Range<u64>> = ranges.iter().map(bytes_of).collect::<Result<_, _>>()?;
        if !dataset.deallocate {
            return Ok(Answer::DONE);
        }
        for bytes in ranges {
            let pages = self.whole_pages(namespace, &bytes);
            if pages.is_empty() {
                continue;
            }
            let lock = self.ftl.lock(pages.clone()).await;
            let whole = self.unit.covered(&bytes);
            let covered = self.unit.start(whole.start)..self.unit.start(whole.end);
            for first in pages.clone().step_by(PAGES_AT_ONCE as usize) {
                let end = first.saturating_add(PAGES_AT_ONCE).min(pages.end);
                let deallocated =
                    self.cache
                        .deallocate(&lock, first..end, WithoutSpace::Keep, origin);
                deallocated.await.map_err(|error| status_of(error, false))?;
                if end < pages.end {
                    self.sim.yield_now().await;
                }
            }
            self.clear_marks(&lock, namespace, covered).await?;
        }
        Ok(Answer::DONE)
    }
}
