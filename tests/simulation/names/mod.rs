//! Names and values under a seed: random commands of lookup beside those for blocks, on random drives whose rows are full soon,
//! held against a map. What was acknowledged is there after a power cut, what was cut is there wholly or not at all, what is
//! deleted never comes back, and no lookup misses a name.
//!
//! ```text
//! BITLINE_SEED=123 cargo test -p bitline-tests --test simulation one_seed_of_names -- --nocapture
//! ```

mod check;
mod client;
mod lookups;
mod shelf;
mod slots;
mod values;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use bitline::inside::device::search::SearchCounts;
use bitline::inside::{InsideConfig, InsideDrive};
use bitline::{Ageing, Config, Drive};
use sim::Random;

use crate::clients::{Client, Shared};
use crate::life::{Cuts, live_on};
use crate::oracle::Oracle;
use crate::random_drive::config;
use client::NameClient;
pub use slots::Slots;

/// Seeds that `make test` lives, and the power cuts of each.
const SEEDS: u64 = 60;
const CUTS_PER_SEED: u32 = 12;
const CLIENTS: u64 = 3;
/// Cycles that the blocks of a drive have been through when its life begins, of which each life has one.
const WORN: [u32; 4] = [0, 0, 3_000, 20_000];

/// What happened to names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    appended: u64,
    updates: u64,
    deleted: u64,
    lookups: u64,
    found: u64,
    deallocated: u64,
    linked: u64,
    unlinked: u64,
    /// Found by mistake, which a look at the names drops.
    dropped: u64,
    sealed: u64,
    moved: u64,
    /// Shelves checked after a power cut, and commands of theirs that it cut short.
    checked: u64,
    cut_short: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.appended += other.appended;
        self.updates += other.updates;
        self.deleted += other.deleted;
        self.lookups += other.lookups;
        self.found += other.found;
        self.deallocated += other.deallocated;
        self.linked += other.linked;
        self.unlinked += other.unlinked;
        self.dropped += other.dropped;
        self.sealed += other.sealed;
        self.moved += other.moved;
        self.checked += other.checked;
        self.cut_short += other.cut_short;
    }
}

/// Somebody with names in the life of a drive.
pub struct NameLife {
    slots: Rc<Slots>,
    random: Random,
    counts: Rc<RefCell<Counts>>,
    /// Nothing is found by mistake.
    exact: bool,
    /// Cycles of its blocks when its life begins.
    worn: u32,
}

impl NameLife {
    fn new(seed: u64, config: &Config) -> NameLife {
        NameLife {
            slots: Rc::default(),
            random: Random::named(seed, "names"),
            counts: Rc::default(),
            exact: config.device().search.esp,
            worn: worn(seed),
        }
    }

    /// Takes the last blocks of the first namespace, of a drive that is no more as good as new.
    pub fn move_in(&mut self, drive: &mut Drive, oracle: &mut Oracle) -> Result<(), String> {
        let older = drive.grow_older(&Ageing::new(0.0, 30.0).after_cycles(self.worn));
        older.map_err(|error| error.to_string())?;
        let device = drive.device().map_err(|error| error.to_string())?;
        let page = u64::from(drive.config().device().nand.geometry.page_bytes);
        let page = page.max(u64::from(device.ftl.unit().bytes()));
        let slots = 1 + self.random.below(3);
        let all = oracle.blocks(0) * u64::from(oracle.block_bytes(0));
        let bytes = all / 2 / (page * slots) * page * slots;
        // The namespace may end within a page; the slots begin at one.
        let kept = all % page;
        let first = oracle.leave(0, bytes + kept);
        self.slots = Rc::new(Slots::new(first, bytes, slots));
        Ok(())
    }

    pub fn slots(&self) -> Rc<Slots> {
        self.slots.clone()
    }

    /// Counts what the drive has done since it was powered up.
    pub fn count(&self, done: &SearchCounts) {
        let mut counts = self.counts.borrow_mut();
        counts.sealed += done.rows_sealed;
        counts.moved += done.rows_moved;
    }

    /// Lets clients work for a while.
    pub fn spawn(&self, shared: &Rc<Shared>, (seed, round): (u64, u32)) {
        for number in 0..CLIENTS {
            let stream = Random::named(seed, &format!("round {round} names {number}"));
            let client = NameClient {
                client: Client::new(shared.clone(), stream),
                slots: self.slots.all().to_vec(),
                counts: self.counts.clone(),
                exact: self.exact,
            };
            shared.sim().spawn_detached(client.run());
        }
    }
}

fn worn(seed: u64) -> u32 {
    let random = &mut Random::named(seed, "names: cycles");
    WORN[random.below(WORN.len() as u64) as usize]
}

