//! `cargo bench -p bitline --bench transactions`: how fast random writes and reads of pages within the drive are simulated, each
//! waited for before the next, timing only: as transactions of 4,096 requests each, as files without transactions, as raw
//! blocks. With the name of one, `writes` or `reads`, and a number of them only these are carried out, which is what callgrind
//! wants: the difference of two counts has nothing of what comes before (`scripts/transactions.py`).

use std::time::Instant;

use bitline::inside::InsideDrive;
use bitline::{Config, Drive, Error};
use device::schedule::Origin;
use device::tx::{Extent, Isolation};
use sim::Random;

/// Pages of the file, all written before.
const PAGES: u32 = 1 << 14;
/// Requests of a transaction.
const REQUESTS: usize = 4096;
/// Requests of a measurement.
const MEASURED: usize = 1 << 18;

const WAYS: [(&str, Isolation); 3] = [
    ("snapshot", Isolation::Snapshot),
    ("file", Isolation::File),
    ("block", Isolation::Block),
];

#[derive(Clone, Copy, PartialEq)]
enum Request {
    Write,
    Read,
}

const REQUEST_NAMES: [(&str, Request); 2] = [("writes", Request::Write), ("reads", Request::Read)];

/// A drive with a file of which every page is written.
fn drive() -> Result<Drive, Error> {
    let config = Config::preset("txisc")?.with([("data.storage", "none")])?;
    let mut drive = Drive::open(config)?;
    request(&mut drive, Isolation::File, Request::Write, 0..PAGES)?;
    Ok(drive)
}

/// Requests pages of the file, one after the other.
fn request(
    drive: &mut Drive,
    isolation: Isolation,
    request: Request,
    pages: impl ExactSizeIterator<Item = u32> + 'static,
) -> Result<(), Error> {
    let (tx, bytes) = {
        let device = drive.device()?;
        (device.tx.clone(), device.ftl.unit().bytes())
    };
    let done = drive.run(|_| async move {
        let extents = vec![Extent {
            first: 0,
            pages: PAGES,
        }];
        let file = tx.file(extents, u64::from(PAGES) * u64::from(bytes), true);
        let file = file.expect("the drive has these pages");
        let mut pages = pages;
        while pages.len() > 0 {
            let transaction = tx.begin(vec![file.clone()], isolation, Origin::default());
            let transaction = transaction.await?;
            for page in pages.by_ref().take(REQUESTS) {
                let offset = u64::from(page) * u64::from(bytes);
                match request {
                    Request::Write => transaction.write(0, offset, bytes, None).await?,
                    Request::Read => drop(transaction.read(0, offset, bytes).await?),
                }
            }
            transaction.commit().await?;
        }
        Ok::<_, device::tx::TxError>(())
    })?;
    done.expect("nobody else writes, and there is space");
    Ok(())
}

/// So many pages at random.
fn any_pages(count: usize) -> impl ExactSizeIterator<Item = u32> {
    let mut random = Random::named(1, "pages");
    (0..count).map(move |_| random.below(PAGES.into()) as u32)
}

/// What has a name.
fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
    let found = all.iter().find(|(other, _)| *other == name);
    found.map(|(_, what)| *what)
}

fn main() -> Result<(), Error> {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.filter(|word| !word.starts_with("--")).collect();
    if let [way, what, count] = &words[..] {
        let way = named(&WAYS, way).zip(named(&REQUEST_NAMES, what));
        let Some(((isolation, what), count)) = way.zip(count.parse().ok()) else {
            eprintln!("expected snapshot, file or block; writes or reads; and a number of them");
            std::process::exit(2);
        };
        return request(&mut drive()?, isolation, what, any_pages(count));
    }
    for (name, what) in REQUEST_NAMES {
        for (way, isolation) in WAYS {
            let mut drive = drive()?;
            request(&mut drive, isolation, what, any_pages(MEASURED / 4))?;
            let begun = Instant::now();
            request(&mut drive, isolation, what, any_pages(MEASURED))?;
            let rate = MEASURED as f64 / begun.elapsed().as_secs_f64();
            println!(
                "{way:<9} {:>6.3} million {name} of 16 KiB a second",
                rate / 1e6
            );
        }
    }
    Ok(())
}
