//! Seals: what an image held when everything was last made durable.

use super::Image;
use super::layout::{REPLICAS, first_page};
use super::record::{Fields, Found, double};
use crate::nand::geometry::BlockId;

/// The host's run from start to shutdown in which something was written.
pub(super) type Boot = [u8; 16];

/// Everything up to a change is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seal {
    /// Of seals, the one with the highest counts.
    pub(super) generation: u64,
    /// The last change sealed.
    pub(super) number: u64,
    /// The sum over all records after it.
    pub(super) sum: u64,
    /// The host that wrote it. While the same host runs, what a process wrote is there in the order in
    /// which it wrote, killed or not.
    pub(super) boot: Boot,
}

pub(super) const SEAL_BYTES: usize = 64;

impl Seal {
    const CHECK_AT: usize = 40;

    fn to_bytes(self) -> [u8; SEAL_BYTES] {
        let mut bytes = [0; SEAL_BYTES];
        Fields::new(&mut bytes)
            .put(&self.generation.to_le_bytes())
            .put(&self.number.to_le_bytes())
            .put(&self.sum.to_le_bytes())
            .put(&self.boot)
            .check(0);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Found<Seal> {
        Found::of(bytes, Seal::CHECK_AT, 0, |bytes| Seal {
            generation: double(bytes, 0),
            number: double(bytes, 8),
            sum: double(bytes, 16),
            boot: std::array::from_fn(|byte| bytes[24 + byte]),
        })
    }
}

/// The boot of this host; zeroes, which are nobody's, where it does not tell.
pub(super) fn this_boot() -> Boot {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let mut boot = Boot::default();
    for (byte, pair) in boot.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| (pair[at] as char).to_digit(16).unwrap_or(0) as u8;
        *byte = digit(0) << 4 | digit(1);
    }
    boot
}

impl Image {
    /// Seals what the image holds, and then gives back the room of blocks erased since the last
    /// time. What follows reaches the file only when that is done.
    pub(super) fn seal_all(&mut self) {
        self.seal = Seal {
            generation: self.seal.generation + 1,
            number: self.number,
            sum: self.sum,
            boot: self.boot,
        };
        self.file.sync();
        for replica in REPLICAS {
            let at = self.layout.seal_at(replica, self.seal.generation);
            self.file.write(&self.seal.to_bytes(), at, "a seal");
        }
        self.file.sync();
        for block in std::mem::take(&mut self.erased) {
            let at = self.layout.data_at(first_page(BlockId(block)));
            self.file.punch(at, self.layout.block_data_bytes());
        }
    }
}
