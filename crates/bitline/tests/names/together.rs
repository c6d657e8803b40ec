//! Calls on one volume together: what they write overlaps, and each waits for those alone that use what it changes.

use bitline::{
    Answer, Config, Drive, Error, Expression, Home, Host, Pending, Platform, Request, Rows, Span,
};

use crate::{BITS, accounted, file, held, interruptible, row, small};

/// Vectors of a length that takes some time to write.
const LONG: usize = 4 * 2048;

async fn write(host: &Host, group: &str, home: Option<Home>, byte: u8) -> Result<usize, Error> {
    let mut rows = Rows::new(LONG as u64 * 8);
    rows.home = home;
    let both = [vec![byte; LONG], vec![byte; LONG]];
    let written = host.write_vectors(group, &rows, &both).await?;
    Ok(written.len())
}

fn on_die(first: u16) -> Option<Home> {
    Some(Home { first, dies: 1 })
}

fn ended<T>(drive: &mut Drive, pending: Pending<Result<T, Error>>) -> (T, Span) {
    let finished = drive.wait(&pending).expect("it ends");
    (finished.answer.expect("room"), finished.took)
}

fn dies() -> Config {
    small(&[("nand.geometry.chips_per_channel", "2")])
}

#[test]
fn groups_on_different_dies_are_written_at_the_same_time() {
    let mut times = Vec::new();
    for together in [false, true] {
        let mut drive = Drive::open(dies()).expect("a drive");
        // The volume is made by somebody else.
        drive
            .volume()
            .write("first", file(b"abc"), b"abc")
            .expect("room");
        let begin = drive.now();
        let submit = |drive: &mut Drive, group: &'static str, die: u16| {
            let call =
                async move |host: Host| write(&host, group, on_die(die), die as u8 + 1).await;
            drive.submit(call).expect("power")
        };
        let one = submit(&mut drive, "one", 0);
        if !together {
            assert_eq!(ended(&mut drive, one).0, 2);
            let two = submit(&mut drive, "two", 1);
            assert_eq!(ended(&mut drive, two).0, 2);
        } else {
            let two = submit(&mut drive, "two", 1);
            assert_eq!(ended(&mut drive, one).0, 2);
            assert_eq!(ended(&mut drive, two).0, 2);
        }
        times.push(drive.now().since(begin).as_ps());
        let names: Vec<(String, u8)> = held(&mut drive);
        assert_eq!(names.len(), 4);
        assert!(
            names
                .iter()
                .all(|(name, byte)| (*byte == 1) == name.starts_with("one"))
        );
    }
    println!(
        "one after the other {} ps, together {} ps",
        times[0], times[1]
    );
    assert!(times[1] * 10 < times[0] * 7, "{times:?}");
}

#[test]
fn files_are_written_at_the_same_time() {
    // A page each: longer ones keep all dies busy by themselves.
    let data = vec![7; 2048];
    let mut times = Vec::new();
    for together in [false, true] {
        let mut drive = Drive::open(dies()).expect("a drive");
        drive
            .volume()
            .write("first", file(b"abc"), b"abc")
            .expect("room");
        let begin = drive.now();
        let mut pending = Vec::new();
        for name in ["one", "two"] {
            let data = data.clone();
            let call = async move |host: Host| host.write_object(name, file(&data), &data).await;
            pending.push(drive.submit(call).expect("power"));
            if !together {
                ended(&mut drive, pending.pop().expect("just pushed"));
            }
        }
        for each in pending {
            ended(&mut drive, each);
        }
        times.push(drive.now().since(begin).as_ps());
        for name in ["one", "two"] {
            assert_eq!(drive.volume().read(name).expect("it is there"), data);
        }
    }
    println!(
        "one after the other {} ps, together {} ps",
        times[0], times[1]
    );
    assert!(times[1] * 10 < times[0] * 9, "{times:?}");
}

#[test]
fn the_first_writes_of_a_group_meet_in_it() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    let call = |byte: u8| async move |host: Host| write(&host, "g", None, byte).await;
    let calls = [1, 2, 4].map(|byte| drive.submit(call(byte)).expect("power"));
    let shorter = async |host: Host| host.write_vectors("g", &Rows::new(8), &[[1_u8]]).await;
    let shorter = drive.submit(shorter).expect("power");
    for call in calls {
        assert_eq!(ended(&mut drive, call).0, 2);
    }
    let told = drive.wait(&shorter).expect("it ends").answer;
    let told = told.expect_err("another length").to_string();
    assert!(told.contains("have 65536 bits, not 8"), "{told}");
    let vectors = drive
        .group("g")
        .expect("a name")
        .vectors()
        .expect("a catalogue");
    let numbers: Vec<u32> = vectors.iter().map(|vector| vector.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(drive.groups().expect("a catalogue").len(), 1);
    let any = Expression::any(&vectors).expect("six");
    assert_eq!(
        drive.query(&any).read().expect("it is there"),
        vec![7; LONG]
    );
}

