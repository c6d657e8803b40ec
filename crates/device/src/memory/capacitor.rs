//! The capacitor: when the power goes, it keeps the drive alive long enough to program what flash
//! misses into blocks that are kept free for it.
//!
//! Each part of the firmware whose memory it covers *claims* the pages that it may have to save. The
//! claims together decide how many blocks stay erased, and power-up checks that the capacitor's energy is
//! enough for them.

use std::ops::Add;

use media::channel::ChannelConfig;
use media::nand::cells::CellErrors;
use media::nand::{Geometry, NandConfig, ProgramMode};
use serde::{Deserialize, Serialize};
use sim::{Energy, Span};

use crate::energy;

/// Programs of a dump that may fail: so many, and one in 64.
pub(crate) const DUMP_FAILURES: u32 = 2;
/// Pages of a dump that are kept for the note of what could not be saved.
pub(crate) const DUMP_NOTES: u32 = 1;

/// What the capacitor is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacitorConfig {
    /// Energy that it gives after the power went, in millijoules.
    pub energy_millijoules: u32,
}

/// Memory of a part of the firmware that is to outlive the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Whose it is.
    pub(crate) part: &'static str,
    /// The keys that say how much it is.
    pub(crate) keys: &'static [&'static str],
    /// Pages that may have to be saved.
    pub(crate) pages: u32,
}

/// What saving all that is claimed takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Pages to save.
    pub(crate) pages: u32,
    /// Programs that this takes where some fail.
    programs: u32,
    /// How long the controller has to be awake for it.
    time: Span,
    /// What dies, channels and the controller spend.
    pub(crate) energy: Energy,
}

/// Too little energy for what is to be saved when the power goes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "capacitor.energy_millijoules = {given} is too little: {claims} may leave {pages} pages to save when the power \
     goes, which takes {needed}; raise it to that, or lower {keys}"
)]
pub struct TooWeak {
    /// What was given.
    pub given: u32,
    /// Who may leave pages to save, and how many.
    pub claims: String,
    /// All of these.
    pub pages: u32,
    /// What they need, in millijoules.
    pub needed: u64,
    /// The keys that say how many.
    pub keys: String,
}

/// What was saved when the power went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Pages programmed.
    pub pages: u64,
    /// Logical pages that could not be saved: no block was left, or the rest of the page was unreadable.
    pub lost: u64,
    /// What that took.
    pub(crate) work: Work,
    /// What dies, channels and the controller spent for that of the capacitor.
    pub energy: Energy,
}

/// What saving took, outside of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// What the dies spent.
    pub(crate) array: Energy,
    /// How long planes were busy, all of them together.
    pub(crate) busy: Span,
    /// Bytes that crossed channels.
    pub(crate) moved_bytes: u64,
}

impl Add for Dumped {
    type Output = Dumped;

    fn add(self, other: Dumped) -> Dumped {
        Dumped {
            pages: self.pages + other.pages,
            lost: self.lost + other.lost,
            work: self.work + other.work,
            energy: self.energy + other.energy,
        }
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            array: self.array + other.array,
            busy: self.busy + other.busy,
            moved_bytes: self.moved_bytes + other.moved_bytes,
        }
    }
}

/// What channels and the controller spend while pages are saved.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    channels: u32,
    planes: u32,
    channel: ChannelConfig,
    active_milliwatts: u64,
}

/// What saves a page, and at what cost.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) nand: &'a NandConfig,
    pub(crate) channel: &'a ChannelConfig,
    /// How pages are programmed.
    pub(crate) mode: ProgramMode,
    /// Logical pages of a page: each may have to be read from another page, for the part of it that is not in memory.
    pub(crate) units: u32,
    /// What the controller draws while it is awake.
    pub(crate) active_milliwatts: u64,
}

/// The capacitor of a powered drive.
pub(crate) struct Capacitor {
    claims: Vec<Claim>,
    rates: Rates,
}

impl Rates {
    /// Of a drive whose channels and controller spend nothing.
    #[cfg(test)]
    pub(crate) fn idle() -> Rates {
        Rates {
            channels: 1,
            planes: 1,
            channel: ChannelConfig {
                megabytes_per_second: 1.0,
                transfer_pj_per_byte: 0,
            },
            active_milliwatts: 0,
        }
    }

    pub(crate) fn of(means: Means<'_>) -> Rates {
        let geometry = &means.nand.geometry;
        Rates {
            channels: geometry.channels,
            planes: geometry.planes(),
            channel: means.channel.clone(),
            active_milliwatts: means.active_milliwatts,
        }
    }

