//! Computations in pieces: what waits for them waits no longer than a piece, and what they left in
//! the latches is there when they go on.

use media::nand::{Iscm, MwsPlane, MwsSlot, PlaneMask, WordlineBitmap};
use sim::Random;
use sim::resource::Semaphore;

use super::*;

/// Blocks of each plane that hold operands, and their pages.
const BLOCKS: u32 = 4;
const PAGES: u32 = 4;
/// A sense of one wordline: its cycles (command, flags, address and bitmap of a plane or two), and tR.
const T_R: u64 = 22_500;
/// A page over the channel into a latch: six cycles, tADL and 64 bytes; and out of one.
const IN: u64 = 6 * 25 + 70 + 64;
/// A move between the latches.
const MOVE: u64 = 2 * 25 + 100 + 20;

/// What page `page` of a block holds.
fn operand(block: u32, page: u32) -> u8 {
    (0x9E + 37 * block + 101 * page) as u8
}

/// A bench whose first die has operands in both planes, and the instant at which they are there.
fn bench(config: &ScheduleConfig) -> (Bench, u64) {
    let bench = Bench::new(config);
    for block in (0..BLOCKS).chain(8..8 + BLOCKS) {
        for page in 0..PAGES {
            let program = Program {
                from: bench.filled(operand(block, page)),
                ..bench.program(block, page, Origin::default())
            };
            bench.at(0, block, program);
        }
    }
    bench.run();
    let now = bench.simulation.now().as_ps().div_ceil(1000);
    (bench, now)
}

/// A sense of one page in each plane of the die.
fn sense(iscm: Iscm, block: u32, page: u32) -> Command {
    let plane = |block| MwsPlane {
        slots: std::iter::once(MwsSlot {
            block: BlockId(block),
            string: 0,
            wordlines: WordlineBitmap::single(page),
        })
        .collect(),
    };
    Command::mws(iscm, [plane(block), plane(8 + block)].into_iter().collect())
}

/// ParaBit's serial AND over so many operands.
fn serial_and(count: usize) -> Vec<Command> {
    let flags = |step: usize| Iscm {
        inverse: false,
        init_s: step == 0,
        init_c: step == 0,
        transfer: step + 1 == count,
    };
    let operands = (0..count as u32).map(|step| (step / PAGES % BLOCKS, step % PAGES));
    let steps = operands.enumerate();
    steps
        .map(|(step, (block, page))| sense(flags(step), block, page))
        .collect()
}

/// A computation on both planes of the first die, and where its outputs go.
fn computation(bench: &Bench, steps: Vec<Command>) -> (Compute, [BufferId; 2]) {
    let buffers = [(); 2].map(|()| bench.output());
    let compute = Compute {
        steps: steps.into(),
        outputs: [PlaneId(0), PlaneId(1)].into_iter().zip(buffers).collect(),
        room: None,
        counted: None,
        origin: user(Priority::High),
    };
    (compute, buffers)
}

fn byte(bench: &Bench, buffer: BufferId) -> u8 {
    let all = bench.buffers.with(buffer, |bytes| {
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        bytes[0]
    });
    all.expect("buffers hold data")
}

fn with_pieces(us: u64) -> ScheduleConfig {
    ScheduleConfig {
        piece_max_us: us,
        ..config()
    }
}

#[test]
fn a_read_waits_for_a_piece_and_for_what_is_in_its_way() {
    const SENSES: u64 = 16;
    for (us, plane, saves) in [(100, 0, 2), (100, 1, 2), (1_000_000, 0, 0)] {
        let (bench, begin) = bench(&with_pieces(us));
        let steps = serial_and(SENSES as usize);
        let step = bench.schedule.nand().command_span(&steps[0]).as_ps() / 1000 + T_R;
        let (compute, outputs) = computation(&bench, steps);
        let computed = bench.at(begin, 0, compute);
        let read = bench.read_at(begin + 10_000, 8 * plane + 5, 0);
        bench.run();
        let counts = bench.schedule.counts();
        assert_eq!(
            (counts.latches_saved, counts.latches_restored),
            (saves, saves)
        );
        // S is moved to C and out, both planes after each other.
        let save = MOVE + 2 * OUT;
        let (read_ends, pieces) = match us {
            // Four steps fit, a fifth does not.
            100 => (4 * step + save + READ, save + READ + 2 * IN + MOVE),
            _ => (SENSES * step + 2 * OUT + READ, 0),
        };
        assert_eq!(ended(&read), begin + read_ends);
        assert_eq!(ended(&computed), begin + SENSES * step + 2 * OUT + pieces);
        for (plane, buffer) in outputs.into_iter().enumerate() {
            let blocks = (0..BLOCKS).map(|block| 8 * plane as u32 + block);
            let all = blocks.flat_map(|block| (0..PAGES).map(move |page| operand(block, page)));
            let and = all.fold(u8::MAX, |and, byte| and & byte);
            assert_eq!(byte(&bench, buffer), and);
        }
    }
}

