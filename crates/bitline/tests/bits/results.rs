//! Results of every platform against plain loops.

use std::collections::BTreeMap;

use bitline::{Drive, Error, Expression, Platform, VectorId, VolumeError};
use nvme::Status;

use crate::numbered;
use crate::numbered::Numbered;
use crate::{BITS, Random, ones, open, oracle, status_of};

type Vectors = BTreeMap<VectorId, Vec<u8>>;

/// Writes eleven vectors in three groups, some of them inverted.
fn fill(drive: &mut Drive, random: &mut Random, bits: u64) -> Vectors {
    let mut vectors = Vectors::new();
    for (group, count) in [(1, 6), (2, 3), (900, 2)] {
        for vector in 0..count {
            let id = VectorId::new(group, vector * 7);
            let data = random.vector(bits);
            let inverse = random.below(2) == 0;
            drive
                .write_vector(id, bits, inverse, &data)
                .expect("there is room");
            vectors.insert(id, data);
        }
    }
    vectors
}

#[test]
fn results_are_seen_where_they_arrive_and_come_into_memory_that_is_there() {
    // With ranks, large evaluations let small ones go first, which wait for the same room.
    many_evaluations("read_priority");
    many_evaluations("priority_aware");
}

fn many_evaluations(policy: &str) {
    let mut random = Random(2);
    let mut drive = open(&[("schedule.policy", policy)]);
    let vectors = fill(&mut drive, &mut random, BITS);
    let names: Vec<VectorId> = vectors.keys().copied().collect();
    let expression = Expression::all(names[..3].iter().copied()).expect("three");
    let expected = oracle(&expression, &vectors, BITS);
    for platform in [Platform::Host, Platform::FlashCosmos] {
        let received = drive.ask(&expression).on(platform).receive();
        let received = received.expect("they are there");
        assert_eq!(received.bytes(), BITS.div_ceil(8));
        let is_it = received.look(|bytes| bytes == expected);
        assert!(is_it.expect("its memory is there"), "{platform}");
        assert_eq!(received.into_vec().expect("as before"), expected);
        let mut into = vec![0xAA; expected.len()];
        let read = drive.ask(&expression).on(platform).read_into(&mut into);
        read.expect("it fits");
        assert_eq!(into, expected, "{platform}");
        let begin = drive.now();
        for bytes in [expected.len() - 1, expected.len() + 1] {
            let mut into = vec![0xAA; bytes];
            let read = drive.ask(&expression).on(platform).read_into(&mut into);
            let told = read.expect_err("it does not fit").to_string();
            assert!(told.contains("there is room for"), "{told}");
            assert!(into.iter().all(|byte| *byte == 0xAA), "nothing came");
        }
        assert_eq!(drive.now(), begin, "nothing was evaluated");
    }
}

#[test]
fn every_platform_yields_what_plain_loops_do() {
    let mut random = Random(1);
    for bits in [1, 512 * 8, 512 * 8 * 8, BITS] {
        let mut drive = open(&[]);
        let vectors = fill(&mut drive, &mut random, bits);
        let names: Vec<VectorId> = vectors.keys().copied().collect();
        for round in 0..25 {
            let expression = random.expression(&names, 3);
            let expected = oracle(&expression, &vectors, bits);
            for platform in Platform::NAMED {
                let result = drive.evaluate(&expression, platform);
                let result = result.expect("the vectors are there");
                assert!(
                    result == expected,
                    "{platform}, {bits} bits, {round}: {expression}"
                );
                let counted = drive.count_ones(&expression, platform);
                let counted = counted.expect("the vectors are there");
                assert_eq!(counted, ones(&expected), "{platform}: {expression}");
            }
        }
    }
}

#[test]
fn many_evaluations_in_flight_do_not_mix() {
    let mut random = Random(2);
    let mut drive = open(&[]);
    let vectors = fill(&mut drive, &mut random, BITS);
    let names: Vec<VectorId> = vectors.keys().copied().collect();
    let asked: Vec<(Expression, Platform)> = (0..40)
        .map(|place| (random.expression(&names, 3), Platform::NAMED[place % 4]))
        .collect();
    let sent = asked.clone();
    let results = drive.run(|host| async move {
        let tasks: Vec<_> = sent
            .into_iter()
            .map(|(expression, platform)| {
                let sender = host.clone();
                let evaluate =
                    async move { numbered::evaluate(&sender, &expression, platform).await };
                host.sim().spawn(evaluate)
            })
            .collect();
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await);
        }
        results
    });
    for ((expression, platform), result) in asked.iter().zip(results.expect("nothing hangs")) {
        let expected = oracle(expression, &vectors, BITS);
        assert!(
            result.expect("exists") == expected,
            "{platform}: {expression}"
        );
    }
}

#[test]
fn without_data_every_command_takes_the_same_time() {
    let run = |storage: &str| {
        let mut random = Random(3);
        let mut drive = open(&[("data.storage", storage)]);
        let vectors = fill(&mut drive, &mut random, BITS);
        let names: Vec<VectorId> = vectors.keys().copied().collect();
        let mut times = vec![drive.now()];
        for _ in 0..15 {
            let expression = random.expression(&names, 3);
            for platform in Platform::NAMED {
                let result = drive.evaluate(&expression, platform).expect("exists");
                assert_eq!(result.len() as u64, BITS.div_ceil(8));
                assert!(storage == "memory" || ones(&result) == 0);
                times.push(drive.now());
                drive.count_ones(&expression, platform).expect("exists");
                times.push(drive.now());
            }
        }
        let mut statistics = drive.statistics().expect("it has power");
        statistics.now_ns = 0.0;
        (times, statistics)
    };
    assert_eq!(run("memory"), run("none"));
}

