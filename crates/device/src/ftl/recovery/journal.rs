//! Finding the facts of the journal again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use media::nand::Ppa;

use super::scan::Scanner;
use crate::ftl::spare::{Content, Record};
use crate::ftl::{Ftl, UnitAddress};
use crate::journal::{self, FoundGroup};
use crate::planted::{Bug, is_planted};

/// The pages of a group, by index, each with its sequence number; and what they say.
#[derive(Default)]
struct Candidate {
    count: u32,
    oldest: u64,
    pages: BTreeMap<u32, (u64, Ppa)>,
    /// What was read of it, by index.
    payloads: BTreeMap<u32, Vec<u8>>,
}

impl Candidate {
    fn is_whole(&self) -> bool {
        self.pages.len() == self.count as usize
    }

    fn is_read(&self) -> bool {
        self.payloads.len() == self.pages.len()
    }
}

impl Ftl {
    /// Takes the facts that `records` name, of pages of the journal. Groups of which a
    /// page is missing were torn, or are not needed; but for the one that the newest names as needed.
    pub(super) async fn rebuild_journal(
        &self,
        scanner: &Rc<Scanner>,
        records: impl IntoIterator<Item = (UnitAddress, Record)>,
    ) {
        let mut groups: BTreeMap<u64, Candidate> = BTreeMap::new();
        for (at, record) in records {
            let page = self.unit.page(at);
            if let Content::Journal {
                index,
                count,
                oldest,
            } = record.content
            {
                let group = groups.entry(record.version).or_default();
                (group.count, group.oldest) = (count, oldest);
                // Of a page and its copy either; the copy stays.
                let found = (record.sequence, page);
                let kept = group.pages.entry(index).or_insert(found);
                *kept = found.max(*kept);
            }
        }
        groups.retain(|_, group| group.is_whole() || is_planted(Bug::RecoveryTakesTornGroups));
        if misses_needed(&groups) && scanner.scan.borrow().recovered.damaged_records == 0 {
            self.count(|counts| counts.pages_lost += 1);
        }
        // The newest says how far to look back; if it cannot be read, the one before it does.
        while let Some((newest, group)) = groups.last_key_value() {
            let oldest = match group.oldest {
                0 => *newest,
                oldest => oldest,
            };
            let unread = groups.range(oldest..).filter(|(_, group)| !group.is_read());
            let unread: Vec<u64> = unread.map(|(version, _)| *version).collect();
            if unread.is_empty() {
                groups = groups.split_off(&oldest);
                break;
            }
            let lost = self.read_groups(scanner, &mut groups, &unread).await;
            // Whatever they said is not known any more.
            self.count(|counts| counts.pages_lost += lost.len() as u64);
            groups.retain(|version, _| !lost.contains(version));
        }
        let found = groups.into_iter().map(|(version, group)| FoundGroup {
            version,
            pages: group
                .pages
                .into_values()
                .map(|(_, page)| page)
                .zip(group.payloads.into_values())
                .collect(),
        });
        self.facts.borrow_mut().restore(found.collect());
    }

    /// Reads the pages of these groups; gives those that cannot be read.
    async fn read_groups(
        &self,
        scanner: &Rc<Scanner>,
        groups: &mut BTreeMap<u64, Candidate>,
        versions: &[u64],
    ) -> BTreeSet<u64> {
        let mut wanted: Vec<(u64, u32, Ppa)> = Vec::new();
        for version in versions {
            let pages = groups[version].pages.iter();
            wanted.extend(pages.map(|(index, (_, page))| (*version, *index, *page)));
        }
        let pages = wanted.iter().map(|(_, _, page)| *page).collect();
        let read = Rc::new(RefCell::new(Vec::new()));
        let (into, names) = (read.clone(), wanted);
        let take = move |index: usize, record: Record, content: &[u8]| {
            let (version, number, _) = names[index];
            let its =
                matches!(record.content, Content::Journal { index: other, .. } if other == number);
            if let Some(payload) = journal::open(content).filter(|_| its)
                && record.version == version
            {
                into.borrow_mut().push((version, number, payload.to_vec()));
            }
        };
        scanner.read_contents(pages, take).await;
        for (version, index, payload) in read.take() {
            if let Some(group) = groups.get_mut(&version) {
                group.payloads.insert(index, payload);
            }
        }
        let lost = versions.iter().filter(|version| !groups[version].is_read());
        lost.copied().collect()
    }
}

/// Whether the group is not there, or not whole, that the newest whole one names as the oldest needed: that one was whole when
/// this was written, so no power cut tore it. Nothing is said of those between: they may have been torn in any earlier life.
fn misses_needed(whole: &BTreeMap<u64, Candidate>) -> bool {
    let newest = whole.last_key_value();
    newest.is_some_and(|(_, group)| group.oldest != 0 && !whole.contains_key(&group.oldest))
}
