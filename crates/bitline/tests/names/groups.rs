//! Groups, vectors and objects by name, on whole drives: handles, calls that are broken off at any event, lives of drives
//! without data, what is submitted.

use std::ops::ControlFlow;

use bitline::inside::InsideHost;
use bitline::{Drive, Error, Expression, VolumeError};

use crate::{BITS, file, held, interruptible, row, small};

#[test]
fn calls_broken_off_at_any_event_leave_the_old_or_the_new() {
    let (mut drive, looks) = interruptible(&[]);
    let written = drive
        .group("g")
        .expect("a name")
        .write(BITS, [row(1), row(2)]);
    written.expect("room");
    drive
        .volume()
        .write("file", file(&row(3)), &row(3))
        .expect("room");
    let mut broken_off = 0;
    let mut byte = 10;
    for round in 0..900_u64 {
        let before = held(&mut drive);
        byte = byte % 200 + 1;
        // A look is every few events: all instants of a change, and then some.
        looks.set(1 + round / 3 % 25);
        let called = match round % 3 {
            0 => drive
                .group("g")
                .and_then(|mut group| group.overwrite("0", &row(byte)).map(drop)),
            1 => drive.volume().write("file", file(&row(byte)), &row(byte)),
            _ => drive.group("g").and_then(|mut group| {
                let name = "extra";
                match before.iter().any(|(held, _)| held == "g:extra") {
                    true => group.delete_vector(name),
                    false => group.named([name]).write(BITS, [row(byte)]).map(drop),
                }
            }),
        };
        looks.set(u64::MAX);
        match called {
            Ok(()) => {}
            Err(Error::Interrupted) => broken_off += 1,
            Err(error) => panic!("round {round}: {error}"),
        }
        let after = held(&mut drive);
        let changed = ["g:0", "file", "g:extra"][round as usize % 3];
        for entry in before
            .iter()
            .chain(&after)
            .filter(|(name, _)| name != changed)
        {
            assert!(
                before.contains(entry) && after.contains(entry),
                "round {round}: {entry:?}"
            );
        }
        let of = |held: &[(String, u8)]| {
            held.iter()
                .find(|(name, _)| name == changed)
                .map(|held| held.1)
        };
        let (old, new) = (of(&before), of(&after));
        assert!(
            new == old || new == Some(byte) || new.is_none() && round % 3 == 2,
            "round {round}: {old:?} {new:?}"
        );
    }
    assert!(broken_off > 300, "{broken_off}");
    // Nothing is left of what was broken off, and nothing is lost by a power cut.
    let before = held(&mut drive);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(held(&mut drive), before);
}

#[test]
fn a_first_name_that_breaks_off_can_be_given_again() {
    for storage in ["memory", "none"] {
        for events in 1..60 {
            for cut in [false, true] {
                let (mut drive, looks) = interruptible(&[("data.storage", storage)]);
                looks.set(events);
                let first = drive.volume().write("file", file(b"abc"), b"abc");
                looks.set(u64::MAX);
                assert!(
                    matches!(first, Ok(()) | Err(Error::Interrupted)),
                    "{first:?}"
                );
                if cut {
                    drive.power_cut().expect("no image");
                    drive.power_up().expect("it recovers");
                }
                let again = drive.volume().write("file", file(b"abcd"), b"abcd");
                again.expect("there is room");
                let read = drive.volume().read("file").expect("it is there");
                assert!(read == b"abcd" || storage == "none", "{events}");
            }
        }
    }
}

#[test]
fn a_drive_without_data_keeps_its_names_whatever_breaks_off() {
    let (mut drive, looks) = interruptible(&[("data.storage", "none")]);
    let on = |_| ControlFlow::Continue(());
    drive
        .group("g")
        .expect("a name")
        .place(BITS, 2, on)
        .expect("room");
    for round in 1..60 {
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        looks.set(1 + round / 2);
        let asked = drive.groups();
        looks.set(u64::MAX);
        assert!(matches!(asked, Ok(_) | Err(Error::Interrupted)));
        if round % 2 == 0 {
            continue;
        }
        let groups = drive.groups().expect("they are known");
        assert_eq!((groups.len(), groups[0].vectors), (1, 2), "round {round}");
    }
}

