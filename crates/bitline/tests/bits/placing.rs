//! Vectors that are set up at once against vectors that are written; results in parts against whole
//! ones.

use std::ops::ControlFlow;

use bitline::inside::InsideDrive;
use bitline::{Drive, Expression, Platform, VectorId};
use device::ftl::{Lpn, PageRecord};
use device::region::Placement;
use media::nand::{BlockId, PageAddress};

use crate::numbered::Numbered;
use crate::{BITS, Random, open};

fn ids(group: u32, count: u32) -> impl Iterator<Item = VectorId> + Clone {
    (0..count).map(move |vector| VectorId::new(group, vector))
}

/// Two groups, one inverted, of vectors of zeroes that fill more strings than one set.
fn filled(drive: &mut Drive, placed: bool) {
    for (group, inverse) in [(0, false), (1, true)] {
        if placed {
            let placed = drive.place_vectors(group, 6, BITS, inverse);
            assert_eq!(placed.expect("there is room").len(), 6);
        } else {
            let zeroes = vec![0; BITS.div_ceil(8) as usize];
            let group = drive.group(&group.to_string()).expect("a name");
            let writer = if inverse {
                group.inverse()
            } else {
                group.writer()
            };
            let written = writer.write(BITS, vec![zeroes; 6]);
            written.expect("there is room");
        }
    }
}

/// Every page of a vector, with what its spare bytes say but for when it was written. Its block is told by how many blocks
/// with such pages come before it: those of the catalogue are elsewhere.
fn pages(drive: &Drive) -> Vec<(usize, u32, Lpn, Placement)> {
    let nand = drive.nand().borrow();
    let geometry = nand.geometry();
    let mut blocks: Vec<BlockId> = Vec::new();
    let mut pages = Vec::new();
    for block in (0..geometry.blocks()).map(BlockId) {
        for page in 0..geometry.wordlines_per_block() {
            let ppa = geometry.ppa(PageAddress { block, page });
            let record = nand.spare(ppa).and_then(PageRecord::decode);
            let Some((lpn, placement)) = record.and_then(|record| record.placed) else {
                continue;
            };
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
            pages.push((blocks.len(), page, lpn, placement));
        }
    }
    pages
}

#[test]
fn placed_vectors_lie_where_written_ones_do() {
    for storage in ["memory", "none"] {
        let of = |placed| {
            let mut drive = open(&[("data.storage", storage)]);
            filled(&mut drive, placed);
            drive
        };
        let (mut placed, written) = (of(true), of(false));
        assert!(written.now() > placed.now());
        assert_eq!(pages(&placed), pages(&written), "{storage}");
        let computed = placed.statistics().expect("power").bits;
        assert_eq!(computed.rows_written, 0, "only names cost something");
        assert_eq!(placed.vectors(None).expect("a list").len(), 12);
    }
}

