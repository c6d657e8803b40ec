//! Estimates against what the simulation then takes and spends.

use bitline::inside::InsideConfig;
use std::collections::BTreeMap;

use bitline::{Drive, EnergyEntry, Expression, PlanPart, Platform, VectorId};
use nvme::command::Home;
use sim::Span;

use crate::numbered::Numbered;
use crate::{Random, open};

/// Drives that are bound by different parts: stripes of few and of many dies, pages small and large,
/// an accelerator that is fast, slow or short of room.
const DRIVES: [&[(&str, &str)]; 5] = [
    &[("data.storage", "none")],
    &[
        ("data.storage", "none"),
        ("nand.geometry.channels", "8"),
        ("nand.geometry.chips_per_channel", "8"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.strings_per_block", "4"),
        ("nand.geometry.cells_per_string", "48"),
        ("bits.accelerator_buffer_bytes", "262144"),
    ],
    &[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "16"),
        ("nand.mws.time", "measured"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("bits.accelerator_megabytes_per_second", "1500"),
    ],
    &[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.cells_per_string", "16"),
        ("bits.accelerator_buffer_bytes", "65536"),
        ("link.lanes", "1"),
        ("host.batch_bytes", "10000"),
    ],
    // Firmware takes its time.
    &[
        ("data.storage", "none"),
        ("cores.count", "2"),
        ("cores.active_milliwatts", "200"),
        ("cores.idle_milliwatts", "2"),
        ("cores.work.fetch_cycles", "1850"),
        ("cores.work.plan_cycles", "20000"),
        ("cores.work.complete_cycles", "794"),
    ],
];

/// Logical pages of a flash page, where it has room for so many.
const UNITS: [u32; 4] = [1, 4, 16, 2];

fn vector(group: u32, number: u32) -> Expression {
    VectorId::new(group, number).into()
}

fn all(group: u32, count: u32) -> Expression {
    Expression::all((0..count).map(|number| VectorId::new(group, number))).expect("operands")
}

/// Plans of one sense and of many, of one page and of several.
fn expressions() -> Vec<Expression> {
    let any = |group, count| {
        Expression::any((0..count).map(|number| VectorId::new(group, number))).expect("operands")
    };
    let parity = (0..4).map(|number| VectorId::new(0, number));
    vec![
        vector(0, 0),
        !vector(0, 0),
        all(0, 4),
        any(1, 4),
        any(0, 4),
        all(0, 2) | all(1, 2) | vector(2, 0),
        Expression::parity(parity).expect("operands"),
        (vector(0, 0) ^ vector(0, 1)) & (vector(0, 0) ^ vector(0, 2)),
        (vector(0, 0) ^ vector(1, 1))
            & (vector(2, 0) ^ vector(0, 2))
            & (vector(1, 0) ^ vector(2, 1)),
    ]
}

fn drive_with_vectors(settings: &[(&str, &str)], bits: u64) -> Drive {
    let mut drive = open(settings);
    let data = vec![0; bits.div_ceil(8) as usize];
    for group in 0..3 {
        for number in 0..4 {
            let id = VectorId::new(group, number);
            let written = drive.write_vector(id, bits, group == 1, &data);
            written.expect("there is room");
        }
    }
    drive
}

/// Lets what is on its way arrive.
fn settle(drive: &mut Drive) {
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(1)).await });
    pause.expect("nothing hangs");
}

/// Energy by component and cause.
fn spent(drive: &Drive) -> BTreeMap<(String, String), u64> {
    let statistics = drive.statistics().expect("power");
    let entries = statistics.energy.into_iter();
    let entry = |entry: EnergyEntry| ((entry.component, entry.cause), entry.energy_pj);
    entries.map(entry).collect()
}

/// How long an evaluation takes, in nanoseconds.
fn time_of(drive: &mut Drive, expression: &Expression, platform: Platform, count: bool) -> f64 {
    let begin = drive.now();
    if count {
        let counted = drive.count_ones(expression, platform);
        counted.expect("the vectors are there");
    } else {
        let read = drive.evaluate(expression, platform);
        read.expect("the vectors are there");
    }
    drive.now().since(begin).as_ns()
}

