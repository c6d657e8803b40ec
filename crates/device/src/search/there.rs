//! Which entries of a row in flash are there. While the drive lives, memory knows: a plane of bits a row, whatever cells read as.
//! At power-up it is made from the pairs of cells that say so, one pair an entry in each search region. That is for names programmed with
//! margin. Of others about one cell in a thousand reads wrong, whatever the voltage: there the journal keeps what is not there.

use media::nand::{
    BlockId, Command, Iscm, MwsPlane, MwsSlot, ProgramMode, RAISE_MAX, WordlineBitmap,
};

use super::bits::{ones, words};
use super::facts::{self, DeletionFact};
use super::names::{Plane, plane};
use super::table::{Row, Table};
use super::{Search, SearchError};
use crate::journal::Change;
use crate::schedule::{Compute, Origin};

/// What the cells of entries read as: one for low.
#[derive(Default)]
struct Readings {
    /// The first cells of the pairs, of each search region: low where an entry is there.
    first: Vec<Plane>,
    /// The second cells: low where none was when the row was programmed. Nothing raises or lowers them.
    second: Vec<Plane>,
}

impl Readings {
    /// Entries that all cells say are there, and those of which they do not all say the same.
    fn look(&self) -> (Plane, Plane) {
        let length = self.first.first().map_or(0, |plane| plane.len());
        let both = |at: usize| {
            let first = || self.first.iter().map(|plane| plane[at]);
            let all = first().fold(u64::MAX, |all, word| all & word);
            let any = first().fold(0, |any, word| any | word);
            let never = self.second.iter().fold(0, |any, plane| any | plane[at]);
            (all & !never, any & !(all & !never))
        };
        let (sure, unsure): (Vec<u64>, Vec<u64>) = (0..length).map(both).unzip();
        (sure.into(), unsure.into())
    }

    /// Which of the entries in a word are there, as most cells say; where as many say the one as the other, they are: what is there is not given
    /// up for a cell that reads wrong.
    fn vote(&self, at: usize, unsure: u64) -> u64 {
        let count =
            |planes: &[Plane], bit: u64| planes.iter().filter(|plane| plane[at] & bit != 0).count();
        let mut there = 0;
        let mut left = unsure;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let (low, never) = (count(&self.first, bit), count(&self.second, bit));
            if 2 * low >= self.first.len() && low >= never {
                there |= bit;
            }
        }
        there
    }
}

impl Search {
    /// Which entries of a row in flash are there, at power-up; none on a drive that keeps no data.
    pub(super) async fn restored(
        &self,
        table: u32,
        row: &Row,
        blocks: &[Vec<BlockId>],
        origin: Origin,
    ) -> Result<Plane, SearchError> {
        let history = self.schedule.nand().history(blocks[0][0]);
        row.has_margin
            .set(history.is_none_or(|(mode, _)| mode == ProgramMode::Esp));
        let is_kept = self.buffers.stores_data();
        if row.has_margin.get() || !is_kept {
            return self.there_by_cells(blocks, origin).await;
        }
        let mut there: Plane = plane(self.row_names()).iter().map(|word| !word).collect();
        let fact = self.ftl.fact(facts::gone_key(table, row.number));
        if let Some(fact) = fact.and_then(|bytes| DeletionFact::decode(&bytes)) {
            for entry in fact.rows.values().flat_map(|entries| entries.iter()) {
                there[*entry as usize / 64] &= !(1 << (entry % 64));
            }
        }
        Ok(there)
    }

    /// What the journal is to keep of a row that is programmed now, as its cells are not believed.
    pub(super) fn without_margin(&self, table: &Table, row: &Row) -> Option<Change> {
        let gone = match &*row.names.borrow() {
            Some(names) if !row.is_sealed() => {
                ones(names.there().iter().map(|word| !word)).collect()
            }
            _ => row.gone_with(&[]),
        };
        let is_kept = !self.config.esp && !gone.is_empty();
        is_kept.then(|| facts::gone(table.number, row.number, gone))
    }

    /// Which entries the cells of a row say are there, all of its search regions and both of each pair. The read voltage is the one at which
    /// hardly a low cell reads as high; entries of which cells do not say the same are sensed with the usual one, too.
    async fn there_by_cells(
        &self,
        blocks: &[Vec<BlockId>],
        origin: Origin,
    ) -> Result<Plane, SearchError> {
        let first = blocks.iter().map(|blocks| blocks[0]);
        let raise = match self.tuning.raise(&self.schedule.nand(), first) {
            // Where no raise suffices, high cells read as low, too.
            RAISE_MAX => 0,
            raise => raise,
        };
        let mut readings = Readings::default();
        self.read_pairs(blocks, raise, &mut readings, origin)
            .await?;
        let (mut there, unsure) = readings.look();
        if unsure.iter().all(|word| *word == 0) {
            return Ok(there);
        }
        self.read_pairs(blocks, 0, &mut readings, origin).await?;
        for (at, unsure) in unsure.iter().enumerate() {
            there[at] |= readings.vote(at, *unsure);
        }
        Ok(there)
    }

