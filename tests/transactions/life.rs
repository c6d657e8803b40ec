//! A drive of a seed and what it lives through: transactions and host commands side by side, power cuts, recoveries.

use std::collections::BTreeMap;
use std::rc::Rc;

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Config, Drive, Host};
use device::schedule::Origin;
use device::stream::Collectors;
use device::tx::{Extent, Isolation, Transaction, Transactions, TxError};
use sim::Random;

use crate::checker::{Promise, check};
use crate::history::{Kind, Log, Outcome, Place, Value};
use crate::random_drive;
use crate::streams::{self, Collection};

/// Logical pages that transactions and the host share, in extents of these; and those that only the host writes.
const EXTENTS: [(u32, u32); 4] = [(8, 3), (2, 2), (14, 3), COLLECTED];
pub(crate) const PAGES: [u32; 11] = [8, 9, 10, 2, 3, 14, 15, 16, 17, 18, 19];
/// Those of them that the host does not write, but a collector does.
pub(crate) const COLLECTED: (u32, u32) = (17, 3);
const HOSTS: usize = PAGES.len() - COLLECTED.1 as usize;
const OTHERS: std::ops::Range<u32> = 20..120;
/// Parts of a page that have values of their own.
pub(crate) const QUARTERS: u32 = 4;
/// Histories of a drive, one after the other.
pub const ROUNDS: u32 = 10;

/// What happened, so that nothing that finds nothing counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub histories: u64,
    pub cuts: u64,
    pub committed: u64,
    pub conflicts: u64,
    pub rolled_back: u64,
    pub cut_off: u64,
    pub host: u64,
    pub collected: u64,
    pub given_up: u64,
    pub streams: u64,
    pub collections: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.histories += other.histories;
        self.cuts += other.cuts;
        self.committed += other.committed;
        self.conflicts += other.conflicts;
        self.rolled_back += other.rolled_back;
        self.cut_off += other.cut_off;
        self.host += other.host;
        self.collected += other.collected;
        self.given_up += other.given_up;
        self.streams += other.streams;
        self.collections += other.collections;
    }
}

/// A drive whose acknowledged writes outlive the power.
pub fn config(seed: u64, random: &mut Random) -> Config {
    let config = random_drive::config(seed, random);
    let saved = random.chance(0.5);
    // Often there is room for all versions, sometimes for hardly any.
    let entries = match random.chance(0.7) {
        true => 1000,
        false => 4 + random.below(40),
    };
    let keys = [
        ("frontend.namespaces", "[]".to_owned()),
        (
            "nand.geometry.blocks_per_plane",
            (44 + random.below(8)).to_string(),
        ),
        ("cache.capacitor", "true".to_owned()),
        (
            "faults.program_failures_per_million",
            random.below(2000).to_string(),
        ),
        ("tx.capacitor", saved.to_string()),
        ("ftl.overprovisioning", "0.5".to_owned()),
        ("tx.delta_bytes", (24 * entries).to_string()),
        (
            "tx.buffer_bytes",
            (2048 * (4 + random.below(8))).to_string(),
        ),
        ("tx.read_ranges", (1 + random.below(4)).to_string()),
        ("tx.transactions_max", "4".to_owned()),
        ("collector.position_bytes", "1".to_owned()),
        ("collector.position_us", (1 + random.below(300)).to_string()),
        ("tx.undone_max", (1 + random.below(8)).to_string()),
    ];
    config
        .with(keys.iter().map(|(key, value)| (*key, value.as_str())))
        .expect("a legal drive")
}

/// What everybody needs.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) log: Log,
    pub(crate) host: Host,
    pub(crate) tx: Rc<Transactions>,
    pub(crate) collectors: Rc<Collectors>,
    pub(crate) page_bytes: u32,
    pub(crate) isolation: Isolation,
}

/// The bytes of a quarter with a value.
pub(crate) fn content(value: Value, bytes: usize) -> Vec<u8> {
    value
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(bytes)
        .collect()
}

