//! Groups, vectors and other objects by their names: written, asked about, found again, deleted.

use bitline::{Config, Content, Drive, Error, Expression, Home, Platform, Vector, VolumeError};

fn small(overrides: &[(&str, &str)]) -> Config {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "2"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "32"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "4"),
        ("nand.geometry.page_bytes", "1024"),
        ("frontend.block_bytes", "512"),
        ("ftl.gc.threshold_blocks", "3"),
        ("bits.compute_blocks_percent", "40"),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let keys = keys.iter().chain(overrides).copied();
    preset.with(keys).expect("a possible drive")
}

fn open(overrides: &[(&str, &str)]) -> Drive {
    Drive::open(small(overrides)).expect("a drive")
}

const BITS: u64 = 8 * 3000;

/// A vector that differs from others.
fn row(number: u8) -> Vec<u8> {
    (0..3000u32)
        .map(|place| (place as u8).wrapping_mul(31 + number) ^ number)
        .collect()
}

fn names(vectors: &[Vector]) -> Vec<(String, String, u32)> {
    let name = |vector: &Vector| (vector.group.clone(), vector.name.clone(), vector.number);
    vectors.iter().map(name).collect()
}

#[test]
fn a_query_needs_names_only() {
    let mut drive = open(&[]);
    let columns = drive
        .group("columns")
        .write(BITS, [row(1), row(2)])
        .expect("room");
    let named = drive
        .group("columns")
        .inverse()
        .named(["third"])
        .write(BITS, [row(3)]);
    let third = &named.expect("room")[0];
    assert_eq!(
        (third.name.as_str(), third.number, third.inverse),
        ("third", 2, true)
    );
    let expression = Expression::all(&columns).expect("two") & !Expression::from(third);
    let expected: Vec<u8> = (0..3000)
        .map(|at| row(1)[at] & row(2)[at] & !row(3)[at])
        .collect();
    let ones: u64 = expected
        .iter()
        .map(|byte| u64::from(byte.count_ones()))
        .sum();
    for platform in Platform::ALL {
        assert_eq!(
            drive
                .query(&expression)
                .on(platform)
                .read()
                .expect("they are there"),
            expected
        );
        assert_eq!(
            drive
                .query(&expression)
                .on(platform)
                .count()
                .expect("they are there"),
            ones
        );
    }
    let checked = drive
        .query(&expression)
        .read_checked()
        .expect("they are there");
    assert_eq!((checked.result, checked.differing_bits), (expected, 0));
    assert_eq!(
        drive
            .query(&expression)
            .counted_by_host()
            .count()
            .expect("they are there"),
        ones
    );
    let unknown = bitline::VectorId::new(3, 4).into();
    let message = drive
        .query(&unknown)
        .read()
        .expect_err("nobody knows it")
        .to_string();
    assert!(
        message.contains("no name for a vector of 3:4: tell how many bits"),
        "{message}"
    );
}

