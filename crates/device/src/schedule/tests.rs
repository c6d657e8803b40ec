//! The schedule on flash of its own, without a translation layer: every time is counted anew.

mod order;
mod pairs;
mod pieces;
mod raising;
mod ranks;
mod suspension;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::channel::{Channel, ChannelConfig};
use media::nand::cells::{CellsConfig, EccConfig};
use media::nand::{
    BlockCondition, BlockId, BusTiming, CommandPhases, DieId, EnergyConfig, Geometry, Latency,
    MwsLimits, MwsTime, Nand, NandConfig, PageAddress, PageState, Precharge, ProgramMode,
    StatedPhases, Storage,
};
use sim::{Ledger, Simulation, Span, Time};

use super::*;
use crate::memory::{BufferId, BufferSizes, Purpose, SAVED_PAGES};
use crate::part::Part;

/// Blocks of a die, two planes of eight.
const DIE: u32 = 16;
const READ: u64 = 290 + 22_500 + OUT;
const OUT: u64 = 20 + 64;
const PROGRAM: u64 = 281 + 64 + 200_000;
const ERASE: u64 = 220 + 3_500_000;
/// Command phases of suspend and resume.
const CYCLE: u64 = 25 + 100;
const SUSPEND: u64 = CYCLE + 20_000;
const RESUME: u64 = CYCLE + 5_000;

/// When something was over, in nanoseconds, and how.
type Outcome = Rc<Cell<Option<(u64, Option<Fault>)>>>;

struct Bench {
    simulation: Simulation,
    schedule: Rc<Schedule>,
    buffers: Rc<Buffers>,
    channel: Rc<Channel>,
    ledger: Rc<Ledger>,
}

pub(crate) fn nand() -> NandConfig {
    NandConfig {
        geometry: Geometry {
            channels: 1,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 8,
            strings_per_block: 1,
            cells_per_string: 4,
            page_bytes: 64,
            spare_bytes: 32,
            bits_per_cell_max: 3,
        },
        latency: Latency {
            read_slc_ns: 22_500,
            read_mlc_ns: [40_000; 2],
            read_tlc_ns: [60_000; 3],
            read_qlc_ns: [140_000; 4],
            mws_ns: 25_000,
            program_slc_ns: 200_000,
            program_esp_ns: 400_000,
            program_mlc_ns: [500_000; 2],
            program_tlc_ns: [700_000; 3],
            program_qlc_ns: [2_700_000; 4],
            erase_ns: 3_500_000,
            latch_transfer_ns: 20,
            xor_ns: 30,
            set_feature_ns: 1_000,
            suspend_ns: 20_000,
            resume_ns: 5_000,
            reset_ns: 10_000,
        },
        bus: BusTiming {
            command_cycle_ns: 25,
            t_wb_ns: 100,
            t_adl_ns: 70,
            t_rr_ns: 20,
            // MQSim's.
            phases: CommandPhases::Stated(StatedPhases {
                read_ns: 290,
                read_plane_ns: 650,
                program_ns: 281,
                program_plane_ns: 650,
                erase_ns: 220,
                erase_plane_ns: 700,
            }),
        },
        mws: MwsLimits {
            blocks_max: 4,
            time: MwsTime::Stated,
            power_percent: [100, 134, 157, 180],
            raise_step_mv: 100,
            precharge: Precharge {
                bitlines_ppm: 110_000,
                block_ppm: 13_750,
                wordline_ppm: 702,
            },
        },
        energy: EnergyConfig {
            read_pj: 20_500_000,
            latch_transfer_pj_per_kib: 10_000,
            and_or_pj_per_kib: 10_000,
            xor_pj_per_kib: 20_000,
            program_power_percent: 150,
            erase_power_percent: 190,
        },
        cells: CellsConfig::perfect(),
        ecc: EccConfig::unused(),
    }
}

pub(crate) fn config() -> ScheduleConfig {
    ScheduleConfig {
        policy: Policy::ReadPriority,
        multi_plane: true,
        interleave: Interleave::Die,
        program_transfer: ProgramTransfer::Page,
        bypass_max: 0,
        piece_max_us: 1_000_000,
        isp_share_percent: 0,
        priority_weights: [4, 2, 1],
        suspend: SuspendConfig {
            programs: false,
            erases: false,
            times_max: 8,
            program_remaining_min_ns: 50_000,
            erase_remaining_min_ns: 100_000,
        },
    }
}

