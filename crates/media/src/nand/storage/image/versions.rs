//! The records of a block's pages, as they are read when an image is opened: of a page whose cells were raised there are
//! several, of which the newest counts.

use super::super::StorageError;
use super::held::{Held, Mend, Scan};
use super::layout::{PAGE_RECORD_BYTES, Place, REPLICAS, Replica, SPARE_INLINE, first_page};
use super::raise::PLACES;
use super::record::{Found, PageEntry, is_zero};
use crate::nand::array::{Array, PageState};
use crate::nand::geometry::{BlockId, Geometry, PageAddress};
use std::collections::BTreeMap;

/// Room for the page records of a block, both copies.
pub(super) struct Pages {
    records: [Vec<u8>; 2],
}

impl Pages {
    pub(super) fn new(geometry: &Geometry) -> Pages {
        let bytes = geometry.pages_per_block_max() as usize * PAGE_RECORD_BYTES;
        Pages {
            records: [vec![0; bytes], vec![0; bytes]],
        }
    }
}

/// A page as one of its records has it.
struct Version {
    /// Where record and data are.
    at: PageAddress,
    entry: PageEntry,
    spare: Vec<u8>,
    /// Whether one copy of the record is to be written again.
    mend: bool,
    /// What that copy was, as [`Held`] counts it.
    damaged_copies: u64,
    lagging: Vec<u64>,
}

/// Of a block, by page, what its raises wrote.
type Raised = BTreeMap<u32, Vec<Version>>;

impl Scan<'_> {
    /// The pages of a block that has some.
    pub(super) fn pages(
        &self,
        block: BlockId,
        pages: &mut Pages,
        held: &mut Held,
        array: &mut Array,
    ) -> Result<(), StorageError> {
        let life = held.blocks[block.0 as usize].now.life;
        if life == 0 {
            return Ok(());
        }
        for (replica, records) in REPLICAS.into_iter().zip(&mut pages.records) {
            let at = self.layout.page_at(replica, first_page(block));
            self.read_at(records, at, "page records")?;
        }
        let wordlines = self.geometry.wordlines_per_block();
        let mut raised = self.raised_pages(block, life, pages)?;
        for page in 0..self.geometry.pages_per_block_max() {
            let page = PageAddress { block, page };
            let programmed = self.version(page, Place::default(), life, pages)?;
            let programmed = programmed
                .filter(|version| page.page < wordlines || version.entry.mode.bits_per_cell() > 1);
            let raised = raised.remove(&page.page).unwrap_or_default();
            self.page(page, programmed, raised, held, array);
        }
        Ok(())
    }

    /// What raises wrote in the places that pages of one bit a cell have besides their own.
    fn raised_pages(
        &self,
        block: BlockId,
        life: u64,
        pages: &Pages,
    ) -> Result<Raised, StorageError> {
        let mut raised = Raised::new();
        for place in (1..PLACES).map(Place) {
            for page in 0..self.geometry.wordlines_per_block() {
                let at = self.layout.in_place(PageAddress { block, page }, place);
                let version = self.version(at, place, life, pages)?;
                let version = version.filter(|version| version.entry.mode.bits_per_cell() == 1);
                if let Some(version) = version {
                    raised.entry(page).or_default().push(version);
                }
            }
        }
        Ok(raised)
    }

    /// What the two copies of a record tell, if anything. Where both are of no use it is the sum that tells whether one of
    /// them mattered: blocks keep records of lives long past.
    fn version(
        &self,
        at: PageAddress,
        place: Place,
        life: u64,
        pages: &Pages,
    ) -> Result<Option<Version>, StorageError> {
        let range = at.page as usize * PAGE_RECORD_BYTES..;
        let [first, second] =
            [0, 1].map(|copy: usize| &pages.records[copy][range.clone()][..PAGE_RECORD_BYTES]);
        if is_zero(first) && is_zero(second) {
            return Ok(None);
        }
        let copies = [
            self.page_record(Replica::First, at, life, first)?,
            self.page_record(Replica::Second, at, life, second)?,
        ];
        // It counts for the drive only if the version does.
        let mut counted = Held::default();
        let chosen = counted.choose(copies, |copy| copy.0.number);
        let Some((Some((entry, spare)), mend)) = chosen else {
            return Ok(None);
        };
        Ok(Some(Version {
            at,
            entry: entry.in_place(place),
            spare,
            mend,
            damaged_copies: counted.damaged_copies,
            lagging: counted.lagging,
        }))
    }

    /// A copy of a record, with its spare bytes.
    fn page_record(
        &self,
        replica: Replica,
        at: PageAddress,
        life: u64,
        bytes: &[u8],
    ) -> Result<Found<(PageEntry, Vec<u8>)>, StorageError> {
        PageEntry::read(at, life, self.geometry, bytes, |rest| {
            let at = self.layout.long_spare_at(replica, at);
            self.read_at(rest, at, "spare bytes")
        })
    }

    /// Takes the newest version of a page that counts.
    fn page(
        &self,
        page: PageAddress,
        programmed: Option<Version>,
        raised: Vec<Version>,
        held: &mut Held,
        array: &mut Array,
    ) {
        let versions = || programmed.iter().chain(&raised);
        let highest = versions().map(|version| version.entry.number).max();
        held.highest = held.highest.max(highest.unwrap_or(0));
        let counts = |version: &&Version| version.entry.number <= self.last;
        let newest = versions().filter(counts);
        let Some(newest) = newest.max_by_key(|version| version.entry.number) else {
            self.late_page(page, programmed, &raised, held, array);
            return;
        };
        let late = versions().filter(|version| !counts(version));
        held.stale.extend(late.map(|version| version.at));
        let Version {
            at, entry, spare, ..
        } = newest;
        if entry.number > self.sealed {
            held.unsealed.push(page);
        }
        array.program(page, entry.mode, entry.state, entry.birth, spare);
        let weight = entry.to_bytes(*at, spare).1;
        held.count(entry.number, weight, entry.others);
        held.note_copies(newest);
        let pages = self.geometry.pages_per_block_max();
        held.blocks[page.block.0 as usize].program(page, pages, entry.content, weight);
        if newest.mend {
            held.mends.push(Mend::Page(*at, *entry, spare.clone()));
        }
    }

    /// A page that was programmed, if at all, after the last change that counts: it holds nothing of worth.
    fn late_page(
        &self,
        page: PageAddress,
        programmed: Option<Version>,
        raised: &[Version],
        held: &mut Held,
        array: &mut Array,
    ) {
        held.stale.extend(raised.iter().map(|version| version.at));
        let Some(late) = programmed else { return };
        held.note_copies(&late);
        let entry = late.entry;
        array.program(page, entry.mode, PageState::Torn, entry.birth, &[]);
        held.late.push((page, entry));
    }
}

