//! Power cuts in the middle of writes and deletions: what was acknowledged is there, and what was
//! under way is as before or as it was to be.

use std::collections::BTreeMap;

use bitline::{Drive, Platform, VectorId};

use crate::numbered;
use crate::numbered::Numbered;
use crate::{Random, open};

const BITS: u64 = 512 * 8 * 11 + 9;

type Vectors = BTreeMap<VectorId, Vec<u8>>;

/// What a round does while the power is cut.
enum Change {
    Write(VectorId, Vec<u8>),
    Delete(VectorId),
    DeleteGroup(u32),
}

impl Change {
    fn random(random: &mut Random) -> Change {
        let id = VectorId::new(random.below(2) as u32, random.below(4) as u32);
        match random.below(8) {
            0 | 1 => Change::Delete(id),
            2 => Change::DeleteGroup(id.group),
            _ => Change::Write(id, random.vector(BITS)),
        }
    }

    fn apply(&self, vectors: &mut Vectors) {
        match self {
            Change::Write(id, data) => {
                vectors.insert(*id, data.clone());
            }
            Change::Delete(id) => {
                vectors.remove(id);
            }
            Change::DeleteGroup(group) => vectors.retain(|id, _| id.group != *group),
        }
    }

    /// The vectors as a cut in the middle may leave them: deleting a group deletes one vector after
    /// another.
    fn may_leave(&self, before: &Vectors, found: &Vectors) -> bool {
        let mut after = before.clone();
        self.apply(&mut after);
        match self {
            Change::DeleteGroup(_) => {
                let kept = |(id, data)| found.get(id) == Some(data);
                after.iter().all(kept)
                    && found.iter().all(|(id, data)| before.get(id) == Some(data))
            }
            _ => *found == *before || *found == after,
        }
    }
}

fn stored(drive: &mut Drive) -> Vectors {
    let listed = drive.vectors(None).expect("a list");
    let read = |id: VectorId| {
        let data = drive.evaluate(&id.into(), Platform::FlashCosmos);
        (id, data.expect("a listed vector is readable"))
    };
    listed.iter().map(|vector| vector.id).map(read).collect()
}

/// Runs `change` for at most `events` events; whether it was acknowledged, and how.
fn run(drive: &Drive, change: &Change, events: u64, inverse: bool) -> Option<bool> {
    let host = drive.host().expect("power");
    let simulation = drive.simulation().expect("power");
    let task = match change {
        Change::Write(id, data) => {
            let (id, data) = (*id, data.clone());
            let write = async move {
                numbered::write(&host, id, BITS, inverse, &data)
                    .await
                    .is_ok()
            };
            simulation.handle().spawn(write)
        }
        Change::Delete(VectorId { group, vector }) => {
            let (group, vector) = (*group, Some(*vector));
            let delete = async move { numbered::delete(&host, group, vector).await.is_ok() };
            simulation.handle().spawn(delete)
        }
        Change::DeleteGroup(group) => {
            let group = *group;
            let delete = async move { numbered::delete(&host, group, None).await.is_ok() };
            simulation.handle().spawn(delete)
        }
    };
    for _ in 0..events {
        if !simulation.step() {
            break;
        }
    }
    task.take()
}

fn rounds(seed: u64, overrides: &[(&str, &str)]) -> [u64; 3] {
    let mut random = Random(seed);
    let mut drive = open(overrides);
    let mut vectors = Vectors::new();
    let mut outcomes = [0; 3];
    for round in 0..40 {
        let change = Change::random(&mut random);
        let events = random.below(500);
        let inverse = random.below(2) == 0;
        let outcome = run(&drive, &change, events, inverse);
        drive.power_cut().expect("memory does not fail");
        drive.power_up().expect("it recovers");
        let found = stored(&mut drive);
        let place = format!("seed {seed}, round {round}");
        match outcome {
            Some(true) => {
                change.apply(&mut vectors);
                assert!(found == vectors, "{place}: acknowledged");
            }
            Some(false) => assert!(found == vectors, "{place}: refused"),
            None => assert!(change.may_leave(&vectors, &found), "{place}: under way"),
        }
        outcomes[outcome.map_or(0, |done| 1 + usize::from(done))] += 1;
        vectors = found;
    }
    outcomes
}

fn all_seeds(overrides: &[(&str, &str)]) {
    let mut outcomes = [0; 3];
    for seed in 0..12 {
        let of_seed = rounds(seed, overrides);
        (0..3).for_each(|kind| outcomes[kind] += of_seed[kind]);
    }
    assert!(outcomes.iter().all(|&count| count > 20), "{outcomes:?}");
}

#[test]
fn a_power_cut_leaves_the_old_or_the_new() {
    all_seeds(&[]);
}

#[test]
fn so_it_does_where_programs_and_erases_fail() {
    all_seeds(&[
        ("nand.geometry.blocks_per_plane", "100"),
        ("faults.program_failures_per_million", "5000"),
        ("faults.erase_failures_per_million", "5000"),
    ]);
}

#[test]
fn what_was_written_and_never_named_is_deallocated() {
    let mut left_over = 0;
    for events in (20..120).step_by(4) {
        let mut drive = open(&[]);
        let data = Random(events).vector(BITS);
        let id = VectorId::new(0, 0);
        drive.write_vector(id, BITS, false, &data).expect("room");
        let change = Change::Write(VectorId::new(1, 1), data.clone());
        let done = run(&drive, &change, events, false);
        drive.power_cut().expect("memory does not fail");
        drive.power_up().expect("it recovers");
        // Data is what is mapped and neither a vector's nor the catalogue's.
        let data_pages = |drive: &mut Drive| drive.inventory().expect("power").mapped_pages;
        left_over += u64::from(done.is_none() && data_pages(&mut drive) > 0);
        let id = VectorId::new(2, 2);
        drive.write_vector(id, BITS, false, &data).expect("room");
        assert_eq!(data_pages(&mut drive), 0, "cut after {events} events");
    }
    assert!(left_over > 3, "{left_over}");
}