    async fn read_pairs(
        &self,
        blocks: &[Vec<BlockId>],
        raise: u8,
        readings: &mut Readings,
        origin: Origin,
    ) -> Result<(), SearchError> {
        for of_column in blocks {
            let layer = self.layout.valid_layer();
            let first = self.sense_layer(of_column[0], layer, raise, origin);
            readings.first.push(first.await?);
            let second = self.sense_layer(of_column[0], layer + 1, raise, origin);
            readings.second.push(second.await?);
        }
        Ok(())
    }

    /// Senses a layer of the first string of a block; nothing on a drive that keeps no data.
    async fn sense_layer(
        &self,
        block: BlockId,
        layer: u32,
        raise: u8,
        origin: Origin,
    ) -> Result<Plane, SearchError> {
        let _room = self.buffers.rooms(1 + crate::memory::SAVED_PAGES).await;
        let into = self.buffers.take();
        let slot = MwsSlot {
            block,
            string: 0,
            wordlines: WordlineBitmap::single(layer),
        };
        let slots = MwsPlane {
            slots: std::iter::once(slot).collect(),
        };
        let iscm = Iscm {
            inverse: false,
            init_s: true,
            init_c: true,
            transfer: true,
        };
        let sense = Command::mws(iscm, std::iter::once(slots).collect()).raised(raise);
        let plane = self.geometry.plane_of_block(block);
        let compute = Compute {
            steps: std::iter::once(sense).collect(),
            outputs: std::iter::once((plane, into.id())).collect(),
            room: None,
            counted: None,
            origin,
        };
        let die = self.geometry.die_of_plane(plane);
        self.schedule.perform(die, compute).await?;
        let sensed = self
            .buffers
            .with(into.id(), |page| words(page).collect::<Plane>());
        Ok(sensed.unwrap_or_default())
    }
}

/// What lets go of what the journal keeps of a row in flash whose cells are not believed.
pub(super) fn without_gone(table: &Table, row: &Row) -> Option<Change> {
    let is_known = !row.has_margin.get();
    is_known.then(|| (facts::gone_key(table.number, row.number), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: &[u64], second: &[u64], again: (&[u64], &[u64])) -> u64 {
        let planes = |words: &[u64]| -> Vec<Plane> {
            words.iter().map(|word| Plane::from([*word])).collect()
        };
        let mut readings = Readings {
            first: planes(first),
            second: planes(second),
        };
        let (there, unsure) = readings.look();
        readings.first.extend(planes(again.0));
        readings.second.extend(planes(again.1));
        there
            .first()
            .map_or(0, |there| there | readings.vote(0, unsure[0]))
    }

    #[test]
    fn one_cell_that_reads_wrong_does_not_decide() {
        // Entries 0 to 2: there, deleted, never there. In one search region the second cell stands against the first.
        let (first, second) = (0b001, 0b100);
        assert_eq!(found(&[first], &[second], (&[first], &[second])), 0b001);
        // One that was never there, whose first cell reads low; with the usual voltage it does not.
        assert_eq!(found(&[0b101], &[second], (&[first], &[second])), 0b001);
        // One that is there, whose second cell reads low.
        assert_eq!(found(&[first], &[0b101], (&[first], &[second])), 0b001);
        // In two, one cell of four.
        for wrong in [0b001, 0b010, 0b100] {
            let both = [first, first ^ wrong];
            let usual = [first, first];
            let seconds = [second, second];
            assert_eq!(
                found(&both, &seconds, (&usual, &seconds)),
                0b001,
                "{wrong:b}"
            );
            let both = [second, second ^ wrong];
            assert_eq!(found(&usual, &both, (&usual, &seconds)), 0b001, "{wrong:b}");
        }
        // In three, one of them for good.
        for wrong in [0b001, 0b010, 0b100] {
            let all = [first, first ^ wrong, first];
            let seconds = [second; 3];
            assert_eq!(found(&all, &seconds, (&all, &seconds)), 0b001, "{wrong:b}");
        }
        assert_eq!(found(&[], &[], (&[], &[])), 0);
    }
}
