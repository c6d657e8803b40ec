//! What a workload measured.

use serde::Serialize;
use sim::Time;

use super::facts::{Facts, Warning};
use super::queries::{Answer, Question};
use super::series::Series;
use super::summary::{LatencySummary, per_second};
use super::tally::Tally;
use crate::media_state::Wear;
use crate::platforms::Platform;
use crate::request_kind::RequestKind;
use crate::statistics::{EnergyEntry, Statistics};
use crate::traces::BadLine;
use crate::{Drive, Error};

/// The result of running workloads. What filled ranges beforehand does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// One entry a flow or trace.
    pub flows: Vec<FlowReport>,
    /// One entry a stream of queries.
    pub queries: Vec<QueriesReport>,
    /// From the beginning to when the last of them was done, in nanoseconds.
    pub elapsed_ns: f64,
    /// Bytes read by the host.
    pub read_bytes: u64,
    /// Bytes written by the host.
    pub written_bytes: u64,
    /// Pages read that hold no data, because nothing wrote them: they touch no flash.
    pub unmapped_page_reads: u64,
    /// Pages sensed by reads.
    pub flash_page_reads: u64,
    /// Pages programmed.
    pub flash_page_programs: u64,
    /// Blocks erased.
    pub flash_block_erases: u64,
    /// Bytes programmed for each byte written by the host; absent if it wrote none.
    pub write_amplification: Option<f64>,
    /// Blocks emptied by garbage collection.
    pub gc_blocks: u64,
    /// Pages copied by garbage collection.
    pub gc_page_copies: u64,
    /// Blocks emptied to level wear.
    pub wear_levelling_blocks: u64,
    /// Pages copied for that.
    pub wear_levelling_page_copies: u64,
    /// Pages written to the SLC cache.
    pub slc_cache_page_writes: u64,
    /// Blocks of the SLC cache emptied.
    pub slc_cache_blocks_folded: u64,
    /// Pages copied for that.
    pub slc_cache_page_folds: u64,
    /// Pages copied inside their dies, whatever for.
    pub copybacks: u64,
    /// Programs suspended, once for each time.
    pub program_suspensions: u64,
    /// Erases suspended, once for each time.
    pub erase_suspensions: u64,
    /// The data cache.
    pub cache: CacheReport,
    /// The cache of the mapping table.
    pub mapping: MappingReport,
    /// Shares of the elapsed time in which parts were busy.
    pub utilization: Utilization,
    /// Wear at the end.
    pub wear: WearReport,
    /// Energy spent, in picojoules.
    pub energy_pj: u64,
    /// The same by component and cause.
    pub energy: Vec<EnergyEntry>,
    /// Which random numbers workloads drew; [`super::RunOptions::draw`] of this number draws them again.
    pub draw: u64,
    /// What of all this is not to be taken at its face.
    pub warnings: Vec<Warning>,
    /// How it went over time.
    pub series: Series,
}

/// What the data cache did, in pages of commands; all zero if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CacheReport {
    /// Pages read wholly from the cache.
    pub read_hits: u64,
    /// Pages of which a part came from the cache and the rest from flash.
    pub read_partial_hits: u64,
    /// Pages read from flash.
    pub read_misses: u64,
    /// Pages written to a slot that was there.
    pub write_hits: u64,
    /// Pages written to a new slot.
    pub write_misses: u64,
    /// Slots taken from their pages to be used for others.
    pub evictions: u64,
    /// Pages written back to flash.
    pub write_backs: u64,
}

/// What the cache of the mapping table did; all zero if the whole table is at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MappingReport {
    /// Pages read whose mapping was at hand.
    pub read_hits: u64,
    /// Pages read whose mapping was not.
    pub read_misses: u64,
    /// Pages written whose mapping was at hand.
    pub write_hits: u64,
    /// Pages written whose mapping was not.
    pub write_misses: u64,
    /// Mapping pages read.
    pub page_reads: u64,
    /// Mapping pages written.
    pub page_writes: u64,
}

