//! Configuration of the flash packages, as a preset states it, and the same in
//! spans and energies, as the hot path uses it.

use super::Busy;
use super::cells::{Cells, CellsConfig, DriveAge, EccConfig, Reading};
use super::check::{ConfigError, check_range};
use super::geometry::Geometry;
use super::mode::{PAGE_TYPES_MAX, ProgramMode};
use super::mws::MwsLimits;
use super::power::energy_of;
use crate::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::{Energy, Span};

/// Everything there is to say about the flash packages of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NandConfig {
    /// Counts and sizes.
    pub geometry: Geometry,
    /// How long commands keep a die busy.
    pub latency: Latency,
    /// How long command and address cycles keep the channel busy.
    pub bus: BusTiming,
    /// Limits of multi-wordline sensing.
    pub mws: MwsLimits,
    /// What commands cost in energy.
    pub energy: EnergyConfig,
    /// How cells lose bits.
    pub cells: CellsConfig,
    /// The code of normal data.
    pub ecc: EccConfig,
}

/// How long each command keeps its die busy, in nanoseconds. A multi-plane command takes as long
/// as its slowest plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Sense of a page with one bit per cell, to the page register (tR).
    pub read_slc_ns: u64,
    /// Sense of a page of an MLC block, by [`ProgramMode::page_type`]: lower and upper pages.
    pub read_mlc_ns: [u64; 2],
    /// Sense of a page of a TLC block: lower, middle and upper pages.
    pub read_tlc_ns: [u64; 3],
    /// Sense of a page of a QLC block, by which of the four pages of its cells it is.
    pub read_qlc_ns: [u64; 4],
    /// Sense of more than one wordline of a plane (tMWS) where `mws.time` is "stated". A sense of one
    /// wordline in one block takes `read_slc_ns` (Flash-Cosmos Figure 12).
    pub mws_ns: u64,
    /// Program of an SLC page.
    pub program_slc_ns: u64,
    /// Program of an ESP page (tESP), until a die's ESP effort is set by a feature.
    pub program_esp_ns: u64,
    /// Program of an MLC page: lower and upper pages.
    pub program_mlc_ns: [u64; 2],
    /// Program of a TLC page: lower, middle and upper pages.
    pub program_tlc_ns: [u64; 3],
    /// Program of a QLC page, by the same.
    pub program_qlc_ns: [u64; 4],
    /// Erase of a block (tBERS).
    pub erase_ns: u64,
    /// Move of a page between latches (Conduit Table 2).
    pub latch_transfer_ns: u64,
    /// XOR of two latches (Conduit Table 2).
    pub xor_ns: u64,
    /// Setting a feature (tFEAT).
    pub set_feature_ns: u64,
    /// From a suspend command to the die being free for reads.
    pub suspend_ns: u64,
    /// From a resume command to the operation going on.
    pub resume_ns: u64,
    /// Reset of a die (tRST).
    pub reset_ns: u64,
}

/// An hour in nanoseconds: beyond it picoseconds and energies could overflow.
const HOUR_NS: u64 = 3_600_000_000_000;

/// Times of the command and address phases on the channel, in nanoseconds (ONFI 4.2, section 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusTiming {
    /// One command or address cycle (tWC).
    pub command_cycle_ns: u64,
    /// From the last cycle of a command to the die showing busy (tWB); paid once a command that makes it busy.
    pub t_wb_ns: u64,
    /// From the address of a program to its data (tADL); paid once a page programmed.
    pub t_adl_ns: u64,
    /// From the die showing ready to data coming out (tRR); paid once a data-out phase.
    pub t_rr_ns: u64,
    /// How long command phases of page reads, programs and erases are. Set in `[compatibility]`.
    #[serde(skip)]
    pub phases: CommandPhases,
}

/// How long command phases of page reads, programs (copybacks included) and erases are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandPhases {
    /// Every cycle of the command as it is on the bus counts, with the times of `nand.bus`.
    #[default]
    Cycles,
    /// As stated, whatever the cycles: for models that give the phases as a whole.
    Stated(StatedPhases),
}

