//! Objects of each kind, their names, and what is refused.

use super::{commit, content, create, device, file, fresh, now, open};
use crate::volume::{
    Array, BITS_MAX, Content, Extent, Group, Kind, ObjectId, Vector, Volume, VolumeError,
};

#[test]
fn each_kind_keeps_its_attributes_and_bytes() {
    let (drive, mut volume) = fresh();
    let bits = 8 * 1500 + 3;
    let vector = vec![0xA5; 1501];
    let ids = commit(&mut volume, |change| {
        let group = change.create_group("days", bits, 2, 3)?;
        let first = change.create_vector(group, "monday", true)?;
        let second = change.create_vector(group, "tuesday", false)?;
        now(change.write(first, &vector))?;
        now(change.write(second, &vector))?;
        let array = change.create_array("matrix", "<f8", &[4, 16], 512)?;
        now(change.write(array, &[3; 512]))?;
        let table = Content::Table {
            schema: b"a: int64".to_vec(),
            bytes: 2,
        };
        let table = change.create("days of the table", table)?;
        now(change.write(table, &[1, 2]))?;
        Ok([group, first, second, array, table])
    });
    let [group, first, second, array, table] = ids.unwrap();
    file(&mut volume, "empty", &[]).unwrap();

    let volume = open(&drive).unwrap();
    let get = |id| volume.get(id).unwrap();
    let data = volume.layout.data();
    let expected = Group {
        handle: 1,
        anchor: data,
        pitch: 4,
        first_die: 2,
        dies: 3,
        bits,
    };
    assert_eq!(get(group).content, Content::Group(expected));
    let expected = |number, inverse| {
        Content::Vector(Vector {
            group,
            number,
            inverse,
            bits,
        })
    };
    assert_eq!(get(first).content, expected(0, true));
    assert_eq!(get(second).content, expected(1, false));
    let rows = [first, second].map(|id| get(id).extents);
    let row = |first| vec![Extent { first, blocks: 4 }];
    assert_eq!(rows, [row(data), row(data + 4)], "a row of the matrix each");
    assert_eq!(now(volume.read(second)).unwrap(), vector);
    let expected = Array {
        dtype: "<f8".into(),
        shape: vec![4, 16],
        bytes: 512,
    };
    assert_eq!(get(array).content, Content::Array(expected));
    assert_eq!(now(volume.read(array)).unwrap(), [3; 512]);
    assert_eq!(now(volume.read(table)).unwrap(), [1, 2]);
    let roots: Vec<(String, Kind)> = volume
        .objects()
        .map(|object| (object.name, object.content.kind()))
        .collect();
    let expected = [
        ("days", Kind::Group),
        ("days of the table", Kind::Table),
        ("empty", Kind::File),
        ("matrix", Kind::Array),
    ];
    assert_eq!(roots, expected.map(|(name, kind)| (name.to_owned(), kind)));
    let vectors: Vec<ObjectId> = volume.vectors(group).map(|vector| vector.id).collect();
    assert_eq!(vectors, [first, second]);
    assert_eq!(volume.vector(group, "tuesday").unwrap().id, second);
    assert!(
        volume.named("tuesday").is_none(),
        "a vector is named in its group"
    );
}

