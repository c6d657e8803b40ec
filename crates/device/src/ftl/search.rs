//! Pages with the names of search regions, in blocks lent to those: the translation layer programs them; where in them which bits
//! lie it does not know.

use media::nand::{PageAddress, ProgramMode};

use super::Ftl;
use super::spare::{Content, Record};
use crate::memory::BufferId;
use crate::schedule::{Notify, Origin, Program, ProgramPair, Spare};

/// What such a page holds: bits of the names of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamePage {
    /// The search region.
    pub region: u16,
    /// The row of names.
    pub row: u32,
    /// Which slice of the names.
    pub slice: u8,
}

impl From<NamePage> for Content {
    fn from(page: NamePage) -> Content {
        let NamePage { region, row, slice } = page;
        Content::Search { region, row, slice }
    }
}

impl Ftl {
    /// Begins to program a page with names, and, if `complement` is given, that page with the complement right after.
    pub(crate) fn program_names(
        &self,
        (page, complement): (PageAddress, Option<PageAddress>),
        (holds, mode): (NamePage, ProgramMode),
        (from, origin): (BufferId, Origin),
        notify: Notify,
    ) {
        let program = Program {
            page,
            mode,
            from,
            bytes: self.geometry.page_bytes,
            spare: self.spare_of_names(holds),
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        match complement {
            None => self.schedule.push(die, program, notify),
            Some(complement) => {
                let spare = self.spare_of_names(holds);
                let pair = ProgramPair {
                    program,
                    complement,
                    spare,
                };
                self.schedule.push(die, pair, notify);
            }
        }
    }

    fn spare_of_names(&self, holds: NamePage) -> Spare {
        let sequence = self.next_sequence();
        self.note_program(sequence);
        let record = Record {
            content: holds.into(),
            version: 0,
            sequence,
        };
        record.encode().into()
    }
}