/// Shares of the time in which parts were busy, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Utilization {
    /// The host-to-drive direction of the link.
    pub link_down: f64,
    /// The drive-to-host direction.
    pub link_up: f64,
    /// The mean over all channels.
    pub channel: f64,
    /// The mean over all dies, of the array only.
    pub die: f64,
    /// The drive's DRAM.
    pub dram: f64,
    /// Each channel by itself.
    pub channels: Vec<f64>,
    /// Each die by itself.
    pub dies: Vec<f64>,
}

/// How often blocks were erased since the drive was new.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WearReport {
    /// The least erases of a block.
    pub erase_count_min: u32,
    /// The mean.
    pub erase_count_mean: f64,
    /// The most.
    pub erase_count_max: u32,
}

/// The result of one flow or trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// Requests completed with success.
    pub requests: u64,
    /// Requests that failed, where that does not end the run.
    pub failed: u64,
    /// From the beginning to the last completion, in nanoseconds.
    pub elapsed_ns: f64,
    /// Requests completed in a second.
    pub requests_per_second: f64,
    /// Megabytes (10^6 bytes) read and written in a second.
    pub megabytes_per_second: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Latencies of reads; absent if there were none.
    pub read: Option<LatencySummary>,
    /// Latencies of writes; absent if there were none.
    pub write: Option<LatencySummary>,
    /// Latencies of deallocations; absent if there were none.
    pub deallocate: Option<LatencySummary>,
    /// Latencies of flushes; absent if there were none.
    pub flush: Option<LatencySummary>,
    /// What the trace was like; absent for flows.
    pub trace: Option<TraceReport>,
}

/// The result of a stream of queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueriesReport {
    /// Its name.
    pub name: String,
    /// What was asked, as people write it.
    pub expression: String,
    /// Who answered.
    pub platform: Platform,
    /// What the host was told.
    pub answer: Answer,
    /// Queries answered.
    pub queries: u64,
    /// Queries that failed, where that does not end the run.
    pub failed: u64,
    /// From the beginning to the last completion, in nanoseconds.
    pub elapsed_ns: f64,
    /// Queries answered in a second.
    pub queries_per_second: f64,
    /// Distinct vectors that a query combines.
    pub operands: u64,
    /// Length of each, in bits.
    pub bits: u64,
    /// Bits of the distinct vectors of all queries answered.
    pub operand_bits: u64,
    /// Latencies of queries; absent if none was answered.
    pub latency: Option<LatencySummary>,
}

/// What a replayed trace was like. Where it was replayed several times, counts of lines
/// and requests are of all passes, those of bad lines and devices of the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TraceReport {
    /// The file.
    pub path: String,
    /// The name of its format.
    pub format: &'static str,
    /// Lines read.
    pub lines: u64,
    /// Requests replayed.
    pub requests: u64,
    /// Bad lines skipped.
    pub bad_lines: u64,
    /// The first of them.
    pub first_bad_lines: Vec<BadLine>,
    /// Devices named.
    pub devices: u64,
    /// Requests earlier than the one before; they arrived with it.
    pub out_of_order: u64,
    /// Requests that were no whole blocks and grew to them.
    pub widened: u64,
    /// Bytes that the requests asked for, before they grew.
    pub requested_bytes: u64,
    /// Requests beyond the range, folded into it.
    pub wrapped: u64,
    /// Requests to devices that the replay leaves out.
    pub left_out: u64,
}

/// What workloads measured, by kind; how it went over time, and what else is known of them.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) flows: Vec<FlowReport>,
    pub(super) queries: Vec<QueriesReport>,
    pub(super) draw: u64,
    pub(super) series: Series,
    pub(super) facts: Vec<Facts>,
}

