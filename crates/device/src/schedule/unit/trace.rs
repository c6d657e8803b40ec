//! What a trace tells of a unit: the array's part of its commands on the tracks of dies, their cycles
//! and data on those of channels. Nothing here is done but while a trace is recorded.

use media::nand::{Command, DieId, Mws, PageAddress, PlaneId, PlaneMask, ProgramMode};
use sim::{Args, Key, Requester, Span, Time};

use super::Unit;
use crate::schedule::operation::PageProgram;
use crate::schedule::queue::Set;

static DIE: Key = Key::one("die");
static PLANES: Key = Key::many("planes");
static BLOCKS: Key = Key::many("blocks");
static PAGE: Key = Key::one("page");
static WORDLINE: Key = Key::one("wordline");
static STRING: Key = Key::one("string");
static STRINGS: Key = Key::many("strings");
static MODE: Key = Key::one("mode");
static LOGICAL_PAGES: Key = Key::many("logical_pages");
static BYTES: Key = Key::one("bytes");
static SENSES: Key = Key::one("senses");
static WORDLINES_AT_ONCE: Key = Key::one("wordlines_at_once");
static BLOCKS_AT_ONCE: Key = Key::one("blocks_at_once");
static RAISE: Key = Key::one("raise");
static VALUE: Key = Key::one("value");
static PURPOSE: Key = Key::one("for");

/// What data on a channel is moved for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// A page is read.
    Read,
    /// Pages are programmed.
    Program,
    /// What a computation leaves in the latches comes out.
    Result,
    /// Latches are needed by others.
    Save,
    /// They are to hold again what they held.
    Restore,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::Read => "read",
            Purpose::Program => "program",
            Purpose::Result => "result of a computation",
            Purpose::Save => "saving latches",
            Purpose::Restore => "restoring latches",
        }
    }
}

/// A data phase of one plane.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) requester: Requester,
    pub(super) purpose: Purpose,
    pub(super) plane: PlaneId,
    /// Before the data.
    pub(super) setup: Span,
    pub(super) bytes: u64,
}

