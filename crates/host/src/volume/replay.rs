//! What the two areas of a catalogue say: whole commits in order, what was torn at their end, and what is damaged.
//!
//! An area is a log. Commits follow each other page by page, and none begins before the one before it is durable. So a
//! page that is whole, newer than the last whole commit and part of a commit that began anywhere but right behind it
//! proves that something before it was whole once: that is damage, and told. Anything else behind the last whole
//! commit is what a power cut left of the next, and dropped. Damage to the newest commit alone cannot be told from a
//! torn one, unless the drive reports it as a media error.

use super::page::{Page, Stamp};

/// A commit that is whole: the bytes of its records.
pub(super) type Commit = Vec<u8>;

/// What an area says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    /// The newest generation of which there is a page; 0 if there is none.
    pub(super) generation: u64,
    /// The whole commits of that generation, oldest first; the first holds all objects.
    pub(super) commits: Vec<Commit>,
    /// Pages of these commits: where the next begins.
    pub(super) pages: u32,
    /// The sequence number of the last of them.
    pub(super) sequence: u64,
    /// The highest sequence number of any page, torn commits included.
    pub(super) sequence_seen: u64,
    /// A page that is newer than the last whole commit, and was not begun right behind it.
    pub(super) damage: Option<u32>,
}

/// Makes sense of an area's pages, `None` where one is blank, torn, damaged or of another place.
pub(super) fn replay(mut pages: Vec<Option<Page>>) -> Replay {
    let stamps = || pages.iter().flatten().map(|page| page.stamp);
    let mut replay = Replay {
        generation: stamps().map(|stamp| stamp.generation).max().unwrap_or(0),
        sequence_seen: stamps().map(|stamp| stamp.sequence).max().unwrap_or(0),
        ..Replay::default()
    };
    // What an earlier generation left behind.
    for page in &mut pages {
        page.take_if(|page| page.stamp.generation < replay.generation);
    }
    while let Some(parts) = whole_commit(&pages, replay.pages) {
        let taken = &mut pages[replay.pages as usize..(replay.pages + parts) as usize];
        let taken = taken.iter_mut().filter_map(Option::take);
        let mut commit = Commit::new();
        for page in taken {
            replay.sequence = page.stamp.sequence;
            commit.extend(page.records);
        }
        replay.commits.push(commit);
        replay.pages += parts;
    }
    replay.damage = damage(&pages, &replay);
    replay
}

/// The number of pages of the commit that begins at page `first`, if all of them are there.
fn whole_commit(pages: &[Option<Page>], first: u32) -> Option<u32> {
    let pages = pages.get(first as usize..)?;
    let begin = pages.first()?.as_ref()?;
    let (stamp, parts) = (begin.stamp, begin.parts);
    let is_part = |(part, page): (usize, &Option<Page>)| {
        let belongs =
            |page: &Page| page.stamp == stamp && page.parts == parts && page.part as usize == part;
        page.as_ref().is_some_and(belongs)
    };
    let all = pages.get(..parts as usize)?;
    all.iter().enumerate().all(is_part).then_some(parts)
}

fn damage(pages: &[Option<Page>], replay: &Replay) -> Option<u32> {
    let began_elsewhere = |(index, page): &(usize, &Option<Page>)| {
        let elsewhere =
            |page: &Page| *index as u64 != u64::from(replay.pages) + u64::from(page.part);
        page.as_ref()
            .is_some_and(|page| page.stamp.sequence > replay.sequence && elsewhere(page))
    };
    let mut behind = pages.iter().enumerate().skip(replay.pages as usize);
    behind.find(began_elsewhere).map(|_| replay.pages)
}

impl Replay {
    /// The stamp of the last whole commit.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            generation: self.generation,
            sequence: self.sequence,
        }
    }
}