#[test]
fn names_are_utf_8_of_up_to_255_bytes() {
    let (drive, mut volume) = fresh();
    let long = "ü".repeat(127) + "x";
    for name in ["a", " a", "Größe/π 🦀", long.as_str()] {
        file(&mut volume, name, &[1]).unwrap();
        assert!(open(&drive).unwrap().named(name).is_some(), "{name}");
    }
    let too_long = long + "x";
    for name in ["", "a\nb", "a\0", "\u{7f}", "\u{85}", too_long.as_str()] {
        let error = file(&mut volume, name, &[1]).unwrap_err();
        assert!(
            matches!(&error, VolumeError::Name { .. }),
            "{name:?}: {error}"
        );
        let id = volume.named("a").unwrap().id;
        let renamed = commit(&mut volume, |change| change.rename(id, name));
        assert_eq!(renamed, Err(error));
    }
    let message = file(&mut volume, "a\nb", &[1]).unwrap_err().to_string();
    let expected = "\"a\\nb\" is no name of an object: it has a control character, such as a line feed or NUL; leave that out";
    assert_eq!(message, expected);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (_, mut volume) = fresh();
    file(&mut volume, "a", &[1; 100]).unwrap();
    let a = volume.named("a").unwrap().id;
    let before = super::contents(&volume);
    let refused = |error: Option<VolumeError>, words: &str| {
        let message = error.expect(words).to_string();
        assert!(message.contains(words), "{message}");
    };
    let mut change = volume.change().unwrap();
    refused(
        change.create("a", content(&[])).err(),
        "there is a file \"a\" already",
    );
    refused(
        change.create_vector(a, "v", false).err(),
        "\"a\" is a file, not a group",
    );
    refused(
        change.create_group("g", 0, 0, 0).err(),
        "bits is 0; it must be 1 to",
    );
    refused(
        change.create_group("g", BITS_MAX + 1, 0, 0).err(),
        "blocks are needed",
    );
    refused(
        change.create_array("b", "", &[], 1).err(),
        "dtype is 0 bytes long",
    );
    refused(
        change.create_array("b", "u1", &[1; 65], 1).err(),
        "of at most 64",
    );
    let table = Content::Table {
        schema: vec![0; 65_536],
        bytes: 0,
    };
    refused(
        change.create("b", table).err(),
        "schema is 65536 bytes long",
    );
    let large = Content::File { bytes: 1 << 20 };
    refused(
        change.create("b", large).err(),
        "2048 blocks are needed and 108 are free",
    );
    let endless = Content::File { bytes: u64::MAX };
    refused(
        change.create("b", endless).err(),
        "are needed and 108 are free",
    );
    refused(
        now(change.write(a, &[1; 100])).err(),
        "replace it, then write it",
    );
    refused(change.extents(a).err(), "replace it, then write it");
    change.replace(a, content(&[1; 50])).unwrap();
    refused(
        now(change.write(a, &[1; 100])).err(),
        "100 bytes for \"a\", which has 50",
    );
    let array = Content::Array(Array {
        dtype: "u1".into(),
        shape: vec![1],
        bytes: 1,
    });
    refused(
        change.replace(a, array).err(),
        "\"a\" is a file, not an array",
    );
    change.remove(a).unwrap();
    refused(change.remove(a).err(), "the volume has no object 1");
    drop(change);
    assert_eq!(super::contents(&volume), before);
}

#[test]
fn names_may_change_places_in_one_change() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1]).unwrap();
    file(&mut volume, "b", &[2]).unwrap();
    let [a, b] = ["a", "b"].map(|name| volume.named(name).unwrap().id);
    commit(&mut volume, |change| {
        change.rename(a, "c")?;
        change.rename(b, "a")?;
        change.rename(a, "b")
    })
    .unwrap();
    let volume = open(&drive).unwrap();
    assert_eq!(
        (volume.named("a").unwrap().id, volume.named("b").unwrap().id),
        (b, a)
    );
    assert_eq!(now(volume.read(a)).unwrap(), [1]);
}

#[test]
fn a_group_goes_with_its_vectors_and_its_handle_is_free() {
    let (drive, mut volume) = fresh();
    let make = |name: &'static str| {
        move |change: &mut crate::volume::Change<'_, _>| {
            let group = change.create_group(name, 100, 0, 0)?;
            change.create_vector(group, "0", false)?;
            Ok(group)
        }
    };
    let free = volume.free_blocks();
    let first = commit(&mut volume, make("first")).unwrap();
    let second = commit(&mut volume, make("second")).unwrap();
    let handle = |volume: &super::MemoryVolume, id| match volume.get(id).unwrap().content {
        Content::Group(group) => group.handle,
        other => panic!("{other:?}"),
    };
    assert_eq!((handle(&volume, first), handle(&volume, second)), (1, 2));
    commit(&mut volume, |change| change.remove(first)).unwrap();
    assert_eq!(volume.len(), 2);
    let third = commit(&mut volume, make("third")).unwrap();
    assert_eq!(handle(&volume, third), 1);
    commit(&mut volume, |change| {
        change.remove(second)?;
        change.remove(third)
    })
    .unwrap();
    assert!(open(&drive).unwrap().is_empty());
    assert_eq!(volume.free_blocks(), free);
}