impl Bench {
    fn new(config: &ScheduleConfig) -> Bench {
        config.validate().expect("a configuration");
        let simulation = Simulation::new(7);
        let sim = simulation.handle();
        let nand = Nand::open(&nand(), Storage::Memory).expect("a legal configuration");
        let channel = ChannelConfig {
            megabytes_per_second: 1000.0,
            transfer_pj_per_byte: 1,
        };
        let channel = Channel::new(&sim, &channel, 0);
        let buffers = Rc::new(Buffers::new(&sim, 64, BufferSizes::of_pages(64), true));
        let ledger = Rc::new(Ledger::default());
        let schedule = Schedule::power_up(
            &sim,
            config,
            Rc::new(RefCell::new(nand)),
            std::slice::from_ref(&channel),
            buffers.clone(),
            &ledger,
        );
        schedule.clone().serve();
        Bench {
            simulation,
            schedule,
            buffers,
            channel,
            ledger,
        }
    }

    /// A buffer for an output of a plane, and room for what else the computation may take for it.
    fn output(&self) -> BufferId {
        for _ in 0..1 + SAVED_PAGES {
            let room = self.buffers.try_room(Purpose::Command);
            let _held = room.expect("64 are enough").keep();
        }
        self.buffers.take().keep()
    }

    /// Queues `operation` at `ns`.
    fn at(&self, ns: u64, block: u32, operation: impl Operation + 'static) -> Outcome {
        let outcome = Outcome::default();
        let (sim, schedule) = (self.simulation.handle(), self.schedule.clone());
        let over = outcome.clone();
        self.simulation.handle().spawn_detached(async move {
            sim.sleep_until(Time::ZERO + Span::from_ns(ns)).await;
            let result = schedule.perform(DieId(block / DIE), operation).await;
            over.set(Some((sim.now().as_ps() / 1000, result.err())));
        });
        outcome
    }

    fn read_at(&self, ns: u64, block: u32, page: u32) -> Outcome {
        self.at(ns, block, self.read(block, page, Origin::default()))
    }

    fn read(&self, block: u32, page: u32, origin: Origin) -> Read {
        Read {
            page: address(block, page),
            column: 0,
            bytes: 64,
            into: self.buffers.take_slot(),
            at: 0,
            inverse: false,
            origin,
        }
    }

    fn program(&self, block: u32, page: u32, origin: Origin) -> Program {
        Program {
            page: address(block, page),
            mode: ProgramMode::Slc,
            from: self.filled(block as u8 + page as u8),
            bytes: 64,
            spare: SpareBytes::from_iter([9; 8]).into(),
            origin,
        }
    }

    /// Senses a page so often, each time anew, and moves it out.
    fn compute(&self, block: u32, senses: usize, priority: Priority) -> Compute {
        let pages = std::iter::once(address(block, 0)).collect();
        let sense = Command::Read {
            pages,
            inverse: false,
        };
        let plane = self.schedule.geometry().plane_of_block(BlockId(block));
        Compute {
            steps: vec![sense; senses].into(),
            outputs: std::iter::once((plane, self.output())).collect(),
            room: None,
            counted: None,
            origin: user(priority),
        }
    }

    fn filled(&self, byte: u8) -> BufferId {
        let buffer = self.buffers.take_slot();
        self.buffers.with_mut(buffer, |bytes| bytes.fill(byte));
        buffer
    }

    fn run(&self) {
        self.simulation.run();
    }
}

fn address(block: u32, page: u32) -> PageAddress {
    PageAddress {
        block: BlockId(block),
        page,
    }
}

fn erase(block: u32) -> Erase {
    Erase {
        block: BlockId(block),
        origin: Origin::own(tenants::COLLECTION),
    }
}

/// A command of the first namespace.
fn user(priority: Priority) -> Origin {
    Origin::new(tenants::namespace(0), priority)
}

fn ended(outcome: &Outcome) -> u64 {
    match outcome.get() {
        Some((at, None)) => at,
        other => panic!("not over, or not well: {other:?}"),
    }
}

#[test]
fn dies_of_a_chip_overlap_only_where_each_works_on_its_own() {
    let second = 290 + READ;
    for (interleave, same_chip) in [(Interleave::Die, second), (Interleave::Chip, 2 * READ)] {
        let mut config = config();
        config.interleave = interleave;
        let bench = Bench::new(&config);
        let (one, other) = (bench.read_at(0, 0, 0), bench.read_at(0, DIE, 0));
        bench.run();
        assert_eq!(ended(&one), READ);
        assert_eq!(ended(&other), same_chip, "{interleave:?}");
        let bench = Bench::new(&config);
        let (one, other) = (bench.read_at(0, 0, 0), bench.read_at(0, 2 * DIE, 0));
        bench.run();
        assert_eq!(ended(&one), READ);
        assert_eq!(ended(&other), second, "chips do in any case");
    }
}

