//! How fast this machine simulates: the figures that `bitline bench` prints.
//!
//! Every rate is the best of a few runs, and stands beside a reference measured in
//! the same run, because machines are noisy: the bare executor for requests, plain
//! reading of memory for computing.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use nvme::command::Engine;
use nvme::{Expression, VectorId};
use serde::Serialize;
use sim::resource::{Pipe, Priority, Server};
use sim::{Simulation, Span};

use crate::workload::Flow;
use crate::{Config, DEFAULT_PRESET, Drive, Error};

/// Runs of each measurement.
const RUNS: u32 = 5;
const REQUESTS: u64 = 1_000_000;
/// Rounds of the executor's reference, each of [`AWAITS_PER_ROUND`] awaits.
const ROUNDS: u64 = 500_000;
const AWAITS_PER_ROUND: u64 = 7;
/// Operands of the AND, and bytes of each: together far larger than any cache.
const OPERANDS: u32 = 48;
const VECTOR_BYTES: u64 = 8 << 20;
/// Pages written to measure the memory that a page costs.
const PAGES: u64 = 500_000;

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// Simulated requests carried out in a second on one core.
    pub requests_per_second: RequestRates,
    /// Awaits of the bare executor in a second: servers, pipes and sleeps with
    /// nothing else around them.
    pub executor_awaits_per_second: f64,
    /// Memory read bandwidth of one core, in gigabytes (10^9) per second.
    pub memory_read_gbps: f64,
    /// Operand bytes of an AND of 48 vectors in the array, data included, in the
    /// same unit.
    pub and48_gbps: f64,
    /// Time to open a drive of 2 TB, in milliseconds.
    pub open_2tb_ms: f64,
    /// Memory that the process grows by when it does, in MiB.
    pub open_2tb_mib: f64,
    /// Memory that the process grows by for each page written without data, in bytes.
    pub bytes_per_page: f64,
    /// Requests per seven awaits of the bare executor, which is about what a
    /// request needs.
    pub read_ideal_of_executor: f64,
    /// The AND's rate as a fraction of memory read bandwidth.
    pub and48_of_memory_read: f64,
}

/// Rates of simulated requests, a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestRates {
    /// Random 4-KiB reads at queue depth 32, ideal mapping, timing only.
    pub read_ideal: f64,
}

/// Measures everything; `progress` is told what is measured next.
///
/// # Errors
/// None on a machine with the memory for it (about 2 GiB).
pub fn run(progress: impl Fn(&str)) -> Result<BenchReport, Error> {
    // First, while the process has not grown yet.
    progress("opening a drive of 2 TB");
    let (open_2tb_ms, open_2tb_mib) = open_2tb()?;
    progress("memory of a page without data");
    let bytes_per_page = bytes_per_page()?;
    let (mut awaits, mut read_ideal) = (0.0f64, 0.0f64);
    for run in 1..=RUNS {
        progress(&format!(
            "bare executor and random reads, run {run} of {RUNS}"
        ));
        awaits = awaits.max(executor_awaits_per_second());
        read_ideal = read_ideal.max(reads_per_second()?);
    }
    progress("AND of 48 vectors");
    let (memory_read_gbps, and48_gbps) = and48()?;
    Ok(BenchReport {
        requests_per_second: RequestRates { read_ideal },
        executor_awaits_per_second: awaits,
        memory_read_gbps,
        and48_gbps,
        open_2tb_ms,
        open_2tb_mib,
        bytes_per_page,
        read_ideal_of_executor: read_ideal / (awaits / AWAITS_PER_ROUND as f64),
        and48_of_memory_read: and48_gbps / memory_read_gbps,
    })
}

fn timing_only() -> Result<Config, Error> {
    Ok(Config::preset(DEFAULT_PRESET)?.with([("data.storage", "none")])?)
}

fn open_2tb() -> Result<(f64, f64), Error> {
    let config = Config::preset(DEFAULT_PRESET)?;
    let before = resident_bytes();
    let begin = Instant::now();
    let drive = Drive::open(config)?;
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
    let grown = resident_bytes().saturating_sub(before);
    black_box(&drive);
    Ok((milliseconds, grown as f64 / f64::from(1 << 20)))
}

fn bytes_per_page() -> Result<f64, Error> {
    let mut drive = Drive::open(timing_only()?)?;
    let page_bytes = u64::from(drive.config().device.nand.geometry.page_bytes);
    let blocks_per_page = page_bytes / u64::from(drive.block_bytes()?);
    let fill = Flow {
        requests: 1,
        range_blocks: PAGES * blocks_per_page,
        ..Flow::default()
    };
    // What any traffic needs once, such as buffers and queues, is there before.
    let warm_up = Flow {
        range_blocks: 1 << 12,
        ..fill.clone()
    };
    drive.run_flows(&[warm_up], |_| {})?;
    let before = resident_bytes();
    drive.run_flows(&[fill], |_| {})?;
    Ok(resident_bytes().saturating_sub(before) as f64 / PAGES as f64)
}

/// Memory of this process, in bytes; zero where the system does not tell.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

fn reads_per_second() -> Result<f64, Error> {
    let mut drive = Drive::open(timing_only()?)?;
    let prefill = Flow {
        requests: 1,
        ..Flow::default()
    };
    let range = prefill.range_blocks;
    drive.run_flows(&[prefill], |_| {})?;
    let reads = Flow {
        requests: REQUESTS,
        range_blocks: range,
        prefill: false,
        ..Flow::default()
    };
    let begin = Instant::now();
    drive.run_flows(&[reads], |_| {})?;
    Ok(REQUESTS as f64 / begin.elapsed().as_secs_f64())
}

/// Thirty-two tasks go round a server, pipes and sleeps as a request does.
fn executor_awaits_per_second() -> f64 {
    const TASKS: u64 = 32;
    let simulation = Simulation::new(1);
    let sim = simulation.handle();
    let wire = Rc::new(Pipe::new(&sim, 8_000_000_000));
    let channels: Vec<Rc<Server>> = (0..8).map(|_| Rc::new(Server::new(&sim))).collect();
    for task in 0..TASKS {
        let (sim, wire, channels) = (sim.clone(), wire.clone(), channels.clone());
        let mut random = sim.random(&format!("task {task}"));
        simulation.handle().spawn_detached(async move {
            for _ in 0..ROUNDS / TASKS {
                let channel = &channels[random.below(8) as usize];
                wire.transfer(64).await;
                channel.serve(Priority(0), Span::from_ns(200)).await;
                sim.sleep(Span::from_ns(22_500)).await;
                channel.serve(Priority(1), Span::from_ns(3_400)).await;
                wire.transfer(4096).await;
                wire.transfer(16).await;
                sim.sleep(Span::from_ns(100)).await;
            }
        });
    }
    let begin = Instant::now();
    simulation.run();
    (ROUNDS / TASKS * TASKS * AWAITS_PER_ROUND) as f64 / begin.elapsed().as_secs_f64()
}

/// Gigabytes a second of reading memory, and of an AND of as many bytes in the array.
fn and48() -> Result<(f64, f64), Error> {
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
