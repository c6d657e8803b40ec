//! Facts of the journal through power cuts at any event: the old or the new, never garbage, never some
//! of those that were put together; and what was put is there.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bitline::Drive;
use bitline::inside::InsideDrive;
use device::ftl::PageRecord;
use device::journal::{Change, FactKind};
use device::region::Owner;
use media::nand::{BlockId, PageAddress, Ppa};

use crate::drive;

const KIND: FactKind = FactKind(0xF000);
/// The byte of a journal page's record with the lowest bits of its version.
const VERSION: u32 = 12;
/// Pages of the group that [`before`] makes.
const PAGES: usize = 4;

/// Flash pages lost, warnings, and which facts are there.
type Found = (u64, Vec<String>, Vec<bool>);

fn tiny(changes: &[(&str, &str)]) -> Drive {
    const TINY: [(&str, &str); 4] = [
        ("nand.geometry.channels", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.blocks_per_plane", "16"),
        ("nand.geometry.cells_per_string", "4"),
    ];
    drive(&[&TINY[..], changes].concat())
}

/// A fact of so many bytes, all of one value.
fn fact(value: u8, bytes: usize) -> Option<Box<[u8]>> {
    Some(vec![value; bytes].into())
}

/// Puts a life begins with, and those that are under way when the power goes: a fact that changes, one that
/// grows over several pages, one that goes, one that is not touched.
fn before() -> Vec<Change> {
    vec![
        (KIND.key(1), fact(1, 8)),
        (KIND.key(2), fact(2, 100)),
        (KIND.key(3), fact(3, 6000)),
        (KIND.key(4), fact(4, 9000)),
    ]
}

fn after() -> Vec<Change> {
    vec![
        (KIND.key(1), fact(11, 8)),
        (KIND.key(2), fact(12, 15_000)),
        (KIND.key(3), None),
    ]
}

/// What is kept under keys 1 to 4.
fn kept(drive: &Drive) -> Vec<Option<Vec<u8>>> {
    let ftl = &drive.device().expect("power").ftl;
    (1..=4).map(|key| ftl.fact(KIND.key(key))).collect()
}

fn put(drive: &mut Drive, changes: Vec<Change>) {
    let ftl = drive.device().expect("power").ftl.clone();
    let put = drive.run(move |_| async move { ftl.put_facts(changes).await });
    put.expect("power").expect("room");
}

fn restart(drive: &mut Drive) {
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
}

#[test]
fn power_cuts_at_any_event_leave_the_old_or_the_new() {
    let checkpoints = [
        ("ftl.mapping.kind", "cached"),
        ("ftl.checkpoint.interval_pages", "10"),
    ];
    for changes in [&[][..], &checkpoints] {
        let (mut events, mut seen) = (0, [0, 0]);
        loop {
            let mut drive = tiny(changes);
            put(&mut drive, before());
            let old = kept(&drive);
            let ftl = drive.device().expect("power").ftl.clone();
            let host = drive.host().expect("power");
            let over = Rc::new(Cell::new(false));
            let told = over.clone();
            host.sim().clone().spawn_detached(async move {
                told.set(ftl.put_facts(after()).await.is_ok());
            });
            let simulation = drive.simulation().expect("power");
            for _ in 0..events {
                simulation.step();
            }
            let acknowledged = over.get();
            restart(&mut drive);
            let now = kept(&drive);
            let new = [
                fact(11, 8).map(Vec::from),
                fact(12, 15_000).map(Vec::from),
                None,
                fact(4, 9000).map(Vec::from),
            ];
            let is_new = now == new;
            assert!(is_new || now == old, "cut after {events} events");
            assert!(is_new || !acknowledged, "cut after {events} events");
            seen[usize::from(is_new)] += 1;
            // And it goes on from there, life after life.
            put(&mut drive, vec![(KIND.key(1), fact(21, 8))]);
            restart(&mut drive);
            assert_eq!(kept(&drive)[0], fact(21, 8).map(Vec::from));
            assert_eq!(kept(&drive)[1..], now[1..], "cut after {events} events");
            if acknowledged {
                break;
            }
            events += 1;
        }
        assert!(seen[0] > 3 && seen[1] > 0, "{seen:?}");
    }
}

/// Facts outlive what happens to the blocks that they are in.
#[test]
fn collection_and_checkpoints_take_facts_along() {
    let checkpoints = [("ftl.checkpoint.interval_pages", "30")];
    let copyback = [("ftl.gc.copyback", "true")];
    let dataless = [("data.storage", "none"), ("ftl.gc.copyback", "true")];
    for changes in [&[][..], &checkpoints, &copyback, &dataless] {
        let mut drive = tiny(changes);
        put(&mut drive, before());
        put(&mut drive, after());
        let facts = kept(&drive);
        let mut collected = 0;
        for round in 0..40u8 {
            for lba in (0..256).step_by(8) {
                let written = drive.write(lba, &[round; 8 * 512]);
                written.expect("room");
            }
            if round % 10 == 9 {
                collected += drive.statistics().expect("power").ftl.gc_blocks;
                restart(&mut drive);
                assert_eq!(kept(&drive), facts, "round {round}");
            }
        }
        assert!(collected > 3, "{collected} blocks were collected");
    }
}

/// Puts that come while another is written share the next group.
#[test]
fn puts_at_the_same_time_share_pages() {
    let mut drive = tiny(&[]);
    let ftl = drive.device().expect("power").ftl.clone();
    let programs = |drive: &Drive| drive.statistics().expect("power").flash.page_programs;
    let before = programs(&drive);
    let put = drive.run(move |host| async move {
        let puts: Vec<_> = (1..=20u8)
            .map(|key| {
                let ftl = ftl.clone();
                let put = async move { ftl.put_fact(KIND.key(key.into()), &[key; 9]).await };
                host.sim().spawn(put)
            })
            .collect();
        for put in puts {
            put.await.expect("room");
        }
    });
    put.expect("power");
    // The first, and those that came while that was written.
    assert_eq!(programs(&drive) - before, 2);
    restart(&mut drive);
    let ftl = &drive.device().expect("power").ftl;
    let facts = ftl.facts_of(KIND);
    assert_eq!(facts.len(), 20);
    assert!(facts.iter().all(|(key, value)| *value == [*key as u8; 9]));
}

/// Pages of the longest group of the journal, ascending.
fn longest_group(drive: &Drive) -> Vec<Ppa> {
    let nand = drive.nand().borrow();
    let geometry = nand.geometry();
    let pages = |block| (0..nand.block_state(block).next_page).map(move |page| (block, page));
    let mut groups: BTreeMap<u64, Vec<Ppa>> = BTreeMap::new();
    for (block, page) in (0..geometry.blocks()).map(BlockId).flat_map(pages) {
        let page = geometry.ppa(PageAddress { block, page });
        let record = PageRecord::decode(nand.spare(page).unwrap_or_default());
        if let Some(record) = record.filter(|record| record.owner == Owner::Journal) {
            groups.entry(record.version).or_default().push(page);
        }
    }
    let longest = groups.into_values().max_by_key(Vec::len);
    longest.expect("facts were put")
}

/// What a life finds of facts on whose flash these bits of the record of a page are inverted, the page by its number in the
/// longest group: flash pages that were lost, what the drive warns of, and facts.
fn life_after(puts: &[&dyn Fn() -> Vec<Change>], page: usize, bits: &[u32]) -> Found {
    let mut drive = tiny(&[]);
    puts.iter().for_each(|changes| put(&mut drive, changes()));
    let pages = longest_group(&drive);
    assert_eq!(pages.len(), PAGES, "{pages:?}");
    drive.power_cut().expect("no image");
    for bit in bits {
        assert!(drive.nand().borrow_mut().damage_spare(pages[page], *bit));
    }
    drive.power_up().expect("it recovers");
    let lost = drive.statistics().expect("power").ftl.pages_lost;
    let warnings = drive.health().expect("a page").critical_warnings;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    let is_there = kept(&drive).iter().map(Option::is_some).collect();
    (lost, warnings, is_there)
}

/// A power cut tears the group that is being written, and nobody is told, for nobody was promised it. What was on flash and is
/// damaged since is told, though what is left of its group looks the same.
#[test]
fn damaged_records_are_told_apart_from_torn_groups() {
    for page in 0..PAGES {
        assert_eq!(
            life_after(&[&before], page, &[]),
            (0, vec![], vec![true; 4])
        );
        for bit in [0, 3, 9, 100, 183] {
            let (lost, warnings, is_there) = life_after(&[&before], page, &[bit]);
            assert_eq!(lost, 1, "bit {bit} of page {page}");
            assert_eq!(warnings, ["reliability"], "bit {bit} of page {page}");
            assert_eq!(is_there, [false; 4], "bit {bit} of page {page}");
        }
    }
}

/// Damage that the checksum of a record does not notice: of bytes eight apart, which are added, the same bit. The page is of
/// another group then, or so it says.
#[test]
fn a_group_that_the_newest_needs_is_missed() {
    let again = || vec![(KIND.key(1), fact(5, 8))];
    let bits = [8 * VERSION + 6, 8 * (VERSION + 8) + 6];
    for page in 0..PAGES {
        let (lost, warnings, is_there) = life_after(&[&before, &again], page, &bits);
        assert_eq!(lost, 1, "page {page}");
        assert_eq!(warnings, ["reliability"], "page {page}");
        assert!(is_there[0] && !is_there[3], "page {page}: {is_there:?}");
    }
}
