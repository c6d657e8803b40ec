//! Commands as cycles on the bus.
//!
//! Opcodes are ONFI's where it has them (ONFI 4.2, table 5-1) and free codes of ours elsewhere. Addresses
//! are relative to the chip, whose selection is a wire of its own: a row address is the dense
//! number of the page in the chip, least significant byte first. The multi-wordline sense has
//! Flash-Cosmos Figure 15's slots: opcode, ISCM, then block, string and page bitmap (PBM) for each
//! block, with CONT between the blocks and CONF at the end.

use super::super::geometry::{BlockId, DieId, Geometry, PLANES_PER_DIE_MAX, PageAddress};
use super::super::mode::ProgramMode;
use super::{
    BlockSet, Command, Feature, Iscm, Mws, MwsPlane, MwsSlot, PageSet, PlaneMask, WordlineBitmap,
};
use arrayvec::ArrayVec;

/// One cycle of the bus in a command or address phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusCycle {
    /// A command latch cycle.
    Command(u8),
    /// An address latch cycle; also the ISCM slot and the parameters of a feature.
    Address(u8),
}

/// Cycles that are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// The cycles end within a command.
    #[error("the cycles end after {at}, within a command")]
    Truncated {
        /// How many cycles there are.
        at: usize,
    },
    /// A cycle that cannot stand where it does.
    #[error("cycle {at} is {found:?}, which no command has there")]
    Unexpected {
        /// Which cycle.
        at: usize,
        /// What it is.
        found: BusCycle,
    },
    /// A field whose value no command can have.
    #[error("the {field} that ends before cycle {at} has no legal value")]
    BadField {
        /// The cycle after the field.
        at: usize,
        /// Which field.
        field: &'static str,
    },
}

mod opcode {
    //! Command cycles. Those of ONFI 4.2 carry its names.
    pub(super) const READ: u8 = 0x00;
    pub(super) const READ_CONFIRM: u8 = 0x30;
    pub(super) const READ_CACHE: u8 = 0x31;
    pub(super) const READ_MULTI_PLANE: u8 = 0x32;
    pub(super) const READ_INVERSE: u8 = 0x33;
    pub(super) const READ_COPYBACK: u8 = 0x35;
    pub(super) const READ_CACHE_END: u8 = 0x3F;
    pub(super) const PROGRAM: u8 = 0x80;
    pub(super) const PROGRAM_CONFIRM: u8 = 0x10;
    pub(super) const PROGRAM_MULTI_PLANE: u8 = 0x11;
    pub(super) const COPYBACK_PROGRAM: u8 = 0x85;
    pub(super) const ERASE: u8 = 0x60;
    pub(super) const ERASE_CONFIRM: u8 = 0xD0;
    pub(super) const ERASE_MULTI_PLANE: u8 = 0xD1;
    pub(super) const SET_FEATURE: u8 = 0xEF;
    pub(super) const READ_STATUS: u8 = 0x70;
    pub(super) const RESET: u8 = 0xFF;
    // Vendor-specific codes of ours.
    pub(super) const SUSPEND: u8 = 0x61;
    pub(super) const RESUME: u8 = 0xD2;
    pub(super) const MWS: u8 = 0xC0;
    pub(super) const CONT: u8 = 0xC1;
    pub(super) const NEXT_PLANE: u8 = 0xC2;
    pub(super) const CONF: u8 = 0xC3;
    pub(super) const XOR: u8 = 0xC4;
    pub(super) const LATCH_TRANSFER: u8 = 0xC5;
    /// Prefix of a program: plus the mode's code.
    pub(super) const MODE: u8 = 0xA0;
}

/// Bytes needed for numbers below `count`.
const fn bytes_for(count: u64) -> usize {
    let bits = (u64::BITS - (count - 1).leading_zeros()) as usize;
    if bits == 0 { 1 } else { bits.div_ceil(8) }
}

/// How many cycles the parts of an address take in a geometry.
#[derive(Clone, Copy)]
struct Widths {
    column: usize,
    row: usize,
    block: usize,
    bitmap: usize,
}

impl Widths {
    fn of(geometry: &Geometry) -> Widths {
        let blocks = u64::from(geometry.dies_per_chip) * u64::from(geometry.blocks_per_die());
        Widths {
            column: bytes_for(u64::from(geometry.page_bytes + geometry.spare_bytes)),
            row: bytes_for(blocks * u64::from(geometry.pages_per_block_max())),
            block: bytes_for(blocks),
            bitmap: geometry.cells_per_string.div_ceil(8) as usize,
        }
    }

    /// A block address, a string and a page bitmap.
    fn slot(&self) -> usize {
        self.block + 1 + self.bitmap
    }
}

/// Parameter bytes of a feature (ONFI's P1 to P4).
const FEATURE_BYTES: usize = 4;