#[test]
fn an_inverted_vector_reads_as_it_was_written() {
    let mut random = Random(4);
    let mut drive = open(&[]);
    let id = VectorId::new(3, 0);
    let data = random.vector(BITS);
    for inverse in [true, false, true] {
        drive.write_vector(id, BITS, inverse, &data).expect("room");
        for platform in Platform::NAMED {
            let read = drive.evaluate(&id.into(), platform).expect("exists");
            assert!(read == data, "{platform}, inverse {inverse}");
        }
        let listed = drive.vectors(None).expect("a list");
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (listed[0].id, listed[0].bits, listed[0].inverse),
            (id, BITS, inverse)
        );
    }
}

#[test]
fn what_is_overwritten_or_deleted_gives_its_strings_back() {
    let mut random = Random(5);
    let mut drive = open(&[]);
    let mut kept = Vectors::new();
    for round in 0..150 {
        let id = VectorId::new(random.below(2) as u32, random.below(5) as u32);
        let data = random.vector(BITS);
        if random.below(3) > 0 {
            drive
                .write_vector(id, BITS, false, &data)
                .expect("strings are reused");
            kept.insert(id, data);
        } else {
            let deleted = drive.delete_vectors(id.group, Some(id.vector));
            match kept.remove(&id) {
                Some(_) => deleted.expect("it was there"),
                None => assert!(matches!(
                    deleted,
                    Err(Error::Volume(VolumeError::NotFound { .. }))
                )),
            }
        }
        let listed = drive.vectors(None).expect("a list");
        let names: Vec<VectorId> = listed.iter().map(|vector| vector.id).collect();
        assert_eq!(
            names,
            kept.keys().copied().collect::<Vec<_>>(),
            "round {round}"
        );
    }
    assert!(drive.statistics().expect("power").bits.blocks_erased > 0);
    for (id, data) in &kept {
        let read = drive.evaluate(&(*id).into(), Platform::FlashCosmos);
        assert!(read.expect("it is kept") == *data);
    }
    let groups: Vec<u32> = kept.keys().map(|id| id.group).collect();
    for group in 0..2 {
        if groups.contains(&group) {
            drive.delete_vectors(group, None).expect("it is there");
            let again = drive.delete_vectors(group, None);
            let told = again.expect_err("it is gone").to_string();
            assert_eq!(told, format!("the volume has no object \"{group}\""));
        }
    }
    assert_eq!(drive.vectors(None).expect("a list"), []);
}

#[test]
fn a_write_goes_elsewhere_when_programs_fail() {
    let mut random = Random(6);
    let mut drive = open(&[("faults.program_failures_per_million", "15000")]);
    let vectors = fill(&mut drive, &mut random, BITS);
    for (id, data) in &vectors {
        let read = drive.evaluate(&(*id).into(), Platform::FlashCosmos);
        assert!(read.expect("it was acknowledged") == *data);
    }
    let counts = drive.statistics().expect("power").bits;
    assert!(counts.write_retries > 0, "{counts:?}");
    assert_eq!(counts.rows_written, vectors.len() as u64);
}

#[test]
fn what_cannot_be_done_is_told_by_its_status_and_changes_nothing() {
    let mut random = Random(7);
    let mut drive = open(&[]);
    let (a, b) = (VectorId::new(1, 0), VectorId::new(2, 0));
    let data = random.vector(BITS);
    drive.write_vector(a, BITS, false, &data).expect("room");
    drive
        .write_vector(b, 100, false, &random.vector(100))
        .expect("room");
    let missing = drive.evaluate(&(a & VectorId::new(1, 1)), Platform::FlashCosmos);
    assert!(matches!(missing, Err(Error::NoVector(_))), "{missing:?}");
    let mixed = drive.evaluate(&(a & b), Platform::ParaBit);
    assert!(matches!(mixed, Err(Error::Lengths { .. })), "{mixed:?}");
    let other = drive.write_vector(VectorId::new(1, 1), 100, false, &random.vector(100));
    let told = other.expect_err("another length").to_string();
    assert!(told.contains("equally long"), "{told}");
    let short = drive.write_vector(VectorId::new(1, 1), BITS, false, &data[1..]);
    let told = short.expect_err("a byte less").to_string();
    assert!(told.contains("would be right"), "{told}");
    let full = (0..1000).find_map(|number| {
        let id = VectorId::new(1, 100 + number);
        drive.write_vector(id, BITS, false, &data).err()
    });
    assert_eq!(status_of(full.map_or(Ok(()), Err)), Status::GROUP_FULL);
    assert!(drive.ask(&(a & b)).explain().is_err());
    let read = drive.evaluate(&a.into(), Platform::Host).expect("exists");
    assert!(read == data);
}

#[test]
fn block_data_and_vectors_live_side_by_side() {
    let mut random = Random(8);
    let mut drive = open(&[]);
    let blocks = drive.data_blocks().expect("power");
    let contents: Vec<Vec<u8>> = (0..blocks / 8).map(|_| random.vector(4096)).collect();
    for (place, data) in contents.iter().enumerate() {
        drive.write(place as u64 * 8, data).expect("in range");
    }
    let vectors = fill(&mut drive, &mut random, BITS);
    for (place, data) in contents.iter().enumerate() {
        assert!(drive.read(place as u64 * 8, 1).expect("in range") == *data);
    }
    for (id, data) in &vectors {
        let read = drive.evaluate(&(*id).into(), Platform::FlashCosmos);
        assert!(read.expect("exists") == *data);
    }
}
