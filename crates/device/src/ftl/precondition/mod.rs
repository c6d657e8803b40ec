//! Preconditioning by direct construction: the state that earlier writes would have
//! left is set up at once, on the media and in the tables, without simulating them.

mod append;
mod gathered;
mod steady;

use std::ops::ControlFlow;

use arrayvec::ArrayVec;
use media::nand::{BlockId, NandError, PageAddress, PlaneId};
use serde::{Deserialize, Serialize};
use sim::Random;

use super::config::Frontiers;
use super::gc::GC_RESERVE_BLOCKS;
use super::lpn::Lpn;
use super::spare::{Content, RECORD_BYTES_MAX, Record, data_record_bytes, encode_units};
use super::{Ftl, MappingUnit, UNITS_PER_PAGE_MAX, UnitAddress};
use gathered::{GatheredEntries, PLACES};
use steady::Until;

/// What earlier writes are to have left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Precondition {
    /// Share of the logical pages for data that hold some, 0 to 1.
    pub occupied: f64,
    /// These are drawn from the first part of the logical pages, of this share: at least
    /// `occupied`, at most 1.
    pub working_set: f64,
    /// What was done after they were written once.
    pub history: History,
}

/// How the pages that hold data came to where they are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
#[non_exhaustive]
pub enum History {
    /// They were written once, one after the other.
    Sequential,
    /// Then they were overwritten at random, on average `overwrites` times each: until
    /// collection has to begin, blocks lose pages the more, the older they are; from then on
    /// the drive is in its steady state.
    Random {
        /// Overwrites of each page on average.
        overwrites: f64,
    },
    /// They were overwritten at random for ever: the number of needed pages over the blocks of
    /// a plane is that of the collection policy's mean field (Van Houdt, SIGMETRICS 2013),
    /// and as many blocks are free as collection keeps.
    SteadyState,
    /// The same as MQSim sets it up: its mean field is not quite settled, moved to the right
    /// average, and as many blocks of each kind made as its rounding leaves; the others
    /// are free.
    Mqsim,
}

impl Default for Precondition {
    fn default() -> Precondition {
        Precondition {
            occupied: 1.0,
            working_set: 1.0,
            history: History::Sequential,
        }
    }
}

/// A drive that cannot be preconditioned as asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PreconditionError {
    /// A share or a number that makes no sense.
    #[error("{key} = {value} cannot be; it must be {allowed}")]
    Range {
        /// The field.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The drive was written before.
    #[error("only a drive that was never written can be preconditioned")]
    Used,
    /// A logical page that the drive has not.
    #[error("there is no logical page {0}; the drive has {1}")]
    Page(u32, u32),
    /// The planes have too few good blocks.
    #[error("plane {0} has too few good blocks for its share of the data")]
    Space(u32),
    /// The media refused.
    #[error(transparent)]
    Media(#[from] NandError),
}

/// What was set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Preconditioned {
    /// Logical pages that hold data.
    pub mapped_pages: u64,
    /// Flash pages programmed, those that are not needed any more included.
    pub flash_pages: u64,
    /// Blocks in use.
    pub blocks: u64,
}

/// The spare bytes of a page of data.
type RecordBytes = ArrayVec<u8, RECORD_BYTES_MAX>;

/// What setting up has come to.
struct Work {
    gathered: GatheredEntries,
    done: Preconditioned,
}

/// Version of what was replaced, and the first sequence; what replaced it has later ones.
const OLD: u64 = 1;

impl Precondition {
    /// All logical pages for data hold some, after this history.
    pub fn new(history: History) -> Precondition {
        Precondition {
            history,
            ..Precondition::default()
        }
    }

    /// Only this share of the logical pages for data holds some, 0 to 1.
    #[must_use]
    pub fn occupying(mut self, share: f64) -> Precondition {
        self.occupied = share;
        self
    }

    /// These are drawn from the first part of the logical pages, of this share.
    #[must_use]
    pub fn within(mut self, share: f64) -> Precondition {
        self.working_set = share;
        self
    }

    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), PreconditionError> {
        let range = |key, value: f64, valid: bool, allowed| {
            if valid {
                return Ok(());
            }
            Err(PreconditionError::Range {
                key,
                value,
                allowed,
            })
        };
        let share = |value| (0.0..=1.0).contains(&value);
        range("occupied", self.occupied, share(self.occupied), "0 to 1")?;
        let wide = share(self.working_set) && self.working_set >= self.occupied;
        range(
            "working_set",
            self.working_set,
            wide,
            "at least occupied and at most 1",
        )?;
        if let History::Random { overwrites } = self.history {
            let finite = (0.0..=1e6).contains(&overwrites);
            range("overwrites", overwrites, finite, "0 to 1000000")?;
        }
        Ok(())
    }
}

