//! `cargo bench -p bitline --bench lookups [NAMES] [LOOKUPS]`: Simple Lookups, one after the other, over a region of 33 million
//! names (ANVIL 5.1) on a drive that keeps only time.

use std::time::Instant;

use bitline::inside::InsideHost;
use bitline::{Config, Drive, NameKind};
use host::search::{DataRegion, SearchDevice};
use nvme::query::{Pattern, Query};

const NAME_BYTES: usize = 12;
const VALUE_BYTES: usize = 128;
/// Entries of an append.
const BATCH: u32 = 1 << 16;

/// Name `number`, distinct.
fn name(number: u64) -> [u8; NAME_BYTES] {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut name = [0; NAME_BYTES];
    name[..8].copy_from_slice(&mixed.to_le_bytes());
    name[8..].copy_from_slice(&(mixed >> 17).to_le_bytes()[..4]);
    name
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"));
    let names: u32 = words.next().map_or(Ok(33_000_000), |word| word.parse())?;
    let lookups: u64 = words.next().map_or(Ok(1_000_000), |word| word.parse())?;
    let config = Config::preset("anvil-ssd-a")?.with([("data.storage", "none")])?;
    let mut drive = Drive::open(config)?;
    let begin = Instant::now();
    let region = drive.run(move |host| async move {
        let search = SearchDevice::new(host.block().clone());
        let kind = NameKind {
            bits: 8 * NAME_BYTES as u32,
            ternary: false,
        };
        let region = search
            .allocate(0, names.max(1), VALUE_BYTES as u32, &[kind])
            .await?;
        let mut records = Vec::new();
        for first in (0..names).step_by(BATCH as usize) {
            records.clear();
            let count = BATCH.min(names - first);
            for number in first..first + count {
                records.extend(name(number.into()));
                records.resize(records.len() + VALUE_BYTES, 0);
            }
            search.append(&region, &records, count).await?;
        }
        host.sim().sleep(sim::Span::from_us(10_000_000)).await;
        Ok::<_, host::search::SearchError>(region)
    })??;
    println!("{names} names in {:.1} s", begin.elapsed().as_secs_f64());
    measure(
        &mut drive,
        &region,
        names,
        1,
        "none has, with the note of where names are",
        false,
    )?;
    for (what, hits) in [("none has", false), ("one has", true)] {
        measure(&mut drive, &region, names, lookups, what, hits)?;
    }
    Ok(())
}

fn measure(
    drive: &mut Drive,
    region: &DataRegion,
    names: u32,
    lookups: u64,
    what: &str,
    hits: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    if hits && names == 0 {
        return Ok(());
    }
    let region = region.clone();
    let before = drive.now();
    let begin = Instant::now();
    let found = drive.run(move |host| async move {
        let search = SearchDevice::new(host.block().clone());
        let mut found = 0u64;
        for number in 0..lookups {
            let number = match hits {
                true => number * 7919 % u64::from(names),
                false => number + u64::from(names),
            };
            let pattern = Pattern::exact(8 * NAME_BYTES as u32, &name(number))?;
            let query = Query::of(region.names[0].region, pattern);
            found += u64::from(search.count(&region, &query).await?);
        }
        Ok::<_, host::search::SearchError>(found)
    })??;
    let seconds = begin.elapsed().as_secs_f64();
    let simulated = drive.now().since(before);
    println!(
        "{lookups} lookups of names that {what}: {found} found, {:.0} a second, {seconds:.2} s of {:.3} simulated",
        lookups as f64 / seconds,
        simulated.as_ps() as f64 / 1e12,
    );
    Ok(())
}
