//! `cargo bench -p bitline --bench transactions`: how fast random writes of pages within the drive are simulated, each waited for
//! before the next, timing only: as transactions of 4,096 writes each, as files without transactions, as raw blocks. With the name of
//! one and a number of writes only these are carried out, which is what callgrind wants: the difference of two counts has
//! nothing of what comes before.

use std::time::Instant;

use bitline::inside::InsideDrive;
use bitline::{Config, Drive, Error};
use device::schedule::Origin;
use device::tx::{Extent, Isolation};
use sim::Random;

/// Pages of the file, and writes of a transaction.
const PAGES: u32 = 1 << 14;
const WRITES: u64 = 4096;
/// Writes of a measurement.
const MEASURED: u64 = 1 << 18;

const WAYS: [(&str, Isolation); 3] = [
    ("snapshot", Isolation::Snapshot),
    ("file", Isolation::File),
    ("block", Isolation::Block),
];

fn drive() -> Result<Drive, Error> {
    let config = Config::preset("txisc")?.with([("data.storage", "none")])?;
    Drive::open(config)
}

/// Carries out so many writes.
fn write(drive: &mut Drive, isolation: Isolation, writes: u64) -> Result<(), Error> {
    let (tx, bytes) = {
        let device = drive.device()?;
        (device.tx.clone(), device.ftl.unit().bytes())
    };
    let done = drive.run(|_| async move {
        let mut random = Random::named(1, "writes");
        let extents = vec![Extent {
            first: 0,
            pages: PAGES,
        }];
        let file = tx.file(extents, u64::from(PAGES) * u64::from(bytes), true);
        let file = file.expect("the drive has these pages");
        for begun in (0..writes).step_by(WRITES as usize) {
            let transaction = tx.begin(vec![file.clone()], isolation, Origin::default());
            let transaction = transaction.await?;
            for _ in begun..writes.min(begun + WRITES) {
                let page = random.below(PAGES.into());
                let offset = page * u64::from(bytes);
                transaction.write(0, offset, bytes, None).await?;
            }
            transaction.commit().await?;
        }
        Ok::<_, device::tx::TxError>(())
    })?;
    done.expect("nobody else writes, and there is space");
    Ok(())
}

fn main() -> Result<(), Error> {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.filter(|word| !word.starts_with("--")).collect();
    if let [name, writes] = &words[..] {
        let way = WAYS.into_iter().find(|(other, _)| other == name);
        let (Some((_, isolation)), Ok(writes)) = (way, writes.parse()) else {
            eprintln!("expected snapshot, file or block, and a number of writes");
            std::process::exit(2);
        };
        return write(&mut drive()?, isolation, writes);
    }
    for (name, isolation) in WAYS {
        let mut drive = drive()?;
        write(&mut drive, isolation, MEASURED / 4)?;
        let begun = Instant::now();
        write(&mut drive, isolation, MEASURED)?;
        let rate = MEASURED as f64 / begun.elapsed().as_secs_f64();
        println!(
            "{name:<9} {:>6.3} million writes of 16 KiB a second",
            rate / 1e6
        );
    }
    Ok(())
}
