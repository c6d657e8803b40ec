//! Operands on different dies: they meet in the controller or in temporary strings, and nothing of
//! those is left behind.

use std::collections::BTreeMap;

use bitline::inside::InsideDrive;
use bitline::{Drive, Expression, Home, Platform, VectorId};
use device::ftl::PageRecord;
use device::region::Owner;
use media::nand::{BlockId, PageAddress};
use sim::Span;

use crate::numbered;
use crate::numbered::Numbered;
use crate::{BITS, Random, ones, open, oracle};

pub(crate) type Vectors = BTreeMap<VectorId, Vec<u8>>;

/// Groups on the four dies of the small drive: all of them, the same begun elsewhere, parts that go
/// round the end, a single die.
const HOMES: [(u32, Home); 6] = [
    (1, Home { first: 0, dies: 0 }),
    (2, Home { first: 3, dies: 0 }),
    (3, Home { first: 1, dies: 2 }),
    (4, Home { first: 3, dies: 2 }),
    (5, Home { first: 2, dies: 1 }),
    (6, Home { first: 1, dies: 2 }),
];

/// Three vectors in every group, some inverted.
pub(crate) fn fill(drive: &mut Drive, random: &mut Random, bits: u64) -> Vectors {
    let mut vectors = Vectors::new();
    for (group, home) in HOMES {
        for vector in 0..3 {
            let id = VectorId::new(group, vector);
            let data = random.vector(bits);
            let inverse = random.below(3) == 0;
            let written = drive.write_vector_at(home, id, bits, inverse, &data);
            written.expect("there is room");
            vectors.insert(id, data);
        }
    }
    vectors
}

/// Enough blocks for the narrow homes, which need many of a plane.
const ROOMY: (&str, &str) = ("nand.geometry.blocks_per_plane", "200");

pub(crate) fn open_with(rule: &str, overrides: &[(&str, &str)]) -> Drive {
    let fixed = [ROOMY, ("bits.route", rule)];
    let all: Vec<_> = fixed.into_iter().chain(overrides.iter().copied()).collect();
    open(&all)
}

#[test]
fn every_route_yields_what_plain_loops_do() {
    let mut gathers = 0;
    for rule in ["fastest", "controller", "gather"] {
        for (seed, bits) in [1, 512 * 8 * 3, BITS].into_iter().enumerate() {
            let mut random = Random(seed as u64);
            let mut drive = open_with(rule, &[]);
            let vectors = fill(&mut drive, &mut random, bits);
            let names: Vec<VectorId> = vectors.keys().copied().collect();
            for round in 0..25 {
                let expression = random.expression(&names, 3);
                let expected = oracle(&expression, &vectors, bits);
                for platform in Platform::NAMED {
                    let result = drive.evaluate(&expression, platform);
                    let result = result.expect("the vectors are there");
                    let place = format!("{rule}, {platform}, {bits} bits, {round}: {expression}");
                    assert!(result == expected, "{place}");
                    let counted = drive.count_ones(&expression, platform);
                    assert_eq!(counted.expect("the same"), ones(&expected), "{place}");
                }
            }
            let counts = drive.statistics().expect("power").bits;
            assert!(rule != "controller" || counts.gathers == 0, "{counts:?}");
            assert!(rule != "gather" || counts.gathers > 5, "{counts:?}");
            gathers += counts.gathers;
        }
    }
    assert!(gathers > 20, "{gathers}");
}

