//! Strings that are lent to an evaluation: flash that fails, none to lend, and a format meanwhile.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Drive, Home, Platform, VectorId};
use media::nand::{BlockCondition, BlockId, Failures};
use nvme::NamespaceId;
use sim::Span;

use crate::apart::{fill, open_with};
use crate::numbered;
use crate::numbered::Numbered;
use crate::{BITS, Random, open, oracle};

/// Lets so many of a million programs fail, and erases.
fn fail(drive: &Drive, programs: u32, erases: u32) {
    let mut random = sim::Random::named(14, "failures");
    drive.nand().borrow_mut().set_failures(Some(Failures {
        program_per_million: programs,
        erase_per_million: erases,
        draw: Box::new(move || random.below(1_000_000)),
    }));
}

/// A block in which a program failed may be erased, and one whose erase failed may be tried again; neither is.
#[test]
fn a_lent_block_that_fails_is_out_of_use() {
    for (programs, erases) in [(50_000, 0), (0, 200_000)] {
        let mut random = Random(14);
        let mut drive = open_with("gather", &[]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let across = VectorId::new(1, 0) & VectorId::new(2, 0) & VectorId::new(5, 1);
        let expected = oracle(&across, &vectors, BITS);
        fail(&drive, programs, erases);
        for _ in 0..20 {
            let result = drive.evaluate(&across, Platform::FlashCosmos);
            assert!(result.expect("there are other blocks") == expected);
        }
        let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(500_000)).await });
        pause.expect("nothing hangs");
        let counts = drive.statistics().expect("power");
        assert!(counts.bits.gathers > 0, "{:?}", counts.bits);
        let nand = drive.nand().borrow();
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let bad = blocks.filter(|block| nand.block_state(*block).condition == BlockCondition::Bad);
        let bad = bad.count() as u64;
        assert!(bad > 2, "{bad} blocks are bad");
        assert_eq!(counts.ftl.blocks_retired, bad);
    }
}

/// One die has blocks to lend and another has none: those of the one go back, and the controller does it.
#[test]
fn what_was_lent_in_vain_is_given_back() {
    let mut random = Random(16);
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
    // The last die is full.
    let home = Home { first: 3, dies: 1 };
    for vector in 0.. {
        let id = VectorId::new(3, vector);
        if drive
            .write_vector_at(home, id, 4096, false, &data[..512])
            .is_err()
        {
            break;
        }
    }
    let across = VectorId::new(1, 0) & VectorId::new(2, 0);
    for _ in 0..10 {
        let result = drive.evaluate(&across, Platform::FlashCosmos);
        assert!(result.expect("the controller can") == data);
    }
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(100_000)).await });
    pause.expect("nothing hangs");
    let ftl = &drive.device().expect("power").ftl;
    assert!(!ftl.has_lent_blocks(), "some never came back");
}

/// Blocks that are lent hold what a format of another namespace cannot tell from its data: it waits until they are given back.
#[test]
fn a_format_leaves_strings_alone_that_are_lent() {
    let spaces = "[{ share = 0.9, block_bytes = 512 }, { share = 0.1, block_bytes = 512 }]";
    let mut random = Random(15);
    let mut drive = open_with("gather", &[("frontend.namespaces", spaces)]);
    let vectors = fill(&mut drive, &mut random, BITS);
    let across = VectorId::new(1, 0) & VectorId::new(2, 0) & VectorId::new(5, 1);
    let expected = oracle(&across, &vectors, BITS);
    let formats = drive.run(|host| async move {
        let (sim, admin) = (host.sim().clone(), host.admin());
        let formatting = sim.spawn(async move {
            let mut formats = 0;
            while formats < 20 {
                admin.format(NamespaceId::new(2), 512).await?;
                formats += 1;
            }
            Ok::<u32, host::Error>(formats)
        });
        while !formatting.is_finished() {
            let result = numbered::evaluate(&host, &across, Platform::FlashCosmos).await;
            assert!(result.expect("the vectors are there") == expected);
        }
        formatting.await
    });
    let formats = formats.expect("nothing hangs").expect("each ends");
    assert_eq!(formats, 20);
    let counts = drive.statistics().expect("power").bits;
    assert!(counts.gathers > 10, "{counts:?}");
}
