//! Random reads beside a stream of queries over 48 vectors: what the queries cost the reads, and the
//! reads the queries.
//!
//! `cargo run --release --example reads_beside_queries`

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::{
    Config, Drive, Error, Expression, Histogram, History, Host, Platform, Precondition, Request,
    Span, Time,
};

/// Vectors that a query combines: one a wordline of a string.
const OPERANDS: u32 = 48;
/// Of each, two stripes over all 128 planes, in bits.
const BITS: u64 = 2 * 128 * 16384 * 8;
/// Reads of 4 KiB in flight.
const DEPTH: u64 = 4;

/// What was measured.
struct Measured {
    reads: Histogram,
    queries: u64,
    elapsed: Span,
}

/// A drive whose first hundredth holds data, with the vectors. Times do not depend on bits, so none
/// are kept.
fn drive(config: &Config) -> Result<(Drive, Expression), Error> {
    let mut drive = Drive::open(config.with([("data.storage", "none")])?)?;
    let data = Precondition::new(History::Sequential);
    drive.precondition(&data.occupying(0.01).within(0.01))?;
    let group = drive.group("operands")?;
    let vectors = group.place(BITS, OPERANDS, |_| ControlFlow::Continue(()))?;
    Ok((drive, Expression::all(&vectors)?))
}

/// Counts the ones of an AND of all vectors, again and again until `until`.
async fn query(host: Host, all: Expression, platform: Platform, until: Time) -> Result<u64, Error> {
    let count = Request::new(&all).on(platform);
    let mut queries = 0;
    while host.sim().now() < until {
        host.ask(&count).await?;
        queries += 1;
    }
    Ok(queries)
}

/// Reads blocks of the first hundredth at random until `done` says so.
async fn read(host: Host, reader: u64, done: Rc<Cell<bool>>) -> Result<Histogram, Error> {
    let mut random = host.sim().random(&format!("reader {reader}"));
    let mut latencies = Histogram::new();
    while !done.get() {
        let (lba, begin) = (random.below(host.blocks() / 100), host.sim().now());
        host.read(lba, 1).await?;
        latencies.record(host.sim().now().since(begin));
    }
    Ok(latencies)
}

fn measure(config: &Config, platform: Option<Platform>, reads: bool) -> Result<Measured, Error> {
    let (mut drive, all) = drive(config)?;
    drive.run(move |host| async move {
        let (sim, begin) = (host.sim().clone(), host.sim().now());
        let until = begin + Span::from_us(50_000);
        let done = Rc::new(Cell::new(false));
        let readers = if reads { DEPTH } else { 0 };
        let readers: Vec<_> = (0..readers)
            .map(|reader| sim.spawn(read(host.clone(), reader, done.clone())))
            .collect();
        let queries = match platform {
            Some(platform) => query(host.clone(), all, platform, until).await?,
            None => 0,
        };
        sim.sleep_until(until).await;
        let elapsed = sim.now().since(begin);
        done.set(true);
        let mut latencies = Histogram::new();
        for reader in readers {
            latencies.merge(&reader.await?);
        }
        Ok::<_, Error>(Measured {
            reads: latencies,
            queries,
            elapsed,
        })
    })?
}

fn main() -> Result<(), Error> {
    let config = Config::preset("flash-cosmos")?;
    println!("queries       reads     reads    p50 us    p99 us    max us  us a query");
    let platforms = [Platform::ParaBit, Platform::FlashCosmos];
    let runs = [(None, true)].into_iter().chain(
        platforms
            .into_iter()
            .flat_map(|platform| [(Some(platform), false), (Some(platform), true)]),
    );
    for (platform, reads) in runs {
        let measured = measure(&config, platform, reads)?;
        let name = platform.map_or("none".to_owned(), |platform| platform.to_string());
        let us = |span: Span| span.as_ns() / 1e3;
        println!(
            "{name:12} {:>6}  {:8}  {:8.1}  {:8.1}  {:8.1}  {:10.1}",
            if reads { "depth 4" } else { "none" },
            measured.reads.count(),
            us(measured.reads.quantile(0.5)),
            us(measured.reads.quantile(0.99)),
            us(measured.reads.max()),
            us(measured.elapsed) / measured.queries.max(1) as f64,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
