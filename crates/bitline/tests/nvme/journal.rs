//! Facts of the journal through power cuts at any event: the old or the new, never garbage, never some
//! of those that were put together; and what was put is there.

use std::cell::Cell;
use std::rc::Rc;

use bitline::Drive;
use bitline::inside::InsideDrive;
use device::journal::{Change, FactKind};

use crate::drive;

const KIND: FactKind = FactKind(0xF000);

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
