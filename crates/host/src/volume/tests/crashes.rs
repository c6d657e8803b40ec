//! Power cuts at every command of changes, what was under way torn between blocks, and what a volatile cache held
//! lost in any part: each change is there as a whole or not at all, and whatever was there before is.

use nvme::Status;

use super::drive::{MemoryDrive, Sent};
use super::oracle::{Oracle, Step, found, imagine, make};
use super::{Random, create, file, fresh, open};
use crate::volume::VolumeError;

/// One life: changes, each tried with a cut at each of its commands, then made. How often the change was lost, and how
/// often it was there though nobody was told.
fn live(seed: u64, drive: MemoryDrive) -> [u64; 2] {
    let mut random = Random(seed);
    let mut drive = drive;
    let mut volume = create(&drive).expect("a drive with room");
    let mut oracle = Oracle::new();
    let mut outcomes = [0; 2];
    for _ in 0..12 {
        let count = 1 + random.below(3);
        let steps: Vec<Step> = (0..count).map(|_| Step::random(&mut random)).collect();
        let Some(after) = imagine(&steps, &oracle) else {
            continue;
        };
        for commands in 0.. {
            let torn = drive.copy();
            let mut there = open(&torn).expect("it was left whole");
            torn.cut_after(commands);
            let made = make(&steps, &mut there);
            drop(there);
            torn.power_up(&mut random);
            let there = open(&torn).expect("a cut leaves a whole volume");
            let left = found(&there);
            let cut = matches!(&made, Err(VolumeError::Device(crate::Error::Transport(_))));
            if !cut {
                let wanted = if made.is_ok() { &after } else { &oracle };
                assert_eq!(&left, wanted, "seed {seed}, {steps:?}: nothing was cut");
                break;
            }
            assert!(
                left == oracle || left == after,
                "seed {seed}, {steps:?}, command {commands}"
            );
            outcomes[usize::from(left != oracle)] += 1;
            // Now and then life goes on from there, so that cuts follow cuts.
            if random.below(8) == 0 {
                (drive, volume) = (torn, there);
                break;
            }
        }
        let before = found(&volume);
        match (imagine(&steps, &before), make(&steps, &mut volume)) {
            (Some(after), Ok(())) => oracle = after,
            _ => oracle = before,
        }
        assert_eq!(found(&volume), oracle, "seed {seed}");
    }
    outcomes
}

fn lives(drive: fn() -> MemoryDrive) {
    let mut outcomes = [0; 2];
    for seed in 0..80 {
        let of_seed = live(seed, drive());
        (0..2).for_each(|kind| outcomes[kind] += of_seed[kind]);
    }
    assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
}

#[test]
fn a_change_is_whole_or_not_at_all() {
    lives(MemoryDrive::new);
}

#[test]
fn with_a_volatile_cache_too() {
    lives(MemoryDrive::with_cache);
}

#[test]
fn and_on_a_drive_where_old_pages_of_the_catalogue_stay() {
    lives(MemoryDrive::keeping_deallocated);
}

#[test]
fn creating_leaves_a_volume_or_none() {
    let mut outcomes = [0; 2];
    for seed in 0..20 {
        for commands in 0.. {
            let drive = MemoryDrive::with_cache();
            let mut random = Random(seed);
            drive.cut_after(commands);
            let created = create(&drive).map(drop);
            drive.power_up(&mut random);
            if created.is_ok() {
                break;
            }
            let is_there = match open(&drive) {
                Ok(volume) => volume.is_empty(),
                Err(VolumeError::NoVolume {
                    first: super::FIRST,
                }) => false,
                Err(error) => panic!("command {commands}: {error}"),
            };
            outcomes[usize::from(is_there)] += 1;
            if !is_there {
                let volume = create(&drive).expect("a drive with room");
                assert!(volume.is_empty());
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
}

#[test]
fn old_extents_go_after_the_commit_and_new_ones_are_flushed_before_it() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1; 3000]).unwrap();
    let old = volume.named("a").unwrap().extents;
    drive.take_log();
    make(&[Step::File("a".into(), vec![2; 3000])], &mut volume).unwrap();
    let new = volume.named("a").unwrap().extents;
    let last = volume.layout.area(0) + 2;
    let record = last + 2;
    let expected = [
        Sent::Write {
            first: new[0].first,
            blocks: new[0].blocks,
            durably: false,
        },
        Sent::Flush,
        Sent::Read {
            first: last,
            blocks: 4,
        },
        Sent::Write {
            first: record,
            blocks: 2,
            durably: true,
        },
        Sent::Deallocate {
            first: old[0].first,
            blocks: old[0].blocks,
        },
    ];
    assert_eq!(drive.take_log(), expected);
    assert_ne!(old, new);
}

#[test]
fn a_commit_whose_outcome_is_unknown_forbids_further_ones() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1; 3000]).unwrap();
    // Of a removal, the record's write is the first.
    drive.fail_after(0, Status::INTERNAL_ERROR);
    let removed = make(&[Step::Remove("a".into())], &mut volume);
    assert!(
        matches!(removed, Err(VolumeError::Device(_))),
        "{removed:?}"
    );
    assert!(volume.named("a").is_some(), "it is not known to be gone");
    let again = make(&[Step::Remove("a".into())], &mut volume);
    assert_eq!(again, Err(VolumeError::Unsure));
    let mut volume = open(&drive).unwrap();
    make(&[Step::Remove("a".into())], &mut volume).unwrap();
    assert!(open(&drive).unwrap().is_empty());
}

#[test]
fn what_cannot_be_deallocated_is_free_only_when_it_could() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1; 3000]).unwrap();
    let free = volume.free_blocks();
    drive.fail_after(1, Status::INTERNAL_ERROR);
    make(&[Step::Remove("a".into())], &mut volume).expect("the record is there");
    assert_eq!(volume.free_blocks(), free, "what holds data is nobody's");
    make(&[Step::Table("t".into(), 0)], &mut volume).unwrap();
    assert_eq!(volume.free_blocks(), free + 6, "three pages of two blocks");
}

#[test]
fn trimming_deallocates_what_torn_changes_have_left() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1; 3000]).unwrap();
    let mut change = volume.change().unwrap();
    let id = change.create("b", super::content(&[2; 3000])).unwrap();
    super::now(change.write(id, &[2; 3000])).unwrap();
    let left = change.extents(id).unwrap()[0];
    drop(change);
    assert_eq!(drive.block(left.first)[0], 2);
    super::now(volume.trim()).unwrap();
    assert_eq!(drive.block(left.first)[0], 0);
    assert_eq!(found(&volume)["a"].1, [1; 3000]);
}

#[test]
fn pages_of_two_torn_commits_never_make_one() {
    let table = |byte| crate::volume::Content::Table {
        schema: vec![byte; 1500],
        bytes: 0,
    };
    for seed in 0..500 {
        let (drive, mut volume) = fresh();
        let mut random = Random(seed);
        for byte in [1, 2] {
            // The record is written after the two pages that tell whether all is as it was.
            drive.cut_after(1);
            let torn = super::commit(&mut volume, |change| change.create("t", table(byte)));
            assert!(torn.is_err());
            drive.power_up(&mut random);
            volume = open(&drive).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            if let Some(found) = volume.named("t") {
                assert_eq!(found.content, table(byte), "seed {seed}");
                break;
            }
        }
    }
}
