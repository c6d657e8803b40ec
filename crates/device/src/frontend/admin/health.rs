//! The drive's own health: what it has done in all its lives, and what went wrong.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use media::nand::cells::kelvin;
use media::nand::{BlockCondition, BlockId};
use nvme::log::{ErrorEntry, HealthLog, critical_warning};
use nvme::{AsyncEvent, Lba, NamespaceId, Status, SubmissionEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Time;

use crate::frontend::transport::Source;
use crate::frontend::{Controller, note};
use crate::journal::FactKey;

/// Entries of the error log.
pub(in crate::frontend) const ERROR_ENTRIES: u8 = 64;
const SECTOR_BYTES: u64 = 512;
/// A data unit of the health log is a thousand sectors.
const SECTORS_PER_UNIT: u64 = 1000;

/// What the drive's health is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthConfig {
    /// Composite temperature, in kelvin, until the drive grows older at another one.
    pub temperature_kelvin: u16,
    /// Temperature from which the drive warns, in kelvin.
    pub warning_temperature_kelvin: u16,
    /// Temperature from which it may fail, in kelvin.
    pub critical_temperature_kelvin: u16,
    /// Spare blocks below which it warns, in percent of what it had when new.
    pub spare_threshold_percent: u8,
    /// Erases of a block after which it is worn out.
    pub rated_erases: u32,
}

/// Counts over all lives, and the newest errors of this one.
pub(in crate::frontend) struct Health {
    powered_at: Time,
    reads: Cell<u64>,
    writes: Cell<u64>,
    /// Bytes that went to the host, and that came from it.
    bytes_read: Cell<u64>,
    bytes_written: Cell<u64>,
    power_cycles: Cell<u32>,
    unsafe_shutdowns: Cell<u32>,
    media_errors: Cell<u32>,
    errors: Cell<u32>,
    /// Seconds of earlier lives.
    powered_seconds: Cell<u64>,
    log: RefCell<VecDeque<ErrorEntry>>,
    /// Warnings that were told.
    warnings: Cell<u8>,
    /// Blocks retired when that was last looked at, and whether the rated erases were used up then.
    retired: Cell<u64>,
    worn_out: Cell<bool>,
}

fn add(cell: &Cell<u64>, amount: u64) {
    cell.set(cell.get() + amount);
}

impl Health {
    pub(in crate::frontend) fn new(powered_at: Time) -> Health {
        Health {
            powered_at,
            reads: Cell::new(0),
            writes: Cell::new(0),
            bytes_read: Cell::new(0),
            bytes_written: Cell::new(0),
            power_cycles: Cell::new(0),
            unsafe_shutdowns: Cell::new(0),
            media_errors: Cell::new(0),
            errors: Cell::new(0),
            powered_seconds: Cell::new(0),
            log: RefCell::default(),
            warnings: Cell::new(0),
            retired: Cell::new(0),
            worn_out: Cell::new(false),
        }
    }

    /// A command read so many bytes.
    #[inline]
    pub(in crate::frontend) fn read(&self, bytes: u64) {
        add(&self.reads, 1);
        add(&self.bytes_read, bytes);
    }

    /// So many bytes of a command were written.
    #[inline]
    pub(in crate::frontend) fn wrote(&self, bytes: u64) {
        add(&self.bytes_written, bytes);
    }

    /// A command has written all of its bytes, those of each page counted as it was written.
    #[inline]
    pub(in crate::frontend) fn write_over(&self) {
        add(&self.writes, 1);
    }

    fn power(&self, orderly: bool) -> u64 {
        u64::from(self.power_cycles.get()) << 32
            | u64::from(self.unsafe_shutdowns.get()) << 1
            | u64::from(orderly)
    }

    fn seconds(&self, now: Time) -> u64 {
        self.powered_seconds.get() + now.since(self.powered_at).as_seconds() as u64
    }

    /// What the host read and what it wrote, in sectors, one that was begun included.
    fn sectors(&self) -> [u64; 2] {
        [&self.bytes_read, &self.bytes_written].map(|bytes| bytes.get().div_ceil(SECTOR_BYTES))
    }

    /// The error log, newest first.
    pub(in crate::frontend) fn errors(&self) -> Vec<ErrorEntry> {
        self.log.borrow().iter().copied().collect()
    }
}