/// Checks an estimate against an evaluation: energy account by account, but for what the controller draws
/// all the time; that, and time itself, within half a percent.
fn check(drive: &mut Drive, expression: &Expression, platform: Platform, bits: u64, count: bool) {
    let told = drive.ask(expression).on(platform).explanation(None, count);
    let told = told.expect("the vectors are there").estimate;
    settle(drive);
    let before = spent(drive);
    let took = time_of(drive, expression, platform, count);
    settle(drive);
    let case = format!("{platform}, {bits} bits, count {count}: {expression}");
    for (account, energy) in spent(drive) {
        let spent = energy - before.get(&account).copied().unwrap_or(0);
        let entries = told.energy.iter();
        let mut entry =
            entries.filter(|entry| (&entry.component, &entry.cause) == (&account.0, &account.1));
        let estimated = entry.next().map_or(0, |entry| entry.energy_pj);
        if account.1 == "active" || account.1 == "cores" && spent > 0 {
            let ratio = estimated as f64 / spent as f64;
            assert!(
                (0.995..1.005).contains(&ratio),
                "{ratio} of {account:?} of {case}"
            );
            continue;
        }
        assert_eq!(estimated, spent, "{account:?} of {case}");
    }
    let ratio = told.time_ns / took;
    assert!(
        (0.995..1.005).contains(&ratio),
        "{ratio} of the time of {case}"
    );
}

#[test]
fn estimates_are_what_the_simulation_takes_and_spends() {
    for settings in DRIVES {
        let geometry = open(settings).config().device().nand.geometry.clone();
        let page_bits = u64::from(geometry.page_bytes) * 8;
        let planes = u64::from(geometry.planes());
        for chunks in [1, 3, planes, planes + 3, 4 * planes] {
            let bits = chunks * page_bits - 19;
            let mut drive = drive_with_vectors(settings, bits);
            for expression in expressions() {
                for platform in Platform::NAMED {
                    for count in [false, true] {
                        check(&mut drive, &expression, platform, bits, count);
                    }
                }
            }
        }
    }
}

/// So long that only a part of it is lived through.
#[test]
fn long_vectors_go_on_as_they_began() {
    let planes = u64::from(open(DRIVES[0]).config().device().nand.geometry.planes());
    let bits = 512 * 8 * planes * 4000 + 12_345;
    let settings = [DRIVES[0], &[("nand.geometry.blocks_per_plane", "16000")]].concat();
    let mut drive = drive_with_vectors(&settings, bits);
    let expression = Expression::parity([all(0, 4), all(1, 4), all(2, 4)]).expect("operands");
    for platform in [
        Platform::FlashCosmos,
        Platform::ParaBit,
        Platform::InStorage,
    ] {
        check(&mut drive, &expression, platform, bits, false);
    }
}

#[test]
fn explanations_say_what_the_latches_hold() {
    let mut drive = open(&[]);
    for number in 0..3 {
        let id = VectorId::new(7, number);
        let inverse = number == 2;
        drive.write_vector(id, 8, inverse, &[0]).expect("room");
    }
    let asked = (vector(7, 0) | !vector(7, 1)) & vector(7, 2);
    let cosmos = Platform::FlashCosmos;
    let told = drive.ask(&asked).on(cosmos).explanation(None, false);
    let told = told.expect("the vectors are there");
    assert_eq!((told.bits, told.chunks), (8, 1));
    let PlanPart::Page { steps, .. } = &told.root else {
        panic!("{told:?} is more than a page");
    };
    let last = steps.last().expect("steps");
    assert_eq!((steps.len(), last.c.as_str()), (4, "(7:0 | !7:1) & 7:2"));
    let longer = drive.ask(&asked).on(cosmos);
    let longer = longer.explanation(Some(1 << 30), false);
    let longer = longer.expect("the vectors are there");
    assert!(longer.estimate.time_ns > told.estimate.time_ns && longer.root == told.root);
    let none = drive
        .ask(&asked)
        .on(Platform::Host)
        .explanation(Some(0), false);
    assert!(none.is_err(), "no bits");
}

/// What an evaluation on a drive at rest takes of what was estimated, and whether it gathered.
fn ratio(
    drive: &mut Drive,
    expression: &Expression,
    platform: Platform,
    count: bool,
) -> (f64, bool) {
    // Blocks that were lent before are erased by then.
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(500_000)).await });
    pause.expect("nothing hangs");
    let told = drive.ask(expression).on(platform).explanation(None, count);
    let told = told.expect("the vectors are there").estimate.time_ns;
    let gathers = |drive: &Drive| drive.statistics().expect("power").bits.gathers;
    let before = gathers(drive);
    let took = time_of(drive, expression, platform, count);
    (told / took, gathers(drive) > before)
}