#[test]
fn groups_are_found_by_name_after_a_power_cut_and_in_an_image() {
    let path = std::env::temp_dir().join(format!("bitline-{}-names.img", std::process::id()));
    let mut drive = Drive::open_image(small(&[("data.storage", "image")]), &path).expect("new");
    let home = Home { first: 1, dies: 2 };
    drive
        .group("Größe")
        .at(home)
        .write(BITS, [row(1), row(2)])
        .expect("room");
    drive.group("b").write(8, [[7]]).expect("room");
    drive.power_cut().expect("it is written");
    drive.power_up().expect("it recovers");
    let check = |drive: &mut Drive| {
        let groups = drive.groups().expect("a whole volume");
        let told: Vec<_> = groups
            .iter()
            .map(|group| (group.name.as_str(), group.vectors, group.home))
            .collect();
        assert_eq!(told, [("Größe", 2, home), ("b", 1, Home::ALL)]);
        let vectors = drive.group("Größe").vectors().expect("a whole volume");
        assert_eq!(
            names(&vectors),
            [
                ("Größe".into(), "0".into(), 0),
                ("Größe".into(), "1".into(), 1)
            ]
        );
        assert_eq!(
            drive
                .query(&(&vectors[1]).into())
                .read()
                .expect("it is there"),
            row(2)
        );
    };
    check(&mut drive);
    drive.close().expect("it is written");
    let mut drive = Drive::open_existing_image(&path).expect("it is sound");
    check(&mut drive);
    drive.group("Größe").rename("size").expect("it is free");
    assert_eq!(
        drive.group("size").vectors().expect("a whole volume").len(),
        2
    );
    drop(drive);
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn vectors_are_written_all_or_none() {
    let mut drive = open(&[]);
    drive.group("g").write(BITS, [row(0)]).expect("room");
    let rows = vec![row(1); 1000];
    let full = drive
        .group("g")
        .write(BITS, rows)
        .expect_err("no room for so many");
    assert!(full.to_string().contains("Vector Group Full"), "{full}");
    let stored = |drive: &mut Drive| drive.group("g").vectors().expect("a volume").len();
    assert_eq!(stored(&mut drive), 1, "all or none");
    let pages = drive.inventory().expect("power").vector_space.pages;
    assert_eq!(pages, 3, "what was written of the others is deallocated");
    // So there is room for others.
    drive
        .group("g")
        .write(BITS, [row(2), row(3)])
        .expect("room");
    for number in [2, 1] {
        drive.group("g").delete(Some(number)).expect("it is there");
    }
    let wrong = drive
        .group("g")
        .write(BITS + 8, [[row(1), vec![1]].concat()]);
    let words = "have 24000 bits, not 24008; vectors of one group are equally long";
    assert!(
        wrong
            .expect_err("another length")
            .to_string()
            .contains(words)
    );
    let wrong = drive
        .group("g")
        .at(Home { first: 1, dies: 1 })
        .write(BITS, [row(1)]);
    assert!(
        wrong
            .expect_err("another home")
            .to_string()
            .contains("ask for it without a home")
    );
    let wrong = drive.group("g").named(["a"]).write(BITS, [row(1), row(2)]);
    assert!(
        wrong
            .expect_err("one name")
            .to_string()
            .contains("1 names for 2 vectors")
    );
    let wrong = drive.group("g").named(["0"]).write(BITS, [row(1)]);
    assert!(matches!(
        wrong,
        Err(Error::Volume(VolumeError::Taken { .. }))
    ));
    let short = drive.group("new").write(BITS, [vec![1], row(1)]);
    assert!(
        short
            .expect_err("one is short")
            .to_string()
            .contains("1 bytes for a vector of 24000 bits")
    );
    assert_eq!(
        (drive.groups().expect("a volume").len(), stored(&mut drive)),
        (1, 1)
    );
}

#[test]
fn what_is_deleted_is_gone_and_its_place_is_free() {
    let mut drive = open(&[]);
    for round in 0..60 {
        // Other lengths under the same handle.
        let bits = BITS - 8 * round;
        let rows = [1, 2].map(|number| row(number)[..bits as usize / 8].to_vec());
        drive.group("a").write(bits, rows).expect("room");
        drive.group("a").delete(Some(0)).expect("it is there");
        let left = drive.group("a").vectors().expect("a volume");
        assert_eq!(names(&left), [("a".into(), "1".into(), 1)]);
        drive.group("a").delete(None).expect("it is there");
        assert!(drive.vectors(None).expect("a list").is_empty());
    }
    let gone = drive.group("a").delete(None);
    assert!(matches!(
        gone,
        Err(Error::Volume(VolumeError::NotFound { .. }))
    ));
    let gone = open(&[])
        .group("a")
        .delete(None)
        .expect_err("there is no volume")
        .to_string();
    assert_eq!(gone, "the volume has no group \"a\"");
}

#[test]
fn a_drive_without_data_remembers_names_and_takes_the_same_time() {
    let live = |data: &str| {
        let mut drive = open(&[("data.storage", data)]);
        let mut times = Vec::new();
        for round in 0..3 {
            drive
                .group("a")
                .write(BITS, [row(1), row(2)])
                .expect("room");
            times.push(drive.now());
            let vectors = drive.group("a").vectors().expect("a volume");
            assert_eq!(vectors.len(), 2 * (round + 1));
            let all = Expression::all(&vectors).expect("some");
            drive.query(&all).count().expect("they are there");
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
            times.push(drive.now());
        }
        drive.group("a").delete(None).expect("it is there");
        times.push(drive.now());
        times
    };
    assert_eq!(live("memory"), live("none"));
}

#[test]
fn vectors_set_up_at_once_have_names() {
    let mut drive = open(&[]);
    let go_on = |_| std::ops::ControlFlow::Continue(());
    let placed = drive.group("a").place(BITS, 5, go_on).expect("room");
    assert_eq!(placed.len(), 5);
    let more = drive
        .group("a")
        .named(["x", "y"])
        .place(BITS, 2, go_on)
        .expect("room");
    assert_eq!(
        names(&more),
        [("a".into(), "x".into(), 5), ("a".into(), "y".into(), 6)]
    );
    assert_eq!(
        drive
            .query(&(&more[1]).into())
            .count()
            .expect("it is there"),
        0
    );
    let full = drive.group("a").place(BITS, 100_000, go_on);
    assert!(
        matches!(full, Err(Error::Volume(VolumeError::NoSpace { .. }))),
        "{full:?}"
    );
    let mut count = 0;
    let broken_off = drive.group("b").place(BITS, 9, |vectors| {
        count = vectors;
        if vectors < 4 {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    });
    assert_eq!((broken_off.expect("room").len(), count), (4, 4));
    assert_eq!(drive.group("a").vectors().expect("a volume").len(), 7);
    assert_eq!(drive.group("b").vectors().expect("a volume").len(), 4);
}

#[test]
fn a_format_forgets_names() {
    let mut drive = open(&[]);
    for erase in [|drive: &mut Drive| drive.format(1, 512), Drive::sanitize] {
        drive.group("a").write(BITS, [row(1)]).expect("room");
        erase(&mut drive).expect("it can");
        assert!(drive.groups().expect("no volume is no error").is_empty());
        drive
            .group("a")
            .write(8, [[1]])
            .expect("another length will do");
        drive.group("a").delete(None).expect("it is there");
    }
}

#[test]
fn files_and_tables_are_kept_beside_vectors() {
    let mut drive = open(&[]);
    assert_eq!(drive.volume().usage().expect("power").blocks, 0);
    assert!(drive.volume().list().expect("power").is_empty());
    let file = |bytes: &[u8]| Content::File {
        bytes: bytes.len() as u64,
    };
    drive
        .volume()
        .write("notes", file(b"abc"), b"abc")
        .expect("room");
    drive
        .volume()
        .write("notes", file(b"abcd"), b"abcd")
        .expect("room");
    assert_eq!(drive.volume().read("notes").expect("it is there"), b"abcd");
    let usage = drive.volume().usage().expect("power");
    let notes = drive
        .volume()
        .get("notes")
        .expect("power")
        .expect("it is there");
    let extent = notes.extents[0];
    assert_eq!(
        drive.read(extent.first, extent.blocks).expect("power")[..4],
        *b"abcd"
    );
    drive
        .volume()
        .rename("notes", "others")
        .expect("it is free");
    drive.volume().remove("others").expect("it is there");
    assert_eq!(
        drive.volume().usage().expect("power").free,
        usage.free + extent.blocks
    );
    let gone = drive
        .volume()
        .read("others")
        .expect_err("it is gone")
        .to_string();
    assert_eq!(gone, "the volume has no object \"others\"");
}

#[test]
fn blocks_of_a_vector_are_its_bits() {
    let mut drive = open(&[]);
    let plain = drive
        .group("g")
        .write(BITS, [row(1)])
        .expect("room")
        .remove(0);
    let inverse = drive
        .group("g")
        .inverse()
        .write(BITS, [row(2)])
        .expect("room")
        .remove(0);
    for (vector, bits) in [(&plain, row(1)), (&inverse, row(2))] {
        let [extent] = vector.extents[..] else {
            panic!("a vector is one run: {vector:?}");
        };
        let read = drive
            .read(extent.first, extent.blocks)
            .expect("they are there");
        assert_eq!(read[..3000], bits);
        assert!(read[3000..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn vectors_by_number_and_names_do_not_share_a_drive() {
    let mut drive = open(&[]);
    let id = bitline::VectorId::new(0, 0);
    drive.write_vector(id, 8, false, &[1]).expect("room");
    let refused = drive
        .group("g")
        .write(8, [[1]])
        .expect_err("numbers are there")
        .to_string();
    assert!(
        refused.contains("vectors that were written by number"),
        "{refused}"
    );
    let mut drive = open(&[]);
    drive.group("g").write(8, [[1]]).expect("room");
    let refused = drive
        .write_vector(id, 8, false, &[1])
        .expect_err("a volume is there")
        .to_string();
    assert!(refused.contains("to groups by name"), "{refused}");
}
