//! Computing in the array with data, beside plain reading of memory.

use std::hint::black_box;
use std::time::Instant;

use nvme::command::Engine;
use nvme::{Expression, VectorId};

use super::RUNS;
use crate::{Config, DEFAULT_PRESET, Drive, Error};

/// Vectors of a group, which fill the strings that one wordline sense goes through.
const GROUP: u32 = 48;
/// Bytes of all operands together: far more than any cache holds.
const OPERAND_BYTES: u64 = 384 << 20;

/// Rates in gigabytes (10^9) a second.
pub(super) struct Computing {
    /// Plain reading of memory.
    pub(super) memory_read: f64,
    /// Operands of an AND of 48 vectors.
    pub(super) and48: f64,
    /// Operands of an OR of four ANDs of 48 vectors, one sense of four blocks.
    pub(super) or4x48: f64,
}

/// Measures computing in the array, beside reading as many bytes of memory.
pub(super) fn measure() -> Result<Computing, Error> {
    let plain = vec![1u64; (OPERAND_BYTES / 8) as usize];
    let mut of_one = Operands::write(1)?;
    let mut of_four = Operands::write(4)?;
    let mut best = Computing {
        memory_read: 0.0,
        and48: 0.0,
        or4x48: 0.0,
    };
    for _ in 0..RUNS {
        best.memory_read = best.memory_read.max(memory_read_gbps(&plain));
        best.and48 = best.and48.max(of_one.gbps()?);
        best.or4x48 = best.or4x48.max(of_four.gbps()?);
    }
    Ok(best)
}

/// A drive with groups of vectors.
struct Operands {
    drive: Drive,
    groups: u32,
    bits: u64,
}

impl Operands {
    fn write(groups: u32) -> Result<Operands, Error> {
        let mut drive = Drive::open(Config::preset(DEFAULT_PRESET)?)?;
        let bytes = OPERAND_BYTES / u64::from(groups * GROUP);
        let mut data = vec![u8::MAX; bytes as usize];
        for id in ids(groups) {
            // Every operand is another, and few bits of the result are clear.
            let hole = (id.vector as usize * 4099) % data.len();
            data[hole] = id.vector as u8;
            drive.write_vector(id, bytes * 8, false, &data)?;
        }
        Ok(Operands {
            drive,
            groups,
            bits: bytes * 8,
        })
    }

    /// Operand bytes a second of the OR of all groups' ANDs.
    fn gbps(&mut self) -> Result<f64, Error> {
        let bits = self.bits;
        let ands = (0..self.groups)
            .map(|group| Expression::all(ids_of(group)).expect("48 are more than none"));
        let expression = Expression::any(ands).expect("there is a group");
        let seconds = self.drive.run(move |host| async move {
            let memory = host::Transport::memory(&host.queue(0)?).clone();
            let result = host::Buffer::new(&memory, bits / 8)?;
            let begin = Instant::now();
            let evaluated =
                host.bits()
                    .evaluate_into(&expression, Engine::FlashCosmos, bits, &result);
            evaluated.await?;
            Ok::<_, host::Error>(begin.elapsed().as_secs_f64())
        })??;
        Ok(OPERAND_BYTES as f64 / seconds / 1e9)
    }
}

fn ids(groups: u32) -> impl Iterator<Item = VectorId> {
    (0..groups).flat_map(ids_of)
}

fn ids_of(group: u32) -> impl Iterator<Item = VectorId> {
    (0..GROUP).map(move |number| VectorId::new(group, number))
}

fn memory_read_gbps(words: &[u64]) -> f64 {
    let begin = Instant::now();
    let sums = words.chunks_exact(8).fold([0u64; 8], |sums, words| {
        std::array::from_fn(|at| sums[at] ^ words[at])
    });
    black_box(sums);
    size_of_val(words) as f64 / begin.elapsed().as_secs_f64() / 1e9
}
