//! Groups under power cuts: whatever was under way, recovery finds every vector as it was before or
//! as it was to become.

use std::collections::BTreeMap;

use media::nand::{BlockId, Geometry, PageAddress};
use nvme::VectorId;

use super::{Pool, small};
use crate::bits::placement::{
    BITS_MAX, BlockSource, Deletion, Groups, PendingWrite, Reclaim, VectorSpare, rebuild,
};

/// A deterministic stream of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % bound
    }
}

/// What survives: records of programmed pages (`None` where torn) and the data's name.
#[derive(Default)]
struct Flash {
    pages: BTreeMap<PageAddress, Option<(VectorSpare, u64)>>,
    frontier: BTreeMap<BlockId, u32>,
    /// Programs and erases left until the power goes.
    steps_left: u64,
}

struct PowerCut;

impl Flash {
    fn program(
        &mut self,
        page: PageAddress,
        record: VectorSpare,
        data: u64,
    ) -> Result<(), PowerCut> {
        let frontier = self.frontier.entry(page.block).or_default();
        assert!(
            page.page >= *frontier,
            "{page:?} is behind the frontier {frontier}"
        );
        *frontier = page.page + 1;
        let cut = self.steps_left == 0;
        let torn = self.pages.insert(page, (!cut).then_some((record, data)));
        assert!(torn.is_none(), "programmed twice");
        self.step()
    }

    fn erase(&mut self, block: BlockId) -> Result<(), PowerCut> {
        self.pages.retain(|page, _| page.block != block);
        self.frontier.remove(&block);
        self.step()
    }

    fn step(&mut self) -> Result<(), PowerCut> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(PowerCut)?;
        Ok(())
    }

    fn records(&self) -> impl Iterator<Item = (PageAddress, VectorSpare)> + '_ {
        let readable = |(&page, held): (&PageAddress, &Option<(VectorSpare, u64)>)| {
            let bytes = held.as_ref()?.0.encode();
            Some((page, VectorSpare::decode(&bytes).expect("encoded above")))
        };
        self.pages.iter().filter_map(readable)
    }
}

/// A vector's length and what data it holds.
type Content = Option<(u64, u64)>;

struct Drive {
    geometry: Geometry,
    flash: Flash,
    groups: Groups,
    pool: Pool,
}

impl Drive {
    fn new(geometry: Geometry) -> Drive {
        let pool = Pool::new(&geometry);
        Drive {
            flash: Flash::default(),
            groups: Groups::new(geometry.clone()),
            pool,
            geometry,
        }
    }

    fn carry_out(&mut self, write: PendingWrite, data: u64) -> Result<(), PowerCut> {
        for chunk in 0..write.chunks {
            let page = self
                .groups
                .page(&write.placement, chunk)
                .expect("a reserved layer has blocks");
            let record = self.groups.record(&write, chunk);
            self.flash.program(page, record, data)?;
        }
        self.groups.commit(write);
        Ok(())
    }

    fn erase(&mut self, row_sets: Vec<Reclaim>) -> Result<(), PowerCut> {
        for Reclaim { row_set, blocks } in row_sets {
            for block in blocks {
                self.flash.erase(block)?;
                self.pool.release_block(block);
            }
            self.groups.erased(row_set);
        }
        Ok(())
    }

    fn reclaim(&mut self) -> Result<(), PowerCut> {
        loop {
            let row_sets = self.groups.reclaim();
            if row_sets.is_empty() {
                return Ok(());
            }
            self.erase(row_sets)?;
        }
    }

    fn delete(&mut self, vector: VectorId) -> Result<(), PowerCut> {
        match self.groups.delete(&mut self.pool, vector) {
            Ok(Deletion::Record(record)) => self.carry_out(record, 0),
            Ok(Deletion::Group(row_sets)) => self.erase(row_sets),
            Err(error) => panic!("there is room: {error}"),
        }
    }

    /// The power comes back: only the flash is still there.
    fn recover(&mut self) {
        let next = |block| self.flash.frontier.get(&block).copied().unwrap_or(0);
        self.groups = rebuild(self.geometry.clone(), self.flash.records(), next);
        let owned: Vec<BlockId> = self.groups.blocks().collect();
        // What no record claims, the translation layer erases.
        let orphans: Vec<BlockId> = self
            .flash
            .frontier
            .keys()
            .copied()
            .filter(|block| !owned.contains(block))
            .collect();
        self.flash.steps_left = u64::MAX;
        for block in orphans {
            assert!(self.flash.erase(block).is_ok(), "the power stays");
        }
        self.pool = Pool::new(&self.geometry);
        self.pool.free.retain(|block| !owned.contains(block));
    }