impl Ftl {
    /// Sets up what `plan` describes, on a blank drive. Takes no simulated time. A power cut
    /// right after it recovers all of it. Pages read as zeroes. After each plane `observe` is told
    /// the share of planes that are set up; if it breaks off, the others stay blank.
    ///
    /// # Errors
    /// A plan that makes no sense, a drive that was written before, or media that cannot be written.
    pub fn precondition(
        &self,
        plan: &Precondition,
        random: &mut Random,
        observe: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Preconditioned, PreconditionError> {
        plan.validate()?;
        let pages_of = |place, random: &mut Random| self.pages_of(plan, place, random);
        self.set_up(plan, random, pages_of, observe)
    }

    /// Sets up a drive on which `pages` hold data, with this history. Of each page, a bit for each of
    /// its first 64 sectors of 512 bytes says whether it was written; that counts if the firmware
    /// knows of sectors ([`super::PartialPages`]). Otherwise as [`Ftl::precondition`].
    ///
    /// # Errors
    /// A history that makes no sense, pages that the drive has not, or as [`Ftl::precondition`].
    pub fn occupy(
        &self,
        pages: &[(Lpn, u64)],
        history: History,
        random: &mut Random,
    ) -> Result<Preconditioned, PreconditionError> {
        let plan = Precondition {
            history,
            ..Precondition::default()
        };
        plan.validate()?;
        let mut by_place = vec![Vec::new(); self.plane_order.len()];
        for (lpn, sectors) in pages {
            if lpn.0 >= self.logical_pages() {
                return Err(PreconditionError::Page(lpn.0, self.logical_pages()));
            }
            by_place[self.unit.page_number(lpn.0) as usize % self.plane_order.len()].push(lpn.0);
            self.written.borrow_mut().set(*lpn, *sectors);
        }
        let pages_of = |place: u32, _: &mut Random| std::mem::take(&mut by_place[place as usize]);
        self.set_up(&plan, random, pages_of, |_| ControlFlow::Continue(()))
    }

    /// Sets up all planes; `pages_of` says which pages each has, `observe` whether to go on.
    fn set_up(
        &self,
        plan: &Precondition,
        random: &mut Random,
        mut pages_of: impl FnMut(u32, &mut Random) -> Vec<u32>,
        mut observe: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Preconditioned, PreconditionError> {
        if self.next_version.get() != 1 {
            return Err(PreconditionError::Used);
        }
        let places = self.plane_order.len() as u32;
        let mut field = None;
        let mut work = Work {
            gathered: GatheredEntries::new(places, self.unit, self.logical_pages()),
            done: Preconditioned::default(),
        };
        for place in 0..places {
            let pages = pages_of(place, random);
            let plane = self.plane_order[place as usize];
            self.precondition_plane(plan, plane, pages, random, &mut field, &mut work)?;
            let ready = place + 1;
            let stopped = observe(f64::from(ready) / f64::from(places)).is_break();
            if ready % PLACES == 0 || ready == places || stopped {
                work.gathered.write(&mut self.mapping.borrow_mut());
            }
            if stopped {
                break;
            }
        }
        let done = work.done;
        let versions = OLD + 1 + done.flash_pages;
        self.next_version.set(versions);
        self.next_sequence.set(versions);
        for plane in (0..self.geometry.planes()).map(PlaneId) {
            self.collect(plane);
        }
        Ok(done)
    }

    /// Fills a plane with these of the logical pages whose turn it is.
    fn precondition_plane(
        &self,
        plan: &Precondition,
        plane: PlaneId,
        pages: Vec<u32>,
        random: &mut Random,
        field: &mut Option<Vec<f64>>,
        work: &mut Work,
    ) -> Result<(), PreconditionError> {
        let counts = self.needed_pages(plan, plane, pages.len(), field);
        let erases = self.erases(plan, plane, &counts, pages.len());
        let mut pages = pages;
        if plan.history == History::Mqsim {
            // The fullest blocks have the last pages.
            pages.sort_unstable();
        }
        let mut pages = pages.into_iter();
        for valid in counts {
            let block = self.blocks.borrow_mut().take_for_data(plane);
            let block = block.ok_or(PreconditionError::Space(plane.0))?;
            let erases = erases + u32::from(random.chance(0.5) && erases > 0);
            let whole = matches!(plan.history, History::Sequential);
            let written = if whole { valid } else { self.units_per_block() };
            self.place_block(block, erases, (valid, written), &mut pages, work)?;
        }
        self.age_free(plane, erases)?;
        debug_assert!(pages.next().is_none(), "every page has a place");
        Ok(())
    }

    /// Gives the free blocks of a plane the age of the others.
    fn age_free(&self, plane: PlaneId, erases: u32) -> Result<(), PreconditionError> {
        if erases == 0 {
            return Ok(());
        }
        let mut blocks = self.blocks.borrow_mut();
        let mode = self.config.mode;
        for block in blocks.take_all_free(plane) {
            self.schedule.place_pages(block, erases, mode, [[]; 0])?;
            blocks.add_free(block, erases);
        }
        Ok(())
    }

    /// The logical pages of a plane that hold data, in the order in which they were written.
    fn pages_of(&self, plan: &Precondition, place: u32, random: &mut Random) -> Vec<u32> {
        let data_pages = self.data_pages();
        let share = |share: f64| (f64::from(data_pages) * share).round() as u32;
        let (occupied, working_set) = (share(plan.occupied), share(plan.working_set));
        let (stride, unit) = (self.plane_order.len() as u32, self.unit);
        // Of the last flash page's worth there may be only a part.
        let count = |pages: u32| {
            let (whole, rest) = (unit.page_number(pages), unit.slot(UnitAddress(pages)));
            let of_place = whole.saturating_sub(place).div_ceil(stride) * unit.per_page();
            let last = if whole % stride == place { rest } else { 0 };
            (of_place + last) as usize
        };
        let worth = |page: u32| {
            let first = page * unit.per_page();
            first..(first + unit.per_page()).min(working_set)
        };
        let rows = (place..unit.pages_of(working_set)).step_by(stride as usize);
        let mut pages: Vec<u32> = rows.flat_map(worth).collect();
        debug_assert_eq!(pages.len(), count(working_set));
        let shuffled = !matches!(plan.history, History::Sequential);
        let drawn = count(occupied).min(pages.len());
        if shuffled || occupied < working_set {
            for first in 0..drawn {
                let other = first + random.below((pages.len() - first) as u64) as usize;
                pages.swap(first, other);
            }
        }
        pages.truncate(drawn);
        if !shuffled {
            pages.sort_unstable();
        }
        pages
    }

    /// Units of a block.
    fn units_per_block(&self) -> u32 {
        self.geometry.pages_per_block(self.config.mode) * self.unit.per_page()
    }

    /// Needed units of each block of a plane that is in use, from the oldest on. The mean field
    /// is computed once: planes differ by a page at most.
    fn needed_pages(
        &self,
        plan: &Precondition,
        plane: PlaneId,
        pages: usize,
        field: &mut Option<Vec<f64>>,
    ) -> Vec<u32> {
        let per_block = self.units_per_block();
        let gc = &self.config.gc;
        let usable = self.blocks.borrow().free_blocks(plane) as u32;
        // A block each is open for the host and for copies.
        let kept_free = gc.threshold_blocks + 1 + self.config.slc_cache.blocks_per_plane;
        let settled = usable.saturating_sub(kept_free);
        let mut steady = || {
            let field = field.get_or_insert_with(|| {
                let rho = pages as f64 / (f64::from(settled.max(1)) * f64::from(per_block));
                steady::mean_field(per_block, rho, self.choices(), Until::Settled)
            });
            steady::by_quantiles(field, settled, pages, per_block)
        };
        match plan.history {
            History::Sequential => steady::full_blocks(pages, per_block),
            History::SteadyState => steady(),
            History::Random { overwrites } => {
                let written = pages as f64 * (1.0 + overwrites);
                if written > f64::from(settled) * f64::from(per_block) {
                    return steady();
                }
                steady::by_age(pages, written, per_block)
            }
            History::Mqsim => {
                let blocks = self.geometry.blocks_per_plane;
                let field = field.get_or_insert_with(|| {
                    let free = f64::from(gc.threshold_blocks) / f64::from(blocks);
                    let whole = f64::from(blocks) * f64::from(per_block);
                    let rho = pages as f64 / whole / (1.0 - free);
                    steady::mean_field(per_block, rho, self.choices(), Until::Mqsim)
                });
                // A small plane has less to give than MQSim would take.
                let open = match self.config.frontiers {
                    Frontiers::OnDemand => 2,
                    Frontiers::Ahead => 0,
                };
                let most = usable.saturating_sub(GC_RESERVE_BLOCKS + open);
                let goal = (blocks - gc.threshold_blocks / 2).min(most);
                steady::by_rounding(field, goal, pages, per_block)
            }
        }
    }

    /// The number of choices whose mean field is that of the collection policy.
    fn choices(&self) -> u32 {
        let gc = &self.config.gc;
        gc.policy.choices(gc, self.geometry.blocks_per_plane)
    }

    /// How often blocks were erased, for what was written.
    fn erases(&self, plan: &Precondition, plane: PlaneId, counts: &[u32], pages: usize) -> u32 {
        let History::Random { overwrites } = plan.history else {
            return 0;
        };
        let per_block = f64::from(self.units_per_block());
        let usable = self.blocks.borrow().free_blocks(plane) as f64;
        let written = pages as f64 * (1.0 + overwrites);
        if counts.len() as f64 * per_block >= written {
            return 0;
        }
        // In the steady state the emptiest blocks are collected: those are first.
        let copied = counts.first().copied().unwrap_or(0);
        let amplification = per_block / (per_block - f64::from(copied)).max(1.0);
        (written * amplification / (usable * per_block)) as u32
    }

    /// Programs `written` units of a block, of which `valid` are needed, evenly spread.
    fn place_block(
        &self,
        block: BlockId,
        erases: u32,
        (valid, written): (u32, u32),
        pages: &mut impl Iterator<Item = u32>,
        work: &mut Work,
    ) -> Result<(), PreconditionError> {
        // An old version of this page may be anywhere: it is beyond the last, so that recovery
        // passes over it.
        let beyond = Lpn(self.logical_pages());
        let Work { gathered, done } = work;
        let mut blocks = self.blocks.borrow_mut();
        let mut last = None;
        let mut sequence = OLD + 1 + done.flash_pages;
        let spread = |unit: u32| u64::from(unit) * u64::from(valid) / u64::from(written.max(1));
        let (unit, flash_pages) = (self.unit, self.unit.pages_of(written));
        let spares = (0..flash_pages).map(|page| {
            let ppa = self.geometry.ppa(PageAddress { block, page });
            let first = page * unit.per_page();
            let slots = (written - first).min(unit.per_page());
            let mut listed = ArrayVec::<_, { UNITS_PER_PAGE_MAX as usize }>::new();
            for slot in 0..slots {
                let needed = spread(first + slot + 1) > spread(first + slot);
                let lpn = if needed { pages.next() } else { None };
                listed.push(match lpn.map(Lpn) {
                    Some(lpn) => {
                        let at = unit.at(ppa, slot);
                        gathered.set(lpn, at);
                        blocks.validate_unit(at);
                        last = Some(lpn);
                        (slot, lpn, sequence)
                    }
                    // What was replaced: an older version of a page that is needed.
                    None => (slot, last.unwrap_or(beyond), OLD),
                });
            }
            sequence += 1;
            record_of(unit, &listed, sequence - 1)
        });
        let mode = self.config.mode;
        self.schedule.place_pages(block, erases, mode, spares)?;
        blocks.set_erases(block, erases);
        blocks.close(block);
        done.flash_pages += u64::from(flash_pages);
        done.mapped_pages += u64::from(valid);
        done.blocks += 1;
        Ok(())
    }
}

/// The spare bytes of a page with these units: the slot, logical page and version of each.
fn record_of(unit: MappingUnit, listed: &[(u32, Lpn, u64)], sequence: u64) -> RecordBytes {
    match *listed {
        // By far the most frequent drive.
        [(0, lpn, version)] if unit.is_page() => {
            let record = Record {
                content: Content::Data(lpn),
                version,
                sequence,
            };
            record.encode().iter().copied().collect()
        }
        _ => {
            let bytes = data_record_bytes(unit) as usize;
            let mut record: RecordBytes = std::iter::repeat_n(0, bytes).collect();
            encode_units(&mut record, listed.iter().copied(), sequence);
            record
        }
    }
}
