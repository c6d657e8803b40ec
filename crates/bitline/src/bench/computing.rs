//! Computing in the array with data, beside plain reading of memory.

use std::hint::black_box;
use std::time::Instant;

use nvme::command::Engine;
use nvme::{Expression, VectorId};

use super::RUNS;
use crate::{Config, DEFAULT_PRESET, Drive, Error};

/// Operands of the AND, and bytes of each: together far larger than any cache.
const OPERANDS: u32 = 48;
const VECTOR_BYTES: u64 = 8 << 20;

/// Gigabytes a second of reading memory, and of an AND of as many bytes in the array.
pub(super) fn and48() -> Result<(f64, f64), Error> {
    let mut drive = Drive::open(Config::preset(DEFAULT_PRESET)?)?;
    let bits = VECTOR_BYTES * 8;
    let mut data = vec![u8::MAX; VECTOR_BYTES as usize];
    for number in 0..OPERANDS {
        // Every operand is another, and few bits of the result are clear.
        let hole = (number as usize * 4099) % data.len();
        data[hole] = number as u8;
        drive.write_vector(VectorId::new(0, number), bits, false, &data)?;
    }
    let plain = vec![1u64; (u64::from(OPERANDS) * VECTOR_BYTES / 8) as usize];
    let (mut memory, mut array) = (0.0f64, 0.0f64);
    for _ in 0..RUNS {
        memory = memory.max(memory_read_gbps(&plain));
        array = array.max(and_gbps(&mut drive, bits)?);
    }
    Ok((memory, array))
}

fn memory_read_gbps(words: &[u64]) -> f64 {
    let begin = Instant::now();
    let sums = words.chunks_exact(8).fold([0u64; 8], |sums, words| {
        std::array::from_fn(|lane| sums[lane] ^ words[lane])
    });
    black_box(sums);
    size_of_val(words) as f64 / begin.elapsed().as_secs_f64() / 1e9
}

fn and_gbps(drive: &mut Drive, bits: u64) -> Result<f64, Error> {
    let operands = (0..OPERANDS).map(|number| VectorId::new(0, number));
    let expression = Expression::all(operands).expect("48 are more than none");
    let seconds = drive.run(move |host| async move {
        let memory = host::Transport::memory(&host.queue(0)?).clone();
        let result = host::Buffer::new(&memory, bits / 8)?;
        let begin = Instant::now();
        let evaluated = host
            .bits()
            .evaluate_into(&expression, Engine::FlashCosmos, bits, &result);
        evaluated.await?;
        Ok::<_, host::Error>(begin.elapsed().as_secs_f64())
    })??;
    Ok((u64::from(OPERANDS) * VECTOR_BYTES) as f64 / seconds / 1e9)
}