impl Unit {
    /// The array's part of a command, which began at `begin` and is over.
    #[inline]
    pub(super) fn trace_array(
        &self,
        die: DieId,
        command: &Command,
        begin: Time,
        requesters: &[Requester],
    ) {
        if self.sim.trace().enabled() {
            self.record_array(die, command, begin, requesters);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_array(&self, die: DieId, command: &Command, begin: Time, requesters: &[Requester]) {
        let track = self.tracks[(die.0 - self.first_die.0) as usize];
        let (trace, now) = (self.sim.trace(), self.sim.now());
        trace.slice_with(track, command.name(), begin, now, |args| {
            self.tell(command, args);
            args.requesters(requesters.iter().copied());
        });
    }

    /// The cycles of a command, which end at `end`.
    #[inline]
    pub(super) fn trace_cycles(
        &self,
        die: DieId,
        command: &Command,
        end: Time,
        span: Span,
        requesters: &[Requester],
    ) {
        if self.sim.trace().enabled() {
            self.record_cycles(die, command, end, span, requesters);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_cycles(
        &self,
        die: DieId,
        command: &Command,
        end: Time,
        span: Span,
        requesters: &[Requester],
    ) {
        self.channel.trace(command.name(), end, span, |args| {
            let mut cycles = Vec::new();
            command.encode(&self.schedule.geometry, die, &mut cycles);
            args.number(&DIE, die.0)
                .number(&BYTES, cycles.len() as u64)
                .word(&PURPOSE, "command")
                .requesters(requesters.iter().copied());
        });
    }

    /// A data phase that has just ended.
    #[inline]
    pub(super) fn trace_data(&self, moved: &Moved) {
        if self.sim.trace().enabled() {
            self.record_data(moved);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_data(&self, moved: &Moved) {
        let geometry = &self.schedule.geometry;
        let span = moved.setup + self.channel.span_of(moved.bytes);
        self.channel.trace("data", self.sim.now(), span, |args| {
            args.number(&DIE, geometry.die_of_plane(moved.plane).0)
                .numbers(&PLANES, [geometry.plane_in_die(moved.plane)])
                .number(&BYTES, moved.bytes)
                .word(&PURPOSE, moved.purpose.name())
                .requesters([moved.requester].into_iter());
        });
    }

    /// A program's cycles and then its pages, which the die has at `sent`, in so much time each.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_program(
        &self,
        set: &Set<PageProgram>,
        command: &Command,
        sent: Time,
        (cycles, data): (Span, Span),
        bytes: u64,
    ) {
        let geometry = &self.schedule.geometry;
        let programs = set.iter().map(|waiting| &waiting.operation);
        let requesters = super::requesters_of(set, |program| program.origin);
        let die = geometry.die_of_block(set[0].operation.page.block);
        let commanded = Time::from_ps(sent.as_ps() - data.as_ps());
        self.trace_cycles(die, command, commanded, cycles, &requesters);
        let planes = programs.map(|program| geometry.plane_of_block(program.page.block));
        self.channel.trace("data", sent, data, |args| {
            args.number(&DIE, die.0)
                .numbers(&PLANES, planes.map(|plane| geometry.plane_in_die(plane)))
                .number(&BYTES, bytes)
                .word(&PURPOSE, Purpose::Program.name())
                .requesters(requesters.iter().copied());
        });
    }

    /// What a command does to the array.
    fn tell(&self, command: &Command, args: &mut Args) {
        match command {
            Command::Read { pages, .. }
            | Command::CacheRead { pages }
            | Command::Raise { pages }
            | Command::CopybackRead { pages } => self.tell_pages(pages, None, args),
            Command::Program { pages, mode }
            | Command::ProgramComplement { pages, mode }
            | Command::CopybackProgram { pages, mode } => {
                self.tell_pages(pages, Some(*mode), args);
            }
            Command::Erase { blocks } => {
                self.tell_planes(blocks.iter().map(|block| block.0), args);
            }
            Command::Mws(mws) => self.tell_sense(mws, args),
            Command::Xor { planes }
            | Command::LatchTransfer { planes }
            | Command::LatchLoad { planes }
            | Command::CacheReadEnd { planes } => {
                args.numbers(&PLANES, numbers(*planes));
            }
            Command::SetFeature { value, .. } => {
                args.number(&VALUE, *value);
            }
            Command::Suspend | Command::Resume | Command::Reset | Command::ReadStatus => {}
        }
    }

    /// Planes, counted in their die, and blocks, counted in the drive.
    fn tell_planes(&self, blocks: impl Iterator<Item = u32> + Clone, args: &mut Args) {
        let geometry = &self.schedule.geometry;
        let plane = |block| geometry.plane_in_die(geometry.plane_of_block(block));
        let planes = blocks.clone().map(media::nand::BlockId).map(plane);
        args.numbers(&PLANES, planes).numbers(&BLOCKS, blocks);
    }

    /// Pages of one number, one a plane; read in the mode that their block has.
    fn tell_pages(&self, pages: &[PageAddress], mode: Option<ProgramMode>, args: &mut Args) {
        let Some(first) = pages.first() else { return };
        let (geometry, nand) = (&self.schedule.geometry, self.schedule.nand.borrow());
        self.tell_planes(pages.iter().map(|page| page.block.0), args);
        args.number(&PAGE, first.page);
        if let Some(mode) = mode.or_else(|| nand.block_state(first.block).mode) {
            let wordline = geometry.wordline(mode, first.page);
            args.number(&WORDLINE, wordline.layer)
                .number(&STRING, wordline.string)
                .word(&MODE, mode_name(mode));
        }
        args.number(&BYTES, pages.len() as u64 * u64::from(geometry.page_bytes));
        if let Some(logical_page) = self.schedule.logical_page.get() {
            let spare = pages
                .iter()
                .filter_map(|page| nand.spare(geometry.ppa(*page)));
            args.numbers(&LOGICAL_PAGES, spare.filter_map(logical_page));
        }
    }

    fn tell_sense(&self, mws: &Mws, args: &mut Args) {
        let slots = mws.planes.iter().flat_map(|plane| &plane.slots);
        let planes = mws.planes.iter().filter_map(|plane| plane.slots.first());
        let geometry = &self.schedule.geometry;
        let planes = planes.map(|slot| geometry.plane_of_block(slot.block));
        args.numbers(&PLANES, planes.map(|plane| geometry.plane_in_die(plane)))
            .numbers(&BLOCKS, slots.clone().map(|slot| slot.block.0))
            .numbers(&STRINGS, slots.clone().map(|slot| slot.string))
            .number(&SENSES, mws.planes.len() as u64);
        // All planes sense alike.
        if let Some(plane) = mws.planes.first() {
            let wordlines = plane.slots.iter().map(|slot| slot.wordlines.count());
            args.number(&WORDLINES_AT_ONCE, wordlines.sum::<u32>())
                .number(&BLOCKS_AT_ONCE, plane.slots.len() as u64);
        }
        if mws.raise > 0 {
            args.number(&RAISE, mws.raise);
        }
        let nand = self.schedule.nand.borrow();
        let mode = slots.clone().next();
        if let Some(mode) = mode.and_then(|slot| nand.block_state(slot.block).mode) {
            args.word(&MODE, mode_name(mode));
        }
    }
}

fn numbers(planes: PlaneMask) -> impl Iterator<Item = u32> {
    (0..u8::BITS).filter(move |plane| planes.0 & 1 << plane != 0)
}

fn mode_name(mode: ProgramMode) -> &'static str {
    match mode {
        ProgramMode::Slc => "SLC",
        ProgramMode::Esp => "ESP",
        ProgramMode::Mlc => "MLC",
        ProgramMode::Tlc => "TLC",
        ProgramMode::Qlc => "QLC",
    }
}
