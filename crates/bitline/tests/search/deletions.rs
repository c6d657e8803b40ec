//! Deletions whose cells do not do as they are told: raises that fail, that the power cuts, and cells that read wrong.

use std::cell::Cell;
use std::rc::Rc;

use bitline::inside::InsideDrive;
use bitline::inside::device::region::Owner;
use bitline::inside::media::nand::{BlockId, Failures, PlaneId};
use bitline::inside::sim::Span;
use bitline::{Ageing, Pattern};

use crate::cut;
use crate::random::Random;
use crate::rows::{Entry, KEPT, Lived, ROW, by_name, by_tag, fresh, has_tag, store, term};

/// The pages whose cells a deletion raises in a row: one a search region.
const RAISED_PAGES: u64 = 2;

/// Two rows in flash, and some names in memory.
fn two_rows(more: &[(&str, &str)]) -> (Lived, Random) {
    let mut lived = Lived::new(more);
    let mut random = Random(11);
    lived.append(&fresh(&mut random, 0..2 * u64::from(ROW) + 100));
    lived.wait_for_blocks([2, 2]);
    (lived, random)
}

/// Takes the free blocks that names may have.
fn take_all_blocks(lived: &Lived) -> Vec<BlockId> {
    let planes = lived.drive.nand().borrow().geometry().planes();
    let ftl = &lived.drive.device().expect("power").ftl;
    let of_plane =
        |plane| std::iter::from_fn(move || ftl.lend_block(Owner::Search, PlaneId(plane)));
    (0..planes).flat_map(of_plane).collect()
}

fn give_back(lived: &mut Lived, blocks: Vec<BlockId>) {
    let ftl = lived.drive.device().expect("power").ftl.clone();
    let given = lived.drive.run(|_| async move {
        for block in blocks {
            ftl.take_back(block).await.expect("it is whole");
        }
    });
    given.expect("time passes");
}

/// Lets the raises in a row fail: that which comes as the first, or second, from now on. Gives how many have still to fail.
fn fail_raises(lived: &Lived, row: u64) -> Rc<Cell<u64>> {
    let search = lived.drive.device().expect("power").search.clone();
    let last = search.counts().pages_raised + row * RAISED_PAGES;
    let left = Rc::new(Cell::new(RAISED_PAGES));
    let to_fail = left.clone();
    let failures = Failures {
        program_per_million: 1,
        erase_per_million: 0,
        draw: Box::new(move || {
            let is_due = search.counts().pages_raised == last && to_fail.get() > 0;
            to_fail.set(to_fail.get() - u64::from(is_due));
            u64::from(!is_due)
        }),
    };
    lived.drive.nand().borrow_mut().set_failures(Some(failures));
    left
}

/// An update deletes an entry of each of the two rows. The raise in the second fails, and there is no block that the row
/// could move to. Gives the blocks that were taken for that.
fn fail_an_update(lived: &mut Lived, random: &mut Random) -> Vec<BlockId> {
    let blocks = take_all_blocks(lived);
    let names = [7, ROW + 9].map(|number| lived.entries[&number].name);
    let left = fail_raises(lived, 2);
    let new = Entry::random(random, 1 << 33);
    let (groups, record) = (names.map(by_name), new.record());
    let updated = lived
        .drive
        .search()
        .update("store", Some(&groups), &record, 1);
    assert_eq!(updated.expect("it is noted").deleted, 2);
    let counts = lived.drive.statistics().expect("it is on").search;
    assert_eq!(
        (left.get(), counts.rows_moved),
        (0, 0),
        "nowhere to move to"
    );
    lived.entries.remove(&7);
    lived.entries.remove(&(ROW + 9));
    lived.entries.insert(lived.tail, new);
    lived.tail += 1;
    lived.check_all("a raise failed");
    blocks
}