/// The value of a quarter; none if it is torn.
fn value_of(content: &[u8]) -> Option<Value> {
    let (first, _) = content.split_first_chunk::<8>()?;
    let mut chunks = content.chunks_exact(8);
    chunks
        .all(|chunk| chunk == first)
        .then(|| u64::from_le_bytes(*first))
}

impl Scene {
    pub(crate) fn quarter(&self) -> u32 {
        self.page_bytes / QUARTERS
    }

    /// Tells what somebody saw of quarters.
    pub(crate) fn saw(&self, node: usize, first: Place, content: &[u8]) {
        let quarters = content.chunks_exact(self.quarter() as usize);
        for (number, quarter) in (first.1..).zip(quarters) {
            let page = PAGES.iter().position(|page| *page == first.0).unwrap_or(0);
            let page = PAGES[page + (number / QUARTERS) as usize];
            let place = (page, number % QUARTERS);
            match value_of(quarter) {
                Some(value) => self.log.saw(node, place, value),
                None => self.log.tell(format!("{place:?} is torn")),
            }
        }
    }

    /// A transaction reads quarters of its file: from one on, so many.
    async fn read(
        &self,
        transaction: &Transaction,
        node: usize,
        first: u32,
        count: u32,
    ) -> Result<(), TxError> {
        let offset = u64::from(first * self.quarter());
        let content = transaction.read(0, offset, count * self.quarter()).await?;
        let page = PAGES[(first / QUARTERS) as usize];
        self.saw(node, (page, first % QUARTERS), &content);
        Ok(())
    }

    async fn write(
        &self,
        transaction: &Transaction,
        node: usize,
        first: u32,
        count: u32,
    ) -> Result<(), TxError> {
        let mut bytes = Vec::new();
        for number in first..first + count {
            let value = self.log.next_value();
            let place = (PAGES[(number / QUARTERS) as usize], number % QUARTERS);
            self.log.writes(node, place, value);
            bytes.extend(content(value, self.quarter() as usize));
        }
        let offset = u64::from(first * self.quarter());
        transaction
            .write(0, offset, bytes.len() as u32, Some(&bytes))
            .await
    }

    async fn transact(self, mut random: Random) {
        let node = self.log.begin(Kind::Transaction);
        let extents = EXTENTS
            .map(|(first, pages)| Extent { first, pages })
            .to_vec();
        let bytes = u64::from(self.page_bytes) * PAGES.len() as u64;
        let file = self.tx.file(extents, bytes, true).expect("a file");
        let begun = self
            .tx
            .begin(vec![file], self.isolation, Origin::default())
            .await;
        self.log.with(node, |node| node.began.1 = self.log.tick());
        let done = match begun {
            Ok(transaction) => self.work(&transaction, node, &mut random).await,
            Err(error) => Err(error),
        };
        self.log.with(node, |node| {
            node.ended.1 = self.log.tick();
            node.outcome = match done {
                Ok(true) => Outcome::Committed,
                Ok(false) | Err(_) => Outcome::RolledBack,
            };
        });
    }

    /// Whether it committed rather than rolled itself back.
    async fn work(
        &self,
        transaction: &Transaction,
        node: usize,
        random: &mut Random,
    ) -> Result<bool, TxError> {
        let quarters = PAGES.len() as u32 * QUARTERS;
        for _ in 0..1 + random.below(4) {
            let first = random.below(quarters.into()) as u32;
            let whole = random.chance(0.4);
            let (first, count) = match whole {
                true => (
                    first / QUARTERS * QUARTERS,
                    QUARTERS * (1 + random.below(2) as u32),
                ),
                false => (first, 1 + random.below(3) as u32),
            };
            let count = count.min(quarters - first);
            self.read(transaction, node, first, count).await?;
            if random.chance(0.6) {
                self.write(transaction, node, first, count).await?;
            }
            if random.chance(0.2) {
                self.read(transaction, node, first, count).await?;
            }
        }
        if random.chance(0.15) {
            transaction.roll_back();
            return Ok(false);
        }
        self.log.with(node, |node| node.ended.0 = self.log.tick());
        transaction.commit().await?;
        Ok(true)
    }

