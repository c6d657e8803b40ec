//! Commands read from bus cycles.

use super::super::geometry::{BlockId, DieId, Geometry, PLANES_PER_DIE_MAX, PageAddress};
use super::super::mode::ProgramMode;
use super::cycles::{BusCycle, CycleError, FEATURE_BYTES, Widths};
use super::{
    BlockSet, Command, Feature, Iscm, MwsPlane, MwsSlot, PageSet, PlaneMask, WordlineBitmap, opcode,
};
use arrayvec::ArrayVec;

impl Command {
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
            opcode::RAISE => self.raises(),
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
            opcode::LATCH_LOAD => Ok(Command::LatchLoad {
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
        let command: fn(PageSet, ProgramMode) -> Command = match start {
            opcode::PROGRAM => |pages, mode| Command::Program { pages, mode },
            opcode::COPYBACK_PROGRAM => |pages, mode| Command::CopybackProgram { pages, mode },
            opcode::PROGRAM_COMPLEMENT => |pages, mode| Command::ProgramComplement { pages, mode },
            _ => return self.unexpected(),
        };
        match self.pages(start, opcode::PROGRAM_MULTI_PLANE)? {
            (pages, opcode::PROGRAM_CONFIRM) => Ok(command(pages, mode)),
            _ => self.unexpected(),
        }
    }

    fn raises(&mut self) -> Result<Command, CycleError> {
        match self.pages(opcode::RAISE, opcode::PROGRAM_MULTI_PLANE)? {
            (pages, opcode::PROGRAM_CONFIRM) => Ok(Command::Raise { pages }),
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
        let flags = self.byte()?;
        let Some(iscm) = Iscm::from_byte(flags & 0xF) else {
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
                opcode::CONF => return Ok(Command::mws(iscm, planes).raised(flags >> 4)),
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
            code if code == Feature::ReadReference as u8 => Feature::ReadReference,
            _ => return self.bad("feature"),
        };
        let value = self.address(FEATURE_BYTES)? as u32;
        Ok(Command::SetFeature { feature, value })
    }
}