impl Controller {
    /// A command failed: the log gets an entry, and health is looked at again.
    #[cold]
    pub(in crate::frontend) fn log_error(
        self: &Rc<Controller>,
        source: Source,
        entry: &SubmissionEntry,
        status: Status,
    ) {
        let lba = match source.is_admin() {
            true => Lba::new(0),
            false => Lba::new(u64::from(entry.cdw11.get()) << 32 | u64::from(entry.cdw10.get())),
        };
        self.log_failure(source, entry.opcode, entry.namespace(), lba, status);
    }

    /// As [`Controller::log_error`], of a command whose entry is gone.
    #[cold]
    pub(in crate::frontend) fn log_failure(
        self: &Rc<Controller>,
        source: Source,
        opcode: u8,
        namespace: NamespaceId,
        lba: Lba,
        status: Status,
    ) {
        let health = &self.health;
        health.errors.set(health.errors.get().wrapping_add(1));
        if status.is(Status::UNRECOVERED_READ_ERROR) || status.is(Status::WRITE_FAULT) {
            let errors = health.media_errors.get();
            health.media_errors.set(errors.saturating_add(1));
        }
        let mut entry = ErrorEntry::NONE;
        entry.count.set(health.errors.get().into());
        entry.queue.set(source.queue().get());
        entry.command.set(source.command().get());
        entry.status.set(status.field() << 1);
        entry.location.set(u16::MAX);
        entry.lba.set(lba.get());
        entry.namespace.set(namespace.get());
        entry.opcode = opcode;
        entry.version = 1;
        {
            let mut log = health.log.borrow_mut();
            log.truncate(usize::from(ERROR_ENTRIES) - 1);
            log.push_front(entry);
        }
        self.check_wear();
    }

    /// Looks at health again if blocks went out of use, or the rated erases were used up, since the last time.
    pub(in crate::frontend) fn check_wear(self: &Rc<Controller>) {
        let retired = self.ftl.counts().blocks_retired;
        let worn_out = self.is_worn_out();
        let changed = self.health.retired.replace(retired) != retired;
        if self.health.worn_out.replace(worn_out) != worn_out || changed {
            self.check_health();
        }
    }

    /// Tells the host of warnings that are new.
    pub(in crate::frontend) fn check_health(self: &Rc<Controller>) {
        let warnings = self.critical_warnings();
        let new = warnings & !self.health.warnings.replace(warnings);
        if new & critical_warning::SPARE != 0 {
            self.raise(AsyncEvent::SPARE);
        }
        if new & critical_warning::TEMPERATURE != 0 {
            self.raise(AsyncEvent::TEMPERATURE);
        }
        // A backup of memory that failed is told as that of reliability: there is no event of its own.
        if new & (critical_warning::RELIABILITY | critical_warning::BACKUP) != 0 {
            self.raise(AsyncEvent::RELIABILITY);
        }
    }

    /// Composite temperature, in kelvin: that of the hours that passed last, if any did.
    fn temperature_kelvin(&self) -> u16 {
        let age = *self.ftl.nand().age();
        age.celsius
            .map_or(self.config.health.temperature_kelvin, |celsius| {
                kelvin(celsius).round() as u16
            })
    }

    fn critical_warnings(&self) -> u8 {
        let config = &self.config.health;
        let mut warnings = 0;
        if self.available_spare() < config.spare_threshold_percent {
            warnings |= critical_warning::SPARE;
        }
        if self.features.is_beyond_threshold(self.temperature_kelvin()) {
            warnings |= critical_warning::TEMPERATURE;
        }
        if self.ftl.counts().pages_lost > 0 || self.is_worn_out() {
            warnings |= critical_warning::RELIABILITY;
        }
        if self.cache.lost_backup() {
            warnings |= critical_warning::BACKUP;
        }
        warnings
    }

    /// What is left of the blocks that the drive can do without, in percent.
    fn available_spare(&self) -> u8 {
        let nand = self.ftl.nand();
        let geometry = nand.geometry();
        let bad = (0..geometry.blocks())
            .filter(|block| nand.block_state(BlockId(*block)).condition == BlockCondition::Bad)
            .count() as u64;
        let block_pages =
            u64::from(geometry.pages_per_block(self.ftl.mode()) * self.unit.per_page());
        let exported = u64::from(self.ftl.data_pages()).div_ceil(block_pages);
        let spare = u64::from(geometry.blocks()).saturating_sub(exported).max(1);
        (spare.saturating_sub(bad) * 100 / spare) as u8
    }

    /// Erases of all blocks so far, and those that they are rated for.
    fn erases(&self) -> (u64, u64) {
        let (erases, blocks) = self.ftl.wear();
        (
            erases,
            u64::from(self.config.health.rated_erases) * u64::from(blocks),
        )
    }