    fn lba(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.page_bytes / self.host.block().block_bytes())
    }

    /// The host reads and writes one page after another; and others, so that garbage is collected.
    async fn serve(self, mut random: Random, reads: u32) {
        let block = self.host.block();
        for _ in 0..1 + random.below(7) {
            if random.chance(0.3) {
                let page = OTHERS.start + random.below(u64::from(OTHERS.end - OTHERS.start)) as u32;
                let bytes = content(random.below(u64::MAX), self.page_bytes as usize);
                // A drive that is full may refuse it; nobody looks at these pages.
                block.write(self.lba(page), &bytes).await.ok();
                continue;
            }
            let reads = random.below(4) < u64::from(reads);
            let pages = if reads { PAGES.len() } else { HOSTS };
            let page = PAGES[random.below(pages as u64) as usize];
            let node = self.log.begin(Kind::Host);
            self.log.with(node, |node| {
                (node.began.1, node.ended.0) = (u64::MAX, node.began.0)
            });
            let done = if reads {
                let blocks = u64::from(self.page_bytes / block.block_bytes());
                match block.read(self.lba(page), blocks).await {
                    Ok(bytes) => {
                        self.saw(node, (page, 0), &bytes);
                        true
                    }
                    Err(_) => false,
                }
            } else {
                let mut bytes = Vec::new();
                for quarter in 0..QUARTERS {
                    let value = self.log.next_value();
                    self.log.writes(node, (page, quarter), value);
                    bytes.extend(content(value, self.quarter() as usize));
                }
                block.write(self.lba(page), &bytes).await.is_ok()
            };
            self.log.with(node, |node| {
                node.ended.1 = self.log.tick();
                if done {
                    node.outcome = Outcome::Committed;
                }
            });
        }
    }
}

/// A drive and what is known of it.
pub struct Life {
    drive: Drive,
    random: Random,
    seed: u64,
    before: BTreeMap<Place, Value>,
    next_value: u64,
    tally: Tally,
}

impl Life {
    pub fn new(seed: u64) -> Result<Life, String> {
        let mut random = Random::named(seed, "transactions");
        let config = config(seed, &mut random);
        Ok(Life {
            drive: Drive::open(config).map_err(|error| error.to_string())?,
            random,
            seed,
            before: BTreeMap::new(),
            next_value: 1,
            tally: Tally::default(),
        })
    }

    fn scene(&self, log: &Log, isolation: Isolation) -> Scene {
        let device = self.drive.device().expect("power");
        Scene {
            log: log.clone(),
            host: self.drive.host().expect("power"),
            tx: device.tx.clone(),
            collectors: device.collectors.clone(),
            page_bytes: device.ftl.unit().bytes(),
            isolation,
        }
    }