#[test]
fn a_format_leaves_no_volume_and_an_open_one_notices() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1]).unwrap();
    drive.erase();
    let error = open(&drive).map(drop).unwrap_err();
    assert_eq!(
        error,
        VolumeError::NoVolume {
            first: super::FIRST
        }
    );
    assert_eq!(file(&mut volume, "b", &[1]), Err(VolumeError::Stale));
    assert!(create(&drive).unwrap().is_empty());
}

#[test]
fn two_handles_do_not_overwrite_each_other() {
    let (drive, mut one) = fresh();
    let mut other = open(&drive).unwrap();
    file(&mut one, "a", &[1]).unwrap();
    assert_eq!(file(&mut other, "b", &[1]), Err(VolumeError::Stale));
    assert_eq!(
        super::contents(&open(&drive).unwrap()),
        super::contents(&one)
    );
}

#[test]
fn a_volume_is_not_created_over_another_unasked() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "a", &[1]).unwrap();
    let exists = create(&drive).map(drop).unwrap_err();
    assert_eq!(
        exists,
        VolumeError::Exists {
            first: super::FIRST
        }
    );
    let options = crate::volume::VolumeOptions {
        replace_existing: true,
        ..super::options()
    };
    let volume = now(Volume::create(device(&drive).unwrap(), options)).unwrap();
    assert!(volume.is_empty());
    assert!(
        open(&drive).unwrap().is_empty(),
        "nothing of the old one comes back"
    );
}

#[test]
fn ranges_that_hold_no_volume_are_told() {
    let (drive, _) = fresh();
    let refused = |first, blocks, words: &str| {
        let options = crate::volume::VolumeOptions::new(first, blocks);
        let created = now(Volume::create(device(&drive).unwrap(), options));
        let message = created.map(drop).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    refused(3, 100, "begin and end at a multiple");
    refused(0, 68, "a volume with 16 catalogue pages has 35");
    refused(100, 62, "the namespace has 160 blocks");
    refused(u64::MAX - 1, 4, "the namespace has 160 blocks");
}

#[test]
fn vectors_are_found_by_number() {
    let (drive, mut volume) = fresh();
    let (group, vector) = commit(&mut volume, |change| {
        let group = change.create_group("g", 100, 0, 0)?;
        Ok((group, change.create_vector(group, "v", true)?))
    })
    .unwrap();
    let volume = open(&drive).unwrap();
    assert_eq!(volume.numbered(group, 0).unwrap().id, vector);
    assert_eq!(volume.numbered(group, 1), None);
}

#[test]
fn numbers_that_somebody_knows_are_not_given_again() {
    let (drive, mut volume) = fresh();
    let create =
        |volume: &mut _| commit(volume, |change| change.create("a", content(&[]))).unwrap();
    let id = create(&mut volume);
    commit(&mut volume, |change| change.remove(id)).unwrap();
    let last = volume.last_number();
    assert_eq!(last, id.get());
    let mut volume = open(&drive).unwrap();
    volume.number_above(last + 5);
    assert_eq!(create(&mut volume).get(), last + 6);
}

#[test]
fn an_abandoned_change_leaves_nothing_on_the_drive() {
    let (drive, mut volume) = fresh();
    let before = super::contents(&volume);
    let mut change = volume.change().unwrap();
    let id = change.create("a", content(&[5; 3000])).unwrap();
    now(change.write(id, &[5; 3000])).unwrap();
    let extent = change.extents(id).unwrap()[0];
    now(change.abandon()).unwrap();
    assert_eq!(drive.block(extent.first), vec![0; 512]);
    assert_eq!(super::contents(&volume), before);
}