#[test]
fn both_latches_are_saved_to_the_outputs_and_one_page_more_a_plane() {
    let (bench, begin) = bench(&with_pieces(1));
    let flags = |init_s, init_c, transfer| Iscm {
        inverse: false,
        init_s,
        init_c,
        transfer,
    };
    let steps = vec![
        sense(flags(true, true, true), 0, 0),
        sense(flags(true, false, false), 1, 0),
        sense(flags(false, false, true), 2, 0),
    ];
    let first = bench.schedule.nand().command_span(&steps[0]);
    let (compute, outputs) = computation(&bench, steps);
    let computed = bench.at(begin, 0, compute);
    // It comes during the second step, after which both latches are needed. Were there room for less,
    // debug builds would tell.
    let read = bench.read_at(begin + first.as_ps() / 1000 + T_R + 1, 5, 0);
    bench.run();
    assert!(ended(&read) < ended(&computed));
    let counts = bench.schedule.counts();
    assert_eq!((counts.latches_saved, counts.latches_restored), (4, 4));
    for (plane, buffer) in (0u32..).zip(outputs) {
        let value = |block| operand(8 * plane + block, 0);
        assert_eq!(byte(&bench, buffer), value(0) | (value(1) & value(2)));
    }
}

#[test]
fn without_other_work_pieces_cost_nothing() {
    let ends = [1, 1_000_000].map(|us| {
        let (bench, begin) = bench(&with_pieces(us));
        let outcomes = [16, 12].map(|senses| {
            let (compute, _) = computation(&bench, serial_and(senses));
            bench.at(begin, 0, compute)
        });
        bench.run();
        assert_eq!(bench.schedule.counts().computations_interrupted, 0);
        outcomes.map(|outcome| ended(&outcome))
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn a_read_of_another_plane_leaves_the_latches_alone() {
    let (bench, begin) = bench(&with_pieces(1));
    let (mut compute, outputs) = computation(&bench, serial_and(16));
    // Plane 0 alone.
    compute.steps = compute
        .steps
        .iter()
        .map(|step| match step {
            Command::Mws(mws) => Command::mws(mws.iscm, mws.planes[..1].iter().cloned().collect()),
            other => other.clone(),
        })
        .collect();
    compute.outputs.truncate(1);
    let computed = bench.at(begin, 0, compute);
    let reads: Vec<_> = (1..=4)
        .map(|number| bench.read_at(begin + number * 40_000, 13, 0))
        .collect();
    bench.run();
    assert!(reads.iter().all(|read| ended(read) < ended(&computed)));
    let counts = bench.schedule.counts();
    assert!(counts.computations_interrupted >= 4);
    assert_eq!(counts.latches_saved, 0);
    let all = (0..BLOCKS).flat_map(|block| (0..PAGES).map(move |page| operand(block, page)));
    assert_eq!(
        byte(&bench, outputs[0]),
        all.fold(u8::MAX, |and, byte| and & byte)
    );
}

/// A sequence of senses and XORs with any legal flags, and what it leaves in C, a byte a plane.
fn sequence(random: &mut Random) -> (Vec<Command>, [u8; 2]) {
    let mut latches = [(0u8, 0u8); 2];
    let length = 4 + random.below(20);
    let steps = (0..length).map(|step| {
        if step > 0 && random.below(5) == 0 {
            latches = latches.map(|(s, c)| (s, s ^ c));
            return Command::Xor {
                planes: PlaneMask(3),
            };
        }
        let init_s = step == 0 || random.below(2) == 0;
        let iscm = Iscm {
            inverse: init_s && random.below(2) == 0,
            init_s,
            init_c: step == 0 || random.below(8) == 0,
            transfer: random.below(2) == 0,
        };
        let (block, page) = (
            random.below(u64::from(BLOCKS)) as u32,
            random.below(u64::from(PAGES)) as u32,
        );
        for (plane, (s, c)) in (0..).zip(&mut latches) {
            let value = operand(8 * plane + block, page);
            let value = if iscm.inverse { !value } else { value };
            *s = if iscm.init_s { value } else { *s & value };
            *c = if iscm.init_c { 0 } else { *c };
            *c |= if iscm.transfer { *s } else { 0 };
        }
        sense(iscm, block, page)
    });
    let steps = steps.collect();
    (steps, latches.map(|(_, c)| c))
}

#[test]
fn what_is_computed_does_not_depend_on_what_goes_between() {
    let (mut saved, mut interrupted, mut suspended) = (0, 0, 0);
    for seed in 0..120 {
        let policy = [
            Policy::FirstCome,
            Policy::ReadPriority,
            Policy::PriorityClasses,
            Policy::PriorityAware,
        ][seed as usize % 4];
        let mut config = with_pieces(1 + seed % 40);
        config.policy = policy;
        config.interleave = [Interleave::Die, Interleave::Chip][seed as usize / 4 % 2];
        config.bypass_max = [0, 1, 8][seed as usize / 8 % 3];
        config.suspend.programs = policy != Policy::FirstCome && seed / 4 % 4 > 1;
        config.suspend.erases = config.suspend.programs;
        let (bench, begin) = bench(&config);
        let simulation = Simulation::new(seed);
        let mut random = simulation.handle().random("pieces");
        let mut computed = Vec::new();
        for _ in 0..6 {
            let (steps, expected) = sequence(&mut random);
            let (mut compute, outputs) = computation(&bench, steps);
            let priority = Priority::ALL[random.below(4) as usize];
            compute.origin = user(priority).ranked(Rank::of(priority as u32, 1 << 14));
            let outcome = bench.at(begin + random.below(300_000), 0, compute);
            computed.push((outcome, outputs, expected));
        }
        // Collection is urgent at times, so that programs and erases come between, too.
        bench
            .schedule
            .set_collection_urgent(PlaneId(0), seed % 2 == 0);
        let own = Origin::own(tenants::COLLECTION);
        let mut others = Vec::new();
        for page in 0..PAGES {
            let program = bench.program(6, page, own);
            others.push(bench.at(begin + 100_000 * u64::from(page), 6, program));
            others.push(bench.at(begin + random.below(400_000), 15, erase(15)));
        }
        for _ in 0..60 {
            // Of either plane of the die, and of the other die of the chip.
            let plane = [0, 0, 8, 8, 16][random.below(5) as usize];
            let (at, block) = (
                begin + random.below(2_000_000),
                plane + random.below(4) as u32,
            );
            others.push(bench.read_at(at, block, 1));
        }
        bench.run();
        for (outcome, outputs, expected) in &computed {
            ended(outcome);
            let found = outputs.map(|buffer| byte(&bench, buffer));
            assert_eq!(found, *expected, "seed {seed}, {policy:?}");
        }
        assert!(others.iter().all(|outcome| ended(outcome) > begin));
        let counts = bench.schedule.counts();
        saved += counts.latches_saved;
        interrupted += counts.computations_interrupted;
        suspended += counts.program_suspensions + counts.erase_suspensions;
        if policy == Policy::FirstCome {
            assert_eq!(counts.computations_interrupted, 0);
        }
    }
    assert!(
        saved > 500 && interrupted > 200 && suspended > 20,
        "{saved} {interrupted} {suspended}"
    );
}

#[test]
fn a_die_does_not_wait_for_room() {
    let (bench, begin) = bench(&config());
    let room = Rc::new(Semaphore::new(&bench.simulation.handle(), 0));
    let and = (0..BLOCKS)
        .flat_map(|block| (0..PAGES).map(move |page| operand(block, page)))
        .fold(u8::MAX, |and, byte| and & byte);
    let [(first, first_out), (second, second_out)] = [(); 2].map(|()| {
        let (compute, outputs) = computation(&bench, serial_and(16));
        let room = Some(room.clone());
        (Compute { room, ..compute }, outputs)
    });
    let (first, second) = (bench.at(begin, 0, first), bench.at(begin, 0, second));
    let erased = bench.at(begin + 1, 15, erase(15));
    let late = begin + 2_000_000;
    // A block of the other plane of the same die, and of the same plane.
    let reads = [
        bench.read_at(late, 13, 0),
        bench.read_at(late + 500_000, 5, 0),
    ];
    let program = bench.program(7, 0, user(Priority::High));
    let programmed = bench.at(late + 1_000_000, 7, program);
    bench.run();
    assert_eq!(
        (first.get(), second.get()),
        (None, None),
        "there is no room"
    );
    assert_eq!(erased.get(), None, "an erase overtakes no computation");
    assert_eq!(
        ended(&reads[0]),
        late + 2 * OUT + READ,
        "the outputs go first"
    );
    assert_eq!(ended(&reads[1]), late + 500_000 + READ);
    assert_eq!(ended(&programmed), late + 1_000_000 + PROGRAM);
    assert_eq!(bench.schedule.counts().latches_saved, 2);
    let senses = bench.schedule.counts().senses;
    room.release(2);
    bench.run();
    assert!(
        first.get().is_some(),
        "what was moved out waits for nothing but room"
    );
    assert_eq!(first_out.map(|buffer| byte(&bench, buffer))[0], and);
    assert!(
        bench.schedule.counts().senses > senses,
        "the next one goes on"
    );
    assert_eq!(second.get(), None);
    room.release(2);
    bench.run();
    assert!(second.get().is_some() && erased.get().is_some());
    assert_eq!(second_out.map(|buffer| byte(&bench, buffer))[0], and);
}

#[test]
fn an_urgent_computation_goes_between_the_pieces_of_another() {
    let mut config = with_pieces(30);
    config.policy = Policy::PriorityClasses;
    let priorities = [
        (Priority::Urgent, Priority::Low, true),
        (Priority::High, Priority::Low, false),
        (Priority::Low, Priority::Urgent, false),
        (Priority::Urgent, Priority::Urgent, false),
    ];
    for (late, early, first) in priorities {
        let (bench, begin) = bench(&config);
        let [one, other] = [early, late].map(|priority| {
            let (compute, _) = computation(&bench, serial_and(16));
            let origin = user(priority);
            Compute { origin, ..compute }
        });
        let one = bench.at(begin, 0, one);
        let other = bench.at(begin + 1, 0, other);
        bench.run();
        assert_eq!(
            ended(&other) < ended(&one),
            first,
            "{late:?} behind {early:?}"
        );
    }
}