    /// One history, until everything is over or, if so many events are given, until the power is cut then; and
    /// whether it can be. Gives whether everything was over.
    pub fn round(&mut self, cut: Option<u64>) -> Result<bool, String> {
        let promise = match self.random.chance(0.5) {
            true => Promise::Serializable,
            false => Promise::Snapshot,
        };
        let isolation = match promise {
            Promise::Snapshot => Isolation::Snapshot,
            Promise::Serializable => Isolation::Serializable,
        };
        let log = Log::following(self.next_value, self.before.clone());
        let scene = self.scene(&log, isolation);
        let mut own = |name: &str| Random::named(self.random.below(u64::MAX), name);
        let sim = self.drive.simulation().expect("power").handle();
        for _ in 0..1 + own("how many").below(4) {
            let (scene, mut random) = (scene.clone(), own("transaction"));
            sim.spawn_detached(async move {
                for _ in 0..1 + random.below(3) {
                    let random = Random::named(random.below(u64::MAX), "one");
                    scene.clone().transact(random).await;
                }
            });
        }
        // One client writes, so that its writes come one after the other; the other one reads.
        sim.spawn_detached(scene.clone().serve(own("writer"), 1));
        sim.spawn_detached(scene.clone().serve(own("reader"), 4));
        let beside = own("streams").chance(0.4);
        let collection = beside.then(|| Collection::new(&scene));
        if let Some(collection) = &collection {
            let (mut random, scene) = (own("streams and collectors"), scene.clone());
            let loaded = self
                .drive
                .run(streams::load)
                .map_err(|error| error.to_string())?;
            let program = loaded.map_err(|error| error.to_string())?;
            for _ in 0..1 + random.below(2) {
                let read = streams::read(scene.clone(), program);
                sim.spawn_detached(read);
            }
            if cut.is_none() {
                // What it has read is told with its outcome, which a power cut may keep back.
                let random = Random::named(random.below(u64::MAX), "writer");
                sim.spawn_detached(streams::write(scene, program, random));
            }
            sim.spawn_detached(collection.clone().send(random));
            self.tally.streams += 1 + u64::from(cut.is_none());
            self.tally.collections += 1;
        }
        drop(scene);
        let over = self.live(cut)?;
        self.drive_on(over)?;
        if let (Some(collection), false) = (&collection, over) {
            // What the drive tells of outlives the power.
            collection.told(&self.drive.device().expect("power").collectors);
        }
        self.read_all(&log)?;
        let history = log.take();
        self.count(&history.nodes);
        let told = |wrong| {
            format!(
                "{wrong} (seed {}, {promise:?}, {} histories before)",
                self.seed, self.tally.histories
            )
        };
        if let Some(wrong) = log.wrong() {
            return Err(told(wrong));
        }
        check(&history, promise).map_err(told)?;
        self.next_value = log.next_value();
        let last = history.nodes.last().expect("everything was read");
        self.before = last.reads.clone();
        self.tally.histories += 1;
        Ok(over)
    }

    fn live(&mut self, cut: Option<u64>) -> Result<bool, String> {
        let simulation = self.drive.simulation().map_err(|error| error.to_string())?;
        for _ in 0..cut.unwrap_or(u64::MAX) {
            if !simulation.step() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Cuts the power unless everything was over.
    fn drive_on(&mut self, over: bool) -> Result<(), String> {
        let counts = self.drive.device().expect("power").ftl.counts();
        self.tally.collected += counts.gc_blocks;
        self.tally.given_up += counts.snapshots_given_up;
        if !over {
            self.tally.cuts += 1;
            self.drive.power_cut().map_err(|error| error.to_string())?;
            self.drive.power_up().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Reads all that there is, while nothing else happens.
    fn read_all(&mut self, log: &Log) -> Result<(), String> {
        let scene = self.scene(log, Isolation::Snapshot);
        let node = log.begin(Kind::Everything);
        log.with(node, |node| node.began.1 = log.tick());
        let block_bytes = scene.host.block().block_bytes();
        let blocks = u64::from(scene.page_bytes / block_bytes);
        for page in PAGES {
            let lba = scene.lba(page);
            let read = self
                .drive
                .run(move |host| async move { host.block().read(lba, blocks).await });
            let read = read.map_err(|error| error.to_string())?;
            scene.saw(
                node,
                (page, 0),
                &read.map_err(|error| format!("page {page}: {error}"))?,
            );
        }
        log.with(node, |node| {
            node.ended = (log.tick(), log.tick());
            node.outcome = Outcome::Committed;
        });
        Ok(())
    }

    fn count(&mut self, nodes: &[crate::history::Node]) {
        for node in nodes {
            match (node.kind, node.outcome) {
                (Kind::Transaction, Outcome::Committed) => self.tally.committed += 1,
                (Kind::Transaction, Outcome::RolledBack) if node.ended.0 < u64::MAX => {
                    self.tally.conflicts += 1
                }
                (Kind::Transaction, Outcome::RolledBack) => self.tally.rolled_back += 1,
                (Kind::Transaction, Outcome::Unknown) => self.tally.cut_off += 1,
                (Kind::Host, _) => self.tally.host += 1,
                (Kind::Everything, _) => {}
            }
        }
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }
}

/// Lives `ROUNDS` histories of a drive, most of which end with a power cut.
pub fn live(seed: u64) -> Result<Tally, String> {
    let mut life = Life::new(seed)?;
    for _ in 0..ROUNDS {
        let cut = life.random.chance(0.7).then(|| life.random.below(250));
        life.round(cut)?;
    }
    Ok(life.tally())
}