/// Command phases given as a whole, in nanoseconds. Data is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedPhases {
    /// A read of one plane.
    pub read_ns: u64,
    /// What each further plane adds.
    pub read_plane_ns: u64,
    /// A program of one plane.
    pub program_ns: u64,
    /// What each further plane adds.
    pub program_plane_ns: u64,
    /// An erase of one plane.
    pub erase_ns: u64,
    /// What each further plane adds.
    pub erase_plane_ns: u64,
}

/// Energies in picojoules. Those that no paper gives follow from a power, stated in percent
/// of the power of an SLC page read, times the time of the operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyConfig {
    /// Sense of an SLC page of one plane (Conduit Table 2, which states 16 planes of a channel); it sets
    /// the power of a read.
    pub read_pj: u64,
    /// Move between latches, per KiB (Conduit Table 2).
    pub latch_transfer_pj_per_kib: u64,
    /// AND or OR with what a latch holds, per KiB (Conduit Table 2).
    pub and_or_pj_per_kib: u64,
    /// XOR of two latches, per KiB (Conduit Table 2).
    pub xor_pj_per_kib: u64,
    /// Power of a program in percent of a read's (an estimate; no source states it).
    pub program_power_percent: u64,
    /// Power of an erase in percent of a read's (Flash-Cosmos 5.2: above that of a sense of 4 blocks).
    pub erase_power_percent: u64,
}

impl NandConfig {
    /// How the cells of a new drive, or one so old, behave.
    pub(super) fn cells_of_age(&self, age: DriveAge) -> Cells {
        let effort = self.latency.program_esp_ns as f64 / self.latency.program_slc_ns as f64;
        let reading = Reading {
            effort,
            raise_step_mv: f64::from(self.mws.raise_step_mv),
        };
        Cells::new(&self.cells, &self.ecc, &self.geometry, reading, age)
    }

    /// What pages take of their planes to be sensed.
    pub fn read_costs(&self) -> ReadCosts {
        ReadCosts {
            timing: Timing::new(&self.latency, &self.bus),
            costs: Costs::new(self),
        }
    }

    /// The same of the slowest page type of a mode.
    pub fn longest_read(&self, mode: ProgramMode) -> Busy {
        let costs = self.read_costs();
        longest(|page| costs.of(mode, page))
    }

    /// What the slowest page type of a mode takes of a plane to be programmed.
    pub fn longest_program(&self, mode: ProgramMode) -> Busy {
        let (timing, costs) = (Timing::new(&self.latency, &self.bus), Costs::new(self));
        let of = |page| Busy {
            span: timing.program(mode, page),
            energy: costs.program(mode, page),
        };
        longest(of)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first key that is out of its range, with the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.geometry.validate()?;
        self.mws.validate()?;
        self.cells.validate()?;
        self.ecc.validate()?;
        self.check_times()?;
        self.check_energies()
    }