impl QueriesReport {
    /// What `tally` holds of queries that began at `begin`.
    pub(super) fn new(question: &Question, tally: &Tally, begin: Time) -> QueriesReport {
        let elapsed = tally.last_end.since(begin);
        let latencies = tally.latencies(RequestKind::Query);
        QueriesReport {
            name: question.queries.name.clone(),
            expression: question.queries.expression.to_string(),
            platform: question.queries.platform,
            answer: question.queries.answer,
            queries: latencies.count(),
            failed: tally.failed,
            elapsed_ns: elapsed.as_ns(),
            queries_per_second: per_second(latencies.count(), elapsed),
            operands: question.operands,
            bits: question.bits,
            operand_bits: latencies.count() * question.operands * question.bits,
            latency: LatencySummary::of(latencies),
        }
    }
}

impl FlowReport {
    /// What `tally` holds of a flow that began at `begin`.
    pub(super) fn new(name: &str, tally: &Tally, begin: Time) -> FlowReport {
        let elapsed = tally.last_end.since(begin);
        let per_second = |count| per_second(count, elapsed);
        let latencies = |kind| LatencySummary::of(tally.latencies(kind));
        let kinds = RequestKind::ALL.into_iter();
        let requests = kinds.map(|kind| tally.latencies(kind).count()).sum();
        let read_bytes = tally.bytes(RequestKind::Read);
        let written_bytes = tally.bytes(RequestKind::Write);
        FlowReport {
            name: name.to_owned(),
            requests,
            failed: tally.failed,
            elapsed_ns: elapsed.as_ns(),
            requests_per_second: per_second(requests),
            megabytes_per_second: per_second(read_bytes + written_bytes) / 1e6,
            read_bytes,
            written_bytes,
            read: latencies(RequestKind::Read),
            write: latencies(RequestKind::Write),
            deallocate: latencies(RequestKind::Deallocate),
            flush: latencies(RequestKind::Flush),
            trace: None,
        }
    }
}

impl Report {
    /// What workloads did on `drive`, whose wear is this, since its statistics were `before`; without doubts about it.
    pub(super) fn new(
        reports: Reports,
        before: &Statistics,
        drive: &Drive,
        wear: &Wear,
    ) -> Result<Report, Error> {
        let Reports {
            flows,
            queries,
            draw,
            series,
            ..
        } = reports;
        let after = &drive.statistics()?;
        let page_bytes = u64::from(drive.config().device.nand.geometry.page_bytes);
        let programs = after.flash.page_programs - before.flash.page_programs;
        let written_bytes: u64 = flows.iter().map(|flow| flow.written_bytes).sum();
        let programmed = (programs * page_bytes) as f64;
        Ok(Report {
            elapsed_ns: after.now_ns - before.now_ns,
            read_bytes: flows.iter().map(|flow| flow.read_bytes).sum(),
            written_bytes,
            flows,
            queries,
            unmapped_page_reads: after.ftl.unmapped_page_reads - before.ftl.unmapped_page_reads,
            flash_page_reads: after.flash.page_reads - before.flash.page_reads,
            flash_page_programs: programs,
            flash_block_erases: after.flash.block_erases - before.flash.block_erases,
            write_amplification: (written_bytes > 0).then(|| programmed / written_bytes as f64),
            gc_blocks: after.ftl.gc_blocks - before.ftl.gc_blocks,
            gc_page_copies: after.ftl.gc_page_copies - before.ftl.gc_page_copies,
            wear_levelling_blocks: after.ftl.wear_levelling_blocks
                - before.ftl.wear_levelling_blocks,
            wear_levelling_page_copies: after.ftl.wear_levelling_page_copies
                - before.ftl.wear_levelling_page_copies,
            slc_cache_page_writes: after.ftl.slc_cache_page_writes
                - before.ftl.slc_cache_page_writes,
            slc_cache_blocks_folded: after.ftl.slc_cache_blocks_folded
                - before.ftl.slc_cache_blocks_folded,
            slc_cache_page_folds: after.ftl.slc_cache_page_folds - before.ftl.slc_cache_page_folds,
            copybacks: after.flash.copybacks - before.flash.copybacks,
            program_suspensions: after.flash.program_suspensions - before.flash.program_suspensions,
            erase_suspensions: after.flash.erase_suspensions - before.flash.erase_suspensions,
            cache: CacheReport::between(before, after),
            mapping: MappingReport::between(before, after),
            utilization: Utilization::between(before, after),
            wear: WearReport {
                erase_count_min: wear.least,
                erase_count_mean: wear.mean(),
                erase_count_max: wear.most,
            },
            energy_pj: after.energy_pj - before.energy_pj,
            energy: spent_between(before, after),
            draw,
            warnings: Vec::new(),
            series,
        })
    }
}