#[test]
fn what_is_erased_has_no_names_even_if_that_breaks_off() {
    for format in [true, false] {
        for events in [1, 3, 10, 30, 100, 1000, u64::MAX] {
            let (mut drive, looks) = interruptible(&[]);
            let group = drive.group("g").expect("a name");
            let [old] = &group.write(BITS, [row(1)]).expect("room")[..] else {
                panic!("one");
            };
            let old = Expression::from(old);
            looks.set(events);
            let erased = match format {
                true => drive.format(1, 512),
                false => drive.sanitize(),
            };
            looks.set(u64::MAX);
            assert_eq!(
                erased.is_ok(),
                events == u64::MAX || !matches!(erased, Err(Error::Interrupted))
            );
            let over = drive.run(|host| async move {
                let soon = bitline::Span::from_us(1_000_000);
                host.sim().sleep(soon).await;
            });
            over.expect("power");
            let named = drive.query(&old).read();
            let is_there = drive.groups().expect("it is over").len() == 1;
            match named {
                Ok(bits) => assert!(is_there && bits == row(1), "it had not begun"),
                Err(Error::NoVector(_)) => assert!(!is_there),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_volume_is_made_only_where_nothing_is() {
    let mut drive = Drive::open(small(&[("bits.compute_blocks_percent", "0")])).expect("a drive");
    let blocks = drive.blocks().expect("power");
    drive.write(blocks - 8, &[7; 8 * 512]).expect("room");
    let made = drive.volume().write("file", file(b"abc"), b"abc");
    let told = made.expect_err("data is there").to_string();
    assert!(told.contains("hold data: deallocate them first"), "{told}");
    assert_eq!(drive.read(blocks - 8, 8).expect("written"), [7; 8 * 512]);
    drive.deallocate(blocks - 8, 8).expect("its blocks");
    drive
        .volume()
        .write("file", file(b"abc"), b"abc")
        .expect("now there is room");
}

#[test]
fn plain_writes_leave_alone_what_the_volume_needs() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    let blocks = drive.blocks().expect("power");
    drive.write(blocks - 4, &[1; 4 * 512]).expect("no volume");
    drive.deallocate(blocks - 4, 4).expect("no volume");
    let written = drive
        .group("g")
        .expect("a name")
        .write(BITS, [row(1), row(2)]);
    let written = written.expect("room");
    let first = drive.volume().usage().expect("a volume").first;
    let of_vector = written[0].extents[0];
    type Write = fn(&mut Drive, u64) -> Result<(), Error>;
    let writes: [(&str, Write); 5] = [
        ("write", |drive, lba| drive.write(lba, &[7; 4 * 512])),
        ("write zeroes", |drive, lba| drive.write_zeroes(lba, 4)),
        ("copy", |drive, lba| drive.copy(&[(0, 4)], lba)),
        ("mark", |drive, lba| drive.write_uncorrectable(lba, 4)),
        ("deallocate", |drive, lba| drive.deallocate(lba, 4)),
    ];
    let whole = held(&mut drive);
    for (name, write) in writes {
        for lba in [first - 1, first, of_vector.first - 1] {
            let told = write(&mut drive, lba).expect_err(name).to_string();
            assert!(told.contains("catalogue of the drive's volume"), "{told}");
            assert!(told.contains(&format!("before block {first}")), "{told}");
        }
        let free = write(&mut drive, blocks - 4);
        match name {
            "deallocate" => free.expect("nobody has them"),
            _ => {
                let told = free.expect_err(name).to_string();
                assert!(told.contains("free blocks of the drive's volume"), "{told}");
            }
        }
        write(&mut drive, first - 4).expect("data of its own");
    }
    assert_eq!(held(&mut drive), whole);
    let submitted = drive.submit(async move |host| host.write(first, &[7; 512]).await);
    let submitted = drive.wait(&submitted.expect("power")).expect("it ends");
    assert!(matches!(submitted.answer, Err(Error::InVolume { .. })));
    // A vector is logical pages: a write to them is a write of it, half of it, too.
    let bytes = of_vector.blocks * 512;
    drive
        .write(of_vector.first, &vec![9; bytes as usize])
        .expect("an object's");
    assert_eq!(held(&mut drive)[0], ("g:0".to_owned(), 9));
    drive
        .write(of_vector.first, &[8; 512])
        .expect("an object's");
    let bits = drive.query(&Expression::from(&written[0])).read();
    let bits = bits.expect("it is there");
    assert_eq!((bits[511], bits[512]), (8, 9));
    let both = Expression::all(&written).expect("two");
    assert_eq!(drive.query(&both).read().expect("both")[0], 8 & 2);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.query(&both).read().expect("both")[0], 8 & 2);
    let told = drive.write(first, &[7; 512]).expect_err("the catalogue");
    assert!(matches!(told, Error::InVolume { .. }), "{told}");
    drive.format(1, 512).expect("it takes everything");
    drive.write(first, &[7; 512]).expect("nothing is there");
}

#[test]
fn handles_do_what_they_say() {
    let mut drive = Drive::open(small(&[])).expect("a drive");
    let mut group = drive.group("g").expect("a name");
    assert_eq!(group.vectors().expect("none yet"), []);
    let writer = group.inverse().named(["1", "b"]);
    let written = writer.write(BITS, [row(1), row(2)]).expect("room");
    assert!(written.iter().all(|vector| vector.inverse));
    // The number of the next is 2; one that is called so is not there.
    let more = drive
        .group("g")
        .expect("a name")
        .write(BITS, [row(3)])
        .expect("room");
    assert_eq!((more[0].name.as_str(), more[0].inverse), ("2", false));
    let content = drive.volume().get("g").expect("power");
    let content = content.expect("it is there").content;
    let mut group = drive.group("g").expect("a name");
    let again = group.overwrite("b", &row(4)).expect("room");
    assert_eq!((again.id, again.inverse), (written[1].id, true));
    group.rename("h").expect("a free name");
    assert_eq!(group.vectors().expect("three")[1].group, "h");
    group.delete_vector("b").expect("it is there");
    let gone = group.overwrite("b", &row(5));
    assert!(
        matches!(gone, Err(Error::Volume(VolumeError::NotFound { .. }))),
        "{gone:?}"
    );
    group.delete().expect("it is there");
    assert_eq!(drive.groups().expect("none"), []);
    let no_file = drive.volume().write("g", content, b"");
    let told = no_file.expect_err("no file").to_string();
    assert!(told.contains("written through a group"), "{told}");
}

#[test]
fn what_is_submitted_is_waited_for_once_and_by_its_drive() {
    let (mut drive, looks) = interruptible(&[]);
    let mut other = Drive::open(small(&[])).expect("a drive");
    let write = async |host: bitline::Host| host.block().write(0, &[1; 64 * 512]).await;
    let pending = drive.submit(write).expect("power");
    let strange = other.wait(&pending);
    assert!(matches!(strange, Err(Error::Pending(_))));
    looks.set(1);
    assert!(matches!(drive.wait(&pending), Err(Error::Interrupted)));
    looks.set(u64::MAX);
    let finished = drive.wait(&pending).expect("it goes on");
    finished.answer.expect("room");
    assert!(matches!(drive.wait(&pending), Err(Error::Pending(_))));
    let lost = drive
        .submit(async |host| host.block().read(0, 8).await)
        .expect("power");
    drive.power_cut().expect("no image");
    assert!(matches!(drive.wait(&lost), Err(Error::PowerLost)));
    drive.power_up().expect("it recovers");
    assert!(matches!(drive.wait(&lost), Err(Error::PowerLost)));
}
