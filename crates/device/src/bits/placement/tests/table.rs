//! The table of groups: where vectors go and when blocks come back.

use std::collections::{BTreeMap, BTreeSet};

use media::nand::BlockId;
use nvme::VectorId;

use super::{Pool, small};
use crate::bits::error::BitsError;
use crate::bits::placement::{
    BlockSource, Deletion, Groups, Home, RowSetId, TEMPORARY, VectorPlacement,
};

fn id(group: u32, vector: u32) -> VectorId {
    VectorId { group, vector }
}

fn write(groups: &mut Groups, pool: &mut Pool, vector: VectorId, bits: u64) -> VectorPlacement {
    let write = groups
        .place(pool, vector, bits, false)
        .expect("there is room");
    let placement = write.placement;
    groups.commit(write);
    placement
}

#[test]
fn vectors_of_a_group_fill_strings_layer_by_layer() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    let bits = 64 * 20;
    let layers: Vec<_> = (0..7)
        .map(|v| write(&mut groups, &mut pool, id(1, v), bits))
        .collect();
    let places: Vec<_> = layers
        .iter()
        .map(|p| (p.row_set.row_set, p.layer))
        .collect();
    assert_eq!(
        places,
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0)]
    );
    for chunk in 0..20 {
        let strings: Vec<_> = layers
            .iter()
            .map(|p| groups.string(p.row_set, chunk))
            .collect();
        assert!(strings[0].is_some() && strings[0] == strings[2] && strings[3] == strings[5]);
        assert_ne!(strings[0].map(|s| s.block), strings[3].map(|s| s.block));
        let plane = groups.layout().plane(chunk);
        let planes = strings
            .iter()
            .flatten()
            .map(|s| small().plane_of_block(s.block));
        assert!(planes.into_iter().all(|p| p == plane));
    }
    assert_eq!(groups.string(layers[0].row_set, 20), None);
}

#[test]
fn pages_of_a_block_are_written_in_ascending_order() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    let mut next: BTreeMap<BlockId, u32> = BTreeMap::new();
    for v in 0..12 {
        let placement = write(&mut groups, &mut pool, id(v % 2, v), 64 * 19 + 1);
        for chunk in 0..20 {
            let page = groups.page(&placement, chunk).expect("placed");
            let frontier = next.entry(page.block).or_default();
            assert!(page.page >= *frontier, "{page:?} after {frontier}");
            *frontier = page.page + 1;
        }
    }
}

#[test]
fn errors_leave_everything_as_it_was() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    write(&mut groups, &mut pool, id(1, 0), 65);
    let mismatch = BitsError::LengthMismatch {
        vector: id(1, 1),
        expected: 65,
        found: 64,
    };
    assert_eq!(groups.place(&mut pool, id(1, 1), 64, false), Err(mismatch));
    let empty = groups.place(&mut pool, id(2, 0), 0, false);
    assert_eq!(empty, Err(BitsError::LengthUnsupported(0)));
    pool.free
        .retain(|&block| small().plane_of_block(block) != groups.layout().plane(7));
    let free = pool.free.clone();
    let plane = groups.layout().plane(7).0;
    let full = groups.place(&mut pool, id(3, 0), 64 * 8, false);
    assert_eq!(full, Err(BitsError::OutOfBlocks { group: 3, plane }));
    assert_eq!(pool.free, free);
    assert_eq!(groups.vectors().count(), 1);
    let unknown = groups.delete(&mut pool, id(1, 9));
    assert_eq!(unknown, Err(BitsError::UnknownVector(id(1, 9))));
}

#[test]
fn what_is_superseded_is_reclaimed_once_its_strings_are_full() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    for _ in 0..3 {
        write(&mut groups, &mut pool, id(1, 0), 64);
        assert_eq!(groups.reclaim(), []);
    }
    write(&mut groups, &mut pool, id(1, 0), 64);
    let reclaimed = groups.reclaim();
    assert_eq!(reclaimed.len(), 1);
    assert_eq!(
        reclaimed[0].row_set,
        RowSetId {
            group: 1,
            row_set: 0
        }
    );
    assert_eq!(groups.reclaim(), [], "handed out once");
    groups.erased(reclaimed[0].row_set);
    assert_eq!(groups.blocks().count(), 1);
    assert_eq!(
        groups.find(id(1, 0)).map(|p| (p.row_set.row_set, p.layer)),
        Some((1, 0))
    );
}