    /// Energy stated per KiB, for a page.
    pub(super) fn per_page(&self, picojoules_per_kib: u64) -> Energy {
        Energy::from_pj(picojoules_per_kib * u64::from(self.geometry.page_bytes) / 1024)
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let (latency, bus) = (&self.latency, &self.bus);
        let positive = [
            ("latency.read_slc_ns", latency.read_slc_ns),
            ("latency.read_mlc_ns[0]", latency.read_mlc_ns[0]),
            ("latency.read_mlc_ns[1]", latency.read_mlc_ns[1]),
            ("latency.read_tlc_ns[0]", latency.read_tlc_ns[0]),
            ("latency.read_tlc_ns[1]", latency.read_tlc_ns[1]),
            ("latency.read_tlc_ns[2]", latency.read_tlc_ns[2]),
            ("latency.read_qlc_ns[0]", latency.read_qlc_ns[0]),
            ("latency.read_qlc_ns[1]", latency.read_qlc_ns[1]),
            ("latency.read_qlc_ns[2]", latency.read_qlc_ns[2]),
            ("latency.read_qlc_ns[3]", latency.read_qlc_ns[3]),
            ("latency.mws_ns", latency.mws_ns),
            ("latency.program_slc_ns", latency.program_slc_ns),
            ("latency.program_esp_ns", latency.program_esp_ns),
            ("latency.program_mlc_ns[0]", latency.program_mlc_ns[0]),
            ("latency.program_mlc_ns[1]", latency.program_mlc_ns[1]),
            ("latency.program_tlc_ns[0]", latency.program_tlc_ns[0]),
            ("latency.program_tlc_ns[1]", latency.program_tlc_ns[1]),
            ("latency.program_tlc_ns[2]", latency.program_tlc_ns[2]),
            ("latency.program_qlc_ns[0]", latency.program_qlc_ns[0]),
            ("latency.program_qlc_ns[1]", latency.program_qlc_ns[1]),
            ("latency.program_qlc_ns[2]", latency.program_qlc_ns[2]),
            ("latency.program_qlc_ns[3]", latency.program_qlc_ns[3]),
            ("latency.erase_ns", latency.erase_ns),
        ];
        for (key, value) in positive {
            check_range(key, value, 1..=HOUR_NS, "1 to 3600000000000 (an hour)")?;
        }
        let others = [
            ("latency.latch_transfer_ns", latency.latch_transfer_ns),
            ("latency.xor_ns", latency.xor_ns),
            ("latency.set_feature_ns", latency.set_feature_ns),
            ("latency.suspend_ns", latency.suspend_ns),
            ("latency.resume_ns", latency.resume_ns),
            ("latency.reset_ns", latency.reset_ns),
            ("bus.command_cycle_ns", bus.command_cycle_ns),
            ("bus.t_wb_ns", bus.t_wb_ns),
            ("bus.t_adl_ns", bus.t_adl_ns),
            ("bus.t_rr_ns", bus.t_rr_ns),
        ];
        for (key, value) in others {
            check_range(key, value, 0..=HOUR_NS, "0 to 3600000000000 (an hour)")?;
        }
        Ok(())
    }

    fn check_energies(&self) -> Result<(), ConfigError> {
        let energy = &self.energy;
        let picojoules = [
            ("energy.read_pj", energy.read_pj),
            (
                "energy.latch_transfer_pj_per_kib",
                energy.latch_transfer_pj_per_kib,
            ),
            ("energy.and_or_pj_per_kib", energy.and_or_pj_per_kib),
            ("energy.xor_pj_per_kib", energy.xor_pj_per_kib),
        ];
        for (key, value) in picojoules {
            check_range(
                key,
                value,
                0..=1_000_000_000_000,
                "0 to 1000000000000 (a joule)",
            )?;
        }
        let percent = [
            ("energy.program_power_percent", energy.program_power_percent),
            ("energy.erase_power_percent", energy.erase_power_percent),
        ];
        for (key, value) in percent {
            check_range(key, value, 0..=100_000, "0 to 100000")?;
        }
        Ok(())
    }
}

impl Latency {
    /// Senses by mode and page type; types that a mode has not repeat its first.
    fn reads(&self) -> ByType<u64> {
        let slc = repeated([self.read_slc_ns]);
        let (mlc, tlc) = (repeated(self.read_mlc_ns), repeated(self.read_tlc_ns));
        [slc, slc, mlc, tlc, self.read_qlc_ns]
    }

    /// The same of programs.
    fn programs(&self) -> ByType<u64> {
        [
            repeated([self.program_slc_ns]),
            repeated([self.program_esp_ns]),
            repeated(self.program_mlc_ns),
            repeated(self.program_tlc_ns),
            self.program_qlc_ns,
        ]
    }
}

/// Something of each mode, by page type.
type ByType<T> = [[T; PAGE_TYPES_MAX]; ProgramMode::ALL.len()];

/// As many types as there can be, of those that a mode has.
fn repeated<const TYPES: usize>(of: [u64; TYPES]) -> [u64; PAGE_TYPES_MAX] {
    std::array::from_fn(|kind| of[kind % TYPES])
}