impl Command {
    /// How many cycles [`Command::encode`] writes.
    pub fn cycle_count(&self, geometry: &Geometry) -> usize {
        let widths = Widths::of(geometry);
        let page = widths.column + widths.row;
        match self {
            Command::Read { pages, .. }
            | Command::CacheRead { pages }
            | Command::CopybackRead { pages } => pages.len() * (2 + page),
            Command::Program { pages, .. } | Command::CopybackProgram { pages, .. } => {
                1 + pages.len() * (2 + page)
            }
            Command::Erase { blocks } => blocks.len() * (2 + widths.block),
            Command::Mws(mws) => {
                let slots: usize = mws.planes.iter().map(|plane| plane.slots.len()).sum();
                2 + slots * (widths.slot() + 1)
            }
            Command::CacheReadEnd { .. } | Command::Xor { .. } | Command::LatchTransfer { .. } => 2,
            Command::SetFeature { .. } => 2 + FEATURE_BYTES,
            Command::Suspend | Command::Resume | Command::Reset | Command::ReadStatus => 1,
        }
    }

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
            Command::Erase { blocks } => encoder.erases(blocks),
            Command::Mws(mws) => encoder.mws(mws),
            Command::CacheReadEnd { planes } => encoder.masked(opcode::READ_CACHE_END, *planes),
            Command::Xor { planes } => encoder.masked(opcode::XOR, *planes),
            Command::LatchTransfer { planes } => encoder.masked(opcode::LATCH_TRANSFER, *planes),
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