#[test]
fn a_deletion_record_outlives_what_it_deletes() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    for v in 0..3 {
        write(&mut groups, &mut pool, id(1, v), 64);
    }
    let Ok(Deletion::Record(record)) = groups.delete(&mut pool, id(1, 0)) else {
        panic!("others remain, so a record is needed");
    };
    assert!(
        groups.find(id(1, 0)).is_some(),
        "until the record is durable"
    );
    groups.commit(record);
    assert_eq!(groups.find(id(1, 0)), None);
    for _ in 0..3 {
        write(&mut groups, &mut pool, id(1, 1), 64);
    }
    assert_eq!(
        groups.reclaim(),
        [],
        "row set 1 holds the record, row set 0 vector 2"
    );
    write(&mut groups, &mut pool, id(1, 2), 64);
    let reclaimed: Vec<_> = groups
        .reclaim()
        .into_iter()
        .map(|r| r.row_set.row_set)
        .collect();
    assert_eq!(reclaimed, [0]);
    assert_eq!(
        groups.reclaim(),
        [],
        "the record stays until row set 0 is erased"
    );
    groups.erased(RowSetId {
        group: 1,
        row_set: 0,
    });
    let reclaimed: Vec<_> = groups
        .reclaim()
        .into_iter()
        .map(|r| r.row_set.row_set)
        .collect();
    assert_eq!(reclaimed, [1]);
}

#[test]
fn the_last_vector_takes_its_group_along() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    write(&mut groups, &mut pool, id(4, 0), 64 * 9);
    let Ok(Deletion::Group(erase)) = groups.delete(&mut pool, id(4, 0)) else {
        panic!("no other vector is left");
    };
    assert_eq!(erase.iter().map(|r| r.blocks.len()).sum::<usize>(), 8);
    assert_eq!(groups.delete_group(4), Err(BitsError::UnknownGroup(4)));
    let placement = write(&mut groups, &mut pool, id(4, 0), 64);
    assert_eq!(
        placement.row_set.row_set, 1,
        "another length starts in other strings"
    );
    groups.erased(erase[0].row_set);
    assert_eq!(groups.find(id(4, 0)), Some(placement));
}

#[test]
fn an_abandoned_first_write_leaves_a_group_of_any_length() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    let failed = groups
        .place(&mut pool, id(1, 0), 64, false)
        .expect("there is room");
    groups.abandon(failed);
    let placement = write(&mut groups, &mut pool, id(1, 0), 64 * 8);
    assert_eq!(placement.row_set.row_set, 1);
    assert_eq!(groups.reclaim().len(), 1);
}

#[test]
fn a_group_lies_on_the_dies_of_its_home() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    let home = Home { first: 3, dies: 2 };
    let place = |groups: &mut Groups, pool: &mut Pool, home| {
        groups.place_at(pool, home, id(1, 0), 64 * 9, false)
    };
    let write = place(&mut groups, &mut pool, home).expect("there is room");
    for chunk in 0..9 {
        let page = groups.page(&write.placement, chunk).expect("placed");
        let place = small().plane_place(small().plane_of_block(page.block));
        // Die 3 is the second chip of the second channel, die 0 follows.
        let expected = [(1, 1), (0, 0)][chunk as usize % 2];
        assert_eq!((place.channel, place.chip), expected);
    }
    groups.commit(write);
    let elsewhere = place(&mut groups, &mut pool, Home::ALL);
    let mismatch = BitsError::HomeMismatch {
        group: 1,
        expected: home,
        found: Home::ALL,
    };
    assert_eq!(elsewhere, Err(mismatch));
    let nowhere = Home { first: 4, dies: 1 };
    let missing = BitsError::NoSuchHome {
        home: nowhere,
        dies: 4,
    };
    assert_eq!(place(&mut groups, &mut pool, nowhere), Err(missing));
    // All dies may be called by their number.
    let all = Home { first: 0, dies: 4 };
    let other = groups.place_at(&mut pool, all, id(2, 0), 64, false);
    groups.abandon(other.expect("there is room"));
    assert_eq!(groups.home(2), Some(Home::ALL));
}

#[test]
fn what_is_lent_comes_back_whole() {
    let (mut groups, mut pool) = (Groups::new(small()), Pool::new(&small()));
    let layout = groups.layout().clone();
    let free = pool.free.clone();
    let row_set = groups.lend(&mut pool, &layout, 3..20).expect("room");
    let pages: BTreeSet<_> = (3..20)
        .map(|chunk| {
            let (page, record) = groups
                .temporary_page(row_set, 2, chunk, 64 * 20)
                .expect("lent");
            assert_eq!((record.group, record.chunk), (TEMPORARY, chunk as u32));
            assert_eq!(small().plane_of_block(page.block), layout.plane(chunk));
            (page.block.0, page.page)
        })
        .collect();
    assert_eq!(pages.len(), 17, "a page for each chunk");
    assert_eq!(groups.vectors().count(), 0);
    let blocks = groups.take_back(row_set);
    assert!(blocks.iter().all(|block| !pool.free.contains(block)));
    blocks
        .into_iter()
        .for_each(|block| pool.release_block(block));
    assert_eq!((groups.lent(), &pool.free), (0, &free));
    // Where a plane has none to spare, nothing is lent.
    let plane = layout.plane(7);
    pool.free
        .retain(|&block| small().plane_of_block(block) != plane);
    let left = pool.free.clone();
    let full = BitsError::OutOfBlocks {
        group: TEMPORARY,
        plane: plane.0,
    };
    assert_eq!(groups.lend(&mut pool, &layout, 0..8), Err(full));
    assert_eq!((groups.lent(), pool.free), (0, left));
}