    /// Life used, in percent: the mean cycles of a block against what it is rated for.
    fn percentage_used(&self) -> u8 {
        let (erases, rated) = self.erases();
        u8::try_from(erases * 100 / rated.max(1)).unwrap_or(u8::MAX)
    }

    /// Whether the blocks have been erased as often as they are rated for: what they hold from now on may not last.
    fn is_worn_out(&self) -> bool {
        let (erases, rated) = self.erases();
        erases >= rated
    }

    pub(in crate::frontend) fn health_log(&self) -> HealthLog {
        let (health, config) = (&self.health, &self.config.health);
        let units = |sectors: u64| u128::from(sectors.div_ceil(SECTORS_PER_UNIT)).into();
        let [sectors_read, sectors_written] = health.sectors();
        let mut page = HealthLog::zeroed();
        page.critical_warning = self.critical_warnings();
        page.temperature.set(self.temperature_kelvin());
        page.sensors[0].set(self.temperature_kelvin());
        page.available_spare = self.available_spare();
        page.spare_threshold = config.spare_threshold_percent;
        page.percentage_used = self.percentage_used();
        page.data_units_read = units(sectors_read);
        page.data_units_written = units(sectors_written);
        page.host_reads = u128::from(health.reads.get()).into();
        page.host_writes = u128::from(health.writes.get()).into();
        page.power_cycles = u128::from(health.power_cycles.get()).into();
        page.unsafe_shutdowns = u128::from(health.unsafe_shutdowns.get()).into();
        let aged = self.ftl.nand().age().hours as u64;
        let powered = aged + health.seconds(self.sim.now()) / 3600;
        page.power_on_hours = u128::from(powered).into();
        page.media_errors = u128::from(health.media_errors.get()).into();
        page.error_entries = u128::from(health.errors.get()).into();
        page
    }

    /// How often the drive was powered up, this time included.
    pub fn power_cycles(&self) -> u32 {
        self.health.power_cycles.get()
    }

    /// Takes the counts of earlier lives, and counts this one; `blank` media had none.
    pub(in crate::frontend) async fn restore_health(self: &Rc<Controller>, blank: bool) {
        let health = &self.health;
        let note = |key| self.kept(key).unwrap_or(0);
        // A life that left no note was the first, and did not end in order.
        let power = match blank {
            true => 1,
            false => self.kept(note::POWER).unwrap_or(1 << 32),
        };
        health.power_cycles.set((power >> 32) as u32 + 1);
        let before = power as u32 >> 1;
        health
            .unsafe_shutdowns
            .set(before + u32::from(power & 1 == 0));
        let bytes = |key| note(key).saturating_mul(SECTOR_BYTES);
        health.bytes_read.set(bytes(note::SECTORS_READ));
        health.bytes_written.set(bytes(note::SECTORS_WRITTEN));
        health.reads.set(note(note::HOST_READS));
        health.writes.set(note(note::HOST_WRITES));
        health.media_errors.set((note(note::ERRORS) >> 32) as u32);
        health.errors.set(note(note::ERRORS) as u32);
        health.powered_seconds.set(note(note::POWERED_SECONDS));
        if !blank {
            // Without space for the note, this life is counted by the next one as none.
            let _ = self.keep(note::POWER, health.power(false)).await;
        }
        self.check_health();
    }

    /// Keeps the counts for the next life; the last thing before the power goes in order.
    pub(in crate::frontend) async fn keep_health(&self) -> Result<(), Status> {
        let health = &self.health;
        let errors = u64::from(health.media_errors.get()) << 32 | u64::from(health.errors.get());
        let [sectors_read, sectors_written] = health.sectors();
        let notes = [
            (note::SECTORS_READ, sectors_read),
            (note::SECTORS_WRITTEN, sectors_written),
            (note::HOST_READS, health.reads.get()),
            (note::HOST_WRITES, health.writes.get()),
            (note::ERRORS, errors),
            (note::POWERED_SECONDS, health.seconds(self.sim.now())),
            (note::POWER, health.power(true)),
        ];
        // What was never counted need not be kept.
        let counted = |(key, value): &(FactKey, u64)| self.kept(*key).unwrap_or(0) != *value;
        let counted = notes.into_iter().filter(counted);
        let counted: Vec<_> = counted.map(|(key, value)| (key, Some(value))).collect();
        self.keep_all(&counted).await
    }
}
