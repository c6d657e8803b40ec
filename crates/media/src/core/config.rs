//! How many cores the controller has, how fast they are, and what firmware's work costs them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::{Energy, Span};

use crate::OutOfRange;

/// The most cycles that a kind of work may take, and the most power of a core in milliwatts.
const MOST: u64 = 1_000_000_000;

/// The controller's embedded cores, all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoresConfig {
    /// Cores of the controller, all together.
    pub count: u32,
    /// Cores that do nothing: in an evaluation platform, those that emulate what a product has as hardware. They spend the
    /// power of cores with nothing to do.
    pub unused_cores: u32,
    /// Cores that run tasks only; the others that are in use run firmware. With 0 tasks share the firmware's.
    pub task_cores: u32,
    /// Clock of each, in megahertz.
    pub clock_megahertz: u32,
    /// Power of a core at work, in milliwatts.
    pub active_milliwatts: u64,
    /// Power of a core that has nothing to do, in milliwatts.
    pub idle_milliwatts: u64,
    /// What work costs.
    pub work: WorkConfig,
}

/// Cycles of a core that each kind of firmware work takes. All zero: firmware takes no time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkConfig {
    /// A command fetched, decoded and checked.
    pub fetch_cycles: u64,
    /// A page of a read looked up, and its transaction queued.
    pub read_page_cycles: u64,
    /// A page of a write looked up and given a place, and its transaction queued.
    pub write_page_cycles: u64,
    /// A vendor command planned.
    pub plan_cycles: u64,
    /// A completion posted.
    pub complete_cycles: u64,
    /// A page of the mapping table asked for, because an entry was not at hand.
    pub mapping_miss_cycles: u64,
    /// A page copied by collection, folding or wear levelling.
    pub collect_page_cycles: u64,
    /// Sixty-four bytes of names or of a match vector looked through.
    pub examine_cycles: u64,
    /// A version of a page found that a transaction reads.
    pub find_version_cycles: u64,
    /// A page taken for a transaction that writes it, and its place noted.
    pub take_page_cycles: u64,
    /// A page that a transaction wrote shown to everybody.
    pub commit_page_cycles: u64,
}

/// A kind of firmware work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A command fetched, decoded and checked.
    Fetch,
    /// A page of a read looked up, and its transaction queued.
    ReadPage,
    /// A page of a write looked up and given a place, and its transaction queued.
    WritePage,
    /// A vendor command planned.
    Plan,
    /// A completion posted.
    Complete,
    /// A page of the mapping table asked for.
    MappingMiss,
    /// A page copied by collection.
    CollectPage,
    /// Sixty-four bytes of names or of a match vector looked through.
    Examine,
    /// A version of a page found that a transaction reads.
    FindVersion,
    /// A page taken for a transaction that writes it, and its place noted.
    TakePage,
    /// A page that a transaction wrote shown to everybody.
    CommitPage,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 11] = [
        Work::Fetch,
        Work::ReadPage,
        Work::WritePage,
        Work::Plan,
        Work::Complete,
        Work::MappingMiss,
        Work::CollectPage,
        Work::Examine,
        Work::FindVersion,
        Work::TakePage,
        Work::CommitPage,
    ];

    /// The key of its cycles.
    fn key(self) -> &'static str {
        match self {
            Work::Fetch => "work.fetch_cycles",
            Work::ReadPage => "work.read_page_cycles",
            Work::WritePage => "work.write_page_cycles",
            Work::Plan => "work.plan_cycles",
            Work::Complete => "work.complete_cycles",
            Work::MappingMiss => "work.mapping_miss_cycles",
            Work::CollectPage => "work.collect_page_cycles",
            Work::Examine => "work.examine_cycles",
            Work::FindVersion => "work.find_version_cycles",
            Work::TakePage => "work.take_page_cycles",
            Work::CommitPage => "work.commit_page_cycles",
        }
    }
}

impl WorkConfig {
    /// Cycles that `work` takes.
    #[inline]
    pub fn cycles(&self, work: Work) -> u64 {
        match work {
            Work::Fetch => self.fetch_cycles,
            Work::ReadPage => self.read_page_cycles,
            Work::WritePage => self.write_page_cycles,
            Work::Plan => self.plan_cycles,
            Work::Complete => self.complete_cycles,
            Work::MappingMiss => self.mapping_miss_cycles,
            Work::CollectPage => self.collect_page_cycles,
            Work::Examine => self.examine_cycles,
            Work::FindVersion => self.find_version_cycles,
            Work::TakePage => self.take_page_cycles,
            Work::CommitPage => self.commit_page_cycles,
        }
    }

    /// Whether any work takes time.
    pub fn takes_time(&self) -> bool {
        Work::ALL.iter().any(|work| self.cycles(*work) > 0)
    }
}

impl CoresConfig {
    /// Checks that there can be such cores.
    ///
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("count", self.count, 1, 1024)?;
        // One is left for the firmware.
        let others = u64::from(self.count) - 1;
        OutOfRange::check("unused_cores", self.unused_cores, 0, others)?;
        let others = others - u64::from(self.unused_cores);
        OutOfRange::check("task_cores", self.task_cores, 0, others)?;
        OutOfRange::check("clock_megahertz", self.clock_megahertz, 1, 100_000)?;
        OutOfRange::check("active_milliwatts", self.active_milliwatts, 0, MOST)?;
        OutOfRange::check("idle_milliwatts", self.idle_milliwatts, 0, MOST)?;
        Work::ALL
            .iter()
            .try_for_each(|work| OutOfRange::check(work.key(), self.work.cycles(*work), 0, MOST))
    }

    /// Cores that run firmware.
    pub fn firmware_cores(&self) -> u32 {
        self.count - self.unused_cores - self.task_cores
    }

    /// What the cores spend in `on` if they are at work for `busy`, all of them together.
    pub fn energy(&self, on: Span, busy: Span) -> Energy {
        self.active_energy(busy) + self.idle_energy(on, busy)
    }

    /// What they spend at work.
    pub(super) fn active_energy(&self, busy: Span) -> Energy {
        energy_of(self.active_milliwatts, busy)
    }

    /// What they spend in `on` while they are not at work.
    pub(super) fn idle_energy(&self, on: Span, busy: Span) -> Energy {
        let idle = (on * u64::from(self.count)).saturating_sub(busy);
        energy_of(self.idle_milliwatts, idle)
    }

    /// How long a core takes for so many cycles, rounded up to a picosecond.
    #[inline]
    pub fn span_of(&self, cycles: u64) -> Span {
        Span::of_transfer(cycles, u64::from(self.clock_megahertz) * 1_000_000)
    }
}

/// What a power spends in a time.
fn energy_of(milliwatts: u64, span: Span) -> Energy {
    // A milliwatt for a nanosecond is a picojoule.
    let picojoules = u128::from(milliwatts) * u128::from(span.as_ps()) / 1_000;
    Energy::from_pj(picojoules as u64)
}
