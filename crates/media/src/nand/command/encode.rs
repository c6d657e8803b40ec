//! Commands written as bus cycles.

use super::super::geometry::{BlockId, DieId, Geometry, PageAddress};
use super::super::mode::ProgramMode;
use super::cycles::{BusCycle, FEATURE_BYTES, Widths};
use super::{BlockSet, Command, Mws, PageSet, PlaneMask, RAISE_MAX, opcode};

impl Command {
    /// Appends the cycles of this command for `die` to `out`. Addresses outside the chip wrap; a die
    /// refuses such commands anyway.
    pub fn encode(&self, geometry: &Geometry, die: DieId, out: &mut Vec<BusCycle>) {
        let mut encoder = Encoder {
            widths: Widths::of(geometry),
            pages_per_block: geometry.pages_per_block_max(),
            first_block: geometry.first_block_of_chip(die),
            out,
        };
        match self {
            Command::Read {
                pages,
                inverse: false,
            } => encoder.reads(pages, opcode::READ_CONFIRM),
            Command::Read {
                pages,
                inverse: true,
            } => encoder.reads(pages, opcode::READ_INVERSE),
            Command::CacheRead { pages } => encoder.reads(pages, opcode::READ_CACHE),
            Command::CopybackRead { pages } => encoder.reads(pages, opcode::READ_COPYBACK),
            Command::Program { pages, mode } => encoder.programs(pages, *mode, opcode::PROGRAM),
            Command::CopybackProgram { pages, mode } => {
                encoder.programs(pages, *mode, opcode::COPYBACK_PROGRAM);
            }
            Command::ProgramComplement { pages, mode } => {
                encoder.programs(pages, *mode, opcode::PROGRAM_COMPLEMENT);
            }
            Command::Raise { pages } => encoder.pages(
                pages,
                opcode::RAISE,
                opcode::PROGRAM_MULTI_PLANE,
                opcode::PROGRAM_CONFIRM,
            ),
            Command::Erase { blocks } => encoder.erases(blocks),
            Command::Mws(mws) => encoder.mws(mws),
            Command::CacheReadEnd { planes } => encoder.masked(opcode::READ_CACHE_END, *planes),
            Command::Xor { planes } => encoder.masked(opcode::XOR, *planes),
            Command::LatchTransfer { planes } => encoder.masked(opcode::LATCH_TRANSFER, *planes),
            Command::LatchLoad { planes } => encoder.masked(opcode::LATCH_LOAD, *planes),
            Command::SetFeature { feature, value } => {
                encoder.command(opcode::SET_FEATURE);
                encoder.address(*feature as u64, 1);
                encoder.address(u64::from(*value), FEATURE_BYTES);
            }
            Command::Suspend => encoder.command(opcode::SUSPEND),
            Command::Resume => encoder.command(opcode::RESUME),
            Command::Reset => encoder.command(opcode::RESET),
            Command::ReadStatus => encoder.command(opcode::READ_STATUS),
        }
    }
}

struct Encoder<'a> {
    widths: Widths,
    pages_per_block: u32,
    first_block: u32,
    out: &'a mut Vec<BusCycle>,
}

impl Encoder<'_> {
    fn command(&mut self, code: u8) {
        self.out.push(BusCycle::Command(code));
    }

    fn address(&mut self, value: u64, bytes: usize) {
        let bytes = &value.to_le_bytes()[..bytes];
        self.out
            .extend(bytes.iter().copied().map(BusCycle::Address));
    }

    fn block(&mut self, block: BlockId) {
        let block = block.0.wrapping_sub(self.first_block);
        self.address(u64::from(block), self.widths.block);
    }

    fn page(&mut self, page: PageAddress) {
        let block = page.block.0.wrapping_sub(self.first_block);
        let row = u64::from(block) * u64::from(self.pages_per_block) + u64::from(page.page);
        self.address(0, self.widths.column);
        self.address(row, self.widths.row);
    }

    /// `start`, an address and `between` for each page but the last, which ends with `end`.
    fn pages(&mut self, pages: &PageSet, start: u8, between: u8, end: u8) {
        for (index, &page) in pages.iter().enumerate() {
            self.command(start);
            self.page(page);
            let last = index + 1 == pages.len();
            self.command(if last { end } else { between });
        }
    }

    fn reads(&mut self, pages: &PageSet, confirm: u8) {
        self.pages(pages, opcode::READ, opcode::READ_MULTI_PLANE, confirm);
    }

    fn programs(&mut self, pages: &PageSet, mode: ProgramMode, start: u8) {
        self.command(opcode::MODE + mode as u8);
        self.pages(
            pages,
            start,
            opcode::PROGRAM_MULTI_PLANE,
            opcode::PROGRAM_CONFIRM,
        );
    }

    fn erases(&mut self, blocks: &BlockSet) {
        for (index, &block) in blocks.iter().enumerate() {
            self.command(opcode::ERASE);
            self.block(block);
            let last = index + 1 == blocks.len();
            self.command(if last {
                opcode::ERASE_CONFIRM
            } else {
                opcode::ERASE_MULTI_PLANE
            });
        }
    }

    fn mws(&mut self, mws: &Mws) {
        self.command(opcode::MWS);
        let raise = (mws.raise & RAISE_MAX) << 4;
        self.address(u64::from(mws.iscm.to_byte() | raise), 1);
        for (index, plane) in mws.planes.iter().enumerate() {
            let last_plane = index + 1 == mws.planes.len();
            for (index, slot) in plane.slots.iter().enumerate() {
                self.block(slot.block);
                self.address(u64::from(slot.string), 1);
                let bitmap = slot.wordlines.to_bytes();
                let bitmap = bitmap[..self.widths.bitmap].iter();
                self.out.extend(bitmap.copied().map(BusCycle::Address));
                let last_slot = index + 1 == plane.slots.len();
                self.command(match (last_slot, last_plane) {
                    (false, _) => opcode::CONT,
                    (true, false) => opcode::NEXT_PLANE,
                    (true, true) => opcode::CONF,
                });
            }
        }
    }

    fn masked(&mut self, code: u8, planes: PlaneMask) {
        self.command(code);
        self.address(u64::from(planes.0), 1);
    }
}