    /// The command for `die` that these cycles are, all of them.
    ///
    /// # Errors
    /// [`CycleError`] when they are none.
    pub fn decode(
        cycles: &[BusCycle],
        geometry: &Geometry,
        die: DieId,
    ) -> Result<Command, CycleError> {
        let mut decoder = Decoder {
            widths: Widths::of(geometry),
            pages_per_block: geometry.pages_per_block_max(),
            first_block: geometry.first_block_of_chip(die),
            cycles,
            at: 0,
        };
        let command = decoder.whole()?;
        match cycles.get(decoder.at) {
            None => Ok(command),
            Some(&found) => Err(CycleError::Unexpected {
                at: decoder.at,
                found,
            }),
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
        self.address(u64::from(mws.iscm.to_byte()), 1);
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

struct Decoder<'a> {
    widths: Widths,
    pages_per_block: u32,
    first_block: u32,
    cycles: &'a [BusCycle],
    at: usize,
}

impl Decoder<'_> {
    fn next(&mut self) -> Result<BusCycle, CycleError> {
        let cycle = self.cycles.get(self.at).copied();
        self.at += 1;
        cycle.ok_or(CycleError::Truncated {
            at: self.cycles.len(),
        })
    }

    fn unexpected<T>(&self) -> Result<T, CycleError> {
        let at = self.at - 1;
        let found = self.cycles[at];
        Err(CycleError::Unexpected { at, found })
    }

    fn command(&mut self) -> Result<u8, CycleError> {
        match self.next()? {
            BusCycle::Command(code) => Ok(code),
            BusCycle::Address(_) => self.unexpected(),
        }
    }

    fn byte(&mut self) -> Result<u8, CycleError> {
        match self.next()? {
            BusCycle::Address(byte) => Ok(byte),
            BusCycle::Command(_) => self.unexpected(),
        }
    }

    fn address(&mut self, bytes: usize) -> Result<u64, CycleError> {
        (0..bytes).try_fold(0, |value, index| {
            Ok(value | u64::from(self.byte()?) << (8 * index))
        })
    }

    fn bad<T>(&self, field: &'static str) -> Result<T, CycleError> {
        Err(CycleError::BadField { at: self.at, field })
    }

    fn block(&mut self) -> Result<BlockId, CycleError> {
        let block = self.address(self.widths.block)?;
        self.global(block)
    }

    /// The global number of a block of this chip.
    fn global(&self, block: u64) -> Result<BlockId, CycleError> {
        match u64::from(self.first_block) + block {
            block if block <= u64::from(u32::MAX) => Ok(BlockId(block as u32)),
            _ => self.bad("block address"),
        }
    }

    fn page(&mut self) -> Result<PageAddress, CycleError> {
        if self.address(self.widths.column)? != 0 {
            return self.bad("column address");
        }
        let row = self.address(self.widths.row)?;
        let pages = u64::from(self.pages_per_block);
        Ok(PageAddress {
            block: self.global(row / pages)?,
            page: (row % pages) as u32,
        })
    }

    fn whole(&mut self) -> Result<Command, CycleError> {
        match self.command()? {
            opcode::READ => self.reads(),
            opcode::ERASE => self.erases(),
            opcode::MWS => self.mws(),
            opcode::READ_CACHE_END => Ok(Command::CacheReadEnd {
                planes: PlaneMask(self.byte()?),
            }),
            opcode::XOR => Ok(Command::Xor {
                planes: PlaneMask(self.byte()?),
            }),
            opcode::LATCH_TRANSFER => Ok(Command::LatchTransfer {
                planes: PlaneMask(self.byte()?),
            }),
            opcode::SET_FEATURE => self.feature(),
            opcode::SUSPEND => Ok(Command::Suspend),
            opcode::RESUME => Ok(Command::Resume),
            opcode::RESET => Ok(Command::Reset),
            opcode::READ_STATUS => Ok(Command::ReadStatus),
            code => match ProgramMode::from_code(code.wrapping_sub(opcode::MODE)) {
                Some(mode) => self.programs(mode),
                None => self.unexpected(),
            },
        }
    }

    /// Pages of which the first's `start` was read; the code that ends the last of them.
    fn pages(&mut self, start: u8, between: u8) -> Result<(PageSet, u8), CycleError> {
        let mut pages = PageSet::new();
        loop {
            let page = self.page()?;
            if pages.try_push(page).is_err() {
                return self.bad("plane list");
            }
            let code = self.command()?;
            if code != between {
                return Ok((pages, code));
            }
            if self.command()? != start {
                return self.unexpected();
            }
        }
    }

    fn reads(&mut self) -> Result<Command, CycleError> {
        let (pages, code) = self.pages(opcode::READ, opcode::READ_MULTI_PLANE)?;
        match code {
            opcode::READ_CONFIRM => Ok(Command::Read {
                pages,
                inverse: false,
            }),
            opcode::READ_INVERSE => Ok(Command::Read {
                pages,
                inverse: true,
            }),
            opcode::READ_CACHE => Ok(Command::CacheRead { pages }),
            opcode::READ_COPYBACK => Ok(Command::CopybackRead { pages }),
            _ => self.unexpected(),
        }
    }

    fn programs(&mut self, mode: ProgramMode) -> Result<Command, CycleError> {
        let start = self.command()?;
        if start != opcode::PROGRAM && start != opcode::COPYBACK_PROGRAM {
            return self.unexpected();
        }
        let (pages, code) = self.pages(start, opcode::PROGRAM_MULTI_PLANE)?;
        match (start, code) {
            (opcode::PROGRAM, opcode::PROGRAM_CONFIRM) => Ok(Command::Program { pages, mode }),
            (_, opcode::PROGRAM_CONFIRM) => Ok(Command::CopybackProgram { pages, mode }),
            _ => self.unexpected(),
        }
    }

    fn erases(&mut self) -> Result<Command, CycleError> {
        let mut blocks = BlockSet::new();
        loop {
            let block = self.block()?;
            if blocks.try_push(block).is_err() {
                return self.bad("plane list");
            }
            match self.command()? {
                opcode::ERASE_CONFIRM => return Ok(Command::Erase { blocks }),
                opcode::ERASE_MULTI_PLANE if self.command()? == opcode::ERASE => {}
                _ => return self.unexpected(),
            }
        }
    }

    fn mws(&mut self) -> Result<Command, CycleError> {
        let Some(iscm) = Iscm::from_byte(self.byte()?) else {
            return self.bad("ISCM slot");
        };
        let mut planes = ArrayVec::<MwsPlane, PLANES_PER_DIE_MAX>::new();
        let mut plane = MwsPlane::default();
        loop {
            let slot = self.slot()?;
            if plane.slots.try_push(slot).is_err() {
                return self.bad("block list");
            }
            let code = self.command()?;
            if code == opcode::CONT {
                continue;
            }
            if planes.try_push(std::mem::take(&mut plane)).is_err() {
                return self.bad("plane list");
            }
            match code {
                opcode::NEXT_PLANE => {}
                opcode::CONF => return Ok(Command::mws(iscm, planes)),
                _ => return self.unexpected(),
            }
        }
    }

    fn slot(&mut self) -> Result<MwsSlot, CycleError> {
        let block = self.block()?;
        let string = u32::from(self.byte()?);
        let mut wordlines = WordlineBitmap::EMPTY;
        for byte in 0..self.widths.bitmap as u32 {
            let bits = self.byte()?;
            for bit in (0..8).filter(|bit| bits & 1 << bit != 0) {
                wordlines.insert(byte * 8 + bit);
            }
        }
        Ok(MwsSlot {
            block,
            string,
            wordlines,
        })
    }

    fn feature(&mut self) -> Result<Command, CycleError> {
        let feature = match self.byte()? {
            code if code == Feature::EspEffort as u8 => Feature::EspEffort,
            _ => return self.bad("feature"),
        };
        let value = self.address(FEATURE_BYTES)? as u32;
        Ok(Command::SetFeature { feature, value })
    }
}