/// The drive of a seed, with pages so small that a row has some thousand names.
fn small(seed: u64, random: &mut Random) -> Config {
    let drive = config(seed, random);
    let random = &mut Random::named(seed, "names: drive");
    let flag = |random: &mut Random| random.chance(0.5).to_string();
    let links = &mut Random::named(seed, "names: link table");
    // Of some drives it has room for a few rows.
    let links_bytes = match links.chance(0.2) {
        true => 120 + links.below(400),
        false => 1 << 20,
    };
    let cells = &mut Random::named(seed, "names: cells");
    let esp = cells.chance(0.6);
    // With neither, names are missed, of which no oracle knows.
    let is_tuned = !esp || cells.chance(0.5);
    // Values in worn cells are read all the same: it is names that have no code.
    let correctable = if worn(seed) > 0 { 1000 } else { 48 };
    let keys = [
        ("frontend.namespaces", "[]".to_owned()),
        ("nand.geometry.page_bytes", "512".to_owned()),
        ("ftl.mapping_unit_bytes", "0".to_owned()),
        ("frontend.block_bytes", "512".to_owned()),
        ("nand.geometry.channels", "2".to_owned()),
        // Names that wait are facts of the journal, for which there has to be room beside the data.
        (
            "search.buffer_bytes",
            (49_152 << random.below(2)).to_string(),
        ),
        ("search.link_table_bytes", links_bytes.to_string()),
        ("ftl.overprovisioning", "0.4".to_owned()),
        (
            "nand.geometry.blocks_per_plane",
            (60 + random.below(30)).to_string(),
        ),
        (
            "nand.geometry.cells_per_string",
            [8, 16][random.below(2) as usize].to_string(),
        ),
        (
            "nand.geometry.strings_per_block",
            (1 + random.below(3)).to_string(),
        ),
        ("bits.compute_blocks_percent", "40".to_owned()),
        ("search.capacitor", random.chance(0.3).to_string()),
        ("search.write_inversion", flag(random)),
        ("search.early_termination", flag(random)),
        ("search.duplicate_suppression", flag(random)),
        ("search.esp", esp.to_string()),
        ("search.voltage_tuning", is_tuned.to_string()),
        ("nand.ecc.correctable_bits", correctable.to_string()),
    ];
    let keys = keys.iter().map(|(key, value)| (*key, value.as_str()));
    drive.with(keys).expect("every such drive is possible")
}

/// Lives the life of a seed with names.
fn live_with_names(seed: u64, cuts: u32) -> Result<(Cuts, Counts), String> {
    let mut random = Random::named(seed, "life");
    let config = small(seed, &mut random);
    let mut names = NameLife::new(seed, &config);
    let cuts = live_on(config, (seed, cuts), random, Some(&mut names))?;
    let counts = *names.counts.borrow();
    Ok((cuts, counts))
}

fn live_all(seeds: Range<u64>) -> (Cuts, Counts) {
    let mut all = (Cuts::default(), Counts::default());
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| live_with_names(seed, CUTS_PER_SEED));
        let outcome = outcome.unwrap_or_else(|_| Err("an assertion fails".into()));
        match outcome {
            Ok((cuts, counts)) => {
                all.0 += cuts;
                all.1.add(counts);
            }
            Err(loss) => panic!("seed {seed}: {loss}\nreplay: BITLINE_SEED={seed}"),
        }
    }
    all
}

#[test]
fn names_that_are_acknowledged_survive() {
    let seeds = match std::env::var("BITLINE_SEEDS") {
        Ok(_) => crate::seeds(),
        Err(_) => 0..SEEDS,
    };
    let lives = seeds.end - seeds.start;
    let (cuts, counts) = live_all(seeds);
    println!("{lives} seeds: {cuts}; {counts:?}");
    assert!(
        cuts.worn_out <= lives.div_ceil(10),
        "too many drives died: {cuts}"
    );
    // A simulation in which nothing happens finds nothing.
    assert!(
        counts.sealed > 2 * lives,
        "hardly any row was sealed: {counts:?}"
    );
    assert!(
        counts.found > 1000 * lives,
        "hardly any name was found: {counts:?}"
    );
    assert!(
        counts.cut_short > lives,
        "hardly any command was cut short: {counts:?}"
    );
    assert!(
        counts.linked + counts.unlinked > lives,
        "search regions hardly came and went: {counts:?}"
    );
    assert!(
        counts.dropped > 0,
        "nothing was found by mistake: {counts:?}"
    );
}

#[cfg(feature = "planted-bugs")]
#[test]
fn every_bug_planted_among_names_is_caught() {
    use device::planted::{Bug, plant};

    for bug in Bug::OF_NAMES {
        let planted = plant(bug);
        let caught = (0..SEEDS).find_map(|seed| {
            let outcome = std::panic::catch_unwind(|| live_with_names(seed, CUTS_PER_SEED));
            let loss = outcome
                .unwrap_or_else(|_| Err("an assertion of the firmware fails".into()))
                .err()?;
            Some((seed, loss))
        });
        drop(planted);
        let Some((seed, loss)) = caught else {
            panic!("{bug:?} was not caught within {SEEDS} seeds");
        };
        println!("{bug:?} caught by seed {seed}: {loss:.300}");
    }
}

#[test]
fn one_seed_of_names() {
    let Some(seed) = std::env::var("BITLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    else {
        return;
    };
    match live_with_names(seed, CUTS_PER_SEED) {
        Ok((cuts, counts)) => println!("seed {seed}: {cuts}; {counts:?}"),
        Err(loss) => panic!("seed {seed}: {loss}"),
    }
}
