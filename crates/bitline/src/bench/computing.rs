//! Computing in the array with data, beside plain reading of memory.

use std::hint::black_box;
use std::time::Instant;

use host::bits::Request;
use nvme::Expression;
use nvme::command::Engine;
use sim::Random;

use super::RUNS;
use crate::{Config, DEFAULT_PRESET, Drive, Error};

/// Vectors of a group, which fill the strings that one wordline sense goes through.
const GROUP: u32 = 48;
/// Bits of a name, with the one that says that it is valid (ANVIL 2.2).
const NAME_BITS: u32 = 97;
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
    /// Wordlines that searches select.
    pub(super) search: f64,
}

/// Measures computing in the array, beside reading as many bytes of memory.
pub(super) fn measure() -> Result<Computing, Error> {
    let plain = vec![1u64; (OPERAND_BYTES / 8) as usize];
    let mut of_one = Operands::write(1)?;
    let mut of_four = Operands::write(4)?;
    let mut names = Operands::names()?;
    let mut best = Computing {
        memory_read: 0.0,
        and48: 0.0,
        or4x48: 0.0,
        search: 0.0,
    };
    for _ in 0..RUNS {
        best.memory_read = best.memory_read.max(memory_read_gbps(&plain));
        best.and48 = best.and48.max(of_one.gbps()?);
        best.or4x48 = best.or4x48.max(of_four.gbps()?);
        best.search = best.search.max(names.gbps()?);
    }
    Ok(best)
}

/// A drive with groups of vectors.
struct Operands {
    drive: Drive,
    /// The OR of all groups' ANDs, or the AND that a search is.
    expression: Expression,
}

impl Operands {
    fn write(groups: u32) -> Result<Operands, Error> {
        let mut drive = Drive::open(Config::preset(DEFAULT_PRESET)?)?;
        let bytes = OPERAND_BYTES / u64::from(groups * GROUP);
        let mut data = vec![u8::MAX; bytes as usize];
        let mut ands = Vec::new();
        for group in 0..groups {
            let mut vectors = Vec::new();
            for number in 0..GROUP {
                // Every operand is another, and few bits of the result are clear.
                let hole = (number as usize * 4099) % data.len();
                data[hole] = number as u8;
                let group = drive.group(&group.to_string())?;
                vectors.extend(group.write(bytes * 8, [&data[..]])?);
            }
            ands.push(Expression::all(&vectors).expect("48 are more than none"));
        }
        let expression = Expression::any(ands).expect("there is a group");
        Ok(Operands { drive, expression })
    }

    /// The wordlines that a search for a name senses among random names, transposed as on ANVIL's SSD-A: it is their AND. Every
    /// other bit of each is clear, about; the first name is the one that is looked for.
    fn names() -> Result<Operands, Error> {
        let mut drive = Drive::open(Config::preset("anvil-ssd-a")?)?;
        let bytes = OPERAND_BYTES / u64::from(NAME_BITS);
        let mut data = vec![0; bytes as usize];
        let mut random = Random::named(1, "names");
        let mut vectors = Vec::new();
        for _ in 0..NAME_BITS {
            random.fill(&mut data);
            data[0] |= 1;
            let group = drive.group("names")?;
            vectors.extend(group.write(bytes * 8, [&data[..]])?);
        }
        let expression = Expression::all(&vectors).expect("97 are more than none");
        Ok(Operands { drive, expression })
    }

    /// Operand bytes a second.
    fn gbps(&mut self) -> Result<f64, Error> {
        let expression = self.expression.clone();
        let seconds = self.drive.run(move |host| async move {
            let located = host.locate(&expression).await?;
            let memory = host::Transport::memory(host.block.transport()).clone();
            let result = host::Buffer::new(&memory, located.bits / 8)?;
            let begin = Instant::now();
            let (engine, bits) = (Engine::FlashCosmos, located.bits);
            let evaluated = host
                .bits
                .evaluate_into(Request::new(&located.expression, engine, bits), &result);
            evaluated.await?;
            Ok::<_, Error>(begin.elapsed().as_secs_f64())
        })??;
        Ok(OPERAND_BYTES as f64 / seconds / 1e9)
    }
}

fn memory_read_gbps(words: &[u64]) -> f64 {
    let begin = Instant::now();
    let sums = words.chunks_exact(8).fold([0u64; 8], |sums, words| {
        std::array::from_fn(|at| sums[at] ^ words[at])
    });
    black_box(sums);
    size_of_val(words) as f64 / begin.elapsed().as_secs_f64() / 1e9
}