#[test]
fn placed_vectors_compute_like_written_ones_to_the_picosecond() {
    let expressions = [
        Expression::all(ids(0, 6)).expect("operands"),
        Expression::any(ids(1, 6)).expect("operands"),
        Expression::any([VectorId::new(0, 1), VectorId::new(1, 5)]).expect("operands"),
        !Expression::from(VectorId::new(1, 3)),
    ];
    let run = |placed: bool| {
        let mut drive = open(&[]);
        filled(&mut drive, placed);
        // Doorbells of the writes are still on their way.
        let pause = drive.run(|host| async move { host.sim().sleep(sim::Span::from_us(9)).await });
        pause.expect("nothing hangs");
        let mut found = Vec::new();
        for expression in &expressions {
            for platform in Platform::NAMED {
                let begin = drive.now();
                let result = drive.evaluate(expression, platform);
                found.push((result.expect("stored"), drive.now().since(begin)));
            }
        }
        found
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn placed_vectors_survive_a_power_cut_and_take_more() {
    let mut drive = open(&[]);
    filled(&mut drive, true);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it was legal before");
    assert_eq!(drive.vectors(None).expect("a list").len(), 12);
    let data = Random(5).vector(BITS);
    let (next, inverted) = (VectorId::new(0, 6), VectorId::new(1, 0));
    drive.write_vector(next, BITS, false, &data).expect("room");
    let either = Expression::any([next, inverted]).expect("operands");
    let result = drive.evaluate(&either, Platform::FlashCosmos);
    assert_eq!(result.expect("stored"), data);
}

#[test]
fn placing_ends_where_it_is_told_to_or_must() {
    let mut drive = open(&[]);
    let group = drive.group("0").expect("a name");
    let done = group.place(BITS, 6, |vectors| match vectors {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(done.expect("room").len(), 3);
    assert_eq!(drive.vectors(None).expect("a list").len(), 3);
    let other = drive.place_vectors(0, 1, BITS + 1, false);
    let error = other
        .expect_err("another length than the group's")
        .to_string();
    assert!(error.contains(&BITS.to_string()), "{error}");
    let many = drive.place_vectors(7, 1500, BITS, false);
    let error = many.expect_err("more than fit").to_string();
    assert!(error.contains("free in the volume"), "{error}");
    assert_eq!(drive.vectors(Some(7)).expect("a list"), []);
    let unheard_of = drive.place_vectors(7, 100_000, BITS, false);
    let error = unheard_of.expect_err("more names than fit").to_string();
    assert!(error.contains("the catalogue would take"), "{error}");
    let some = drive.place_vectors(7, 10, BITS, false);
    assert_eq!(some.expect("there is room again").len(), 10);
}

/// Results part by part, with parts of one page and parts longer than the vector, are the whole
/// ones; and so are counts, wherever they are made.
#[test]
fn parts_give_what_the_whole_gives() {
    let mut random = Random(3);
    for batch in ["1", "1536", "100000"] {
        let mut drive = open(&[("host.batch_bytes", batch)]);
        let vectors: Vec<VectorId> = ids(0, 3).chain(ids(1, 3)).collect();
        let mut data = Vec::new();
        for id in &vectors {
            data.push(random.vector(BITS));
            let stored = data.last().expect("just pushed");
            let written = drive.write_vector(*id, BITS, id.group == 1, stored);
            written.expect("there is room");
        }
        for _ in 0..8 {
            let expression = random.expression(&vectors, 2);
            let whole = drive.evaluate(&expression, Platform::FlashCosmos);
            let whole = whole.expect("stored");
            let ones: u32 = whole.iter().map(|byte| byte.count_ones()).sum();
            for platform in Platform::NAMED {
                let found = drive.evaluate(&expression, platform);
                assert_eq!(
                    found.expect("stored"),
                    whole,
                    "{platform}, batches of {batch}"
                );
                let here = drive.ask(&expression).on(platform).count_in_host();
                assert_eq!(here.expect("stored"), u64::from(ones), "{platform}");
                let there = drive.count_ones(&expression, platform);
                assert_eq!(there.expect("stored"), u64::from(ones), "{platform}");
                drive
                    .ask(&expression)
                    .on(platform)
                    .stream()
                    .expect("stored");
            }
        }
    }
}

/// The host's work is hidden behind the arrival of the next batch: what streams takes as long as the
/// slowest part of the way, and not the sum.
#[test]
fn counting_in_the_host_overlaps_with_the_transfer() {
    let mut drive = open(&[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "16384"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("nand.geometry.chips_per_channel", "8"),
        ("nand.geometry.cells_per_string", "48"),
        // As slow as the link, so that one after the other would take twice as long.
        ("host.stream_megabytes_per_second", "2000"),
        ("link.megabytes_per_second_per_lane", "500"),
        ("host.batch_bytes", "1048576"),
    ]);
    let bits = 16384 * 8 * 32 * 32;
    let placed = drive.place_vectors(0, 2, bits, false);
    placed.expect("there is room");
    let both = Expression::all(ids(0, 2)).expect("operands");
    let mut took = |counting: bool| {
        let begin = drive.now();
        if counting {
            let count = drive.ask(&both).count_in_host();
            count.expect("stored");
        } else {
            drive.ask(&both).stream().expect("stored");
        }
        drive.now().since(begin).as_ps() as f64
    };
    let ratio = took(true) / took(false);
    assert!((1.0..1.1).contains(&ratio), "{ratio} of the time without");
}
