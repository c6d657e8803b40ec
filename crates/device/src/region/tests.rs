//! Allocation of placed pages against the rules of the flash, and against what they are for: rows share layers.

use std::collections::BTreeSet;

use super::*;

/// Two channels of two chips, two planes each; strings of three cells, two a block.
pub(crate) fn small() -> Geometry {
    Geometry {
        channels: 2,
        chips_per_channel: 2,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 12,
        strings_per_block: 2,
        cells_per_string: 3,
        page_bytes: 8,
        spare_bytes: 64,
        bits_per_cell_max: 3,
    }
}

const CHUNKS: u64 = 19;

struct Bench {
    region: Region,
    free: BTreeSet<u32>,
}

impl Bench {
    fn new(home: Home) -> Bench {
        let mut region = Region::new(&small(), 1);
        let shape = Shape {
            anchor: 100,
            pitch: CHUNKS as u32,
            home,
            scope: 0..1000,
        };
        region.open(4, shape).expect("a shape that can be");
        Bench {
            region,
            free: (0..small().blocks()).collect(),
        }
    }

    fn allocate(&mut self, chunk: u64) -> Option<Allocated> {
        let spot = self.region.handle(4).expect("open").spot(chunk);
        let free = &mut self.free;
        self.region.allocate(&spot, |plane| {
            let mut blocks = small().blocks_of_plane(plane);
            let block = blocks.find(|block| free.contains(block))?;
            free.remove(&block);
            Some(BlockId(block))
        })
    }

    fn row(&mut self) -> Vec<PageAddress> {
        let pages = (0..CHUNKS).map(|chunk| self.allocate(chunk).expect("room").page);
        pages.collect()
    }
}

#[test]
fn rows_written_in_order_share_strings_and_layers() {
    let mut bench = Bench::new(Home::ALL);
    let rows: Vec<Vec<PageAddress>> = (0..7).map(|_| bench.row()).collect();
    for (number, row) in rows.iter().enumerate() {
        // Strings have three cells.
        let first = &rows[number / 3 * 3];
        for (page, first) in row.iter().zip(first) {
            assert_eq!(page.block, first.block, "one block for three rows");
            assert_eq!(page.page % 2, first.page % 2, "one string");
            assert_eq!(page.page / 2, number as u32 % 3, "layer after layer");
        }
    }
    let strings: BTreeSet<_> = rows[0]
        .iter()
        .map(|page| (page.block.0, page.page))
        .collect();
    assert_eq!(
        strings.len(),
        CHUNKS as usize,
        "every chunk has its own string"
    );
    let blocks =
        |row: &[PageAddress]| -> BTreeSet<u32> { row.iter().map(|page| page.block.0).collect() };
    assert!(blocks(&rows[0]).is_disjoint(&blocks(&rows[3])));
}

#[test]
fn pages_of_a_block_ascend_whatever_is_written() {
    let mut bench = Bench::new(Home { first: 3, dies: 1 });
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    let mut closed = BTreeSet::new();
    for step in 0..200u64 {
        let allocated = bench.allocate(step * 7 % CHUNKS);
        let Some(Allocated { page, closed: full }) = allocated else {
            break;
        };
        assert!(
            !closed.contains(&page.block.0),
            "a closed block takes no more"
        );
        assert!(last.get(&page.block.0).is_none_or(|last| *last < page.page));
        last.insert(page.block.0, page.page);
        closed.extend(full.map(|block| block.0));
    }
    assert!(closed.len() > 3);
    for block in closed {
        assert!(!bench.region.held(BlockId(block)).expect("held").open);
    }
}

#[test]
fn logical_pages_are_divided_at_the_ends_of_rows() {
    let bench = Bench::new(Home::ALL);
    let handle = bench.region.handle(4).expect("open");
    assert_eq!(handle.rows(100..119), [(0..19, 100)]);
    assert_eq!(
        handle.rows(117..140),
        [(17..19, 117), (0..19, 119), (0..2, 138)]
    );
    assert_eq!(handle.chunk(99), 18, "rows go on before the anchor");
}

#[test]
fn a_column_goes_on_after_recovery_where_it_was_written_last() {
    let mut bench = Bench::new(Home::ALL);
    (0..4).for_each(|_| drop(bench.row()));
    let next = bench.allocate(0).expect("room").page;
    let mut found = Vec::new();
    for (&block, held) in &bench.region.blocks {
        found.push(Found {
            owner: Owner::Compute,
            block: BlockId(block),
            handle: held.handle,
            column: held.column,
            // The first three rows fill a block of which one string may be unused.
            next_page: if held.open { 2 } else { 5 },
            version: if held.open { 9 } else { 1 },
            failed: false,
        });
    }
    let mut other = Bench::new(Home::ALL);
    other.region.rebuild(found);
    let after = other.allocate(0).expect("room").page;
    assert_eq!(after, next, "the next layer of the same string");
    // A home of other dies begins anew.
    let shape = Shape {
        anchor: 100,
        pitch: CHUNKS as u32,
        home: Home { first: 1, dies: 2 },
        scope: 0..1000,
    };
    assert!(!other.region.open(4, shape).expect("can be").is_empty());
    assert_ne!(other.allocate(0).expect("room").page.block, next.block);
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let mut region = Region::new(&small(), 1);
    let shape = Shape {
        anchor: 0,
        pitch: 8,
        home: Home { first: 4, dies: 1 },
        scope: 0..100,
    };
    let home = shape.home;
    let refused = region.open(1, shape.clone()).expect_err("four dies");
    assert_eq!(refused, HandleError::NoSuchHome { home, dies: 4 });
    let home = Home::ALL;
    let none = Shape {
        pitch: 0,
        home,
        ..shape.clone()
    };
    assert_eq!(region.open(1, none), Err(HandleError::Pitch(0)));
    let outside = Shape {
        anchor: 100,
        home,
        ..shape
    };
    assert!(matches!(
        region.open(1, outside),
        Err(HandleError::Anchor { .. })
    ));
    assert!(region.handle(1).is_none());
}

#[test]
fn no_row_is_longer_than_the_namespace() {
    let mut region = Region::new(&small(), 1);
    let shape = Shape {
        anchor: 900,
        pitch: u32::MAX - 3,
        home: Home::ALL,
        scope: 0..1000,
    };
    region.open(4, shape).expect("a shape that can be");
    let handle = region.handle(4).expect("open");
    assert!((0..1000).all(|lpn| handle.chunk(lpn) < 1000));
    assert_eq!((handle.chunk(900), handle.chunk(899)), (0, 999));
    assert_eq!(handle.rows(898..902), [(998..1000, 898), (0..2, 900)]);
    // A page far from the anchor takes no more memory than one at it.
    let spot = handle.spot(999);
    let blocks = small().blocks_of_plane(spot.plane).start;
    let allocated = region.allocate(&spot, |_| Some(BlockId(blocks)));
    assert_eq!(allocated.expect("a block").page.block.0, blocks);
    assert_eq!(region.blocks(), 1);
}
