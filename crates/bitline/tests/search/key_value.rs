//! Maps of names to values, against one in memory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range, RangeBounds};

use bitline::{
    Content, Error, Host, JoinHandle, KeyValueError, KeyValueMap, KeyValueOptions, Pairs,
};

use crate::random::Random;
use crate::{cut, drive, interruptible};

const OPTIONS: KeyValueOptions = KeyValueOptions {
    entries: 150,
    value_bytes: 40,
    name_bytes: 120,
};

/// A name of few letters, so that names meet, of any length.
fn name(random: &mut Random) -> Vec<u8> {
    let bytes = [0, 1, 2, 5, 13, 14, 29, 30, 61, 62, 100][random.below(11) as usize];
    let mut name = vec![b'a'; bytes];
    for _ in 0..random.below(3) {
        if bytes > 0 {
            let at = random.below(bytes as u64) as usize;
            name[at] = [0, b'b', 0xFF][random.below(3) as usize];
        }
    }
    name
}

fn between(map: &BTreeMap<Vec<u8>, Vec<u8>>, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Pairs {
    let is_within = |name: &[u8]| RangeBounds::<[u8]>::contains(&(low, high), name);
    let found = map.iter().filter(|(name, _)| is_within(name));
    found
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[test]
fn a_life_is_that_of_a_map_in_memory() {
    for seed in 0..3 {
        let mut random = Random(seed);
        let mut drive = drive();
        let mut oracle: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for step in 0..400 {
            let mut map = drive.key_value("map", &OPTIONS).expect("it is there");
            let key = name(&mut random);
            let context = format!("seed {seed}, step {step}, {key:?}");
            match random.below(8) {
                0..=3 => {
                    let bytes = random.below(41) as usize;
                    let value = vec![step as u8; bytes];
                    let replaced = map.put(&key, &value).expect(&context);
                    let before = oracle.insert(key, value);
                    assert_eq!(replaced, before.is_some(), "{context}");
                }
                4 => {
                    let deleted = map.delete(&key).expect(&context);
                    assert_eq!(deleted, oracle.remove(&key).is_some(), "{context}");
                }
                5 => {
                    let prefix = &key[..key.len().min(1 + random.below(40) as usize)];
                    let found = map.prefix(prefix).expect(&context);
                    let expected = oracle.iter().filter(|(name, _)| name.starts_with(prefix));
                    let expected = expected.map(|(name, value)| (name.clone(), value.clone()));
                    assert_eq!(found, expected.collect::<Pairs>(), "{context}");
                }
                6 => {
                    let other = name(&mut random);
                    let (low, high) = (Bound::Included(&key[..]), Bound::Excluded(&other[..]));
                    let found = map.range(low, high).expect(&context);
                    assert_eq!(found, between(&oracle, low, high), "{context} {other:?}");
                }
                _ => {
                    let mask: Vec<u8> = key.iter().map(|_| random.below(2) as u8 * 0xFF).collect();
                    let found = map.masked(&key, &mask).expect(&context);
                    let is_meant = |name: &[u8]| {
                        let mut bytes = name.iter().zip(&key).zip(&mask);
                        name.len() == key.len() && bytes.all(|((a, b), mask)| (a ^ b) & mask == 0)
                    };
                    let expected = oracle.iter().filter(|(name, _)| is_meant(name));
                    let expected = expected.map(|(name, value)| (name.clone(), value.clone()));
                    assert_eq!(found, expected.collect::<Pairs>(), "{context}");
                }
            }
            let key = name(&mut random);
            assert_eq!(map.get(&key).expect("asked"), oracle.get(&key).cloned());
            if step % 50 == 49 {
                assert_eq!(map.len().expect("told"), oracle.len() as u64);
                let all = map.entries().expect("asked");
                assert_eq!(all, oracle.clone().into_iter().collect::<Pairs>());
                cut(&mut drive);
            }
        }
        assert!(oracle.len() > 40, "{} names", oracle.len());
    }
}

#[test]
fn places_of_replaced_entries_are_had_again() {
    let mut drive = drive();
    let mut map = drive.key_value("map", &OPTIONS).expect("it fits");
    for round in 0..40_u8 {
        for key in 0..20_u8 {
            map.put(&[key], &[round]).expect("there is room for 150");
        }
    }
    assert_eq!(map.len().expect("told"), 20);
    let all = map.entries().expect("asked");
    assert!(all.iter().all(|(_, value)| *value == [39]));
    let compacted = map.map().clone();
    drive
        .run(|host| async move { compacted.compact(&host).await })
        .expect("power")
        .expect("it fits");
    assert_eq!(drive.search().names().expect("a volume"), ["map/13"]);
    let mut map = drive.key_value("map", &OPTIONS).expect("it is there");
    assert_eq!(map.entries().expect("asked"), all);
}

#[test]
fn a_copy_that_breaks_off_loses_nothing() {
    let mut outcomes = [0; 2];
    let mut remnants = 0;
    let mut looks = 0;
    loop {
        looks += 1 + looks / 16;
        let (mut drive, shared) = interruptible();
        let options = KeyValueOptions {
            entries: 30,
            ..OPTIONS
        };
        let mut map = drive.key_value("map", &options).expect("it fits");
        for round in 0..3_u8 {
            for key in 0..10_u8 {
                map.put(&[key], &[round]).expect("there is room");
            }
        }
        let map = map.map().clone();
        shared.set(looks);
        let put = drive.run(|host| async move {
            map.compact(&host).await?;
            map.put(&host, &[3], b"new").await
        });
        shared.set(u64::MAX);
        cut(&mut drive);
        remnants += drive.search().names().expect("a volume").len() - 1;
        let mut map = drive.key_value("map", &options).expect("it is there");
        let said = map.get(&[3]).expect("asked");
        let is_new = said.as_deref() == Some(b"new");
        outcomes[usize::from(is_new)] += 1;
        let all = map.entries().expect("asked");
        assert_eq!(all.len(), 10, "after {looks} looks");
        let others = all.iter().filter(|(name, _)| *name != [3]);
        assert_eq!(others.filter(|(_, value)| *value == [2]).count(), 9);
        assert!(is_new || said.as_deref() == Some(&[2]));
        assert_eq!(drive.search().names().expect("a volume"), ["map/13"]);
        if matches!(put, Ok(Ok(_))) {
            assert!(is_new);
            break;
        }
    }
    assert!(outcomes[0] > 5 && outcomes[1] > 0, "{outcomes:?}");
    assert!(remnants > 2, "only {remnants} copies were begun");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut drive = drive();
    let mut map = drive.key_value("map", &OPTIONS).expect("it fits");
    let long = map.put(&[1; 121], b"");
    assert!(
        matches!(
            &long,
            Err(Error::KeyValue(KeyValueError::TooLong {
                what: "name",
                bytes: 121,
                most: 120
            }))
        ),
        "{long:?}"
    );
    let long = map.put(b"a", &[1; 41]);
    assert!(
        matches!(
            &long,
            Err(Error::KeyValue(KeyValueError::TooLong {
                what: "value",
                ..
            }))
        ),
        "{long:?}"
    );
    let mask = map.masked(b"ab", b"a");
    assert!(
        matches!(&mask, Err(Error::KeyValue(KeyValueError::Mask { .. }))),
        "{mask:?}"
    );
    assert!(map.is_empty().expect("told"));
    map.put(&[1; 120], &[2; 40]).expect("the longest");
    assert_eq!(map.get(&[1; 120]).expect("asked"), Some(vec![2; 40]));
    let others = KeyValueOptions {
        value_bytes: 41,
        ..OPTIONS
    };
    let other = drive.key_value("map", &others).err();
    assert!(
        matches!(
            &other,
            Some(Error::KeyValue(KeyValueError::Other {
                value_bytes: 40,
                ..
            }))
        ),
        "{other:?}"
    );
    for value_bytes in [100 << 20, u32::MAX] {
        let huge = KeyValueOptions {
            value_bytes,
            ..OPTIONS
        };
        let refused = drive.key_value("huge", &huge).err();
        assert!(
            matches!(&refused, Some(Error::KeyValue(KeyValueError::Entry { .. }))),
            "{refused:?}"
        );
    }
    drive
        .volume()
        .write("file/13", Content::File { bytes: 0 }, b"")
        .expect("it fits");
    assert!(drive.key_value("file", &OPTIONS).is_err());
}

/// Puts of names of 20 bytes, each of one byte again and again, which are its value, at once.
fn put_at_once(
    host: &Host,
    map: &KeyValueMap,
    keys: Range<u8>,
) -> Vec<JoinHandle<Result<bool, Error>>> {
    let put = |key: u8| {
        let (other, map) = (host.clone(), map.clone());
        let name = vec![key; 20];
        let put = async move { map.put(&other, &name, &[key]).await };
        host.sim().spawn(put)
    };
    keys.map(put).collect()
}

/// A name of 20 bytes for a number, in whose order the names are.
fn late(number: u16) -> Vec<u8> {
    let mut name = vec![0xFF; 20];
    name[18..].copy_from_slice(&number.to_be_bytes());
    name
}

#[test]
fn many_put_at_once() {
    let mut drive = drive();
    let options = KeyValueOptions {
        entries: 5000,
        ..OPTIONS
    };
    let map = drive.key_value("map", &options).expect("it fits");
    let map = map.map().clone();
    let done = drive.run(|host| async move {
        // Whoever changes the volume has the others wait, so that all see that the store of their names is not there.
        let (other, before) = (host.clone(), OPTIONS);
        let first = host
            .sim()
            .spawn(async move { other.key_value("before", &before).await });
        for put in put_at_once(&host, &map, 0..30) {
            assert!(!put.await?);
        }
        first.await?;
        // The store is copied while others put.
        let (other, copied) = (host.clone(), map.clone());
        let copy = host
            .sim()
            .spawn(async move { copied.compact(&other).await });
        let mut last = 30_u16;
        while !copy.is_finished() {
            map.put(&host, &late(last), &[1]).await?;
            last += 1;
        }
        copy.await?;
        Ok::<_, Error>(last)
    });
    let last = done.expect("power").expect("they fit");
    let mut map = drive.key_value("map", &options).expect("it is there");
    let all = map.entries().expect("asked");
    let expected = (0..30).map(|key| (vec![key; 20], vec![key]));
    let lates = (30..last).map(|number| (late(number), vec![1]));
    let expected: Pairs = expected.chain(lates).collect();
    assert!(last > 30, "nothing was put meanwhile");
    assert_eq!(all, expected);
}

#[test]
fn a_full_map_says_so_and_keeps_what_it_has() {
    let mut drive = drive();
    let options = KeyValueOptions {
        entries: 20,
        ..OPTIONS
    };
    let mut map = drive.key_value("map", &options).expect("it fits");
    let mut kept = 0;
    // A row may have room for more.
    for key in 0..25_u8 {
        match map.put(&[key], b"value") {
            Ok(replaced) => {
                assert!(!replaced);
                kept += 1;
            }
            Err(Error::KeyValue(KeyValueError::Full { entries: 20 })) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(kept >= 20);
    assert_eq!(map.entries().expect("asked").len(), kept);
    assert!(map.delete(&[0]).expect("it is there"));
    assert!(!map.put(b"new", b"value").expect("there is room for one"));
    assert_eq!(map.len().expect("told"), kept as u64);
}

#[test]
fn two_maps_know_nothing_of_each_other() {
    let mut drive = drive();
    drive
        .key_value("a", &OPTIONS)
        .expect("it fits")
        .put(b"name", b"1")
        .expect("it fits");
    drive
        .key_value("b", &OPTIONS)
        .expect("it fits")
        .put(b"name", b"2")
        .expect("it fits");
    let said = |drive: &mut bitline::Drive, map| {
        let mut map = drive.key_value(map, &OPTIONS).expect("it is there");
        map.get(b"name").expect("asked")
    };
    assert_eq!(said(&mut drive, "a"), Some(b"1".to_vec()));
    assert_eq!(said(&mut drive, "b"), Some(b"2".to_vec()));
}
