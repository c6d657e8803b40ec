//! Facts against a map of a few lines: whatever groups a power cut leaves, and however long old ones
//! stay on flash, what was in force comes back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const PAGE: u32 = 128;
const PAYLOAD: usize = 120;
const KIND: FactKind = FactKind(7);

/// Pages, each with its payload.
type Pages = Vec<(Ppa, Vec<u8>)>;

/// A flash that forgets nothing: every group written, with what its pages say of the oldest.
#[derive(Default)]
struct Media {
    groups: Vec<(u64, u64, Pages)>,
    pages: u32,
}

impl Media {
    fn write(&mut self, version: u64, draft: &Draft) -> Vec<Ppa> {
        let first = self.pages;
        self.pages += draft.pages.len() as u32;
        let places: Vec<Ppa> = (first..self.pages).map(Ppa).collect();
        let payloads = draft.pages.iter().map(|page| {
            assert!(page.len() <= PAGE as usize);
            open(page).expect("what was written is whole").to_vec()
        });
        let pages = places.iter().copied().zip(payloads).collect();
        self.groups.push((version, draft.oldest, pages));
        places
    }

    /// Erases groups of which no page is needed, those for which `goes` says so.
    fn erase(&mut self, facts: &Facts, mut goes: impl FnMut() -> bool) {
        let needed: Vec<Ppa> = facts.pages().collect();
        self.groups.retain(|(_, _, pages)| {
            let is_needed = pages.iter().any(|(page, _)| needed.contains(page));
            is_needed || !goes()
        });
    }

    fn recover(&self) -> Facts {
        let mut facts = Facts::new(PAGE);
        let Some((newest, oldest, _)) = self.groups.last() else {
            return facts;
        };
        let oldest = if *oldest == 0 { *newest } else { *oldest };
        let wanted = self.groups.iter().filter(|group| group.0 >= oldest);
        let found = wanted.map(|(version, _, pages)| FoundGroup {
            version: *version,
            pages: pages.clone(),
        });
        facts.restore(found.collect());
        facts
    }
}

fn put(facts: &mut Facts, media: &mut Media, version: u64, changes: Vec<Change>) -> usize {
    let draft = facts.draft(changes, Others::Oldest);
    let pages = media.write(version, &draft);
    let count = pages.len();
    facts.commit(version, draft, pages);
    count
}

fn all_of(facts: &Facts) -> BTreeMap<u32, Vec<u8>> {
    let of_kind = facts.of(KIND);
    of_kind.map(|(key, value)| (key, value.to_vec())).collect()
}

/// Keys of puts that come into force together, each with the length of its value; none removes it.
fn puts() -> impl Strategy<Value = Vec<Vec<(u32, Option<usize>)>>> {
    let one = (0..12u32, prop::option::weighted(0.8, 0..300usize));
    prop::collection::vec(prop::collection::vec(one, 1..4), 1..120)
}

proptest! {
    #[test]
    fn what_was_in_force_comes_back(puts in puts(), keys in 1..12u32, mut erased in any::<u64>()) {
        let (mut facts, mut media) = (Facts::new(PAGE), Media::default());
        let mut model = BTreeMap::new();
        for (version, batch) in (1..).zip(puts) {
            let value = |length| vec![version as u8; length];
            let batch: Vec<_> = batch.into_iter().map(|(key, length)| (key % keys, length)).collect();
            let changes = batch.iter().map(|(key, length)| {
                (KIND.key(*key), length.map(|length| value(length).into()))
            });
            put(&mut facts, &mut media, version, changes.collect());
            for (key, length) in batch {
                match length {
                    Some(length) => drop(model.insert(key, value(length))),
                    None => drop(model.remove(&key)),
                }
            }
            prop_assert_eq!(all_of(&facts), model.clone());
            prop_assert_eq!(all_of(&media.recover()), model.clone());
            // Blocks of what is not needed are erased in any order.
            media.erase(&facts, || {
                erased = erased.rotate_left(1);
                erased & 1 == 1
            });
            prop_assert_eq!(all_of(&media.recover()), model.clone());
        }
    }

    #[test]
    fn damage_is_noticed(length in 0..200usize, place in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (mut facts, mut media) = (Facts::new(PAGE), Media::default());
        put(&mut facts, &mut media, 1, vec![(KIND.key(1), Some(vec![9; length].into()))]);
        let change = vec![(KIND.key(2), Some(vec![1; length].into()))];
        for mut page in facts.draft(change, Others::Oldest).pages {
            let at = place.index(page.len());
            page[at] ^= 1 << bit;
            prop_assert_eq!(open(&page), None);
        }
    }

    #[test]
    fn opening_a_page_is_total(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(payload) = open(&bytes) {
            records(payload).for_each(drop);
        }
    }
}

/// A put costs the pages that its records fill, as long as all facts fit into one; whatever they fill,
/// at most as many again and those that make room.
#[test]
fn puts_cost_what_the_model_says() {
    for (keys, length) in [(5u32, 6usize), (40, 30), (200, 50), (3, 500)] {
        let (mut facts, mut media) = (Facts::new(PAGE), Media::default());
        let live = (keys as usize * (length + 10)).div_ceil(PAYLOAD);
        let own = (length + 10).div_ceil(PAYLOAD);
        let mut pages = 0;
        let puts = 2000;
        for version in 1..=puts {
            let key = KIND.key(version as u32 * 7 % keys);
            let value = Some(vec![version as u8; length].into());
            let cost = put(&mut facts, &mut media, version, vec![(key, value)]);
            if live == 1 {
                assert_eq!(cost, own, "all facts share a page");
                assert_eq!(facts.pages().count(), 1);
            }
            pages += cost;
            // What recovery reads.
            let first = facts.groups().next().expect("a group").1[0];
            let span = media.pages - first.0;
            let bound = 2 * live as u64 + SLACK_PAGES + 4 * own as u64;
            assert!(u64::from(span) <= bound, "{keys} {length}: {span} pages");
        }
        let most = 2 * own * puts as usize + live;
        assert!(pages <= most, "{keys} {length}: {pages} pages, {most}");
    }
}