/// The host reads all operands.
fn by_host(expression: &Expression) -> Request {
    let mut request = Request::new(expression);
    (request.platform, request.answer) = (Platform::Host, Answer::Read);
    request
}

#[test]
fn a_deletion_waits_for_those_who_use_what_it_deletes() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    for (name, byte) in [("used", 1), ("other", 2)] {
        let group = drive.group(name).expect("a name");
        group
            .write(BITS, [row(byte), row(byte), row(byte)])
            .expect("room");
    }
    let vectors = drive
        .group("used")
        .expect("a name")
        .vectors()
        .expect("three");
    let all = Expression::all(&vectors).expect("three");
    // Long enough that a deletion beside it is over before.
    let evaluate = async move |host: Host| {
        for _ in 0..200 {
            host.ask(&by_host(&all)).await?;
        }
        Ok::<_, Error>(host.sim().now())
    };
    let other = drive
        .group("other")
        .expect("a name")
        .vectors()
        .expect("three");
    let (other, used) = (other[0].id, vectors[0].id);
    let begin = drive.now();
    let evaluated = drive.submit(evaluate).expect("power");
    let deleted = drive.submit(async move |host| host.delete_vector(other).await);
    let deleted = deleted.expect("power");
    let ((), took) = ended(&mut drive, deleted);
    assert!(!evaluated.is_finished(), "it took {took}");
    // One evaluation under way is waited for, those after it find the vector gone.
    let deleted = drive.submit(async move |host| host.delete_vector(used).await);
    ended(&mut drive, deleted.expect("power"));
    let answer = drive.wait(&evaluated).expect("it ends").answer;
    assert!(
        matches!(answer, Err(Error::NoVector(id)) if id == used),
        "{answer:?}"
    );
    assert!(drive.now().since(begin) > took);
}

#[test]
fn an_evaluation_under_way_has_its_vectors_to_its_end() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    let group = drive.group("g").expect("a name");
    let vectors = group.write(BITS, [row(3), row(6)]).expect("room");
    let both = Expression::all(&vectors).expect("two");
    for number in 0..30 {
        let asked = both.clone();
        let read = async move |host: Host| host.ask(&by_host(&asked)).await;
        let read = drive.submit(read).expect("power");
        let id = vectors[0].id;
        let byte = 3 | (number % 2) << 2;
        let write = async move |host: Host| host.overwrite_vector(id, None, &row(byte)).await;
        let write = drive.submit(write).expect("power");
        let before = if number == 0 || number % 2 == 1 { 3 } else { 7 };
        assert_eq!(ended(&mut drive, read).0.bits, row(before & 6), "{number}");
        assert_eq!(ended(&mut drive, write).0.id, id);
    }
}

#[test]
fn bytes_of_one_block_and_ends_of_one_file_are_written_by_many() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    drive
        .volume()
        .write("file", file(&[0; 400]), &[0; 400])
        .expect("room");
    let mut calls = Vec::new();
    for part in 0..10_u8 {
        let write = async move |host: Host| {
            let offset = u64::from(part) * 40;
            host.write_object_at("file", offset, &[part + 1; 40]).await
        };
        calls.push(drive.submit(write).expect("power"));
        let append = async move |host: Host| host.append_to_object("file", &[part + 1; 700]).await;
        calls.push(drive.submit(append).expect("power"));
    }
    calls.into_iter().for_each(|call| ended(&mut drive, call).0);
    let found = drive.volume().read("file").expect("it is there");
    let expected = |bytes: usize| (1..=10).flat_map(move |part| vec![part; bytes]);
    let expected: Vec<u8> = expected(40).chain(expected(700)).collect();
    assert!(found == expected);
}

#[test]
fn what_fails_gives_back_what_it_had_taken() {
    let mut drive = Drive::open(small(&[("bits.compute_blocks_percent", "10")])).expect("a drive");
    let group = drive.group("g").expect("a name");
    group.write(BITS, [row(1)]).expect("room");
    let (blocks, free) = (
        accounted(&mut drive),
        drive.volume().usage().expect("one").free,
    );
    let many = vec![row(2); free as usize / 12 - 2];
    let full = drive.group("h").expect("a name").write(BITS, many);
    let told = full
        .expect_err("more than the blocks for computing hold")
        .to_string();
    assert!(told.contains("Vector Group Full"), "{told}");
    assert_eq!(drive.volume().usage().expect("one").free, free);
    assert_eq!(accounted(&mut drive), blocks);
    let named = drive.group("g").expect("a name").named(["a", "a"]);
    let twice = named
        .write(BITS, [row(1), row(2)])
        .expect_err("one name twice");
    assert!(twice.to_string().contains("\"a\" already"), "{twice}");
    assert_eq!(drive.volume().usage().expect("one").free, free);
}