/// Deletes all entries of a row.
fn empty_row(lived: &mut Lived, row: u32) {
    let numbers: Vec<u32> = lived
        .entries
        .range(row * ROW..(row + 1) * ROW)
        .map(|(number, _)| *number)
        .collect();
    for numbers in numbers.chunks(500) {
        let names = numbers
            .iter()
            .map(|number| by_name(lived.entries[number].name));
        let groups: Vec<_> = names.collect();
        let deleted = lived.drive.search().delete("store", &groups);
        assert_eq!(deleted.expect("found"), numbers.len() as u32);
        numbers.iter().for_each(|number| {
            lived.entries.remove(number);
        });
    }
}

#[test]
fn a_deletion_that_failed_in_one_row_does_not_reach_what_comes_into_another() {
    for more in KEPT {
        let (mut lived, mut random) = two_rows(more);
        let blocks = fail_an_update(&mut lived, &mut random);
        empty_row(&mut lived, 0);
        give_back(&mut lived, blocks);
        lived.wait_for_blocks([1, 1]);
        let free = u64::from(2 * ROW - lived.tail % ROW);
        lived.append(&fresh(&mut random, 1 << 34..(1 << 34) + free));
        assert!(lived.entries.contains_key(&7), "the row is used again");
        lived.wait_for_blocks([3, 3]);
        lived.check_all("used again");
        for life in 0..2 {
            cut(&mut lived.drive);
            lived.check_all(&format!("life {life} after a failed raise, {more:?}"));
        }
    }
}

#[test]
fn a_deletion_that_failed_does_not_reach_a_store_that_is_made_later() {
    for more in KEPT {
        let (mut lived, mut random) = two_rows(more);
        let blocks = fail_an_update(&mut lived, &mut random);
        give_back(&mut lived, blocks);
        lived.drive.search().remove("store").expect("it is there");
        lived
            .drive
            .search()
            .create("store", &store())
            .expect("it fits");
        (lived.tail, lived.entries) = (0, Default::default());
        lived.append(&fresh(&mut random, 1 << 34..(1 << 34) + 2 * u64::from(ROW)));
        lived.wait_for_blocks([2, 2]);
        cut(&mut lived.drive);
        lived.check_all(&format!("another store, {more:?}"));
    }
}

#[test]
fn a_deletion_that_failed_is_gone_on_with_in_the_next_life() {
    for more in KEPT {
        let (mut lived, mut random) = two_rows(more);
        let blocks = fail_an_update(&mut lived, &mut random);
        give_back(&mut lived, blocks);
        for life in 0..2 {
            cut(&mut lived.drive);
            lived.check_all(&format!("life {life}, {more:?}"));
        }
    }
}

/// Deletes by a tag, and cuts the power after a while; whether it was over.
fn delete_for(lived: &mut Lived, tag: u16, span: Span) -> bool {
    let over = Rc::new(Cell::new(false));
    let is_over = over.clone();
    let ran = lived.drive.run(move |host| async move {
        let (sim, beside) = (host.sim().clone(), host.clone());
        sim.spawn_detached(async move {
            let deleted = beside.delete_entries("store", &[by_tag(tag)]).await;
            deleted.expect("flash is whole");
            is_over.set(true);
        });
        sim.sleep(span).await;
    });
    ran.expect("time passes");
    cut(&mut lived.drive);
    over.get()
}

#[test]
fn a_deletion_that_the_power_cuts_is_of_all_entries_or_of_none() {
    for more in KEPT {
        let (mut none, mut all) = (0, 0);
        for step in 0.. {
            let (mut lived, _) = two_rows(more);
            let over = delete_for(&mut lived, 17, Span::from_us(60 * step));
            let groups = [by_tag(17)];
            let left = lived.drive.search().count("store", &groups);
            let left = left.expect("it can be asked") as usize;
            let before = lived.matching(has_tag(17));
            assert!(before.len() > 100);
            match left {
                0 => lived
                    .entries
                    .retain(|number, _| before.binary_search(number).is_err()),
                left => assert_eq!(left, before.len(), "after {step} steps, {more:?}"),
            }
            lived.check_all("all or nothing");
            lived.check(&[by_tag(300)], has_tag(300), "in the other search region");
            if over {
                assert_eq!(left, 0);
                break;
            }
            *(if left == 0 { &mut all } else { &mut none }) += 1;
        }
        assert!(none > 0 && all > 0, "{none} and {all} of {more:?}");
    }
}

