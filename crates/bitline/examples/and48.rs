//! AND of 48 vectors in the array, with data: how fast operand bytes stream out of the store, beside
//! plain reading of as much memory.

use std::hint::black_box;
use std::time::Instant;

use bitline::{Config, Drive, Expression, VectorId};
use nvme::command::Engine;

/// Bytes of each vector: all of them together are far larger than any cache.
const VECTOR_BYTES: usize = 8 << 20;
const OPERANDS: u32 = 48;

fn main() -> Result<(), bitline::Error> {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(5);
    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let bits = VECTOR_BYTES as u64 * 8;
    let mut data = vec![0u8; VECTOR_BYTES];
    for number in 0..OPERANDS {
        for (place, byte) in data.iter_mut().enumerate() {
            let hole = (place as u32 * 31 + number).is_multiple_of(251);
            *byte = if hole { 0 } else { u8::MAX };
        }
        drive.write_vector(VectorId::new(0, number), bits, false, &data)?;
    }
    let plain = vec![1u64; OPERANDS as usize * VECTOR_BYTES / 8];
    let (mut memory, mut array) = (0.0f64, 0.0f64);
    for _ in 0..rounds {
        memory = memory.max(read_rate(&plain));
        array = array.max(and_rate(&mut drive, bits)?);
    }
    println!("memory read: {memory:.2} GB/s");
    println!("AND of 48:   {array:.2} GB/s, {:.2} of it", array / memory);
    Ok(())
}

/// Gigabytes (10^9) a second of reading `words`.
fn read_rate(words: &[u64]) -> f64 {
    let begin = Instant::now();
    let sum = words.chunks_exact(8).fold([0u64; 8], |sums, words| {
        std::array::from_fn(|i| sums[i] ^ words[i])
    });
    black_box(sum);
    size_of_val(words) as f64 / begin.elapsed().as_secs_f64() / 1e9
}

/// Gigabytes (10^9) of operands a second of one evaluation.
fn and_rate(drive: &mut Drive, bits: u64) -> Result<f64, bitline::Error> {
    let operands = (0..OPERANDS).map(|number| VectorId::new(0, number));
    let expression = Expression::all(operands).expect("48 are more than none");
    let seconds = drive.run(move |host| async move {
        let memory = host::Transport::memory(&host.queue(0)?).clone();
        let result = host::Buffer::new(&memory, bits / 8)?;
        let begin = Instant::now();
        host.bits()
            .evaluate_into(&expression, Engine::FlashCosmos, bits, &result)
            .await?;
        Ok::<_, host::Error>(begin.elapsed().as_secs_f64())
    })??;
    Ok(f64::from(OPERANDS) * VECTOR_BYTES as f64 / seconds / 1e9)
}
