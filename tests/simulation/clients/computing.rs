//! Expressions over placed blocks.

use bitline::inside::Queue;
use host::bits::{BitsDevice, Request};
use host::block::BlockDevice;
use nvme::command::Engine;
use nvme::{Expression, Lba, Status};

use super::{Client, OPERANDS_MAX, PAGES_MAX};
use crate::oracle::UNCORRECTABLE;

impl Client {
    /// Computes an AND, OR or XOR of pages of a namespace that nobody works on, by whatever engine.
    pub(super) async fn compute(&mut self, queue: usize) {
        let spaces = self.shared.oracle.borrow().spaces() as u64;
        let space = self.random.below(spaces) as usize;
        let Ok(device) = self.device(queue, space).await else {
            // Its format is changing.
            return;
        };
        let per_page = u64::from(device.preferred_write_blocks());
        let pages = self.shared.oracle.borrow().blocks(space) / per_page;
        let length = (1 + self.random.below(PAGES_MAX)).min(pages);
        if length == 0 || device.block_bytes() != self.shared.oracle.borrow().block_bytes(space) {
            return;
        }
        let mut operands = Vec::new();
        for _ in 0..1 + self.random.below(OPERANDS_MAX) {
            let lba = self.random.below(pages - length + 1) / 2 * per_page;
            let blocks = length * per_page;
            if self.shared.oracle.borrow_mut().claim(space, lba, blocks) {
                operands.push(lba);
            }
        }
        if !operands.is_empty() {
            self.compare_computed(&device, space, &operands, length * per_page)
                .await;
        }
        for lba in operands {
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.release(space, lba, length * per_page);
        }
    }

    async fn compare_computed(
        &mut self,
        device: &BlockDevice<Queue>,
        space: usize,
        operands: &[u64],
        blocks: u64,
    ) {
        let bytes = device.block_bytes() as usize;
        let bits = blocks * bytes as u64 * 8 - self.random.below(2000);
        let mut contents: Vec<Vec<u8>> = Vec::new();
        let mut readable = true;
        for lba in operands {
            let mut oracle = self.shared.oracle.borrow_mut();
            let Some(values) = oracle.settled(space, *lba, blocks) else {
                return;
            };
            readable &= !values.contains(&UNCORRECTABLE);
            let of_block = |(lba, value)| oracle.content(lba, value, bytes);
            contents.push((*lba..).zip(values).flat_map(of_block).collect());
        }
        let operator = self.random.below(3);
        let names = operands.iter().map(|lba| Lba::new(*lba));
        let expression = match operator {
            0 => Expression::all(names),
            1 => Expression::any(names),
            _ => Expression::parity(names),
        };
        let expression: Expression<Lba> = expression.expect("there is an operand");
        let engines = [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage];
        let engine = engines[self.random.below(3) as usize];
        let evaluated = BitsDevice::new(device.clone())
            .evaluate(Request::new(&expression, engine, bits))
            .await;
        let expected = combined(&contents, operator, bits);
        match evaluated {
            // A drive with few page buffers refuses what takes more at a time.
            Err(host::Error::Status(error))
                if error.status.is(Status::COMMAND_SIZE_LIMIT_EXCEEDED) => {}
            Err(host::Error::Status(error))
                if !readable && error.status.is(Status::UNRECOVERED_READ_ERROR) => {}
            Err(error) => self.shared.complain(format!("{expression}: {error}")),
            Ok(found) if readable && found.result == expected => {
                self.shared.computed.set(self.shared.computed.get() + 1);
            }
            Ok(_) => self
                .shared
                .complain(format!("{engine:?} computes {expression} wrongly")),
        }
    }
}

/// The first `bits` bits of what an operator makes of contents.
fn combined(contents: &[Vec<u8>], operator: u64, bits: u64) -> Vec<u8> {
    let mut result = contents[0].clone();
    for other in &contents[1..] {
        for (left, right) in result.iter_mut().zip(other) {
            *left = match operator {
                0 => *left & right,
                1 => *left | right,
                _ => *left ^ right,
            };
        }
    }
    result.truncate(bits.div_ceil(8) as usize);
    if let (Some(last), used @ 1..) = (result.last_mut(), bits % 8) {
        *last &= (1 << used) - 1;
    }
    result
}
