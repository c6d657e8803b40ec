//! Rows of names in flash: programmed when they are full, searched, raised, moved, freed and used again.

use std::collections::BTreeMap;

use bitline::{Content, Drive, NameKind, NameTerm, NewStore, Pattern, Wanted};

use crate::random::Random;
use crate::{cut, tiny};

pub(crate) const ROW: u32 = 4096;
const NAME_BITS: u32 = 40;
const TAG_BITS: u32 = 9;
const VALUE_BYTES: usize = 24;

pub(crate) fn store() -> NewStore {
    let kind = |bits, ternary| NameKind { bits, ternary };
    NewStore {
        entries: 5 * ROW,
        value_bytes: VALUE_BYTES as u32,
        names: vec![kind(NAME_BITS, false), kind(TAG_BITS, true)],
        schema: Vec::new(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: [u8; 5],
    tag: [u8; 2],
    mask: [u8; 2],
    value: [u8; VALUE_BYTES],
}

impl Entry {
    pub(crate) fn random(random: &mut Random, name: u64) -> Entry {
        let mut entry = Entry {
            name: [0; 5],
            tag: (random.below(512) as u16).to_le_bytes(),
            mask: [0xFF, 1],
            value: [0; VALUE_BYTES],
        };
        entry.name.copy_from_slice(&name.to_le_bytes()[..5]);
        if random.below(4) == 0 {
            entry.mask = [0x0F, 0];
        }
        for byte in &mut entry.value {
            *byte = random.below(256) as u8;
        }
        entry
    }

    pub(crate) fn record(&self) -> Vec<u8> {
        [&self.name[..], &self.tag, &self.mask, &self.value].concat()
    }
}

/// A drive with a store, and what ought to be in it.
pub(crate) struct Lived {
    pub(crate) drive: Drive,
    pub(crate) entries: BTreeMap<u32, Entry>,
    /// What follows the entry appended last.
    pub(crate) tail: u32,
}

impl Lived {
    pub(crate) fn new(more: &[(&str, &str)]) -> Lived {
        let mut drive = tiny(more);
        drive.search().create("store", &store()).expect("it fits");
        Lived {
            drive,
            entries: BTreeMap::new(),
            tail: 0,
        }
    }

    pub(crate) fn append(&mut self, new: &[Entry]) {
        // No command goes over the end of a row, after which any free row may follow.
        let mut rest = new;
        while !rest.is_empty() {
            let left = ROW - self.tail % ROW;
            let (new, more) = rest.split_at(rest.len().min(left.min(256) as usize));
            rest = more;
            let records: Vec<u8> = new.iter().flat_map(Entry::record).collect();
            let count = new.len() as u32;
            let appended = self.drive.search().append("store", &records, count);
            let first = appended.expect("it fits").first();
            self.tail = first + count;
            for (number, entry) in (first..).zip(new) {
                let before = self.entries.insert(number, entry.clone());
                assert!(before.is_none(), "number {number} is in use");
            }
        }
    }

    pub(crate) fn matching(&self, is: impl Fn(&Entry) -> bool) -> Vec<u32> {
        let entries = self.entries.iter().filter(|(_, entry)| is(entry));
        entries.map(|(number, _)| *number).collect()
    }

    pub(crate) fn check(
        &mut self,
        groups: &[Vec<NameTerm>],
        is: impl Fn(&Entry) -> bool,
        what: &str,
    ) {
        let expected = self.matching(is);
        let wanted = Wanted {
            numbers: true,
            ..Wanted::default()
        };
        let found = self.drive.search().look_up("store", groups, &[], wanted);
        let found = found.expect("it can be asked");
        let numbers: Vec<u32> = found.numbers.iter().map(|number| *number as u32).collect();
        let without = |all: &[u32], some: &[u32]| -> Vec<u32> {
            all.iter()
                .filter(|one| some.binary_search(one).is_err())
                .take(5)
                .copied()
                .collect()
        };
        let (missed, wrong) = (without(&expected, &numbers), without(&numbers, &expected));
        assert!(numbers.is_sorted(), "{what}");
        assert_eq!(
            (missed, wrong),
            Default::default(),
            "{what}: missed, and not there"
        );
        for (number, value) in expected.iter().zip(found.iter()) {
            assert_eq!(value, self.entries[number].value, "{what}: entry {number}");
        }
    }

    /// Lets time pass until so many blocks hold names.
    pub(crate) fn wait_for_blocks(&mut self, wanted: [u32; 2]) {
        for _ in 0..1000 {
            let written = self
                .drive
                .volume()
                .write("clock", Content::File { bytes: 4 }, b"tick");
            written.expect("it fits");
            let report = self.drive.search().report("store").expect("it is told");
            let blocks: Vec<u32> = report.iter().map(|one| one.blocks.get()).collect();
            if blocks == wanted {
                return;
            }
        }
        panic!("names are not programmed");
    }

    pub(crate) fn check_all(&mut self, what: &str) {
        let any = Pattern::new(8, &[0], &[0]).expect("a pattern");
        self.check(&[vec![term(0, any)]], |_| true, what);
        let live = self.entries.len() as u32;
        let report = self.drive.search().report("store").expect("it is told");
        assert_eq!(
            report.iter().map(|one| one.live.get()).collect::<Vec<_>>(),
            [live; 2]
        );
    }
}

/// Entries with these numbers as names.
pub(crate) fn fresh(random: &mut Random, names: std::ops::Range<u64>) -> Vec<Entry> {
    names.map(|name| Entry::random(random, name)).collect()
}

pub(crate) fn term(name: usize, pattern: Pattern) -> NameTerm {
    NameTerm { name, pattern }
}

pub(crate) fn by_name(name: [u8; 5]) -> Vec<NameTerm> {
    vec![term(0, Pattern::exact(NAME_BITS, &name).expect("a name"))]
}

pub(crate) fn by_tag(tag: u16) -> Vec<NameTerm> {
    let pattern = Pattern::exact(TAG_BITS, &tag.to_le_bytes());
    vec![term(1, pattern.expect("a tag"))]
}

pub(crate) fn has_tag(tag: u16) -> impl Fn(&Entry) -> bool {
    move |entry| {
        let mask = u16::from_le_bytes(entry.mask);
        (u16::from_le_bytes(entry.tag) ^ tag) & mask == 0
    }
}

/// With the journal keeping what waits, and with a capacitor.
pub(crate) const KEPT: [&[(&str, &str)]; 2] = [
    &[],
    &[
        ("search.capacitor", "true"),
        ("search.buffer_bytes", "262144"),
    ],
];

#[test]
fn names_are_found_in_flash_and_in_memory_and_after_power_cuts() {
    KEPT.iter().for_each(|more| names_are_found(more));
}

fn names_are_found(more: &[(&str, &str)]) {
    let mut lived = Lived::new(more);
    let mut random = Random(5);
    let entries: Vec<Entry> = (0..2 * u64::from(ROW) + 700)
        .map(|number| Entry::random(&mut random, number * 77))
        .collect();
    lived.append(&entries);
    for life in 0..3 {
        lived.check_all(&format!("life {life}"));
        if life == 0 {
            lived.wait_for_blocks([2, 2]);
        }
        for number in [0_u64, 77 * 4095, 77 * 4096, 77 * 8500, 5] {
            let mut name = [0; 5];
            name.copy_from_slice(&number.to_le_bytes()[..5]);
            lived.check(&[by_name(name)], |entry| entry.name == name, "a name");
        }
        for tag in [0, 17, 511] {
            lived.check(&[by_tag(tag)], has_tag(tag), "a tag");
        }
        let low =
            Pattern::new(NAME_BITS, &[0; 5], &[0, 0xC0, 0xFF, 0xFF, 0xFF]).expect("a pattern");
        let both = [
            [by_tag(17), vec![term(0, low)]].concat(),
            by_name([77, 0, 0, 0, 0]),
        ];
        let is_low = |entry: &Entry| entry.name[1] < 64 && entry.name[2..] == [0; 3];
        let is_77 = |entry: &Entry| entry.name == [77, 0, 0, 0, 0];
        lived.check(
            &both,
            |entry| has_tag(17)(entry) && is_low(entry) || is_77(entry),
            "both",
        );
        let counts = lived.drive.statistics().expect("it is on").search;
        assert!(counts.senses > 0, "{counts:?}");
        cut(&mut lived.drive);
    }
}

#[test]
fn deleted_entries_stay_deleted_and_their_rows_are_used_again() {
    KEPT.iter().for_each(|more| rows_are_used_again(more));
}

fn rows_are_used_again(more: &[(&str, &str)]) {
    let mut lived = Lived::new(more);
    let mut random = Random(6);
    let mut next = 0;
    let mut fresh = |random: &mut Random, count: u32| -> Vec<Entry> {
        next += u64::from(count);
        (next - u64::from(count)..next)
            .map(|number| Entry::random(random, number))
            .collect()
    };
    for round in 0..4 {
        let entries = fresh(&mut random, 2 * ROW);
        lived.append(&entries);
        let tag = random.below(512) as u16;
        let deleted = lived.drive.search().delete("store", &[by_tag(tag)]);
        let gone = lived.matching(has_tag(tag));
        assert_eq!(deleted.expect("found"), gone.len() as u32);
        lived.entries.retain(|number, _| !gone.contains(number));
        lived.check_all("some deleted");
        let update = Entry::random(&mut random, 1 << 33 | round);
        let name = lived.entries.values().next().expect("some").name;
        let updated =
            lived
                .drive
                .search()
                .update("store", Some(&[by_name(name)]), &update.record(), 1);
        let updated = updated.expect("it fits");
        let gone = lived.matching(|entry| entry.name == name);
        assert_eq!(updated.deleted, gone.len() as u32);
        lived.entries.retain(|number, _| !gone.contains(number));
        lived.entries.insert(updated.first, update);
        lived.tail = updated.first + 1;
        lived.check_all("one updated");
        cut(&mut lived.drive);
        lived.check_all("after a power cut");
        // All of the first two rows that there are.
        let mut rows: Vec<u32> = lived.entries.keys().map(|number| number / ROW).collect();
        rows.dedup();
        let old: Vec<u32> = lived
            .entries
            .keys()
            .filter(|number| rows[..2].contains(&(*number / ROW)))
            .copied()
            .collect();
        for numbers in old.chunks(500) {
            let groups: Vec<_> = numbers
                .iter()
                .map(|number| by_name(lived.entries[number].name))
                .collect();
            let deleted = lived.drive.search().delete("store", &groups);
            assert_eq!(deleted.expect("found"), numbers.len() as u32);
            numbers.iter().for_each(|number| {
                lived.entries.remove(number);
            });
        }
        lived.check_all("two rows gone");
    }
}

#[test]
fn the_same_names_replace_entries_and_their_own_dont_cares_count() {
    let mut lived = Lived::new(&[]);
    let mut random = Random(7);
    let entries: Vec<Entry> = (0..u64::from(ROW) + 100)
        .map(|number| Entry::random(&mut random, number))
        .collect();
    lived.append(&entries);
    for number in [3_usize, 4000, ROW as usize + 50] {
        let mut new = entries[number].clone();
        new.value = [9; VALUE_BYTES];
        let record = new.record();
        let updated = lived.drive.search().update("store", None, &record, 1);
        let updated = updated.expect("it fits");
        assert_eq!(updated.deleted, 1);
        lived.entries.remove(&(number as u32));
        lived.entries.insert(updated.first, new);
        lived.tail = updated.first + 1;
    }
    lived.check_all("replaced");
}