#[test]
fn many_evaluations_across_dies_do_not_mix() {
    for rule in ["controller", "gather"] {
        let mut random = Random(5);
        let mut drive = open_with(rule, &[]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let names: Vec<VectorId> = vectors.keys().copied().collect();
        let asked: Vec<Expression> = (0..30).map(|_| random.expression(&names, 3)).collect();
        let sent = asked.clone();
        let results = drive.run(|host| async move {
            let tasks: Vec<_> = sent
                .into_iter()
                .map(|expression| {
                    let sender = host.clone();
                    host.sim().spawn(async move {
                        let platform = Platform::FlashCosmos;
                        numbered::evaluate(&sender, &expression, platform).await
                    })
                })
                .collect();
            let mut results = Vec::new();
            for task in tasks {
                results.push(task.await);
            }
            results
        });
        for (expression, result) in asked.iter().zip(results.expect("nothing hangs")) {
            let expected = oracle(expression, &vectors, BITS);
            assert!(result.expect("exists") == expected, "{rule}: {expression}");
        }
    }
}

/// Pages on the media whose record says that they are temporary.
fn temporary_pages(drive: &Drive) -> usize {
    let nand = drive.nand().borrow();
    let geometry = nand.geometry();
    let blocks = (0..geometry.blocks()).map(BlockId);
    let pages = blocks.flat_map(|block| {
        (0..geometry.wordlines_per_block()).map(move |page| PageAddress { block, page })
    });
    pages
        .filter_map(|page| PageRecord::decode(nand.spare(geometry.ppa(page))?))
        .filter(|record| record.owner == Owner::Temporary)
        .count()
}

#[test]
fn temporary_strings_are_given_back() {
    let mut random = Random(6);
    let mut drive = open_with("gather", &[]);
    let vectors = fill(&mut drive, &mut random, BITS);
    let across = VectorId::new(1, 0) & VectorId::new(2, 0) & VectorId::new(5, 1);
    let expected = oracle(&across, &vectors, BITS);
    // Far more often than there are blocks for.
    for _ in 0..300 {
        let result = drive.evaluate(&across, Platform::FlashCosmos);
        assert!(result.expect("strings are lent again and again") == expected);
    }
    // Chunks whose operands lie unlike are classes of their own, each with strings of its own: some eleven blocks to erase
    // for an evaluation, in 3.5 ms each. All that computing may have can wait for that.
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(500_000)).await });
    pause.expect("nothing hangs");
    assert_eq!(temporary_pages(&drive), 0);
    let counts = drive.statistics().expect("power").bits;
    assert!(
        counts.gathers > 100 && counts.blocks_erased > 0,
        "{counts:?}"
    );
    // Where no string can be lent the controller does it.
    assert_eq!(counts.evaluations, 300);
}

#[test]
fn a_power_cut_leaves_nothing_of_a_gather_plan() {
    let mut left_over = 0;
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut drive = open_with("gather", &[]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let across = (VectorId::new(1, 0) ^ VectorId::new(2, 1)) | VectorId::new(4, 2);
        let host = drive.host().expect("power");
        let simulation = drive.simulation().expect("power");
        let asked = across.clone();
        let task = simulation
            .handle()
            .spawn(async move { numbered::evaluate(&host, &asked, Platform::FlashCosmos).await });
        for _ in 0..random.below(2500) {
            if !simulation.step() {
                break;
            }
        }
        drop(task);
        drive.power_cut().expect("memory does not fail");
        left_over += temporary_pages(&drive);
        drive.power_up().expect("it recovers");
        // They are erased while the drive serves already.
        let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(50_000)).await });
        pause.expect("nothing hangs");
        assert_eq!(temporary_pages(&drive), 0, "seed {seed}");
        let listed = drive.vectors(None).expect("a list");
        assert!(listed.iter().map(|vector| &vector.id).eq(vectors.keys()));
        let result = drive.evaluate(&across, Platform::FlashCosmos);
        assert!(result.expect("exists") == oracle(&across, &vectors, BITS));
    }
    assert!(
        left_over > 100,
        "hardly any cut came in between: {left_over}"
    );
}

#[test]
fn a_failing_program_sends_operands_to_the_controller() {
    let mut random = Random(9);
    let failing = ("faults.program_failures_per_million", "20000");
    let mut drive = open_with("gather", &[failing]);
    let vectors = fill(&mut drive, &mut random, 512 * 8 * 12);
    let across = VectorId::new(1, 0) & VectorId::new(2, 0);
    let expected = oracle(&across, &vectors, 512 * 8 * 12);
    for _ in 0..40 {
        let result = drive.evaluate(&across, Platform::FlashCosmos);
        assert!(result.expect("the controller can") == expected);
    }
    let counts = drive.statistics().expect("power").bits;
    // A controller plan after a gather plan that failed.
    assert!(counts.controller_fallbacks > 3, "{counts:?}");
    assert!(counts.gathers > counts.controller_fallbacks, "{counts:?}");
}