    /// How long it takes if planes are busy for so long each, and bytes are moved over all channels alike.
    fn time(&self, of_plane: Span, moved_bytes: u64) -> Span {
        let of_channel = moved_bytes.div_ceil(u64::from(self.channels));
        of_plane + self.channel.span_of(of_channel)
    }

    /// What is spent, with what the dies spend.
    fn energy(&self, array: Energy, time: Span, moved_bytes: u64) -> Energy {
        let channels = moved_bytes * u64::from(self.channel.transfer_pj_per_byte);
        let controller = energy::of_power(self.active_milliwatts, time);
        array + Energy::from_pj(channels) + controller
    }

    /// What some work took, shared by the planes as [`Need`] counts it.
    fn of_work(&self, work: &Work) -> Energy {
        let of_plane = work.busy.as_ps().div_ceil(u64::from(self.planes));
        let time = self.time(Span::from_ps(of_plane), work.moved_bytes);
        self.energy(work.array, time, work.moved_bytes)
    }
}

impl CapacitorConfig {
    /// # Errors
    /// Less energy than `claims` need together.
    pub(crate) fn validate(&self, claims: &[Claim], need: &Need) -> Result<(), TooWeak> {
        let (given, needed) = (self.energy_millijoules, need.millijoules());
        if needed <= u64::from(given) {
            return Ok(());
        }
        let named = |claim: &Claim| format!("the {} ({})", claim.part, claim.keys.join(", "));
        let named: Vec<String> = claims.iter().map(named).collect();
        let keys: Vec<&str> = claims
            .iter()
            .flat_map(|claim| claim.keys)
            .copied()
            .collect();
        Err(TooWeak {
            given,
            claims: named.join(" and "),
            pages: need.pages,
            needed,
            keys: keys.join(" or "),
        })
    }
}

impl Need {
    /// For these claims.
    pub(crate) fn of(claims: &[Claim], means: Means<'_>) -> Need {
        let nand = means.nand;
        let geometry = &nand.geometry;
        let pages = claims.iter().map(|claim| claim.pages).sum();
        let programs = with_failures(pages);
        // What of a page is there in part is read first, to save the whole of it: each logical page from another page, as
        // often as can be.
        let reads = u64::from(programs) * u64::from(means.units);
        let retries = match nand.cells.errors {
            CellErrors::None => 0,
            CellErrors::Modelled => u64::from(nand.ecc.retries_max),
        };
        // Before each, references are set, and in the end again.
        let features = if retries > 0 { retries + 1 } else { 0 };
        let set = Span::from_ns(nand.latency.set_feature_ns);
        let (read, program) = (
            nand.longest_read(means.mode),
            nand.longest_program(means.mode),
        );
        let of_plane = |count: u64| count.div_ceil(u64::from(geometry.planes()));
        let moved = 2 * u64::from(programs) * u64::from(geometry.page_bytes);
        let reading = (read.span * (1 + retries) + set * features) * of_plane(reads);
        let programming = program.span * of_plane(programs.into());
        let rates = Rates::of(means);
        let time = rates.time(reading + programming, moved);
        let read_energy = read.energy * (reads * (1 + retries));
        let array = read_energy + program.energy * u64::from(programs);
        Need {
            pages,
            programs,
            time,
            energy: rates.energy(array, time, moved),
        }
    }

    /// Blocks of each plane that must stay erased for it.
    pub(crate) fn blocks_per_plane(&self, geometry: &Geometry, mode: ProgramMode) -> u32 {
        self.programs
            .div_ceil(geometry.planes())
            .div_ceil(geometry.pages_per_block(mode))
    }

    /// The energy, in whole millijoules.
    pub(crate) fn millijoules(&self) -> u64 {
        self.energy.as_pj().div_ceil(1_000_000_000)
    }
}

/// Programs for so many pages: more than is held back for those that fail.
fn with_failures(pages: u32) -> u32 {
    match pages {
        0 => 0,
        pages => pages + pages / 32 + 2 * DUMP_FAILURES,
    }
}

impl Capacitor {
    /// A capacitor that is strong enough for `claims`, as [`CapacitorConfig::validate`] has found.
    pub(crate) fn new(claims: Vec<Claim>, rates: Rates) -> Capacitor {
        Capacitor { claims, rates }
    }

    /// With what it spent.
    pub(crate) fn spent(&self, dumped: Dumped) -> Dumped {
        let energy = self.rates.of_work(&dumped.work);
        Dumped { energy, ..dumped }
    }

    /// Whether the memory of a part is saved when the power goes.
    pub(crate) fn covers(&self, part: &str) -> bool {
        self.claims.iter().any(|claim| claim.part == part)
    }
}