impl CommandPhases {
    /// # Errors
    /// A span of more than an hour.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        let CommandPhases::Stated(phases) = *self else {
            return Ok(());
        };
        let stated = [
            ("stated.read_ns", phases.read_ns),
            ("stated.read_plane_ns", phases.read_plane_ns),
            ("stated.program_ns", phases.program_ns),
            ("stated.program_plane_ns", phases.program_plane_ns),
            ("stated.erase_ns", phases.erase_ns),
            ("stated.erase_plane_ns", phases.erase_plane_ns),
        ];
        stated
            .into_iter()
            .try_for_each(|(key, value)| OutOfRange::check(key, value, 0, HOUR_NS))
    }
}

/// The latencies as spans, by mode where they depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    /// By mode and page type.
    read: ByType<Span>,
    program: ByType<Span>,
    pub(crate) erase: Span,
    pub(crate) latch_transfer: Span,
    pub(crate) set_feature: Span,
    pub(crate) suspend: Span,
    pub(crate) resume: Span,
    pub(crate) reset: Span,
    pub(crate) command_cycle: Span,
    pub(crate) t_wb: Span,
    pub(crate) t_adl: Span,
    pub(crate) t_rr: Span,
    pub(crate) phases: CommandPhases,
}

impl Timing {
    pub(crate) fn new(latency: &Latency, bus: &BusTiming) -> Timing {
        let ns = Span::from_ns;
        Timing {
            read: latency.reads().map(|types| types.map(ns)),
            program: latency.programs().map(|types| types.map(ns)),
            erase: ns(latency.erase_ns),
            latch_transfer: ns(latency.latch_transfer_ns),
            set_feature: ns(latency.set_feature_ns),
            suspend: ns(latency.suspend_ns),
            resume: ns(latency.resume_ns),
            reset: ns(latency.reset_ns),
            command_cycle: ns(bus.command_cycle_ns),
            t_wb: ns(bus.t_wb_ns),
            t_adl: ns(bus.t_adl_ns),
            t_rr: ns(bus.t_rr_ns),
            phases: bus.phases,
        }
    }

    pub(crate) fn read(&self, mode: ProgramMode, page: u32) -> Span {
        self.read[mode as usize - 1][mode.page_type(page)]
    }

    pub(crate) fn program(&self, mode: ProgramMode, page: u32) -> Span {
        self.program[mode as usize - 1][mode.page_type(page)]
    }
}

/// The energies of commands, per plane they run on.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// By mode and page type.
    read: ByType<Energy>,
    program: ByType<Energy>,
    pub(crate) erase: Energy,
    pub(crate) latch_transfer: Energy,
}

impl Costs {
    pub(crate) fn new(config: &NandConfig) -> Costs {
        let (energy, latency) = (&config.energy, &config.latency);
        let (read_pj, read_ns) = (energy.read_pj, latency.read_slc_ns);
        let of = |ns, percent| energy_of(read_pj, read_ns, ns, percent);
        Costs {
            read: latency.reads().map(|types| types.map(|ns| of(ns, 100))),
            program: latency
                .programs()
                .map(|types| types.map(|ns| of(ns, energy.program_power_percent))),
            erase: of(latency.erase_ns, energy.erase_power_percent),
            latch_transfer: config.per_page(energy.latch_transfer_pj_per_kib),
        }
    }

    pub(crate) fn read(&self, mode: ProgramMode, page: u32) -> Energy {
        self.read[mode as usize - 1][mode.page_type(page)]
    }

    pub(crate) fn program(&self, mode: ProgramMode, page: u32) -> Energy {
        self.program[mode as usize - 1][mode.page_type(page)]
    }
}

/// What reads take of the planes of their pages, as they are charged.
#[derive(Clone, Debug)]
pub struct ReadCosts {
    timing: Timing,
    costs: Costs,
}

impl ReadCosts {
    /// What the page of this number in its block takes, which was programmed in a mode.
    pub fn of(&self, mode: ProgramMode, page: u32) -> Busy {
        Busy {
            span: self.timing.read(mode, page),
            energy: self.costs.read(mode, page),
        }
    }
}

/// Pages of a block among which every page type is, whatever the mode.
const EVERY_TYPE: u32 = 16;

/// The longest of what the pages of a block take.
fn longest(of: impl Fn(u32) -> Busy) -> Busy {
    let longest = (0..EVERY_TYPE).map(of).max_by_key(|busy| busy.span);
    longest.expect("a block has pages")
}
