//! Name-value lookup: entries appended with their data, and lookups that keep only time.

use std::rc::Rc;
use std::time::Instant;

use host::search::{DataRegion, NameKind, SearchDevice, SearchError};
use nvme::query::{Pattern, Query};
use sim::Random;

use super::RUNS;
use crate::drive::InsideHost;
use crate::{Config, Drive, Error, NewStore};

/// Bytes of names and values (ANVIL 5.1: 33 million of these).
const NAME_BYTES: usize = 12;
const VALUE_BYTES: usize = 128;
const RECORD_BYTES: usize = NAME_BYTES + VALUE_BYTES;
/// Entries: two rows of names of ANVIL's SSD-A to append, and eight to look up.
const APPENDED: u32 = 2 << 17;
const SEARCHED: u32 = 8 << 17;
/// Lookups of a run.
const LOOKUPS: u32 = 500_000;

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
    let mut searched = Searched::filled()?;
    let appended = records(APPENDED);
    for _ in 0..RUNS {
        let megabytes = f64::from(APPENDED) * VALUE_BYTES as f64 / 1e6;
        best.append_mbps = best.append_mbps.max(megabytes / append_seconds(&appended)?);
        best.lookups = best.lookups.max(searched.lookups_per_second()?);
    }
    Ok(best)
}

/// Records with names that are all different, as good as surely.
fn records(entries: u32) -> Vec<u8> {
    let mut records = vec![0; entries as usize * RECORD_BYTES];
    Random::named(1, "names").fill(&mut records);
    records
}

const KIND: NameKind = NameKind {
    bits: 8 * NAME_BYTES as u32,
    ternary: false,
};

fn drive_with(storage: &str) -> Result<Drive, Error> {
    Drive::open(Config::preset("anvil-ssd-a")?.with([("data.storage", storage)])?)
}

/// Seconds that it takes to append records with their data.
fn append_seconds(records: &[u8]) -> Result<f64, Error> {
    let mut drive = drive_with("memory")?;
    let store = NewStore {
        entries: APPENDED,
        value_bytes: VALUE_BYTES as u32,
        names: vec![KIND],
        schema: Vec::new(),
    };
    drive.search().create("names", &store)?;
    let begin = Instant::now();
    drive.search().append("names", records, APPENDED)?;
    Ok(begin.elapsed().as_secs_f64())
}

/// A drive that keeps only time, with names.
struct Searched {
    drive: Drive,
    region: DataRegion,
    names: Rc<[u8]>,
}

impl Searched {
    fn filled() -> Result<Searched, Error> {
        let mut drive = drive_with("none")?;
        let records = records(SEARCHED);
        let names = records.chunks_exact(RECORD_BYTES);
        let names = names.flat_map(|record| &record[..NAME_BYTES]).copied();
        let names = names.collect();
        let region = drive.run(|host| async move {
            let search = SearchDevice::new(host.block().clone());
            let of_value = VALUE_BYTES as u32;
            let region = search.allocate(0, SEARCHED, of_value, &[KIND]).await?;
            search.append(&region, &records, SEARCHED).await?;
            Ok::<_, SearchError>(region)
        })??;
        Ok(Searched {
            drive,
            region,
            names,
        })
    }

    /// Simple Lookups, one after the other, of names that are there.
    fn lookups_per_second(&mut self) -> Result<f64, Error> {
        // The first of all notes where names are.
        self.look_up(1)?;
        let begin = Instant::now();
        self.look_up(LOOKUPS)?;
        Ok(f64::from(LOOKUPS) / begin.elapsed().as_secs_f64())
    }

    fn look_up(&mut self, times: u32) -> Result<(), Error> {
        let (region, names) = (self.region.clone(), self.names.clone());
        self.drive.run(move |host| async move {
            let search = SearchDevice::new(host.block().clone());
            for number in 0..times {
                let entry = u64::from(number) * 7919 % u64::from(SEARCHED);
                let name = &names[entry as usize * NAME_BYTES..][..NAME_BYTES];
                let pattern = Pattern::exact(KIND.bits, name)?;
                let query = Query::of(region.names[0].region, pattern);
                assert_eq!(search.count(&region, &query).await?, 1, "{name:?}");
            }
            Ok::<_, SearchError>(())
        })??;
        Ok(())
    }
}