/// Writes some blocks of vectors singly: their slots are elsewhere then, and the rest of their pages is where it was.
/// How many.
fn rewrite_some(drive: &mut Drive, random: &mut Random) -> u64 {
    let stored = drive.vectors(None).expect("a list");
    let block_bytes = u64::from(drive.config().device().frontend.block_bytes);
    let rewrites = random.below(12);
    for _ in 0..rewrites {
        let vector = &stored[random.below(stored.len() as u64) as usize].vector;
        let extent = vector.extents[random.below(vector.extents.len() as u64) as usize];
        let first = random.below(extent.blocks);
        let blocks = (1 + random.below(40)).min(extent.blocks - first);
        let data = vec![0; (blocks * block_bytes) as usize];
        let written = drive.write(extent.first + first, &data);
        written.expect("there is room");
    }
    rewrites
}

/// Time and energy where blocks of vectors were written singly.
#[test]
fn what_lies_apart_is_read_as_estimated() {
    for (seed, units) in [(1, 1), (2, 2), (3, 4), (4, 16)] {
        let mut random = Random(seed);
        let unit = (16384 / units).to_string();
        let settings = [DRIVES[1], &[("ftl.mapping_unit_bytes", &*unit)]].concat();
        let planes = u64::from(open(&settings).config().device().nand.geometry.planes());
        for chunks in [3, planes + 3] {
            let bits = chunks * 16384 * 8 - 19;
            let mut drive = drive_with_vectors(&settings, bits);
            while rewrite_some(&mut drive, &mut random) == 0 {}
            let reads = drive.statistics().expect("power").flash.page_reads;
            for expression in expressions() {
                for platform in Platform::NAMED {
                    check(&mut drive, &expression, platform, bits, false);
                }
            }
            let read = drive.statistics().expect("power").flash.page_reads - reads;
            assert!(read > 0, "everything is where it was");
        }
    }
}

/// Random expressions over groups at random homes, of random lengths, on all drives; on some, blocks of vectors were
/// written singly.
#[test]
fn estimates_hold_for_a_thousand_random_evaluations() {
    const EXPRESSIONS: u64 = 10;
    let mut random = Random(77);
    let mut off: Vec<String> = Vec::new();
    let (mut cases, mut gathered, mut apart) = (0, 0, 0);
    for number in 0..1000 / EXPRESSIONS {
        let settings = DRIVES[number as usize % DRIVES.len()];
        let rate = ["100", "2000", "9600"][random.below(3) as usize];
        let room = [
            ("bits.compute_blocks_percent", "60"),
            ("nand.geometry.blocks_per_plane", "200"),
            // So slow that pages are brought together sometimes.
            ("bits.accelerator_megabytes_per_second", rate),
        ];
        let page_bytes = open(settings).config().device().nand.geometry.page_bytes;
        let units = UNITS[number as usize / DRIVES.len() % UNITS.len()];
        let unit = (page_bytes / units).max(512).to_string();
        let unit = [("ftl.mapping_unit_bytes", &*unit)];
        let mut drive = open(&[settings, &room, &unit].concat());
        let geometry = drive.config().device().nand.geometry.clone();
        let page_bits = u64::from(geometry.page_bytes) * 8;
        let chunks = 1 + random.below(3 * u64::from(geometry.planes()));
        let bits = chunks * page_bits - random.below(page_bits);
        let data = vec![0; bits.div_ceil(8) as usize];
        let mut vectors = Vec::new();
        for group in 0..4 {
            let dies = [0, 0, 1, 2, 3][random.below(5) as usize];
            let first = random.below(geometry.dies().into()) as u16;
            let home = Home { first, dies };
            let inverse = random.below(3) == 0;
            for vector in 0..3 {
                let id = VectorId::new(group, vector);
                let written = drive.write_vector_at(home, id, bits, inverse, &data);
                written.expect("there is room");
                vectors.push(id);
            }
        }
        let rewrites = match number % 2 {
            0 => 0,
            _ => rewrite_some(&mut drive, &mut random),
        };
        apart += EXPRESSIONS * u64::from(rewrites > 0);
        for _ in 0..EXPRESSIONS {
            let expression = random.expression(&vectors, 3);
            let platform = Platform::ALL[random.below(Platform::ALL.len() as u64) as usize];
            let count = random.below(2) == 0;
            let (ratio, gathers) = ratio(&mut drive, &expression, platform, count);
            cases += 1;
            gathered += u32::from(gathers);
            if !(0.99..=1.01).contains(&ratio) {
                off.push(format!(
                    "{ratio:.3} drive {number}, {units} units, {rewrites} rewrites, {platform}, {chunks} chunks, count {count}, gathers {gathers}: {expression}"
                ));
            }
        }
    }
    println!(
        "{cases} evaluations, {gathered} gathered, {apart} beside blocks written singly, {} off",
        off.len()
    );
    assert!(gathered > 0, "nothing was gathered");
    assert!(off.is_empty(), "{}", off.join("\n"));
}
