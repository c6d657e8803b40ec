//! Commands for blocks.

use bitline::inside::Queue;
use host::bits::{BitsDevice, PlacementHandle};
use host::block::BlockDevice;
use nvme::Status;
use nvme::command::Home;

use super::{Client, HANDLES, Range, observe, priority_of};
use crate::oracle::{UNCORRECTABLE, Value};

impl Client {
    fn begin(&self, range: &Range, value: Value) {
        let mut oracle = self.shared.oracle.borrow_mut();
        oracle.begin(range.space, range.lba, range.count, value);
    }

    pub(super) async fn write(&mut self, range: &Range) {
        let value = self.shared.oracle.borrow_mut().fresh_value();
        let bytes = range.device.block_bytes() as usize;
        let data: Vec<u8> = (range.lba..range.lba + range.count)
            .flat_map(|lba| self.shared.oracle.borrow().content(lba, value, bytes))
            .collect();
        self.begin(range, value);
        let durable = self.random.chance(0.2);
        let device = range.device.clone();
        let device = device.with_priority(priority_of(range.lba + 1));
        let outcome = if durable {
            device.write_durably(range.lba, &data).await
        } else {
            device.write(range.lba, &data).await
        };
        self.settle(&outcome, range, value, durable);
    }

    /// Writes the pages that the range covers with a placement handle, if it covers any.
    pub(super) async fn place(&mut self, range: &Range) {
        let per_page = u64::from(range.device.preferred_write_blocks());
        let first = range.lba.next_multiple_of(per_page);
        let end = (range.lba + range.count) / per_page * per_page;
        if first >= end {
            return self.write(range).await;
        }
        let bits = BitsDevice::new(range.device.clone());
        let handle = self.handle(range.space, &range.device);
        let opened = bits.open_handle(&handle).await;
        if let Err(error) = opened {
            return self.shared.complain(format!("{handle:?}: {error}"));
        }
        let range = &Range {
            device: range.device.clone(),
            space: range.space,
            lba: first,
            count: end - first,
        };
        let value = self.shared.oracle.borrow_mut().fresh_value();
        let bytes = range.device.block_bytes() as usize;
        let data: Vec<u8> = (first..end)
            .flat_map(|lba| self.shared.oracle.borrow().content(lba, value, bytes))
            .collect();
        self.begin(range, value);
        let inverse = self.random.chance(0.5);
        let outcome = bits.write(handle.number, inverse, first, &data).await;
        self.settle(&outcome, range, value, true);
    }

    /// One of the handles of a namespace, now and then of another shape.
    fn handle(&mut self, space: usize, device: &BlockDevice<Queue>) -> PlacementHandle {
        let number = self.random.below(HANDLES);
        let pages = device.blocks() / u64::from(device.preferred_write_blocks());
        let (pitch, anchor, dies) = if self.random.chance(0.8) {
            (number + 1, 0, 0)
        } else {
            (
                1 + self.random.below(8),
                self.random.below(pages),
                self.random.below(2),
            )
        };
        PlacementHandle {
            number: (space as u64 * HANDLES + number) as u16,
            anchor: anchor * u64::from(device.preferred_write_blocks()),
            pitch: pitch * u64::from(device.preferred_write_blocks()),
            home: Home {
                first: 0,
                dies: dies as u16,
            },
        }
    }

    pub(super) async fn deallocate(&mut self, range: &Range) {
        self.begin(range, 0);
        if self.random.chance(0.5) {
            let outcome = range.device.write_zeroes(range.lba, range.count).await;
            self.settle(&outcome, range, 0, false);
        } else {
            // A hint: afterwards a block is zero or what it was. The next read tells.
            let outcome = range.device.deallocate(range.lba, range.count).await;
            self.expect_success(&outcome);
            self.observe(range).await;
        }
    }

    /// Makes blocks unreadable.
    pub(super) async fn mark(&mut self, range: &Range) {
        self.begin(range, UNCORRECTABLE);
        let outcome = range
            .device
            .write_uncorrectable(range.lba, range.count)
            .await;
        self.settle(&outcome, range, UNCORRECTABLE, true);
    }

