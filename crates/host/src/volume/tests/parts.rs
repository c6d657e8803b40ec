//! Content in parts, and pages that are reserved before anything has them.

use super::{Random, commit, content, file, fresh, now, open};
use crate::volume::{Array, Content, VolumeError, write_content};

/// A file that lies in pieces, as the space before it is in pieces.
fn scattered() -> (super::MemoryDrive, super::MemoryVolume, Vec<u8>) {
    let (drive, mut volume) = fresh();
    let page = volume.layout.page_bytes();
    for name in 0..6 {
        file(&mut volume, &name.to_string(), &vec![1; page]).unwrap();
    }
    let rest = volume.free_blocks() / u64::from(volume.page_blocks());
    let last = vec![1; (rest - 1) as usize * page];
    file(&mut volume, "last", &last).unwrap();
    for name in ["0", "2", "4"] {
        let id = volume.named(name).unwrap().id;
        commit(&mut volume, |change| change.remove(id)).unwrap();
    }
    let data = Random(3).bytes(3 * page + 700);
    file(&mut volume, "file", &data).unwrap();
    assert_eq!(volume.named("file").unwrap().extents.len(), 4);
    (drive, volume, data)
}

#[test]
fn parts_are_read_and_written_where_they_are() {
    let (drive, volume, mut data) = scattered();
    let object = volume.named("file").unwrap();
    let mut random = Random(1);
    for _ in 0..400 {
        let offset = random.below(data.len() as u64 + 1);
        let bytes = random.below(data.len() as u64 + 1 - offset);
        let range = offset as usize..(offset + bytes) as usize;
        let new = random.bytes(range.len());
        now(object.write(volume.device(), offset, &new)).unwrap();
        data[range.clone()].copy_from_slice(&new);
        let (offset, bytes) = (random.below(700), random.below(1200));
        let read = now(object.read(volume.device(), offset, bytes)).unwrap();
        assert_eq!(read, data[offset as usize..(offset + bytes) as usize]);
    }
    let volume = open(&drive).unwrap();
    assert_eq!(now(volume.read(object.id)).unwrap(), data);
    for name in ["1", "3", "5"] {
        let other = volume.named(name).unwrap();
        assert!(
            now(volume.read(other.id))
                .unwrap()
                .iter()
                .all(|byte| *byte == 1)
        );
    }
    let length = data.len() as u64;
    for (offset, bytes) in [(length, 1), (length + 1, 0), (u64::MAX, 2)] {
        let read = now(object.read(volume.device(), offset, bytes));
        let beyond = VolumeError::Beyond {
            name: "file".into(),
            offset,
            bytes,
            has: length,
        };
        assert_eq!(read, Err(beyond));
    }
    let written = now(object.write(volume.device(), length - 1, &[1, 2]));
    assert!(
        matches!(written, Err(VolumeError::Beyond { .. })),
        "{written:?}"
    );
}

#[test]
fn arrays_grow_by_rows_and_vectors_do_not() {
    let (drive, mut volume) = fresh();
    let (array, vector) = commit(&mut volume, |change| {
        let array = change.create_array("a", "<u2", &[3, 5], 30)?;
        now(change.write(array, &[7; 30]))?;
        let group = change.create_group("g", 80, 0, 0)?;
        Ok((array, change.create_vector(group, "0", false)?))
    })
    .unwrap();
    commit(&mut volume, |change| now(change.append(array, &[8; 20]))).unwrap();
    let volume_again = open(&drive).unwrap();
    let expected = |rows: u64| {
        Content::Array(Array {
            dtype: "<u2".into(),
            shape: vec![rows, 5],
            bytes: rows * 10,
        })
    };
    assert_eq!(volume_again.get(array).unwrap().content, expected(5));
    assert_eq!(
        now(volume_again.read(array)).unwrap(),
        [[7; 10], [7; 10], [7; 10], [8; 10], [8; 10]].concat()
    );
    let odd = commit(&mut volume, |change| now(change.append(array, &[8; 9])));
    let rows = VolumeError::Rows {
        name: "a".into(),
        bytes: 59,
        row: 10,
    };
    assert_eq!(odd, Err(rows));
    let fixed = commit(&mut volume, |change| now(change.append(vector, &[8])));
    assert!(matches!(fixed, Err(VolumeError::Fixed { .. })), "{fixed:?}");
    let content = volume.get(array).unwrap().content;
    let shorter = content.resized("a", 20).unwrap();
    assert_eq!(shorter, expected(2));
    commit(&mut volume, |change| change.shorten(array, shorter)).unwrap();
    assert_eq!(
        open(&drive).unwrap().get(array).unwrap().content,
        expected(2)
    );
}