    /// What reading a vector yields: its length and data, the same in all chunks.
    fn content(&self, vector: VectorId) -> Content {
        let placement = self.groups.find(vector)?;
        let chunks = self.groups.layout().chunks(placement.bits);
        let read = |chunk| {
            let page = self
                .groups
                .page(&placement, chunk)
                .expect("stored vectors have blocks");
            let (record, data) = self.flash.pages[&page].expect("stored vectors are not torn");
            assert_eq!((record.group, record.vector), (vector.group, vector.vector));
            data
        };
        let first = read(0);
        assert!(
            (0..chunks).all(|chunk| read(chunk) == first),
            "one version throughout"
        );
        Some((placement.bits, first))
    }
}

/// Random writes and deletions, cut at a random step; then recovery, against a table of a few
/// lines.
fn run(seed: u64) {
    let mut random = Random(seed);
    let mut drive = Drive::new(Geometry {
        blocks_per_plane: 40,
        ..small()
    });
    let lengths = [64, 64 * 5 - 3, 64 * 20];
    let mut expected: BTreeMap<VectorId, (u64, u64)> = BTreeMap::new();
    for data in 0..40 {
        let vector = VectorId {
            group: random.below(3) as u32,
            vector: random.below(4) as u32,
        };
        let lively = expected.iter().find(|(id, _)| id.group == vector.group);
        let bits = lively.map_or(lengths[random.below(3) as usize], |(_, &(bits, _))| bits);
        drive.flash.steps_left = if random.below(3) == 0 {
            random.below(25)
        } else {
            u64::MAX
        };
        let before = expected.get(&vector).copied();
        let (after, result) = if before.is_some() && random.below(3) == 0 {
            (None, drive.delete(vector))
        } else {
            let write = drive
                .groups
                .place(&mut drive.pool, vector, bits, random.below(2) == 0);
            (
                Some((bits, data)),
                drive.carry_out(write.expect("there is room"), data),
            )
        };
        let done = result.is_ok();
        if done {
            expected.remove(&vector);
            expected.extend(after.map(|content| (vector, content)));
        }
        let survived = done && drive.reclaim().is_ok();
        if !survived || random.below(8) == 0 {
            drive.recover();
            if !done {
                let found = drive.content(vector);
                assert!(
                    found == before || found == after,
                    "seed {seed}: {vector:?} is {found:?}"
                );
                expected.remove(&vector);
                expected.extend(found.map(|content| (vector, content)));
            }
            assert!(drive.reclaim().is_ok(), "the power stays");
        }
        let listed: BTreeMap<VectorId, (u64, u64)> = drive
            .groups
            .vectors()
            .filter_map(|(id, _)| Some((id, drive.content(id)?)))
            .collect();
        assert_eq!(listed, expected, "seed {seed} after {data}");
    }
}

#[test]
fn recovery_finds_each_vector_before_or_after_what_was_under_way() {
    (0..3000).for_each(run);
}

#[test]
fn records_that_contradict_their_address_are_ignored() {
    let mut drive = Drive::new(small());
    drive.flash.steps_left = u64::MAX;
    let vector = VectorId {
        group: 1,
        vector: 2,
    };
    let write = drive
        .groups
        .place(&mut drive.pool, vector, 64 * 3, true)
        .expect("there is room");
    assert!(drive.carry_out(write, 7).is_ok());
    let genuine: Vec<_> = drive.flash.records().collect();
    let rebuilt =
        |records: Vec<(PageAddress, VectorSpare)>| rebuild(small(), records, |_| 0).find(vector);
    assert_eq!(rebuilt(genuine.clone()), drive.groups.find(vector));
    let alter = |change: fn(&mut PageAddress, &mut VectorSpare)| {
        let mut records = genuine.clone();
        let (page, record) = &mut records[1];
        change(page, record);
        rebuilt(records)
    };
    assert_eq!(
        alter(|page, _| page.block.0 += small().blocks_per_plane),
        None,
        "another plane"
    );
    assert_eq!(alter(|page, _| page.page += 1), None, "another string");
    assert_eq!(
        alter(|page, _| page.page += 2),
        None,
        "another layer than the others"
    );
    assert_eq!(
        alter(|_, record| record.chunk = u32::MAX),
        None,
        "no such chunk"
    );
    assert_eq!(
        alter(|_, record| record.bits = BITS_MAX),
        None,
        "longer than the drive"
    );
    assert_eq!(
        alter(|_, record| record.inverse = false),
        None,
        "not like the others"
    );
}