impl Held {
    /// Counts the copies of a record that were damaged or too old.
    fn note_copies(&mut self, version: &Version) {
        self.damaged_copies += version.damaged_copies;
        self.lagging.extend(&version.lagging);
    }
}

impl PageEntry {
    /// A copy of a record that lies at `at`, with the spare bytes, of which `rest` reads those that it has no room for. One of
    /// another life than `life` is as good as none.
    pub(super) fn read(
        at: PageAddress,
        life: u64,
        geometry: &Geometry,
        bytes: &[u8],
        rest: impl FnOnce(&mut [u8]) -> Result<(), StorageError>,
    ) -> Result<Found<(PageEntry, Vec<u8>)>, StorageError> {
        if is_zero(bytes) {
            return Ok(Found::Blank);
        }
        let entry = match PageEntry::from_bytes(bytes) {
            None => return Ok(Found::Damaged),
            Some(entry) if entry.life != life => return Ok(Found::Blank),
            Some(entry) => entry,
        };
        let length = usize::from(entry.spare_bytes);
        // In a block of one bit a cell, further pages are places of those whose cells were raised.
        let exists =
            entry.mode.bits_per_cell() == 1 || at.page < geometry.pages_per_block(entry.mode);
        if !exists || length > geometry.spare_bytes as usize {
            return Ok(Found::Damaged);
        }
        let mut spare = vec![0; length];
        let inline = length.min(SPARE_INLINE);
        spare[..inline].copy_from_slice(&PageEntry::inline_spare(bytes)[..inline]);
        if length > SPARE_INLINE {
            rest(&mut spare[SPARE_INLINE..])?;
        }
        Ok(match entry.to_bytes(at, &spare).0 == bytes {
            true => Found::Sound((entry, spare)),
            false => Found::Damaged,
        })
    }
}