    fn settle(
        &self,
        outcome: &Result<(), host::Error>,
        range: &Range,
        value: Value,
        durable: bool,
    ) {
        self.expect_success(outcome);
        if outcome.is_ok() {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.acknowledge(range.space, range.lba, range.count, value, durable);
        }
    }

    pub(super) async fn observe(&self, range: &Range) {
        let Range { device, space, .. } = range;
        let seen = observe(device, &self.shared.oracle, *space, range.lba, range.count).await;
        if let Err(wrong) = seen {
            self.shared.complain(wrong);
        }
    }

    /// What blocks hold, unless somebody's command may still change it.
    fn settled(&self, range: &Range) -> Option<Vec<Value>> {
        let mut oracle = self.shared.oracle.borrow_mut();
        oracle.settled(range.space, range.lba, range.count)
    }

    /// Compares with what blocks hold, or with something else.
    pub(super) async fn compare_blocks(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let bytes = range.device.block_bytes() as usize;
        let mut data: Vec<u8> = (range.lba..)
            .zip(&values)
            .flat_map(|(lba, value)| self.shared.oracle.borrow().content(lba, *value, bytes))
            .collect();
        let differs = self.random.chance(0.3);
        if differs {
            let place = self.random.below(data.len() as u64) as usize;
            data[place] ^= 1 << self.random.below(8);
        }
        let expected = if values.contains(&UNCORRECTABLE) {
            Status::UNRECOVERED_READ_ERROR
        } else if differs {
            Status::COMPARE_FAILURE
        } else {
            Status::SUCCESS
        };
        let outcome = range.device.compare(range.lba, &data).await;
        self.expect("compare", &outcome, expected);
    }

    pub(super) async fn verify(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let expected = if values.contains(&UNCORRECTABLE) {
            Status::UNRECOVERED_READ_ERROR
        } else {
            Status::SUCCESS
        };
        let outcome = range.device.verify(range.lba, range.count).await;
        self.expect("verify", &outcome, expected);
    }

    fn expect(&self, what: &str, outcome: &Result<(), host::Error>, expected: Status) {
        let seen = match outcome {
            Ok(()) => Status::SUCCESS,
            Err(host::Error::Status(error)) => error.status,
            Err(error) => return self.shared.complain(format!("{what}: {error}")),
        };
        if !seen.is(expected) {
            self.shared
                .complain(format!("{what} ends with {seen}, expected {expected}"));
        }
    }

    /// Copies the range in one piece or two to where nobody else works.
    pub(super) async fn copy(&mut self, range: &Range) {
        let Some(values) = self.settled(range) else {
            return;
        };
        let Range {
            device,
            space,
            lba,
            count,
        } = range;
        let blocks = self.shared.oracle.borrow().blocks(*space);
        let to = self.random.below(blocks - count + 1);
        if !self.shared.oracle.borrow_mut().claim(*space, to, *count) {
            return;
        }
        let first = 1 + self.random.below(*count);
        let mut sources = vec![(*lba, first as u32)];
        if first < *count {
            sources.push((lba + first, (count - first) as u32));
        }
        let readable = !values.contains(&UNCORRECTABLE);
        let mut copies = Vec::new();
        for (number, value) in (0..).zip(values).filter(|_| readable) {
            let mut oracle = self.shared.oracle.borrow_mut();
            let copy = oracle.copied_value(lba + number, value);
            oracle.begin(*space, to + number, 1, copy);
            copies.push(copy);
        }
        let outcome = device.copy(&sources, to).await;
        if readable {
            self.expect_success(&outcome);
        } else {
            self.expect("copy", &outcome, Status::UNRECOVERED_READ_ERROR);
        }
        let mut oracle = self.shared.oracle.borrow_mut();
        for (number, copy) in (0..).zip(copies).filter(|_| outcome.is_ok()) {
            oracle.acknowledge(*space, to + number, 1, copy, false);
        }
        oracle.release(*space, to, *count);
    }

    /// Flushes the namespace of the range.
    pub(super) async fn flush(&self, range: &Range) {
        let began = self.shared.oracle.borrow_mut().flush_begins();
        let outcome = range.device.flush().await;
        self.expect_success(&outcome);
        if outcome.is_ok() {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.flushed(range.space, began);
        }
    }
}