#[test]
fn a_group_keeps_its_home() {
    let mut random = Random(7);
    let mut drive = open_with("fastest", &[]);
    let vectors = fill(&mut drive, &mut random, BITS);
    for life in 0..3 {
        for listed in drive.vectors(None).expect("a list") {
            let (_, home) = HOMES
                .into_iter()
                .find(|(group, _)| *group == listed.id.group)
                .expect("a group of the list");
            assert_eq!(listed.home, home, "life {life}");
        }
        for (id, data) in &vectors {
            let read = drive.evaluate(&(*id).into(), Platform::FlashCosmos);
            assert!(read.expect("exists") == *data);
        }
        drive.power_cut().expect("memory does not fail");
        drive.power_up().expect("it recovers");
    }
    let id = VectorId::new(3, 9);
    let data = random.vector(BITS);
    let write = |drive: &mut Drive, first, dies| {
        drive.write_vector_at(Home { first, dies }, id, BITS, false, &data)
    };
    let elsewhere = write(&mut drive, 0, 0);
    let told = elsewhere.expect_err("it lies elsewhere").to_string();
    assert!(
        told.contains("lies on 2 dies from die 1 on, not on all dies"),
        "{told}"
    );
    for (first, dies) in [(4, 0), (0, 5)] {
        let told = write(&mut drive, first, dies).expect_err("no such dies");
        assert!(told.to_string().contains("dies 0 to 3"), "{told}");
    }
    write(&mut drive, 1, 2).expect("there it lies");
    // Empty, it may go elsewhere.
    drive.delete_vectors(3, None).expect("it is there");
    write(&mut drive, 2, 1).expect("a new home");
    drive.power_cut().expect("memory does not fail");
    drive.power_up().expect("it recovers");
    let listed = drive.vectors(Some(3)).expect("a list");
    assert_eq!(listed[0].home, Home { first: 2, dies: 1 });
    let read = drive.evaluate(&id.into(), Platform::FlashCosmos);
    assert!(read.expect("exists") == data);
}

#[test]
fn explain_tells_both_ways() {
    let mut random = Random(8);
    let mut drive = open_with("fastest", &[]);
    fill(&mut drive, &mut random, BITS);
    let across = VectorId::new(1, 0) & VectorId::new(5, 0);
    let told = drive.ask(&across).on(Platform::FlashCosmos).explain();
    let told = told.expect("the vectors are there");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "operands on all dies; die 2", "{told}");
    assert!(lines[1].contains("controller plan: about"), "{told}");
    assert!(lines[1].ends_with(", chosen"), "{told}");
    assert!(lines[2].contains("gather plan on"), "{told}");
    let one_home = VectorId::new(3, 0) & VectorId::new(6, 0);
    let told = drive.ask(&one_home).on(Platform::FlashCosmos).explain();
    assert!(
        told.expect("the same").starts_with("Flash-Cosmos: "),
        "groups 3 and 6 meet"
    );
}

/// What an evaluation takes in simulated time, and whether it gathered.
fn time_of(drive: &mut Drive, expression: &Expression, count: bool) -> (Span, bool) {
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(50_000)).await });
    pause.expect("nothing hangs");
    let before = (drive.now(), drive.statistics().expect("power").bits.gathers);
    if count {
        let counted = drive.count_ones(expression, Platform::FlashCosmos);
        counted.expect("the vectors are there");
    } else {
        let result = drive.evaluate(expression, Platform::FlashCosmos);
        result.expect("the vectors are there");
    }
    let gathers = drive.statistics().expect("power").bits.gathers;
    (drive.now().since(before.0), gathers > before.1)
}

/// Pages of a real size on four dies of two channels, over which sizes, homes, expressions and the
/// accelerator's rate vary.
#[test]
fn the_way_that_is_chosen_takes_less_time() {
    const PAGE_BITS: u64 = 16384 * 8;
    let of = |group, vector| VectorId::new(group, vector);
    let expressions: [Expression; 5] = [
        of(1, 0) & of(2, 0),
        (of(1, 0) & of(1, 1)) ^ of(3, 0) ^ of(5, 0),
        (of(3, 0) | of(4, 0)) & of(3, 1),
        of(1, 0) & of(5, 0),
        Expression::any([
            of(1, 0) & of(2, 0),
            of(1, 1) & of(3, 0),
            of(1, 2) & of(4, 0),
            of(2, 1) & of(5, 0),
        ])
        .expect("operands"),
    ];
    let (mut cases, mut gathers, mut losses) = (0, 0, 0);
    for rate in ["30", "300", "1000", "9600"] {
        for chunks in [1, 8, 40] {
            let bits = PAGE_BITS * chunks;
            let ways = ["fastest", "controller", "gather"];
            let mut drives = ways.map(|rule| timed_drive(rule, rate, bits));
            for expression in &expressions {
                for count in [false, true] {
                    let [chosen, controller, gather] = drives
                        .each_mut()
                        .map(|drive| time_of(drive, expression, count));
                    assert!(!controller.1 && gather.1, "{expression}");
                    let best = controller.0.min(gather.0);
                    let place =
                        format!("{rate} MB/s, {chunks} chunks, count {count}: {expression}");
                    assert!(
                        chosen.0.as_us() <= 1.1 * best.as_us(),
                        "{place}: {chosen:?} of {controller:?} and {gather:?}"
                    );
                    cases += 1;
                    gathers += u32::from(chosen.1);
                    losses += u32::from(chosen.0 > best);
                }
            }
        }
    }
    println!("{cases} cases, {gathers} gathered, {losses} not the fastest");
    assert!(
        (cases / 5..cases * 4 / 5).contains(&gathers),
        "{gathers} gathered"
    );
    assert!(
        losses <= cases / 20,
        "{losses} of {cases} are not the fastest"
    );
}