#[test]
fn cells_that_read_wrong_bring_no_entry_back_and_take_none() {
    for more in KEPT {
        let more = [more, &[("search.esp", "false")]].concat();
        let (mut lived, mut random) = two_rows(&more);
        for life in 0..3 {
            // The same names again: exactly those are deleted, though without margin senses match many others.
            let some = lived.entries.keys().copied().step_by(211);
            let numbers: Vec<u32> = some.collect();
            let new: Vec<Entry> = numbers
                .iter()
                .map(|number| lived.entries[number].clone())
                .collect();
            let records: Vec<u8> = new.iter().flat_map(Entry::record).collect();
            // In the second life the first row has to move.
            let fails = (life == 1).then(|| fail_raises(&lived, 1));
            let updated = lived
                .drive
                .search()
                .update("store", None, &records, new.len() as u32);
            let updated = updated.expect("it fits");
            assert_eq!(updated.deleted, new.len() as u32);
            lived
                .entries
                .retain(|number, _| numbers.binary_search(number).is_err());
            lived.entries.extend((updated.first..).zip(new));
            lived.tail = updated.first + numbers.len() as u32;
            // By a tag go those that have it, of many more that seem to.
            let groups = [by_tag(17 + life)];
            let tagged = lived.matching(has_tag(17 + life));
            let seem = lived.drive.search().count("store", &groups);
            let seem = seem.expect("it can be asked") as usize;
            assert!(seem > 5 * tagged.len(), "{seem} of {}", tagged.len());
            let deleted = lived.drive.search().delete("store", &groups);
            assert_eq!(deleted.expect("found"), tagged.len() as u32);
            lived
                .entries
                .retain(|number, _| tagged.binary_search(number).is_err());
            lived.check_all(&format!("life {life}, {more:?}"));
            let moved = lived
                .drive
                .statistics()
                .expect("it is on")
                .search
                .rows_moved;
            assert_eq!(
                (moved, fails.map_or(0, |left| left.get())),
                (u64::from(life == 1), 0)
            );
            let older = Ageing::new(100.0, 30.0);
            lived.drive.grow_older(&older).expect("it may");
            cut(&mut lived.drive);
            lived.check_all(&format!("after life {life}, {more:?}"));
        }
        // What is deleted is not deleted again, and rows that become empty are used again.
        let any = Pattern::new(8, &[0], &[0]).expect("a pattern");
        let all = [vec![term(0, any)]];
        let deleted = lived.drive.search().delete("store", &all);
        assert_eq!(deleted.expect("found"), lived.entries.len() as u32);
        lived.entries.clear();
        let deleted = lived.drive.search().delete("store", &all);
        assert_eq!(deleted.expect("nothing is found"), 0);
        lived.wait_for_blocks([0, 0]);
        let free = u64::from(2 * ROW - lived.tail % ROW);
        lived.append(&fresh(&mut random, 1 << 34..(1 << 34) + free));
        lived.wait_for_blocks([2, 2]);
        cut(&mut lived.drive);
        lived.check_all("used again");
    }
}

#[test]
fn cells_with_margin_say_what_is_there_when_they_are_worn_and_old() {
    let (mut lived, _) = two_rows(&[]);
    for life in 0..3 {
        let older = Ageing::new(3000.0, 40.0).after_cycles(1500);
        lived.drive.grow_older(&older).expect("it may");
        let tag = 17 + life;
        let gone = lived.matching(has_tag(tag));
        let deleted = lived.drive.search().delete("store", &[by_tag(tag)]);
        assert_eq!(deleted.expect("found"), gone.len() as u32);
        lived
            .entries
            .retain(|number, _| gone.binary_search(number).is_err());
        lived.check_all(&format!("life {life}"));
        cut(&mut lived.drive);
        lived.check_all(&format!("after life {life}"));
    }
}
