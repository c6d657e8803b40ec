//! The chunks of one class on their way: where their rows are, and the strings lent for them.

use std::rc::Rc;

use media::nand::{BlockId, Command, Geometry, PageAddress, PlaneId};

use super::classes::{Class, DieShare};
use super::command::commands;
use super::plan::Computation;
use super::rows::{LENT, RowSetId};
use crate::ftl::Ftl;
use crate::region::{DieBatch, Owner, StringAddress};

/// Strings lent to an evaluation: pages that were brought from other dies are sensed there with those of a site.
/// Nothing of them outlives the evaluation, or a power cut.
pub(in crate::bits) struct Lent {
    pub(in crate::bits) blocks: Vec<BlockId>,
    /// By place among the chunks of the class.
    strings: Vec<StringAddress>,
}

/// The chunks of a class, shared by the stages of their evaluation.
pub(in crate::bits) struct Work {
    pub(in crate::bits) class: Class,
    geometry: Geometry,
    /// The site whose dies do the work.
    site: usize,
    pub(in crate::bits) shares: Vec<DieShare>,
    pub(in crate::bits) lent: Option<Lent>,
}

impl Lent {
    /// A string in the planes of `site` for each chunk of a class; `None` if a plane has no block to spare.
    pub(in crate::bits) fn new(
        ftl: &Ftl,
        geometry: &Geometry,
        class: &Class,
        site: usize,
    ) -> Option<Lent> {
        let mut open: Vec<Option<BlockId>> = vec![None; geometry.planes() as usize];
        let mut lent = Lent {
            blocks: Vec::new(),
            strings: Vec::with_capacity(class.len()),
        };
        for (plane, number) in class.numbers_in_plane(geometry, site) {
            let string = number % geometry.strings_per_block;
            let open = &mut open[plane.0 as usize];
            let block = match open.filter(|_| string > 0) {
                Some(block) => block,
                None => {
                    let Some(block) = ftl.lend_block(Owner::Temporary, plane) else {
                        let blocks = lent.blocks.into_iter();
                        blocks.for_each(|block| ftl.return_blank_block(block));
                        return None;
                    };
                    lent.blocks.push(block);
                    *open.insert(block)
                }
            };
            lent.strings.push(StringAddress { block, string });
        }
        Some(lent)
    }
}

impl Work {
    /// The work of a class, shared out over the dies of `site`.
    pub(in crate::bits) fn new(
        class: Class,
        geometry: &Geometry,
        site: usize,
        lent: Option<Lent>,
    ) -> Work {
        Work {
            shares: class.shares(geometry, site),
            class,
            geometry: geometry.clone(),
            site,
            lent,
        }
    }

    /// Where a row set is in the chunk at a place.
    fn string(&self, row_set: RowSetId, place: u64) -> StringAddress {
        match &self.lent {
            Some(lent) if row_set == LENT => lent.strings[place as usize],
            _ => self.class.string(row_set, place),
        }
    }

    /// The page of the strings lent that is at `layer`.
    pub(in crate::bits) fn lent_page(&self, layer: u32, place: u64) -> PageAddress {
        let StringAddress { block, string } = self.string(LENT, place);
        PageAddress {
            block,
            page: self.geometry.page_at(string, layer),
        }
    }

    /// Whether a computation senses other dies than those of the site, or none.
    pub(in crate::bits) fn is_elsewhere(&self, computation: &Computation) -> bool {
        self.class.is_elsewhere(computation, self.site)
    }

    /// The plane in which a computation senses the chunk at a place.
    pub(in crate::bits) fn plane(&self, computation: &Computation, place: u64) -> PlaneId {
        match computation.first_row_set() {
            Some(row_set) => self
                .geometry
                .plane_of_block(self.string(row_set, place).block),
            None => self.class.plane(&self.geometry, self.site, place),
        }
    }

    /// The commands of a computation for chunks of one die.
    pub(in crate::bits) fn commands(
        &self,
        computation: &Computation,
        batch: &DieBatch,
    ) -> Rc<[Command]> {
        let string = |row_set, place| self.string(row_set, place);
        commands(computation, &self.geometry, &string, batch)
    }

    pub(in crate::bits) fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}