/// Two groups, a file and an overwriting, all together.
fn begin_all(drive: &mut Drive, byte: u8) -> Vec<Pending<Result<(), Error>>> {
    let old = drive.group("old").expect("a name").vectors().expect("one")[0].id;
    let mut calls = Vec::new();
    for (group, die) in [("one", 0), ("two", 1)] {
        let call = async move |host: Host| write(&host, group, on_die(die), byte).await.map(drop);
        calls.push(drive.submit(call).expect("power"));
    }
    let call = async move |host: Host| {
        host.write_object("file", file(&row(byte)), &row(byte))
            .await
    };
    calls.push(drive.submit(call).expect("power"));
    let call = async move |host: Host| {
        let written = host.overwrite_vector(old, None, &row(byte)).await;
        written.map(drop)
    };
    calls.push(drive.submit(call).expect("power"));
    calls
}

#[test]
fn a_cut_at_any_event_of_many_changes_leaves_each_whole_or_undone() {
    let mut outcomes = [0; 2];
    for round in 0.. {
        let mut drive = Drive::open(small(&[])).expect("a drive");
        drive
            .group("old")
            .expect("a name")
            .write(BITS, [row(1)])
            .expect("room");
        drive
            .volume()
            .write("file", file(&row(1)), &row(1))
            .expect("room");
        let blocks = accounted(&mut drive);
        let calls = begin_all(&mut drive, 2);
        let simulation = drive.simulation().expect("power");
        (0..round).all(|_| simulation.step());
        let is_over = calls.iter().all(Pending::is_finished);
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        let left = held(&mut drive);
        let of = |name: &'static str| {
            let named = move |(held, _): &&(String, u8)| held.starts_with(name);
            left.iter().filter(named)
        };
        for (name, count) in [("one:", 2), ("two:", 2)] {
            let written = of(name).count();
            assert!(written == 0 || written == count, "{round}: {left:?}");
            assert!(of(name).all(|(_, byte)| *byte == 2));
            outcomes[usize::from(written > 0)] += 1;
        }
        let byte = |name: &'static str| of(name).next().expect("it was there").1;
        for name in ["old:0", "file"] {
            assert!([1, 2].contains(&byte(name)), "{round}: {left:?}");
        }
        assert_eq!(accounted(&mut drive), blocks, "{round}");
        if is_over {
            assert_eq!((left.len(), byte("old:0"), byte("file")), (6, 2, 2));
            break;
        }
    }
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
}

#[test]
fn calls_that_are_dropped_take_nothing_with_them() {
    let (mut drive, _) = interruptible(&[]);
    drive
        .group("old")
        .expect("a name")
        .write(BITS, [row(1)])
        .expect("room");
    drive
        .volume()
        .write("file", file(&row(1)), &row(1))
        .expect("room");
    let blocks = accounted(&mut drive);
    for round in 0..150_u64 {
        let host = drive.host().expect("power");
        let simulation = drive.simulation().expect("power");
        let data = row((round % 200) as u8 + 2);
        let other = host.clone();
        let dropped = simulation.handle().spawn(async move {
            let both = write(&other, "dropped", None, 3).await.map(drop);
            both.and(other.append_to_object("file", &data).await)
        });
        let kept = simulation
            .handle()
            .spawn(async move { write(&host, "kept", None, 4).await });
        (0..round * 7).all(|_| simulation.step());
        dropped.abort();
        while !kept.is_finished() && simulation.step() {}
        assert_eq!(kept.take().expect("it ends").expect("room"), 2, "{round}");
        assert_eq!(accounted(&mut drive), blocks, "{round}");
        drive.volume().remove("file").expect("it is there");
        let left = held(&mut drive);
        let count = |name: &str| {
            left.iter()
                .filter(|(held, _)| held.starts_with(name))
                .count()
        };
        assert_eq!(count("kept:"), 2);
        assert!([0, 2].contains(&count("dropped:")), "{round}: {left:?}");
        for group in ["kept", "dropped"] {
            if drive
                .groups()
                .expect("a catalogue")
                .iter()
                .any(|found| found.name == group)
            {
                drive
                    .group(group)
                    .expect("a name")
                    .delete()
                    .expect("it is there");
            }
        }
        drive
            .volume()
            .write("file", file(&row(1)), &row(1))
            .expect("room");
    }
}
