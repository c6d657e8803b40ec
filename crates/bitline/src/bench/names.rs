//! Name-value lookup: entries appended with their data, and lookups that keep only time.

use std::time::Instant;

use host::search::{NameKind, SearchError};
use nvme::query::Pattern;
use sim::Random;

use super::RUNS;
use crate::{Config, Drive, Error, NameTerm, NewStore};

/// Bytes of names and values (ANVIL 5.1: 33 million of these).
const NAME_BYTES: usize = 12;
const VALUE_BYTES: usize = 128;
/// Entries: two rows of names of ANVIL's SSD-A to append, and eight to look up.
const APPENDED: u32 = 2 << 17;
const SEARCHED: u32 = 8 << 17;
/// Lookups of a run.
const LOOKUPS: u32 = 50_000;

/// What lookup can do, each second.
pub(super) struct Names {
    /// Bytes of values appended, in millions.
    pub(super) append_mbps: f64,
    /// Lookups of one name among [`SEARCHED`], timing only.
    pub(super) lookups: f64,
}

/// Measures both.
pub(super) fn measure() -> Result<Names, Error> {
    let mut best = Names {
        append_mbps: 0.0,
        lookups: 0.0,
    };
    let mut timed = Store::filled("none", SEARCHED)?;
    for _ in 0..RUNS {
        let megabytes = f64::from(APPENDED) * VALUE_BYTES as f64 / 1e6;
        let store = Store::filled("memory", APPENDED)?;
        best.append_mbps = best.append_mbps.max(megabytes / store.appended);
        best.lookups = best.lookups.max(timed.lookups_per_second()?);
    }
    Ok(best)
}

/// A drive with a store of names.
struct Store {
    drive: Drive,
    names: Vec<u8>,
    /// Seconds that appending took.
    appended: f64,
}

impl Store {
    fn filled(storage: &str, entries: u32) -> Result<Store, Error> {
        let config = Config::preset("anvil-ssd-a")?.with([("data.storage", storage)])?;
        let mut drive = Drive::open(config)?;
        let kind = NameKind {
            bits: 8 * NAME_BYTES as u32,
            ternary: false,
        };
        let store = NewStore {
            entries,
            value_bytes: VALUE_BYTES as u32,
            names: vec![kind],
            schema: Vec::new(),
        };
        drive.search().create("names", &store)?;
        let mut random = Random::named(1, "names");
        let mut records = vec![0; entries as usize * (NAME_BYTES + VALUE_BYTES)];
        random.fill(&mut records);
        let begin = Instant::now();
        drive.search().append("names", &records, entries)?;
        let appended = begin.elapsed().as_secs_f64();
        let records = records.chunks_exact(NAME_BYTES + VALUE_BYTES);
        let names = records.flat_map(|record| &record[..NAME_BYTES]).copied();
        Ok(Store {
            names: names.collect(),
            drive,
            appended,
        })
    }

    fn lookups_per_second(&mut self) -> Result<f64, Error> {
        let names: Vec<&[u8]> = self.names.chunks_exact(NAME_BYTES).collect();
        let drive = &mut self.drive;
        let mut look_up = |number: u32| {
            let name = names[number as usize * 7919 % names.len()];
            let pattern = Pattern::exact(8 * NAME_BYTES as u32, name).map_err(SearchError::from)?;
            let term = NameTerm { name: 0, pattern };
            drive.search().count("names", &[vec![term]])
        };
        // The first of all notes where names are.
        look_up(0)?;
        let begin = Instant::now();
        for number in 0..LOOKUPS {
            look_up(number)?;
        }
        Ok(f64::from(LOOKUPS) / begin.elapsed().as_secs_f64())
    }
}