/// Such as of a command that was aborted.
#[test]
fn a_read_whose_buffer_was_given_back_is_for_nobody() {
    for bytes in [64, 32] {
        let bench = Bench::new(&config());
        let programmed = bench.at(0, 1, bench.program(1, 0, Origin::default()));
        bench.run();
        let read = Read {
            bytes,
            ..bench.read(1, 0, Origin::default())
        };
        let into = read.into;
        let read = bench.at(ended(&programmed), 1, read);
        bench.buffers.give_back_slot(into);
        let others = bench.filled(7);
        assert_eq!(others.index(), into.index());
        bench.run();
        ended(&read);
        let others = bench.buffers.with(others, <[u8]>::to_vec);
        assert_eq!(others, Some(vec![7; 64]));
    }
}

#[test]
fn a_copyback_moves_a_page_inside_its_plane() {
    for interleave in [Interleave::Die, Interleave::Chip] {
        let mut config = config();
        config.interleave = interleave;
        let bench = Bench::new(&config);
        let program = bench.program(1, 0, Origin::default());
        let programmed = bench.at(0, 1, program);
        bench.run();
        let moved = bench.channel.bytes();
        let copy = Copyback {
            from: address(1, 0),
            to: address(2, 0),
            mode: ProgramMode::Slc,
            spare: SpareBytes::from_iter([4; 4]).into(),
            origin: Origin::own(tenants::COLLECTION),
        };
        let begin = ended(&programmed);
        let copied = bench.at(begin, 1, copy);
        bench.run();
        assert_eq!(ended(&copied), begin + 290 + 22_500 + 281 + 200_000);
        assert_eq!(bench.channel.bytes(), moved, "nothing crosses the channel");
        let read = bench.read(2, 0, Origin::default());
        let into = read.into;
        bench.at(0, 2, read);
        bench.run();
        bench.buffers.with(into, |bytes| assert_eq!(bytes, [1; 64]));
        let nand = bench.schedule.nand();
        let spare = nand.spare(nand.geometry().ppa(address(2, 0)));
        assert_eq!(spare.map(|spare| &spare[..4]), Some(&[4; 4][..]));
        assert_eq!(bench.schedule.counts().copybacks, 1);
    }
}

#[test]
fn what_was_not_written_crosses_the_channel_only_if_the_die_must_have_it() {
    for (transfer, bytes) in [(ProgramTransfer::Page, 64), (ProgramTransfer::Written, 16)] {
        let mut config = config();
        config.program_transfer = transfer;
        let bench = Bench::new(&config);
        let mut program = bench.program(0, 0, Origin::default());
        program.bytes = 16;
        let programmed = bench.at(0, 0, program);
        bench.run();
        assert_eq!(ended(&programmed), PROGRAM - 64 + bytes, "{transfer:?}");
    }
}

#[test]
fn what_is_done_is_counted_for_its_tenant() {
    let bench = Bench::new(&config());
    let second = Origin::new(tenants::namespace(1), Priority::High);
    let program = bench.program(8, 0, second);
    let programmed = bench.at(0, 8, program);
    bench.run();
    let begin = ended(&programmed);
    // One command of two planes, a page for each namespace.
    let mine = bench.at(begin, 1, bench.read(1, 0, user(Priority::High)));
    let theirs = bench.at(begin, 8, bench.read(8, 0, second));
    bench.run();
    let ends = [&mine, &theirs].map(ended);
    assert_eq!(bench.schedule.counts().multi_plane_reads, 1);
    let [of_first, of_second] =
        [0, 1].map(|namespace| bench.schedule.served(tenants::namespace(namespace)));
    assert_eq!(of_first.reads.count(), 1);
    assert_eq!(of_second.reads.count(), 1);
    assert_eq!(
        (of_first.programs.count(), of_second.programs.count()),
        (0, 1)
    );
    assert_eq!(of_second.programs.max(), Span::from_ns(PROGRAM));
    let apart = of_first
        .reads
        .max()
        .as_ps()
        .abs_diff(of_second.reads.max().as_ps());
    assert_eq!(apart / 1000, ends[0].abs_diff(ends[1]));
    // Two senses of 20.5 uJ, a page each; the channel is not on this ledger.
    let spent = |namespace| {
        bench
            .ledger
            .spent_for(tenants::namespace(namespace))
            .as_pj()
    };
    assert_eq!(spent(0), 20_500_000);
    assert_eq!(spent(0) + spent(1), bench.ledger.total().as_pj());
}
