//! Names are moved for the sake of wear while their regions come and go.

use std::cell::Cell;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Config, Drive, NameKind};
use host::search::SearchDevice;
use sim::{Either, Random, Span, select};

const ROW: u32 = 4096;

/// Lives with one region beside writes until `until`, when it goes; what moved, if it went within a second, and when.
fn lived(until: Span) -> (u64, bool) {
    let keys = [
        ("data.storage", "none"),
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "48"),
        ("nand.geometry.page_bytes", "512"),
        ("frontend.block_bytes", "512"),
        ("bits.compute_blocks_percent", "40"),
        ("ftl.wear_levelling.static_threshold", "1"),
        ("ftl.gc.threshold_blocks", "4"),
    ];
    let config = Config::preset("anvil-ssd-a").expect("a preset");
    let mut drive = Drive::open(config.with(keys).expect("a possible drive")).expect("a drive");
    let (region, begin) = drive
        .run(|host| async move {
            let search = SearchDevice::new(host.block().clone());
            let kind = NameKind {
                bits: 16,
                ternary: false,
            };
            let region = search.allocate(0, ROW, 2, &[kind]).await.expect("it fits");
            let record = |number: u16| [number.to_le_bytes(), [0; 2]].concat();
            let records: Vec<u8> = (0..ROW as u16).flat_map(record).collect();
            let appended = search.append(&region, &records, ROW).await;
            appended.expect("it fits");
            (region, host.sim().now())
        })
        .expect("power");
    let went = drive.run(move |host| async move {
        let over = Rc::new(Cell::new(false));
        let (block, writes_over) = (host.block().clone(), over.clone());
        let last = block.blocks() - 1;
        let writer = host.sim().spawn(async move {
            let mut random = Random::named(3, "writes");
            while !writes_over.get() {
                let lba = last - random.below(1000);
                block.write(lba, &[0; 512]).await.expect("it fits");
            }
        });
        let search = SearchDevice::new(host.block().clone());
        host.sim().sleep_until(begin + until).await;
        let late = host.sim().sleep(Span::from_us(1_000_000));
        let went = match select(search.deallocate(&region), late).await {
            Either::Left(gone) => gone.is_ok(),
            Either::Right(()) => false,
        };
        over.set(true);
        writer.await;
        went
    });
    let counts = drive.statistics().expect("power").search;
    (counts.rows_moved, went.expect("power"))
}

#[test]
fn a_region_can_go_while_its_names_are_to_be_moved() {
    // When they are moved for the first time, to a millisecond.
    let (mut before, mut after) = (0, 20_000_000);
    assert!(lived(Span::from_us(after)).0 > 0, "nothing is moved");
    while after - before > 1000 {
        let middle = (before + after) / 2;
        match lived(Span::from_us(middle)).0 {
            0 => before = middle,
            _ => after = middle,
        }
    }
    for early in 0..60 {
        let until = after - 200 * early;
        let (moved, went) = lived(Span::from_us(until));
        assert!(
            went,
            "after {until} us, {moved} rows moved: the region has not gone"
        );
    }
}