#[test]
fn what_is_reserved_is_nobodys_until_it_is_named_or_given_back() {
    let (drive, mut volume) = fresh();
    let free = volume.free_blocks();
    let (one, two) = (volume.reserve(3000).unwrap(), volume.reserve(500).unwrap());
    assert_eq!(volume.free_blocks(), free - 6 - 2);
    file(&mut volume, "other", &[5; 3000]).unwrap();
    let others = volume.named("other").unwrap().extents;
    assert!(one.extents().iter().all(|extent| !others.contains(extent)));
    now(write_content(volume.device(), one.extents(), &[6; 3000])).unwrap();
    // Whoever opens the volume meanwhile takes both again.
    let mut volume = open(&drive).unwrap();
    assert!(volume.keep(&one) && volume.keep(&two));
    assert!(!volume.keep(&one), "they are taken");
    let at = one.extents().to_vec();
    let id = commit(&mut volume, |change| {
        change.create_from("one", content(&[6; 3000]), one)
    })
    .unwrap();
    assert_eq!(volume.get(id).unwrap().extents, at);
    assert_eq!(now(open(&drive).unwrap().read(id)).unwrap(), [6; 3000]);
    let second = two.extents()[0];
    now(write_content(volume.device(), two.extents(), &[7; 500])).unwrap();
    volume.give_back(two);
    assert_eq!(
        volume.free_blocks(),
        free - 12 - 2,
        "not before it is deallocated"
    );
    now(volume.deallocate_freed()).unwrap();
    assert_eq!(
        (volume.free_blocks(), drive.block(second.first)[0]),
        (free - 12, 0)
    );
    // One that does not fit what it is for goes back with the change.
    let wrong = volume.reserve(3000).unwrap();
    let refused = commit(&mut volume, |change| {
        change.replace_from(id, content(&[1]), wrong)
    });
    assert!(
        matches!(refused, Err(VolumeError::Length { .. })),
        "{refused:?}"
    );
    assert_eq!(volume.free_blocks(), free - 12);
}

#[test]
fn growth_is_taken_behind_the_last_page_if_that_is_free() {
    let (_, mut volume) = fresh();
    file(&mut volume, "a", &[1; 3000]).unwrap();
    let id = volume.named("a").unwrap().id;
    let growing = [1500, 60, 2000];
    for bytes in growing {
        commit(
            &mut volume,
            |change| now(change.append(id, &vec![2; bytes])),
        )
        .unwrap();
    }
    let grown = volume.get(id).unwrap();
    assert_eq!(grown.extents.len(), 1);
    assert_eq!(grown.content.bytes(), 3000 + 3560);
    file(&mut volume, "b", &[3; 10]).unwrap();
    commit(&mut volume, |change| now(change.append(id, &[4; 3000]))).unwrap();
    let grown = volume.get(id).unwrap();
    assert_eq!(grown.extents.len(), 2);
    let held = now(volume.read(id)).unwrap();
    assert_eq!(held, [vec![1; 3000], vec![2; 3560], vec![4; 3000]].concat());
    commit(&mut volume, |change| {
        change.shorten(id, content(&[0; 3100]))
    })
    .unwrap();
    assert_eq!(now(volume.read(id)).unwrap(), held[..3100]);
}