impl CacheReport {
    fn between(before: &Statistics, after: &Statistics) -> CacheReport {
        let (before, after) = (&before.cache, &after.cache);
        CacheReport {
            read_hits: after.read_hits - before.read_hits,
            read_partial_hits: after.read_partial_hits - before.read_partial_hits,
            read_misses: after.read_misses - before.read_misses,
            write_hits: after.write_hits - before.write_hits,
            write_misses: after.write_misses - before.write_misses,
            evictions: after.evictions - before.evictions,
            write_backs: after.write_backs - before.write_backs,
        }
    }
}

impl MappingReport {
    fn between(before: &Statistics, after: &Statistics) -> MappingReport {
        let (before, after) = (&before.ftl, &after.ftl);
        MappingReport {
            read_hits: after.cmt_read_hits - before.cmt_read_hits,
            read_misses: after.cmt_read_misses - before.cmt_read_misses,
            write_hits: after.cmt_write_hits - before.cmt_write_hits,
            write_misses: after.cmt_write_misses - before.cmt_write_misses,
            page_reads: after.mapping_page_reads - before.mapping_page_reads,
            page_writes: after.mapping_page_writes - before.mapping_page_writes,
        }
    }
}

impl Utilization {
    /// From the shares since power-up at two instants, the shares in between.
    fn between(before: &Statistics, after: &Statistics) -> Utilization {
        let elapsed = after.elapsed_ns - before.elapsed_ns;
        let between = |before_share: f64, after_share: f64| {
            let busy = after_share * after.elapsed_ns - before_share * before.elapsed_ns;
            match elapsed > 0.0 {
                // Rounding of the two may leave less than nothing.
                true => (busy / elapsed).clamp(0.0, 1.0),
                false => 0.0,
            }
        };
        let share = |of: fn(&Statistics) -> f64| between(of(before), of(after));
        let each = |of: fn(&Statistics) -> &[f64]| {
            let pairs = of(before).iter().zip(of(after));
            pairs
                .map(|(before, after)| between(*before, *after))
                .collect()
        };
        Utilization {
            link_down: share(|statistics| statistics.link_down_utilization),
            link_up: share(|statistics| statistics.link_up_utilization),
            channel: share(|statistics| statistics.channel_utilization),
            die: share(|statistics| statistics.die_utilization),
            dram: share(|statistics| statistics.dram_utilization),
            channels: each(|statistics| &statistics.channel_utilizations),
            dies: each(|statistics| &statistics.die_utilizations),
        }
    }
}

fn spent_between(before: &Statistics, after: &Statistics) -> Vec<EnergyEntry> {
    let spent_before = |entry: &EnergyEntry| {
        let same = |other: &&EnergyEntry| {
            (&other.component, &other.cause) == (&entry.component, &entry.cause)
        };
        let found = before.energy.iter().find(same);
        found.map_or((0, 0), |other| (other.energy_pj, other.events))
    };
    let difference = |entry: &EnergyEntry| {
        let (energy_pj, events) = spent_before(entry);
        EnergyEntry {
            energy_pj: entry.energy_pj - energy_pj,
            events: entry.events - events,
            ..entry.clone()
        }
    };
    after.energy.iter().map(difference).collect()
}