/// A drive without data whose accelerator goes through so many megabytes a second.
fn timed_drive(rule: &str, rate: &str, bits: u64) -> Drive {
    let overrides = [
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "8"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("bits.accelerator_megabytes_per_second", rate),
    ];
    let mut drive = open_with(rule, &overrides);
    let data = vec![0; bits as usize / 8];
    for (group, home) in HOMES {
        for vector in 0..3 {
            let id = VectorId::new(group, vector);
            let written = drive.write_vector_at(home, id, bits, false, &data);
            written.expect("there is room");
        }
    }
    drive
}

#[test]
fn a_write_waits_for_strings_that_are_lent() {
    let mut random = Random(12);
    // Few enough blocks that evaluations, side by side, borrow all that are free.
    let mut drive = open(&[
        ("bits.route", "gather"),
        ("bits.compute_blocks_percent", "25"),
    ]);
    let data = random.vector(BITS);
    for (group, first) in [(1, 0), (2, 1)] {
        let home = Home { first, dies: 0 };
        let written = drive.write_vector_at(home, VectorId::new(group, 0), BITS, false, &data);
        written.expect("there is room");
    }
    let across = VectorId::new(1, 0) & VectorId::new(2, 0);
    let written = drive.run(|host| async move {
        let evaluations: Vec<_> = (0..6)
            .map(|_| {
                let (sender, across) = (host.clone(), across.clone());
                host.sim().spawn(async move {
                    numbered::evaluate(&sender, &across, Platform::FlashCosmos).await
                })
            })
            .collect();
        host.sim().sleep(Span::from_us(100)).await;
        let write = numbered::write(&host, VectorId::new(3, 0), BITS, false, &data).await;
        for evaluation in evaluations {
            evaluation.await.expect("the vectors are there");
        }
        write
    });
    written
        .expect("nothing hangs")
        .expect("there is room in a moment");
    assert!(drive.statistics().expect("power").bits.gathers > 0);
}

#[test]
fn without_data_operands_meet_in_the_same_time() {
    let run = |storage: &str, rule: &str| {
        let mut random = Random(13);
        let mut drive = open_with(rule, &[("data.storage", storage)]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let names: Vec<VectorId> = vectors.keys().copied().collect();
        let mut times = Vec::new();
        for _ in 0..12 {
            let expression = random.expression(&names, 2);
            let platform = Platform::FlashCosmos;
            let result = drive.evaluate(&expression, platform);
            result.expect("exists");
            times.push(drive.now());
            let checked = drive.count_ones_checked(&expression, platform);
            assert_eq!(checked.expect("exists").differing_bits, 0);
            times.push(drive.now());
        }
        (times, drive.statistics().expect("power").energy_pj)
    };
    for rule in ["controller", "gather"] {
        assert_eq!(run("memory", rule), run("none", rule), "{rule}");
    }
}

#[test]
fn what_is_asked_by_turns_is_planned_once_for_each_platform() {
    let mut drive = open_with("fastest", &[]);
    let vectors = fill(&mut drive, &mut Random(3), 4096);
    let ids: Vec<VectorId> = vectors.keys().copied().collect();
    let expressions: Vec<Expression> = ids
        .chunks(9)
        .map(|ids| (ids[0] & ids[3]) | (ids[1] ^ ids[4]) | ids[8])
        .collect();
    for platform in [
        Platform::InStorage,
        Platform::ParaBit,
        Platform::FlashCosmos,
        Platform::Fastest,
    ] {
        let ask_all = |drive: &mut Drive| {
            for expression in &expressions {
                let asked = |drive: &mut Drive| {
                    let asked = drive.ask(expression).on(platform);
                    asked.explanation(None, true).expect("they are there");
                    let asked = drive.ask(expression).on(platform);
                    asked.count().expect("they are there");
                };
                asked(drive);
                asked(drive);
            }
            drive.device().expect("powered").bits.plans_made()
        };
        let before = drive.device().expect("powered").bits.plans_made();
        let planned = ask_all(&mut drive);
        // The host may be better than the drive's best, which then is explained, but not asked.
        let each = expressions.len() as u64;
        assert!(
            (each..=2 * each).contains(&(planned - before)),
            "{platform}"
        );
        assert_eq!(ask_all(&mut drive), planned, "{platform}: remembered");
    }
}
