//! The capacitor: when the power goes, it keeps the drive alive long enough to program what flash
//! misses into blocks that are kept free for it.
//!
//! Each part of the firmware whose memory it covers *claims* the pages that it may have to save. The
//! claims together decide how many blocks stay erased, and power-up checks that the capacitor's energy is
//! enough for them.

use std::rc::Rc;

use media::nand::{Geometry, ProgramMode};
use serde::{Deserialize, Serialize};
use sim::{Energy, Span};

use crate::config::DeviceConfig;
use crate::energy;
use crate::ftl::{DUMP_FAILURES, Dump, Ftl};

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
    /// The key that says how much it is.
    pub(crate) key: &'static str,
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

/// What was saved when the power went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Pages programmed.
    pub pages: u64,
    /// Pages that could not be saved: no block was left, or the rest of the page was unreadable.
    pub lost: u64,
    /// What the flash spent for that of the capacitor.
    pub energy: Energy,
}

/// A part of the firmware whose memory the capacitor covers.
pub(crate) trait Covered {
    /// The power is gone, and every task of the drive with it: saves what flash misses.
    fn save(&self, dump: &mut Dump<'_>, dumped: &mut Dumped);
}

/// The capacitor of a powered drive.
pub(crate) struct Capacitor {
    claims: Vec<Claim>,
    covered: Vec<Rc<dyn Covered>>,
}

impl Need {
    /// For these claims on a drive of this configuration.
    pub(crate) fn of(claims: &[Claim], config: &DeviceConfig) -> Need {
        let nand = &config.nand;
        let geometry = &nand.geometry;
        let pages = claims.iter().map(|claim| claim.pages).sum();
        let programs = with_failures(pages);
        // A page that is there in part is read first, to save the whole of it.
        let (read, program) = (
            nand.longest_read(config.ftl.mode),
            nand.longest_program(config.ftl.mode),
        );
        let rounds = u64::from(programs.div_ceil(geometry.planes()));
        let moved = 2 * u64::from(programs) * u64::from(geometry.page_bytes);
        let channel_bytes = moved.div_ceil(u64::from(geometry.channels));
        let time = (read.span + program.span) * rounds + config.channel.span_of(channel_bytes);
        let array = (read.energy + program.energy) * u64::from(programs);
        let channels = Energy::from_pj(moved * u64::from(config.channel.transfer_pj_per_byte));
        let cores = u64::from(config.cores.count) * config.cores.active_milliwatts;
        let controller = energy::of_power(config.frontend.active_milliwatts + cores, time);
        Need {
            pages,
            programs,
            time,
            energy: array + channels + controller,
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
    /// A capacitor that is strong enough for `claims`, as [`DeviceConfig::validate`] has found.
    pub(crate) fn new(claims: Vec<Claim>) -> Capacitor {
        Capacitor {
            claims,
            covered: Vec::new(),
        }
    }

    /// Covers the memory of a part, if that claims any.
    pub(crate) fn cover(&mut self, part: &str, covered: Rc<dyn Covered>) {
        if self.claims.iter().any(|claim| claim.part == part) {
            self.covered.push(covered);
        }
    }

    /// The power is gone; the flash is at rest. Takes no simulated time.
    pub(crate) fn power_lost(&self, ftl: &Ftl) -> Dumped {
        let mut dumped = Dumped::default();
        let mut dump = ftl.dump();
        for part in &self.covered {
            part.save(&mut dump, &mut dumped);
        }
        dumped.energy = dump.energy();
        dumped
    }
}
